//! Moves bytes for many connections: the seam between the event loop and the kernel.
//!
//! The event loop queues what it sends and is called with what arrived; it never learns whether the transport waits
//! for readiness and then receives, blocks on its only connection, or is told of completed operations (io_uring).

mod blocking;
mod choice;
mod connection;
mod readiness;
#[cfg(test)]
mod tests;
#[cfg(target_os = "linux")]
mod uring;

pub(crate) use blocking::Blocking;
pub(crate) use choice::Chosen;
pub use choice::{TransportChoice, TransportChoiceError, TransportKind, UringUnavailable};
pub use connection::Connection;
pub(crate) use readiness::Readiness;
#[cfg(target_os = "linux")]
pub(crate) use uring::Uring;

use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// What arrived on a connection.
#[derive(Debug)]
pub enum Arrival<'a> {
    /// Some bytes of the server's stream, decrypted if it is encrypted.
    Bytes(&'a [u8]),
    /// The connection is gone; it will not be reported again.
    Closed(io::Error),
}

/// Is told what arrives on connections.
pub trait Sink {
    /// Something has arrived on a connection and will be told soon: what it needs can be fetched meanwhile.
    #[cfg_attr(not(target_os = "linux"), expect(dead_code, reason = "only io_uring knows"))]
    fn expect(&mut self, _connection: usize) {}

    /// This has arrived on a connection.
    fn arrived(&mut self, connection: usize, arrival: Arrival<'_>);
}

impl<F: FnMut(usize, Arrival<'_>)> Sink for F {
    fn arrived(&mut self, connection: usize, arrival: Arrival<'_>) {
        self(connection, arrival);
    }
}

/// How long to wait for something to arrive: until the earlier of two instants, given as the time from now to them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wait {
    /// When a client is due: what is late here is late in the results, so no wait ends later than this.
    pub due: Duration,
    /// When the thread has something to do for itself, such as to report an interval. Up to `SLACK` later does no
    /// harm, and may save a system call, unless a client is due before.
    pub duty: Duration,
}

impl Wait {
    /// The earlier of the two.
    #[must_use]
    pub fn shortest(self) -> Duration {
        self.due.min(self.duty)
    }
}

/// How late a thread may be with what only it waits for.
pub const SLACK: Duration = Duration::from_millis(100);

/// Moves bytes for a fixed number of connections, numbered from 0.
pub trait Transport {
    /// Sends `bytes`, or takes them over to send them with the next [`Transport::poll`] or as soon as the peer
    /// accepts them.
    ///
    /// # Errors
    /// The connection is gone. It is not reported by [`Transport::poll`] as well.
    fn send(&mut self, connection: usize, bytes: &[u8]) -> io::Result<()>;

    /// Hands what was sent to the system now, as far as the peer accepts it, rather than with the next
    /// [`Transport::poll`].
    fn flush(&mut self);

    /// Waits until something arrived or the time has passed, and reports everything there is. It may return earlier
    /// with nothing, but not later than [`Wait`] allows.
    ///
    /// # Errors
    /// The system refuses to wait; errors of single connections are reported as [`Arrival::Closed`].
    fn poll(&mut self, wait: Wait, sink: &mut impl Sink) -> io::Result<()>;

    /// Takes over a new connection in place of one that is closed, or was never there.
    ///
    /// # Errors
    /// The system refuses to watch it.
    fn replace(&mut self, index: usize, connection: Connection) -> io::Result<()>;

    /// The address that a connection goes to; `None` of one to a unix socket, and of none.
    fn peer(&self, connection: usize) -> Option<SocketAddr>;

    /// Forgets a connection and closes it.
    fn close(&mut self, connection: usize);
}

/// The size of the buffer a thread receives into: many replies, or one reply of many rows, in one call.
const RECEIVE_BYTES: usize = 64 * 1024;
