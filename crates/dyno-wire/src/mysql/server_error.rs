//! Errors as the server reports them, and what they mean.

use dyno_record::{ErrorClass, ErrorCode};

use super::malformed;
use super::packet::take_array;
use crate::{ServerError, WireError};

/// The number of "this is not supported" (ER_NOT_SUPPORTED_YET).
pub(super) const NOT_SUPPORTED: u16 = 1235;

/// The number of "this command is not supported in the prepared statement protocol yet" (ER_UNSUPPORTED_PS).
pub(super) const NOT_PREPARED: u16 = 1295;

/// The longest text of an error of the server's own (`MYSQL_ERRMSG_SIZE`).
const LONGEST: usize = 512;

/// Reads an ERR packet. MySQL source documentation, "ERR_Packet".
pub(super) fn parse(body: &[u8]) -> Result<ServerError, WireError> {
    let mut rest = body.get(1..).unwrap_or_default();
    let number = take_array(&mut rest).ok_or(malformed("an error is cut short"))?;
    let number = u16::from_le_bytes(number);
    // Missing where the error comes before both sides know each other.
    let state = match rest {
        [b'#', state @ ..] if state.len() >= 5 => {
            let (state, after) = state.split_at(5);
            rest = after;
            state
        }
        _ => b"HY000",
    };
    Ok(ServerError {
        severity: "ERROR".into(),
        class: class(number, state),
        code: ErrorCode::from(number),
        state: dyno_text::decode(state).into_owned(),
        message: dyno_text::decode(rest).into_owned(),
        fatal: ends_connection(number),
        ..ServerError::default()
    })
}

/// Reads the error of a server that has not let us in, of whose text nobody vouches: as much of it as a server says in
/// one line.
pub(super) fn parse_refusal(body: &[u8]) -> Result<ServerError, WireError> {
    let error = parse(body)?;
    Ok(ServerError {
        message: dyno_text::one_line(&error.message, LONGEST),
        ..error
    })
}

/// Whether a server that reports this error ends the connection: shutdown, killed, idle for too long.
fn ends_connection(number: u16) -> bool {
    matches!(number, 1053 | 1152 | 1927 | 3168 | 3169 | 4031)
}

/// What an error of this number and SQLSTATE means. MySQL Error Message Reference; MariaDB documentation, "MariaDB
/// Error Codes".
fn class(number: u16, state: &[u8]) -> ErrorClass {
    match number {
        1213 | 1614 => ErrorClass::Deadlock,
        // "Record has changed since last read": MariaDB's innodb_snapshot_isolation.
        1020 => ErrorClass::Serialization,
        1205 | 3572 => ErrorClass::LockTimeout,
        // Offline mode.
        3032 => ErrorClass::Unavailable,
        // The server's errors in reading from and writing to us, and the client library's own.
        1158..=1161 | 2006 | 2013 => ErrorClass::Lost,
        // Too many connections, of a user, or in an hour; databases, users, hosts and accounts that may not; only with
        // TLS (MySQL's number, and MariaDB's).
        1040 | 1203 | 1226 => ErrorClass::Refused,
        1044 | 1045 | 1049 | 1129 | 1130 | 1251 | 1698 | 1862 | 3118 | 3159 | 4151 => ErrorClass::Refused,
        // "Unknown command": what a node of a Galera cluster says to all until it is ready. The connection stays.
        1047 => ErrorClass::Other,
        // Wrong arguments, unknown handle, not with these options, not to be prepared, no default.
        1210 | 1243 | 1290 | 1295 | 1364 => ErrorClass::Statement,
        number if ends_connection(number) => ErrorClass::Lost,
        _ if state.starts_with(b"42") => ErrorClass::Statement,
        _ if state.starts_with(b"08") => ErrorClass::Lost,
        _ => ErrorClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_number_for_a_code() {
        let error = parse(b"\xff\x26\x04#23000Duplicate entry '1' for key 'PRIMARY'").unwrap();
        assert_eq!(error.code.as_str(), "1062");
        assert_eq!(error.sqlstate(), "23000");
        assert_eq!(error.class, ErrorClass::Other);
        assert_eq!(
            error.to_string(),
            "ERROR 1062 (23000): Duplicate entry '1' for key 'PRIMARY'"
        );
        assert!(!error.fatal);
        // Before both sides know each other.
        let error = parse(b"\xff\x10\x04Too many connections").unwrap();
        assert_eq!((error.code.as_str(), error.class), ("1040", ErrorClass::Refused));
        assert_eq!(error.message, "Too many connections");
        assert_eq!(error.to_string(), "ERROR 1040 (HY000): Too many connections");
        assert!(parse(b"\xff\x10").is_err());
        // A stranger's may have any form.
        let long = [b"\xff\x10\x04Too\nmany ", &[b'x'; 5000][..]].concat();
        let message = parse_refusal(&long).unwrap().message;
        assert!(message.starts_with("Too many xxx"), "{message}");
        assert_eq!(message.chars().count(), LONGEST + 1);
    }

    #[test]
    fn errors_have_their_classes() {
        for (number, state, expected) in [
            (1213, b"40001", ErrorClass::Deadlock),
            (1020, b"HY000", ErrorClass::Serialization),
            (1205, b"HY000", ErrorClass::LockTimeout),
            (1053, b"08S01", ErrorClass::Lost),
            (1927, b"70100", ErrorClass::Lost),
            (1043, b"08S01", ErrorClass::Lost),
            (1045, b"28000", ErrorClass::Refused),
            (1049, b"42000", ErrorClass::Refused),
            (3159, b"HY000", ErrorClass::Refused),
            (4151, b"HY000", ErrorClass::Refused),
            (1047, b"08S01", ErrorClass::Other),
            (3032, b"HY000", ErrorClass::Unavailable),
            (1064, b"42000", ErrorClass::Statement),
            (1146, b"42S02", ErrorClass::Statement),
            (1054, b"42S22", ErrorClass::Statement),
            (1210, b"HY000", ErrorClass::Statement),
            (1317, b"70100", ErrorClass::Other),
        ] {
            assert_eq!(class(number, state), expected, "{number}");
        }
    }
}
