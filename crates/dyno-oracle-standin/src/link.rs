//! The packets of a connection, in pieces as small as a test wants them.

use crate::counters::Counters;
use crate::options::{Misbehaviour, Pieces};
use rustix::event::{PollFd, PollFlags, Timespec, eventfd, poll};
use rustls::{ServerConnection, StreamOwned};
use std::io::{self, Read, Write};
use std::net::{Shutdown, TcpStream};
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::Duration;

/// The kinds of packets.
pub(crate) mod kind {
    pub(crate) const CONNECT: u8 = 1;
    pub(crate) const ACCEPT: u8 = 2;
    pub(crate) const REFUSE: u8 = 4;
    pub(crate) const REDIRECT: u8 = 5;
    pub(crate) const DATA: u8 = 6;
    pub(crate) const RESEND: u8 = 11;
    pub(crate) const MARKER: u8 = 12;
    /// The highest that the protocol has.
    pub(crate) const LAST: u8 = 15;
}

/// In a packet's flags: encryption begins anew behind it.
const TLS_ANEW: u8 = 8;
/// The header of a packet.
const HEADER: usize = 8;
/// The flags at the beginning of a DATA packet's body.
const DATA_FLAGS: usize = 2;
/// Set in the last packet of a response, if that was agreed.
const END_OF_RESPONSE: u16 = 0x2000;
/// No client has a reason to send more in a packet.
const LONGEST: usize = 4 << 20;
/// At least a record of TLS.
const CHUNK: usize = 32 << 10;

/// A packet.
pub(crate) struct Packet {
    pub(crate) kind: u8,
    pub(crate) body: Vec<u8>,
}

/// The bytes of a connection, encrypted or not.
enum Stream {
    Plain(TcpStream),
    Tls(Box<StreamOwned<ServerConnection, TcpStream>>),
}

impl Stream {
    fn socket(&self) -> &TcpStream {
        match self {
            Self::Plain(socket) => socket,
            Self::Tls(stream) => &stream.sock,
        }
    }
}

/// Who made a wait end.
pub(crate) enum Woken {
    /// The client sent something, or is gone.
    Client,
    /// The statement is done.
    Done,
}

/// A connection.
pub(crate) struct Link {
    stream: Stream,
    counters: Arc<Counters>,
    pieces: Pieces,
    received: Vec<u8>,
    /// Whether lengths of packets have four bytes, as they do behind ACCEPT.
    pub(crate) wide: bool,
    /// The largest packet.
    pub(crate) sdu: usize,
    /// What is to go wrong with the next message.
    pub(crate) misbehaviour: Option<Misbehaviour>,
}

impl Link {
    pub(crate) fn new(
        socket: TcpStream,
        tls: Option<&Arc<rustls::ServerConfig>>,
        pieces: Pieces,
        counters: Arc<Counters>,
    ) -> io::Result<Self> {
        socket.set_nodelay(true)?;
        let stream = match tls {
            None => Stream::Plain(socket),
            Some(config) => {
                let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
                Stream::Tls(Box::new(StreamOwned::new(connection, socket)))
            }
        };
        Ok(Self {
            stream,
            counters,
            pieces,
            received: Vec::new(),
            wide: false,
            sdu: pieces.sdu as usize,
            misbehaviour: None,
        })
    }

    /// The next packet, waited for.
    pub(crate) fn packet(&mut self) -> io::Result<Packet> {
        loop {
            if let Some(packet) = self.packet_at_hand()? {
                return Ok(packet);
            }
            self.receive()?;
        }
    }

    /// The next packet, if all of it is there.
    pub(crate) fn packet_at_hand(&mut self) -> io::Result<Option<Packet>> {
        let Some(&[a, b, c, d, kind, ..]) = self.received.get(..HEADER) else {
            return Ok(None);
        };
        let length = if self.wide {
            u32::from_be_bytes([a, b, c, d]) as usize
        } else {
            usize::from(u16::from_be_bytes([a, b]))
        };
        if !(HEADER..=LONGEST).contains(&length) || kind > kind::LAST {
            let message = format!("a packet of kind {kind} that says it has {length} bytes");
            return Err(io::Error::new(io::ErrorKind::InvalidData, message));
        }
        if self.received.len() < length {
            return Ok(None);
        }
        let body = self.received[HEADER..length].to_vec();
        self.received.drain(..length);
        Ok(Some(Packet { kind, body }))
    }

    /// Takes what has arrived, or waits for something.
    pub(crate) fn receive(&mut self) -> io::Result<()> {
        let mut chunk = [0; CHUNK];
        let length = match &mut self.stream {
            Stream::Plain(socket) => socket.read(&mut chunk)?,
            Stream::Tls(stream) => stream.read(&mut chunk)?,
        };
        if length == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        Counters::add(&self.counters.received_bytes, length);
        self.received.extend_from_slice(&chunk[..length]);
        Ok(())
    }

    /// Waits for the client or for what signals `done`.
    pub(crate) fn wait(&self, done: &OwnedFd) -> io::Result<Woken> {
        let socket = self.stream.socket();
        let mut places = [
            PollFd::from_borrowed_fd(done.as_fd(), PollFlags::IN),
            PollFd::from_borrowed_fd(socket.as_fd(), PollFlags::IN),
        ];
        loop {
            match poll(&mut places, None) {
                Err(rustix::io::Errno::INTR) => {}
                Err(error) => return Err(error.into()),
                Ok(_) if !places[0].revents().is_empty() => return Ok(Woken::Done),
                Ok(_) => return Ok(Woken::Client),
            }
        }
    }

    /// Sends a packet.
    pub(crate) fn send(&mut self, kind: u8, body: &[u8]) -> io::Result<()> {
        let length = body.len() + HEADER;
        let mut packet = Vec::with_capacity(length);
        self.begin_packet(&mut packet, kind, length);
        packet.extend_from_slice(body);
        self.write(packet)
    }

    /// Asks for the same again; what is encrypted is encrypted anew.
    pub(crate) fn send_again(&mut self, tls: Option<&Arc<rustls::ServerConfig>>) -> io::Result<()> {
        let mut packet = Vec::new();
        self.begin_packet(&mut packet, kind::RESEND, HEADER);
        if let (Some(config), Some(flags)) = (tls, packet.get_mut(5)) {
            *flags = TLS_ANEW;
            self.write(packet)?;
            let socket = self.stream.socket().try_clone()?;
            let connection = ServerConnection::new(Arc::clone(config)).map_err(io::Error::other)?;
            self.stream = Stream::Tls(Box::new(StreamOwned::new(connection, socket)));
            return Ok(());
        }
        self.write(packet)
    }

    /// Sends a message in as many packets as it takes.
    pub(crate) fn send_message(&mut self, message: &[u8], end_of_response: bool) -> io::Result<()> {
        let fits = self.sdu - HEADER - DATA_FLAGS;
        let fits = self.pieces.packet.unwrap_or(fits).clamp(1, fits);
        let mut packets = Vec::with_capacity(message.len() + HEADER + DATA_FLAGS);
        let mut pieces = message.chunks(fits).peekable();
        while let Some(piece) = pieces.next() {
            self.begin_packet(&mut packets, kind::DATA, piece.len() + HEADER + DATA_FLAGS);
            let is_end = end_of_response && pieces.peek().is_none();
            packets.extend(if is_end { END_OF_RESPONSE } else { 0 }.to_be_bytes());
            packets.extend_from_slice(piece);
        }
        self.write(packets)
    }

    /// Sends a marker: 1 breaks, 2 resets.
    pub(crate) fn send_marker(&mut self, marker: u8) -> io::Result<()> {
        self.send(kind::MARKER, &[1, 0, marker])
    }

    #[allow(
        clippy::cast_possible_truncation,
        reason = "packets are no longer than the agreed size"
    )]
    fn begin_packet(&self, packet: &mut Vec<u8>, kind: u8, length: usize) {
        if self.wide {
            packet.extend((length as u32).to_be_bytes());
        } else {
            packet.extend((length as u16).to_be_bytes());
            packet.extend([0, 0]);
        }
        packet.extend([kind, 0, 0, 0]);
    }

    fn write(&mut self, mut bytes: Vec<u8>) -> io::Result<()> {
        let misbehaviour = self.misbehaviour.take();
        match misbehaviour {
            Some(Misbehaviour::Silence) => return self.stay_silent(),
            Some(Misbehaviour::Close) => return self.close(),
            Some(Misbehaviour::Half | Misbehaviour::HalfThenSilence) => bytes.truncate(bytes.len() / 2),
            Some(Misbehaviour::After(length)) => bytes.truncate(length),
            Some(Misbehaviour::HugePacket) => {
                let length: &[u8] = if self.wide { &[0xff; 4] } else { &[0xff; 2] };
                bytes[..length.len()].copy_from_slice(length);
            }
            Some(Misbehaviour::Garbage) => {
                bytes = (0..1000_u32)
                    .map(|at| (at.wrapping_mul(2_654_435_761) >> 24) as u8)
                    .collect();
            }
            Some(Misbehaviour::HugePiece | Misbehaviour::UnaskedErrors | Misbehaviour::WrongProof) | None => {}
        }
        let step = self.pieces.write.unwrap_or(bytes.len()).max(1);
        for piece in bytes.chunks(step) {
            match &mut self.stream {
                Stream::Plain(socket) => socket.write_all(piece)?,
                Stream::Tls(stream) => {
                    stream.write_all(piece)?;
                    stream.flush()?;
                }
            }
        }
        Counters::add(&self.counters.sent_bytes, bytes.len());
        match misbehaviour {
            Some(Misbehaviour::Half | Misbehaviour::After(_)) => self.close(),
            Some(Misbehaviour::HalfThenSilence | Misbehaviour::HugePacket | Misbehaviour::Garbage) => {
                self.stay_silent()
            }
            _ => Ok(()),
        }
    }

    /// Hears the client out without a word, until it goes.
    pub(crate) fn stay_silent(&mut self) -> io::Result<()> {
        loop {
            self.receive()?;
            self.received.clear();
        }
    }

    /// Ends the connection.
    pub(crate) fn close(&mut self) -> io::Result<()> {
        let _ = self.stream.socket().shutdown(Shutdown::Both);
        Err(io::ErrorKind::ConnectionAborted.into())
    }
}

/// Something to wait for beside a socket.
pub(crate) fn signal() -> io::Result<OwnedFd> {
    Ok(eventfd(0, rustix::event::EventfdFlags::CLOEXEC)?)
}

/// Makes a wait for it end.
pub(crate) fn give(signal: &OwnedFd) {
    // Cannot fail: the counter is far from its end.
    let _ = rustix::io::write(signal, &1_u64.to_ne_bytes());
}

/// Waits for a signal, at most so long; whether it was given.
pub(crate) fn await_signal(signal: &OwnedFd, limit: Duration) -> bool {
    let mut places = [PollFd::from_borrowed_fd(signal.as_fd(), PollFlags::IN)];
    let limit = Timespec::try_from(limit).ok();
    // What interrupts the wait makes it shorter, which costs the caller another look.
    poll(&mut places, limit.as_ref()).is_ok_and(|ready| ready > 0)
}
