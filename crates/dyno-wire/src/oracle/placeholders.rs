//! Where in a statement its values go.
//!
//! Scripts number their values, `$1` to `$n`; Oracle names them, `:1` and so on, and counts them where they stand: in
//! SQL a name that stands twice is two values. So each place gets a number of its own.

/// A statement's text, cut at its placeholders.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Placeholders {
    /// What stands before each placeholder, and after the last one.
    pub(super) pieces: Vec<Vec<u8>>,
    /// Which value (from 0) each placeholder stands for.
    pub(super) order: Vec<usize>,
}

impl Placeholders {
    /// A text without values.
    pub(super) fn none(text: &[u8]) -> Self {
        Self {
            pieces: vec![text.to_vec()],
            order: Vec::new(),
        }
    }

    /// Finds the placeholders outside quotes and comments. Oracle SQL Language Reference, "Literals", "Comments",
    /// "Database Object Naming Rules".
    pub(super) fn find(text: &[u8]) -> Self {
        let mut found = Self::default();
        let mut piece = Vec::new();
        let mut at = 0;
        let mut in_name = false;
        while let Some((&byte, after)) = text.get(at..).and_then(<[u8]>::split_first) {
            let (length, value) = match byte {
                b'$' if !in_name => numbered(after),
                b'q' | b'Q' | b'n' | b'N' if in_name => (1, None),
                _ => (passed_over(&text[at..]).unwrap_or(1), None),
            };
            let whole = &text[at..(at + length).min(text.len())];
            at += whole.len();
            in_name = false;
            match value {
                Some(value) => {
                    found.order.push(value);
                    found.pieces.push(std::mem::take(&mut piece));
                }
                None => {
                    in_name = matches!(
                        whole,
                        [b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | b'#' | 0x80..]
                    );
                    piece.extend_from_slice(whole);
                }
            }
        }
        found.pieces.push(piece);
        found
    }

    /// The text as Oracle takes it.
    pub(super) fn text(&self) -> Vec<u8> {
        let mut text = Vec::new();
        for (at, piece) in self.pieces.iter().enumerate() {
            if at > 0 {
                text.extend_from_slice(format!(":{at}").as_bytes());
            }
            text.extend_from_slice(piece);
        }
        text
    }
}

/// The length of the quoted text or the comment that a text begins with, if it begins with one. A letter before a quote
/// must be none of a name.
pub(super) fn passed_over(text: &[u8]) -> Option<usize> {
    let (&byte, after) = text.split_first()?;
    let length = match byte {
        b'\'' | b'"' => quoted(byte, after),
        b'q' | b'Q' if after.starts_with(b"'") => bracketed(&after[1..]) + 1,
        b'n' | b'N' if matches!(after, [b'q' | b'Q', b'\'', ..]) => bracketed(&after[2..]) + 2,
        b'-' if after.starts_with(b"-") => line(after),
        b'/' if after.starts_with(b"*") => comment(after),
        _ => return None,
    };
    Some(length.min(text.len()))
}

/// The length of `$` and its number, and the value that stands for.
fn numbered(after: &[u8]) -> (usize, Option<usize>) {
    let digits = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let number = str::from_utf8(&after[..digits])
        .ok()
        .and_then(|text| text.parse::<usize>().ok());
    match number.and_then(|number| number.checked_sub(1)) {
        Some(value) => (1 + digits, Some(value)),
        None => (1, None),
    }
}

/// The length of a quoted text; a doubled quote is two texts side by side, which is as good.
fn quoted(quote: u8, after: &[u8]) -> usize {
    let end = after.iter().position(|&byte| byte == quote);
    end.map_or(after.len(), |end| end + 1) + 1
}

/// The length of a text between brackets of the script's choice, `q'[…]'`, from its `q` on; `after` begins with the
/// bracket.
fn bracketed(after: &[u8]) -> usize {
    let Some((&bracket, text)) = after.split_first() else {
        return 1;
    };
    let end = match bracket {
        b'[' => b']',
        b'(' => b')',
        b'{' => b'}',
        b'<' => b'>',
        other => other,
    };
    let end = text.windows(2).position(|pair| *pair == [end, b'\'']);
    end.map_or(text.len(), |end| end + 2) + 2
}

/// The length of what is left of a line.
fn line(after: &[u8]) -> usize {
    after.iter().position(|&byte| byte == b'\n').unwrap_or(after.len()) + 1
}

/// The length of a comment that may span lines.
fn comment(after: &[u8]) -> usize {
    let rest = after.get(1..).unwrap_or_default();
    let end = rest.windows(2).position(|pair| pair == b"*/");
    end.map_or(after.len(), |end| end + 3) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn numbered(text: &str) -> (String, Vec<usize>) {
        let found = Placeholders::find(text.as_bytes());
        (String::from_utf8(found.text()).unwrap(), found.order)
    }

    #[test]
    fn placeholders_are_found_outside_quotes_and_comments() {
        for (text, expected, order) in [
            ("", "", vec![]),
            (
                "select $2, $1, $1 from dual",
                "select :1, :2, :3 from dual",
                vec![1, 0, 0],
            ),
            ("$1$12 $3", ":1:2 :3", vec![0, 11, 2]),
            (
                "select v$1, a#$1, $a, $0, $ from v$session",
                "select v$1, a#$1, $a, $0, $ from v$session",
                vec![],
            ),
            (r"'$1' 'it''s $1' '\' $1", r"'$1' 'it''s $1' '\' :1", vec![0]),
            (r#""$1" $1"#, r#""$1" :1"#, vec![0]),
            ("q'[it's $1]' $1", "q'[it's $1]' :1", vec![0]),
            ("nq'!a' $1!' Q'(' $1)' $1", "nq'!a' $1!' Q'(' $1)' :1", vec![0]),
            ("aq'[' $1", "aq'[' :1", vec![0]),
            ("$1 -- $1\n$1 /* $1 */ $1", ":1 -- $1\n:2 /* $1 */ :3", vec![0, 0, 0]),
            ("/*/ $1 */ $1 /* $1", "/*/ $1 */ :1 /* $1", vec![0]),
            ("q'", "q'", vec![]),
            ("q'[$1", "q'[$1", vec![]),
            ("'$1", "'$1", vec![]),
        ] {
            assert_eq!(numbered(text), (expected.to_owned(), order), "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_loses_a_byte(text in r#"[-q$0-9a'"\[\]/* \n]{0,24}"#) {
            let found = Placeholders::find(text.as_bytes());
            prop_assert_eq!(found.pieces.len(), found.order.len() + 1);
            let left: usize = found.pieces.iter().map(Vec::len).sum();
            prop_assert!(left + 2 * found.order.len() <= text.len());
        }
    }
}
