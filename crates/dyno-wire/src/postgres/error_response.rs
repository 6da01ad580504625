//! Errors and notices as the server reports them.

use dyno_record::{ErrorClass, ErrorCode};

use crate::ServerError;

/// The code of something that a server, or this program, does not do.
pub(super) const FEATURE_NOT_SUPPORTED: ErrorCode = ErrorCode::new("0A000");
/// Where no code, or an impossible one, was given.
const INTERNAL_ERROR: ErrorCode = ErrorCode::new("XX000");

/// Reads the body of an ErrorResponse or NoticeResponse.
///
/// A body cut short (see the session's bound on kept messages) yields the fields it still holds.
pub(super) fn parse(body: &[u8]) -> ServerError {
    let mut error = ServerError {
        code: INTERNAL_ERROR,
        ..ServerError::default()
    };
    let mut unlocalized = None;
    for field in body.split(|&byte| byte == 0) {
        let Some((&kind, value)) = field.split_first() else {
            break;
        };
        let text = || dyno_text::decode(value).into_owned();
        match kind {
            b'S' => error.severity = text(),
            b'V' => unlocalized = Some(value),
            b'C' => error.code = sqlstate(value),
            b'M' => error.message = text(),
            b'D' => error.detail = Some(text()),
            b'H' => error.hint = Some(text()),
            b'W' => error.context = Some(text()),
            b'P' => error.position = text().parse().ok(),
            b'q' => error.internal_query = Some(text()),
            b'p' => error.internal_position = text().parse().ok(),
            _ => {}
        }
    }
    // Servers before 9.6 send only the severity in their own language.
    let severity = unlocalized.unwrap_or(error.severity.as_bytes());
    error.class = class(error.code);
    error.fatal = matches!(severity, b"FATAL" | b"PANIC");
    error
}

/// The code in these bytes; anything but five upper-case letters and digits becomes [`INTERNAL_ERROR`].
fn sqlstate(bytes: &[u8]) -> ErrorCode {
    let is_possible = |byte: &u8| byte.is_ascii_uppercase() || byte.is_ascii_digit();
    match str::from_utf8(bytes) {
        Ok(code) if code.len() == 5 && bytes.iter().all(is_possible) => ErrorCode::new(code),
        _ => INTERNAL_ERROR,
    }
}

/// What an error of this SQLSTATE means. Codes: PostgreSQL documentation, appendix "PostgreSQL Error Codes".
fn class(code: ErrorCode) -> ErrorClass {
    match code.as_str() {
        "40001" => ErrorClass::Serialization,
        "40P01" => ErrorClass::Deadlock,
        "55P03" => ErrorClass::LockTimeout,
        "57P03" => ErrorClass::Unavailable,
        // Shut down, by a person or a crash, or the database was dropped.
        "57P01" | "57P02" | "57P04" => ErrorClass::Lost,
        "53300" => ErrorClass::Refused,
        code if code.starts_with("08") => ErrorClass::Lost,
        code if code.starts_with("28") || code.starts_with("3D") => ErrorClass::Refused,
        code if code.starts_with("42") => ErrorClass::Statement,
        _ => ErrorClass::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_like_psql() {
        let error = parse(
            b"SERROR\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0DNo such.\0HMake it.\0P15\0Fparse.c\0L12\0\0",
        );
        assert_eq!(
            error.to_string(),
            "ERROR:  relation \"t\" does not exist\nDETAIL:  No such.\nHINT:  Make it."
        );
        assert_eq!(error.code.as_str(), "42P01");
        assert_eq!(error.class, ErrorClass::Statement);
        assert_eq!(error.position, Some(15));
        assert!(!error.fatal);
    }

    #[test]
    fn a_statement_of_the_servers_own_is_kept_with_its_place() {
        let error = parse(b"SERROR\0C42703\0Mno column\0p12\0qselect 1 + n\0Wfunction f() line 1\0\0");
        assert_eq!(error.internal_query.as_deref(), Some("select 1 + n"));
        assert_eq!(error.internal_position, Some(12));
        assert_eq!(error.context.as_deref(), Some("function f() line 1"));
        assert_eq!(error.position, None);
    }

    #[test]
    fn fatal_is_seen_whatever_the_language() {
        assert!(parse(b"SFATAL\0C57P01\0Mbye\0\0").fatal);
        assert!(parse(b"SFATALE\0VFATAL\0C57P01\0Mciao\0\0").fatal);
        assert!(!parse(b"SFEHLER\0VERROR\0C22012\0MDivision\0\0").fatal);
    }

    #[test]
    fn a_body_cut_short_keeps_what_is_there() {
        let error = parse(b"SERROR\0C22012\0Mdivision by ze");
        assert_eq!(error.message, "division by ze");
        assert_eq!(error.code.as_str(), "22012");
        assert_eq!(parse(b"").code, INTERNAL_ERROR);
    }

    #[test]
    fn an_impossible_code_becomes_internal_error() {
        for bytes in [&b""[..], b"4000", b"400011", b"40\x0001", b"abcde"] {
            assert_eq!(sqlstate(bytes), INTERNAL_ERROR);
        }
    }

    #[test]
    fn codes_have_their_classes() {
        for (code, expected) in [
            ("40001", ErrorClass::Serialization),
            ("40P01", ErrorClass::Deadlock),
            ("40002", ErrorClass::Other),
            ("55P03", ErrorClass::LockTimeout),
            ("57P01", ErrorClass::Lost),
            ("57P03", ErrorClass::Unavailable),
            ("08006", ErrorClass::Lost),
            ("28P01", ErrorClass::Refused),
            ("42601", ErrorClass::Statement),
            ("23505", ErrorClass::Other),
        ] {
            assert_eq!(class(ErrorCode::new(code)), expected, "{code}");
        }
    }
}
