//! Opens a connection with blocking calls: dials, moves the session's bytes until it is logged in, shakes hands when
//! the session asks for TLS, and has statements prepared. What is said is the session's business; who is spoken to, and
//! for how long, is decided here.

use crate::load::{Address, Endpoint, Preparing, Stop, Tls, Workload};
use crate::program::Scripted;
use crate::transport::{Connection, Socket};
use dyno_wire::tls::{self, Encryption, SslMode, TlsError};
use dyno_wire::{Event, OtherDatabase, ServerError, Session, SqlState, WireError};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, RecvFlags, SendFlags, SocketAddrUnix, SocketFlags, SocketType};
use rustls::ClientConnection;
use std::io::{self, BufRead, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// Why a client could not be brought up.
#[derive(Debug, thiserror::Error)]
pub enum ConnectError {
    /// No socket to the server.
    #[error(
        "could not connect to the server at {address}: {cause}; is it running, and does it accept connections there?"
    )]
    Unreachable {
        /// Where.
        address: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The connection broke, or nothing came in time, while logging in.
    #[error("the connection to {address} broke while {doing}: {cause}")]
    Broken {
        /// Where.
        address: String,
        /// Log-in, TLS handshake or preparation.
        doing: &'static str,
        /// What the system said.
        cause: io::Error,
    },
    /// TLS could not be agreed on.
    #[error("{0}")]
    Tls(#[from] TlsError),
    /// TLS was agreed on, but its handshake failed: usually the certificate is not accepted.
    #[error(
        "no TLS connection to {address}: {cause}; check sslrootcert and the host's name, or choose another sslmode"
    )]
    Handshake {
        /// Where.
        address: String,
        /// What TLS said.
        cause: rustls::Error,
    },
    /// The server sent something that is not its protocol.
    #[error("the server at {address} does not follow the protocol: {cause}")]
    Protocol {
        /// Where.
        address: String,
        /// What was wrong.
        cause: WireError,
    },
    /// We refuse what the server asks for, or whose process it is.
    #[error("the server at {address} is not let near a password: {why}")]
    Distrusted {
        /// Where.
        address: String,
        /// Why, in libpq's words.
        why: String,
    },
    /// Another database's server answers.
    #[error("cannot connect to {address}: {other}")]
    OtherDatabase {
        /// Where.
        address: String,
        /// Which, and what to do.
        other: &'static OtherDatabase,
    },
    /// The server refused the log-in.
    #[error("the server at {address} refused the connection: {error}")]
    Refused {
        /// Where.
        address: String,
        /// What the server said.
        error: Box<ServerError>,
    },
    /// A statement cannot be prepared.
    #[error("the server refused statement {number} of workload \"{workload}\":\n  {text}\n{error}")]
    Statement {
        /// The workload's name.
        workload: String,
        /// Counting from 1.
        number: usize,
        /// The statement.
        text: String,
        /// What the server said.
        error: Box<ServerError>,
    },
    /// The server lets us in, but its sessions are not of the kind that is wanted.
    #[error("the server at {address} is not the one wanted: {why}")]
    Unwanted {
        /// Where.
        address: String,
        /// What it is, in libpq's words.
        why: &'static str,
    },
    /// No endpoint would do.
    #[error("{}", .0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n"))]
    Everywhere(Vec<ConnectError>),
    /// The workload names no endpoint.
    #[error("there is no server to connect to")]
    NoEndpoint,
    /// The user asked to stop.
    #[error("stopped while connecting")]
    Stopped,
}

impl ConnectError {
    /// Whether another endpoint may do better.
    fn is_elsewhere_better(&self) -> bool {
        match self {
            Self::Unreachable { .. }
            | Self::Broken { .. }
            | Self::Tls(_)
            | Self::Handshake { .. }
            | Self::Unwanted { .. }
            | Self::OtherDatabase { .. }
            | Self::Protocol { .. } => true,
            Self::Refused { error, .. } => error.sqlstate == SqlState::CANNOT_CONNECT_NOW,
            Self::Distrusted { .. }
            | Self::Statement { .. }
            | Self::Everywhere(_)
            | Self::NoEndpoint
            | Self::Stopped => false,
        }
    }

    /// The same as the error that a transaction fails with.
    pub(crate) fn into_server_error(self) -> ServerError {
        match self {
            Self::Refused { error, .. } => *error,
            Self::Everywhere(mut errors) => errors.pop().map(Self::into_server_error).unwrap_or_default(),
            error => ServerError {
                sqlstate: SqlState::UNABLE_TO_CONNECT,
                message: error.to_string(),
                ..ServerError::default()
            },
        }
    }
}

/// What ends the opening of a connection before its time.
#[derive(Clone, Copy)]
pub(crate) struct Limit<'a> {
    pub stop: &'a Stop,
    /// From then on it is of no use.
    pub until: Option<Instant>,
}

impl Limit<'_> {
    /// When something that begins now and may take so long has taken too long.
    fn deadline(self, timeout: Duration) -> Instant {
        let deadline = Instant::now() + timeout;
        self.until.map_or(deadline, |until| until.min(deadline))
    }
}

/// A connection that is logged in, with its session.
pub(crate) struct Client<S> {
    pub connection: Connection,
    pub session: S,
    /// The endpoint, as index.
    pub endpoint: usize,
}

/// Blocking calls wait this long at a time, so that a request to stop is noticed.
const PATIENCE: Duration = Duration::from_millis(200);

/// How long a server may take to accept a connection for a request to cancel, and then to take the request: more than any distance, and not so long
/// that somebody who has asked for the end would give up.
const CANCEL_PATIENCE: Duration = Duration::from_secs(2);

/// Requests to cancel that are under way at a time, of each thread of the load.
const CANCELS_AT_ONCE: usize = 16;

struct Opening<'a> {
    socket: Socket,
    tls: Option<ClientConnection>,
    address: String,
    doing: &'static str,
    /// How long each part of it may take.
    patience: Duration,
    /// When the part under way has taken too long, however much the server says.
    deadline: Instant,
    limit: Limit<'a>,
}

/// Connects, logs in, and prepares the statements if the workload wants that; `texts` are the statements as written.
///
/// Endpoints are tried in order. As with libpq, one that lets us speak but refuses the log-in ends the search, unless it cannot serve anybody now. All
/// that went wrong is told.
pub(crate) fn open<S: Session, P: Scripted>(
    workload: &Workload<S, P>,
    texts: &[String],
    limit: Limit<'_>,
) -> Result<Client<S>, ConnectError> {
    let mut errors = Vec::new();
    for (number, endpoint) in workload.endpoints.iter().enumerate() {
        let (mut opening, mut session) = match log_in_somehow(workload, number, endpoint, limit) {
            Ok(opened) => opened,
            Err(error) if error.is_elsewhere_better() => {
                errors.push(error);
                continue;
            }
            Err(error) => {
                errors.push(error);
                break;
            }
        };
        if workload.preparing == Preparing::AtStart {
            prepare(workload, texts, &mut opening, &mut session)?;
        }
        return Ok(Client {
            connection: Connection::new(opening.socket, opening.tls),
            session,
            endpoint: number,
        });
    }
    match (errors.pop(), errors.is_empty()) {
        (None, _) => Err(ConnectError::NoEndpoint),
        (Some(error), true) => Err(error),
        (Some(ConnectError::Stopped), false) => Err(ConnectError::Stopped),
        (Some(last), false) => {
            errors.push(last);
            Err(ConnectError::Everywhere(errors))
        }
    }
}

/// With TLS optional, what one way of connecting is refused is tried the other way, as libpq does.
fn log_in_somehow<'a, S: Session, P: Scripted>(
    workload: &Workload<S, P>,
    number: usize,
    endpoint: &Endpoint,
    limit: Limit<'a>,
) -> Result<(Opening<'a>, S), ConnectError> {
    let tls = match &endpoint.address {
        Address::Tcp(_) => endpoint.tls.as_ref(),
        Address::Unix(_) => None,
    };
    let mode = tls.map_or(SslMode::Disable, |tls| tls.mode);
    let mut attempts = mode.attempts().iter().peekable();
    loop {
        let encryption = attempts.next().copied().unwrap_or(Encryption::Plain);
        let tls = tls.filter(|_| encryption == Encryption::Tls);
        let opened = log_in(workload, number, endpoint, tls, limit);
        let refused = matches!(
            opened,
            Err(ConnectError::Tls(_) | ConnectError::Handshake { .. } | ConnectError::Refused { .. })
        );
        if !refused || attempts.peek().is_none() {
            return opened;
        }
    }
}

fn log_in<'a, S: Session, P: Scripted>(
    workload: &Workload<S, P>,
    number: usize,
    endpoint: &Endpoint,
    tls: Option<&Tls>,
    limit: Limit<'a>,
) -> Result<(Opening<'a>, S), ConnectError> {
    let deadline = limit.deadline(endpoint.connect_timeout);
    let mut opening = Opening {
        socket: dial(&endpoint.address, endpoint.connect_timeout, limit)?,
        tls: None,
        address: endpoint.address.to_string(),
        doing: "logging in",
        patience: endpoint.connect_timeout,
        deadline,
        limit,
    };
    opening.check_peer(endpoint)?;
    let mut session = (workload.session)(number, tls.map(|tls| tls.mode));
    opening.start(&mut session, tls)?;
    Ok((opening, session))
}

fn prepare<S: Session, P: Scripted>(
    workload: &Workload<S, P>,
    texts: &[String],
    opening: &mut Opening<'_>,
    session: &mut S,
) -> Result<(), ConnectError> {
    opening.doing = "preparing a statement";
    let mut out = Vec::new();
    for (index, (statement, text)) in workload.statements.iter().zip(texts).enumerate() {
        if !session.prepare(statement, &mut out) {
            continue;
        }
        opening.deadline = opening.limit.deadline(opening.patience);
        opening.converse(session, &mut out)?;
        if let Some(error) = session.error() {
            return Err(ConnectError::Statement {
                workload: workload.name.clone(),
                number: index + 1,
                text: text.clone(),
                error: Box::new(error.clone()),
            });
        }
    }
    Ok(())
}

/// Asks a server to give up what it executes for other sessions, several at a time: each request takes some trips to and fro. Whoever meets one that is not
/// taken asks no more, so a server that takes none is waited for once.
pub(crate) fn cancel(address: &Address, requests: &[Vec<u8>]) {
    let next = AtomicUsize::new(0);
    let some = || {
        let request = || requests.get(next.fetch_add(1, Ordering::Relaxed));
        while request().is_some_and(|request| takes_cancel(address, request)) {}
    };
    thread::scope(|scope| {
        for _ in 1..requests.len().min(CANCELS_AT_ONCE) {
            // Without a thread of its own it is asked later.
            let _ = thread::Builder::new().spawn_scoped(scope, some);
        }
        some();
    });
}

/// Asks the server to give up what it executes for another session. Gives whether it took the request.
fn takes_cancel(address: &Address, request: &[u8]) -> bool {
    let limit = Limit {
        stop: &Stop::new(),
        until: None,
    };
    let Ok(socket) = dial(address, CANCEL_PATIENCE, limit) else {
        return false;
    };
    // The server closes when it has passed the request on; until then ours would be cut off by closing first.
    sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(CANCEL_PATIENCE)).is_ok()
        && net::send(&socket, request, SendFlags::NOSIGNAL).is_ok()
        && !matches!(
            net::recv(&socket, &mut [0_u8; 1], RecvFlags::empty()),
            Err(Errno::AGAIN)
        )
}

fn dial(address: &Address, timeout: Duration, limit: Limit<'_>) -> Result<Socket, ConnectError> {
    let unreachable = |cause| ConnectError::Unreachable {
        address: address.to_string(),
        cause,
    };
    let socket = match address {
        Address::Unix(path) => match dial_unix(path, timeout, limit).map_err(unreachable)? {
            Some(stream) => Socket::Unix(stream),
            None => return Err(ConnectError::Stopped),
        },
        Address::Tcp(candidates) => {
            let mut last = io::Error::new(io::ErrorKind::NotFound, "the host has no address");
            let mut connected = None;
            for candidate in candidates {
                match dial_tcp(candidate, timeout, limit) {
                    Ok(Some(stream)) => {
                        connected = Some(stream);
                        break;
                    }
                    Ok(None) => return Err(ConnectError::Stopped),
                    Err(error) => last = error,
                }
            }
            let Some(stream) = connected else {
                return Err(unreachable(last));
            };
            stream.set_nodelay(true).map_err(unreachable)?;
            Socket::Tcp(stream)
        }
    };
    let limited = [Timeout::Recv, Timeout::Send]
        .into_iter()
        .try_for_each(|timeout| sockopt::set_socket_timeout(&socket, timeout, Some(PATIENCE)));
    limited.map_err(|cause| unreachable(cause.into()))?;
    Ok(socket)
}

/// Connects to a TCP address within `timeout`; `None` if a stop was asked for.
fn dial_tcp(address: &SocketAddr, timeout: Duration, limit: Limit<'_>) -> io::Result<Option<TcpStream>> {
    let deadline = limit.deadline(timeout);
    let family = match address {
        SocketAddr::V4(_) => AddressFamily::INET,
        SocketAddr::V6(_) => AddressFamily::INET6,
    };
    let flags = SocketFlags::CLOEXEC | SocketFlags::NONBLOCK;
    let socket = net::socket_with(family, SocketType::STREAM, flags, None)?;
    match net::connect(&socket, address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => loop {
            if limit.stop.requested() {
                return Ok(None);
            }
            let left = deadline.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "no answer within the connect timeout",
                ));
            }
            let patience = Timespec::try_from(left.min(PATIENCE)).ok();
            let mut ready = [PollFd::new(&socket, PollFlags::OUT)];
            match poll(&mut ready, patience.as_ref()) {
                Ok(0) | Err(Errno::INTR) => {}
                Ok(_) => {
                    sockopt::socket_error(&socket)??;
                    break;
                }
                Err(error) => return Err(error.into()),
            }
        },
        Err(error) => return Err(error.into()),
    }
    rustix::io::ioctl_fionbio(&socket, false)?;
    Ok(Some(socket.into()))
}

/// Connects to a unix socket within `timeout`; `None` if a stop was asked for.
///
/// Where many connect at once the queue of those that the server has yet to accept may be full. The system would wait for room for as long as it takes; with a
/// limit on sending it says so after that time (unix(7), socket(7)), and asking again is all there is to do.
fn dial_unix(path: &Path, timeout: Duration, limit: Limit<'_>) -> io::Result<Option<UnixStream>> {
    let deadline = limit.deadline(timeout);
    let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, SocketFlags::CLOEXEC, None)?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN | Errno::INTR) if limit.stop.requested() => return Ok(None),
            Err(Errno::AGAIN | Errno::INTR) if Instant::now() < deadline => {}
            Err(Errno::AGAIN) => {
                let why = "it did not accept the connection within the connect timeout";
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(socket.into()))
}

impl Opening<'_> {
    fn broken(&self, cause: io::Error) -> ConnectError {
        ConnectError::Broken {
            address: self.address.clone(),
            doing: self.doing,
            cause,
        }
    }

    fn handshake(&self, cause: rustls::Error) -> ConnectError {
        ConnectError::Handshake {
            address: self.address.clone(),
            cause,
        }
    }

    fn protocol(&self, cause: WireError) -> ConnectError {
        let address = self.address.clone();
        match cause {
            WireError::Server(error) => ConnectError::Refused { address, error },
            WireError::AuthenticationRefused(why) => ConnectError::Distrusted { address, why },
            WireError::SessionKind(why) => ConnectError::Unwanted { address, why },
            WireError::Tls(error) => ConnectError::Tls(*error),
            WireError::OtherDatabase(other) => ConnectError::OtherDatabase { address, other },
            cause => ConnectError::Protocol { address, cause },
        }
    }

    /// Looks whose process is at the other end of a unix socket.
    fn check_peer(&self, endpoint: &Endpoint) -> Result<(), ConnectError> {
        if let (Address::Unix(_), Some(peer)) = (&endpoint.address, &endpoint.required_peer) {
            let credentials = sockopt::socket_peercred(&self.socket).map_err(|error| self.broken(error.into()))?;
            let judged = peer.judge(credentials.uid.as_raw());
            judged.map_err(|cause| self.protocol(cause))?;
        }
        Ok(())
    }

    /// Whether there is still time. Asked before each call: a server may say something all the time and never come to an end.
    fn check_time(&self) -> Result<(), ConnectError> {
        if self.limit.stop.requested() {
            return Err(ConnectError::Stopped);
        }
        if Instant::now() >= self.deadline {
            let cause = io::Error::new(io::ErrorKind::TimedOut, "no answer within the connect timeout");
            return Err(self.broken(cause));
        }
        Ok(())
    }

    /// Receives once, waiting until the deadline.
    fn receive(&self, buffer: &mut [u8]) -> Result<usize, ConnectError> {
        loop {
            self.check_time()?;
            match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((_, 0)) => {
                    let cause = io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection");
                    return Err(self.broken(cause));
                }
                Ok((_, received)) => return Ok(received),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
        }
    }

    /// Sends everything, waiting until the deadline.
    fn send(&self, mut bytes: &[u8]) -> Result<(), ConnectError> {
        while !bytes.is_empty() {
            self.check_time()?;
            match net::send(&self.socket, bytes, SendFlags::NOSIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
        }
        Ok(())
    }

    /// Shakes hands.
    fn encrypt(&mut self, tls: &Tls) -> Result<ClientConnection, ConnectError> {
        self.doing = "agreeing on TLS";
        let name = tls::server_name(tls.mode, &tls.server_name)?;
        let mut session = ClientConnection::new(tls.config.clone(), name).map_err(|error| self.handshake(error))?;
        session.set_buffer_limit(None);
        let mut out = Vec::new();
        let mut buffer = vec![0; 16 * 1024];
        while session.is_handshaking() {
            while session.wants_write() {
                session.write_tls(&mut out).map_err(|error| self.broken(error))?;
            }
            self.send(&out)?;
            out.clear();
            if session.is_handshaking() {
                let received = self.receive(&mut buffer)?;
                let mut encrypted = &buffer[..received];
                while !encrypted.is_empty() {
                    session.read_tls(&mut encrypted).map_err(|error| self.broken(error))?;
                    if let Err(error) = session.process_new_packets() {
                        // Tell the server why, as TLS asks for, before giving up.
                        let _ = session.write_tls(&mut out);
                        let _ = self.send(&out);
                        return Err(self.handshake(error));
                    }
                }
            }
        }
        while session.wants_write() {
            session.write_tls(&mut out).map_err(|error| self.broken(error))?;
        }
        self.send(&out)?;
        self.doing = "logging in";
        Ok(session)
    }

    /// Starts the session: exchanges messages, and agrees on TLS when it says so, until it is ready for requests.
    fn start<S: Session>(&mut self, session: &mut S, tls: Option<&Tls>) -> Result<(), ConnectError> {
        let mut out = Vec::new();
        let begun = session.start(&mut out);
        let mut event = begun.map_err(|cause| self.protocol(cause))?;
        while event != Event::Started {
            if event != Event::StartTls {
                event = self.converse(session, &mut out)?;
                continue;
            }
            self.send(&out)?;
            out.clear();
            let Some(tls) = tls.filter(|_| self.tls.is_none()) else {
                return Err(self.broken(io::Error::other("the session asks for TLS out of turn")));
            };
            let encrypted = self.encrypt(tls)?;
            let begun = session.encrypted(&encrypted, &mut out);
            event = begun.map_err(|cause| self.protocol(cause))?;
            self.tls = Some(encrypted);
        }
        self.send_plain(&out)
    }

    /// Sends `out` and exchanges messages until the session has more to tell than that it needs input. Gives the last
    /// that it told.
    fn converse<S: Session>(&mut self, session: &mut S, out: &mut Vec<u8>) -> Result<Event, ConnectError> {
        let mut buffer = vec![0; 16 * 1024];
        let mut plain = Vec::new();
        loop {
            self.send_plain(out)?;
            out.clear();
            plain.clear();
            self.receive_plain(&mut buffer, &mut plain)?;
            let mut input = plain.as_slice();
            let mut told = Event::NeedInput;
            while !input.is_empty() {
                let (used, event) = session.receive(input, out).map_err(|cause| self.protocol(cause))?;
                input = &input[used..];
                if event == Event::StartTls && !input.is_empty() {
                    return Err(TlsError::UnencryptedBytes(input.len()).into());
                }
                if event != Event::NeedInput {
                    told = event;
                }
            }
            if told != Event::NeedInput {
                return Ok(told);
            }
        }
    }

    fn send_plain(&mut self, bytes: &[u8]) -> Result<(), ConnectError> {
        let Some(mut session) = self.tls.take() else {
            return self.send(bytes);
        };
        let mut out = Vec::new();
        let mut written = session.writer().write_all(bytes);
        while written.is_ok() && session.wants_write() {
            written = session.write_tls(&mut out).map(drop);
        }
        self.tls = Some(session);
        written.map_err(|error| self.broken(error))?;
        self.send(&out)
    }

    fn receive_plain(&mut self, buffer: &mut [u8], plain: &mut Vec<u8>) -> Result<(), ConnectError> {
        loop {
            let Some(session) = &mut self.tls else {
                let received = self.receive(buffer)?;
                plain.extend_from_slice(&buffer[..received]);
                return Ok(());
            };
            let mut failure = None;
            let mut reader = session.reader();
            match reader.fill_buf() {
                Ok(bytes) => {
                    let length = bytes.len();
                    plain.extend_from_slice(bytes);
                    reader.consume(length);
                }
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
                Err(error) => failure = Some(error),
            }
            if let Some(error) = failure {
                return Err(self.broken(error));
            }
            if !plain.is_empty() {
                return Ok(());
            }
            let received = self.receive(buffer)?;
            let mut encrypted = &buffer[..received];
            let Some(session) = &mut self.tls else { continue };
            let mut result = Ok(());
            while result.is_ok() && !encrypted.is_empty() {
                result = session
                    .read_tls(&mut encrypted)
                    .and_then(|_| session.process_new_packets().map_err(io::Error::other))
                    .map(drop);
            }
            result.map_err(|error| self.broken(error))?;
        }
    }
}
