//! Readiness: one wait for all connections of a thread, then one receive for each that has something.
//!
//! Edge-triggered, so a connection is registered once and costs no further system call. A receive that fills less
//! than the buffer has emptied the socket (epoll(7)), so there is no second receive just to be told so. The crate
//! mio speaks epoll on Linux and kqueue on BSD and macOS.

use super::{Arrival, Connection, RECEIVE_BYTES, Sink, Transport, Wait};
use mio::event::Event;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Registry, Token};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};
use std::time::Duration;

/// How late a wait of epoll may end.
const TICK: Duration = Duration::from_millis(1);

/// All connections of one thread behind one poller.
pub(crate) struct Readiness {
    poller: Poll,
    events: Events,
    places: Vec<Option<Watched>>,
    buffer: Box<[u8]>,
}

/// A registered connection.
struct Watched {
    connection: Connection,
    /// Whether we are told when the peer accepts more, too.
    writable: bool,
}

impl Readiness {
    /// Registers `connections`, as far as they are there yet; they are numbered in this order, and behind them there is
    /// room for so many more.
    pub fn new(connections: Vec<Option<Connection>>, spare: usize) -> io::Result<Self> {
        let mut transport = Self {
            poller: Poll::new()?,
            events: Events::with_capacity(connections.len().clamp(1, 1024)),
            places: (0..connections.len() + spare).map(|_| None).collect(),
            buffer: vec![0; RECEIVE_BYTES].into_boxed_slice(),
        };
        for (index, connection) in connections.into_iter().enumerate() {
            if let Some(connection) = connection {
                transport.replace(index, connection)?;
            }
        }
        Ok(transport)
    }

    /// Whether there is a connection of this number.
    pub fn has(&self, index: usize) -> bool {
        self.places[index].is_some()
    }

    fn wait(&mut self, wait: Wait) -> io::Result<()> {
        let mut timeout = wait.shortest();
        // mio has epoll wait for whole milliseconds. poll is exact, and epoll's own descriptor can be polled.
        // kqueue is exact by itself.
        if wait.due < timeout + TICK && cfg!(target_os = "linux") {
            let limit = Timespec {
                tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
                tv_nsec: timeout.subsec_nanos().into(),
            };
            let descriptor = self.poller.registry().as_fd();
            match rustix::event::poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&limit)) {
                Ok(0) | Err(Errno::INTR) => {
                    self.events.clear();
                    return Ok(());
                }
                Ok(_) => timeout = Duration::ZERO,
                Err(error) => return Err(error.into()),
            }
        }
        match self.poller.poll(&mut self.events, Some(timeout)) {
            Err(error) if error.kind() != io::ErrorKind::Interrupted => Err(error),
            _ => Ok(()),
        }
    }
}

impl Watched {
    /// Sends and receives what it can.
    fn serve(&mut self, event: &Event, buffer: &mut [u8], sink: &mut impl FnMut(&[u8])) -> io::Result<()> {
        if event.is_writable() {
            self.connection.flush()?;
        }
        // When the peer has closed, its last bytes and the end of the stream come with one event.
        let ending = event.is_read_closed() || event.is_error();
        let mut more = event.is_readable() || ending;
        while more {
            match self.connection.receive(buffer, sink) {
                Ok(filled) => more = filled || ending,
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Asks to be told when the peer accepts more if there is more, else no longer.
    #[inline]
    fn settle(&mut self, index: usize, registry: &Registry) -> io::Result<()> {
        let unsent = self.connection.has_unsent();
        if unsent == self.writable {
            return Ok(());
        }
        self.writable = unsent;
        let interest = if unsent {
            Interest::READABLE.add(Interest::WRITABLE)
        } else {
            Interest::READABLE
        };
        let descriptor = self.connection.socket().as_fd().as_raw_fd();
        registry.reregister(&mut SourceFd(&descriptor), Token(index), interest)
    }
}

impl Transport for Readiness {
    fn send(&mut self, index: usize, bytes: &[u8]) -> io::Result<()> {
        let Some(watched) = &mut self.places[index] else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let sent = watched.connection.send(bytes);
        let sent = sent.and_then(|()| watched.settle(index, self.poller.registry()));
        if sent.is_err() {
            self.places[index] = None;
        }
        sent
    }

    /// Everything was already.
    fn flush(&mut self) {}

    fn poll(&mut self, wait: Wait, sink: &mut impl Sink) -> io::Result<()> {
        self.wait(wait)?;
        for event in &self.events {
            let Token(index) = event.token();
            let Some(watched) = &mut self.places[index] else {
                continue;
            };
            let served = watched.serve(event, &mut self.buffer, &mut |bytes| {
                sink.arrived(index, Arrival::Bytes(bytes))
            });
            if let Err(error) = served.and_then(|()| watched.settle(index, self.poller.registry())) {
                self.places[index] = None;
                sink.arrived(index, Arrival::Closed(error));
            }
        }
        Ok(())
    }

    fn replace(&mut self, index: usize, connection: Connection) -> io::Result<()> {
        connection.socket().set_nonblocking(true)?;
        let descriptor = connection.socket().as_fd().as_raw_fd();
        // A connection that goes is registered no longer by being closed.
        let registry = self.poller.registry();
        registry.register(&mut SourceFd(&descriptor), Token(index), Interest::READABLE)?;
        self.places[index] = Some(Watched {
            connection,
            writable: false,
        });
        Ok(())
    }

    fn peer(&self, index: usize) -> Option<SocketAddr> {
        self.places[index].as_ref()?.connection.peer()
    }

    fn close(&mut self, index: usize) {
        self.places[index] = None;
    }
}
