//! The commands of a script, ready to be executed.

use std::ops::Range;
use std::sync::Arc;
use std::time::Duration;

use crate::diagnostic::{EvaluationError, Position, Source};
use crate::expression::Expression;
use crate::fault::{Fault, FaultKind};
use crate::random::Random;
use crate::statement::Statement;
use crate::symbols::VariableId;
use crate::value::Value;
use crate::variables::Variables;

/// One command of a script.
#[derive(Clone, Debug)]
pub enum Command {
    /// SQL to be sent to the server.
    Statement(Statement),
    /// `\set`.
    Set(Set),
    /// `\setrandom`.
    SetRandom(SetRandom),
    /// `\sleep`.
    Sleep(Sleep),
}

/// What is to be done after a meta command was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Step {
    /// Nothing: go on with the next command.
    Done,
    /// Wait this long, then go on with the next command.
    Sleep(Duration),
}

/// `\set`: a variable gets the value of an expression.
#[derive(Clone, Debug)]
pub struct Set {
    pub(crate) variable: VariableId,
    pub(crate) expression: Expression,
    pub(crate) place: Place,
}

/// `\setrandom`: a variable gets a random integer. pgbench had it up to 9.5.
#[derive(Clone, Debug)]
pub struct SetRandom {
    pub(crate) variable: VariableId,
    pub(crate) expression: Expression,
    pub(crate) place: Place,
}

/// `\sleep`: the client pauses.
#[derive(Clone, Debug)]
pub struct Sleep {
    pub(crate) time: SleepTime,
    /// The unit of the time, in microseconds.
    pub(crate) unit_us: u64,
    pub(crate) place: Place,
}

#[derive(Clone, Copy, Debug)]
pub(crate) enum SleepTime {
    Constant(i64),
    Variable { id: VariableId, at: u32 },
}

/// Where a command stands in its script.
#[derive(Clone, Debug)]
pub(crate) struct Place {
    pub(crate) source: Arc<Source>,
    pub(crate) range: Range<usize>,
}

impl Place {
    pub(crate) fn position(&self) -> Position {
        self.source.position(self.range.start)
    }

    /// The text of the command without the final line break.
    fn text(&self) -> &str {
        self.source
            .text
            .get(self.range.clone())
            .unwrap_or_default()
            .trim_end_matches(['\n', '\r'])
    }

    /// The text of a failure of the meta command called `name`.
    fn error(&self, name: &str, fault: Fault, variables: &Variables) -> EvaluationError {
        EvaluationError(
            self.source
                .diagnose(fault.at as usize, Some(name), fault.kind.message(variables)),
        )
    }
}

impl Command {
    /// Where the command begins.
    pub fn position(&self) -> Position {
        match self {
            Command::Statement(statement) => statement.position(),
            Command::Set(set) => set.place.position(),
            Command::SetRandom(set) => set.place.position(),
            Command::Sleep(sleep) => sleep.place.position(),
        }
    }

    /// The command's text for reports, as pgbench shows it: of a statement the first line, of a meta command everything.
    pub fn source(&self) -> &str {
        match self {
            Command::Statement(statement) => statement.first_line(),
            Command::Set(set) => set.place.text(),
            Command::SetRandom(set) => set.place.text(),
            Command::Sleep(sleep) => sleep.place.text(),
        }
    }

    /// Executes a meta command for a client. For a statement there is nothing to do here: the caller sends it.
    ///
    /// # Errors
    ///
    /// When the expression has no value: an undefined variable, a wrong type, an overflow, a division by zero, a range or a
    /// parameter that a random function refuses. pgbench ends the client then.
    #[inline]
    pub fn execute(&self, variables: &mut Variables, random: &mut Random) -> Result<Step, EvaluationError> {
        match self {
            Command::Statement(_) => Ok(Step::Done),
            Command::Set(Set {
                variable,
                expression,
                place,
            }) => {
                assign(*variable, expression, variables, random).map_err(|fault| place.error("set", fault, variables))
            }
            Command::SetRandom(SetRandom {
                variable,
                expression,
                place,
            }) => assign(*variable, expression, variables, random)
                .map_err(|fault| place.error("setrandom", fault, variables)),
            Command::Sleep(sleep) => {
                let time = sleep
                    .time
                    .count(variables)
                    .map_err(|fault| sleep.place.error("sleep", fault, variables))?;
                // A time in the past is over.
                Ok(Step::Sleep(Duration::from_micros(
                    u64::try_from(time).unwrap_or(0).saturating_mul(sleep.unit_us),
                )))
            }
        }
    }
}

#[inline]
fn assign(
    variable: VariableId,
    expression: &Expression,
    variables: &mut Variables,
    random: &mut Random,
) -> Result<Step, Fault> {
    variables.forget_debugged();
    let value = expression.evaluate(variables, random)?;
    variables.set_scalar(variable, value);
    Ok(Step::Done)
}

impl SleepTime {
    /// The number of units. A variable's text is read as C's `atoi` reads it, up to the first character that is no digit.
    fn count(self, variables: &Variables) -> Result<i64, Fault> {
        let (id, at) = match self {
            SleepTime::Constant(count) => return Ok(count),
            SleepTime::Variable { id, at } => (id, at),
        };
        match variables.get(id) {
            None => Err(FaultKind::Undefined(id).at(at)),
            Some(Value::Int(count)) => Ok(*count),
            Some(Value::Double(count)) if count.is_finite() => Ok(*count as i64),
            Some(Value::Text(text)) => leading_integer(text).ok_or(FaultKind::SleepTime(id).at(at)),
            Some(_) => Err(FaultKind::SleepTime(id).at(at)),
        }
    }
}

/// The integer that a text begins with, after white space; values beyond the type's range become its ends.
fn leading_integer(text: &str) -> Option<i64> {
    let text = text.trim_ascii_start();
    let unsigned = text.strip_prefix(['+', '-']).unwrap_or(text);
    let digits = &unsigned[..unsigned.bytes().take_while(u8::is_ascii_digit).count()];
    if digits.is_empty() {
        return None;
    }
    let size = digits.parse().unwrap_or(i64::MAX);
    Some(if text.starts_with('-') { -size } else { size })
}

impl Set {
    /// The variable that is set.
    pub fn variable(&self) -> VariableId {
        self.variable
    }
}

impl SetRandom {
    /// The variable that is set.
    pub fn variable(&self) -> VariableId {
        self.variable
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_is_read_up_to_the_first_other_character() {
        for (text, expected) in [
            ("12", Some(12)),
            (" -3x", Some(-3)),
            ("1.9", Some(1)),
            ("x", None),
            ("", None),
            ("-", None),
            ("99999999999999999999", Some(i64::MAX)),
        ] {
            assert_eq!(leading_integer(text), expected, "{text:?}");
        }
    }
}
