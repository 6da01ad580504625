//! Gets a socket to a server's address, within a time limit and until somebody asks to stop.

use crate::system::stream_socket;
use crate::{Address, ConnectError, Socket, Stop};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::io::Errno;
use rustix::net::sockopt::{self, Timeout};
use rustix::net::{self, AddressFamily, SocketAddrUnix};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::net::UnixStream;
use std::path::Path;
use std::time::{Duration, Instant};

/// Blocking calls wait this long at a time, so that a request to stop is noticed.
const PATIENCE: Duration = Duration::from_millis(200);

/// What ends the opening of a connection before its time.
#[derive(Clone, Copy)]
pub struct Limit<'a> {
    /// Asks to stop.
    pub stop: &'a Stop,
    /// From then on it is of no use.
    pub until: Option<Instant>,
}

impl Limit<'_> {
    /// When something that begins now and may take so long has taken too long; `None`: never, as the time is beyond
    /// what the clock can tell.
    #[must_use]
    pub fn deadline(self, timeout: Duration) -> Option<Instant> {
        let deadline = Instant::now().checked_add(timeout);
        [self.until, deadline].into_iter().flatten().min()
    }
}

/// Connects to a server, and has blocking calls on the socket return every now and then, so that a request to stop is
/// noticed.
///
/// # Errors
/// Nobody answers there, or a stop was asked for.
pub fn dial(address: &Address, timeout: Duration, limit: Limit<'_>) -> Result<Socket, ConnectError> {
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
    let socket = stream_socket(family, true)?;
    match net::connect(&socket, address) {
        Ok(()) => {}
        Err(Errno::INPROGRESS | Errno::INTR) => loop {
            if limit.stop.requested() {
                return Ok(None);
            }
            let left = deadline.map(|deadline| deadline.saturating_duration_since(Instant::now()));
            if left.is_some_and(|left| left.is_zero()) {
                return Err(io::Error::new(
                    io::ErrorKind::TimedOut,
                    "no answer within the connect timeout",
                ));
            }
            let patience = left.map_or(PATIENCE, |left| left.min(PATIENCE));
            let patience = Timespec::try_from(patience).ok();
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
/// Where many connect at once the queue of those that the server has yet to accept may be full. The system would wait
/// for room for as long as it takes; with a limit on sending it says so after that time (unix(7), socket(7)), and
/// asking again is all there is to do.
fn dial_unix(path: &Path, timeout: Duration, limit: Limit<'_>) -> io::Result<Option<UnixStream>> {
    let deadline = limit.deadline(timeout);
    let socket = stream_socket(AddressFamily::UNIX, false)?;
    sockopt::set_socket_timeout(&socket, Timeout::Send, Some(PATIENCE))?;
    let address = SocketAddrUnix::new(path)?;
    loop {
        match net::connect(&socket, &address) {
            Ok(()) => break,
            Err(Errno::AGAIN | Errno::INTR) if limit.stop.requested() => return Ok(None),
            Err(Errno::AGAIN | Errno::INTR) if deadline.is_none_or(|deadline| Instant::now() < deadline) => {}
            Err(Errno::AGAIN) => {
                let why = "it did not accept the connection within the connect timeout";
                return Err(io::Error::new(io::ErrorKind::TimedOut, why));
            }
            Err(error) => return Err(error.into()),
        }
    }
    Ok(Some(socket.into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_time_beyond_the_clock_is_no_limit() {
        let stop = Stop::new();
        let until = Some(Instant::now());
        assert_eq!(
            Limit {
                stop: &stop,
                until: None
            }
            .deadline(Duration::MAX),
            None
        );
        assert_eq!(Limit { stop: &stop, until }.deadline(Duration::MAX), until);
        let hour = Duration::from_secs(3600);
        assert_eq!(Limit { stop: &stop, until }.deadline(hour), until);
        assert!(
            Limit {
                stop: &stop,
                until: None
            }
            .deadline(hour)
                > until
        );
    }
}
