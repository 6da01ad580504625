//! `{name}` in SQL, settings and row counts: replaced by the parameter of that name.
//!
//! Braces are common in SQL (arrays, JSON), so only a single name between braces is a placeholder; `{{name}}`
//! writes `{name}` itself.

use dyno_archive::plan::Value;
use indexmap::IndexMap;
use std::ops::Range;

/// A stretch of a text.
enum Piece<'a> {
    /// Stands for itself.
    Literal(&'a str),
    /// Stands for a parameter; with the bytes it takes up, braces included.
    Name(&'a str, Range<usize>),
}

/// Cuts `text` at its placeholders.
fn pieces(text: &str) -> Vec<Piece<'_>> {
    let mut pieces = Vec::new();
    let mut literal = 0;
    let mut at = 0;
    while let Some(open) = text[at..].find('{').map(|found| at + found) {
        let escaped = text[open + 1..].starts_with('{');
        let start = open + if escaped { 2 } else { 1 };
        let name = name_at(&text[start..]);
        let after = start + name.len();
        let closed = text[after..].starts_with(if escaped { "}}" } else { "}" });
        if name.is_empty() || !closed {
            at = open + 1;
            continue;
        }
        pieces.push(Piece::Literal(&text[literal..open]));
        if escaped {
            pieces.push(Piece::Literal(&text[open + 1..=after]));
            at = after + 2;
        } else {
            pieces.push(Piece::Name(name, open..after + 1));
            at = after + 1;
        }
        literal = at;
    }
    pieces.push(Piece::Literal(&text[literal..]));
    pieces
}

/// The name that `text` begins with; empty if there is none.
fn name_at(text: &str) -> &str {
    let end = text
        .find(|character: char| !character.is_ascii_alphanumeric() && character != '_')
        .unwrap_or(text.len());
    let name = &text[..end];
    if is_name(name) { name } else { "" }
}

/// Whether `text` can name a parameter, in braces here and after a colon in scripts.
pub(super) fn is_name(text: &str) -> bool {
    !text.starts_with(|first: char| first.is_ascii_digit())
        && !text.is_empty()
        && text
            .chars()
            .all(|character| character.is_ascii_alphanumeric() || character == '_')
}

/// The first placeholder of `text` that names none of `parameters`: the name and where it is.
pub(crate) fn unknown<'a>(text: &'a str, parameters: &IndexMap<String, Value>) -> Option<(&'a str, Range<usize>)> {
    pieces(text).into_iter().find_map(|piece| match piece {
        Piece::Name(name, place) if !parameters.contains_key(name) => Some((name, place)),
        _ => None,
    })
}

/// Replaces every placeholder. One that names no parameter stays as it is; [`unknown`] finds those beforehand.
pub(crate) fn substitute(text: &str, parameters: &IndexMap<String, Value>) -> String {
    let mut result = String::with_capacity(text.len());
    for piece in pieces(text) {
        match piece {
            Piece::Literal(literal) => result.push_str(literal),
            Piece::Name(name, place) => match parameters.get(name) {
                Some(value) => result.push_str(&value.to_string()),
                None => result.push_str(&text[place]),
            },
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters() -> IndexMap<String, Value> {
        IndexMap::from([
            ("rows".to_owned(), Value::Integer(100)),
            ("kind".to_owned(), Value::from("heap")),
        ])
    }

    #[test]
    fn replaces_names_and_leaves_other_braces_alone() {
        let replaced = |text| substitute(text, &parameters());
        assert_eq!(replaced("insert {rows} of {kind}"), "insert 100 of heap");
        assert_eq!(
            replaced("'{1,2}'::int[], '{}', '{\"a\": {}}', {"),
            "'{1,2}'::int[], '{}', '{\"a\": {}}', {"
        );
        assert_eq!(replaced("'{{rows}}' {{rows} {rows}}"), "'{rows}' {100 100}");
        assert_eq!(replaced("{other}"), "{other}");
    }

    #[test]
    fn finds_a_name_that_is_no_parameter() {
        assert_eq!(unknown("a {rows} b {rwos}", &parameters()), Some(("rwos", 11..17)));
        assert_eq!(unknown("{{rwos}} '{a,b}'", &parameters()), None);
    }

    proptest! {
        #[test]
        fn text_without_placeholders_is_unchanged(text in "[a-z }é,0-9]{0,40}") {
            prop_assert_eq!(substitute(&text, &parameters()), text);
        }

        #[test]
        fn any_text_can_be_cut(text in "[{}a-z0-9é ]{0,40}") {
            let _ = unknown(&text, &parameters());
            let _ = substitute(&text, &parameters());
        }
    }
}
