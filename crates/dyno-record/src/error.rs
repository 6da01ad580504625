//! What went wrong, in a form that all databases share: a class that decides what is done, and a code that tells
//! people.

use serde::{Deserialize, Serialize};
use std::fmt;

/// What an error means for whoever met it, whatever the database calls it.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum ErrorClass {
    /// The transaction got into the way of another one: tried again, it may succeed.
    Serialization,
    /// Transactions waited for each other, and this one was chosen to give way: tried again, it may succeed.
    Deadlock,
    /// A lock was not to be had in the time set for it.
    LockTimeout,
    /// The connection was lost.
    Lost,
    /// The server does not let us in.
    Refused,
    /// The server lets nobody in for now: it starts, stops or recovers.
    Unavailable,
    /// The statement itself is wrong, or speaks of what does not exist or may not be touched: it will fail each time.
    Statement,
    /// Anything else.
    #[default]
    Other,
}

impl ErrorClass {
    /// Whether the same transaction may succeed when it is tried again.
    #[must_use]
    pub fn is_retryable(self) -> bool {
        matches!(self, Self::Serialization | Self::Deadlock)
    }
}

/// A database's code for an error, such as `40001`, `1213` or `ORA-08177`; empty where there is none.
#[derive(Clone, Copy, Default, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
#[serde(from = "String", into = "String")]
pub struct ErrorCode {
    bytes: [u8; ErrorCode::LONGEST],
    length: u8,
}

impl ErrorCode {
    /// The greatest length of a code, in bytes.
    pub const LONGEST: usize = 15;
    /// No connection could be made: the standard's SQLSTATE, for want of one of the server.
    pub const UNABLE_TO_CONNECT: Self = Self::new("08001");
    /// The connection was lost: the standard's SQLSTATE, for want of one of the server.
    pub const CONNECTION_LOST: Self = Self::new("08006");
    /// Errors of codes beyond the first [`MOST_CODES`](crate::MOST_CODES).
    pub const OTHERS: Self = Self::new("others");

    /// The code of this text. It stands in files and messages, so what is not a visible ASCII character becomes `?`,
    /// and what is beyond the greatest length is left out.
    #[must_use]
    pub const fn new(text: &str) -> Self {
        let text = text.as_bytes();
        let mut bytes = [0; Self::LONGEST];
        let mut length = 0;
        while length < text.len() && length < Self::LONGEST {
            bytes[length] = match text[length] {
                byte if byte.is_ascii_graphic() => byte,
                _ => b'?',
            };
            length += 1;
        }
        Self {
            bytes,
            length: length as u8,
        }
    }

    /// Its text.
    #[must_use]
    pub fn as_str(&self) -> &str {
        // Nothing but ASCII characters is ever put in.
        self.bytes
            .get(..self.length.into())
            .and_then(|bytes| str::from_utf8(bytes).ok())
            .unwrap_or_default()
    }
}

impl From<String> for ErrorCode {
    fn from(text: String) -> Self {
        Self::new(&text)
    }
}

impl From<ErrorCode> for String {
    fn from(code: ErrorCode) -> Self {
        code.as_str().to_owned()
    }
}

impl From<u16> for ErrorCode {
    /// The code of a database that numbers its errors.
    fn from(number: u16) -> Self {
        Self::new(&number.to_string())
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "ErrorCode({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn codes_of_all_databases_fit() {
        for text in ["40001", "1213", "ORA-08177", ""] {
            assert_eq!(ErrorCode::new(text).to_string(), text);
        }
        assert_eq!(ErrorCode::from(1213), ErrorCode::new("1213"));
        assert_eq!(ErrorCode::default(), ErrorCode::new(""));
        assert_eq!(ErrorCode::new("a b\n\u{e9}").as_str(), "a?b???");
    }

    #[test]
    fn only_what_may_heal_is_retryable() {
        use ErrorClass::{Deadlock, LockTimeout, Lost, Other, Refused, Serialization, Statement, Unavailable};
        let all = [
            Serialization,
            Deadlock,
            LockTimeout,
            Lost,
            Refused,
            Unavailable,
            Statement,
            Other,
        ];
        assert_eq!(
            all.map(ErrorClass::is_retryable),
            [true, true, false, false, false, false, false, false]
        );
    }

    proptest! {
        #[test]
        fn a_code_is_short_and_visible_whatever_it_is_made_of(text in ".*") {
            let code = ErrorCode::new(&text);
            prop_assert!(code.as_str().len() == text.len().min(ErrorCode::LONGEST));
            prop_assert!(code.as_str().bytes().all(|byte| byte.is_ascii_graphic()));
        }
    }
}
