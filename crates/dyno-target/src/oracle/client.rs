//! A connection for what is asked beside the load: it sets up, loads and samples.

use super::address::{ConnectionInfo, Host, Service};
use super::text::text_of;
use super::worker::{Unanswered, Worker};
use crate::patience::{ANSWER, SAMPLE};
use crate::row::FromRow;
use crate::target::StopFlag;
use dyno_text::one_line;
use oracledb::{BindParameters, Config, Connection, Error, ErrorKind, ToDbValue};
use std::fmt;
use std::sync::{Arc, Once};
use std::time::Duration;

/// What the server's list of sessions shows as the module of those that are beside the load.
pub(super) const BESIDE: &str = "dyno beside the load";

/// What it shows as the program of all.
const PROGRAM: &str = "dyno";

/// How many characters of a message are kept: the driver's may repeat packets.
const LONGEST: usize = 1_000;

/// How many rows are sent at a time. What a later row is not like the one before it the crate cannot always read (it
/// forgets to forget which values of a row were left out because they are those of the row before), and of a single
/// row there is none before it.
const ROWS_AT_A_TIME: u32 = 1;

/// What a listener says of a service that it does not know, or that takes nobody now: other hosts may.
const ELSEWHERE: [u32; 7] = [12505, 12514, 12516, 12518, 12519, 12520, 12528];

/// A connection could not be made, or what it was asked failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection.
    #[error("cannot connect to {address}: {message}")]
    Connect {
        /// Where to, without a password.
        address: String,
        /// Why not, and what to do about it.
        message: String,
        /// Whether another host may do better.
        elsewhere: bool,
    },
    /// No connection to any of several hosts, in the order in which they were tried.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Everywhere(Vec<ClientError>),
    /// The server refused a statement.
    #[error("{0}")]
    Server(ServerMessage),
    /// The connection was lost, or nobody waits for an answer any more.
    #[error("{0}")]
    Lost(String),
    /// A result is not of the kind that was asked for.
    #[error("the server answers with {0}, which is not what was asked for")]
    Unexpected(String),
}

impl ClientError {
    /// Oracle's number, of what the server refused.
    pub(super) fn code(&self) -> Option<u32> {
        match self {
            Self::Server(message) => Some(message.code),
            _ => None,
        }
    }
}

/// What a server says of a statement that it refuses.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct ServerMessage {
    /// Oracle's number for it, such as 942.
    pub code: u32,
    /// Its text, which begins with the number as `ORA-00942`.
    pub message: String,
}

/// A row of text; `None` is NULL.
pub(super) type TextRow = Vec<Option<String>>;

/// The rows of a query.
#[derive(Debug, Default)]
pub(super) struct Answer {
    pub columns: Vec<String>,
    pub rows: Vec<TextRow>,
}

/// A connection. Each call waits for its answer, as `crate::patience` has it.
pub struct Client {
    worker: Worker,
    /// How long for the answer to a question.
    patience: Duration,
    /// How it was made.
    info: ConnectionInfo,
    stop: StopFlag,
}

impl fmt::Debug for Client {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Client").finish_non_exhaustive()
    }
}

impl ConnectionInfo {
    /// Opens a connection for what is asked beside the load.
    ///
    /// # Errors
    /// The server cannot be reached, or refuses the log-in.
    pub fn connect(&self) -> Result<Client, ClientError> {
        self.connect_heeding(&StopFlag::default())
    }

    /// Opens a connection for a sampler, which waits less for answers.
    pub(super) fn connect_to_sample(&self) -> Result<Client, ClientError> {
        let mut client = self.connect()?;
        client.patience = SAMPLE;
        Ok(client)
    }

    /// The same as [`connect`](Self::connect). From when `stop` is raised nothing is waited for.
    pub(super) fn connect_heeding(&self, stop: &StopFlag) -> Result<Client, ClientError> {
        self.connect_any(stop).map(|(client, _)| client)
    }

    /// The same, with the host that has let us in.
    pub(super) fn connect_any(&self, stop: &StopFlag) -> Result<(Client, &Host), ClientError> {
        let mut errors = Vec::new();
        for host in self.hosts() {
            match self.narrowed(host).connect_first(stop) {
                Ok(client) => return Ok((client, host)),
                Err(error) => {
                    let is_last = !matches!(error, ClientError::Connect { elsewhere: true, .. });
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

    /// What Oracle's crate connects to the first of the hosts with.
    ///
    /// # Errors
    /// The crate cannot do what the address asks for.
    pub fn of_crate(&self) -> Result<Config, ClientError> {
        if self
            .tls
            .as_ref()
            .is_some_and(|tls| !tls.matches_host || tls.server_name.is_some())
        {
            return Err(self.refused(
                "Oracle's own crate, through which everything goes that is not asked by dyno's own sessions, always \
                 checks that the server's certificate is for the host; leave out ssl_server_dn_match and \
                 ssl_server_cert_dn",
                false,
            ));
        }
        // With TLS of two kinds in one program, the crate asks which one it is to take.
        static CHOICE: Once = Once::new();
        CHOICE.call_once(|| {
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        self.config().map_err(|error| self.unconnected(error))
    }

    /// The same as [`connect_heeding`](Self::connect_heeding) to the first of the hosts.
    fn connect_first(&self, stop: &StopFlag) -> Result<Client, ClientError> {
        let config = self.of_crate()?;
        let connect = move || {
            let connection = oracledb::connect(config)?;
            connection.set_module(BESIDE)?;
            Ok(connection)
        };
        let worker = Worker::connect(connect, self.connect_timeout, stop).map_err(|why| match why {
            Unanswered::Failed(error) => self.unconnected(error),
            Unanswered::Stopped => ClientError::Lost("stopped while connecting".to_owned()),
            Unanswered::Late(limit) => {
                let limit = limit.as_secs_f64();
                self.refused(
                    &format!("nobody answers within {limit} s; is this an Oracle listener?"),
                    true,
                )
            }
            Unanswered::Broken => self.refused(
                "the answer is none that Oracle's crate understands; is this an Oracle listener, and does the user \
                 have a password of version 12c (select password_versions from dba_users)?",
                false,
            ),
            Unanswered::NoThread(error) => self.refused(&no_thread(&error), false),
        })?;
        Ok(Client {
            worker,
            patience: ANSWER,
            info: self.clone(),
            stop: Arc::clone(stop),
        })
    }

    fn config(&self) -> Result<Config, Error> {
        let password = self.password.as_ref().map(|password| password.reveal());
        let password = String::from_utf8_lossy(password.unwrap_or_default()).into_owned();
        let mut config = Config::default()
            .set_connect_string(&self.description())?
            .set_credentials(&self.user, &password)
            .set_program(PROGRAM)?
            .set_transport_connect_timeout(Some(self.connect_timeout));
        if let Some(tls) = &self.tls {
            if let Some(wallet) = &tls.wallet {
                config = config.set_wallet_location(wallet.display().to_string());
            }
            if let Some(password) = &tls.wallet_password {
                config = config.set_wallet_password(&String::from_utf8_lossy(password.reveal()));
            }
        }
        Ok(config)
    }

    fn refused(&self, message: &str, elsewhere: bool) -> ClientError {
        ClientError::Connect {
            address: self.to_string(),
            message: one_line(message, LONGEST),
            elsewhere,
        }
    }

    /// Why the crate did not connect, with what to do.
    fn unconnected(&self, error: Error) -> ClientError {
        let (Service::Name(service) | Service::Sid(service)) = &self.service;
        let listed = "`lsnrctl services` on the server lists what there is";
        let (message, elsewhere) = match error.kind() {
            ErrorKind::NoCredentials => (
                format!(
                    "no password is given for {}; give oracle://user:password@host/service, or set \
                     DYNO_ORACLE_PASSWORD",
                    self.user
                ),
                false,
            ),
            ErrorKind::InvalidServiceName(..) | ErrorKind::InvalidSid(..) => (
                format!("the listener does not know {service} (ORA-12514, ORA-12505); {listed}"),
                true,
            ),
            ErrorKind::ListenerRefusedConnection(.., code) => {
                let code = u32::try_from(*code).unwrap_or_default();
                let why = match code {
                    12514 | 12505 => format!("it does not know {service}; {listed}"),
                    12516 | 12519 | 12520 => {
                        "all its processes are taken, or just started; raise `processes`, or try again".to_owned()
                    }
                    12528 => "the database is starting, or mounted only".to_owned(),
                    _ => "its log says why (listener.log)".to_owned(),
                };
                (
                    format!("the listener refuses, ORA-{code}: {why}"),
                    ELSEWHERE.contains(&code),
                )
            }
            ErrorKind::DbError(said) => {
                let todo = match said.code() {
                    1017 => "; check the user and the password (DYNO_ORACLE_PASSWORD)",
                    28000 => "; as an administrator: alter user … account unlock",
                    28001 => "; give it a new password: alter user … identified by …",
                    _ => "",
                };
                (format!("{}{todo}", first_line(said.message())), false)
            }
            ErrorKind::StreamOperation | ErrorKind::DeadConnection | ErrorKind::CallTimeoutExceeded => {
                (error.to_string(), true)
            }
            ErrorKind::ServerVersionNotSupported => (
                "the server is older than 12.1, which is the first that dyno speaks to".to_owned(),
                false,
            ),
            _ => (error.to_string(), false),
        };
        self.refused(&message, elsewhere)
    }
}

fn no_thread(error: &std::io::Error) -> String {
    format!("cannot start a thread: {error}; raise the limit on processes (ulimit -u)")
}

/// What a server says of an error, without where in its code it happened.
fn first_line(message: &str) -> &str {
    message.lines().next().unwrap_or_default().trim_end()
}

impl Client {
    /// How the connection was made.
    pub(super) fn info(&self) -> &ConnectionInfo {
        &self.info
    }

    /// What ends what it is asked.
    pub(super) fn stop(&self) -> StopFlag {
        Arc::clone(&self.stop)
    }

    /// Has the connection do something within a limit.
    fn within<T: Send + 'static>(
        &mut self,
        limit: Option<Duration>,
        work: impl FnOnce(&Connection) -> Result<T, Error> + Send + 'static,
    ) -> Result<T, ClientError> {
        let work = move |connection: &Connection| {
            // The crate asks the server to give up; should that not answer either, nobody waits for long.
            connection.set_call_timeout(limit)?;
            work(connection)
        };
        let waited = limit.map(|limit| limit + limit / 2);
        self.worker.ask(waited, &self.stop, work).map_err(|why| match why {
            Unanswered::Failed(error) => failed(&error),
            Unanswered::Stopped => ClientError::Lost("stopped while waiting for the server".to_owned()),
            Unanswered::Late(limit) => {
                ClientError::Lost(format!("the server has not answered within {} s", limit.as_secs()))
            }
            Unanswered::Broken => ClientError::Lost("the connection was given up".to_owned()),
            Unanswered::NoThread(error) => ClientError::Lost(no_thread(&error)),
        })
    }

    /// Executes a statement that is answered at once, and commits.
    ///
    /// # Errors
    /// The server refuses it, or the connection is lost.
    pub fn execute(&mut self, statement: &str) -> Result<(), ClientError> {
        self.execute_with(statement, &[], Some(self.patience))
    }

    /// Executes a statement that takes as long as it takes, and commits.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub fn work(&mut self, statement: &str) -> Result<(), ClientError> {
        self.execute_with(statement, &[], None)
    }

    /// The same with texts for its parameters, within a limit.
    pub(super) fn execute_with(
        &mut self,
        statement: &str,
        values: &[&str],
        limit: Option<Duration>,
    ) -> Result<(), ClientError> {
        self.asking(statement, values, limit, true)
    }

    /// Executes a statement and leaves its transaction open.
    pub(super) fn begin(&mut self, statement: &str) -> Result<(), ClientError> {
        self.begin_with(statement, &[])
    }

    /// The same with texts for its parameters.
    pub(super) fn begin_with(&mut self, statement: &str, values: &[&str]) -> Result<(), ClientError> {
        self.asking(statement, values, Some(self.patience), false)
    }

    fn asking(
        &mut self,
        statement: &str,
        values: &[&str],
        limit: Option<Duration>,
        commits: bool,
    ) -> Result<(), ClientError> {
        let statement = statement.to_owned();
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        self.within(limit, move |connection| {
            let values: Vec<&dyn ToDbValue> = values.iter().map(|value| value as &dyn ToDbValue).collect();
            connection.execute(&statement, &values)?;
            if commits { connection.commit() } else { Ok(()) }
        })
    }

    /// Commits what was not committed.
    pub(super) fn commit(&mut self) -> Result<(), ClientError> {
        self.within(Some(self.patience), Connection::commit)
    }

    /// Undoes what was not committed.
    pub(super) fn rollback(&mut self) -> Result<(), ClientError> {
        self.within(Some(self.patience), Connection::rollback)
    }

    /// Executes a statement once for each of these rows, and commits when `commits`.
    pub(super) fn execute_rows(
        &mut self,
        statement: &Arc<str>,
        rows: Vec<TextRow>,
        commits: bool,
    ) -> Result<u64, ClientError> {
        let statement = Arc::clone(statement);
        self.within(None, move |connection| {
            let values: Vec<Vec<&dyn ToDbValue>> = rows
                .iter()
                .map(|row| row.iter().map(|value| value as &dyn ToDbValue).collect())
                .collect();
            let values: Vec<&[&dyn ToDbValue]> = values.iter().map(Vec::as_slice).collect();
            let done = connection.execute_batch(&statement, BindParameters::Slice(&values))?;
            if commits {
                connection.commit()?;
            }
            Ok(done.rows_affected())
        })
    }

    /// The rows of a query with texts for its parameters, at most so many; `None` takes as long as it takes.
    pub(super) fn answer(
        &mut self,
        query: &str,
        values: &[&str],
        most: usize,
        limit: Option<Duration>,
    ) -> Result<Answer, ClientError> {
        self.answer_by(ROWS_AT_A_TIME, query, values, most, limit)
    }

    /// The same with so many rows sent at a time: it is not certain that the crate can read more than one.
    pub(super) fn answer_by(
        &mut self,
        at_a_time: u32,
        query: &str,
        values: &[&str],
        most: usize,
        limit: Option<Duration>,
    ) -> Result<Answer, ClientError> {
        let query = query.to_owned();
        let values: Vec<String> = values.iter().map(|value| (*value).to_owned()).collect();
        self.within(limit, move |connection| {
            let values: Vec<&dyn ToDbValue> = values.iter().map(|value| value as &dyn ToDbValue).collect();
            let statement = connection
                .statement(&query)?
                .prefetch_rows(at_a_time)
                .fetch_array_size(at_a_time)
                .build()?;
            let cursor = statement.query(&values)?;
            let mut answer = Answer {
                columns: cursor.columns().iter().map(|column| column.name().to_owned()).collect(),
                rows: Vec::new(),
            };
            for row in cursor.take(most) {
                answer.rows.push(text_of(&row?)?);
            }
            Ok(answer)
        })
    }

    /// The rows of a query.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute), or the rows are not of this type.
    pub fn query<T: FromRow>(&mut self, query: &str) -> Result<Vec<T>, ClientError> {
        self.query_with(query, &[])
    }

    /// The same with texts for its parameters.
    pub(super) fn query_with<T: FromRow>(&mut self, query: &str, values: &[&str]) -> Result<Vec<T>, ClientError> {
        let rows = self.answer(query, values, usize::MAX, Some(self.patience))?.rows;
        let rows = rows.into_iter();
        rows.map(|row| T::from_row(&row).ok_or_else(|| ClientError::Unexpected(shown(&row))))
            .collect()
    }

    /// The first row of a query as text, whatever its columns are.
    pub(super) fn first_row(&mut self, query: &str) -> Result<Option<TextRow>, ClientError> {
        Ok(self.answer(query, &[], 1, Some(self.patience))?.rows.into_iter().next())
    }

    /// The first row of a query.
    ///
    /// # Errors
    /// As for [`query`](Self::query).
    pub fn query_first<T: FromRow>(&mut self, query: &str) -> Result<Option<T>, ClientError> {
        let rows = self.answer(query, &[], 1, Some(self.patience))?.rows;
        let first = rows.into_iter().next();
        first
            .map(|row| T::from_row(&row).ok_or_else(|| ClientError::Unexpected(shown(&row))))
            .transpose()
    }
}

/// What became of something that the crate was asked for.
fn failed(error: &Error) -> ClientError {
    match error.kind() {
        ErrorKind::DbError(said) => ClientError::Server(ServerMessage {
            code: u32::try_from(said.code()).unwrap_or_default(),
            message: one_line(said.message().trim_end(), LONGEST),
        }),
        ErrorKind::StreamOperation | ErrorKind::DeadConnection | ErrorKind::NotConnected | ErrorKind::LockPoisoned => {
            ClientError::Lost(one_line(&format!("the connection is lost: {error}"), LONGEST))
        }
        ErrorKind::CallTimeoutExceeded => ClientError::Lost("the server takes too long to answer".to_owned()),
        _ => ClientError::Unexpected(one_line(&format!("an error of the driver: {error}"), LONGEST)),
    }
}

/// A row in a line.
fn shown(row: &[Option<String>]) -> String {
    let values = row.iter().map(|value| match value {
        Some(value) => format!("\"{value}\""),
        None => "NULL".to_owned(),
    });
    one_line(&values.collect::<Vec<_>>().join(", "), LONGEST)
}
