//! Errors as the server reports them, and what they mean.

use dyno_record::{ErrorClass, ErrorCode};

use crate::ServerError;

/// A row was asked for where there is no more.
pub(super) const NO_DATA: u32 = 1403;

/// The longest text of an error that is shown of a server that has not let us in.
const LONGEST: usize = 512;

impl ServerError {
    /// The error that an Oracle server reports by this number and text, to whichever client.
    #[must_use]
    pub fn of_oracle(number: u32, text: &str) -> Self {
        of(number, text.as_bytes())
    }

    /// The same of a server, or its listener, that has not let us in.
    #[must_use]
    pub fn of_oracle_refusal(number: u32, text: &str) -> Self {
        of_refusal(number, text.as_bytes())
    }
}

/// An error of this number and text.
pub(super) fn of(number: u32, text: &[u8]) -> ServerError {
    let code = code(number);
    let text = dyno_text::decode(text);
    let message = match text.trim_end() {
        "" => format!("{}: the server says no more", code.as_str()),
        text => text.to_owned(),
    };
    ServerError {
        severity: "ERROR".into(),
        class: class(number),
        code,
        message,
        hint: hint(number).map(str::to_owned),
        fatal: ends_session(number),
        ..ServerError::default()
    }
}

/// The same of a server that has not let us in, of whose text nobody vouches.
pub(super) fn of_refusal(number: u32, text: &[u8]) -> ServerError {
    let error = of(number, text);
    ServerError {
        message: dyno_text::one_line(&error.message, LONGEST),
        class: match error.class {
            ErrorClass::Unavailable => ErrorClass::Unavailable,
            _ => ErrorClass::Refused,
        },
        fatal: true,
        ..error
    }
}

/// An error that we find ourselves, of a statement that the server would have executed.
pub(super) fn of_ours(message: String, hint: &str) -> ServerError {
    ServerError {
        severity: "ERROR".into(),
        class: ErrorClass::Statement,
        message,
        hint: Some(hint.to_owned()),
        ..ServerError::default()
    }
}

/// The code as people write it.
fn code(number: u32) -> ErrorCode {
    ErrorCode::new(&format!("ORA-{number:05}"))
}

/// Whether a server that reports this error ends the session.
fn ends_session(number: u32) -> bool {
    matches!(
        number,
        22 | 28 | 31 | 602 | 603 | 609 | 1012 | 1041 | 1043 | 1089 | 1090 | 1092 | 2396 | 3113 | 3114 | 3122 | 3135
    )
}

/// What an error of this number means. Oracle Database Error Messages.
fn class(number: u32) -> ErrorClass {
    match number {
        60 => ErrorClass::Deadlock,
        // Serializable transactions, and queries whose past is gone: tried again they may succeed.
        8176 | 8177 | 1555 => ErrorClass::Serialization,
        54 | 4020 | 4021 | 30_006 => ErrorClass::LockTimeout,
        // Starting, stopping, mounting; the listener knows of no instance (yet), or of none that takes more.
        1033..=1035 | 1089 | 1090 | 12_514..=12_516 | 12_518..=12_520 | 12_526..=12_528 | 12_537 => {
            ErrorClass::Unavailable
        }
        // No more processes or sessions; wrong passwords; accounts that may not; profiles' limits.
        18
        | 20
        | 1005
        | 1017
        | 1031
        | 1040
        | 1045
        | 2391
        | 12_505
        | 12_521
        | 12_660..=12_699
        | 28_000
        | 28_001
        | 28_009
        | 28_040
        | 1435 => ErrorClass::Refused,
        12_150..=12_161 | 12_170 | 12_535 | 12_541..=12_547 | 12_560 | 12_570..=12_583 => ErrorClass::Lost,
        number if ends_session(number) => ErrorClass::Lost,
        // Syntax, names, types, privileges, values that do not fit what they are for.
        900..=999
        | 1006..=1008
        | 1036
        | 1722
        | 1747
        | 1748
        | 1756
        | 1789
        | 1790
        | 2289
        | 3048
        | 3049
        | 4043
        | 6550
        | 6575
        | 1000
        | 1001
        | 1003
        | 1400..=1402
        | 2264..=2275 => ErrorClass::Statement,
        _ => ErrorClass::Other,
    }
}

/// What to do about an error that many meet.
fn hint(number: u32) -> Option<&'static str> {
    Some(match number {
        18 | 20 => "raise PROCESSES (and restart), or use fewer clients",
        1000 => "raise OPEN_CURSORS: each statement of a client keeps one",
        1017 => "check user name and password; passwords are case-sensitive",
        1033 | 1034 | 1089 | 1090 => "the instance is starting or stopping, or not open: look at its alert log",
        1045 => "grant CREATE SESSION to the user",
        2391 => "raise SESSIONS_PER_USER in the user's profile, or use fewer clients",
        12_505 => {
            "the listener knows no such SID: \"lsnrctl services\" on the server shows what it knows; most databases \
                   are reached by a service name"
        }
        12_514 => {
            "the listener knows no such service, or its instance is not up yet: \"lsnrctl services\" on the server \
                   shows what it knows"
        }
        12_516 | 12_519 | 12_520 => {
            "the instance takes no more connections of this kind: raise PROCESSES, use fewer \
                                     clients, or wait for the listener to notice that others have gone"
        }
        12_518 => {
            "the listener could not hand the connection to the instance: the server may be out of processes or \
                   memory; see its listener.log"
        }
        12_521 => "the service has no such instance: leave INSTANCE_NAME out",
        12_526..=12_528 => "the instance is in restricted mode or blocks new connections: it may be starting",
        12_537 | 12_547 => {
            "the server closed the connection at once: see its listener.log and sqlnet.ora \
                            (TCP.INVITED_NODES, TCP.VALIDNODE_CHECKING)"
        }
        12_560..=12_569 => "something in between may not let Oracle's protocol through",
        12_660..=12_699 => {
            "the server demands Oracle's native network encryption, which is not supported: use TLS \
                            (tcps://), or let SQLNET.ENCRYPTION_SERVER be \"accepted\" or \"requested\""
        }
        28_000 => "unlock the account: ALTER USER … ACCOUNT UNLOCK",
        28_001 => {
            "the password has expired: set it anew by ALTER USER … IDENTIFIED BY …, as a user who may, or with \
                   SQL*Plus"
        }
        28_040 => "the server wants a newer way to log in than the account's password allows: set the password anew",
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_error_has_its_number_for_a_code() {
        let error = of(942, b"ORA-00942: table or view does not exist\n");
        assert_eq!(error.code.as_str(), "ORA-00942");
        assert_eq!(error.class, ErrorClass::Statement);
        assert_eq!(error.to_string(), "ERROR:  ORA-00942: table or view does not exist");
        assert!(!error.fatal);
        assert_eq!(of(29_275, b"").message, "ORA-29275: the server says no more");
        let refusal = of_refusal(1017, b"ORA-01017: invalid username/password;\nlogon denied");
        assert_eq!((refusal.class, refusal.fatal), (ErrorClass::Refused, true));
        assert!(!refusal.message.contains('\n'));
        assert!(refusal.to_string().contains("HINT:  check user name"), "{refusal}");
    }

    #[test]
    fn errors_have_their_classes() {
        for (number, expected) in [
            (60, ErrorClass::Deadlock),
            (8177, ErrorClass::Serialization),
            (54, ErrorClass::LockTimeout),
            (30_006, ErrorClass::LockTimeout),
            (28, ErrorClass::Lost),
            (1012, ErrorClass::Lost),
            (1092, ErrorClass::Lost),
            (3113, ErrorClass::Lost),
            (3114, ErrorClass::Lost),
            (12_571, ErrorClass::Lost),
            (1017, ErrorClass::Refused),
            (28_000, ErrorClass::Refused),
            (28_001, ErrorClass::Refused),
            (12_505, ErrorClass::Refused),
            (12_660, ErrorClass::Refused),
            (12_514, ErrorClass::Unavailable),
            (12_516, ErrorClass::Unavailable),
            (12_520, ErrorClass::Unavailable),
            (1034, ErrorClass::Unavailable),
            (900, ErrorClass::Statement),
            (904, ErrorClass::Statement),
            (6550, ErrorClass::Statement),
            (1, ErrorClass::Other),
            (600, ErrorClass::Other),
            (1013, ErrorClass::Other),
            (1438, ErrorClass::Other),
        ] {
            assert_eq!(class(number), expected, "{number}");
        }
    }
}
