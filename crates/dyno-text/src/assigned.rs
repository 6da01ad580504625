//! What is assigned to names of secrets in a file: messages show lines of files, also of those that are broken, and
//! then nobody knows where a value ends. So what is in doubt is hidden.

use crate::secret::{HIDDEN, is_named_secret};

/// A line of a file as it may be shown: what is assigned to names of secrets is hidden, and what follows it if it is
/// not clear where it ends.
#[must_use]
pub fn line_without_secrets(line: &str) -> String {
    let mut shown = String::with_capacity(line.len());
    let mut rest = line;
    while let Some(equals) = rest.find('=') {
        let (before, value) = rest.split_at(equals + 1);
        shown.push_str(before);
        rest = value;
        let blank = value.len() - value.trim_start().len();
        let length = value_length(&value[blank..]);
        if hides(name_before(&before[..equals]), &value[blank..blank + length]) {
            shown.push_str(&value[..blank]);
            shown.push_str(HIDDEN);
            rest = &value[blank + length..];
        }
    }
    shown.push_str(rest);
    shown
}

/// Whether a file in TOML that begins with this text goes on in the middle of what is assigned to the name of a
/// secret: a text or an array of several lines.
#[must_use]
pub fn ends_in_secret(text: &str) -> bool {
    // For each bracket that is open, whether what is in it is secret.
    let mut open: Vec<bool> = Vec::new();
    let mut is_secret = false;
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        let rest = &text[at..];
        let line_length = || rest.find('\n').unwrap_or(rest.len());
        at += match next {
            '"' | '\'' => match quoted_length(rest) {
                Some(length) => length,
                None if is_long(rest) => return is_secret,
                // It is not closed, which is an error: the next line is another matter.
                None => line_length(),
            },
            '#' => line_length(),
            _ => next.len_utf8(),
        };
        match next {
            // What the value is does not matter: in several lines it is no number.
            '=' => is_secret = hides(name_before(&text[..at - 1]), HIDDEN) || open.contains(&true),
            '[' | '{' => open.push(is_secret),
            ']' | '}' => {
                open.pop();
                is_secret = open.contains(&true);
            }
            '\n' => is_secret = open.contains(&true),
            _ => {}
        }
    }
    open.contains(&true)
}

/// Whether what is assigned to this name is hidden, as it is written.
fn hides(name: &str, value: &str) -> bool {
    is_named_secret(name, value.trim_matches(['"', '\'']))
}

/// The name that a text before an equals sign ends with, without its quotes.
fn name_before(text: &str) -> &str {
    let name = text.trim_end().trim_end_matches(['"', '\'']);
    let is_of_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    &name[name.trim_end_matches(is_of_name).len()..]
}

/// How long the value is that a line's rest begins with; all of it if that is not clear.
fn value_length(text: &str) -> usize {
    let length = match text.chars().next() {
        Some('[' | '{') => bracketed_length(text),
        Some('"' | '\'') => quoted_length(text),
        _ => {
            let length = text.find([',', '}', ']', ' ', '\t', '#']).unwrap_or(text.len());
            let is_plain = |word: &str| word.parse::<f64>().is_ok() || word == "true" || word == "false";
            is_plain(&text[..length]).then_some(length)
        }
    };
    // What follows a value that is whole: another one, a comment, or the end of what it stands in.
    let is_end = |length: &usize| {
        let behind = text[*length..].trim_start();
        behind.is_empty() || behind.starts_with([',', '}', ']', '#'])
    };
    length.filter(is_end).unwrap_or(text.len())
}

/// Whether a text begins with three quotes, so that what they enclose may have several lines.
fn is_long(text: &str) -> bool {
    text.starts_with("\"\"\"") || text.starts_with("'''")
}

/// How long the text in quotes is that another begins with; `None`: it does not end, or not in its line.
fn quoted_length(text: &str) -> Option<usize> {
    let quote = text.chars().next()?;
    let quotes = if is_long(text) { 3 } else { 1 };
    let mut escaped = false;
    for (at, character) in text.char_indices().skip(quotes) {
        match character {
            _ if escaped => escaped = false,
            '\\' if quote == '"' => escaped = true,
            '\n' if quotes == 1 => return None,
            _ if text[at..].starts_with(&text[..quotes]) => {
                // Up to two more may stand before those that end it.
                let own = text[at + quotes..]
                    .chars()
                    .take_while(|next| *next == quote && quotes == 3);
                return Some(at + quotes + own.take(2).count());
            }
            _ => {}
        }
    }
    None
}

/// How long the array or the table is that a line's rest begins with; `None`: it does not end there.
fn bracketed_length(text: &str) -> Option<usize> {
    let mut depth = 0_usize;
    let mut at = 0;
    while let Some(next) = text[at..].chars().next() {
        at += match next {
            '"' | '\'' => quoted_length(&text[at..])?,
            '#' => return None,
            _ => next.len_utf8(),
        };
        match next {
            '[' | '{' => depth += 1,
            ']' | '}' => depth = depth.saturating_sub(1),
            _ => {}
        }
        if depth == 0 {
            return Some(at);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_shown_without_what_secrets_are() {
        for (line, shown) in [
            (
                "options = { token = \"a, b\\\" c\", tables = -3 }",
                "options = { token = ***, tables = -3 }",
            ),
            ("\"options.api-key\"='x y', n = 1", "\"options.api-key\"=***, n = 1"),
            ("token = [\"a\", \"b\"] # two", "token = *** # two"),
            ("token = [[\"a]b\"], ['c', \"d\"]], n = 1", "token = ***, n = 1"),
            ("token = { a = \"b c\", d = 'e}' }, n = 1", "token = ***, n = 1"),
            ("password = \"\"\"s3cret\"\"\"", "password = ***"),
            ("password = \"\"\"s3\\\"\"cret\"\"\"\"\" # x", "password = *** # x"),
            ("password = '''s3'cret''', x = 3", "password = ***, x = 3"),
            ("password = '''s3cret", "password = ***"),
            ("password = \"s3\"cret\", x = 3", "password = ***"),
            ("password = s3 cret", "password = ***"),
            ("password = [\"s3\" # cret\", 'x'", "password = ***"),
            ("password = 12, x = 3", "password = ***, x = 3"),
            ("secret = \"never ended", "secret = ***"),
            ("key = 5, tokens = 'abc', key = 'x'", "key = 5, tokens = ***, key = ***"),
            ("größe = 3", "größe = 3"),
            ("ä=token=1", "ä=token=***"),
            ("token =", "token ="),
        ] {
            assert_eq!(line_without_secrets(line), shown, "{line}");
        }
    }

    #[test]
    fn a_secret_may_have_several_lines() {
        for text in [
            "token = [\n",
            "n = 1\ntoken = [\"a\", # ]\n  \"b\",\n",
            "options = { token = [\n",
            "token = [[\"a\"],\n",
            "password = \"\"\"\nfirst \\\"\"\"\n",
            "password = '''\n",
        ] {
            assert!(ends_in_secret(text), "{text}");
        }
        for text in [
            "",
            "token = [\"a]\"]\n",
            "token = [\n\"a\",\n]\n",
            "password = \"\"\"\nx\"\"\"\n",
            "password = \"never ended\n",
            "# token = [\n",
            "tables = [\n",
            "sql = '''\npassword = [\n",
            "sql = \"token = [\"\n",
            "[options]\n[[token]]\n",
            "}]\n",
        ] {
            assert!(!ends_in_secret(text), "{text}");
        }
    }
}
