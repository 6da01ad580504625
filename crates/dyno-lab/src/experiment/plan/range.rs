//! Levels that are said as a range, and lists of levels on the command line.

use dyno_archive::plan::Value;

/// More levels than anybody waits for. A range with more is a mistake, and would fill the memory.
pub(crate) const MOST_LEVELS: usize = 10_000;

/// The numbers from `from` to at most `to`, `step` apart; without a step 1, downwards if `to` is below. Both ends
/// belong to the range.
///
/// # Errors
///
/// What to do about it, if it never ends, has more than [`MOST_LEVELS`] levels, or is not of numbers.
pub(crate) fn range(from: &Value, to: &Value, step: Option<&Value>) -> Result<Vec<Value>, String> {
    let number = |value: &Value| value.to_float().ok_or_else(|| format!("`{value}` is not a number"));
    let (from_f, to_f) = (number(from)?, number(to)?);
    let towards = Value::Integer(if to_f < from_f { -1 } else { 1 });
    let step = step.unwrap_or(&towards);
    let step_f = number(step)?;
    if step_f == 0.0 {
        return Err("with a step of 0 it never ends".to_owned());
    }
    if from_f != to_f && (to_f > from_f) != (step_f > 0.0) {
        return Err(format!(
            "from {from} a step of {step} leads away from {to}, so it never ends"
        ));
    }
    let count = match (from.to_integer(), to.to_integer(), step.to_integer()) {
        (Some(from), Some(to), Some(step)) => {
            let (from, to, step) = (i128::from(from), i128::from(to), i128::from(step));
            let count = usize::try_from((to - from) / step + 1).unwrap_or(usize::MAX);
            if count <= MOST_LEVELS {
                let level = |index| i64::try_from(from + index * step).ok().map(Value::Integer);
                return Ok((0..count as i128).filter_map(level).collect());
            }
            count
        }
        _ => {
            // What is a whole number of steps on paper may be a hair less in binary.
            const HAIR: f64 = 1e-9;
            let steps = (to_f - from_f) / step_f;
            let count = (steps + HAIR * steps.max(1.0)).floor() + 1.0;
            if count <= MOST_LEVELS as f64 {
                // As many decimals as are written: 0.1 + 2 × 0.1 is to be 0.3.
                let decimals = decimals(from_f).max(decimals(step_f));
                let level = |index: usize| format!("{:.decimals$}", from_f + index as f64 * step_f).parse().ok();
                return Ok((0..count as usize).filter_map(level).map(Value::Float).collect());
            }
            count as usize
        }
    };
    Err(format!("it has {count} levels; at most {MOST_LEVELS} are possible"))
}

/// How many digits a number has after its point.
fn decimals(number: f64) -> usize {
    let text = number.to_string();
    text.split_once('.').map_or(0, |(_, decimals)| decimals.len())
}

/// What stands after `--set NAME=`.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Given {
    /// One value.
    One(Value),
    /// Levels: several values between commas, or a range.
    Levels(Vec<Value>),
}

/// Reads a value, or levels such as `1,2,4` or `10..120:10`. `\,` is a comma that separates nothing.
///
/// # Errors
///
/// What is wrong with a range, or that a level is empty.
pub(crate) fn given(text: &str) -> Result<Given, String> {
    let pieces = pieces(text);
    let mut levels = Vec::new();
    let mut ranges = false;
    for piece in &pieces {
        match ends(piece) {
            Some((from, to, step)) => {
                ranges = true;
                levels
                    .extend(range(&from, &to, step.as_ref()).map_err(|reason| format!("the range {piece}: {reason}"))?);
            }
            None if piece.trim().is_empty() && pieces.len() > 1 => {
                return Err("a level between the commas is empty; write \\, for a comma inside a value".to_owned());
            }
            None => levels.push(Value::from(piece.trim())),
        }
    }
    match <[Value; 1]>::try_from(levels) {
        Ok([only]) if !ranges => Ok(Given::One(only)),
        Ok([only]) => Ok(Given::Levels(vec![only])),
        Err(levels) if levels.len() > MOST_LEVELS => Err(format!(
            "these are {} levels; at most {MOST_LEVELS} are possible",
            levels.len()
        )),
        Err(levels) => Ok(Given::Levels(levels)),
    }
}

/// The texts between commas.
pub(crate) fn pieces(text: &str) -> Vec<String> {
    let mut pieces = vec![String::new()];
    let mut characters = text.chars().peekable();
    while let Some(character) = characters.next() {
        match (character, pieces.last_mut()) {
            (',', _) => pieces.push(String::new()),
            ('\\', Some(piece)) if characters.peek() == Some(&',') => {
                piece.push(',');
                characters.next();
            }
            (_, Some(piece)) => piece.push(character),
            (_, None) => {}
        }
    }
    pieces
}

/// The ends and the step of a range such as `10..120:10`.
fn ends(text: &str) -> Option<(Value, Value, Option<Value>)> {
    let number = |text: &str| {
        let text = Value::from(text);
        text.to_integer()
            .map(Value::Integer)
            .or_else(|| text.to_float().map(Value::Float))
    };
    let (from, rest) = text.split_once("..")?;
    let (to, step) = match rest.split_once(':') {
        Some((to, step)) => (to, Some(number(step)?)),
        None => (rest, None),
    };
    Some((number(from)?, number(to)?, step))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn levels(text: &str) -> String {
        match given(text) {
            Ok(Given::One(value)) => format!("one {value}"),
            Ok(Given::Levels(levels)) => levels.iter().map(Value::to_string).collect::<Vec<_>>().join(" "),
            Err(reason) => format!("! {reason}"),
        }
    }

    #[test]
    fn lists_and_ranges_of_the_command_line() {
        assert_eq!(levels("8"), "one 8");
        assert_eq!(levels("on, off"), "on off");
        assert_eq!(levels("1,10..40:10,64"), "1 10 20 30 40 64");
        assert_eq!(levels("5..5"), "5");
        assert_eq!(levels("3..1"), "3 2 1");
        assert_eq!(levels("10..1:-4"), "10 6 2");
        assert_eq!(levels("0.1..0.5:0.1"), "0.1 0.2 0.3 0.4 0.5");
        assert_eq!(levels("1..2:0.25"), "1 1.25 1.5 1.75 2");
        assert_eq!(levels("-1..-2:-0.5"), "-1 -1.5 -2");
        assert_eq!(levels(r"host=a\,b"), "one host=a,b");
        assert_eq!(levels(r"a\,b,c"), "a,b c");
        assert_eq!(levels("a..b"), "one a..b");
        assert_eq!(levels(""), "one ");
        assert_eq!(levels("1_000..3_000:1_000"), "1000 2000 3000");
    }

    #[test]
    fn what_is_no_range() {
        for wrong in [
            "1..5:0",
            "1..5:-1",
            "5..1:1",
            "1..10001",
            "0..1:1e-9",
            "1,,2",
            "1,",
            "-1e300..1e300:1e-300",
        ] {
            assert!(levels(wrong).starts_with("! "), "{wrong}: {}", levels(wrong));
        }
        assert_eq!(levels("1..10000").split(' ').count(), MOST_LEVELS);
        assert_eq!(
            levels("0..9223372036854775807"),
            "! the range 0..9223372036854775807: it has 9223372036854775808 levels; at most 10000 are possible"
        );
    }

    proptest! {
        #[test]
        fn a_range_begins_at_from_and_ends_at_most_a_step_before_to(from in -500_i64..500, to in -500_i64..500,
            step in 1_i64..60) {
            let step = if to < from { -step } else { step };
            let levels = range(&Value::Integer(from), &Value::Integer(to), Some(&Value::Integer(step))).unwrap();
            let numbers: Vec<i64> = levels.iter().filter_map(Value::to_integer).collect();
            prop_assert_eq!(numbers[0], from);
            prop_assert!(numbers.windows(2).all(|pair| pair[1] - pair[0] == step));
            let last = numbers[numbers.len() - 1];
            prop_assert!((to - last).abs() < step.abs() && (to - last) * step >= 0);
        }

        #[test]
        fn tenths_are_the_same_as_whole_numbers(from in -300_i64..300, count in 0_i64..300, step in 1_i64..40) {
            let tenth = |number: i64| Value::Float(number as f64 / 10.0);
            let levels = range(&tenth(from), &tenth(from + count * step), Some(&tenth(step))).unwrap();
            let tenths: Vec<_> = levels.iter().map(|value| (value.to_float().unwrap() * 10.0).round() as i64).collect();
            prop_assert_eq!(tenths, (0..=count).map(|index| from + index * step).collect::<Vec<_>>());
            prop_assert!(levels.iter().all(|level| level.to_string().len() <= 6), "{:?}", levels);
        }

        #[test]
        fn any_text_is_a_value_levels_or_refused(text in "[0-9.,:\\\\a-z -]{0,30}") {
            if let Ok(Given::Levels(levels)) = given(&text) {
                prop_assert!(!levels.is_empty() && levels.len() <= MOST_LEVELS);
            }
        }
    }
}
