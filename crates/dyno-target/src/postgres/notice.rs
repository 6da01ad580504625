//! The text of a server's error: the `postgres` crate's own display says only "db error", which helps nobody.

use crate::notice::with_causes;

/// What the server (or the connection) said, on one line: `ERROR: relation "t" does not exist (SQLSTATE 42P01);
/// hint: …`.
#[must_use]
pub fn server_message(error: &postgres::Error) -> String {
    if let Some(server) = error.as_db_error() {
        let mut text = format!(
            "{}: {} (SQLSTATE {})",
            server.severity(),
            server.message(),
            server.code().code()
        );
        if let Some(detail) = server.detail() {
            text.push_str("; detail: ");
            text.push_str(detail);
        }
        if let Some(hint) = server.hint() {
            text.push_str("; hint: ");
            text.push_str(hint);
        }
        return text;
    }
    with_causes(error)
}
