//! Texts of statements that differ in their values alone: they are counted together, under a text that has `?` in place
//! of values.
//!
//! sysbench's scripts write values into their texts, and no two texts need be the same. What is counted by text would
//! have as many kinds of statements as there are values.

use crate::settings::Dialect;
use std::collections::HashMap;

/// How much of a text is looked at, in bytes: inserts of many rows have half a million.
const MOST_READ: usize = 1024;

/// How long the text of a class may be, in bytes, give or take a word.
const MOST_WRITTEN: usize = 256;

/// How many classes a client has; all other texts are one.
const MOST_CLASSES: usize = 200;

/// The text of that one.
const OTHERS: &[u8] = b"other texts";

/// What stands for a value, and for a list of values in parentheses.
const VALUE: u8 = b'?';
const LIST: &[u8] = b"(?+)";

/// The classes of a client's texts, each with its number.
#[derive(Debug, Default)]
pub(crate) struct Classes {
    numbers: HashMap<Box<[u8]>, usize>,
    /// The text of the class that was looked up last.
    text: Vec<u8>,
}

impl Classes {
    /// The number of a text's class. A new one gets the number `next`, which is taken then.
    pub fn number(&mut self, text: &[u8], dialect: Dialect, next: &mut usize) -> usize {
        self.text.clear();
        write_class(text, dialect, &mut self.text);
        if let Some(number) = self.numbers.get(&*self.text) {
            return *number;
        }
        if self.numbers.len() >= MOST_CLASSES {
            self.text.clear();
            self.text.extend_from_slice(OTHERS);
            if let Some(number) = self.numbers.get(OTHERS) {
                return *number;
            }
        }
        let number = *next;
        *next += 1;
        self.numbers.insert(self.text.as_slice().into(), number);
        number
    }

    /// The text of the class that was looked up last.
    pub fn text(&self) -> &[u8] {
        &self.text
    }
}

/// Appends a text without its values: numbers and strings become `?`, lists of nothing else `(?+)`, rows of such lists
/// one of them, and what is blank a space.
fn write_class(text: &[u8], dialect: Dialect, out: &mut Vec<u8>) {
    let read = &text[..text.len().min(MOST_READ)];
    let mut at = 0;
    while let Some(&byte) = read.get(at) {
        if out.len() >= MOST_WRITTEN {
            break;
        }
        at += match byte {
            _ if byte.is_ascii_whitespace() => {
                if out.last().is_some_and(|last| *last != b' ') {
                    out.push(b' ');
                }
                1
            }
            b'\'' => value(out, quoted(&read[at..], dialect)),
            b'"' if dialect == Dialect::Mysql => value(out, quoted(&read[at..], dialect)),
            b'"' | b'`' => copied(out, &read[at..], name_in_quotes(&read[at..])),
            _ if byte.is_ascii_digit() => value(out, word(&read[at..], true)),
            _ if is_part_of_word(byte) => copied(out, &read[at..], word(&read[at..], false)),
            b')' => {
                out.push(byte);
                shorten(out);
                1
            }
            _ => {
                out.push(byte);
                1
            }
        };
    }
    // Of a list that is cut off nobody knows how long it is.
    if at < text.len()
        && let Some(end) = out.windows(LIST.len()).rposition(|window| window == LIST)
    {
        out.truncate(end + LIST.len());
    }
    while out.last() == Some(&b' ') {
        out.pop();
    }
}

fn value(out: &mut Vec<u8>, length: usize) -> usize {
    out.push(VALUE);
    length
}

fn copied(out: &mut Vec<u8>, rest: &[u8], length: usize) -> usize {
    out.extend_from_slice(&rest[..length]);
    length
}

fn is_part_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

/// How long the word is that begins here, or the number, in which there may be a point.
fn word(rest: &[u8], is_number: bool) -> usize {
    let end = rest
        .iter()
        .position(|&byte| !(is_part_of_word(byte) || is_number && byte == b'.'));
    end.unwrap_or(rest.len())
}

/// How long the string is that begins here, with its quotes. Two of them stand for one; backslashes escape in MySQL's.
fn quoted(rest: &[u8], dialect: Dialect) -> usize {
    let quote = rest.first().copied().unwrap_or_default();
    let mut at = 1;
    while let Some(&byte) = rest.get(at) {
        at += match byte {
            b'\\' if dialect == Dialect::Mysql => 2,
            _ if byte == quote && rest.get(at + 1) == Some(&quote) => 2,
            _ if byte == quote => return at + 1,
            _ => 1,
        };
    }
    rest.len()
}

/// How long the name is that begins here, with its quotes.
fn name_in_quotes(rest: &[u8]) -> usize {
    let quote = rest.first();
    let end = rest.iter().skip(1).position(|byte| Some(byte) == quote);
    end.map_or(rest.len(), |end| end + 2)
}

/// Shortens a list of values that has ended, and takes it away behind another one.
fn shorten(out: &mut Vec<u8>) {
    let Some(begin) = out.iter().rposition(|&byte| byte == b'(') else {
        return;
    };
    let inner = &out[begin + 1..out.len() - 1];
    let is_list = inner.contains(&VALUE)
        && inner
            .iter()
            .all(|byte| matches!(byte, b'?' | b',' | b' ' | b'-' | b'+'));
    if !is_list {
        return;
    }
    out.truncate(begin);
    let before = out.trim_ascii_end();
    if let Some(before) = before.strip_suffix(b",").map(<[u8]>::trim_ascii_end)
        && before.ends_with(LIST)
    {
        let end = before.len();
        out.truncate(end);
        return;
    }
    out.extend_from_slice(LIST);
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn class(text: &str, dialect: Dialect) -> String {
        let mut out = Vec::new();
        write_class(text.as_bytes(), dialect, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_do_not_count() {
        for (text, expected) in [
            ("SELECT c FROM sbtest12 WHERE id=5", "SELECT c FROM sbtest12 WHERE id=?"),
            (" select\n  1.5,\t-3 , 0x1F ", "select ?, -? , ?"),
            (
                "UPDATE t SET c='it''s \\' so', d = \"x\" WHERE id = 7",
                "UPDATE t SET c=?, d = ? WHERE id = ?",
            ),
            ("select `a 1`, t1.k2 from x$3", "select `a 1`, t1.k2 from x$3"),
            (
                "select k from t where id in (1, 2,3)",
                "select k from t where id in (?+)",
            ),
            (
                "INSERT INTO t (id, k) VALUES (1, 'a'),(2, 'b'), (3, 'c')",
                "INSERT INTO t (id, k) VALUES (?+)",
            ),
            ("select f(1, x), max(k) from t", "select f(?, x), max(k) from t"),
            ("select 'open", "select ?"),
            ("", ""),
        ] {
            assert_eq!(class(text, Dialect::Mysql), expected);
        }
        let text = "select \"a 1\", 'b\\' from t where n = 'x'";
        assert_eq!(class(text, Dialect::Postgres), "select \"a 1\", ? from t where n = ?");
    }

    #[test]
    fn long_texts_are_cut() {
        let rows = |count: usize| format!("insert into t values {}", vec!["(12, 'abc')"; count].join(","));
        assert_eq!(class(&rows(1000), Dialect::Mysql), "insert into t values (?+)");
        assert_eq!(class(&rows(90), Dialect::Mysql), class(&rows(91), Dialect::Mysql));
        assert!(class(&"word ".repeat(1000), Dialect::Mysql).len() < MOST_WRITTEN + 8);
    }

    #[test]
    fn beyond_the_most_all_texts_are_one_class() {
        let (mut classes, mut next) = (Classes::default(), 3);
        let mut number = |text: &str| classes.number(text.as_bytes(), Dialect::Mysql, &mut next);
        assert_eq!((number("select 1"), number("begin"), number("select 2")), (3, 4, 3));
        for table in 0..MOST_CLASSES {
            number(&format!("select k from t{table}"));
        }
        let others = number("select x from y");
        assert_eq!(number("select y from x"), others);
        assert_eq!(number("begin"), 4);
        assert_eq!(next, 3 + MOST_CLASSES + 1);
        assert_eq!(classes.text(), b"begin");
    }

    proptest! {
        #[test]
        fn any_text_has_a_class(text in "[a-z0-9'\"`\\\\(),.?é \n-]{0,80}") {
            for dialect in [Dialect::Mysql, Dialect::Postgres] {
                let once = class(&text, dialect);
                prop_assert!(once.len() <= text.len() + 4 * text.matches(')').count());
            }
        }
    }
}
