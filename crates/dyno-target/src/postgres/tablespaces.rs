//! Tablespaces that an experiment's tables lie in: made on the embedded server, looked for on others.

use crate::postgres::Client;
use crate::postgres::server_message;

/// Tablespaces are missing or cannot be looked for.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TablespaceError {
    #[error(transparent)]
    Connect(#[from] crate::postgres::address::ConnectError),
    #[error("cannot {what}: {message}")]
    Server { what: String, message: String },
    #[error("cannot {what} {}: {error}", folder.display())]
    File {
        what: &'static str,
        folder: std::path::PathBuf,
        error: std::io::Error,
    },
    #[error(
        "the server has no tablespace {}: create it with: create tablespace {} location '/a/folder/of/the/server'",
        names.join(", no tablespace "), names.first().map_or("", String::as_str)
    )]
    Missing { names: Vec<String> },
    #[error(
        "\"{name}\" cannot be the name of a tablespace: only lower-case letters, digits and \"_\" are allowed, with a \
         letter first, and not \"pg_\" at the start"
    )]
    Name { name: String },
}

/// Makes sure that a server that is not ours has these tablespaces.
///
/// # Errors
/// [`TablespaceError::Missing`] with all that are missing, or the connection is broken.
pub fn check(client: &mut Client, names: &[String]) -> Result<(), TablespaceError> {
    let rows = client
        .query("select spcname::text from pg_tablespace", &[])
        .map_err(|error| TablespaceError::Server {
            what: "list the tablespaces".to_owned(),
            message: server_message(&error),
        })?;
    let there: Vec<String> = rows.iter().map(|row| row.get(0)).collect();
    let missing: Vec<String> = names.iter().filter(|name| !there.contains(name)).cloned().collect();
    if missing.is_empty() {
        return Ok(());
    }
    Err(TablespaceError::Missing { names: missing })
}
