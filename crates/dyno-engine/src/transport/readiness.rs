//! Readiness with epoll: one wait for all connections of a thread, then one receive for each that has something.
//!
//! Edge-triggered, so a connection is registered once and costs no further system call. A receive that fills less than the buffer has emptied the
//! socket (epoll(7)), so there is no second receive just to be told so.

use super::{Arrival, Connection, RECEIVE_BYTES, Transport, Wait};
use rustix::buffer::spare_capacity;
use rustix::event::epoll::{self, CreateFlags, Event, EventData, EventFlags};
use rustix::event::{PollFd, PollFlags, Timespec};
use rustix::io::Errno;
use std::io;
use std::os::fd::OwnedFd;
use std::time::Duration;

/// All connections of one thread behind one epoll instance.
pub(crate) struct Readiness {
    epoll: OwnedFd,
    connections: Vec<Option<Connection>>,
    events: Vec<Event>,
    buffer: Box<[u8]>,
}

const RECEIVE: EventFlags = EventFlags::IN.union(EventFlags::RDHUP).union(EventFlags::ET);

impl Readiness {
    /// Registers `connections`, as far as they are there yet; they are numbered in this order.
    pub fn new(connections: Vec<Option<Connection>>) -> io::Result<Self> {
        let mut transport = Self {
            epoll: epoll::create(CreateFlags::CLOEXEC)?,
            events: Vec::with_capacity(connections.len().clamp(1, 1024)),
            connections: connections.iter().map(|_| None).collect(),
            buffer: vec![0; RECEIVE_BYTES].into_boxed_slice(),
        };
        for (index, connection) in connections.into_iter().enumerate() {
            if let Some(connection) = connection {
                transport.replace(index, connection)?;
            }
        }
        Ok(transport)
    }

    /// Asks to be told when the peer accepts more, or no longer.
    fn watch_writable(&self, index: usize, connection: &Connection, watch: bool) -> io::Result<()> {
        let flags = if watch { RECEIVE | EventFlags::OUT } else { RECEIVE };
        Ok(epoll::modify(
            &self.epoll,
            connection.socket(),
            EventData::new_u64(index as u64),
            flags,
        )?)
    }

    fn wait(&mut self, wait: Wait) -> io::Result<()> {
        self.events.clear();
        let timespec = |timeout: Duration| Timespec {
            tv_sec: i64::try_from(timeout.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: timeout.subsec_nanos().into(),
        };
        let mut timeout = timespec(wait.timeout);
        if wait.exact {
            // epoll_wait counts in milliseconds and its exact successor needs Linux 5.11; poll is exact, and the epoll instance itself can be
            // polled.
            let mut descriptors = [PollFd::new(&self.epoll, PollFlags::IN)];
            match rustix::event::poll(&mut descriptors, Some(&timeout)) {
                Ok(0) | Err(Errno::INTR) => return Ok(()),
                Ok(_) => timeout = timespec(Duration::ZERO),
                Err(error) => return Err(error.into()),
            }
        }
        match epoll::wait(&self.epoll, spare_capacity(&mut self.events), Some(&timeout)) {
            Ok(_) | Err(Errno::INTR) => Ok(()),
            Err(error) => Err(error.into()),
        }
    }
}

impl Transport for Readiness {
    fn send(&mut self, index: usize, bytes: &[u8]) -> io::Result<()> {
        let Some(mut connection) = self.connections[index].take() else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        let was_waiting = connection.has_unsent();
        connection.send(bytes)?;
        if connection.has_unsent() != was_waiting {
            self.watch_writable(index, &connection, !was_waiting)?;
        }
        self.connections[index] = Some(connection);
        Ok(())
    }

    fn poll(&mut self, wait: Wait, sink: &mut impl FnMut(usize, Arrival<'_>)) -> io::Result<()> {
        self.wait(wait)?;
        for position in 0..self.events.len() {
            // The event is packed as the kernel wants it: take its fields out before use.
            let Event { flags, data } = self.events[position];
            let index = data.u64() as usize;
            let Some(mut connection) = self.connections[index].take() else {
                continue;
            };
            let mut failure = None;
            if flags.contains(EventFlags::OUT) {
                let was_waiting = connection.has_unsent();
                let flushed = connection.flush().and_then(|()| {
                    if was_waiting && !connection.has_unsent() {
                        self.watch_writable(index, &connection, false)
                    } else {
                        Ok(())
                    }
                });
                failure = flushed.err();
            }
            if failure.is_none() && flags != EventFlags::OUT {
                // When the peer has closed, its last bytes and the end of the stream come with one event.
                let ending = flags.intersects(EventFlags::RDHUP | EventFlags::HUP | EventFlags::ERR);
                loop {
                    match connection.receive(&mut self.buffer, &mut |bytes| sink(index, Arrival::Bytes(bytes))) {
                        Ok(more) if more || ending => {}
                        Ok(_) => break,
                        Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                        Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                        Err(error) => {
                            failure = Some(error);
                            break;
                        }
                    }
                }
            }
            match failure {
                Some(error) => sink(index, Arrival::Closed(error)),
                None => self.connections[index] = Some(connection),
            }
        }
        Ok(())
    }

    fn replace(&mut self, index: usize, connection: Connection) -> io::Result<()> {
        connection.socket().set_nonblocking(true)?;
        epoll::add(
            &self.epoll,
            connection.socket(),
            EventData::new_u64(index as u64),
            RECEIVE,
        )?;
        self.connections[index] = Some(connection);
        Ok(())
    }

    fn close(&mut self, index: usize) {
        self.connections[index] = None;
    }
}
