//! Completions with io_uring: one system call per round sends everything and waits, and what arrived is in our
//! memory when it returns.
//!
//! One multishot receive per connection fills buffers that all connections of the thread share. A send is tried
//! once, within the call that submits it (`MSG_DONTWAIT`), so its bytes need not outlive the call, and it says
//! nothing if it succeeds (`IOSQE_CQE_SKIP_SUCCESS`). What the peer does not accept at once stays unsent in the
//! connection and is sent by plain calls when the socket is writable, as with readiness. The ring belongs to its
//! thread, which takes completions in when it asks for them (`SINGLE_ISSUER` and `DEFER_TASKRUN`, Linux 6.1):
//! otherwise every arrival would interrupt it.
//!
//! The sockets are registered with the ring. Otherwise each send would take a file from the process's table and count
//! who uses it, in memory that has left the cache if there are hundreds of clients.
//!
//! A multishot receive can miss that the peer has closed: where last bytes and the end come at once, some versions
//! of Linux read the bytes and forget the end (seen on 6.18; <https://github.com/axboe/liburing/issues/1549>). So a
//! wait for the end stands beside it, and when that is over another receive begins, which finds what is there.

mod buffers;
mod operation;

use super::connection::closed_by_peer;
use super::{Arrival, Connection, Sink, Transport, Wait};
use crate::cache::fetch;
use buffers::Buffers;
use dyno_connect::is_gone;
use io_uring::squeue::Entry;
use io_uring::types::{CancelBuilder, SubmitArgs, Timespec};
use io_uring::{IoUring, cqueue};
use operation::{Kind, Operation};
use rustix::io::Errno;
use rustix::net::Shutdown;
use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, AsRawFd};

/// So many completions ahead of the one that is taken in, what the next one needs is fetched.
const AHEAD: usize = 4;

/// All connections of one thread behind one ring.
pub(crate) struct Uring {
    ring: IoUring,
    buffers: Buffers,
    places: Vec<Place>,
    /// Places with something to send, each once.
    sending: Vec<usize>,
    /// Those of which bytes are sent in this round.
    submitted: Vec<usize>,
    /// What is to begin with the next call beside sends.
    beginning: Vec<Operation>,
    /// What is done, while it is taken in.
    done: Vec<cqueue::Entry>,
    /// Whether a call failed: the ring may still hold sends then whose bytes may be gone, so it is used no more.
    failed: bool,
}

/// A place for a connection.
#[derive(Default)]
struct Place {
    connection: Option<Connection>,
    /// How many connections it had: tells operations on this one from those on earlier ones.
    generation: u16,
    /// Whether it stands in `sending`.
    queued: bool,
    /// How many of its bytes are sent in this round.
    submitted: usize,
    /// Whether what is unsent waits for the socket to be writable.
    stuck: bool,
}

impl Uring {
    /// Begins to receive from `connections`, as far as they are there yet; they are numbered in this order, and behind
    /// them there is room for so many more, as far as the system has it.
    pub fn new(connections: Vec<Option<Connection>>, spare: usize) -> io::Result<Self> {
        let most = u32::try_from(connections.len()).map_err(io::Error::other)?;
        let buffer_count = most.next_power_of_two().clamp(16, 512) as u16;
        // Room for all that can complete at once: full buffers, and of each connection the ends of two receives, a
        // failed send and two waits.
        let completions = most.saturating_mul(5).saturating_add(buffer_count.into());
        let ring = IoUring::builder()
            .setup_single_issuer()
            .setup_defer_taskrun()
            .setup_submit_all()
            .setup_clamp()
            .setup_cqsize(completions)
            .build(most.clamp(16, 1024))?;
        // A place for each socket, and for none at least one, which is what the kernel wants.
        // Where files are few, spare places that nobody may need are not what a load fails for.
        let with_spare = most.saturating_add(u32::try_from(spare).unwrap_or(u32::MAX));
        let registered = ring.submitter().register_files_sparse(with_spare.max(1));
        registered.or_else(|_| ring.submitter().register_files_sparse(most.max(1)))?;
        let buffers = Buffers::new(&ring, buffer_count)?;
        let mut transport = Self {
            ring,
            buffers,
            places: (0..connections.len() + spare).map(|_| Place::default()).collect(),
            sending: Vec::with_capacity(connections.len()),
            submitted: Vec::with_capacity(connections.len()),
            beginning: Vec::with_capacity(2 * connections.len()),
            done: Vec::with_capacity(completions as usize),
            failed: false,
        };
        for (index, connection) in connections.into_iter().enumerate() {
            if let Some(connection) = connection {
                transport.replace(index, connection)?;
            }
        }
        Ok(transport)
    }

    /// Tries whether the system lets us use it.
    pub fn probe() -> io::Result<()> {
        Self::new(Vec::new(), 0).map(drop)
    }

    /// Hands everything that is to be done to the kernel, and waits until something is done or the time has passed.
    fn submit(&mut self, wait: Wait) -> io::Result<()> {
        if self.failed {
            return Err(io::Error::other("io_uring failed before"));
        }
        self.failed = true;
        std::mem::swap(&mut self.sending, &mut self.submitted);
        for &index in &self.submitted {
            let place = &mut self.places[index];
            place.queued = false;
            if let Some(connection) = &place.connection
                && connection.has_unsent()
                && !place.stuck
            {
                place.submitted = operation::sendable(connection.unsent()).len();
                let operation = place.operation(Kind::Send, index);
                push(&mut self.ring, &operation.entry(connection))?;
            }
        }
        for operation in self.beginning.drain(..) {
            let place = &self.places[operation.index];
            if let Some(connection) = &place.connection
                && place.generation == operation.generation
            {
                push(&mut self.ring, &operation.entry(connection))?;
            }
        }
        let timeout = Timespec::from(wait.shortest());
        let arguments = SubmitArgs::new().timespec(&timeout);
        match self.ring.submitter().submit_with_args(1, &arguments) {
            Ok(_) => {}
            Err(error) if matches!(Errno::from_io_error(&error), Some(Errno::TIME | Errno::INTR)) => {}
            Err(error) => return Err(error),
        }
        // The kernel takes everything unless it lacks memory.
        self.failed = !self.ring.submission().is_empty();
        Ok(())
    }

    /// Lets go of a connection.
    fn retire(&mut self, index: usize) {
        if self.places[index].retire() {
            // If it stays registered it stays open, but it is shut.
            let _ = self.ring.submitter().register_files_update(index as u32, &[-1]);
        }
    }

    /// Has fetched what something that is done will need.
    #[inline]
    fn expect(&self, completion: &cqueue::Entry, sink: &mut impl Sink) {
        let operation = Operation::from_number(completion.user_data());
        fetch(&self.places[operation.index]);
        if let Some(buffer) = cqueue::buffer_select(completion.flags()) {
            fetch(self.buffers.first_line(buffer));
        }
        sink.expect(operation.index);
    }

    /// Takes in what is done.
    fn complete(&mut self, sink: &mut impl Sink) {
        let mut done = std::mem::take(&mut self.done);
        done.extend(self.ring.completion());
        done.iter().take(AHEAD).for_each(|next| self.expect(next, sink));
        for (at, completion) in done.iter().enumerate() {
            if let Some(next) = done.get(at + AHEAD) {
                self.expect(next, sink);
            }
            let operation = Operation::from_number(completion.user_data());
            let place = &mut self.places[operation.index];
            let buffer = cqueue::buffer_select(completion.flags());
            if place.generation == operation.generation {
                let result = match usize::try_from(completion.result()) {
                    Ok(count) => Ok(count),
                    Err(_) => Err(Errno::from_raw_os_error(completion.result().saturating_neg())),
                };
                let done = match (operation.kind, buffer) {
                    (Kind::Receive, Some(buffer)) => {
                        let bytes = self.buffers.filled(buffer, result.unwrap_or(0));
                        place.accept(bytes, &mut |bytes| sink.arrived(operation.index, Arrival::Bytes(bytes)))
                    }
                    (Kind::Receive, None) => not_received(result),
                    (Kind::Send, _) => place.sent_partly(result),
                    (Kind::Writable, _) => place.flush(),
                    (Kind::HangUp, _) => Ok(Next::Receive),
                };
                match done {
                    Ok(Next::Nothing) => {}
                    Ok(Next::Send) => place.enqueue(operation.index, &mut self.sending),
                    Ok(Next::AwaitWritable) => self.beginning.push(place.operation(Kind::Writable, operation.index)),
                    Ok(Next::Receive) => self.beginning.push(place.operation(Kind::Receive, operation.index)),
                    Err(error) => {
                        self.retire(operation.index);
                        sink.arrived(operation.index, Arrival::Closed(error));
                    }
                }
                if operation.kind == Kind::Receive && !cqueue::more(completion.flags()) {
                    self.beginning.push(operation);
                }
            }
            if let Some(buffer) = buffer {
                self.buffers.give_back(buffer);
            }
        }
        done.clear();
        self.done = done;
        // Of sends that did not complete, the kernel has taken everything.
        for index in self.submitted.drain(..) {
            let place = &mut self.places[index];
            let count = std::mem::take(&mut place.submitted);
            if let Some(connection) = &mut place.connection {
                connection.sent(count);
                if connection.has_unsent() && !place.stuck {
                    place.enqueue(index, &mut self.sending);
                }
            }
        }
    }
}

/// Hands an operation to the kernel with the next call.
fn push(ring: &mut IoUring, entry: &Entry) -> io::Result<()> {
    if ring.submission().is_full() {
        ring.submit()?;
    }
    // SAFETY: the only memory that an entry refers to is what a send sends. `Uring::submit` submits it before
    // anything touches that again, or never.
    #[allow(unsafe_code)]
    let pushed = unsafe { ring.submission().push(entry) };
    pushed.map_err(io::Error::other)
}

/// A receive completed without bytes.
fn not_received(result: Result<usize, Errno>) -> io::Result<Next> {
    match result {
        // No buffer was free; they all are when the round is over.
        Err(Errno::NOBUFS | Errno::INTR | Errno::AGAIN) => Ok(Next::Nothing),
        Err(error) => Err(error.into()),
        Ok(_) => Err(closed_by_peer()),
    }
}

/// What is to be done about a connection after something on it is done.
enum Next {
    Nothing,
    /// It has something to send.
    Send,
    /// The rest can be sent when the peer accepts more.
    AwaitWritable,
    /// There is something to receive, be it the end.
    Receive,
}

impl Place {
    fn operation(&self, kind: Kind, index: usize) -> Operation {
        Operation {
            kind,
            generation: self.generation,
            index,
        }
    }

    /// Some bytes have come.
    fn accept(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) -> io::Result<Next> {
        let Some(connection) = &mut self.connection else {
            return Ok(Next::Nothing);
        };
        connection.accept(bytes, sink)?;
        let answers = connection.unsent().len() > self.submitted && !self.stuck;
        Ok(if answers { Next::Send } else { Next::Nothing })
    }

    /// A send did not send everything.
    fn sent_partly(&mut self, result: Result<usize, Errno>) -> io::Result<Next> {
        self.submitted = 0;
        match (result, &mut self.connection) {
            (Ok(count), Some(connection)) => connection.sent(count),
            (Err(Errno::AGAIN | Errno::INTR), _) | (Ok(_), None) => {}
            // As for other transports, receiving tells of that.
            (Err(error), Some(connection)) if is_gone(error) => {
                connection.sent(connection.unsent().len());
                return Ok(Next::Nothing);
            }
            (Err(error), _) => return Err(error.into()),
        }
        self.stuck = true;
        Ok(Next::AwaitWritable)
    }

    /// The socket is writable again, or broken.
    fn flush(&mut self) -> io::Result<Next> {
        let Some(connection) = &mut self.connection else {
            return Ok(Next::Nothing);
        };
        connection.flush()?;
        self.stuck = connection.has_unsent();
        Ok(if self.stuck { Next::AwaitWritable } else { Next::Nothing })
    }

    /// Notes that there is something to send.
    fn enqueue(&mut self, index: usize, sending: &mut Vec<usize>) {
        if !std::mem::replace(&mut self.queued, true) {
            sending.push(index);
        }
    }

    /// Lets go of the connection, and tells whether there was one. What is under way on it keeps its socket open, so
    /// the peer is told, and that ends.
    fn retire(&mut self) -> bool {
        self.generation = self.generation.wrapping_add(1);
        self.stuck = false;
        self.submitted = 0;
        let Some(connection) = self.connection.take() else {
            return false;
        };
        let _ = rustix::net::shutdown(connection.socket(), Shutdown::Both);
        true
    }
}

impl Transport for Uring {
    fn send(&mut self, index: usize, bytes: &[u8]) -> io::Result<()> {
        let place = &mut self.places[index];
        let Some(connection) = &mut place.connection else {
            return Err(io::ErrorKind::NotConnected.into());
        };
        connection.queue(bytes)?;
        if !place.stuck {
            place.enqueue(index, &mut self.sending);
        }
        Ok(())
    }

    fn flush(&mut self) {
        for &index in &self.sending {
            if let Some(connection) = &mut self.places[index].connection {
                // If it fails, so does what is tried next on the connection.
                let _ = connection.flush();
            }
        }
    }

    fn poll(&mut self, wait: Wait, sink: &mut impl Sink) -> io::Result<()> {
        self.submit(wait)?;
        self.complete(sink);
        Ok(())
    }

    fn replace(&mut self, index: usize, connection: Connection) -> io::Result<()> {
        // The ring waits all the same; plain calls are not to.
        connection.socket().set_nonblocking(true)?;
        let place = &mut self.places[index];
        place.retire();
        let socket = connection.socket().as_fd().as_raw_fd();
        self.ring.submitter().register_files_update(index as u32, &[socket])?;
        place.connection = Some(connection);
        let kinds = [Kind::Receive, Kind::HangUp];
        self.beginning.extend(kinds.map(|kind| place.operation(kind, index)));
        Ok(())
    }

    fn peer(&self, index: usize) -> Option<SocketAddr> {
        self.places[index].connection.as_ref()?.peer()
    }

    fn close(&mut self, index: usize) {
        let place = &mut self.places[index];
        if let Some(connection) = &mut place.connection {
            let _ = connection.flush();
        }
        self.retire(index);
    }
}

impl Drop for Uring {
    fn drop(&mut self) {
        // A closed ring ends its operations when it finds time to, but the buffers are about to go. The kernel
        // cancels one by one, and passes over all before it for each, which takes most of a second for 10,000: so
        // those that end by themselves are let to do so first.
        if !self.failed {
            for place in &mut self.places {
                place.retire();
            }
            let now = Timespec::new();
            let arguments = SubmitArgs::new().timespec(&now);
            let _ = self.ring.submitter().submit_with_args(self.places.len(), &arguments);
        }
        let _ = self.ring.submitter().register_sync_cancel(None, CancelBuilder::any());
    }
}
