//! A connected socket.

use crate::NO_SIGNAL;
use rustix::io::Errno;
use rustix::net::{RecvFlags, SendFlags};
use std::io;
use std::net::{SocketAddr, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::UnixStream;
use std::time::Duration;

/// A connected stream socket.
#[derive(Debug)]
pub enum Socket {
    /// TCP, with Nagle's algorithm off.
    Tcp(TcpStream),
    /// A unix domain socket.
    Unix(UnixStream),
}

impl AsFd for Socket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }
}

impl Socket {
    /// Who is at the other end, if that is known; `None` of a unix socket.
    #[must_use]
    pub fn peer(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Sets whether receives wait; sends never do.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn set_nonblocking(&self, nonblocking: bool) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nonblocking(nonblocking),
            Self::Unix(stream) => stream.set_nonblocking(nonblocking),
        }
    }

    /// Sets how long a waiting receive waits.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn set_read_timeout(&self, timeout: Option<Duration>) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_read_timeout(timeout),
            Self::Unix(stream) => stream.set_read_timeout(timeout),
        }
    }

    /// Receives once; 0 means that the peer has closed.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn receive(&self, buffer: &mut [u8]) -> io::Result<usize> {
        Ok(rustix::net::recv(self, buffer, RecvFlags::empty())?.0)
    }

    /// Sends once what the peer takes now, even if receives wait: it may take nothing before we have received.
    /// Never raises a signal when the peer is gone. What such a peer does not get counts as sent: receiving tells
    /// that it is gone, after its last words.
    ///
    /// # Errors
    /// As the system reports them.
    pub fn send(&self, bytes: &[u8]) -> io::Result<usize> {
        match rustix::net::send(self, bytes, NO_SIGNAL | SendFlags::DONTWAIT) {
            Err(error) if is_gone(error) => Ok(bytes.len()),
            sent => Ok(sent?),
        }
    }
}

/// Whether this says of a peer that it has closed the connection.
#[must_use]
pub fn is_gone(error: Errno) -> bool {
    matches!(error, Errno::PIPE | Errno::CONNRESET)
}
