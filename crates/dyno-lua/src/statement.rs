//! Statements whose values are marked by `?`, as all of sysbench's are.

use crate::settings::Dialect;
use dyno_wire::{MyStatement, Parameters};

/// The text as the server prepares it, and how many values it has. PostgreSQL numbers its values.
pub(crate) fn numbered(text: &[u8], dialect: Dialect) -> (Vec<u8>, usize) {
    match dialect {
        Dialect::Mysql => (text.to_owned(), MyStatement::placeholder_count(text)),
        Dialect::Postgres => {
            let mut out = Vec::with_capacity(text.len() + 8);
            let mut count = 0;
            pieces(text, |piece| match piece {
                Piece::Text(text) => out.extend_from_slice(text),
                Piece::Mark => {
                    count += 1;
                    out.extend_from_slice(format!("${count}").as_bytes());
                }
            });
            (out, count)
        }
    }
}

/// Appends the text with the values in the places of its marks.
pub(crate) fn fill_in(text: &[u8], values: &impl Parameters, out: &mut Vec<u8>) {
    let mut next = 0;
    pieces(text, |piece| match piece {
        Piece::Text(text) => out.extend_from_slice(text),
        Piece::Mark if next < values.len() => {
            let at = out.len();
            if !values.write(next, out) {
                out.truncate(at);
                out.extend_from_slice(b"NULL");
            } else if values.is_text(next) {
                quote(out, at);
            }
            next += 1;
        }
        Piece::Mark => out.push(b'?'),
    });
}

/// Puts what stands from `at` on into quotes.
fn quote(out: &mut Vec<u8>, at: usize) {
    let text = out.split_off(at);
    out.push(b'\'');
    for byte in text {
        if byte == b'\'' {
            out.push(b'\'');
        }
        out.push(byte);
    }
    out.push(b'\'');
}

enum Piece<'a> {
    Text(&'a [u8]),
    Mark,
}

/// Cuts a text at its marks. What stands in quotes is text.
fn pieces<'a>(text: &'a [u8], mut each: impl FnMut(Piece<'a>)) {
    let (mut from, mut quoted) = (0, None);
    for (at, &byte) in text.iter().enumerate() {
        match (quoted, byte) {
            (None, b'?') => {
                each(Piece::Text(&text[from..at]));
                each(Piece::Mark);
                from = at + 1;
            }
            (None, b'\'' | b'"' | b'`') => quoted = Some(byte),
            (Some(end), byte) if byte == end => quoted = None,
            _ => {}
        }
    }
    each(Piece::Text(&text[from..]));
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Two;

    impl Parameters for Two {
        fn len(&self) -> usize {
            2
        }

        fn is_text(&self, index: usize) -> bool {
            index == 1
        }

        fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
            out.extend_from_slice([&b"7"[..], b"it's"][index]);
            true
        }
    }

    #[test]
    fn marks_become_numbers_or_values_but_not_in_quotes() {
        let text = b"select '?' from t where a = ? and \"b?\" = ?";
        let (sent, count) = numbered(text, Dialect::Postgres);
        assert_eq!(
            String::from_utf8_lossy(&sent),
            "select '?' from t where a = $1 and \"b?\" = $2"
        );
        assert_eq!(count, 2);
        assert_eq!(numbered(text, Dialect::Mysql), (text.to_vec(), 2));
        let mut out = Vec::new();
        fill_in(text, &Two, &mut out);
        assert_eq!(
            String::from_utf8_lossy(&out),
            "select '?' from t where a = 7 and \"b?\" = 'it''s'"
        );
    }
}
