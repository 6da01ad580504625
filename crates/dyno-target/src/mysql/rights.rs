//! Rights that a role lacks, and the statement that gives them.

use super::{Client, ClientError};

/// What a server says when a role lacks a right: on a database, a table, a column, or on the whole server (MariaDB,
/// "MariaDB Error Codes"), the last of them when MySQL is to keep a setting (MySQL Error Message Reference).
const DENIED: [u16; 5] = [1044, 1142, 1143, 1227, 3630];

/// Whether a right is missing for what was refused so, which may also be one on what a view reads (MariaDB, "MariaDB
/// Error Codes").
pub(super) fn is_denied(error: &ClientError) -> bool {
    const VIEW_DENIED: u16 = 1345;
    matches!(error, ClientError::Server(error) if error.code == VIEW_DENIED || DENIED.contains(&error.code))
}

/// What an administrator executes so that this connection's role may do what it was refused with `error`, as a clause;
/// `None` if it lacks no right. `usual` is the right that it takes unless the server names one.
pub(super) fn remedy(client: &mut Client, error: &ClientError, usual: &str) -> Option<String> {
    grant(client, error, usual).map(|grant| executed(&grant))
}

/// That an administrator executes a statement.
pub(super) fn executed(statement: &str) -> String {
    format!("{AS_ADMINISTRATOR}: {statement}")
}

/// Who gives a right, and how.
pub(super) const AS_ADMINISTRATOR: &str = "as an administrator, execute";

/// The statement for that.
pub(super) fn grant(client: &mut Client, error: &ClientError, usual: &str) -> Option<String> {
    let denied = match error {
        ClientError::Server(error) if DENIED.contains(&error.code) => &error.message,
        _ => return None,
    };
    let right = named(denied).map_or_else(|| usual.to_owned(), |right| format!("{right} on *.*"));
    let role: Option<String> = client.query_first("select current_user()").ok().flatten();
    Some(format!("grant {right} to {}", account(role)))
}

/// The right that a server names in "you need (at least one of) the SUPER, CONNECTION ADMIN privilege(s)": the last of
/// several, which allows the least.
fn named(message: &str) -> Option<String> {
    let (_, rest) = message.split_once("(at least one of) the ")?;
    let (rights, _) = rest.split_once(" privilege(s)")?;
    let last = rights.split(", ").flat_map(|right| right.split(" or ")).last()?;
    Some(last.to_ascii_lowercase())
}

/// An account, as the server shows it, as a statement takes it.
fn account(shown: Option<String>) -> String {
    let shown = shown.unwrap_or_default();
    match shown.rsplit_once('@') {
        Some((user, host)) => format!("'{}'@'{}'", user.replace('\'', "''"), host.replace('\'', "''")),
        None => "this role".to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_right_that_a_server_names_is_the_one_to_grant() {
        let said = |rights: &str| {
            named(&format!(
                "Access denied; you need (at least one of) the {rights} privilege(s) for this operation"
            ))
        };
        assert_eq!(said("PROCESS").as_deref(), Some("process"));
        assert_eq!(said("SUPER, CONNECTION ADMIN").as_deref(), Some("connection admin"));
        assert_eq!(
            said("SUPER or SYSTEM_VARIABLES_ADMIN").as_deref(),
            Some("system_variables_admin")
        );
        assert_eq!(named("Access denied for user 'ann'@'%' to database 'dyno_run'"), None);
    }

    #[test]
    fn an_account_is_quoted() {
        assert_eq!(account(Some("ann@%".to_owned())), "'ann'@'%'");
        assert_eq!(
            account(Some("o'neil@x@localhost".to_owned())),
            "'o''neil@x'@'localhost'"
        );
        assert_eq!(account(None), "this role");
    }
}
