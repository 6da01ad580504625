//! The `keyword=value` form: values may be quoted with `'`, a backslash takes the next character as it is.

use super::AddressError;
use super::keyword::{self, Pairs};
use crate::postgres::Postgres;
use crate::target::{HIDDEN, is_secret};

fn syntax(what: String, libpq: Option<String>) -> AddressError {
    AddressError::Syntax { what, libpq }
}

/// Splits a connection string into keywords and values.
pub(super) fn parse(text: &str) -> Result<Pairs, AddressError> {
    let mut pairs = Pairs::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let end = rest.find(|c: char| c == '=' || c.is_whitespace()).unwrap_or(rest.len());
        let (keyword, after) = rest.split_at(end);
        // What stands here may be a piece of an unquoted password, or a mistyped URI: it is not repeated.
        let may_be_secret = pairs.iter().any(|(before, _)| is_secret(&Postgres, before))
            || !keyword.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        let Some(after) = after.trim_start().strip_prefix('=') else {
            let what = match pairs.last() {
                Some((last, _)) => {
                    let last = shown(last);
                    format!("\"=\" is missing in the part after {last}; a value with spaces needs quotes ('…')")
                }
                None => "\"=\" is missing after the first keyword".to_owned(),
            };
            let found = if may_be_secret { HIDDEN } else { keyword };
            let libpq = format!("missing \"=\" after \"{found}\" in connection info string");
            return Err(syntax(what, Some(libpq)));
        };
        if keyword.is_empty() {
            let libpq = "invalid connection option \"\"".to_owned();
            return Err(syntax("a keyword is missing before \"=\"".to_owned(), Some(libpq)));
        }
        let after = after.trim_start();
        let quoted = after.starts_with('\'');
        let (value, after) = value(after, keyword)?;
        let Some(known) = keyword::find(keyword) else {
            return Err(keyword::unknown(keyword, "invalid connection option", may_be_secret));
        };
        // libpq would take it for a part of the value; most likely a space is missing, perhaps before a password.
        if !quoted && value.contains('=') && !may_hold_equals(keyword) {
            let what = format!(
                "the value in {} has an \"=\": a space is missing before the next keyword, or the value needs \
                 quotes ('…')",
                shown(keyword)
            );
            return Err(syntax(what, None));
        }
        pairs.push((known.name, value));
        rest = after.trim_start();
    }
    Ok(pairs)
}

/// Whether values of this keyword often have an equals sign in them.
fn may_hold_equals(keyword: &str) -> bool {
    ["options", "password", "sslpassword"].contains(&keyword)
}

/// A keyword for a message, unless it may be a piece of a password.
fn shown(keyword: &str) -> String {
    match keyword::find(keyword) {
        Some(known) => format!("{}=…", known.name),
        None => "…=…".to_owned(),
    }
}

/// Reads one value; gives it and what follows.
fn value<'a>(text: &'a str, keyword: &str) -> Result<(String, &'a str), AddressError> {
    let quoted = text.starts_with('\'');
    let body = if quoted { &text[1..] } else { text };
    let mut value = String::new();
    let mut characters = body.char_indices();
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => {
                if let Some((_, next)) = characters.next() {
                    value.push(next);
                }
            }
            '\'' if quoted => return Ok((value, &body[at + 1..])),
            other if !quoted && other.is_whitespace() => return Ok((value, &body[at..])),
            other => value.push(other),
        }
    }
    if quoted {
        let what = format!("the quoted value in {} has no closing '", shown(keyword));
        let libpq = "unterminated quoted string in connection info string".to_owned();
        return Err(syntax(what, Some(libpq)));
    }
    Ok((value, ""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pairs(text: &str) -> Pairs {
        parse(text).unwrap()
    }

    fn pair(keyword: &'static str, value: &str) -> (&'static str, String) {
        (keyword, value.to_owned())
    }

    #[test]
    fn reads_quotes_escapes_and_spaces_around_equals() {
        assert_eq!(
            pairs(r"host = a  user='b c'password=d\ e\'f dbname=''"),
            vec![
                pair("host", "a"),
                pair("user", "b c"),
                pair("password", "d e'f"),
                pair("dbname", "")
            ]
        );
        assert_eq!(pairs("  "), vec![]);
    }

    #[test]
    fn refuses_what_is_unfinished_without_repeating_values() {
        for text in [
            "host",
            "=x",
            "host='x",
            "password=top secret",
            "password=top secret dbname=x",
        ] {
            let error = parse(text).unwrap_err();
            assert!(!format!("{error} {}", error.libpq()).contains("secret"), "{error:?}");
        }
    }

    #[test]
    fn says_what_libpq_says() {
        for (text, expected) in [
            ("host", "missing \"=\" after \"host\" in connection info string"),
            ("host=h x", "missing \"=\" after \"x\" in connection info string"),
            ("foo=1 x", "invalid connection option \"foo\""),
            ("postgres:/u:top@h?x=1", "invalid connection option \"***\""),
            ("=1", "invalid connection option \"\""),
            ("password=top zzz=1", "invalid connection option \"***\""),
            ("host='h", "unterminated quoted string in connection info string"),
        ] {
            assert_eq!(parse(text).unwrap_err().libpq(), expected, "{text}");
        }
    }

    proptest! {
        #[test]
        fn never_panics(text in any::<String>()) {
            let _ = parse(&text);
        }

        #[test]
        fn quoted_values_come_back(value in any::<String>()) {
            let quoted = value.replace('\\', r"\\").replace('\'', r"\'");
            prop_assert_eq!(pairs(&format!("user='{quoted}' host=h")), vec![pair("user", &value), pair("host", "h")]);
        }
    }
}
