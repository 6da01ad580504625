//! A connection for what is asked beside the load: it sets up, loads and samples.

use super::address::{ConnectionInfo, Host};
use super::endpoint::EndpointError;
use crate::patience::{ANSWER, SAMPLE};
use crate::row::FromRow;
use crate::target::StopFlag;
use dyno_connect::{Address, ConnectError, Endpoint, Limit, Stop};
use dyno_text::one_line;
use dyno_wire::{CapturedResult, LocalData, MySession, MyStatement, Parameters, Reply, ResultTooLarge, Session as _};
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// A connection could not be made, or what it was asked failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// It is not known where to connect to, or how.
    #[error("cannot connect to {address}: {error}")]
    Endpoint {
        /// Where to, without a password.
        address: String,
        /// Why not.
        error: Box<EndpointError>,
    },
    /// No connection.
    #[error(transparent)]
    Connect(Box<ConnectError>),
    /// No connection to any of several hosts, in the order in which they were tried.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Everywhere(Vec<ClientError>),
    /// The server refused a statement.
    #[error("{0}")]
    Server(ServerMessage),
    /// The connection was lost, or nobody waits for an answer any more.
    #[error(transparent)]
    Lost(Box<ConnectError>),
    /// A result is larger than is kept.
    #[error(transparent)]
    TooLarge(#[from] ResultTooLarge),
    /// A result is not of the kind that was asked for.
    #[error("the server answers with {0}, which is not what was asked for")]
    Unexpected(String),
}

impl ClientError {
    /// Whether another host may do better.
    fn is_elsewhere_better(&self) -> bool {
        match self {
            Self::Endpoint { error, .. } => matches!(**error, EndpointError::Host { .. }),
            Self::Connect(error) | Self::Lost(error) => error.is_elsewhere_better(),
            _ => false,
        }
    }
}

/// What a server says of a statement that it refuses.
#[derive(Debug, thiserror::Error)]
#[error("ERROR {code}: {message}")]
pub struct ServerMessage {
    /// The server's number for it.
    pub code: u16,
    /// The SQLSTATE.
    pub state: String,
    /// Its text.
    pub message: String,
}

impl From<dyno_connect::ClientError> for ClientError {
    fn from(error: dyno_connect::ClientError) -> Self {
        match error {
            dyno_connect::ClientError::Refused(error) => Self::Server(ServerMessage {
                code: error.code.as_str().parse().unwrap_or(0),
                state: error.sqlstate().to_owned(),
                message: error.message,
            }),
            dyno_connect::ClientError::TooLarge(error) => Self::TooLarge(error),
            dyno_connect::ClientError::Lost(error) => Self::Lost(error),
        }
    }
}

/// A connection. Each call waits for its answer, as `crate::patience` has it.
pub struct Client {
    client: dyno_connect::Client<MySession>,
    /// How long for the answer to a question.
    patience: Duration,
    /// How it was made.
    info: ConnectionInfo,
    stop: StopFlag,
}

/// The way to the server that a connection has, for others to the same.
pub(super) struct Way {
    endpoint: Endpoint,
    info: ConnectionInfo,
    stop: StopFlag,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

/// Keeps the server from closing a connection that says nothing for hours while a load runs: the most that it takes
/// (MariaDB, "Server System Variables", `wait_timeout`). And each statement counts at once, whatever the server's
/// sessions usually do.
const STAY: &str = "set session wait_timeout = 31536000, session autocommit = 1";

impl ConnectionInfo {
    /// Opens a connection for what is asked beside the load.
    ///
    /// # Errors
    /// The server cannot be reached, refuses the log-in, or has no TLS although it is asked for.
    pub fn connect(&self) -> Result<Client, ClientError> {
        self.connect_heeding(&StopFlag::default())
    }

    /// The same. From when `stop` is raised nothing is waited for, and the server is asked to give up what it executes.
    pub(super) fn connect_heeding(&self, stop: &StopFlag) -> Result<Client, ClientError> {
        self.connect_any(stop).map(|(client, _)| client)
    }

    /// The same, with the host that has let us in.
    pub(super) fn connect_any(&self, stop: &StopFlag) -> Result<(Client, &Host), ClientError> {
        let mut errors = Vec::new();
        for host in self.hosts() {
            match self.connect_to(host, stop) {
                Ok(client) => return Ok((client, host)),
                Err(error) => {
                    let is_last = !error.is_elsewhere_better();
                    errors.push(error);
                    if is_last {
                        break;
                    }
                }
            }
        }
        Err(match errors.len() {
            1 => errors.remove(0),
            _ => ClientError::Everywhere(errors),
        })
    }

    fn connect_to(&self, host: &Host, stop: &StopFlag) -> Result<Client, ClientError> {
        let endpoint = self.endpoint_of(host).map_err(|error| ClientError::Endpoint {
            address: self.to_string(),
            error: Box::new(error),
        })?;
        let limit = Limit {
            stop: &Stop::from(Arc::clone(stop)),
            until: None,
        };
        let client = dyno_connect::Client::connect(endpoint, self.sessions(), limit)
            .map_err(|error| ClientError::Connect(Box::new(error)))?;
        let mut client = Client {
            client,
            patience: ANSWER,
            info: self.clone(),
            stop: Arc::clone(stop),
        };
        match client.execute_within(STAY, Some(self.connect_timeout)) {
            // Without it, it works for as long as the server usually waits.
            Ok(()) | Err(ClientError::Server(_)) => Ok(client),
            Err(error) => Err(error),
        }
    }

    /// The same for a sampler, which nobody waits for so long.
    pub(super) fn connect_to_sample(&self) -> Result<Client, ClientError> {
        let client = self.connect()?;
        let patience = SAMPLE;
        Ok(Client { patience, ..client })
    }
}

/// The longest that is shown of a row, in characters.
const LONGEST: usize = 200;

/// A row in one line, for people.
fn shown(row: &[Option<String>]) -> String {
    let values = row.iter().map(|value| match value {
        Some(text) => format!("\"{}\"", one_line(text, LONGEST)),
        None => "NULL".to_owned(),
    });
    one_line(&values.collect::<Vec<_>>().join(", "), LONGEST)
}

impl Way {
    /// Opens a connection on which rows are loaded into this database, and on which alone the server may ask for them.
    ///
    /// # Errors
    /// As for [`ConnectionInfo::connect`].
    pub(super) fn connect_to_load(&self, database: &str) -> Result<Client, ClientError> {
        let info = self.info.with_database(database);
        let sessions = info.sessions();
        let limit = Limit {
            stop: &Stop::from(Arc::clone(&self.stop)),
            until: None,
        };
        let sessions = move |tls| sessions(tls).to_load();
        let client = dyno_connect::Client::connect(self.endpoint.clone(), sessions, limit)
            .map_err(|error| ClientError::Connect(Box::new(error)))?;
        Ok(Client {
            client,
            patience: ANSWER,
            info,
            stop: Arc::clone(&self.stop),
        })
    }
}

impl Client {
    /// How it was made.
    pub(super) fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    /// Where the server is: the path of its socket, or its numeric address with the port.
    pub(super) fn address(&self) -> String {
        match &self.client.endpoint().address {
            Address::Unix(path) => path.display().to_string(),
            Address::Tcp(addresses) => addresses.first().map(ToString::to_string).unwrap_or_default(),
        }
    }

    /// The plug-in by which the server has let us in.
    pub(super) fn log_in_method(&self) -> &'static str {
        self.client.session().log_in_method()
    }

    /// What ends waiting for the server.
    pub(super) fn stop(&self) -> StopFlag {
        Arc::clone(&self.stop)
    }

    /// The way to the same server.
    pub(super) fn way(&self) -> Way {
        Way {
            endpoint: self.client.endpoint().clone(),
            info: self.info.clone(),
            stop: Arc::clone(&self.stop),
        }
    }

    /// Executes statements whose results nobody reads, and for which the server has nothing to do that takes long.
    ///
    /// # Errors
    /// The server refuses one, or the connection is lost, as it is after an answer that did not come in time.
    pub fn execute(&mut self, statements: &str) -> Result<(), ClientError> {
        self.execute_within(statements, Some(self.patience))
    }

    /// Executes statements that the server has to work for, however long it takes.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub fn work(&mut self, statements: &str) -> Result<(), ClientError> {
        self.execute_within(statements, None)
    }

    /// The same within a limit.
    pub(super) fn execute_within(&mut self, statements: &str, limit: Option<Duration>) -> Result<(), ClientError> {
        self.client.set_patience(limit);
        self.client.execute(statements)?;
        Ok(())
    }

    /// Executes a LOAD DATA LOCAL with this content, which is empty afterwards.
    ///
    /// # Errors
    /// As for [`work`](Self::work).
    pub(super) fn load(&mut self, statement: &str, content: &mut LocalData) -> Result<Reply, ClientError> {
        self.client.set_patience(None);
        Ok(self.client.ask(|session, out| session.load(statement, content, out))?)
    }

    /// Executes an INSERT, whose text `write` appends to what is sent.
    ///
    /// # Errors
    /// As for [`work`](Self::work).
    pub(super) fn insert(&mut self, write: impl FnOnce(&mut Vec<u8>)) -> Result<Reply, ClientError> {
        self.client.set_patience(None);
        Ok(self.client.ask(|session, out| session.query(write, out))?)
    }

    /// Whether the server takes rows of values for a statement.
    pub(super) fn takes_rows(&self) -> bool {
        self.client.session().takes_rows()
    }

    /// Has the server prepare a statement, which it does not know yet.
    ///
    /// # Errors
    /// As for [`work`](Self::work).
    pub(super) fn prepare(&mut self, statement: &MyStatement) -> Result<(), ClientError> {
        self.prepare_within(statement, None)
    }

    /// The same for a question, which the server has not to work for.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub(super) fn prepare_to_ask(&mut self, statement: &MyStatement) -> Result<(), ClientError> {
        self.prepare_within(statement, Some(self.patience))
    }

    fn prepare_within(&mut self, statement: &MyStatement, limit: Option<Duration>) -> Result<(), ClientError> {
        self.client.set_patience(limit);
        self.client.ask(|session, out| {
            session.prepare(statement, out);
        })?;
        Ok(())
    }

    /// Executes a statement that was prepared with these values and gives its rows.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute), or the result is too large.
    pub(super) fn rows_of(
        &mut self,
        statement: &MyStatement,
        values: &impl Parameters,
    ) -> Result<Vec<Vec<Option<String>>>, ClientError> {
        Ok(self.result_of(statement, values, Some(self.patience))?.kept)
    }

    /// The same within a limit, with the names of the columns.
    pub(super) fn result_of(
        &mut self,
        statement: &MyStatement,
        values: &impl Parameters,
        limit: Option<Duration>,
    ) -> Result<CapturedResult, ClientError> {
        self.client.set_patience(limit);
        self.client.ask(|session, out| {
            session.capture();
            session.execute(statement, values, out);
        })?;
        let mut results = self.client.session().captured().iter().rev();
        let result = results.find(|result| result.is_query).cloned().unwrap_or_default();
        result.all_rows()?;
        Ok(result)
    }

    /// Executes a statement that was prepared with rows of values, which `write` appends to what is sent.
    ///
    /// # Errors
    /// As for [`work`](Self::work).
    pub(super) fn load_rows(
        &mut self,
        statement: &MyStatement,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> Result<Reply, ClientError> {
        self.client.set_patience(None);
        Ok(self
            .client
            .ask(|session, out| session.load_rows(statement, write, out))?)
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute), or the rows are not of this type.
    pub fn query<T: FromRow>(&mut self, query: &str) -> Result<Vec<T>, ClientError> {
        self.client.set_patience(Some(self.patience));
        let result = self.client.query(query)?;
        let rows = result.kept.into_iter();
        rows.map(|row| T::from_row(&row).ok_or_else(|| ClientError::Unexpected(shown(&row))))
            .collect()
    }

    /// The rows of a query by the names of its columns, without what is NULL, for statements whose columns differ
    /// between servers.
    ///
    /// # Errors
    /// As for [`query`](Self::query).
    pub(super) fn named(&mut self, query: &str) -> Result<Vec<HashMap<String, String>>, ClientError> {
        self.client.set_patience(Some(self.patience));
        let result = self.client.query(query)?;
        let named = |row: Vec<Option<String>>| {
            let values = result.columns.iter().cloned().zip(row);
            values.filter_map(|(name, value)| Some((name, value?))).collect()
        };
        Ok(result.kept.into_iter().map(named).collect())
    }

    /// The first row of a query.
    ///
    /// # Errors
    /// As for [`query`](Self::query).
    pub fn query_first<T: FromRow>(&mut self, query: &str) -> Result<Option<T>, ClientError> {
        Ok(self.query(query)?.into_iter().next())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_row_that_is_not_what_was_asked_for_is_shown_in_a_line() {
        let row = |values: &[Option<&str>]| {
            let values = values.iter().map(|value| value.map(str::to_owned));
            shown(&values.collect::<Vec<_>>())
        };
        assert_eq!(row(&[Some("a\nb"), None]), "\"a b\", NULL");
        let long = "9".repeat(100_000);
        assert_eq!(row(&[Some(&long)]).chars().count(), LONGEST + 1);
    }
}
