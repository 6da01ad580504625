//! Opens a connection with blocking calls: dials, moves the session's bytes until it is logged in, and shakes hands
//! when the session asks for TLS. What is said is the session's business; who is spoken to, and for how long, is
//! decided here.

use crate::decrypt::decrypt;
use crate::dial::{Limit, dial};
use crate::outage::notice_outage;
use crate::{Address, ConnectError, Endpoint, NO_SIGNAL, Socket, Stop, Tls, peer_user};
use dyno_wire::tls::{self, Encryption, SslMode, TlsError, Words};
use dyno_wire::{Event, Listener, Redirect, Session, WireError};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, RecvFlags};
use rustls::ClientConnection;
use std::io::{self, Write};
use std::net::{SocketAddr, ToSocketAddrs};
use std::time::{Duration, Instant};

/// How long a server that is to speak first may say nothing before it is asked who it is.
const SILENCE: Duration = Duration::from_secs(2);

/// A connection on which a session starts.
pub struct Opening {
    socket: Socket,
    /// Who is at the other end, if that is known: a socket whose connection is gone does not say.
    peer: Option<SocketAddr>,
    tls: Option<ClientConnection>,
    address: String,
    doing: &'static str,
    /// The server has let us in.
    started: bool,
    /// The server speaks first, and has not said enough yet to be answered.
    awaits_greeting: bool,
    /// A part of its greeting has come.
    greets: bool,
    /// If it does not speak, it is asked whether it is another database's.
    asks_who_is_there: bool,
    /// How long each part of connecting may take.
    patience: Duration,
    /// When the part under way has taken too long, however much the server says; `None`: never.
    deadline: Option<Instant>,
    /// How long it may take; `None`: as one part of connecting.
    allowed: Option<Duration>,
    stop: Stop,
    /// From then on the connection is of no use.
    until: Option<Instant>,
}

/// With TLS optional, it is tried without where it is not to be had. Where the server [may decide by
/// it](Session::LETS_IN_BY_ENCRYPTION), what is refused one way is tried the other way, too, as libpq does.
///
/// `session` makes the session of an attempt: encrypted this strictly, or not at all.
///
/// # Errors
/// The server cannot be reached, does not let us in, or the limit is reached: what each attempt met.
pub fn log_in<S: Session>(
    endpoint: &Endpoint,
    session: impl Fn(Option<SslMode>) -> S,
    limit: Limit<'_>,
) -> Result<(Opening, S), ConnectError> {
    attempt(endpoint, session, limit, false)
}

/// The same for a server that nobody has met yet. If it says nothing where it is to speak first, it is soon found out
/// whether it is [one that waits for us](Session::WAITS_FOR_US).
///
/// # Errors
/// As for [`log_in`].
pub(crate) fn log_in_first<S: Session>(
    endpoint: &Endpoint,
    session: impl Fn(Option<SslMode>) -> S,
    limit: Limit<'_>,
) -> Result<(Opening, S), ConnectError> {
    attempt(endpoint, session, limit, true)
}

fn attempt<S: Session>(
    endpoint: &Endpoint,
    session: impl Fn(Option<SslMode>) -> S,
    limit: Limit<'_>,
    first: bool,
) -> Result<(Opening, S), ConnectError> {
    let tls = match &endpoint.address {
        Address::Tcp(_) => endpoint.tls.as_ref(),
        Address::Unix(_) => None,
    };
    let mode = tls.map_or(SslMode::Disable, |tls| tls.mode);
    let mut errors = Vec::new();
    for &encryption in mode.attempts() {
        let tls = tls.filter(|_| encryption == Encryption::Tls);
        let mut session = session(tls.map(|tls| tls.mode));
        let (error, encrypted) = match Opening::dial(endpoint, limit) {
            Ok(mut opening) => {
                opening.asks_who_is_there = first;
                let checked = opening.check_peer(endpoint);
                match checked.and_then(|()| opening.start(&mut session, tls)) {
                    Ok(()) => return Ok((opening, session)),
                    Err(error) => (error, opening.tls.is_some()),
                }
            }
            Err(error) => (error, false),
        };
        let other_way = match &error {
            ConnectError::Tls(_) | ConnectError::Handshake { .. } => true,
            // A server without TLS has refused what the next attempt would be.
            ConnectError::Refused { .. } => S::LETS_IN_BY_ENCRYPTION && encrypted == tls.is_some(),
            _ => false,
        };
        errors.push(error);
        if !other_way {
            break;
        }
    }
    Err(ConnectError::of_all(errors))
}

impl Opening {
    fn dial(endpoint: &Endpoint, limit: Limit<'_>) -> Result<Self, ConnectError> {
        let socket = dial(&endpoint.address, endpoint.connect_timeout, limit)?;
        Ok(Self {
            peer: socket.peer(),
            socket,
            tls: None,
            address: endpoint.address.to_string(),
            doing: "logging in",
            started: false,
            awaits_greeting: false,
            greets: false,
            asks_who_is_there: false,
            patience: endpoint.connect_timeout,
            deadline: limit.deadline(endpoint.connect_timeout),
            allowed: None,
            stop: limit.stop.clone(),
            until: limit.until,
        })
    }

    /// Sends what is appended to `out` and waits, as long as one part of connecting may take, for what comes of it.
    /// `doing` names it in messages.
    ///
    /// # Errors
    /// The connection breaks, or the limit is reached.
    pub fn ask<S: Session>(
        &mut self,
        session: &mut S,
        out: &mut Vec<u8>,
        doing: &'static str,
    ) -> Result<Event, ConnectError> {
        self.doing = doing;
        let limit = Limit {
            stop: &self.stop,
            until: self.until,
        };
        self.deadline = limit.deadline(self.patience);
        self.converse(session, out)
    }

    /// The same, but waits for `patience`; without it, as long as it takes.
    pub(crate) fn ask_for<S: Session>(
        &mut self,
        session: &mut S,
        out: &mut Vec<u8>,
        patience: Option<Duration>,
    ) -> Result<Event, ConnectError> {
        self.doing = "waiting for an answer";
        self.allowed = patience;
        self.deadline = patience.and_then(|patience| Instant::now().checked_add(patience));
        self.converse(session, out)
    }

    /// See [`notice_outage`]; on this machine there is none to be noticed.
    pub(crate) fn notice_outage(&self) -> Result<(), ConnectError> {
        match &self.socket {
            Socket::Tcp(stream) => notice_outage(stream).map_err(|error| self.broken(error)),
            Socket::Unix(_) => Ok(()),
        }
    }

    /// Who is at the other end, if that is known.
    pub(crate) fn peer(&self) -> Option<SocketAddr> {
        self.peer
    }

    /// Why a connection that was given up gives no more answers.
    pub(crate) fn given_up(&self) -> ConnectError {
        match self.stop.requested() {
            true => ConnectError::Stopped,
            false => self.broken(io::Error::new(
                io::ErrorKind::NotConnected,
                "an earlier answer did not come",
            )),
        }
    }

    /// Says this, within `limit`, without waiting for an answer.
    ///
    /// # Errors
    /// The connection breaks, or the limit is reached.
    pub fn tell(&mut self, bytes: &[u8], limit: Duration) -> Result<(), ConnectError> {
        self.deadline = Instant::now().checked_add(limit);
        self.send_plain(bytes)
    }

    /// The socket, and TLS on it if that was agreed on.
    #[must_use]
    pub fn into_parts(self) -> (Socket, Option<ClientConnection>) {
        (self.socket, self.tls)
    }

    fn broken(&self, cause: io::Error) -> ConnectError {
        ConnectError::Broken {
            address: self.address.clone(),
            doing: self.doing,
            cause,
        }
    }

    fn handshake(&self, cause: rustls::Error, words: Words) -> ConnectError {
        ConnectError::Handshake {
            address: self.address.clone(),
            cause,
            words,
        }
    }

    fn protocol(&self, cause: WireError) -> ConnectError {
        let address = self.address.clone();
        match cause {
            WireError::Server(error) if self.started => ConnectError::Ended {
                address,
                doing: self.doing,
                error,
            },
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
            let user = peer_user(&self.socket).map_err(|error| self.broken(error))?;
            let judged = peer.judge(user);
            judged.map_err(|cause| self.protocol(cause))?;
        }
        Ok(())
    }

    /// Whether there is still time. Asked before each call: a server may say something all the time and never come
    /// to an end.
    fn check_time(&self) -> Result<(), ConnectError> {
        if self.stop.requested() {
            return Err(ConnectError::Stopped);
        }
        if self.deadline.is_some_and(|deadline| Instant::now() >= deadline) {
            let why = match self.allowed {
                None => "no answer within the connect timeout".to_owned(),
                Some(allowed) => format!("no answer within {} s", allowed.as_secs_f64()),
            };
            return Err(self.broken(io::Error::new(io::ErrorKind::TimedOut, why)));
        }
        Ok(())
    }

    /// Receives once, waiting until the deadline.
    fn receive(&self, buffer: &mut [u8]) -> Result<usize, ConnectError> {
        loop {
            self.check_time()?;
            match net::recv(&self.socket, &mut *buffer, RecvFlags::empty()) {
                Ok((_, 0)) => return Err(self.broken(closed_by_server())),
                Ok((_, received)) => return Ok(received),
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
        }
    }

    /// Whether something comes, or the connection ends, within this time and the deadline. Takes nothing off.
    fn hears_within(&self, time: Duration) -> Result<bool, ConnectError> {
        let begun = Instant::now();
        while begun.elapsed() < time {
            self.check_time()?;
            match net::recv(&self.socket, &mut [0_u8; 1], RecvFlags::PEEK) {
                Err(Errno::AGAIN | Errno::INTR) => {}
                // Whatever it is, it is seen when it is received.
                _ => return Ok(true),
            }
        }
        Ok(false)
    }

    /// Whether a server that says nothing is one of these, by what it answers on a connection of its own: on this one a
    /// server that is only slow to greet would take the question for an answer.
    fn finds(&self, other: &Listener) -> bool {
        let Some(peer) = self.peer else {
            return false;
        };
        let limit = Limit {
            stop: &self.stop,
            until: self.deadline,
        };
        let Ok(socket) = dial(&Address::Tcp(vec![peer]), SILENCE, limit) else {
            return false;
        };
        let asked = sockopt::set_socket_timeout(&socket, Timeout::Recv, Some(SILENCE)).is_ok()
            && net::send(&socket, &(other.question)(), NO_SIGNAL).is_ok();
        // A greeting that comes after all is longer.
        let mut answer = [0_u8; 2];
        asked
            && matches!(net::recv(&socket, &mut answer, RecvFlags::empty()), Ok((_, 1)))
            && other.answers.contains(&answer[0])
    }

    /// Sends everything, waiting until the deadline.
    fn send(&self, mut bytes: &[u8]) -> Result<(), ConnectError> {
        while !bytes.is_empty() {
            self.check_time()?;
            match net::send(&self.socket, bytes, NO_SIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::AGAIN | Errno::INTR) => {}
                Err(error) => return Err(self.broken(error.into())),
            }
        }
        Ok(())
    }

    /// Shakes hands.
    fn encrypt(&mut self, tls: &Tls, words: Words) -> Result<ClientConnection, ConnectError> {
        self.doing = "agreeing on TLS";
        let name = tls::server_name(tls.mode, &tls.server_name)?;
        let session = ClientConnection::new(tls.config.clone(), name);
        let mut session = session.map_err(|error| self.handshake(error, words))?;
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
                    match session.process_new_packets() {
                        Ok(state) if state.peer_has_closed() => return Err(self.broken(closed_by_server())),
                        Ok(_) => {}
                        Err(error) => {
                            // Tell the server why, as TLS asks for, before giving up.
                            let _ = session.write_tls(&mut out);
                            let _ = self.send(&out);
                            return Err(self.handshake(error, words));
                        }
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
        self.awaits_greeting = out.is_empty() && event != Event::StartTls;
        if let Some(other) = S::WAITS_FOR_US.filter(|_| self.asks_who_is_there) {
            let heard = self.hears_within(SILENCE);
            if !heard.map_err(|error| error.of_greeting(S::DATABASE, false))? && self.finds(other) {
                let address = self.address.clone();
                let other = other.database;
                return Err(ConnectError::OtherDatabase { address, other });
            }
        }
        while event != Event::Started {
            if event == Event::Redirect {
                event = self.follow(session, &mut out)?;
                continue;
            }
            if event != Event::StartTls {
                let said = self.converse(session, &mut out);
                event = match said {
                    Err(error) if self.awaits_greeting => return Err(error.of_greeting(S::DATABASE, self.greets)),
                    Err(error) => return Err(self.of_hanging_up::<S>(error)),
                    Ok(event) => event,
                };
                continue;
            }
            self.send(&out)?;
            out.clear();
            // Oracle's servers may have it begun anew, on the same connection.
            let Some(tls) = tls.filter(|_| self.tls.is_none() || S::TLS_BEGINS_ANEW) else {
                return Err(self.broken(io::Error::other("the session asks for TLS out of turn")));
            };
            let encrypted = self.encrypt(tls, S::TLS_WORDS)?;
            let begun = session.encrypted(&encrypted, &mut out);
            event = begun.map_err(|cause| self.protocol(cause))?;
            self.tls = Some(encrypted);
        }
        self.started = true;
        self.send_plain(&out)
    }

    /// Goes where the server sends us, and begins there.
    fn follow<S: Session>(&mut self, session: &mut S, out: &mut Vec<u8>) -> Result<Event, ConnectError> {
        let Some(Redirect { host, port }) = session.redirection().cloned() else {
            return Err(self.broken(io::Error::other("the server sends us on without saying where")));
        };
        let sent = format!("{host}:{port}");
        let found = (host.as_str(), port).to_socket_addrs().map_err(|error| {
            self.broken(io::Error::new(
                error.kind(),
                format!("it sends us on to {sent}, which cannot be looked up here: {error}"),
            ))
        })?;
        let limit = Limit {
            stop: &self.stop,
            until: self.until,
        };
        self.socket = dial(&Address::Tcp(found.collect()), self.patience, limit)?;
        self.peer = self.socket.peer();
        self.address = format!("{sent}, where {} sent us", self.address);
        self.tls = None;
        out.clear();
        session.start(out).map_err(|cause| self.protocol(cause))
    }

    /// The same, or that another database's server hung up on us, as it does when it does not understand us.
    fn of_hanging_up<S: Session>(&self, error: ConnectError) -> ConnectError {
        let other = S::HANGS_UP_ON_US.filter(|_| !self.greets && matches!(error, ConnectError::Broken { .. }));
        match other.filter(|other| self.finds(other)) {
            Some(other) => ConnectError::OtherDatabase {
                address: self.address.clone(),
                other: other.database,
            },
            None => error,
        }
    }

    /// Sends `out` and exchanges messages until the session has more to tell than that it needs input. Gives the last
    /// that it told.
    fn converse<S: Session>(&mut self, session: &mut S, out: &mut Vec<u8>) -> Result<Event, ConnectError> {
        let mut buffer = vec![0; 16 * 1024];
        let mut plain = Vec::new();
        loop {
            if let Some(reply) = session.answered() {
                return Ok(Event::Reply(reply));
            }
            self.send_plain(out)?;
            out.clear();
            plain.clear();
            self.receive_plain(&mut buffer, &mut plain)?;
            self.greets = true;
            let mut input = plain.as_slice();
            let mut told = Event::NeedInput;
            while !input.is_empty() {
                let (used, event) = session.receive(input, out).map_err(|cause| self.protocol(cause))?;
                input = &input[used..];
                self.awaits_greeting &= out.is_empty() && event == Event::NeedInput;
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
        let Some(mut session) = self.tls.take() else {
            let received = self.receive(buffer)?;
            plain.extend_from_slice(&buffer[..received]);
            return Ok(());
        };
        let mut take_in = |encrypted: &[u8]| {
            let is_over = decrypt(&mut session, encrypted, &mut |bytes| plain.extend_from_slice(bytes));
            match is_over.map_err(|error| self.broken(error))? {
                true if plain.is_empty() => Err(self.broken(closed_by_server())),
                _ => Ok(!plain.is_empty()),
            }
        };
        // Some may have come with the end of the handshake.
        let mut taken = take_in(&[]);
        while matches!(taken, Ok(false)) {
            taken = self.receive(buffer).and_then(|received| take_in(&buffer[..received]));
        }
        self.tls = Some(session);
        taken.map(drop)
    }
}

fn closed_by_server() -> io::Error {
    io::Error::new(io::ErrorKind::UnexpectedEof, "the server closed the connection")
}

#[cfg(test)]
mod tests;
