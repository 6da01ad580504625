//! `\sleep`: the client pauses.

use std::time::Duration;

use crate::command::Place;
use crate::fault::{Fault, FaultKind};
use crate::symbols::VariableId;
use crate::value::Value;
use crate::variables::Variables;

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

impl Sleep {
    pub(crate) fn duration(&self, variables: &Variables) -> Result<Duration, Fault> {
        // A time in the past is over.
        let count = u64::try_from(self.time.count(variables)?).unwrap_or(0);
        Ok(Duration::from_micros(count.saturating_mul(self.unit_us)))
    }
}

impl SleepTime {
    /// The number of units. A variable's text is read as pgbench reads it, with C's `atoi`: up to the first
    /// character that is no digit, so that 1.9 is 1 and 1e+300 as well.
    fn count(self, variables: &Variables) -> Result<i64, Fault> {
        let (id, at) = match self {
            SleepTime::Constant(count) => return Ok(count),
            SleepTime::Variable { id, at } => (id, at),
        };
        match variables.get(id) {
            None => Err(FaultKind::Undefined(id).at(at)),
            Some(Value::Int(count)) => Ok(*count),
            Some(_) => {
                let text = variables.text(id);
                let digit = text.starts_with(|first: char| first.is_ascii_digit());
                let count = leading_integer(&text).filter(|count| *count != 0 || digit);
                count.ok_or(FaultKind::SleepTime(id).at(at))
            }
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
