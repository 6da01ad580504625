//! Where the one reply that a bare loop waits for ends.
//!
//! Servers send a short reply with one call, so it comes whole: what is looked at is where it ends, not what it says.

/// Whose replies they are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Dialect {
    /// PostgreSQL's.
    Postgres,
    /// MySQL's and MariaDB's.
    Mysql,
}

/// What the bytes of a reply are that have come.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Reply {
    /// The end is to come.
    Part,
    /// The statement is executed.
    Done,
    /// The server refused it.
    Refused,
}

impl Dialect {
    #[inline]
    pub(super) fn read(self, bytes: &[u8]) -> Reply {
        match self {
            Self::Postgres => of_postgres(bytes),
            Self::Mysql => of_mysql(bytes),
        }
    }
}

/// A reply ends with ReadyForQuery, which has six bytes.
#[inline]
fn of_postgres(bytes: &[u8]) -> Reply {
    match bytes {
        [b'E', .., b'Z', _, _, _, _, _] => Reply::Refused,
        [.., b'Z', _, _, _, _, _] => Reply::Done,
        _ => Reply::Part,
    }
}

/// A reply is one packet that says OK or names an error, or several of which the last is short and begins with 0xFE.
#[inline]
fn of_mysql(bytes: &[u8]) -> Reply {
    let mut rest = bytes;
    let mut first = true;
    while let Some((&[a, b, c, _], payload)) = rest.split_first_chunk::<4>() {
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        let Some((payload, next)) = payload.split_at_checked(length) else {
            break;
        };
        if next.is_empty() {
            return match payload.first() {
                Some(0xFF) => Reply::Refused,
                Some(0) if first => Reply::Done,
                Some(0xFE) if length < 64 => Reply::Done,
                _ => Reply::Part,
            };
        }
        (rest, first) = (next, false);
    }
    Reply::Part
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn replies_of_postgresql_end_with_ready_for_query() {
        let row = b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x010C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I";
        assert_eq!(Dialect::Postgres.read(row), Reply::Done);
        assert_eq!(Dialect::Postgres.read(&row[..row.len() - 1]), Reply::Part);
        let error = b"E\0\0\0\x05\0Z\0\0\0\x05I";
        assert_eq!(Dialect::Postgres.read(error), Reply::Refused);
    }

    #[test]
    fn replies_of_mysql_end_with_what_ends_rows_or_with_ok() {
        let ok = b"\x07\0\0\x01\0\x01\0\x02\0\0\0";
        assert_eq!(Dialect::Mysql.read(ok), Reply::Done);
        let error = b"\x09\0\0\x01\xff\xbd\x04#40001";
        assert_eq!(Dialect::Mysql.read(error), Reply::Refused);
        // One column, its description, a row in binary form, which begins with 0, and the end.
        let rows = b"\x01\0\0\x01\x01\x03\0\0\x02def\x03\0\0\x03\0\0x\x07\0\0\x04\xfe\0\0\x02\0\0\0";
        assert_eq!(Dialect::Mysql.read(rows), Reply::Done);
        for length in 0..rows.len() {
            assert_eq!(Dialect::Mysql.read(&rows[..length]), Reply::Part, "{length}");
        }
    }
}
