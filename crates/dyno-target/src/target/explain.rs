//! What a server is asked of statements beside a load: how it would execute them.

use dyno_record::AskedWith;

/// A statement in the forms in which a server may be asked for its plan. At least one is there.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ToExplain {
    /// With parameters: `$1`, `$2`, …, or `?` where the database has these.
    pub parameterized: Option<String>,
    /// As clients send it.
    pub filled: Option<String>,
    /// Whether the latter has values that differ from one execution to the next.
    pub has_values: bool,
}

impl ToExplain {
    /// With what it is asked for if it is asked for [as it stands](Self::filled).
    pub(crate) fn filled_with(&self) -> AskedWith {
        match self.has_values {
            true => AskedWith::Values,
            false => AskedWith::Text,
        }
    }
}

/// The first word of a statement in lower case, behind blanks, comments and opening parentheses; empty if there is
/// none. `line_comments` are what begins a comment that the end of the line ends.
#[must_use]
pub fn first_word(text: &str, line_comments: &[&str]) -> String {
    let mut rest = text;
    loop {
        rest = rest.trim_start_matches(|letter: char| letter.is_whitespace() || letter == '(');
        if line_comments.iter().any(|begin| rest.starts_with(begin)) {
            rest = rest.split_once('\n').map_or("", |(_, behind)| behind);
        } else if let Some(comment) = rest.strip_prefix("/*") {
            // What some servers execute is not looked into.
            if comment.starts_with('!') || comment.starts_with("M!") {
                return String::new();
            }
            // One that holds another leads to a word that it is not, and the server refuses to explain that.
            rest = comment.split_once("*/").map_or("", |(_, behind)| behind);
        } else {
            break;
        }
    }
    let end = rest.find(|letter: char| !letter.is_ascii_alphabetic());
    rest[..end.unwrap_or(rest.len())].to_ascii_lowercase()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_word_is_behind_comments() {
        for (text, expected) in [
            ("SELECT 1", "select"),
            ("  -- select\n/* update */ (\n(with x as (select 1) select 2))", "with"),
            ("/* a /* nested */ one */ select 1", "one"),
            ("/* never ended", ""),
            ("-- never ended", ""),
            ("", ""),
            ("/*! analyze */ select 1", ""),
            ("1", ""),
            ("# no comment here\nselect 1", ""),
        ] {
            assert_eq!(first_word(text, &["--"]), expected, "{text}");
        }
        assert_eq!(first_word("# one\nselect 1", &["#", "--"]), "select");
    }
}
