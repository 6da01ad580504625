//! A connection for what is asked beside the load: it sets up, loads and samples.
//!
//! The load itself goes over the engine's own sessions. This one is the crate `mysql_async`, on a runtime of its
//! own, so that its callers need not be asynchronous.

use super::address::{ConnectionInfo, Host};
use super::refusal::{refusal, silence};
use dyno_wire::tls::SslMode;
use mysql_async::prelude::{FromRow, Queryable};
use mysql_async::{Conn, DriverError, Opts, OptsBuilder, ServerError, SslOpts};
use std::time::Duration;
use tokio::runtime::Runtime;

/// A connection could not be made, or what it was asked failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// No connection.
    #[error("cannot connect to {address}: {message}")]
    Connect {
        /// Where to, without a password.
        address: String,
        /// Why not.
        message: String,
    },
    /// The server refused a statement.
    #[error("{0}")]
    Server(ServerMessage),
    /// The connection was lost, or what came over it was not to be understood.
    #[error("the connection failed: {0}")]
    Lost(String),
}

/// What a server says of a statement that it refuses.
#[derive(Debug, thiserror::Error)]
#[error("ERROR {code} ({state}): {message}")]
pub struct ServerMessage {
    /// The server's number for it.
    pub code: u16,
    /// Its SQLSTATE.
    pub state: String,
    /// Its text.
    pub message: String,
}

impl From<ServerError> for ServerMessage {
    fn from(error: ServerError) -> Self {
        Self {
            code: error.code,
            state: error.state,
            message: error.message,
        }
    }
}

impl From<mysql_async::Error> for ClientError {
    fn from(error: mysql_async::Error) -> Self {
        match error {
            mysql_async::Error::Server(error) => Self::Server(error.into()),
            other => Self::Lost(crate::notice::with_causes(&other)),
        }
    }
}

/// A connection. Each call waits for its answer.
#[derive(Debug)]
pub struct Client {
    runtime: Runtime,
    // None only while it is dropped.
    connection: Option<Conn>,
}

impl ConnectionInfo {
    /// Opens a connection for what is asked beside the load.
    ///
    /// # Errors
    /// The server cannot be reached, refuses the log-in, or has no TLS although it is asked for.
    pub fn connect(&self) -> Result<Client, ClientError> {
        let failed = |message: String| ClientError::Connect {
            address: self.to_string(),
            message,
        };
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|error| failed(error.to_string()))?;
        let open = |encrypted| {
            let connecting =
                async { tokio::time::timeout(self.connect_timeout, Conn::new(self.options(encrypted))).await };
            runtime.block_on(connecting)
        };
        let encrypted = matches!(self.host, Host::Tcp { .. }) && self.ssl_mode >= SslMode::Prefer;
        let mut opened = open(encrypted);
        let is_not_offered = |error: &mysql_async::Error| {
            matches!(
                error,
                mysql_async::Error::Driver(DriverError::NoClientSslFlagFromServer)
            )
        };
        if self.ssl_mode == SslMode::Prefer && matches!(&opened, Ok(Err(error)) if is_not_offered(error)) {
            opened = open(false);
        }
        match opened {
            Ok(Ok(connection)) => Ok(Client {
                runtime,
                connection: Some(connection),
            }),
            Ok(Err(error)) => Err(failed(refusal(error))),
            Err(_) => Err(failed(silence(self.connect_timeout))),
        }
    }

    fn options(&self, encrypted: bool) -> Opts {
        let password = self
            .password
            .as_ref()
            .map(|password| String::from_utf8_lossy(password.reveal()));
        let mut options = OptsBuilder::default()
            .user(Some(&self.user))
            .pass(password)
            .db_name(Some(&self.database).filter(|name| !name.is_empty()))
            // It would otherwise leave TCP for a socket that the server names, which may not be this server's.
            .prefer_socket(false)
            .connect_attribute("program_name", "dyno");
        options = match &self.host {
            Host::Unix(path) => options.socket(Some(path.to_string_lossy())),
            Host::Tcp { name, port } => options.ip_or_hostname(name).tcp_port(*port),
        };
        if encrypted {
            options = options.ssl_opts(self.tls());
        }
        options.into()
    }

    fn tls(&self) -> SslOpts {
        let roots = self.root_certificate.iter().map(|path| path.clone().into()).collect();
        SslOpts::default()
            .with_root_certs(roots)
            .with_disable_built_in_roots(self.root_certificate.is_some())
            .with_danger_accept_invalid_certs(self.ssl_mode < SslMode::VerifyCa)
            .with_danger_skip_domain_validation(self.ssl_mode < SslMode::VerifyFull)
    }
}

impl Client {
    fn on<T>(&mut self, work: impl AsyncFnOnce(&mut Conn) -> Result<T, mysql_async::Error>) -> Result<T, ClientError> {
        let Some(connection) = self.connection.as_mut() else {
            return Err(ClientError::Lost("it is closed".to_owned()));
        };
        Ok(self.runtime.block_on(work(connection))?)
    }

    /// Executes statements whose results nobody reads.
    ///
    /// # Errors
    /// The server refuses one, or the connection is lost.
    pub fn execute(&mut self, statements: &str) -> Result<(), ClientError> {
        self.on(async |connection| connection.query_drop(statements).await)
    }

    /// The rows of a query without parameters.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub fn query<T: FromRow + Send + 'static>(&mut self, query: &str) -> Result<Vec<T>, ClientError> {
        self.on(async |connection| connection.query(query).await)
    }

    /// The first row of a query without parameters.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub fn query_first<T: FromRow + Send + 'static>(&mut self, query: &str) -> Result<Option<T>, ClientError> {
        self.on(async |connection| connection.query_first(query).await)
    }
}

impl Drop for Client {
    fn drop(&mut self) {
        if let Some(connection) = self.connection.take() {
            // The server may have gone, and a good-bye is a courtesy.
            let goodbye = async { tokio::time::timeout(Duration::from_secs(1), connection.disconnect()).await };
            let _ = self.runtime.block_on(goodbye);
        }
    }
}
