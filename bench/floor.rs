//! The least that a client can cost on this machine: loops that do nothing but send a look-up and wait for its end, beside pgbench on the same server.
//!
//!     cargo bench --bench floor -- [--pairs 10] [--seconds 3]
//!
//! They record nothing, cannot fail in order, and know the shape of the one reply they wait for: what they cost is the kernel's work and hardly more. How far
//! `client_cost` is above them is what dyno itself costs; what they are below pgbench is all that any client could save.

use dyno_bench::{BENCH, BenchServer, Client, Cost, Result, Server, Spread, archive, in_turn, option, run_pgbench};
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

const CLIENTS: usize = 16;
const STATEMENT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";
/// Digits of an account's number, with zeros in front: each request is as long.
const DIGITS: usize = 6;

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
                Event::NeedInput => {}
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

/// Receives from all that are ready, then sends to all.
fn with_epoll(mut connections: Vec<Connection>, until: Instant) -> Result<u64> {
    let epoll = epoll::create(CreateFlags::CLOEXEC)?;
    for (index, connection) in connections.iter_mut().enumerate() {
        let number = EventData::new_u64(index as u64);
        epoll::add(&epoll, &connection.socket, number, EventFlags::IN | EventFlags::ET)?;
        connection.next();
        send(&connection.socket, &connection.request, SendFlags::NOSIGNAL)?;
    }
    let mut events = Vec::with_capacity(CLIENTS);
    let mut ready = Vec::with_capacity(CLIENTS);
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
    const BUFFERS: u16 = CLIENTS as u16;
    const BUFFER_BYTES: usize = 16_384;
    let mut ring: IoUring = IoUring::builder()
        .setup_single_issuer()
        .setup_defer_taskrun()
        .setup_submit_all()
        .build(64)?;
    // Never given back: the kernel may write into it until the process ends.
    // SAFETY: the layout is not empty.
    #[allow(unsafe_code)]
    let entries = unsafe { alloc_zeroed(Layout::from_size_align(4096, 4096)?) }.cast::<BufRingEntry>();
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
    let mut ready = Vec::with_capacity(CLIENTS);
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
fn run(
    server: &BenchServer,
    tcp: bool,
    seconds: u64,
    work: fn(Vec<Connection>, Instant) -> Result<u64>,
) -> Result<Cost> {
    let connections = (0..CLIENTS).map(|_| Connection::open(server, tcp));
    let connections: Vec<Connection> = connections.collect::<Result<_>>()?;
    let before = getrusage(UsageWho::RUSAGE_SELF)?;
    let transactions = work(connections, Instant::now() + Duration::from_secs(seconds))? as f64;
    let after = getrusage(UsageWho::RUSAGE_SELF)?;
    let us = |after: nix::sys::time::TimeVal, before: nix::sys::time::TimeVal| {
        (after.num_microseconds() - before.num_microseconds()) as f64 / transactions
    };
    Ok(Cost {
        transactions,
        tps: transactions / seconds as f64,
        user_us: us(after.user_time(), before.user_time()),
        system_us: us(after.system_time(), before.system_time()),
    })
}

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 3)?;
    let server = BenchServer::start()?;
    let mut table = "| path | loop | CPU µs/tx | pgbench CPU µs/tx | CPU ratio | user µs | system µs | pgbench user µs | pgbench system µs | TPS ratio |\n\
                     |---|---|---|---|---|---|---|---|---|---|\n"
        .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for tcp in [false, true] {
        for (name, work) in [("io_uring", with_io_uring as fn(_, _) -> _), ("epoll", with_epoll)] {
            let client = Client {
                clients: CLIENTS,
                threads: 1,
                tcp,
                seconds,
            };
            let ours = || run(&server, tcp, seconds, work);
            let theirs = || run_pgbench(Command::new("pgbench"), &server, client, &["-S", "-M", "prepared"]);
            let measured: Vec<(Cost, Cost)> = in_turn(pairs, ours, theirs)?;
            let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
            let path = if tcp { "tcp" } else { "unix" };
            let ratio = spread(&|(floor, pgbench)| floor.cpu_us() / pgbench.cpu_us());
            let row = format!(
                "| {path} | {name} | {} | {} | {ratio} | {} | {} | {} | {} | {} |\n",
                spread(&|(floor, _)| floor.cpu_us()),
                spread(&|(_, pgbench)| pgbench.cpu_us()),
                spread(&|(floor, _)| floor.user_us),
                spread(&|(floor, _)| floor.system_us),
                spread(&|(_, pgbench)| pgbench.user_us),
                spread(&|(_, pgbench)| pgbench.system_us),
                spread(&|(floor, pgbench)| floor.tps / pgbench.tps),
            );
            print!("{row}");
            write!(table, "{row}")?;
            let pairs = measured
                .iter()
                .map(|(floor, pgbench)| json!({ "floor": floor, "pgbench": pgbench }));
            results.push(json!({ "path": path, "loop": name, "cpu_ratio": ratio, "pairs": pairs.collect::<Vec<_>>() }));
        }
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; select-only, prepared, {CLIENTS} clients on one thread; {pairs} pairs of {seconds} s runs in turn. \
             Each cell is the median (minimum–maximum); ratios are loop / pgbench, pair by pair.",
            server.version()?
        ),
    });
    println!(
        "\nKept in {}",
        archive("floor", facts, json!(results), &table)?.display()
    );
    Ok(())
}
