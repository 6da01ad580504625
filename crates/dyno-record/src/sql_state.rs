//! The code of an error.

use std::fmt;

/// A five-character SQLSTATE, such as `40001`; its first two characters are the class.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct SqlState([u8; 5]);

impl SqlState {
    /// A serialization failure: the transaction may be tried again.
    pub const SERIALIZATION_FAILURE: Self = Self(*b"40001");
    /// A deadlock: the transaction may be tried again.
    pub const DEADLOCK_DETECTED: Self = Self(*b"40P01");
    /// The client could not make a connection.
    pub const UNABLE_TO_CONNECT: Self = Self(*b"08001");
    /// A connection was lost.
    pub const CONNECTION_FAILURE: Self = Self(*b"08006");
    /// The server starts, stops or recovers.
    pub const CANNOT_CONNECT_NOW: Self = Self(*b"57P03");
    /// Something the server, or this program, does not do.
    pub const FEATURE_NOT_SUPPORTED: Self = Self(*b"0A000");
    /// Where no code, or an impossible one, was given: "internal error".
    pub const INTERNAL_ERROR: Self = Self(*b"XX000");

    /// The code in these bytes; anything but five upper-case letters and digits becomes [`Self::INTERNAL_ERROR`].
    pub fn from_bytes(bytes: &[u8]) -> Self {
        match <[u8; 5]>::try_from(bytes) {
            Ok(code) if code.iter().all(|c| c.is_ascii_uppercase() || c.is_ascii_digit()) => Self(code),
            _ => Self::INTERNAL_ERROR,
        }
    }

    /// The five characters.
    pub fn as_str(&self) -> &str {
        str::from_utf8(&self.0).unwrap_or("XX000")
    }

    /// The first two characters, such as `40` for transaction rollbacks.
    pub fn class(&self) -> &str {
        self.as_str().get(..2).unwrap_or("XX")
    }
}

impl Default for SqlState {
    fn default() -> Self {
        Self::INTERNAL_ERROR
    }
}

impl fmt::Display for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for SqlState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SqlState({self})")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_impossible_code_becomes_internal_error() {
        for bytes in [&b""[..], b"4000", b"400011", b"40\x0001", b"abcde"] {
            assert_eq!(SqlState::from_bytes(bytes), SqlState::INTERNAL_ERROR);
        }
    }
}
