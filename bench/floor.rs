//! The least that a client can cost on this machine: loops that do nothing but send a look-up and wait for its end,
//! beside pgbench on the same server.
//!
//!     cargo bench --bench floor -- [--rounds 10] [--seconds 5] [--only unix-16-io_uring]
//!
//! They record nothing, cannot fail in order, and know the shape of the one reply they wait for: what they cost is
//! the kernel's work and hardly more. What dyno is above them is what dyno itself costs; what they are below
//! pgbench is all that any client could save.

use dyno_bench::{
    BENCH, BenchServer, Client, Cost, Result, Server, Spread, archive, dyno_binary, option, run_dyno, run_pgbench,
};
use dyno_wire::{Event, Parameters, PgConfig, PgSession, PgStatement, Protocol, Secret, Session};
use io_uring::types::{BufRingEntry, Fd};
use io_uring::{IoUring, cqueue, opcode, squeue};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};
use rustix::net::{RecvFlags, SendFlags, recv, send};
use serde_json::json;
use std::alloc::{Layout, alloc_zeroed};
use std::fmt::Write as _;
use std::io::{Read, Write};
use std::net::TcpStream;
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::{Duration, Instant};

/// Clients on one thread, the loop, and dyno's transport that is like it.
const LOADS: [(usize, Loop, &str); 5] = [
    (16, Loop("io_uring", with_io_uring), "io_uring"),
    (16, Loop("epoll", with_epoll), "epoll"),
    (1, Loop("blocking", with_blocking), "auto"),
    (1, Loop("io_uring", with_io_uring), "io_uring"),
    (500, Loop("io_uring", with_io_uring), "io_uring"),
];
const STATEMENT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
/// Digits of an account's number, with zeros in front: each request is as long.
const DIGITS: usize = 6;

/// A loop's name, and what works until an instant and tells how many transactions that were.
#[derive(Clone, Copy)]
struct Loop(&'static str, fn(Vec<Connection>, Instant) -> Result<u64>);

/// A connection, and its request, of which only the number changes.
struct Connection {
    socket: OwnedFd,
    request: Vec<u8>,
    /// Where the number stands.
    number: usize,
}

impl Connection {
    fn open(server: &BenchServer, tcp: bool) -> Result<Self> {
        let config = PgConfig {
            user: BENCH.to_owned(),
            password: Some(Secret::new(BENCH)),
            database: BENCH.to_owned(),
            ..PgConfig::default()
        };
        let mut session = PgSession::new(Arc::new(config));
        let statement = PgStatement::new(0, STATEMENT, 1, Protocol::Prepared)?;
        let mut request = Vec::new();
        let socket: OwnedFd = if tcp {
            let stream = TcpStream::connect((server.host(true), server.port()))?;
            stream.set_nodelay(true)?;
            prepare(&stream, &mut session, &statement)?;
            stream.set_nonblocking(true)?;
            stream.into()
        } else {
            let stream = UnixStream::connect(format!("{}/.s.PGSQL.{}", server.host(false), server.port()))?;
            prepare(&stream, &mut session, &statement)?;
            stream.set_nonblocking(true)?;
            stream.into()
        };
        session.execute(&statement, &Zeros, &mut request);
        let mut windows = request.windows(DIGITS);
        let number = windows
            .position(|window| window == [b'0'; DIGITS])
            .ok_or("no number in the request")?;
        Ok(Self {
            socket,
            request,
            number,
        })
    }

    /// Makes the next request.
    fn next(&mut self) {
        let mut account = fastrand::u32(1..=100_000);
        for digit in self.request[self.number..self.number + DIGITS].iter_mut().rev() {
            *digit = b'0' + (account % 10) as u8;
            account /= 10;
        }
    }
}

/// Logs in and prepares the statement.
fn prepare<S>(mut stream: &S, session: &mut PgSession, statement: &PgStatement) -> Result<()>
where
    for<'a> &'a S: Read + Write,
{
    let mut out = Vec::new();
    session.start(&mut out)?;
    let mut buffer = [0; 8192];
    loop {
        stream.write_all(&out)?;
        out.clear();
        let length = stream.read(&mut buffer)?;
        let mut rest = &buffer[..length];
        while !rest.is_empty() {
            let (used, event) = session.receive(rest, &mut out)?;
            rest = &rest[used..];
            match event {
                Event::NeedInput | Event::StartTls => {}
                Event::Started => drop(session.prepare(statement, &mut out)),
                Event::Reply(reply) if reply.failed => return Err("the statement cannot be prepared".into()),
                Event::Reply(_) => return Ok(()),
            }
        }
    }
}

/// The parameter, as long as all.
struct Zeros;

impl Parameters for Zeros {
    fn len(&self) -> usize {
        1
    }

    fn write(&self, _index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(&[b'0'; DIGITS]);
        true
    }
}

/// Whether a reply ends here: with ReadyForQuery.
fn is_end(bytes: &[u8]) -> bool {
    bytes.len() >= 6 && bytes[bytes.len() - 6] == b'Z'
}

/// Sends and receives by calls that wait, on the only connection.
fn with_blocking(mut connections: Vec<Connection>, until: Instant) -> Result<u64> {
    let connection = connections.first_mut().ok_or("no connection")?;
    rustix::io::ioctl_fionbio(&connection.socket, false)?;
    let mut buffer = vec![0; 65_536];
    let mut transactions = 0;
    while Instant::now() < until {
        connection.next();
        send(&connection.socket, &connection.request, SendFlags::NOSIGNAL)?;
        let mut length = 0;
        while !is_end(&buffer[..length]) {
            length = recv(&connection.socket, &mut buffer[..], RecvFlags::empty())?.0;
        }
        transactions += 1;
    }
    Ok(transactions)
}

/// Receives from all that are ready, then sends to all.
fn with_epoll(mut connections: Vec<Connection>, until: Instant) -> Result<u64> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (index, connection) in connections.iter_mut().enumerate() {
        let number = EventData::new_u64(index as u64);
        epoll::add(&epoll, &connection.socket, number, EventFlags::IN | EventFlags::ET)?;
        connection.next();
        send(&connection.socket, &connection.request, SendFlags::NOSIGNAL)?;
    }
    let mut events = Vec::with_capacity(connections.len());
    let mut ready = Vec::with_capacity(connections.len());
    let mut buffer = vec![0; 65_536];
    let mut transactions = 0;
    let patience = Timespec { tv_sec: 1, tv_nsec: 0 };
    while Instant::now() < until {
        events.clear();
        epoll::wait(&epoll, spare_capacity(&mut events), Some(&patience))?;
        for event in &events {
            let index = event.data.u64() as usize;
            let length = recv(&connections[index].socket, &mut buffer[..], RecvFlags::empty())?.0;
            if is_end(&buffer[..length]) {
                ready.push(index);
            }
        }
        for index in ready.drain(..) {
            transactions += 1;
            let connection = &mut connections[index];
            connection.next();
            send(&connection.socket, &connection.request, SendFlags::NOSIGNAL)?;
        }
    }
    Ok(transactions)
}

/// One call per round sends everything and waits; receives go on by themselves.
fn with_io_uring(mut connections: Vec<Connection>, until: Instant) -> Result<u64> {
    const BUFFERS: u16 = 512;
    const BUFFER_BYTES: usize = 16_384;
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .build(1024)?;
    // Never given back: the kernel may write into it until the process ends.
    // SAFETY: the layout is not empty.
    #[allow(unsafe_code)]
    let entries = unsafe {
        alloc_zeroed(Layout::from_size_align(
            usize::from(BUFFERS) * size_of::<BufRingEntry>(),
            4096,
        )?)
    }
    .cast::<BufRingEntry>();
    let buffers: &'static mut [u8] = Vec::leak(vec![0; usize::from(BUFFERS) * BUFFER_BYTES]);
    let start = buffers.as_mut_ptr();
    let mut tail = 0_u16;
    let mut give_back = |number: u16| {
        // SAFETY: entries and buffers are there for all numbers below BUFFERS, a power of two.
        #[allow(unsafe_code)]
        unsafe {
            let entry = &mut *entries.add(usize::from(tail % BUFFERS));
            entry.set_addr(start.add(usize::from(number) * BUFFER_BYTES) as u64);
            entry.set_len(BUFFER_BYTES as u32);
            entry.set_bid(number);
            tail = tail.wrapping_add(1);
            AtomicU16::from_ptr(BufRingEntry::tail(entries).cast_mut()).store(tail, Ordering::Release);
        }
    };
    // SAFETY: the memory is never freed.
    #[allow(unsafe_code)]
    unsafe {
        ring.submitter()
            .register_buf_ring_with_flags(entries as u64, BUFFERS, 0, 0)?;
    }
    (0..BUFFERS).for_each(&mut give_back);
    let request = |connection: &mut Connection, index: usize| {
        let socket = Fd(connection.socket.as_raw_fd());
        connection.next();
        let bytes = &connection.request;
        let entry = opcode::Send::new(socket, bytes.as_ptr(), bytes.len() as u32).build();
        entry.flags(squeue::Flags::SKIP_SUCCESS).user_data(index as u64)
    };
    for (index, connection) in connections.iter_mut().enumerate() {
        let receive = opcode::RecvMulti::new(Fd(connection.socket.as_raw_fd()), 0).build();
        // SAFETY: a request lives and does not change until its reply has come.
        #[allow(unsafe_code)]
        unsafe {
            let mut queue = ring.submission();
            queue.push(&receive.user_data(index as u64))?;
            queue.push(&request(connection, index))?;
        }
    }
    let mut ready = Vec::with_capacity(connections.len());
    let mut transactions = 0;
    while Instant::now() < until {
        ring.submit_and_wait(1)?;
        for completion in ring.completion() {
            let number = cqueue::buffer_select(completion.flags()).ok_or("a send or a receive failed")?;
            let (begin, length) = (
                usize::from(number) * BUFFER_BYTES,
                usize::try_from(completion.result())?,
            );
            // SAFETY: the kernel has filled that much of the buffer and not been given it back.
            #[allow(unsafe_code)]
            let bytes = unsafe { std::slice::from_raw_parts(start.add(begin), length) };
            if is_end(bytes) {
                ready.push(completion.user_data() as usize);
            }
            give_back(number);
        }
        for index in ready.drain(..) {
            transactions += 1;
            // SAFETY: as above.
            #[allow(unsafe_code)]
            unsafe {
                ring.submission().push(&request(&mut connections[index], index))?;
            }
        }
    }
    // The last receives end with their sockets.
    Ok(transactions)
}

/// Runs a loop, and tells what it cost: connecting is left out, which nobody else is granted.
fn run(server: &BenchServer, client: Client, work: Loop) -> Result<Cost> {
    let connections = (0..client.clients).map(|_| Connection::open(server, client.tcp));
    let connections: Vec<Connection> = connections.collect::<Result<_>>()?;
    let before = getrusage(UsageWho::RUSAGE_SELF)?;
    let transactions = work.1(connections, Instant::now() + Duration::from_secs(client.seconds))? as f64;
    let after = getrusage(UsageWho::RUSAGE_SELF)?;
    let us = |after: nix::sys::time::TimeVal, before: nix::sys::time::TimeVal| {
        (after.num_microseconds() - before.num_microseconds()) as f64 / transactions
    };
    Ok(Cost {
        transactions,
        tps: transactions / client.seconds as f64,
        user_us: us(after.user_time(), before.user_time()),
        system_us: us(after.system_time(), before.system_time()),
    })
}

/// Who is measured.
const SIDES: [&str; 3] = ["loop", "dyno", "pgbench"];

fn main() -> Result<()> {
    let rounds: usize = option("--rounds", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let only: String = option("--only", String::new())?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let mut table =
        "| path | clients | loop | by | CPU µs/tx | user µs | system µs | CPU / pgbench's | TPS / pgbench's |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for tcp in [false, true] {
        for (clients, work, transport) in LOADS {
            let path = if tcp { "tcp" } else { "unix" };
            if !format!("{path}-{clients}-{}", work.0).starts_with(&only) {
                continue;
            }
            let client = Client {
                clients,
                threads: 1,
                tcp,
                seconds,
            };
            let side = |side: usize| match SIDES[side] {
                "loop" => run(&server, client, work),
                "dyno" => run_dyno(&dyno, &server, client, &["--no-sampling", "--transport", transport]),
                _ => run_pgbench(Command::new("pgbench"), &server, client, &["-S", "-M", "prepared"]),
            };
            // Who goes first changes, so that a drift of the machine favours nobody.
            let mut measured: [Vec<Cost>; SIDES.len()] = Default::default();
            for round in 0..rounds {
                for turn in 0..SIDES.len() {
                    let number = (round + turn) % SIDES.len();
                    measured[number].push(side(number)?);
                }
            }
            let [.., pgbench] = &measured;
            for (name, costs) in SIDES.iter().zip(&measured) {
                let spread = |figure: fn(&Cost) -> f64| Spread::of(costs.iter().map(figure));
                let ratio = |figure: fn(&Cost) -> f64| {
                    let pairs = costs.iter().zip(pgbench);
                    Spread::of(pairs.map(|(cost, pgbench)| figure(cost) / figure(pgbench)))
                };
                let row = format!(
                    "| {path} | {clients} | {} | {name} | {} | {} | {} | {} | {} |\n",
                    work.0,
                    spread(Cost::cpu_us),
                    spread(|cost| cost.user_us),
                    spread(|cost| cost.system_us),
                    ratio(Cost::cpu_us),
                    ratio(|cost| cost.tps),
                );
                print!("{row}");
                write!(table, "{row}")?;
                results.push(json!({
                    "path": path, "clients": clients, "loop": work.0, "by": name, "cpu_ratio": ratio(Cost::cpu_us),
                        "runs": costs,
                }));
            }
        }
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; select-only, prepared, one thread; {rounds} rounds of a run of {seconds} s each \
             of the loop, dyno and pgbench in turn. \
             Each cell is the median (minimum–maximum); ratios are round by round.",
            server.version()?
        ),
    });
    println!(
        "\nKept in {}",
        archive("floor", facts, json!(results), &table)?.display()
    );
    Ok(())
}
