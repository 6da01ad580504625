//! Splits an SQL text at its semicolons, leaving those in quotes, dollar quotes, comments and parentheses alone.
//!
//! Source: PostgreSQL documentation, "Lexical Structure".

/// One statement of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Statement<'a> {
    /// The statement without its semicolon and the blanks around it.
    pub(super) text: &'a str,
    /// Line of its first character, from 1.
    pub(super) line: usize,
}

/// The statements of a text; pieces of nothing but blanks and comments are left out.
pub(super) fn split(text: &str) -> Vec<Statement<'_>> {
    let mut statements = Vec::new();
    // Where the current piece starts; whether it has anything but blanks and comments, and where that begins.
    let mut first_content: Option<usize> = None;
    let mut depth = 0_usize;
    let mut at = 0;
    while at < text.len() {
        let rest = &text[at..];
        let length = comment_length(rest);
        if length > 0 {
            at += length;
            continue;
        }
        let Some(character) = rest.chars().next() else {
            break;
        };
        if character == ';' && depth == 0 {
            if let Some(start) = first_content.take() {
                statements.push(statement(text, start, at));
            }
            at += 1;
            continue;
        }
        if !character.is_whitespace() {
            first_content.get_or_insert(at);
        }
        match character {
            '(' => depth += 1,
            ')' => depth = depth.saturating_sub(1),
            _ => {}
        }
        let previous = text[..at].chars().next_back();
        let quoted = quoted_length(rest, previous);
        at += if quoted > 0 { quoted } else { character.len_utf8() };
    }
    if let Some(start) = first_content {
        statements.push(statement(text, start, text.len()));
    }
    statements
}

fn statement(text: &str, start: usize, end: usize) -> Statement<'_> {
    Statement {
        text: text[start..end].trim_end(),
        line: 1 + text[..start].bytes().filter(|byte| *byte == b'\n').count(),
    }
}

/// Length of the comment that the text starts with, or 0. Block comments nest; one without end takes everything.
fn comment_length(text: &str) -> usize {
    if text.starts_with("--") {
        return text.find('\n').unwrap_or(text.len());
    }
    if !text.starts_with("/*") {
        return 0;
    }
    let bytes = text.as_bytes();
    let (mut depth, mut at) = (0_usize, 0);
    while at < bytes.len() {
        if bytes[at..].starts_with(b"/*") {
            depth += 1;
            at += 2;
        } else if bytes[at..].starts_with(b"*/") {
            depth -= 1;
            at += 2;
            if depth == 0 {
                return at;
            }
        } else {
            at += 1;
        }
    }
    text.len()
}

/// Length of the quoted piece that the text starts with, or 0; `previous` is the character before it.
fn quoted_length(text: &str, previous: Option<char>) -> usize {
    match text.as_bytes().first() {
        // In E'…' a backslash takes the next character as it is.
        Some(b'\'') => closed_by(text, b'\'', matches!(previous, Some('e' | 'E'))),
        Some(b'"') => closed_by(text, b'"', false),
        Some(b'$') if !previous.is_some_and(is_name) => dollar_quote_length(text),
        _ => 0,
    }
}

/// Length up to and with the closing quote. A doubled quote reads as the end of one piece and the start of the next, which comes to the
/// same, except after a backslash.
fn closed_by(text: &str, quote: u8, backslash_escapes: bool) -> usize {
    let bytes = text.as_bytes();
    let mut at = 1;
    while at < bytes.len() {
        match bytes[at] {
            b'\\' if backslash_escapes => at += 2,
            byte if byte == quote && bytes.get(at + 1) == Some(&quote) => at += 2,
            byte if byte == quote => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

fn dollar_quote_length(text: &str) -> usize {
    let Some(end) = text[1..].find('$').map(|end| end + 2) else {
        return 0;
    };
    let tag = &text[..end];
    let name = &tag[1..tag.len() - 1];
    if name.starts_with(|c: char| c.is_ascii_digit()) || !name.chars().all(is_name) {
        return 0;
    }
    match text[end..].find(tag) {
        Some(length) => end + length + end,
        None => text.len(),
    }
}

/// Whether a character can be part of a name (`$` is excluded, so that tags end).
fn is_name(character: char) -> bool {
    character == '_' || character.is_ascii_alphanumeric() || !character.is_ascii()
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn texts(text: &str) -> Vec<&str> {
        split(text).iter().map(|statement| statement.text).collect()
    }

    #[test]
    fn splits_at_plain_semicolons_only() {
        assert_eq!(texts("select 1; select 2"), ["select 1", "select 2"]);
        assert_eq!(texts(";; -- nothing;\n /* ; /* ; */ ; */ ;"), [""; 0]);
        assert_eq!(texts("select ';''', \"a;b\";x"), ["select ';''', \"a;b\"", "x"]);
        assert_eq!(texts(r"select E'\';', e'\\';x"), [r"select E'\';', e'\\'", "x"]);
        assert_eq!(texts(r"select '\';x"), [r"select '\'", "x"]);
        assert_eq!(texts("do $$ a; $b$ $$;x"), ["do $$ a; $b$ $$", "x"]);
        assert_eq!(texts("do $b$ a; $$ $b$;x"), ["do $b$ a; $$ $b$", "x"]);
        assert_eq!(texts("select $1; a$b; c$d"), ["select $1", "a$b", "c$d"]);
        assert_eq!(texts("create rule r do (a; b); x"), ["create rule r do (a; b)", "x"]);
        assert_eq!(texts("select 'open; x"), ["select 'open; x"]);
    }

    #[test]
    fn counts_lines() {
        let lines: Vec<usize> = split("-- c\nselect 1;\n\n/* x */ select\n2;")
            .iter()
            .map(|s| s.line)
            .collect();
        assert_eq!(lines, [2, 4]);
    }

    proptest! {
        #[test]
        fn never_panics(text in "[a'\"$;()/*\\-\\\\eé\n 1]*") {
            for statement in split(&text) {
                prop_assert!(!statement.text.is_empty());
                prop_assert!(text.contains(statement.text));
            }
        }
    }
}
