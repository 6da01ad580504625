//! Under which text a statement is counted: its own without what differs from one execution to the next.

use crate::settings::Dialect;

/// A label is no longer than this, in bytes.
const MOST_BYTES: usize = 400;

/// Appends the text under which a statement is counted. Numbers and strings become `?`, digits at the end of a name
/// `#` (scripts number their tables), blanks one space, a list behind IN `(?, …)` however long it is, and of groups
/// of values that are alike the first is told. So all point selects of a workload are counted together, whatever
/// the table and the row.
///
/// What a string is, the database's language says, with its server's usual settings: in MySQL's, what stands in
/// double quotes is one, too, unless only a name can stand there (as under `ANSI_QUOTES`), and a backslash escapes what
/// follows it; in PostgreSQL's it does so only in `E'…'`, and double quotes stand around names.
pub fn told_apart(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    let begin = out.len();
    let mut at = 0;
    // Where the last group in parentheses began in the label, and where the one before it is.
    let mut opened = None;
    let mut last_group: Option<(usize, usize)> = None;
    while at < text.len() && out.len() - begin < MOST_BYTES {
        let byte = text[at];
        match byte {
            b'\'' | b'"' if is_string(text, at, &out[begin..], dialect) => {
                let escapes = match dialect {
                    Dialect::Mysql => true,
                    Dialect::Postgres => has_escapes(&text[..at]),
                };
                if escapes && dialect == Dialect::Postgres {
                    // It belongs to the string.
                    out.pop();
                }
                at = behind_string(text, at, escapes);
                out.push(b'?');
            }
            b'"' | b'`' => {
                let end = behind_string(text, at, false);
                let name = &text[at..end];
                let inside = name[1..].strip_suffix(&[byte]).unwrap_or(&name[1..]);
                let digits = count_back(inside);
                out.push(byte);
                out.extend_from_slice(&inside[..inside.len() - digits]);
                if digits > 0 {
                    out.push(b'#');
                }
                out.push(byte);
                at = end;
            }
            b'$' if dialect == Dialect::Postgres => {
                let length = behind_dollars(&text[at..]);
                out.push(if length.is_some() { b'?' } else { byte });
                at += length.unwrap_or(1);
            }
            b'0'..=b'9' => {
                at += count(&text[at..], |byte| byte.is_ascii_alphanumeric() || byte == b'.');
                out.push(b'?');
            }
            _ if is_of_name(byte) => {
                let length = count(&text[at..], |byte| is_of_name(byte) || byte.is_ascii_digit());
                let name = &text[at..at + length];
                let digits = count_back(name);
                out.extend_from_slice(&name[..length - digits]);
                if digits > 0 {
                    out.push(b'#');
                }
                at += length;
            }
            _ if byte.is_ascii_whitespace() => {
                at += count(&text[at..], |byte| byte.is_ascii_whitespace());
                if out.len() > begin && at < text.len() {
                    out.push(b' ');
                }
            }
            b'(' => {
                opened = Some(out.len());
                out.push(byte);
                at += 1;
            }
            b')' => {
                out.push(byte);
                at += 1;
                let Some(open) = opened.take() else { continue };
                if is_behind(b"in", &out[begin..open]) && is_values(&out[open..]) {
                    out.truncate(open);
                    out.extend_from_slice(VALUES);
                    continue;
                }
                match last_group {
                    Some((first, end)) if out[first..end] == out[open..] && is_list(&out[end..open]) => {
                        out.truncate(end);
                        out.extend_from_slice(MORE);
                    }
                    _ => last_group = Some((open, out.len())),
                }
            }
            _ => {
                out.push(byte);
                at += 1;
            }
        }
    }
    if at < text.len() {
        out.extend_from_slice("…".as_bytes());
    }
}

/// Stands for a list of values.
const VALUES: &[u8] = "(?, …)".as_bytes();

/// Whether a text ends with this word.
fn is_behind(word: &[u8], before: &[u8]) -> bool {
    let before = before.trim_ascii_end();
    let begin = before.len() - before.iter().rev().take_while(|byte| is_of_name(**byte)).count();
    before[begin..].eq_ignore_ascii_case(word)
}

/// Whether a group has values alone.
fn is_values(group: &[u8]) -> bool {
    group.contains(&b'?')
        && group
            .iter()
            .all(|byte| matches!(byte, b'(' | b'?' | b',' | b' ' | b'-' | b')'))
}

/// Stands for groups like the one before it.
const MORE: &[u8] = ", …".as_bytes();

/// Whether only a comma stands between two groups, and what stands for those between them.
fn is_list(between: &[u8]) -> bool {
    let between = between.strip_prefix(MORE).unwrap_or(between);
    between.iter().all(|byte| *byte == b',' || *byte == b' ')
}

/// Whether a name may begin with it. Whatever is not ASCII belongs to some name.
fn is_of_name(byte: u8) -> bool {
    byte.is_ascii_alphabetic() || byte == b'_' || !byte.is_ascii()
}

/// How many bytes at the begin are such.
fn count(text: &[u8], is_such: impl Fn(u8) -> bool) -> usize {
    text.iter().take_while(|byte| is_such(**byte)).count()
}

/// How many digits are at the end.
fn count_back(name: &[u8]) -> usize {
    name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count()
}

/// Whether what stands in quotes from `at` on is a string; else it is a name.
fn is_string(text: &[u8], at: usize, before: &[u8], dialect: Dialect) -> bool {
    if text[at] == b'\'' {
        return true;
    }
    dialect == Dialect::Mysql && !is_before_name(before) && text.get(behind_string(text, at, false)) != Some(&b'.')
}

/// Whether only a name can follow this.
fn is_before_name(before: &[u8]) -> bool {
    const WORDS: [&[u8]; 5] = [b"from", b"into", b"join", b"table", b"update"];
    WORDS.iter().any(|word| is_behind(word, before)) || before.ends_with(b".")
}

/// Whether a string of PostgreSQL that follows this has escapes: it begins with an E that ends no longer word.
fn has_escapes(before: &[u8]) -> bool {
    let is_of_word = |byte: &u8| is_of_name(*byte) || byte.is_ascii_digit() || *byte == b'$';
    match before.split_last() {
        Some((b'e' | b'E', before)) => !before.last().is_some_and(is_of_word),
        _ => false,
    }
}

/// The place behind what stands in quotes from `at` on. Quotes in it are doubled, or escaped if there are escapes.
fn behind_string(text: &[u8], at: usize, escapes: bool) -> usize {
    let quote = text[at];
    let mut next = at + 1;
    while let Some(byte) = text.get(next) {
        match byte {
            b'\\' if escapes => next += 2,
            _ if *byte == quote && text.get(next + 1) == Some(&quote) => next += 2,
            _ if *byte == quote => return next + 1,
            _ => next += 1,
        }
    }
    text.len()
}

/// How long a string of PostgreSQL between dollars is that a text begins with; `None`: it begins with none.
fn behind_dollars(text: &[u8]) -> Option<usize> {
    let tag = text[1..].iter().position(|byte| *byte == b'$')? + 2;
    let (mark, behind) = text.split_at(tag);
    let name = &mark[1..mark.len() - 1];
    let is_name = name.iter().all(|byte| is_of_name(*byte) || byte.is_ascii_digit())
        && !name.first().is_some_and(u8::is_ascii_digit);
    if !is_name {
        return None;
    }
    let end = behind.windows(tag).position(|window| window == mark);
    Some(end.map_or(text.len(), |end| tag + end + tag))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn label(text: &str) -> String {
        label_in(text, Dialect::Mysql)
    }

    fn label_in(text: &str, dialect: Dialect) -> String {
        let mut out = Vec::new();
        told_apart(text.as_bytes(), dialect, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn each_database_has_strings_of_its_own() {
        for (text, mysql, postgres) in [
            (
                "SELECT \"a b\", \"x\"\"y\" FROM \"my Table7\"",
                "SELECT ?, ? FROM \"my Table#\"",
                "SELECT \"a b\", \"x\"\"y\" FROM \"my Table#\"",
            ),
            ("SELECT 'C:\\', a FROM `t 7`", "SELECT ?", "SELECT ?, a FROM `t #`"),
            ("SELECT 'it\\'s', a", "SELECT ?, a", "SELECT ?s?"),
            ("SELECT e'it\\'s', some'x'", "SELECT e?, some?", "SELECT ?, some?"),
            (
                "SELECT $$a 'b' 1$$, $x$ $$ $x$, $1",
                "SELECT $$a ? ?$$, $x$ $$ $x$, $?",
                "SELECT ?, ?, $?",
            ),
            ("SELECT $never ended", "SELECT $never ended", "SELECT $never ended"),
            ("SELECT $$never ended", "SELECT $$never ended", "SELECT ?"),
            ("\"", "?", "\"\""),
            (
                "UPDATE \"s1\".\"t1\" SET a = \"b\"",
                "UPDATE \"s#\".\"t#\" SET a = ?",
                "UPDATE \"s#\".\"t#\" SET a = \"b\"",
            ),
        ] {
            assert_eq!(label_in(text, Dialect::Mysql), mysql, "{text}");
            assert_eq!(label_in(text, Dialect::Postgres), postgres, "{text}");
        }
    }

    #[test]
    fn what_differs_from_one_execution_to_the_next_is_left_out() {
        for (text, expected) in [
            ("SELECT c FROM sbtest12 WHERE id=5", "SELECT c FROM sbtest# WHERE id=?"),
            ("SELECT c FROM sbtest7 WHERE id=?", "SELECT c FROM sbtest# WHERE id=?"),
            (
                "UPDATE sbtest1 SET c='it''s \\' 7', k=k+1.5e3",
                "UPDATE sbtest# SET c=?, k=k+?",
            ),
            ("  BEGIN \n ", "BEGIN"),
            (
                "INSERT INTO t VALUES (1, 'a'),(2, 'b') , (3,'c')",
                "INSERT INTO t VALUES (?, ?), … , (?,?)",
            ),
            (
                "INSERT INTO t (a, b) VALUES (1, 2), (3, 4), (5, 6), (7, 8)",
                "INSERT INTO t (a, b) VALUES (?, ?), …",
            ),
            (
                "select k from t where id IN (1, 2,-3)",
                "select k from t where id IN (?, …)",
            ),
            (
                "select k from t where id in(1) or l in (m)",
                "select k from t where id in(?, …) or l in (m)",
            ),
            ("SELECT 'never ended", "SELECT ?"),
            ("select größe3 from t)", "select größe# from t)"),
            ("", ""),
        ] {
            assert_eq!(label(text), expected, "{text}");
        }
    }

    #[test]
    fn a_label_is_short() {
        let long = format!("SELECT {}", "a, ".repeat(10_000));
        let label = label(&long);
        assert!(label.len() < MOST_BYTES + 10 && label.ends_with('…'), "{label}");
        let rows: Vec<_> = (0..10_000).map(|row| format!("({row}, 'x')")).collect();
        let insert = format!("INSERT INTO t VALUES {}", rows.join(", "));
        assert_eq!(super::tests::label(&insert), "INSERT INTO t VALUES (?, ?), …");
    }
}
