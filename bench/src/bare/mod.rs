//! The least that a client can cost: connections on which one statement is sent again and again, and loops that do
//! nothing but send it and wait for the end of its reply.
//!
//! A loop records nothing, knows the one reply it waits for, and changes nothing of its request but a number. What it
//! costs is the kernel's work and hardly more. What dyno is above it is what dyno itself costs; what it is below
//! another client is all that any client could save.

mod reply;
mod ring;

use crate::client::thread_us;
use crate::{Client, Cost, Result, Server};
use dyno_connect::{Address, Endpoint, Limit, Socket, Stop, log_in};
use dyno_wire::{Event, Parameters, Protocol, Session};
use reply::Reply;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::io::retry_on_intr;
use rustix::net::{RecvFlags, SendFlags, recv, send};
use std::fmt::{self, Display};
use std::net::ToSocketAddrs;
use std::os::fd::AsFd;
use std::path::Path;
use std::time::{Duration, Instant};

pub(crate) use reply::Dialect;

/// The numbers that a statement is executed with are from 1 to this: as many rows as the benches' tables have.
const MOST: u32 = 100_000;

/// The number that the request is made with, which stands nowhere else in it: as long as all of them as digits.
const MADE_WITH: u32 = 123_456;

/// How long a connection may take to be made.
const PATIENCE: Duration = Duration::from_secs(60);

/// How a loop learns of replies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BareLoop {
    /// By receives that wait, on the only connection.
    Blocking,
    /// By readiness, edge-triggered.
    Epoll,
    /// By completions.
    IoUring,
}

impl BareLoop {
    /// The cheapest for so many connections.
    #[must_use]
    pub fn cheapest(connections: usize) -> Self {
        match connections {
            1 => Self::Blocking,
            _ => Self::IoUring,
        }
    }

    /// Runs it with connections of `client`'s number, each executing `sql`, whose `$1` is a number, and tells what it
    /// cost. Making the connections is left out, which nobody else is granted. Executions that the server refuses, as
    /// it may where two meet, count for nothing.
    ///
    /// # Errors
    /// The connections cannot be made or fail, or nothing was executed.
    pub fn run(self, server: &dyn Server, client: Client, sql: &str, protocol: Protocol) -> Result<Cost> {
        let connections = (0..client.clients).map(|_| server.bare(client.tcp, sql, protocol));
        let connections: Vec<BareConnection> = connections.collect::<Result<_>>()?;
        let before = thread_us()?;
        let until = Instant::now() + Duration::from_secs(client.seconds);
        let executed = match self {
            Self::Blocking => with_blocking(connections, until)?,
            Self::Epoll => with_epoll(connections, until)?,
            Self::IoUring => ring::with_io_uring(connections, until)?,
        };
        let after = thread_us()?;
        if executed == 0 {
            return Err(format!("the bare loop executed nothing: {sql}").into());
        }
        let transactions = executed as f64;
        Ok(Cost {
            transactions,
            tps: transactions / client.seconds as f64,
            user_us: (after.0 - before.0) / transactions,
            system_us: (after.1 - before.1) / transactions,
        })
    }
}

impl Display for BareLoop {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Blocking => "blocking",
            Self::Epoll => "epoll",
            Self::IoUring => "io_uring",
        })
    }
}

/// A connection and its request, of which only a number changes.
pub struct BareConnection {
    socket: Socket,
    request: Vec<u8>,
    number: Number,
    dialect: Dialect,
}

/// Where the number stands in a request, and how.
enum Number {
    /// As digits, with zeros in front.
    Digits(usize),
    /// As the 64 bits of MySQL's binary protocol.
    Bits(usize),
}

impl Number {
    fn find(request: &[u8]) -> Option<Self> {
        let find = |bytes: &[u8]| request.windows(bytes.len()).position(|window| window == bytes);
        let digits = || find(MADE_WITH.to_string().as_bytes()).map(Self::Digits);
        let bits = || find(&u64::from(MADE_WITH).to_le_bytes()).map(Self::Bits);
        digits().or_else(bits)
    }
}

/// The number that the request is made with.
struct MadeWith;

impl Parameters for MadeWith {
    fn len(&self) -> usize {
        1
    }

    fn write(&self, _index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(MADE_WITH.to_string().as_bytes());
        true
    }
}

impl BareConnection {
    /// Logs in, prepares the statement if the protocol has it so, and makes the request.
    pub(crate) fn open<S: Session>(
        address: Address,
        session: impl Fn() -> S,
        dialect: Dialect,
        sql: &str,
        protocol: Protocol,
    ) -> Result<Self> {
        let endpoint = Endpoint {
            address,
            tls: None,
            required_peer: None,
            connect_timeout: PATIENCE,
        };
        let limit = Limit {
            stop: &Stop::new(),
            until: None,
        };
        let (mut opening, mut session) = log_in(&endpoint, |_| session(), limit)?;
        let mut request = Vec::new();
        if protocol == Protocol::Simple {
            let text = sql.replace("$1", &MADE_WITH.to_string());
            session.query(|out| out.extend_from_slice(text.as_bytes()), &mut request);
        } else {
            let statement = S::encode(0, sql, 1, protocol)?;
            if session.prepare(&statement, &mut request) {
                let reply = opening.ask(&mut session, &mut request, "preparing")?;
                if matches!(reply, Event::Reply(reply) if reply.failed) {
                    return Err(format!("the statement cannot be prepared: {sql}").into());
                }
            }
            request.clear();
            session.execute(&statement, &MadeWith, &mut request);
        }
        let (socket, _) = opening.into_parts();
        let number = Number::find(&request).ok_or("no number in the request")?;
        Ok(Self {
            socket,
            request,
            number,
            dialect,
        })
    }

    /// Makes the next request.
    fn next(&mut self) {
        let mut number = fastrand::u32(1..=MOST);
        match self.number {
            Number::Bits(at) => self.request[at..at + size_of::<u32>()].copy_from_slice(&number.to_le_bytes()),
            Number::Digits(at) => {
                for digit in self.request[at..at + 6].iter_mut().rev() {
                    *digit = b'0' + (number % 10) as u8;
                    number /= 10;
                }
            }
        }
    }

    /// Sends the next request.
    fn send_next(&mut self) -> Result<()> {
        self.next();
        send(&self.socket, &self.request, SendFlags::NOSIGNAL)?;
        Ok(())
    }

    /// What these bytes of a reply are.
    fn read(&self, bytes: &[u8]) -> Reply {
        self.dialect.read(bytes)
    }
}

/// Where a server on this machine is.
pub(crate) fn address(host: &str, port: u16, socket: &Path, tcp: bool) -> Result<Address> {
    Ok(match tcp {
        true => Address::Tcp((host, port).to_socket_addrs()?.collect()),
        false => Address::Unix(socket.to_owned()),
    })
}

/// Sends and receives by calls that wait, on the only connection.
fn with_blocking(mut connections: Vec<BareConnection>, until: Instant) -> Result<u64> {
    let connection = connections.first_mut().ok_or("no connection")?;
    connection.socket.set_nonblocking(false)?;
    connection.socket.set_read_timeout(None)?;
    let mut buffer = vec![0; 65_536];
    let mut executed = 0;
    while Instant::now() < until {
        connection.send_next()?;
        let mut length = 0;
        let end = loop {
            let received = retry_on_intr(|| recv(&connection.socket, &mut buffer[length..], RecvFlags::empty()))?.0;
            if received == 0 {
                return Err("the server closed a connection of the bare loop".into());
            }
            length += received;
            match connection.read(&buffer[..length]) {
                Reply::Part => {}
                end => break end,
            }
        };
        executed += u64::from(end == Reply::Done);
    }
    Ok(executed)
}

/// Receives from all that are ready, then sends to all.
fn with_epoll(mut connections: Vec<BareConnection>, until: Instant) -> Result<u64> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (index, connection) in connections.iter_mut().enumerate() {
        connection.socket.set_nonblocking(true)?;
        let number = EventData::new_u64(index as u64);
        epoll::add(
            &epoll,
            connection.socket.as_fd(),
            number,
            EventFlags::IN | EventFlags::ET,
        )?;
        connection.send_next()?;
    }
    let mut events = Vec::with_capacity(connections.len());
    let mut ready = Vec::with_capacity(connections.len());
    let mut buffer = vec![0; 65_536];
    let mut executed = 0;
    let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
    while Instant::now() < until {
        events.clear();
        retry_on_intr(|| epoll::wait(&epoll, spare_capacity(&mut events), Some(&patience)))?;
        for event in &events {
            let index = event.data.u64() as usize;
            let length = recv(&connections[index].socket, &mut buffer[..], RecvFlags::empty())?.0;
            if length == 0 {
                return Err("the server closed a connection of the bare loop".into());
            }
            match connections[index].read(&buffer[..length]) {
                Reply::Part => {}
                end => {
                    executed += u64::from(end == Reply::Done);
                    ready.push(index);
                }
            }
        }
        for index in ready.drain(..) {
            connections[index].send_next()?;
        }
    }
    Ok(executed)
}
