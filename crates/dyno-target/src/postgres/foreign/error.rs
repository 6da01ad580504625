//! Why a proxy has no foreign tables.

use crate::postgres::server_message;

/// Why a proxy has no foreign tables. Texts never contain a password.
#[derive(Debug, thiserror::Error)]
pub(in crate::postgres) enum ForeignError {
    #[error("the proxy has no extension {name}, which reaches such a remote; {package}")]
    NoExtension { name: &'static str, package: String },
    #[error("the proxy cannot reach its remote {remote} (it is the proxy that connects, not dyno): {message}")]
    Unreachable { remote: String, message: String },
    #[error("the remote {remote} has no such tables in {schema}: {tables}; give the names that they have there")]
    NoTable {
        remote: String,
        schema: String,
        tables: String,
    },
    #[error("a proxy reaches {remote} over TCP only; give the remote's address with a host and a port")]
    OnlyTcp { remote: String },
    #[error("\"{name}\" cannot be an option of a foreign server here: {why}")]
    Option { name: String, why: &'static str },
    #[error(
        "the foreign server {server} of the proxy has tables that are not dyno's: {tables}; rename it (alter server \
         {server} rename to …), and dyno makes another one"
    )]
    Others { server: String, tables: String },
    #[error(
        "the proxy has a foreign server {server} of {owner}'s that dyno did not make; rename it (alter server {server} \
         rename to …) or let another database be the proxy"
    )]
    NotOurs { server: String, owner: String },
    #[error("cannot {what}: {message}")]
    Server { what: String, message: String },
}

impl ForeignError {
    pub(super) fn server(what: &str, error: &postgres::Error) -> Self {
        Self::Server {
            what: what.to_owned(),
            message: server_message(error),
        }
    }
}
