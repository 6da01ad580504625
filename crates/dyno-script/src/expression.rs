//! A compiled expression: a tree of plain enums, without names or strings.

use crate::symbols::VariableId;
use crate::value::Scalar;

/// An expression. `at` is the byte offset in the script that a failure points to.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Expression {
    Constant(Scalar),
    Variable {
        id: VariableId,
        at: u32,
    },
    Unary {
        operation: Unary,
        operand: Box<Expression>,
        at: u32,
    },
    /// Shows the operand's value to the caller and passes it on.
    Debug(Box<Expression>),
    Binary {
        operation: Binary,
        operands: Box<[Expression; 2]>,
        at: u32,
    },
    And {
        operands: Box<[Expression; 2]>,
        at: u32,
    },
    Or {
        operands: Box<[Expression; 2]>,
        at: u32,
    },
    /// Whether the operand is the very constant; its result is flipped for IS NOT.
    Is {
        operand: Box<Expression>,
        constant: Scalar,
        negated: bool,
    },
    Case {
        branches: Box<[(Expression, Expression)]>,
        otherwise: Box<Expression>,
    },
    Extremum {
        greatest: bool,
        operands: Box<[Expression]>,
        at: u32,
    },
    /// A draw from a range that the parameter shapes.
    Random {
        distribution: Distribution,
        operands: Box<[Expression; 3]>,
        at: u32,
    },
    /// Value, size, seed.
    Permute {
        operands: Box<[Expression; 3]>,
        at: u32,
    },
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Unary {
    Not,
    Abs,
    Sqrt,
    Ln,
    Exp,
    Int,
    Double,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Binary {
    Overloaded(Overloaded),
    Integral(Integral),
    Power,
    /// The uniform distribution has no parameter, so it is a function of two.
    Random,
}

/// Operators for integers, and for doubles as soon as one side is a double.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Overloaded {
    Add,
    Subtract,
    Multiply,
    Divide,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
}

/// Operators and functions for integers only; doubles are rounded.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Integral {
    Modulo,
    And,
    Or,
    Xor,
    ShiftLeft,
    ShiftRight,
    Murmur2,
    Fnv1a,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum Distribution {
    Gaussian,
    Exponential,
    Zipfian,
}
