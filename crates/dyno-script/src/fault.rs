//! What can go wrong while an expression is evaluated, small enough to cost the usual case nothing.

use crate::expression::Overloaded;
use crate::symbols::VariableId;
use crate::value::Kind;
use crate::variables::Variables;

/// A failure and the byte offset in the script of the expression that failed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Fault {
    pub(crate) at: u32,
    pub(crate) kind: FaultKind,
}

#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) enum FaultKind {
    Undefined(VariableId),
    Malformed(VariableId),
    Misnamed(VariableId),
    SleepTime(VariableId),
    Coerce { from: Kind, to: Kind },
    OutOfRange(Overloaded),
    DivisionByZero,
    DoubleToInt(f64),
    EmptyRange,
    RangeTooLarge,
    Gaussian(f64),
    Exponential(f64),
    Zipfian(f64),
    PermuteSize,
    TooManyArguments,
    TextTooLong,
    DateOutOfRange,
}

/// The most arguments that a function takes, as in pgbench.
pub(crate) const MAX_FUNCTION_ARGUMENTS: usize = 16;

/// The longest text of a column, in bytes: as much as MariaDB takes in one packet unless told otherwise.
pub(crate) const MAX_TEXT_BYTES: usize = 16 << 20;

impl FaultKind {
    pub(crate) fn at(self, at: u32) -> Fault {
        Fault { at, kind: self }
    }

    /// The message, in pgbench's words.
    pub(crate) fn message(self, variables: &Variables) -> String {
        match self {
            FaultKind::Undefined(id) => format!("undefined variable \"{}\"", variables.name(id)),
            FaultKind::Malformed(id) => {
                let text = variables.text(id);
                match looks_like_integer(&text) {
                    Some(true) => format!("value \"{text}\" is out of range for type bigint"),
                    Some(false) => format!("invalid input syntax for type bigint: \"{text}\""),
                    None => format!("malformed variable \"{}\" value: \"{text}\"", variables.name(id)),
                }
            }
            FaultKind::Misnamed(id) => format!("invalid variable name: \"{}\"", variables.name(id)),
            FaultKind::SleepTime(id) => {
                format!(
                    "invalid sleep time \"{}\" for variable \"{}\"",
                    variables.text(id),
                    variables.name(id)
                )
            }
            FaultKind::Coerce { from, to } => format!("cannot coerce {} to {}", from.name(), to.name()),
            FaultKind::OutOfRange(operation) => {
                let name = match operation {
                    Overloaded::Subtract => "sub",
                    Overloaded::Multiply => "mul",
                    Overloaded::Divide => "div",
                    _ => "add",
                };
                format!("bigint {name} out of range")
            }
            FaultKind::DivisionByZero => "division by zero".to_owned(),
            FaultKind::DoubleToInt(value) => {
                format!("double to int overflow for {}", six_digits(value))
            }
            FaultKind::EmptyRange => "empty range given to random".to_owned(),
            FaultKind::RangeTooLarge => "random range is too large".to_owned(),
            FaultKind::Gaussian(value) => {
                format!(
                    "gaussian parameter must be at least 2.000000 (not {})",
                    six_digits(value)
                )
            }
            FaultKind::Exponential(value) => {
                format!(
                    "exponential parameter must be greater than zero (not {})",
                    six_digits(value)
                )
            }
            FaultKind::Zipfian(value) => {
                format!(
                    "zipfian parameter must be in range [1.001, 1000] (not {})",
                    six_digits(value)
                )
            }
            FaultKind::PermuteSize => "permute size parameter must be greater than zero".to_owned(),
            FaultKind::TooManyArguments => {
                format!("too many function arguments, maximum is {MAX_FUNCTION_ARGUMENTS}")
            }
            FaultKind::TextTooLong => format!("a text would have more than {} MiB", MAX_TEXT_BYTES >> 20),
            FaultKind::DateOutOfRange => "a date is outside the years 1 to 9999".to_owned(),
        }
    }
}

/// A number as PostgreSQL's `printf` writes it with `%f`.
fn six_digits(value: f64) -> String {
    format!("{value:.6}").replace("inf", "Infinity")
}

/// Whether pgbench tries to read a text as an integer, and if so whether it has any digits: perhaps white space,
/// perhaps a sign, then digits or nothing.
fn looks_like_integer(text: &str) -> Option<bool> {
    let text = text.trim_start_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let all = digits.bytes().all(|byte| byte.is_ascii_digit());
    all.then_some(!digits.is_empty())
}
