//! What a server says went wrong, or wants noticed.

use dyno_record::SqlState;
use std::fmt;

/// An error or notice as the server reported it.
///
/// Text that is not UTF-8 is kept as [`dyno_text`] says. Displays as psql shows it, without places and context: severity
/// and message, then detail and hint on lines of their own. Fields and their meaning: PostgreSQL documentation, "Error
/// and Notice Message Fields".
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ServerError {
    /// ERROR, FATAL, PANIC, or a notice's WARNING, NOTICE, INFO, LOG, DEBUG; in the server's language.
    pub severity: String,
    /// The five-character code.
    pub sqlstate: SqlState,
    /// What happened, in one line.
    pub message: String,
    /// More about it.
    pub detail: Option<String>,
    /// What to do about it.
    pub hint: Option<String>,
    /// Where in the server the error arose, such as a function's line.
    pub context: Option<String>,
    /// Where in the statement's text, in characters from 1.
    pub position: Option<u32>,
    /// A statement that the server made itself, such as one of a function, when the error lies in that.
    pub internal_query: Option<String>,
    /// Where in the text of `internal_query`, in characters from 1.
    pub internal_position: Option<u32>,
    /// Whether the server ends the connection after this.
    pub fatal: bool,
}

impl ServerError {
    /// Reads the body of an ErrorResponse or NoticeResponse.
    ///
    /// A body cut short (see the session's bound on kept messages) yields the fields it still holds.
    pub(crate) fn parse(body: &[u8]) -> Self {
        let mut error = Self::default();
        let mut unlocalized = None;
        for field in body.split(|&byte| byte == 0) {
            let Some((&kind, value)) = field.split_first() else {
                break;
            };
            let text = || dyno_text::decode(value).into_owned();
            match kind {
                b'S' => error.severity = text(),
                b'V' => unlocalized = Some(value),
                b'C' => error.sqlstate = SqlState::from_bytes(value),
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
        error.fatal = matches!(severity, b"FATAL" | b"PANIC");
        error
    }
}

impl std::error::Error for ServerError {}

impl fmt::Display for ServerError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:  {}", self.severity, self.message)?;
        if let Some(detail) = &self.detail {
            write!(f, "\nDETAIL:  {detail}")?;
        }
        if let Some(hint) = &self.hint {
            write!(f, "\nHINT:  {hint}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shows_like_psql() {
        let error = ServerError::parse(
            b"SERROR\0VERROR\0C42P01\0Mrelation \"t\" does not exist\0DNo such.\0HMake it.\0P15\0Fparse.c\0L12\0\0",
        );
        assert_eq!(
            error.to_string(),
            "ERROR:  relation \"t\" does not exist\nDETAIL:  No such.\nHINT:  Make it."
        );
        assert_eq!(error.sqlstate.as_str(), "42P01");
        assert_eq!(error.sqlstate.class(), "42");
        assert_eq!(error.position, Some(15));
        assert!(!error.fatal);
    }

    #[test]
    fn a_statement_of_the_servers_own_is_kept_with_its_place() {
        let error = ServerError::parse(b"SERROR\0C42703\0Mno column\0p12\0qselect 1 + n\0Wfunction f() line 1\0\0");
        assert_eq!(error.internal_query.as_deref(), Some("select 1 + n"));
        assert_eq!(error.internal_position, Some(12));
        assert_eq!(error.context.as_deref(), Some("function f() line 1"));
        assert_eq!(error.position, None);
    }

    #[test]
    fn fatal_is_seen_whatever_the_language() {
        assert!(ServerError::parse(b"SFATAL\0C57P01\0Mbye\0\0").fatal);
        assert!(ServerError::parse(b"SFATALE\0VFATAL\0C57P01\0Mciao\0\0").fatal);
        assert!(!ServerError::parse(b"SFEHLER\0VERROR\0C22012\0MDivision\0\0").fatal);
    }

    #[test]
    fn a_body_cut_short_keeps_what_is_there() {
        let error = ServerError::parse(b"SERROR\0C22012\0Mdivision by ze");
        assert_eq!(error.message, "division by ze");
        assert_eq!(error.sqlstate.as_str(), "22012");
        assert_eq!(ServerError::parse(b""), ServerError::default());
    }
}
