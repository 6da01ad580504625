//! What a statement is: by that it is decided how it is executed, and whether it is committed.
//!
//! Oracle has no BEGIN: a transaction begins with the first change, and nothing is committed unless that is asked for.
//! Scripts are written for databases that commit each statement by itself outside of BEGIN and COMMIT, so that is what
//! a session does: where no transaction was begun, a change is executed with the request to commit it, which costs no
//! message. BEGIN is noted here and sent to nobody; COMMIT and ROLLBACK are functions of the protocol.

/// What is done with a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// It returns rows.
    Query,
    /// It changes rows, and can be executed again by its cursor.
    Change,
    /// PL/SQL, likewise.
    Block,
    /// Anything else, such as DDL: parsed each time, as parsing may be all there is to it.
    Other,
    /// A transaction begins, which the server need not know.
    Begin,
    /// A transaction begins, of a kind that the server is told by the statement.
    SetTransaction,
    /// A transaction is to be committed.
    Commit,
    /// A transaction is to be rolled back.
    Rollback,
}

impl Kind {
    /// Whether the server keeps what it has parsed, to execute it again.
    pub const fn is_kept(self) -> bool {
        matches!(self, Self::Query | Self::Change | Self::Block)
    }

    /// What a text is, and the text as Oracle takes it.
    pub fn of(text: &[u8]) -> (Self, &[u8]) {
        let mut words = Words(text);
        let first = words.next();
        let (kind, alone) = match first.to_ascii_lowercase().as_slice() {
            b"select" | b"with" | b"(" => (Self::Query, true),
            b"insert" | b"update" | b"delete" | b"merge" => (Self::Change, true),
            b"call" => (Self::Block, true),
            b"declare" => (Self::Block, false),
            b"begin" => match begins(words) {
                Some(begins) => return begins,
                None => (Self::Block, false),
            },
            b"start" if words.next().eq_ignore_ascii_case(b"transaction") => match begins(words) {
                Some(begins) => return begins,
                None => (Self::Other, true),
            },
            b"set" if words.next().eq_ignore_ascii_case(b"transaction") => (Self::SetTransaction, true),
            b"commit" | b"end" if ends(words) => (Self::Commit, true),
            b"rollback" | b"abort" if ends(words) => (Self::Rollback, true),
            b"create" => (Self::Other, !creates_code(words)),
            _ => (Self::Other, true),
        };
        (kind, if alone { without_end(text) } else { text })
    }
}

/// What begins a transaction with these modes; `None` if these are no modes.
fn begins<'a>(mut words: Words<'_>) -> Option<(Kind, &'a [u8])> {
    let mut modes = Vec::new();
    loop {
        match words.next().to_ascii_lowercase().as_slice() {
            b"" => break,
            b"work" | b"transaction" if modes.is_empty() => {}
            b";" => {}
            word => {
                modes.push(b' ');
                modes.extend_from_slice(word);
            }
        }
    }
    const SET: [(&[u8], &[u8]); 4] = [
        (
            b" isolation level serializable",
            b"set transaction isolation level serializable",
        ),
        (
            b" isolation level read committed",
            b"set transaction isolation level read committed",
        ),
        (b" read only", b"set transaction read only"),
        (b" read write", b"set transaction read write"),
    ];
    match SET.iter().find(|(mode, _)| *mode == modes) {
        Some((_, statement)) => Some((Kind::SetTransaction, statement)),
        None => modes.is_empty().then_some((Kind::Begin, &[][..])),
    }
}

/// Whether nothing of meaning follows COMMIT or ROLLBACK.
fn ends(mut words: Words<'_>) -> bool {
    let mut word = words.next();
    if word.eq_ignore_ascii_case(b"work") || word.eq_ignore_ascii_case(b"transaction") {
        word = words.next();
    }
    while word == b";" {
        word = words.next();
    }
    word.is_empty()
}

/// Whether what CREATE makes is PL/SQL, whose last semicolon is a part of it.
fn creates_code(mut words: Words<'_>) -> bool {
    loop {
        match words.next().to_ascii_lowercase().as_slice() {
            b"or" | b"replace" | b"editionable" | b"noneditionable" => {}
            b"function" | b"library" | b"package" | b"procedure" | b"trigger" | b"type" => return true,
            _ => return false,
        }
    }
}

/// A text without semicolons and white space at its end, which Oracle takes for a mistake.
fn without_end(text: &[u8]) -> &[u8] {
    let end = text
        .iter()
        .rposition(|byte| !byte.is_ascii_whitespace() && *byte != b';');
    &text[..end.map_or(0, |end| end + 1)]
}

/// The words of a text, without comments; signs are words of their own. Empty: there are no more.
#[derive(Clone, Copy)]
struct Words<'a>(&'a [u8]);

impl<'a> Words<'a> {
    fn next(&mut self) -> &'a [u8] {
        loop {
            self.0 = self.0.trim_ascii_start();
            let length = match self.0 {
                [] => return &[],
                [b'-', b'-', ..] => self.0.iter().position(|&byte| byte == b'\n'),
                [b'/', b'*', rest @ ..] => rest.windows(2).position(|pair| pair == b"*/").map(|end| end + 4),
                [b'a'..=b'z' | b'A'..=b'Z' | b'_' | 0x80.., ..] => {
                    let end = self.0.iter().position(|byte| !is_of_word(*byte));
                    return self.split(end.unwrap_or(self.0.len()));
                }
                _ => return self.split(1),
            };
            self.split(length.unwrap_or(self.0.len()));
        }
    }

    fn split(&mut self, length: usize) -> &'a [u8] {
        let (word, rest) = self.0.split_at(length);
        self.0 = rest;
        word
    }
}

fn is_of_word(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | b'#' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn of(text: &str) -> (Kind, &str) {
        let (kind, text) = Kind::of(text.as_bytes());
        (kind, str::from_utf8(text).unwrap())
    }

    #[test]
    fn statements_are_told_apart() {
        for (text, kind) in [
            ("select 1 from dual", Kind::Query),
            (" -- a\n /* b */ SELECT 1 from dual", Kind::Query),
            ("(select 1 from dual)", Kind::Query),
            ("with a as (select 1 from dual) select * from a", Kind::Query),
            ("selected", Kind::Other),
            ("update t set a = 1", Kind::Change),
            ("MERGE into t", Kind::Change),
            ("call p(1)", Kind::Block),
            ("begin null; end;", Kind::Block),
            ("begin work_on(1); end;", Kind::Block),
            ("declare a number; begin null; end;", Kind::Block),
            ("lock table t in exclusive mode", Kind::Other),
            ("rollback to savepoint a", Kind::Other),
            ("commit write nowait", Kind::Other),
            ("end loop", Kind::Other),
            ("set transaction read only", Kind::SetTransaction),
            ("set role none", Kind::Other),
            ("start with", Kind::Other),
            ("", Kind::Other),
            ("/* never ends", Kind::Other),
        ] {
            assert_eq!(of(text).0, kind, "{text}");
        }
    }

    #[test]
    fn transactions_begin_and_end_as_in_other_databases() {
        for text in [
            "begin",
            "BEGIN;",
            "begin work",
            "start transaction ;",
            "begin /* a */ transaction",
        ] {
            assert_eq!(of(text), (Kind::Begin, ""), "{text}");
        }
        for text in ["commit", "END;", "commit work", "end transaction", "commit -- now"] {
            assert_eq!(of(text).0, Kind::Commit, "{text}");
        }
        for text in ["rollback", "ABORT", "rollback work;;"] {
            assert_eq!(of(text).0, Kind::Rollback, "{text}");
        }
        assert_eq!(
            of("BEGIN TRANSACTION ISOLATION LEVEL SERIALIZABLE"),
            (Kind::SetTransaction, "set transaction isolation level serializable")
        );
        assert_eq!(
            of("start transaction read only;"),
            (Kind::SetTransaction, "set transaction read only")
        );
        assert_eq!(of("start transaction isolation level repeatable read").0, Kind::Other);
    }

    #[test]
    fn only_code_keeps_its_semicolon() {
        assert_eq!(of("select 1 from dual ; \n").1, "select 1 from dual");
        assert_eq!(of("begin null; end;").1, "begin null; end;");
        let code = "create or replace procedure p as begin null; end;";
        assert_eq!(of(code), (Kind::Other, code));
        assert_eq!(of("create table type (a number);").1, "create table type (a number)");
        assert_eq!(of(";").1, "");
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in r#"(begin|end|start|set|transaction|work|create|or|[-/*;( a\n]){0,12}"#) {
            Kind::of(text.as_bytes());
        }
    }
}
