//! The options of a script: which there are, and what may be written for them.

use dyno_archive::plan::Value;
use dyno_lua::{DeclaredOption, OptionKind, OptionValue};
use std::ops::RangeInclusive;

/// Begins the name of an option's value, after that of a workload or alone.
pub(crate) const OPTIONS: &str = "options";

/// Options that every script has, with what they are unless they are given: those of sysbench's own that say how random
/// numbers are drawn and what errors mean. What a load is like otherwise, an experiment says in its own words.
pub(super) const GENERAL: [(&str, OptionKind, &str); 8] = [
    (RAND_TYPE, OptionKind::String, "special"),
    ("rand_spec_iter", OptionKind::Int, "12"),
    ("rand_spec_pct", OptionKind::Int, "1"),
    ("rand_spec_res", OptionKind::Int, "75"),
    ("rand_pareto_h", OptionKind::Double, "0.2"),
    ("rand_zipfian_exp", OptionKind::Double, "0.8"),
    (IGNORE_ERRORS, OptionKind::List, "1213,1020,1205"),
    ("validate", OptionKind::Bool, "off"),
];

/// How `sysbench.rand.default` draws.
pub(super) const RAND_TYPE: &str = "rand_type";

/// The server's errors after which an event begins anew.
pub(super) const IGNORE_ERRORS: &str = "mysql_ignore_errors";

/// The distributions by their names.
pub(super) const DISTRIBUTIONS: [(&str, dyno_lua::Distribution); 5] = {
    use dyno_lua::Distribution::{Gaussian, Pareto, Special, Uniform, Zipfian};
    [
        ("uniform", Uniform),
        ("gaussian", Gaussian),
        ("special", Special),
        ("pareto", Pareto),
        ("zipfian", Zipfian),
    ]
};

/// The bounds of numbers that have some, in the workloads that come with dyno and in scripts that share their module:
/// how many there are of something is a whole number.
pub(super) const BOUNDS: [(&str, RangeInclusive<f64>); 26] = {
    const SOME: RangeInclusive<f64> = 1.0..=MOST;
    const ANY: RangeInclusive<f64> = 0.0..=MOST;
    /// Numbers of rows and tables have 32 bits.
    const MOST: f64 = 4_294_967_295.0;
    [
        ("tables", SOME),
        ("table_size", ANY),
        ("range_size", SOME),
        ("point_selects", ANY),
        ("simple_ranges", ANY),
        ("sum_ranges", ANY),
        ("order_ranges", ANY),
        ("distinct_ranges", ANY),
        ("index_updates", ANY),
        ("non_index_updates", ANY),
        ("delete_inserts", ANY),
        ("reconnect", ANY),
        ("random_points", SOME),
        ("number_of_ranges", SOME),
        ("delta", ANY),
        ("oltp_tables_count", SOME),
        ("oltp_table_size", ANY),
        ("oltp_range_size", SOME),
        ("oltp_point_selects", ANY),
        ("oltp_simple_ranges", ANY),
        ("oltp_sum_ranges", ANY),
        ("oltp_order_ranges", ANY),
        ("oltp_distinct_ranges", ANY),
        ("oltp_index_updates", ANY),
        ("oltp_non_index_updates", ANY),
        ("oltp_delete_inserts", ANY),
    ]
};

/// Makes sure that a number of a workload of dyno's is one that it can have.
///
/// # Errors
/// What was expected.
pub(super) fn check_bounds(name: &str, value: &Value) -> Result<(), String> {
    let Some((_, bounds)) = BOUNDS.iter().find(|(known, _)| *known == name) else {
        return Ok(());
    };
    let is_whole = |number: &f64| number.fract() == 0.0 && bounds.contains(number);
    match value.to_float().filter(is_whole) {
        Some(_) => Ok(()),
        None => Err(format!(
            "expected a whole number from {} to {}",
            bounds.start(),
            bounds.end()
        )),
    }
}

/// Makes sure that a number of how random numbers are drawn is one that it can be.
///
/// # Errors
/// What was expected.
pub(super) fn check_general(name: &str, value: &Value) -> Result<(), &'static str> {
    let Some(number) = value.to_float() else {
        return Ok(());
    };
    let is_whole = number.fract() == 0.0;
    match name {
        "rand_spec_iter" if !is_whole || number < 1.0 => Err("expected a whole number from 1 on"),
        "rand_spec_pct" if !is_whole || !(0.0..=100.0).contains(&number) => {
            Err("expected a whole number from 0 to 100")
        }
        // The rest of the range is for all other numbers.
        "rand_spec_res" if !is_whole || !(0.0..100.0).contains(&number) => Err("expected a whole number from 0 to 99"),
        "rand_pareto_h" if number <= 0.0 || number >= 1.0 => Err("expected a number between 0 and 1"),
        "rand_zipfian_exp" if number < 0.0 => Err("expected a number from 0 on"),
        _ => Ok(()),
    }
}

/// The name of an option as scripts write it.
pub(crate) fn spelt(name: &str) -> String {
    name.replace('-', "_")
}

/// What an option takes of the kind that a script says or that its default has.
pub(super) fn kind_of(option: &DeclaredOption) -> Kind {
    match (&option.default, option.kind) {
        // A size is written with a unit.
        (Some(OptionValue::Text(_)), OptionKind::Int) => Kind::Size,
        (_, kind) => Kind::Plain(kind),
    }
}

/// What may be written for an option.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    /// A number of bytes, perhaps with a unit.
    Size,
    /// Anything else.
    Plain(OptionKind),
}

impl Kind {
    /// The value that `value` stands for.
    ///
    /// # Errors
    /// What was expected.
    pub fn read(self, value: &Value) -> Result<OptionValue, &'static str> {
        let number = |number: Option<f64>, expected| number.map(OptionValue::Number).ok_or(expected);
        match self {
            Self::Size => number(
                size(value),
                "expected a whole number, perhaps with K, M, G or T behind it",
            ),
            Self::Plain(OptionKind::Int | OptionKind::Double) => number(value.to_float(), "expected a number"),
            Self::Plain(OptionKind::String) => Ok(OptionValue::Text(value.to_string())),
            Self::Plain(OptionKind::Bool) => match value.to_string().as_str() {
                "on" | "true" | "1" => Ok(OptionValue::Bool(true)),
                "off" | "false" | "0" => Ok(OptionValue::Bool(false)),
                _ => Err("expected true or false, or on or off in quotes"),
            },
            Self::Plain(OptionKind::List) => Ok(OptionValue::List(parts(&value.to_string()))),
        }
    }

    /// The value of an option without a default that is not given.
    pub fn nothing(self) -> OptionValue {
        match self {
            Self::Plain(OptionKind::Bool) => OptionValue::Bool(false),
            Self::Plain(OptionKind::List) => OptionValue::List(Vec::new()),
            _ => OptionValue::Text(String::new()),
        }
    }
}

/// The parts of a list, between commas.
pub(super) fn parts(text: &str) -> Vec<String> {
    let parts = text.split(',').map(str::trim).filter(|part| !part.is_empty());
    parts.map(str::to_owned).collect()
}

/// A number of bytes.
fn size(value: &Value) -> Option<f64> {
    let text = value.to_string();
    let text = text.trim();
    let (digits, shift) = match text.char_indices().last()? {
        (at, unit @ ('K' | 'k' | 'M' | 'm' | 'G' | 'g' | 'T' | 't')) => {
            let shift = match unit.to_ascii_uppercase() {
                'K' => 10,
                'M' => 20,
                'G' => 30,
                _ => 40,
            };
            (&text[..at], shift)
        }
        _ => (text, 0),
    };
    let number: u32 = digits.replace('_', "").parse().ok()?;
    Some(f64::from(number) * 2_f64.powi(shift))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_by_what_the_option_takes() {
        let read = |kind: Kind, text: &str| kind.read(&Value::from(text)).ok();
        let plain = Kind::Plain;
        assert_eq!(read(plain(OptionKind::Int), "1_000"), Some(OptionValue::Number(1000.0)));
        assert_eq!(read(plain(OptionKind::Int), "many"), None);
        assert_eq!(read(plain(OptionKind::Bool), "off"), Some(OptionValue::Bool(false)));
        assert_eq!(read(plain(OptionKind::Bool), "maybe"), None);
        assert_eq!(read(Kind::Size, "64K"), Some(OptionValue::Number(65_536.0)));
        assert_eq!(read(Kind::Size, "64X"), None);
        let list = OptionValue::List(vec!["a".to_owned(), "b".to_owned()]);
        assert_eq!(read(plain(OptionKind::List), "a, b,"), Some(list));
        assert_eq!(
            read(plain(OptionKind::String), "7"),
            Some(OptionValue::Text("7".to_owned()))
        );
    }
}
