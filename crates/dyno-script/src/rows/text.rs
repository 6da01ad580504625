//! The value of a column, written where it is needed.

use super::date::{SECOND_US, write_date, write_moment};
use super::escape::is_plain;
use super::json::Json;
use super::pattern::{Digits, Pattern};
use super::whole;
use super::words::write_word;
use super::{Draw, GivenReader};
use crate::expression::Expression;
use crate::fault::{Fault, FaultKind, MAX_TEXT_BYTES};
use crate::format::{write_double, write_int};
use crate::random::Random;
use crate::value::Scalar;
use crate::variables::Variables;

/// What a row is made from.
#[derive(Debug)]
pub(super) struct State {
    pub(super) variables: Variables,
    pub(super) random: Random,
    pub(super) digits: Digits,
    /// The row at hand, if rows come from elsewhere.
    pub(super) given: Option<Box<dyn GivenReader>>,
}

/// A value as text. If a part of it is NULL, so is the whole.
#[derive(Debug)]
pub(super) enum Text {
    Literal(Box<str>),
    /// A number or a truth value.
    Value(Expression),
    Concat(Box<[Text]>),
    Case {
        branches: Box<[(Expression, Text)]>,
        otherwise: Option<Box<Text>>,
    },
    Pattern(Pattern),
    /// So many words.
    Words {
        least: Expression,
        most: Option<Expression>,
    },
    Repeat {
        text: Box<Text>,
        times: Expression,
    },
    /// Filled up, or cut, to so many characters.
    Pad {
        side: Side,
        text: Box<Text>,
        length: Expression,
        with: Box<str>,
    },
    /// Days after a beginning.
    Date {
        begin_us: i64,
        days: Expression,
    },
    /// Seconds after a beginning.
    Moment {
        begin_us: i64,
        seconds: Expression,
    },
    Json(Json),
    /// A whole number from the caller.
    Drawn(Draw),
    /// The value of this number, from 0, of a row that comes from elsewhere.
    Given(usize),
}

/// Where a text is filled up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Text {
    /// Appends the value and says whether there is one; if not, what was appended is of no meaning.
    #[inline]
    pub(super) fn write(&self, state: &mut State, out: &mut Vec<u8>) -> Result<bool, Fault> {
        match self {
            Text::Value(expression) => {
                let value = expression.evaluate(&mut state.variables, &mut state.random)?;
                Ok(write_scalar(value, out))
            }
            Text::Pattern(pattern) => {
                pattern.write(&mut state.random, &mut state.digits, out);
                Ok(true)
            }
            Text::Literal(text) => {
                out.extend_from_slice(text.as_bytes());
                Ok(true)
            }
            Text::Drawn(draw) => {
                write_int(draw.number([state.random.bits(), state.random.bits()]), out);
                Ok(true)
            }
            Text::Given(number) => {
                let value = state.given.as_ref().and_then(|given| given.value(*number));
                out.extend_from_slice(value.unwrap_or_default());
                Ok(value.is_some())
            }
            other => other.write_rare(state, out),
        }
    }

    fn write_rare(&self, state: &mut State, out: &mut Vec<u8>) -> Result<bool, Fault> {
        match self {
            Text::Value(_) | Text::Pattern(_) | Text::Literal(_) | Text::Drawn(_) | Text::Given(_) => {
                self.write(state, out)
            }
            Text::Concat(parts) => {
                for part in parts {
                    if !part.write(state, out)? {
                        return Ok(false);
                    }
                }
                Ok(true)
            }
            Text::Case { branches, otherwise } => {
                for (condition, text) in branches {
                    if condition.evaluate(&mut state.variables, &mut state.random)?.is_true() {
                        return text.write(state, out);
                    }
                }
                otherwise.as_ref().map_or(Ok(false), |text| text.write(state, out))
            }
            Text::Words { least, most } => words(least, most.as_ref(), state, out),
            Text::Repeat { text, times } => {
                let start = out.len();
                let written = text.write(state, out)?;
                match whole(times, state)? {
                    Some(times) if written => repeat(start, times, out),
                    _ => Ok(false),
                }
            }
            Text::Pad {
                side,
                text,
                length,
                with,
            } => {
                let start = out.len();
                let written = text.write(state, out)?;
                match whole(length, state)? {
                    Some(length) if written => pad(*side, start, length, with, out),
                    _ => Ok(false),
                }
            }
            Text::Date { begin_us, days } => match whole(days, state)? {
                Some(days) => in_range(write_date(*begin_us, days, out)),
                None => Ok(false),
            },
            Text::Moment { begin_us, seconds } => {
                let (later, fraction) = match seconds.evaluate(&mut state.variables, &mut state.random)? {
                    Scalar::Null => return Ok(false),
                    // Beyond the range it becomes the nearest number in it, which is beyond that of dates.
                    Scalar::Double(seconds) => ((seconds * SECOND_US as f64).round() as i64, true),
                    seconds => {
                        let seconds = crate::evaluate::integer(seconds).map_err(|kind| kind.at(0))?;
                        (seconds.saturating_mul(SECOND_US), false)
                    }
                };
                in_range(write_moment(*begin_us, later, fraction, out))
            }
            Text::Json(json) => json.write(state, out).map(|()| true),
        }
    }

    /// Whether it never needs escaping, whatever the format.
    pub(super) fn is_plain(&self) -> bool {
        match self {
            Text::Literal(text) => is_plain(text),
            Text::Value(_) | Text::Words { .. } | Text::Date { .. } | Text::Moment { .. } | Text::Drawn(_) => true,
            Text::Concat(parts) => parts.iter().all(Text::is_plain),
            Text::Case { branches, otherwise } => {
                let mut all = branches.iter().map(|(_, text)| text).chain(otherwise.as_deref());
                all.all(Text::is_plain)
            }
            Text::Pattern(pattern) => is_plain(pattern.template()),
            Text::Repeat { text, .. } => text.is_plain(),
            Text::Pad { text, with, .. } => text.is_plain() && is_plain(with),
            Text::Json(_) | Text::Given(_) => false,
        }
    }
}

/// Appends a number, or 1 and 0 for true and false, which columns of truth values and of numbers take; says whether it
/// is no NULL.
#[inline]
pub(super) fn write_scalar(value: Scalar, out: &mut Vec<u8>) -> bool {
    match value {
        Scalar::Null => return false,
        Scalar::Int(value) => write_int(value, out),
        Scalar::Double(value) => write_double(value, out),
        Scalar::Bool(value) => out.push(if value { b'1' } else { b'0' }),
    }
    true
}

fn in_range(written: Option<()>) -> Result<bool, Fault> {
    written.map(|()| true).ok_or(FaultKind::DateOutOfRange.at(0))
}

/// A number of bytes or characters that a text may have; none for a negative one.
fn length(count: i64) -> Result<usize, Fault> {
    match usize::try_from(count.max(0)) {
        Ok(count) if count <= MAX_TEXT_BYTES => Ok(count),
        _ => Err(FaultKind::TextTooLong.at(0)),
    }
}

fn words(least: &Expression, most: Option<&Expression>, state: &mut State, out: &mut Vec<u8>) -> Result<bool, Fault> {
    let Some(mut count) = whole(least, state)? else {
        return Ok(false);
    };
    if let Some(most) = most {
        let Some(most) = whole(most, state)? else {
            return Ok(false);
        };
        count = state.random.uniform(count, most);
    }
    // No word has more than 15 letters and a space.
    let count = length(count.saturating_mul(16))? / 16;
    for place in 0..count {
        if place > 0 {
            out.push(b' ');
        }
        write_word(&mut state.random, out);
    }
    Ok(true)
}

/// Repeats what begins at `start`.
fn repeat(start: usize, times: i64, out: &mut Vec<u8>) -> Result<bool, Fault> {
    let once = out.len() - start;
    let times = length(times.saturating_mul(once.max(1) as i64))? / once.max(1);
    if times == 0 {
        out.truncate(start);
    }
    for _ in 1..times {
        out.extend_from_within(start..start + once);
    }
    Ok(true)
}

/// Fills up what begins at `start`, or cuts it.
fn pad(side: Side, start: usize, wanted: i64, with: &str, out: &mut Vec<u8>) -> Result<bool, Fault> {
    let wanted = length(wanted)?;
    let begins = |byte: &u8| byte & 0xC0 != 0x80;
    let value = out.get(start..).unwrap_or_default();
    let characters = value.iter().filter(|byte| begins(byte)).count();
    if characters > wanted {
        let mut places = value.iter().enumerate().filter(|(_, byte)| begins(byte));
        if let Some((cut, _)) = places.nth(wanted) {
            out.truncate(start + cut);
        }
        return Ok(true);
    }
    let end = out.len();
    let mut encoded = [0; 4];
    for character in with.chars().cycle().take(wanted - characters) {
        out.extend_from_slice(character.encode_utf8(&mut encoded).as_bytes());
    }
    if side == Side::Left {
        let filled = out.len() - end;
        out[start..].rotate_right(filled);
    }
    Ok(true)
}
