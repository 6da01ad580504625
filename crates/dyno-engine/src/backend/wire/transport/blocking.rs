//! A thread's only connection: plain calls of which receives block, which costs one system call less per reply than
//! waiting for readiness first. If its client opens more connections, they are all waited for by readiness.
//!
//! Sends do not block. A server that is in the middle of a long reply takes nothing before that is received, so
//! both sides would wait for each other.

use super::{Arrival, Connection, RECEIVE_BYTES, Readiness, SLACK, Sink, Transport, Wait};
use rustix::event::{PollFd, PollFlags, Timespec};
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

/// The longest that a receive by itself may take: its timeout, which the system counts in ticks of up to 10 ms and
/// begins with any part of one.
const RECEIVE: Duration = SLACK.saturating_add(Duration::from_millis(20));

/// One connection, number 0, as long as there is no other one.
pub(crate) struct Blocking {
    connection: Option<Connection>,
    buffer: Box<[u8]>,
    /// How many connections there may be beside it.
    spare: usize,
    /// All connections, since there were several.
    several: Option<Readiness>,
}

impl Blocking {
    /// Takes over the only connection of a thread, if it has one yet; so many more may follow.
    pub fn new(connection: Option<Connection>, spare: usize) -> io::Result<Self> {
        let mut transport = Self {
            connection: None,
            buffer: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            spare,
            several: None,
        };
        if let Some(connection) = connection {
            transport.replace(0, connection)?;
        }
        Ok(transport)
    }

    /// From now on there are several connections.
    #[cold]
    fn grow(&mut self) -> io::Result<&mut Readiness> {
        let mut several = Readiness::new(vec![self.connection.take()], self.spare)?;
        if several.has(0) {
            // Whether the peer takes what is unsent is to be watched, too.
            several.send(0, &[])?;
        }
        Ok(self.several.insert(several))
    }
}

/// Waits until `connection` is readable, or writable if something is unsent, or gone. Gives what of it is the case;
/// nothing: the time passed.
fn wait_ready(connection: &Connection, timeout: Duration) -> io::Result<PollFlags> {
    let timeout = Timespec {
        tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
        tv_nsec: timeout.subsec_nanos().into(),
    };
    let mut awaited = PollFlags::IN;
    awaited.set(PollFlags::OUT, connection.has_unsent());
    let mut descriptors = [PollFd::new(connection.socket(), awaited)];
    match rustix::event::poll(&mut descriptors, Some(&timeout)) {
        Ok(_) => Ok(descriptors[0].revents()),
        Err(rustix::io::Errno::INTR) => Ok(PollFlags::empty()),
        Err(error) => Err(error.into()),
    }
}

impl Transport for Blocking {
    fn send(&mut self, index: usize, bytes: &[u8]) -> io::Result<()> {
        if let Some(several) = &mut self.several {
            return several.send(index, bytes);
        }
        let Some(mut connection) = self.connection.take() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        connection.send(bytes)?;
        self.connection = Some(connection);
        Ok(())
    }

    /// Everything was already, as far as the peer accepts it.
    fn flush(&mut self) {}

    fn poll(&mut self, wait: Wait, sink: &mut impl Sink) -> io::Result<()> {
        if let Some(several) = &mut self.several {
            return several.poll(wait, sink);
        }
        let Some(mut connection) = self.connection.take() else {
            std::thread::sleep(wait.shortest());
            return Ok(());
        };
        // A receive waits as long as it was told when the connection was made, whatever the thread's own duties
        // are. A client that is due need not, nor what is to be sent.
        if wait.due < RECEIVE || connection.has_unsent() {
            let ready = wait_ready(&connection, wait.shortest())?;
            if ready.contains(PollFlags::OUT)
                && let Err(error) = connection.flush()
            {
                sink.arrived(0, Arrival::Closed(error));
                return Ok(());
            }
            if (ready - PollFlags::OUT).is_empty() {
                self.connection = Some(connection);
                return Ok(());
            }
        }
        match connection.receive(&mut self.buffer, &mut |bytes| sink.arrived(0, Arrival::Bytes(bytes))) {
            // If there is more, the next call receives it at once.
            Ok(_) => self.connection = Some(connection),
            Err(error) if matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted) => {
                self.connection = Some(connection);
            }
            Err(error) => sink.arrived(0, Arrival::Closed(error)),
        }
        Ok(())
    }

    fn replace(&mut self, index: usize, connection: Connection) -> io::Result<()> {
        if self.several.is_some() || index > 0 {
            let several = match &mut self.several {
                Some(several) => several,
                None => self.grow()?,
            };
            return several.replace(index, connection);
        }
        connection.socket().set_nonblocking(false)?;
        connection.socket().set_read_timeout(Some(SLACK))?;
        self.connection = Some(connection);
        Ok(())
    }

    fn peer(&self, index: usize) -> Option<SocketAddr> {
        if let Some(several) = &self.several {
            return several.peer(index);
        }
        self.connection.as_ref()?.peer()
    }

    fn close(&mut self, index: usize) {
        if let Some(several) = &mut self.several {
            return several.close(index);
        }
        self.connection = None;
    }
}
