//! A thread of the responder with its connections: one receive and one send for each request, and one wait for many.

use super::dialogue::Dialogue;
use dyno_connect::NO_SIGNAL;
use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token, Waker};
use rustix::io::Errno;
use rustix::net::RecvFlags;
use std::io;
use std::os::fd::{AsRawFd, OwnedFd};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender};

/// A connected socket that does not block.
pub(super) type Socket = OwnedFd;

/// Wakes a lane for connections that are new.
const NEWS: Token = Token(usize::MAX);

/// Enough for the requests of a client in one receive, and for many of a pipeline.
const RECEIVE_BYTES: usize = 64 * 1024;

/// The way to a thread that serves connections.
#[derive(Clone)]
pub(super) struct Lane {
    arrivals: Sender<Socket>,
    waker: Arc<Waker>,
}

struct Peer {
    socket: Socket,
    dialogue: Dialogue,
    /// What it does not accept now. Nothing is received from it until it does.
    unsent: Vec<u8>,
}

/// What the thread itself has.
struct Loop {
    poll: Poll,
    arrivals: Receiver<Socket>,
    peers: Vec<Option<Peer>>,
    /// Places in `peers` that are free.
    free: Vec<usize>,
    received: Box<[u8]>,
    answers: Vec<u8>,
}

impl Lane {
    /// Starts the thread, which counts from 0.
    pub fn start(number: usize) -> io::Result<Self> {
        let poll = Poll::new()?;
        let waker = Arc::new(Waker::new(poll.registry(), NEWS)?);
        let (sender, arrivals) = mpsc::channel();
        let mut thread = Loop {
            poll,
            arrivals,
            peers: Vec::new(),
            free: Vec::new(),
            received: vec![0; RECEIVE_BYTES].into_boxed_slice(),
            answers: Vec::new(),
        };
        super::spawn(&format!("respond-{number}"), move || thread.run())?;
        Ok(Self {
            arrivals: sender,
            waker,
        })
    }

    /// Hands a connection over.
    pub fn add(&self, socket: Socket) {
        // A lane that is gone closes what is sent to it.
        let _ = self.arrivals.send(socket);
        let _ = self.waker.wake();
    }
}

impl Loop {
    fn run(&mut self) {
        let mut events = Events::with_capacity(1024);
        loop {
            match self.poll.poll(&mut events, None) {
                Err(error) if error.kind() != io::ErrorKind::Interrupted => return,
                _ => {}
            }
            for event in &events {
                if event.token() != NEWS {
                    self.turn(event.token().0);
                }
            }
            // After the events, so that none of them is of an earlier user of the place.
            while let Ok(socket) = self.arrivals.try_recv() {
                self.add(socket);
            }
        }
    }

    fn add(&mut self, socket: Socket) {
        let index = self.free.pop().unwrap_or_else(|| {
            self.peers.push(None);
            self.peers.len() - 1
        });
        let descriptor = socket.as_raw_fd();
        let registered = self
            .poll
            .registry()
            .register(&mut SourceFd(&descriptor), Token(index), Interest::READABLE);
        if registered.is_err() {
            self.free.push(index);
            return;
        }
        self.peers[index] = Some(Peer {
            socket,
            dialogue: Dialogue::default(),
            unsent: Vec::new(),
        });
    }

    /// Does what is to be done for one connection.
    fn turn(&mut self, index: usize) {
        let Some(mut peer) = self.peers[index].take() else {
            return;
        };
        let waited = !peer.unsent.is_empty();
        let went = peer.turn(&mut self.received, &mut self.answers);
        let waits = !peer.unsent.is_empty();
        let kept = went.is_ok() && (waited == waits || self.watch(&peer, index, waits).is_ok());
        if kept {
            self.peers[index] = Some(peer);
        } else {
            self.free.push(index);
        }
    }

    /// Asks to be told when the peer accepts more, or no longer.
    fn watch(&self, peer: &Peer, index: usize, writable: bool) -> io::Result<()> {
        let descriptor = peer.socket.as_raw_fd();
        let interest = match writable {
            true => Interest::READABLE | Interest::WRITABLE,
            false => Interest::READABLE,
        };
        self.poll
            .registry()
            .reregister(&mut SourceFd(&descriptor), Token(index), interest)
    }
}

impl Peer {
    /// Receives and answers until there is nothing more, or the peer accepts no more.
    fn turn(&mut self, received: &mut [u8], answers: &mut Vec<u8>) -> Result<(), Gone> {
        let unsent = std::mem::take(&mut self.unsent);
        self.send(&unsent)?;
        while self.unsent.is_empty() {
            let length = match rustix::net::recv(&self.socket, &mut *received, RecvFlags::empty()) {
                Ok((_, 0)) => return Err(Gone),
                Ok((_, length)) => length,
                Err(Errno::AGAIN) => break,
                Err(Errno::INTR) => continue,
                Err(_) => return Err(Gone),
            };
            answers.clear();
            let goes_on = self.dialogue.answer(&received[..length], answers);
            self.send(answers)?;
            if !goes_on {
                return Err(Gone);
            }
            // Less than asked for: there is no more, see epoll(7).
            if length < received.len() {
                break;
            }
        }
        Ok(())
    }

    fn send(&mut self, mut bytes: &[u8]) -> Result<(), Gone> {
        while !bytes.is_empty() {
            match rustix::net::send(&self.socket, bytes, NO_SIGNAL) {
                Ok(sent) => bytes = &bytes[sent..],
                Err(Errno::INTR) => {}
                Err(Errno::AGAIN) => {
                    self.unsent.extend_from_slice(bytes);
                    break;
                }
                Err(_) => return Err(Gone),
            }
        }
        Ok(())
    }
}

/// The connection is over.
struct Gone;
