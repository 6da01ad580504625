//! A PostgreSQL server that has every answer ready: the least that a server can cost.
//!
//! It listens where a real server would: on the unix socket `.s.PGSQL.PORT` in a folder and on the same port of
//! 127.0.0.1, so every client of PostgreSQL that only executes statements can be pointed at it. It asks for no
//! password, offers no TLS, and answers every statement with one row of one integer.

mod dialogue;
mod lane;

use lane::{Lane, Socket};
use rustix::time::{ClockId, clock_gettime};
use std::io::{self, BufRead, Write};
use std::net::{Ipv4Addr, TcpListener};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixListener;
use std::path::{Path, PathBuf};
use std::thread;

/// Where a responder listens.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Listening {
    /// The unix socket.
    pub socket: PathBuf,
    /// The port on 127.0.0.1, which is also in the socket's name.
    pub port: u16,
}

/// Listens on a free port and a unix socket in `folder`, and answers with `threads` threads until the process ends.
///
/// # Errors
/// The system refuses a socket or a thread.
pub fn serve(folder: &Path, threads: usize) -> io::Result<Listening> {
    let tcp = TcpListener::bind((Ipv4Addr::LOCALHOST, 0))?;
    let port = tcp.local_addr()?.port();
    let socket = folder.join(format!(".s.PGSQL.{port}"));
    let unix = UnixListener::bind(&socket)?;
    let lanes: Vec<Lane> = (0..threads.max(1)).map(Lane::start).collect::<io::Result<_>>()?;
    let tcp_lanes = lanes.clone();
    let accept_tcp = move || -> io::Result<Socket> {
        let (stream, _) = tcp.accept()?;
        stream.set_nodelay(true)?;
        stream.set_nonblocking(true)?;
        Ok(OwnedFd::from(stream))
    };
    let accept_unix = move || -> io::Result<Socket> {
        let (stream, _) = unix.accept()?;
        stream.set_nonblocking(true)?;
        Ok(OwnedFd::from(stream))
    };
    spawn("accept-tcp", move || deal(&accept_tcp, &tcp_lanes))?;
    spawn("accept-unix", move || deal(&accept_unix, &lanes))?;
    Ok(Listening { socket, port })
}

/// The life of a responder's process: it says its port, then for each line it reads the CPU time it has used so far
/// in nanoseconds, and ends when there is no more to read. So it cannot outlive whoever started it.
///
/// # Errors
/// As [`serve`], or nobody reads what it says.
pub fn run(folder: &Path, threads: usize, input: impl BufRead, mut output: impl Write) -> io::Result<()> {
    // Whoever connects knows how many connections are needed, and says if they are too many.
    dyno_engine::raise_descriptor_limit();
    let listening = serve(folder, threads)?;
    writeln!(output, "{}", listening.port)?;
    output.flush()?;
    for line in input.lines() {
        line?;
        let used = clock_gettime(ClockId::ProcessCPUTime);
        writeln!(
            output,
            "{}",
            i128::from(used.tv_sec) * 1_000_000_000 + i128::from(used.tv_nsec)
        )?;
        output.flush()?;
    }
    Ok(())
}

/// Deals connections out to the lanes in turn, so that each has as many as the others.
fn deal(accept: &dyn Fn() -> io::Result<Socket>, lanes: &[Lane]) {
    for lane in lanes.iter().cycle() {
        match accept() {
            Ok(socket) => lane.add(socket),
            // No descriptor left, or a client that is gone already: the next one may fare better.
            Err(_) => thread::yield_now(),
        }
    }
}

fn spawn(name: &str, body: impl FnOnce() + Send + 'static) -> io::Result<()> {
    thread::Builder::new().name(name.to_owned()).spawn(body).map(drop)
}
