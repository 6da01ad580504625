//! Opens a connection with blocking calls: dials, moves the session's bytes until it is logged in, shakes hands when
//! the session asks for TLS, and has statements prepared. What is said is the session's business; who is spoken to, and
//! for how long, is decided here.

use super::dial::dial;
use super::driver::{LoggedIn, WireDriver};
use super::transport::{Connection, Socket};
use crate::backend::{ConnectError, Limit, Opened};
use crate::load::{Address, Endpoint, Preparing, Tls};
use dyno_wire::tls::{self, Encryption, SslMode, TlsError};
use dyno_wire::{Event, Session, WireError};
use rustix::io::Errno;
use rustix::net::{self, RecvFlags, SendFlags, sockopt};
use rustls::ClientConnection;
use std::io::{self, BufRead, Write};
use std::time::{Duration, Instant};

/// A connection on which a session starts.
pub(crate) struct Opening<'a> {
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

/// Connects, logs in, and prepares the statements of the workload of this name if the driver is to.
///
/// Endpoints are tried in order. As with libpq, one that lets us speak but refuses the log-in ends the search,
/// unless it cannot serve anybody now. All that went wrong is told.
pub(crate) fn open<S: Session>(
    driver: &WireDriver<S>,
    workload: &str,
    limit: Limit<'_>,
) -> Result<Opened<LoggedIn<S>>, ConnectError> {
    let mut errors = Vec::new();
    for number in 0..driver.endpoints.len() {
        let (mut opening, mut session) = match log_in_somehow(driver, number, limit) {
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
        if driver.preparing == Preparing::AtStart {
            prepare(driver, workload, &mut opening, &mut session)?;
        }
        return Ok(Opened {
            connection: LoggedIn {
                connection: Connection::new(opening.socket, opening.tls),
                session,
            },
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
pub(crate) fn log_in_somehow<'a, S: Session>(
    driver: &WireDriver<S>,
    number: usize,
    limit: Limit<'a>,
) -> Result<(Opening<'a>, S), ConnectError> {
    let endpoint = &driver.endpoints[number];
    let tls = match &endpoint.address {
        Address::Tcp(_) => endpoint.tls.as_ref(),
        Address::Unix(_) => None,
    };
    let mode = tls.map_or(SslMode::Disable, |tls| tls.mode);
    let mut attempts = mode.attempts().iter().peekable();
    loop {
        let encryption = attempts.next().copied().unwrap_or(Encryption::Plain);
        let tls = tls.filter(|_| encryption == Encryption::Tls);
        let opened = log_in(driver, number, endpoint, tls, limit);
        let refused = matches!(
            opened,
            Err(ConnectError::Tls(_) | ConnectError::Handshake { .. } | ConnectError::Refused { .. })
        );
        if !refused || attempts.peek().is_none() {
            return opened;
        }
    }
}

fn log_in<'a, S: Session>(
    driver: &WireDriver<S>,
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
    let mut session = (driver.session)(number, tls.map(|tls| tls.mode));
    opening.start(&mut session, tls)?;
    Ok((opening, session))
}

fn prepare<S: Session>(
    driver: &WireDriver<S>,
    workload: &str,
    opening: &mut Opening<'_>,
    session: &mut S,
) -> Result<(), ConnectError> {
    opening.doing = "preparing a statement";
    let mut out = Vec::new();
    for (index, (statement, text)) in driver.statements.iter().zip(&driver.texts).enumerate() {
        if !session.prepare(statement, &mut out) {
            continue;
        }
        opening.deadline = opening.limit.deadline(opening.patience);
        opening.converse(session, &mut out)?;
        if let Some(error) = session.error() {
            return Err(ConnectError::Statement {
                workload: workload.to_owned(),
                number: index + 1,
                text: text.clone(),
                error: Box::new(error.clone()),
            });
        }
    }
    Ok(())
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

    /// Whether there is still time. Asked before each call: a server may say something all the time and never come
    /// to an end.
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
        let mut greets = out.is_empty();
        while event != Event::Started {
            if event != Event::StartTls {
                let said = self.converse(session, &mut out);
                event = said.map_err(|error| if greets { error.of_greeting(S::DATABASE) } else { error })?;
                greets = false;
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
    pub fn converse<S: Session>(&mut self, session: &mut S, out: &mut Vec<u8>) -> Result<Event, ConnectError> {
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

    pub fn send_plain(&mut self, bytes: &[u8]) -> Result<(), ConnectError> {
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

#[cfg(test)]
mod tests;
