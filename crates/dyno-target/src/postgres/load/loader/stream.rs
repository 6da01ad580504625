//! Bytes to and from the server, each call waiting for a bounded time.

use super::LoaderError;
use crate::postgres::address::dial::check_peer;
use crate::postgres::address::{Endpoint, Socket};
use dyno_wire::Channel;
use dyno_wire::tls::{self, Encryption, SslMode};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustls::{ClientConnection, StreamOwned};
use std::io::{self, ErrorKind, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

/// Bytes received at a time; replies are short.
const RECEIVE_BYTES: usize = 8 * 1024;

/// A connected socket, with TLS if that was agreed on.
pub(super) struct Stream {
    wire: Wire,
    endpoint: Endpoint,
    /// The one of the endpoint's addresses that answered.
    peer: Option<SocketAddr>,
}

enum Wire {
    Unix(UnixStream),
    Tcp(TcpStream),
    Tls(Box<StreamOwned<ClientConnection, TcpStream>>),
}

impl Stream {
    /// Connects before `deadline`. Afterwards every call returns after `patience` at the latest, with `WouldBlock`
    /// if nothing could be done.
    pub(super) fn open(
        endpoint: &Endpoint,
        encryption: Encryption,
        deadline: Option<Instant>,
        patience: Duration,
    ) -> Result<Self, LoaderError> {
        let (wire, peer) = match &endpoint.socket {
            Socket::Unix(path) => {
                let socket = UnixStream::connect(path)?;
                check_peer(&socket, endpoint.required_peer.as_ref())??;
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))?;
                (Wire::Unix(socket), None)
            }
            Socket::Tcp(addresses) => {
                let (socket, peer) = dial(addresses, deadline)?;
                socket.set_nodelay(true)?;
                dyno_connect::notice_outage(&socket)?;
                let wire = match (encryption, &endpoint.tls) {
                    (Encryption::Tls, Some(config)) => {
                        encrypt(socket, endpoint.ssl_mode, config, &endpoint.server_name, deadline)?
                    }
                    _ => Wire::Tcp(socket),
                };
                let socket = match &wire {
                    Wire::Tls(stream) => &stream.sock,
                    Wire::Tcp(socket) => socket,
                    Wire::Unix(_) => return Err(LoaderError::Stopped),
                };
                socket.set_read_timeout(Some(patience))?;
                socket.set_write_timeout(Some(patience))?;
                (wire, Some(peer))
            }
        };
        Ok(Self {
            wire,
            endpoint: endpoint.clone(),
            peer,
        })
    }

    pub(super) fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// What the conversation travels on.
    pub(super) fn channel(&self) -> Channel {
        match &self.wire {
            Wire::Tls(stream) => {
                let certificates = stream.conn.peer_certificates();
                let certificate = certificates.and_then(|chain| chain.first());
                Channel::Tls(certificate.and_then(|certificate| tls::server_end_point(certificate)))
            }
            Wire::Unix(_) | Wire::Tcp(_) => Channel::Plain,
        }
    }

    pub(super) fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.wire {
            Wire::Unix(socket) => socket.write(bytes),
            Wire::Tcp(socket) => socket.write(bytes),
            Wire::Tls(stream) => stream.write(bytes),
        }
    }

    /// Sends what TLS still holds.
    pub(super) fn flush(&mut self) -> io::Result<()> {
        match &mut self.wire {
            Wire::Tls(stream) => stream.flush(),
            Wire::Unix(_) | Wire::Tcp(_) => Ok(()),
        }
    }

    /// Whether something has arrived, without waiting.
    pub(super) fn is_readable(&self) -> io::Result<bool> {
        let mut waiting = [PollFd::from_borrowed_fd(self.descriptor(), PollFlags::IN)];
        Ok(poll(&mut waiting, Some(&Timespec::default()))? > 0)
    }

    /// Appends what arrives first.
    pub(super) fn receive(&mut self, into: &mut Vec<u8>) -> io::Result<()> {
        let mut buffer = [0; RECEIVE_BYTES];
        let received = match &mut self.wire {
            Wire::Unix(socket) => socket.read(&mut buffer)?,
            Wire::Tcp(socket) => socket.read(&mut buffer)?,
            Wire::Tls(stream) => stream.read(&mut buffer)?,
        };
        if received == 0 {
            return Err(io::Error::new(
                ErrorKind::UnexpectedEof,
                "the server closed the connection unexpectedly",
            ));
        }
        into.extend_from_slice(&buffer[..received]);
        Ok(())
    }

    /// Sends a request on a connection of its own and waits until the server has closed it. It holds no secret
    /// worth keeping but its own key, and goes unencrypted as libpq's does up to version 16. Nothing can be done if
    /// the server does not listen.
    pub(super) fn cancel(&self, request: &[u8], patience: Duration) {
        fn ask(mut socket: impl Read + Write, request: &[u8]) {
            let _ = socket.write_all(request);
            let _ = socket.read(&mut [0; 1]);
        }
        match (&self.endpoint.socket, self.peer) {
            (Socket::Unix(path), _) => {
                if let Ok(socket) = UnixStream::connect(path) {
                    let _ = socket.set_read_timeout(Some(patience));
                    ask(socket, request);
                }
            }
            (_, Some(peer)) => {
                if let Ok(socket) = TcpStream::connect_timeout(&peer, patience) {
                    let _ = socket.set_read_timeout(Some(patience));
                    ask(socket, request);
                }
            }
            (_, None) => {}
        }
    }

    fn descriptor(&self) -> BorrowedFd<'_> {
        match &self.wire {
            Wire::Unix(socket) => socket.as_fd(),
            Wire::Tcp(socket) => socket.as_fd(),
            Wire::Tls(stream) => stream.sock.as_fd(),
        }
    }
}

fn dial(addresses: &[SocketAddr], deadline: Option<Instant>) -> Result<(TcpStream, SocketAddr), LoaderError> {
    let mut last = io::Error::new(ErrorKind::NotFound, "the host has no address");
    for address in addresses {
        let connected = match left(deadline)? {
            Some(left) => TcpStream::connect_timeout(address, left),
            None => TcpStream::connect(address),
        };
        match connected {
            Ok(socket) => return Ok((socket, *address)),
            Err(error) => last = error,
        }
    }
    Err(LoaderError::Lost(last))
}

/// How much time is left; none: as much as is wanted.
fn left(deadline: Option<Instant>) -> io::Result<Option<Duration>> {
    let Some(deadline) = deadline else { return Ok(None) };
    match deadline.saturating_duration_since(Instant::now()) {
        Duration::ZERO => Err(late()),
        left => Ok(Some(left)),
    }
}

/// That connecting takes too long.
pub(super) fn late() -> io::Error {
    let what = "no answer within the time allowed; check host, port and firewalls and whether the server stands still, \
                or raise connect_timeout";
    io::Error::new(ErrorKind::TimedOut, what)
}

/// Asks for TLS and goes through its handshake, unless the server does not want it and need not.
fn encrypt(
    mut socket: TcpStream,
    mode: SslMode,
    config: &std::sync::Arc<rustls::ClientConfig>,
    name: &str,
    deadline: Option<Instant>,
) -> Result<Wire, LoaderError> {
    socket.write_all(&tls::ssl_request())?;
    let mut answer = [0; 16];
    socket.set_read_timeout(left(deadline)?)?;
    let received = socket.read(&mut answer)?;
    if tls::interpret_answer(mode, &answer[..received])? == Encryption::Plain {
        return Ok(Wire::Tcp(socket));
    }
    let name = tls::server_name(mode, name)?;
    let mut session = ClientConnection::new(config.clone(), name).map_err(tls::TlsError::from)?;
    while session.is_handshaking() || session.wants_write() {
        if session.wants_write() {
            session.write_tls(&mut socket)?;
            continue;
        }
        socket.set_read_timeout(left(deadline)?)?;
        if session.read_tls(&mut socket)? == 0 {
            return Err(LoaderError::Lost(ErrorKind::UnexpectedEof.into()));
        }
        if let Err(error) = session.process_new_packets() {
            // Tell the server why, as TLS asks for, before giving up.
            let _ = session.write_tls(&mut socket);
            return Err(LoaderError::Tls(error.into()));
        }
    }
    Ok(Wire::Tls(Box::new(StreamOwned::new(session, socket))))
}
