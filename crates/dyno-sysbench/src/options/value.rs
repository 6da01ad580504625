//! Values of options: what may be written for each kind, and what it means.

use std::fmt;

/// What the value of an option is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A whole number.
    Int,
    /// A number of bytes, perhaps with a unit.
    Size,
    /// Any number.
    Double,
    /// Text.
    Text,
    /// On or off.
    Bool,
    /// Texts with commas between them.
    List,
    /// The path of a file.
    File,
}

/// A value.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// On or off.
    Bool(bool),
    /// A whole number; of a size, bytes.
    Int(i64),
    /// Any number.
    Double(f64),
    /// Text.
    Text(String),
    /// Several texts.
    List(Vec<String>),
}

/// What is written cannot be a value of the kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Unfit;

impl Kind {
    /// What is written behind `=`; `None`: there is no `=`.
    ///
    /// sysbench takes whatever it cannot read as a number or size for 0, except for whole numbers, and so does dyno.
    ///
    /// # Errors
    /// [`Unfit`]: it is no whole number, or neither on nor off.
    pub fn value(self, written: Option<&str>) -> Result<Value, Unfit> {
        let text = written.unwrap_or_default();
        Ok(match self {
            Self::Bool => Value::Bool(match written {
                None | Some("on" | "true" | "1") => true,
                Some("off" | "false" | "0") => false,
                Some(_) => return Err(Unfit),
            }),
            Self::Int if text.is_empty() => Value::Int(0),
            Self::Int => {
                let number: i64 = text.trim_start().parse().map_err(|_| Unfit)?;
                // It is an int in sysbench.
                i32::try_from(number).map_err(|_| Unfit)?;
                Value::Int(number)
            }
            Self::Size => Value::Int(size(text).unwrap_or(0)),
            Self::Double => Value::Double(leading_number(text)),
            Self::Text | Self::File => Value::Text(text.to_owned()),
            Self::List => Value::List(list(text)),
        })
    }

    /// What `--help` shows between an option's name and what it is for.
    pub fn placeholder(self) -> &'static str {
        match self {
            Self::Int | Self::Double => "=N",
            Self::Size => "=SIZE",
            Self::Text => "=STRING",
            Self::Bool => "[=on|off]",
            Self::List => "=[LIST,...]",
            Self::File => "=FILENAME",
        }
    }
}

/// The parts of a list; commas next to each other have nothing between them.
pub fn list(text: &str) -> Vec<String> {
    text.split(',')
        .map(str::trim)
        .filter(|part| !part.is_empty())
        .map(str::to_owned)
        .collect()
}

/// A number of bytes: a whole number, perhaps followed by K, M, G or T.
fn size(text: &str) -> Option<i64> {
    let text = text.trim_start();
    let digits = text.len()
        - text
            .trim_start_matches(|character: char| character.is_ascii_digit())
            .len();
    let (number, unit) = text.split_at(digits);
    let shift = match unit.to_ascii_uppercase().as_str() {
        "" => 0,
        "K" => 10,
        "M" => 20,
        "G" => 30,
        "T" => 40,
        _ => return None,
    };
    let number: i64 = number.parse().ok()?;
    number.checked_mul(1 << shift)
}

/// The number that a text begins with, 0 if there is none.
fn leading_number(text: &str) -> f64 {
    /// More characters say nothing more of a number.
    const LONGEST: usize = 64;
    let text = text.trim_start();
    let characters = text.char_indices().take(LONGEST);
    let ends = characters.map(|(at, character)| at + character.len_utf8());
    let numbers = ends.filter_map(|end| text[..end].parse::<f64>().ok());
    numbers.filter(|number| number.is_finite()).last().unwrap_or(0.0)
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Bool(on) => f.write_str(if *on { "on" } else { "off" }),
            Self::Int(number) => number.fmt(f),
            Self::Double(number) => number.fmt(f),
            Self::Text(text) => f.write_str(text),
            Self::List(parts) => f.write_str(&parts.join(",")),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_are_read_as_sysbench_reads_them() {
        assert_eq!(Kind::Int.value(Some(" 5")), Ok(Value::Int(5)));
        assert_eq!(Kind::Int.value(Some("5K")), Err(Unfit));
        assert_eq!(Kind::Int.value(Some("99999999999")), Err(Unfit));
        assert_eq!(Kind::Int.value(None), Ok(Value::Int(0)));
        assert_eq!(Kind::Double.value(Some("5K")), Ok(Value::Double(5.0)));
        assert_eq!(Kind::Double.value(Some("1.5e1x")), Ok(Value::Double(15.0)));
        assert_eq!(Kind::Double.value(Some("x")), Ok(Value::Double(0.0)));
        assert_eq!(Kind::Size.value(Some("10M")), Ok(Value::Int(10 << 20)));
        assert_eq!(Kind::Size.value(Some("1t")), Ok(Value::Int(1 << 40)));
        assert_eq!(Kind::Size.value(Some("x")), Ok(Value::Int(0)));
        assert_eq!(Kind::Size.value(Some("9999999999T")), Ok(Value::Int(0)));
    }

    #[test]
    fn a_boolean_is_written_in_lower_case() {
        for (text, on) in [("on", true), ("true", true), ("1", true), ("off", false), ("0", false)] {
            assert_eq!(Kind::Bool.value(Some(text)), Ok(Value::Bool(on)));
        }
        assert_eq!(Kind::Bool.value(None), Ok(Value::Bool(true)));
        assert_eq!(Kind::Bool.value(Some("TRUE")), Err(Unfit));
        assert_eq!(Kind::Bool.value(Some("")), Err(Unfit));
    }

    proptest! {
        #[test]
        fn nothing_that_is_written_is_too_much(text in "\\PC*") {
            for kind in [Kind::Int, Kind::Size, Kind::Double, Kind::Text, Kind::Bool, Kind::List] {
                let _ = kind.value(Some(&text));
            }
        }
    }
}
