//! Ranges of levels.

use crate::experiment::Value;

/// The numbers from `from` to at most `to`, `step` apart.
///
/// # Errors
///
/// What a range has to be, if it has no end or too many levels.
pub(crate) fn range(from: &Value, to: &Value, step: Option<&Value>) -> Result<Vec<Value>, String> {
    let one = Value::Integer(1);
    let step = step.unwrap_or(&one);
    let numbers = (from.to_integer(), to.to_integer(), step.to_integer());
    let (Some(from), Some(to), Some(step)) = numbers else {
        return Err("expected whole numbers".to_owned());
    };
    let mut levels = Vec::new();
    let mut level = from;
    while step > 0 && level <= to && levels.len() < 10_000 {
        levels.push(Value::Integer(level));
        level += step;
    }
    Ok(levels)
}
