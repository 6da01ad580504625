//! What quotes and comments look like in SQL: databases differ in that.

use serde::{Deserialize, Serialize};

/// By which rules the SQL of a script is read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum Lexis {
    /// psql's, by which pgbench reads scripts. Variables are looked for everywhere, in quotes as well.
    #[default]
    Psql,
    /// MySQL's and MariaDB's: names may be in backticks, a backslash escapes what follows it in a string, and a comment
    /// also begins with `#`, but with two dashes only before white space. What is in quotes or a comment becomes no
    /// parameter. What is in a comment that the server executes, such as `/*! … */`, is SQL.
    Mysql,
    /// The same on a server whose mode is NO_BACKSLASH_ESCAPES: a backslash in a string is a character like others.
    MysqlNoEscapes,
    /// Oracle's: nothing escapes in a string but a doubled quote, and one may have delimiters of its own, `q'[…]'`.
    /// What is in quotes or a comment becomes no parameter. A block of PL/SQL, and what makes a routine, ends at a line
    /// that has nothing but a `/`, as in SQL*Plus.
    Oracle,
}

impl Lexis {
    /// By which rules a server may have been told to read what is usually read by these.
    #[must_use]
    pub fn alternative(self) -> Option<Self> {
        (self == Self::Mysql).then_some(Self::MysqlNoEscapes)
    }

    /// Whether `text` begins with a comment that the end of the line ends.
    pub(crate) fn is_line_comment(self, text: &[u8]) -> bool {
        match (self, text) {
            (Self::Psql | Self::Oracle, [b'-', b'-', ..]) => true,
            (Self::Mysql | Self::MysqlNoEscapes, text) => is_mysql_line_comment(text),
            _ => false,
        }
    }

    /// The length of what `text` begins with if no variable is looked for in it; else 0.
    pub(crate) fn opaque(self, text: &[u8]) -> usize {
        match self {
            Self::Psql => 0,
            // Variables are looked for in what the server executes.
            Self::Mysql | Self::MysqlNoEscapes => match is_executed(text) {
                true => EXECUTED.len(),
                false => mysql_quoted(text, self == Self::Mysql),
            },
            Self::Oracle => oracle_quoted(text),
        }
    }
}

/// How comments begin that are executed: by both servers, or by a MariaDB alone, whose sign has one more letter.
const EXECUTED: &[u8] = b"/*!";

fn is_executed(text: &[u8]) -> bool {
    text.starts_with(EXECUTED) || text.starts_with(b"/*M!")
}

fn is_mysql_line_comment(text: &[u8]) -> bool {
    match text {
        [b'#', ..] | [b'-', b'-'] => true,
        [b'-', b'-', next, ..] => next.is_ascii_whitespace() || next.is_ascii_control(),
        _ => false,
    }
}

/// The length of the string, quoted name or comment that `text` begins with, by MySQL's rules; 0 if it begins with none
/// (MySQL Reference Manual, "String Literals", "Schema Object Names", "Comments"). `escapes` says whether a backslash
/// escapes what follows it. A doubled quote ends one and begins another, which is as good.
pub(crate) fn mysql_quoted(text: &[u8], escapes: bool) -> usize {
    match text {
        [quote @ (b'\'' | b'"' | b'`'), rest @ ..] => {
            let mut escaped = false;
            let end = rest.iter().position(|&byte| {
                let ends = byte == *quote && !escaped;
                escaped = escapes && byte == b'\\' && !escaped && *quote != b'`';
                ends
            });
            end.map_or(text.len(), |end| end + 2)
        }
        [b'/', b'*', rest @ ..] => {
            let end = rest.windows(2).position(|pair| pair == b"*/");
            end.map_or(text.len(), |end| end + 4)
        }
        _ if is_mysql_line_comment(text) => {
            let end = text.iter().position(|&byte| byte == b'\n');
            end.unwrap_or(text.len())
        }
        _ => 0,
    }
}

/// The same by Oracle's rules (SQL Language Reference, "Text Literals", "Database Object Naming Rules", "Comments").
pub(crate) fn oracle_quoted(text: &[u8]) -> usize {
    match text {
        [quote @ (b'\'' | b'"'), rest @ ..] => {
            let end = rest.iter().position(|byte| byte == quote);
            end.map_or(text.len(), |end| end + 2)
        }
        [b'n' | b'N', rest @ ..] if is_delimited(rest) => 1 + delimited(rest),
        _ if is_delimited(text) => delimited(text),
        [b'/', b'*', rest @ ..] => {
            let end = rest.windows(2).position(|pair| pair == b"*/");
            end.map_or(text.len(), |end| end + 4)
        }
        [b'-', b'-', ..] => {
            let end = text.iter().position(|&byte| byte == b'\n');
            end.unwrap_or(text.len())
        }
        _ => 0,
    }
}

/// Whether a string with delimiters of its own begins here.
fn is_delimited(text: &[u8]) -> bool {
    matches!(text, [b'q' | b'Q', b'\'', delimiter, ..] if !delimiter.is_ascii_whitespace())
}

/// How long it is.
fn delimited(text: &[u8]) -> usize {
    let close = match text.get(2) {
        Some(b'[') => b']',
        Some(b'{') => b'}',
        Some(b'(') => b')',
        Some(b'<') => b'>',
        Some(other) => *other,
        None => return text.len(),
    };
    let end = text[3..].windows(2).position(|pair| pair == [close, b'\'']);
    end.map_or(text.len(), |end| end + 5)
}
