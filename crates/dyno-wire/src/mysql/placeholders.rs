//! Where in a statement its values go.
//!
//! MySQL marks the place of a value with `?` and counts from the left. Scripts whose language is pgbench's number their
//! values, `$1` to `$n`, as PostgreSQL does; both are understood, so that one script runs on both.
//!
//! What is quoted and what is a comment depends on the server: in the mode NO_BACKSLASH_ESCAPES a backslash escapes
//! nothing, and of a MariaDB and a MySQL only one executes what is in `/*M! … */`. A statement is encoded before there
//! is a server, but it is known how many values it has; so it is read in the way in which it has as many places.

/// A statement's text, cut at its placeholders.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) struct Placeholders {
    /// What stands before each placeholder, and after the last one.
    pub(super) pieces: Vec<Vec<u8>>,
    /// Which value (from 0) each placeholder stands for.
    pub(super) order: Vec<usize>,
}

/// A way of reading statements.
#[derive(Clone, Copy, Debug)]
struct Reading {
    /// Whether a backslash escapes what follows it in a string.
    escapes: bool,
    /// Whether MariaDB's own comments are executed.
    of_mariadb: bool,
}

impl Reading {
    /// The most usual one first.
    const ALL: [Self; 4] = [
        Self::of(true, true),
        Self::of(true, false),
        Self::of(false, true),
        Self::of(false, false),
    ];

    const fn of(escapes: bool, of_mariadb: bool) -> Self {
        Self { escapes, of_mariadb }
    }
}

impl Placeholders {
    /// Finds the placeholders outside quotes and comments, by the most usual reading.
    pub(super) fn find(text: &[u8]) -> Self {
        Self::read(text, Reading::ALL[0])
    }

    /// Finds the places of so many values, by the first reading that has a place for each; if there is none, by the
    /// most usual one.
    pub(super) fn of_values(text: &[u8], count: usize) -> Self {
        let usual = Self::find(text);
        let fits = |found: &Self| {
            let mut has = vec![false; count];
            let known = found.order.iter().all(|&value| match has.get_mut(value) {
                Some(place) => {
                    *place = true;
                    true
                }
                None => false,
            });
            known && has.iter().all(|has| *has)
        };
        if fits(&usual) {
            return usual;
        }
        let others = Reading::ALL[1..].iter().map(|reading| Self::read(text, *reading));
        others.into_iter().find(fits).unwrap_or(usual)
    }

    /// Whether there is a `?` however a text is read. `$1` may be a part of a name.
    pub(super) fn lack_values(text: &[u8]) -> bool {
        let has_mark = |reading: &Reading| {
            let found = Self::read(text, *reading);
            let kept: usize = found.pieces.iter().flatten().filter(|byte| **byte == b'?').count();
            kept < text.iter().filter(|byte| **byte == b'?').count()
        };
        text.contains(&b'?') && Reading::ALL.iter().all(has_mark)
    }

    /// MySQL Reference Manual, "Comments", "String Literals", "Schema Object Names".
    fn read(text: &[u8], reading: Reading) -> Self {
        let mut found = Self::default();
        let mut piece = Vec::new();
        let mut at = 0;
        let mut in_name = false;
        let mut in_executed = false;
        while let Some((&byte, after)) = text.get(at..).and_then(<[u8]>::split_first) {
            let (length, value) = match byte {
                b'?' => (1, Some(found.order.len())),
                b'$' if !in_name => numbered(after),
                b'\'' | b'"' | b'`' => (quoted(byte, after, reading.escapes), None),
                b'#' => (line(after), None),
                b'-' if matches!(after, [b'-', b' ' | b'\t' | b'\n' | b'\r', ..] | [b'-']) => (line(after), None),
                // What is in it is SQL.
                b'/' if after.starts_with(b"*!") => (3, None),
                b'/' if after.starts_with(b"*M!") && reading.of_mariadb => (4, None),
                b'*' if in_executed && after.starts_with(b"/") => (2, None),
                b'/' if after.starts_with(b"*") => (comment(after), None),
                _ => (1, None),
            };
            let whole = &text[at..(at + length).min(text.len())];
            at += whole.len();
            in_name = false;
            in_executed = (in_executed && whole != b"*/") || whole == b"/*!" || whole == b"/*M!";
            match value {
                Some(value) => {
                    found.order.push(value);
                    found.pieces.push(std::mem::take(&mut piece));
                }
                None => {
                    in_name = matches!(whole, [b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | 0x80..]);
                    piece.extend_from_slice(whole);
                }
            }
        }
        found.pieces.push(piece);
        found
    }
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
fn quoted(quote: u8, after: &[u8], escapes: bool) -> usize {
    let mut escaped = false;
    let end = after.iter().position(|&byte| {
        let ends = byte == quote && !escaped;
        escaped = escapes && byte == b'\\' && !escaped && quote != b'`';
        ends
    });
    end.map_or(after.len(), |end| end + 1) + 1
}

/// The length of what is left of a line.
fn line(after: &[u8]) -> usize {
    after.iter().position(|&byte| byte == b'\n').unwrap_or(after.len()) + 1
}

/// The length of a comment that may span lines.
fn comment(after: &[u8]) -> usize {
    let end = after
        .get(1..)
        .unwrap_or_default()
        .windows(2)
        .position(|pair| pair == b"*/");
    end.map_or(after.len(), |end| end + 3) + 1
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The text with `{n}` for each placeholder.
    fn shown(text: &str) -> String {
        marked(Placeholders::find(text.as_bytes()))
    }

    fn marked(found: Placeholders) -> String {
        assert_eq!(found.pieces.len(), found.order.len() + 1);
        let mut shown = String::from_utf8(found.pieces[0].clone()).unwrap();
        for (value, piece) in found.order.iter().zip(&found.pieces[1..]) {
            shown += &format!("{{{value}}}{}", str::from_utf8(piece).unwrap());
        }
        shown
    }

    #[test]
    fn placeholders_are_found_outside_quotes_and_comments() {
        for (text, expected) in [
            ("", ""),
            ("select ?, ?", "select {0}, {1}"),
            ("select $2, $1, $1", "select {1}, {0}, {0}"),
            ("$1$12 $3", "{0}{11} {2}"),
            ("select a$1, 1$1, $a, $0, $", "select a$1, 1$1, $a, $0, $"),
            ("'?' \"$1\" `a?` ?", "'?' \"$1\" `a?` {0}"),
            (r"'it\'s ?' 'it''s ?' ?", r"'it\'s ?' 'it''s ?' {0}"),
            (r"`a\` ?", r"`a\` {0}"),
            ("? -- ?\n? # ?\n?--?", "{0} -- ?\n{1} # ?\n{2}--{3}"),
            ("? /* ? */ ? /*?", "{0} /* ? */ {1} /*?"),
            ("/*/ ? */ ?", "/*/ ? */ {0}"),
            ("? --", "{0} --"),
            ("'?", "'?"),
            (r"'?\", r"'?\"),
            (
                "/*! ? */ ? /*!50100 '?', $2 /* ? */ */",
                "/*! {0} */ {1} /*!50100 '?', {1} /* ? */ */",
            ),
            ("/*! 2 */*? + 2 */* ? */ ?", "/*! 2 */*{0} + 2 */* ? */ {1}"),
            ("/*M!100100 ? */ ? /*m! ? */", "/*M!100100 {0} */ {1} /*m! ? */"),
        ] {
            assert_eq!(shown(text), expected);
        }
    }

    #[test]
    fn a_statement_is_read_so_that_all_its_values_have_a_place() {
        let of = |text: &str, count| marked(Placeholders::of_values(text.as_bytes(), count));
        // In the mode NO_BACKSLASH_ESCAPES, and in the usual one.
        assert_eq!(of(r"select '\', $1", 1), r"select '\', {0}");
        assert_eq!(of(r"select '\', ?, '\', ?", 2), r"select '\', {0}, '\', {1}");
        assert_eq!(of(r"select '\' ? \'', ?", 1), r"select '\' ? \'', {0}");
        // On MySQL, and on MariaDB.
        assert_eq!(of("select /*M! ?, */ ?", 1), "select /*M! ?, */ {0}");
        assert_eq!(of("select /*M! ?, */ ?", 2), "select /*M! {0}, */ {1}");
        // None has as many.
        assert_eq!(of("select ?", 2), "select {0}");
    }

    proptest! {
        #[test]
        fn no_text_loses_a_byte(text in r#"[-?$0-9a'"`\\#/* \n]{0,24}"#) {
            let found = Placeholders::find(text.as_bytes());
            prop_assert_eq!(found.pieces.len(), found.order.len() + 1);
            let left: usize = found.pieces.iter().map(Vec::len).sum();
            let marks: usize = text.len() - left;
            prop_assert!(marks >= found.order.len());
            prop_assert!(left + marks == text.len());
        }
    }
}
