//! Values that are never serialised, because their names say that they are secrets.

use super::Value;
use dyno_text::{HIDDEN, is_secret};
use indexmap::IndexMap;
use serde::{Serialize, Serializer};

/// The value of an option of a script as it may be shown and archived: hidden if its name says that it is a secret, or
/// if it is an address with a password.
#[must_use]
pub fn shown_option(name: &str, value: &Value) -> Value {
    match is_secret(name, &value.to_string()) {
        true => Value::from(HIDDEN),
        false => value.clone(),
    }
}

/// The same of a parameter. One that is a number is none: expressions calculate with it.
#[must_use]
pub fn shown_parameter(name: &str, value: &Value) -> Value {
    match value {
        Value::Text(_) => shown_option(name, value),
        number => number.clone(),
    }
}

/// Whether a value was hidden by one of the above when it was archived.
pub(super) fn is_hidden((_, value): &(&String, &Value)) -> bool {
    matches!(value, Value::Text(text) if text == HIDDEN)
}

/// Serialises options.
pub(super) fn options<S: Serializer>(options: &IndexMap<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    let options = options.iter().map(|(name, value)| (name, shown_option(name, value)));
    options.collect::<IndexMap<_, _>>().serialize(serializer)
}

/// Serialises parameters.
pub(super) fn parameters<S: Serializer>(given: &IndexMap<String, Value>, serializer: S) -> Result<S::Ok, S::Error> {
    let given = given.iter().map(|(name, value)| (name, shown_parameter(name, value)));
    given.collect::<IndexMap<_, _>>().serialize(serializer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_secrets_are_hidden() {
        let text = Value::from("s3cret");
        assert_eq!(shown_option("api_token", &text), Value::from(HIDDEN));
        assert_eq!(shown_option("password", &Value::Integer(5)), Value::from(HIDDEN));
        assert_eq!(shown_option("tables", &text), text);
        assert_eq!(shown_option("password", &Value::from("")), Value::from(""));
        assert_eq!(shown_parameter("key", &Value::Integer(5)), Value::Integer(5));
        assert_eq!(shown_parameter("password", &text), Value::from(HIDDEN));
    }
}
