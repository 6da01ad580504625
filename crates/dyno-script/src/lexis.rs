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
            (Self::Psql, [b'-', b'-', ..]) => true,
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
