//! Control connections, and errors that say which server, what happened and what to do.

use super::dial::{DialError, dial};
use super::tls::TlsError;
use super::{ConnectionInfo, Host, Server};
use crate::patience::ANSWER;
use crate::postgres::{Client, server_message};
use dyno_text::one_line;
use dyno_wire::tls::TlsError as TlsRefusal;
use dyno_wire::{ChannelBinding, SessionKind, WireError};
use postgres::SimpleQueryMessage;
use postgres::error::SqlState;
use rustix::io::Errno;
use std::fmt;
use std::io::ErrorKind;
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::Duration;

/// What to say about a server that is silent, and what to do.
const NO_ANSWER: (&str, &str) = (
    "no answer within the time allowed",
    "check host, port and firewalls and whether the server stands still, or raise connect_timeout",
);

/// The longest that is shown of what a server says that has not let us in, in characters.
const LONGEST: usize = 512;

const CHECK_SERVER: &str = "check that a PostgreSQL server runs there";

/// Why no control connection could be made: for each server tried what happened and what to do.
#[derive(Debug)]
pub struct ConnectError {
    failures: Vec<Failure>,
}

#[derive(Debug)]
struct Failure {
    host: String,
    what: String,
    advice: String,
    /// The same in libpq's words.
    libpq: String,
    sqlstate: Option<String>,
    is_handshake: bool,
}

impl fmt::Display for ConnectError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, failure) in self.failures.iter().enumerate() {
            if index > 0 {
                f.write_str("\n")?;
            }
            write!(f, "cannot connect to {}: {}", failure.host, failure.what)?;
            if !failure.advice.is_empty() {
                write!(f, "; {}", failure.advice)?;
            }
        }
        Ok(())
    }
}

impl std::error::Error for ConnectError {}

impl ConnectError {
    fn one(host: &Host, what: impl Into<String>, advice: impl Into<String>) -> Self {
        let what = what.into();
        Self {
            failures: vec![Failure {
                host: host.to_string(),
                libpq: host.libpq_failure(&what),
                what,
                advice: advice.into(),
                sqlstate: None,
                is_handshake: false,
            }],
        }
    }

    pub(super) fn no_host() -> Self {
        Self {
            failures: vec![Failure {
                host: "any server".to_owned(),
                what: "no host is given".to_owned(),
                libpq: "no host is given".to_owned(),
                advice: "give one as host=… or in PGHOST".to_owned(),
                sqlstate: None,
                is_handshake: false,
            }],
        }
    }

    pub(super) fn stopped() -> Self {
        Self {
            failures: vec![Failure {
                host: "the server".to_owned(),
                what: "stopped on request".to_owned(),
                libpq: "stopped on request".to_owned(),
                advice: String::new(),
                sqlstate: None,
                is_handshake: false,
            }],
        }
    }

    pub(super) fn tls_setup(host: &Host, error: &TlsError) -> Self {
        Self::one(host, error.to_string(), "")
    }

    /// Whether the outcome may be another one with, or without, TLS: the server's access rules or the handshake
    /// objected.
    fn depends_on_tls(&self) -> bool {
        self.sqlstate() == Some("28000") || self.failures.iter().any(|failure| failure.is_handshake)
    }

    /// What happened in the words of libpq, for programs that stand in for one of PostgreSQL's: a line or two for
    /// each server tried.
    #[must_use]
    pub fn libpq(&self) -> String {
        let each = self.failures.iter().map(|failure| failure.libpq.as_str());
        each.collect::<Vec<_>>().join("\n")
    }

    /// The SQLSTATE of the last server tried, when it was a server that refused.
    #[must_use]
    pub fn sqlstate(&self) -> Option<&str> {
        self.failures.last()?.sqlstate.as_deref()
    }
}

impl ConnectionInfo {
    /// Opens a control connection to the first server that accepts.
    ///
    /// # Errors
    /// [`ConnectError`] with every server tried.
    pub fn connect(&self) -> Result<Client, ConnectError> {
        self.connect_any().map(|(client, _)| client)
    }

    /// Opens a control connection to the first server that accepts. It ends, and what was asked fails, when the
    /// server takes longer than `limit` for one statement: for work that is to be done even after a request to
    /// stop, if the server does its part.
    ///
    /// # Errors
    /// [`ConnectError`] with every server tried.
    pub fn connect_with_patience(&self, limit: Duration) -> Result<Client, ConnectError> {
        Ok(self.connect()?.with_patience(limit))
    }

    /// The same address narrowed to the first server that accepts a connection, so that the load goes where the
    /// control connection went.
    ///
    /// # Errors
    /// [`ConnectError`] with every server tried.
    pub fn first_reachable(&self) -> Result<Self, ConnectError> {
        let (_, servers) = self.connect_any()?;
        Ok(Self {
            servers: vec![servers.clone()],
            // It has been looked at.
            session_kind: SessionKind::Any,
            second_kind: None,
            ..self.clone()
        })
    }

    /// The servers in the order in which they are to be tried, each with the kind of session that is wanted of it then.
    pub(super) fn choices(&self) -> impl Iterator<Item = (SessionKind, &Server)> {
        let kinds = std::iter::once(self.session_kind).chain(self.second_kind);
        kinds.flat_map(|kind| self.servers.iter().map(move |server| (kind, server)))
    }

    fn connect_any(&self) -> Result<(Client, &Server), ConnectError> {
        let mut failures = Vec::new();
        for (kind, server) in self.choices() {
            let connected = self.connect_one(server);
            match connected.and_then(|client| check_kind(client, kind, &server.host)) {
                Ok(client) => return Ok((client, server)),
                Err(error) => {
                    // As libpq sees it, others would refuse the same, unless this one cannot serve anybody now.
                    let is_final = error
                        .sqlstate()
                        .is_some_and(|state| state != SqlState::CANNOT_CONNECT_NOW.code());
                    failures.extend(error.failures);
                    if is_final {
                        break;
                    }
                }
            }
        }
        Err(ConnectError { failures })
    }

    fn connect_one(&self, server: &Server) -> Result<Client, ConnectError> {
        let endpoint = self.endpoint_of(server, SessionKind::Any)?;
        let log_in = self.log_in(server);
        let mut outcome = Err(ConnectError::no_host());
        for encryption in endpoint.ssl_mode.attempts() {
            outcome = dial(&endpoint, *encryption, &log_in).map_err(|error| self.explain(server, &error));
            // The other way helps only when the server or the handshake objected to this one.
            match &outcome {
                Err(error) if error.depends_on_tls() => {}
                _ => break,
            }
        }
        outcome
    }

    fn log_in(&self, server: &Server) -> tokio_postgres::Config {
        let mut config = tokio_postgres::Config::new();
        config
            .user(&self.user)
            .dbname(&self.database)
            .application_name(&self.application_name);
        if let Some(password) = &server.password {
            config.password(password.reveal());
        }
        if let Some(options) = &self.options {
            config.options(options);
        }
        config.channel_binding(match self.authentication.channel_binding {
            ChannelBinding::Disable => tokio_postgres::config::ChannelBinding::Disable,
            ChannelBinding::Prefer => tokio_postgres::config::ChannelBinding::Prefer,
            ChannelBinding::Require => tokio_postgres::config::ChannelBinding::Require,
        });
        config
    }

    /// Says what happened and what to do.
    fn explain(&self, server: &Server, error: &DialError) -> ConnectError {
        let (what, advice) = match error {
            DialError::Late => (NO_ANSWER.0.to_owned(), NO_ANSWER.1.to_owned()),
            DialError::Socket(error) => explain_socket(error, || error.to_string()),
            DialError::Tls(TlsRefusal::Refused(_, mode)) => (
                format!("sslmode={mode} needs TLS, and the server does not offer it"),
                "set ssl=on at the server or choose sslmode=prefer".to_owned(),
            ),
            // It says what to do.
            DialError::Tls(error) => (error.to_string(), String::new()),
            // In libpq's words, and nothing is to be done but to think about it.
            DialError::Distrusted(refusal) => (refusal.to_string(), String::new()),
            DialError::LogIn(error) => match error.as_db_error() {
                Some(refusal) => {
                    let advice = self.advice(refusal.code().code(), server);
                    let said = one_line(refusal.message(), LONGEST);
                    (format!("the server refuses: {said}"), advice)
                }
                None => self.explain_log_in(error),
            },
        };
        let mut failure = ConnectError::one(&server.host, what, advice);
        let reason = libpq_reason(&server.host, error);
        for failure in &mut failure.failures {
            if let Some(reason) = &reason {
                failure.libpq = server.host.libpq_failure(reason);
            }
            if let DialError::LogIn(error) = error {
                failure.sqlstate = error.code().map(|code| code.code().to_owned());
            }
            failure.is_handshake = matches!(error, DialError::Tls(TlsRefusal::Handshake(_)));
        }
        failure
    }

    /// What to do about a refusal, by SQLSTATE (PostgreSQL documentation, appendix A).
    fn advice(&self, sqlstate: &str, server: &Server) -> String {
        match sqlstate {
            "28P01" if server.password.is_some() => format!("check the password of {}", self.user),
            "28P01" => format!("give the password of {} in PGPASSWORD or ~/.pgpass", self.user),
            "28000" => format!(
                "check that the role {} exists and that the server's pg_hba.conf lets it in from here",
                self.user
            ),
            "3D000" => format!("create the database {} or name another one", self.database),
            "53300" => "close other connections or raise the server's max_connections".to_owned(),
            "57P03" => "the server is starting or stopping: try again shortly".to_owned(),
            _ => String::new(),
        }
    }

    /// Explains a log-in that failed without the server saying why.
    fn explain_log_in(&self, error: &postgres::Error) -> (String, String) {
        let text = server_message(error);
        if text.contains("password missing") {
            return (
                "the server asks for a password and none is given".to_owned(),
                format!(
                    "give the password of {} in PGPASSWORD, ~/.pgpass or the target",
                    self.user
                ),
            );
        }
        if let Some(refusal) = refusal(error) {
            return (refusal.to_string(), String::new());
        }
        match io_error(error) {
            // Ours, about a server that sends too much.
            Some(error) if error.kind() == ErrorKind::InvalidData => (error.to_string(), CHECK_SERVER.to_owned()),
            Some(error) => explain_socket(error, || text),
            None => (text, CHECK_SERVER.to_owned()),
        }
    }
}

/// Explains why the system could not connect.
fn explain_socket(error: &std::io::Error, text: impl FnOnce() -> String) -> (String, String) {
    if error.raw_os_error() == Some(Errno::MFILE.raw_os_error()) {
        return (
            error.to_string(),
            "raise the limit on open files (ulimit -n)".to_owned(),
        );
    }
    let (what, advice) = match error.kind() {
        ErrorKind::ConnectionRefused => (
            "nothing accepts connections there",
            "start the server, or check host and port",
        ),
        ErrorKind::NotFound => (
            "there is no such socket",
            "start the server, or give its socket folder or its host as host=…",
        ),
        ErrorKind::PermissionDenied => ("permission denied", "this user may not reach the socket's folder"),
        ErrorKind::TimedOut => NO_ANSWER,
        ErrorKind::UnexpectedEof => ("the server closed the connection unexpectedly", CHECK_SERVER),
        _ => return (text(), CHECK_SERVER.to_owned()),
    };
    (what.to_owned(), advice.to_owned())
}

/// Hands the connection on if its session is of this kind.
fn check_kind(mut client: Client, kind: SessionKind, host: &Host) -> Result<Client, ConnectError> {
    let Some(question) = kind.question() else {
        return Ok(client);
    };
    client.set_patience(Some(ANSWER));
    let answer = client
        .simple_query(question)
        .map_err(|error| ConnectError::one(host, client.explain(&error), ""))?;
    client.set_patience(None);
    let yes = answer.iter().any(|message| match message {
        SimpleQueryMessage::Row(row) => matches!(row.get(0), Some("on" | "t")),
        _ => false,
    });
    match kind.refusal(yes) {
        None => Ok(client),
        Some(why) => Err(ConnectError::one(host, why, "")),
    }
}

/// Why a connection failed in libpq's words, where it has some of its own.
fn libpq_reason(host: &Host, error: &DialError) -> Option<String> {
    match error {
        DialError::Late => Some(host.libpq_reason(&ErrorKind::TimedOut.into())),
        DialError::Socket(error) => Some(host.libpq_reason(error)),
        DialError::Tls(TlsRefusal::Refused(..)) => Some("server does not support SSL, but SSL was required".to_owned()),
        DialError::Tls(_) | DialError::Distrusted(_) => None,
        DialError::LogIn(error) => {
            if let Some(refusal) = error.as_db_error() {
                let more = [("DETAIL", refusal.detail()), ("HINT", refusal.hint())];
                let more = more
                    .iter()
                    .filter_map(|(kind, text)| Some(format!("\n{kind}:  {}", (*text)?)));
                let more = more.collect::<String>();
                return Some(format!("{}:  {}{more}", refusal.severity(), refusal.message()));
            }
            if server_message(error).contains("password missing") {
                return Some("fe_sendauth: no password supplied".to_owned());
            }
            match refusal(error) {
                Some(_) => None,
                None => Some(host.libpq_reason(io_error(error)?)),
            }
        }
    }
}

/// That our guard refused what the server asks for.
fn refusal(error: &postgres::Error) -> Option<&WireError> {
    let refusal = io_error(error)?.get_ref()?.downcast_ref()?;
    matches!(refusal, WireError::AuthenticationRefused(_)).then_some(refusal)
}

/// The input/output error underneath, if there is one.
fn io_error(error: &postgres::Error) -> Option<&std::io::Error> {
    let mut source = std::error::Error::source(error);
    while let Some(cause) = source {
        if let Some(error) = cause.downcast_ref::<std::io::Error>() {
            return Some(error);
        }
        source = cause.source();
    }
    None
}

/// Looks a TCP host up.
pub(super) fn socket_addresses(host: &Host) -> Result<Vec<SocketAddr>, ConnectError> {
    let Host::Tcp { name, address, port } = host else {
        return Ok(Vec::new());
    };
    if let Some(address) = address {
        return Ok(vec![SocketAddr::new(*address, *port)]);
    }
    let unknown = |why: String| {
        let system = why.rsplit(": ").next().unwrap_or_default();
        ConnectError {
            failures: vec![Failure {
                host: host.to_string(),
                libpq: format!("could not translate host name \"{name}\" to address: {system}"),
                what: format!("the name {name} cannot be looked up ({why})"),
                advice: "check the name and the network".to_owned(),
                sqlstate: None,
                is_handshake: false,
            }],
        }
    };
    let addresses: Vec<SocketAddr> = (name.as_str(), *port)
        .to_socket_addrs()
        .map_err(|error| unknown(error.to_string()))?
        .collect();
    if addresses.is_empty() {
        return Err(unknown("it has no address".to_owned()));
    }
    Ok(addresses)
}
