//! Servers of another database, told by the first bytes they send.
//!
//! Whoever connects to the wrong port is to learn what answers there, not that some byte was unexpected.

use std::fmt;

use super::NAME;

/// Another database's server answers than the one whose protocol we speak.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OtherDatabase {
    /// Whose it is.
    pub found: &'static str,
    /// Whose protocol we speak.
    pub expected: &'static str,
    /// How the address of such a server begins.
    pub scheme: &'static str,
}

impl fmt::Display for OtherDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self {
            found,
            expected,
            scheme,
        } = self;
        write!(
            f,
            "a {found} server answers there, not {expected}; use an address that begins with {scheme}"
        )
    }
}

/// A database whose servers wait for the client to speak, and so say nothing to one that waits as well.
#[derive(Debug)]
pub struct Listener {
    /// Makes the first message on a connection, which they answer with a single byte.
    pub question: fn() -> [u8; 8],
    /// The bytes that may be.
    pub answers: &'static [u8],
    /// Whose servers they are.
    pub database: &'static OtherDatabase,
}

/// A MySQL or MariaDB server answers instead of PostgreSQL's.
pub(crate) static MYSQL: OtherDatabase = OtherDatabase {
    found: "MySQL or MariaDB",
    expected: NAME,
    scheme: "mysql://",
};

/// Whether these are the first bytes of a MySQL or MariaDB server; `None` if more of them are needed.
///
/// It speaks first: a packet's length (three bytes, the least significant one first), its number 0, then 10 (the
/// protocol's version) with the server's version as text, or 255 with an error's number. MySQL documentation,
/// "Protocol::HandshakeV10" and "ERR_Packet". A PostgreSQL server may begin with the same five bytes, but then neither
/// a digit follows nor an error number, which is at least 1000.
pub(crate) fn is_mysql(first: &[u8]) -> Option<bool> {
    match *first {
        [_, _, third, ..] if third != 0 => Some(false),
        [_, _, _, fourth, ..] if fourth != 0 => Some(false),
        [_, _, _, _, 10, digit, ..] => Some(digit.is_ascii_digit()),
        [_, _, _, _, 255, _, high, ..] => Some((3..=31).contains(&high)),
        [] | [_] | [_, _] | [_, _, _] | [_, _, _, _] | [_, _, _, _, 10] | [_, _, _, _, 255] => None,
        [_, _, _, _, 255, _] => None,
        [..] => Some(false),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn greetings_and_errors_of_mysql_are_told_from_messages_of_postgresql() {
        for first in [
            &b"\x4a\0\0\0\x0a8.0.36\0"[..],
            b"R\0\0\0\x0a5.5.5-10.11.6-MariaDB\0",
            // Host … is blocked; too many connections.
            b"E\0\0\0\xff\x69\x04Host",
            b"\x17\0\0\0\xff\x10\x04Too many connections",
        ] {
            assert_eq!(is_mysql(first), Some(true), "{first:?}");
        }
        for first in [
            &b"S\x16\x03"[..],
            b"R\0\0\0\x08\0\0\0\0",
            b"R\0\0\0\x0a\0\0\0\x0a",
            b"E\0\0\0\xffSFATAL\0",
            b"v\0\0\0\x0a\0\x03\0\0\0\0",
        ] {
            assert_eq!(is_mysql(first), Some(false), "{first:?}");
        }
    }

    #[test]
    fn the_first_bytes_are_awaited_for_as_long_as_they_are_needed() {
        let greeting = b"\x4a\0\0\0\xff\x10\x04Too many connections";
        for length in 0..7 {
            assert_eq!(is_mysql(&greeting[..length]), None);
        }
        assert_eq!(is_mysql(&greeting[..7]), Some(true));
    }
}
