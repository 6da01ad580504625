//! Evaluation: pgbench 15's arithmetic, types, laziness and errors. Allocates nothing.

use crate::expression::{Binary, Distribution, Expression, Integral, Overloaded, Unary};
use crate::fault::{Fault, FaultKind, MAX_FUNCTION_ARGUMENTS};
use crate::hash::{fnv1a, murmur2, permute};
use crate::random::{MAX_ZIPFIAN, MIN_GAUSSIAN, MIN_ZIPFIAN, Random};
use crate::value::{Kind, Scalar};
use crate::variables::Variables;

impl Expression {
    /// The value of the expression with the given variables; random functions advance `random`.
    ///
    /// Most scripts consist of constants, variables and functions of two of them: these are done here without a
    /// further call.
    #[inline]
    pub(crate) fn evaluate(&self, variables: &mut Variables, random: &mut Random) -> Result<Scalar, Fault> {
        if let Expression::Binary {
            operation,
            operands,
            at,
        } = self
        {
            let left = operands[0].operand(variables, random)?;
            let right = operands[1].operand(variables, random)?;
            if left == Scalar::Null || right == Scalar::Null {
                return Ok(Scalar::Null);
            }
            return binary(*operation, left, right, random).map_err(|kind| kind.at(*at));
        }
        self.operand(variables, random)
    }

    #[inline]
    fn operand(&self, variables: &mut Variables, random: &mut Random) -> Result<Scalar, Fault> {
        match self {
            Expression::Constant(value) => Ok(*value),
            Expression::Variable { id, at } => variables.scalar(*id).map_err(|kind| kind.at(*at)),
            inner => inner.evaluate_branch(variables, random),
        }
    }

    fn evaluate_branch(&self, variables: &mut Variables, random: &mut Random) -> Result<Scalar, Fault> {
        match self {
            Expression::Constant(_) | Expression::Variable { .. } | Expression::Binary { .. } => {
                self.evaluate(variables, random)
            }
            Expression::Unary { operation, operand, at } => {
                let value = operand.evaluate(variables, random)?;
                if value == Scalar::Null {
                    return Ok(Scalar::Null);
                }
                unary(*operation, value).map_err(|kind| kind.at(*at))
            }
            Expression::Debug(operand) => {
                let value = operand.evaluate(variables, random)?;
                variables.debug(value);
                Ok(value)
            }
            Expression::And { operands, at } => {
                match truth(operands[0].evaluate(variables, random)?).map_err(|kind| kind.at(*at))? {
                    Some(true) => {
                        let right = operands[1].evaluate(variables, random)?;
                        Ok(known(truth(right).map_err(|kind| kind.at(*at))?))
                    }
                    decided => Ok(known(decided)),
                }
            }
            Expression::Or { operands, at } => {
                // NULL on the left decides, unlike in SQL: so it is in pgbench.
                match truth(operands[0].evaluate(variables, random)?).map_err(|kind| kind.at(*at))? {
                    Some(false) => {
                        let right = operands[1].evaluate(variables, random)?;
                        Ok(known(truth(right).map_err(|kind| kind.at(*at))?))
                    }
                    decided => Ok(known(decided)),
                }
            }
            Expression::Is {
                operand,
                constant,
                negated,
            } => {
                let value = operand.evaluate(variables, random)?;
                Ok(Scalar::Bool((value == *constant) != *negated))
            }
            Expression::Case { branches, otherwise } => {
                for (condition, result) in branches {
                    if condition.evaluate(variables, random)?.is_true() {
                        return result.evaluate(variables, random);
                    }
                }
                otherwise.evaluate(variables, random)
            }
            Expression::Extremum { greatest, operands, at } => {
                let taken = &operands[..operands.len().min(MAX_FUNCTION_ARGUMENTS)];
                let value = extremum(*greatest, taken, variables, random)?;
                // Said only now: what the others draw is drawn.
                if taken.len() < operands.len() {
                    return Err(FaultKind::TooManyArguments.at(*at));
                }
                value.map_err(|kind| kind.at(*at))
            }
            Expression::Random {
                distribution,
                operands,
                at,
            } => {
                let Some([min, max, parameter]) = all(operands, variables, random)? else {
                    return Ok(Scalar::Null);
                };
                draw(*distribution, min, max, parameter, random).map_err(|kind| kind.at(*at))
            }
            Expression::Permute { operands, at } => {
                let Some([value, size, seed]) = all(operands, variables, random)? else {
                    return Ok(Scalar::Null);
                };
                permuted(value, size, seed).map_err(|kind| kind.at(*at))
            }
        }
    }
}

/// The values of all operands, or `None` when one of them is NULL.
fn all(
    operands: &[Expression; 3],
    variables: &mut Variables,
    random: &mut Random,
) -> Result<Option<[Scalar; 3]>, Fault> {
    let [first, second, third] = operands;
    let values = [
        first.evaluate(variables, random)?,
        second.evaluate(variables, random)?,
        third.evaluate(variables, random)?,
    ];
    Ok((!values.contains(&Scalar::Null)).then_some(values))
}

fn known(truth: Option<bool>) -> Scalar {
    truth.map_or(Scalar::Null, Scalar::Bool)
}

fn truth(value: Scalar) -> Result<Option<bool>, FaultKind> {
    match value {
        Scalar::Null => Ok(None),
        value => boolean(value).map(Some),
    }
}

fn boolean(value: Scalar) -> Result<bool, FaultKind> {
    match value {
        Scalar::Bool(value) => Ok(value),
        other => Err(FaultKind::Coerce {
            from: other.kind(),
            to: Kind::Boolean,
        }),
    }
}

/// As an integer; doubles are rounded, halves to the even neighbour.
pub(crate) fn integer(value: Scalar) -> Result<i64, FaultKind> {
    match value {
        Scalar::Int(value) => Ok(value),
        Scalar::Double(value) => {
            const LIMIT: f64 = 9_223_372_036_854_775_808.0;
            let rounded = value.round_ties_even();
            if (-LIMIT..LIMIT).contains(&rounded) {
                Ok(rounded as i64)
            } else {
                Err(FaultKind::DoubleToInt(rounded))
            }
        }
        other => Err(FaultKind::Coerce {
            from: other.kind(),
            to: Kind::Int,
        }),
    }
}

fn double(value: Scalar) -> Result<f64, FaultKind> {
    match value {
        Scalar::Double(value) => Ok(value),
        Scalar::Int(value) => Ok(value as f64),
        other => Err(FaultKind::Coerce {
            from: other.kind(),
            to: Kind::Double,
        }),
    }
}

fn unary(operation: Unary, value: Scalar) -> Result<Scalar, FaultKind> {
    Ok(match operation {
        Unary::Not => Scalar::Bool(!boolean(value)?),
        Unary::Abs => match value {
            // The smallest integer has no positive counterpart and stays, as in pgbench.
            Scalar::Int(value) => Scalar::Int(value.wrapping_abs()),
            // Not `abs`: pgbench leaves the sign of a negative zero and of NaN.
            value => {
                let value = double(value)?;
                Scalar::Double(if value < 0.0 { -value } else { value })
            }
        },
        Unary::Sqrt => Scalar::Double(double(value)?.sqrt()),
        Unary::Ln => Scalar::Double(double(value)?.ln()),
        Unary::Exp => Scalar::Double(double(value)?.exp()),
        Unary::Int => Scalar::Int(integer(value)?),
        Unary::Double => Scalar::Double(double(value)?),
    })
}

#[inline]
fn binary(operation: Binary, left: Scalar, right: Scalar, random: &mut Random) -> Result<Scalar, FaultKind> {
    match operation {
        Binary::Overloaded(operation) => match (left, right) {
            (Scalar::Double(_), _) | (_, Scalar::Double(_)) => Ok(doubles(operation, double(left)?, double(right)?)),
            _ => integers(operation, integer(left)?, integer(right)?),
        },
        Binary::Integral(operation) => integral(operation, integer(left)?, integer(right)?).map(Scalar::Int),
        Binary::Power => Ok(Scalar::Double(double(left)?.powf(double(right)?))),
        Binary::Random => {
            let (min, max) = range(left, right)?;
            Ok(Scalar::Int(random.uniform(min, max)))
        }
    }
}

fn doubles(operation: Overloaded, left: f64, right: f64) -> Scalar {
    match operation {
        Overloaded::Add => Scalar::Double(left + right),
        Overloaded::Subtract => Scalar::Double(left - right),
        Overloaded::Multiply => Scalar::Double(left * right),
        Overloaded::Divide => Scalar::Double(left / right),
        Overloaded::Equal => Scalar::Bool(left == right),
        Overloaded::NotEqual => Scalar::Bool(left != right),
        Overloaded::Less => Scalar::Bool(left < right),
        Overloaded::LessOrEqual => Scalar::Bool(left <= right),
    }
}

fn integers(operation: Overloaded, left: i64, right: i64) -> Result<Scalar, FaultKind> {
    let checked = |result: Option<i64>| result.map(Scalar::Int).ok_or(FaultKind::OutOfRange(operation));
    match operation {
        Overloaded::Add => checked(left.checked_add(right)),
        Overloaded::Subtract => checked(left.checked_sub(right)),
        Overloaded::Multiply => checked(left.checked_mul(right)),
        Overloaded::Divide if right == 0 => Err(FaultKind::DivisionByZero),
        Overloaded::Divide => checked(left.checked_div(right)),
        Overloaded::Equal => Ok(Scalar::Bool(left == right)),
        Overloaded::NotEqual => Ok(Scalar::Bool(left != right)),
        Overloaded::Less => Ok(Scalar::Bool(left < right)),
        Overloaded::LessOrEqual => Ok(Scalar::Bool(left <= right)),
    }
}

fn integral(operation: Integral, left: i64, right: i64) -> Result<i64, FaultKind> {
    Ok(match operation {
        Integral::Modulo if right == 0 => return Err(FaultKind::DivisionByZero),
        Integral::Modulo => left.wrapping_rem(right),
        Integral::And => left & right,
        Integral::Or => left | right,
        Integral::Xor => left ^ right,
        // The low six bits of the distance count, as for the processor and so for pgbench.
        Integral::ShiftLeft => left.wrapping_shl(right as u32),
        Integral::ShiftRight => left.wrapping_shr(right as u32),
        Integral::Murmur2 => murmur2(left, right),
        Integral::Fnv1a => fnv1a(left, right),
    })
}

/// The ends of a range, which may hold at most 2^63 - 1 integers.
#[inline]
fn range(min: Scalar, max: Scalar) -> Result<(i64, i64), FaultKind> {
    let (min, max) = (integer(min)?, integer(max)?);
    if min > max {
        return Err(FaultKind::EmptyRange);
    }
    match max.checked_sub(min) {
        None | Some(i64::MAX) => Err(FaultKind::RangeTooLarge),
        Some(_) => Ok((min, max)),
    }
}

fn draw(
    distribution: Distribution,
    min: Scalar,
    max: Scalar,
    parameter: Scalar,
    random: &mut Random,
) -> Result<Scalar, FaultKind> {
    let (min, max) = range(min, max)?;
    let parameter = double(parameter)?;
    // NaN is outside of every range.
    Ok(Scalar::Int(match distribution {
        Distribution::Gaussian if parameter >= MIN_GAUSSIAN => random.gaussian(min, max, parameter),
        Distribution::Gaussian => return Err(FaultKind::Gaussian(parameter)),
        Distribution::Exponential if parameter > 0.0 => random.exponential(min, max, parameter),
        Distribution::Exponential => return Err(FaultKind::Exponential(parameter)),
        Distribution::Zipfian if (MIN_ZIPFIAN..=MAX_ZIPFIAN).contains(&parameter) => {
            random.zipfian(min, max, parameter)
        }
        Distribution::Zipfian => return Err(FaultKind::Zipfian(parameter)),
    }))
}

fn permuted(value: Scalar, size: Scalar, seed: Scalar) -> Result<Scalar, FaultKind> {
    let (value, size, seed) = (integer(value)?, integer(size)?, integer(seed)?);
    if size <= 0 {
        return Err(FaultKind::PermuteSize);
    }
    Ok(Scalar::Int(permute(value, size, seed)))
}

/// The least or greatest of the operands: a double if one of them is. All are evaluated, and one NULL makes the
/// result NULL, before types are looked at; so the outer result is a failure of an operand, the inner one of the
/// function.
fn extremum(
    greatest: bool,
    operands: &[Expression],
    variables: &mut Variables,
    random: &mut Random,
) -> Result<Result<Scalar, FaultKind>, Fault> {
    let (mut null, mut boolean, mut to) = (false, false, Kind::Int);
    let mut best = None;
    for operand in operands {
        match operand.evaluate(variables, random)? {
            Scalar::Null => null = true,
            Scalar::Bool(_) => boolean = true,
            value => {
                if matches!(value, Scalar::Double(_)) {
                    to = Kind::Double;
                }
                best = Some(best.map_or(value, |best| better(greatest, best, value)));
            }
        }
    }
    Ok(match best {
        _ if null => Ok(Scalar::Null),
        Some(best) if !boolean => Ok(best),
        _ => Err(FaultKind::Coerce {
            from: Kind::Boolean,
            to,
        }),
    })
}

/// The better of two numbers.
fn better(greatest: bool, best: Scalar, value: Scalar) -> Scalar {
    if let (Scalar::Int(best), Scalar::Int(value)) = (best, value) {
        return Scalar::Int(if greatest { best.max(value) } else { best.min(value) });
    }
    let (Ok(best), Ok(value)) = (double(best), double(value)) else {
        return value;
    };
    // Written so that NaN behaves as in C: an undecided comparison takes the later value.
    let keep = if greatest { best > value } else { best < value };
    Scalar::Double(if keep { best } else { value })
}
