//! Where values end, of all types that columns can have.

use super::{Column, oracle_type};
use crate::oracle::reader::{Reader, Reading, Unread};

impl Column {
    /// Whether it is known where its values end. Of other types nobody knows, so nothing of them is fetched.
    pub(in crate::oracle) fn is_passable(&self) -> bool {
        use oracle_type::{
            BFILE, BINARY_DOUBLE, BINARY_FLOAT, BLOB, BOOLEAN, CHAR, CLOB, CURSOR, DATE, INTERVAL_DS, INTERVAL_YM,
            JSON, LONG, LONG_RAW, NUMBER, OBJECT, RAW, ROWID, TIMESTAMP, TIMESTAMP_LTZ, TIMESTAMP_TZ, UROWID, VARCHAR,
            VECTOR,
        };
        matches!(
            self.kind,
            VARCHAR
                | NUMBER
                | LONG
                | ROWID
                | DATE
                | RAW
                | LONG_RAW
                | CHAR
                | BINARY_FLOAT
                | BINARY_DOUBLE
                | CURSOR
                | OBJECT
                | CLOB
                | BLOB
                | BFILE
                | JSON
                | VECTOR
                | TIMESTAMP
                | TIMESTAMP_TZ
                | INTERVAL_YM
                | INTERVAL_DS
                | UROWID
                | TIMESTAMP_LTZ
                | BOOLEAN
        )
    }

    /// Passes over a value, of a server whose fields have this version.
    #[inline]
    pub(in crate::oracle) fn skip(&self, reader: &mut Reader<'_>, field_version: u8) -> Reading<()> {
        match self.kind {
            _ if self.is_empty => Ok(()),
            oracle_type::VARCHAR | oracle_type::NUMBER | oracle_type::DATE | oracle_type::CHAR => reader.skip_value(),
            _ => self.skip_other(reader, field_version),
        }
    }

    fn skip_other(&self, reader: &mut Reader<'_>, field_version: u8) -> Reading<()> {
        match self.kind {
            oracle_type::ROWID => skip_rowid(reader),
            oracle_type::UROWID => match reader.value()? {
                None => Ok(()),
                Some(_) => reader.skip_value(),
            },
            oracle_type::LONG | oracle_type::LONG_RAW => {
                reader.skip_value()?;
                // Whether it is NULL, whether it was cut.
                reader.skip_numbers(2)
            }
            oracle_type::BFILE => match reader.count()? {
                0 => Ok(()),
                // Its locator.
                _ => reader.skip_value(),
            },
            oracle_type::JSON | oracle_type::VECTOR => match reader.count()? {
                0 => Ok(()),
                _ => {
                    // Its length, that of its pieces; the value, and its locator.
                    reader.skip_numbers(2)?;
                    reader.skip_value()?;
                    reader.skip_value()
                }
            },
            oracle_type::OBJECT => skip_object(reader),
            oracle_type::CURSOR => {
                // A length that is always the same; the columns, the cursor's number. The server closes it when the
                // statement is executed again.
                reader.byte()?;
                Self::read_described(reader, field_version)?;
                reader.skip_number()
            }
            oracle_type::CLOB | oracle_type::BLOB => {
                Err(Unread::Malformed("a LOB comes before the server was told in what form"))
            }
            _ => reader.skip_value(),
        }
    }
}

/// Passes over an object, XML included.
fn skip_object(reader: &mut Reader<'_>) -> Reading<()> {
    // The identifiers of its type and of itself, the moment it was read.
    for _ in 0..3 {
        reader.skip_optional()?;
    }
    reader.skip_number()?;
    let length = reader.count()?;
    // Flags.
    reader.skip_number()?;
    match length {
        0 => Ok(()),
        _ => reader.skip_value(),
    }
}

/// Passes over the place of a row.
fn skip_rowid(reader: &mut Reader<'_>) -> Reading<()> {
    match reader.byte()? {
        0 | 255 => Ok(()),
        _ => skip_place(reader),
    }
}

/// Passes over the parts of a row's place.
pub(in crate::oracle) fn skip_place(reader: &mut Reader<'_>) -> Reading<()> {
    reader.skip_numbers(2)?;
    reader.byte()?;
    reader.skip_numbers(2)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_type_ends_where_it_ends() {
        for (kind, bytes) in [
            (oracle_type::ROWID, &b"\x01\x01\x07\x01\x01\0\x01\x02\x01\x03"[..]),
            (oracle_type::ROWID, b"\0"),
            (oracle_type::UROWID, b"\x01\x0d\x0dabcdefghijklm"),
            (oracle_type::UROWID, b"\xff"),
            (oracle_type::INTERVAL_DS, b"\x0babcdefghijk"),
            (oracle_type::INTERVAL_YM, b"\x05abcde"),
            (oracle_type::TIMESTAMP_LTZ, b"\x0babcdefghijk"),
            (oracle_type::BOOLEAN, b"\x02\x01\x01"),
            (oracle_type::LONG, b"\xfe\x01\x02ab\x01\x01c\0\0\0"),
            (oracle_type::LONG_RAW, b"\0\x81\x01\x02\x05\x7d"),
            (oracle_type::BFILE, b"\0"),
            (oracle_type::BFILE, b"\x01\x04\x04abcd"),
            (oracle_type::JSON, b"\0"),
            (oracle_type::JSON, b"\x01\x28\x01\x03\x02\x1f\xc4\x03abc\x04abcd"),
            (
                oracle_type::VECTOR,
                b"\x01\x28\x01\x03\0\xfe\x01\x02ab\x01\x01c\0\x04abcd",
            ),
            (oracle_type::OBJECT, b"\0\0\0\0\0\0"),
            (
                oracle_type::OBJECT,
                b"\x01\x02\x02ab\0\x01\x01\x01c\x01\x01\x01\x03\x01\x09\x03abc",
            ),
        ] {
            let column = Column::of("a", kind);
            assert!(column.is_passable());
            let mut reader = Reader::new(bytes);
            assert_eq!(column.skip(&mut reader, 24), Ok(()), "{kind}");
            assert_eq!(reader.left(), 0, "{kind}");
            for length in 0..bytes.len() {
                let mut reader = Reader::new(&bytes[..length]);
                assert_eq!(column.skip(&mut reader, 24), Err(Unread::Short), "{kind}: {length}");
            }
        }
        assert!(!Column::of("a", 111).is_passable());
        let undefined = Column::of("a", oracle_type::CLOB).skip(&mut Reader::new(b"\x01\x28"), 24);
        assert!(matches!(undefined, Err(Unread::Malformed(_))));
    }

    #[test]
    fn a_cursor_ends_behind_its_columns_in_each_version() {
        for (field_version, added) in [(7, 0), (8, 1), (16, 1), (17, 3), (20, 4), (24, 7)] {
            let mut bytes = b"\x09\x01\x16\x01\x01\x01\x02\0\0\0\x01\x16\0\0\0\0\0\0\0".to_vec();
            bytes.extend_from_slice(&[0; 1][..usize::from(field_version >= 8)]);
            // Whether it may be NULL; its name; its type's names, position, flags.
            bytes.extend_from_slice(b"\x01\x01\x01\x01\x01a\0\0\x01\x01\0");
            bytes.resize(bytes.len() + added - usize::from(field_version >= 8), 0);
            bytes.extend_from_slice(b"\0\0\0\0\0\0\x01\x07");
            let mut reader = Reader::new(&bytes);
            let column = Column::of("a", oracle_type::CURSOR);
            assert_eq!(column.skip(&mut reader, field_version), Ok(()), "{field_version}");
            assert_eq!(reader.left(), 0, "{field_version}");
        }
    }
}
