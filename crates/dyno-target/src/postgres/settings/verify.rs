//! The check that a server runs with what was asked for, whatever the units and spellings.

use crate::postgres::Client;
use crate::postgres::server_message;
use crate::target::Difference;

/// The settings of a server could not be read.
#[derive(Debug, thiserror::Error)]
#[error("the server's settings cannot be read: {message}")]
pub struct SettingsError {
    message: String,
}

/// Compares wanted settings with what the server runs with; units and spellings of truth values do not matter.
///
/// # Errors
/// The connection is broken.
pub fn verify(client: &mut Client, settings: &[(String, String)]) -> Result<Vec<Difference>, SettingsError> {
    let mut differences = Vec::new();
    for (name, wanted) in settings {
        let row = client
            .query_opt(
                "select setting, coalesce(unit, ''), vartype, current_setting(name) from pg_settings where \
                 lower(name) = lower($1::text)",
                &[name],
            )
            .map_err(|error| SettingsError {
                message: server_message(&error),
            })?;
        let found = match row {
            None => None,
            Some(row) => {
                let (setting, unit, kind): (String, String, String) = (row.get(0), row.get(1), row.get(2));
                if equal(wanted, &setting, &unit, &kind) {
                    continue;
                }
                Some(row.get(3))
            }
        };
        differences.push(Difference {
            name: name.clone(),
            wanted: wanted.clone(),
            found,
        });
    }
    Ok(differences)
}

/// Whether a wanted value is the one in `pg_settings`, which is a count of `unit`s.
pub(super) fn equal(wanted: &str, setting: &str, unit: &str, kind: &str) -> bool {
    match kind {
        "bool" => same_truth(wanted, setting),
        "integer" | "real" => match (quantity(wanted, unit), setting.parse::<f64>()) {
            // The server rounds to whole units: to the nearest from version 12 on, down before.
            (Some(wanted), Ok(found)) if kind == "integer" => (wanted - found).abs() < 1.0,
            (Some(wanted), Ok(found)) => (wanted - found).abs() <= found.abs() * 1e-6,
            _ => false,
        },
        // Many have truth values among their words.
        "enum" => wanted.eq_ignore_ascii_case(setting) || same_truth(wanted, setting),
        _ => wanted.eq_ignore_ascii_case(setting) || elements(wanted) == elements(setting),
    }
}

fn same_truth(wanted: &str, setting: &str) -> bool {
    truth(wanted).is_some() && truth(wanted) == truth(setting)
}

/// The elements of a list such as `a, "B c"`; spaces and quotes around them do not matter.
pub(super) fn elements(list: &str) -> Vec<String> {
    let mut elements = vec![String::new()];
    let mut quoted = false;
    let mut characters = list.trim().chars().peekable();
    while let Some(character) = characters.next() {
        let last = elements.len() - 1;
        match character {
            '"' if quoted && characters.peek() == Some(&'"') => {
                characters.next();
                elements[last].push('"');
            }
            '"' => quoted = !quoted,
            ',' if !quoted => elements.push(String::new()),
            space if !quoted && space.is_whitespace() && (elements[last].is_empty() || ends_element(&characters)) => {}
            other => elements[last].push(other),
        }
    }
    elements.retain(|element| !element.is_empty());
    elements
}

/// Whether only spaces come before the next comma or the end.
fn ends_element(rest: &std::iter::Peekable<std::str::Chars<'_>>) -> bool {
    let mut rest = rest.clone();
    rest.find(|character| !character.is_whitespace())
        .is_none_or(|character| character == ',')
}

/// PostgreSQL's spellings of truth values, of which any unique beginning will do.
fn truth(text: &str) -> Option<bool> {
    let text = text.to_ascii_lowercase();
    if text.is_empty() {
        return None;
    }
    let begins = |words: &[&str]| words.iter().any(|word| word.starts_with(&text));
    match text.as_str() {
        "1" => Some(true),
        "0" => Some(false),
        "o" => None,
        _ if begins(&["true", "yes", "on"]) => Some(true),
        _ if begins(&["false", "no", "off"]) => Some(false),
        _ => None,
    }
}

/// A value such as `6GB` or `512` as a count of `unit` (such as `8kB` or `ms`).
fn quantity(text: &str, unit: &str) -> Option<f64> {
    let (number, suffix) = split_number(text);
    let number: f64 = number.parse().ok()?;
    if suffix.is_empty() {
        return Some(number);
    }
    let (unit_number, unit_suffix) = split_number(unit);
    let unit_number: f64 = if unit_number.is_empty() {
        1.0
    } else {
        unit_number.parse().ok()?
    };
    Some(number * unit_factor(suffix)? / (unit_number * unit_factor(unit_suffix)?))
}

pub(super) fn split_number(text: &str) -> (&str, &str) {
    let text = text.trim();
    let end = text
        .find(|c: char| !(c.is_ascii_digit() || "+-.".contains(c)))
        .unwrap_or(text.len());
    let (number, suffix) = text.split_at(end);
    (number, suffix.trim())
}

/// Bytes or milliseconds in a unit.
pub(super) fn unit_factor(unit: &str) -> Option<f64> {
    const KIB: f64 = 1024.0;
    Some(match unit {
        "B" => 1.0,
        "kB" => KIB,
        "MB" => KIB * KIB,
        "GB" => KIB * KIB * KIB,
        "TB" => KIB * KIB * KIB * KIB,
        "us" => 0.001,
        "ms" => 1.0,
        "s" => 1e3,
        "min" => 60e3,
        "h" => 3_600e3,
        "d" => 86_400e3,
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn compares_across_units() {
        assert!(equal("6GB", "786432", "8kB", "integer"));
        assert!(equal("6144MB", "786432", "8kB", "integer"));
        assert!(equal("786432", "786432", "8kB", "integer"));
        assert!(!equal("5GB", "786432", "8kB", "integer"));
        assert!(equal("5min", "300", "s", "integer"));
        assert!(equal("0.9", "0.9", "", "real"));
        assert!(!equal("0.8", "0.9", "", "real"));
        assert!(equal("1.5ms", "1.5", "ms", "real"));
        assert!(equal("TRUE", "on", "", "bool"));
        assert!(equal("0", "off", "", "bool"));
        assert!(!equal("local", "on", "", "enum"));
        assert!(equal("Local", "local", "", "enum"));
        assert!(!equal("x", "on", "", "bool"));
        assert!(equal("true", "on", "", "enum"));
        assert!(equal("120MB", "7", "16MB", "integer"));
        assert!(equal("\"a b\",c", "\"a b\", c", "", "string"));
        assert!(!equal("\"a b\",c", "\"a b\", d", "", "string"));
        assert!(!equal("%m [%p] ", "%m[%p]", "", "string"));
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>(), unit in any::<String>()) {
            let _ = equal(&text, &text, &unit, "integer");
            let _ = truth(&text);
        }
    }
}
