//! Many connections: how they come up, and what becomes of a load whose connections do not.

#[macro_use]
mod support;

use dyno_engine::{Address, DriveError, Pacing, Preparing, Stop, TransportChoice, drive};
use dyno_record::LOAD_THREAD;
use dyno_wire::Protocol;
use rustix::net::{self, AddressFamily, SocketAddrUnix, SocketType};
use std::io::{self, Write};
use std::net::{Shutdown, SocketAddr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::thread;
use std::time::Duration;
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, load, script_load};
use tempfile::TempDir;

over_each_transport!(threads_do_not_grow_with_clients, statements_are_prepared_by_the_hundred,);

fn at_once() -> ScriptedServer {
    ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::ZERO))
}

/// How many threads of this process have a name that begins so.
fn threads_named(name: &str) -> usize {
    let tasks = std::fs::read_dir("/proc/self/task")
        .expect("a list of threads")
        .flatten();
    let named = tasks.filter_map(|task| std::fs::read_to_string(task.path().join("comm")).ok());
    // The kernel keeps 15 characters.
    let name: String = name.chars().take(15).collect();
    named.filter(|comm| comm.starts_with(&name)).count()
}

fn threads_do_not_grow_with_clients(transport: TransportChoice) {
    let server = at_once();
    let name = format!("many-{transport}");
    let mut load = load(transport, &server, 300, 2, Pacing::Closed, &[("measure", 300)]);
    load.workloads[0].name.clone_from(&name);
    let mut keep = Keep::default();
    thread::scope(|scope| {
        let driven = scope.spawn(|| drive(&load, &mut keep, &Stop::new()));
        let mut most = 0;
        while !driven.is_finished() {
            most = most.max(threads_named(&format!("{LOAD_THREAD}{name}")));
            thread::sleep(Duration::from_millis(1));
        }
        driven.join().expect("no panic").expect("the load runs");
        // Those of the load, and the few that connect.
        assert!((2..=32).contains(&most), "{most} threads");
    });
    let connected = keep.connected.as_ref().expect("it was connected");
    assert_eq!(connected.connect_time[0].count(), 300);
    assert!(keep.total(0).transactions >= 300);
}

fn statements_are_prepared_by_the_hundred(transport: TransportChoice) {
    const STATEMENTS: u64 = 300;
    const CLIENTS: u64 = 100;
    let server = at_once();
    let script: String = (0..STATEMENTS).map(|number| format!("select {number};\n")).collect();
    for preparing in [Preparing::AtStart, Preparing::OnFirstUse] {
        let scripts = [(script.as_str(), 1)];
        let mut load = script_load(transport, &server, Protocol::Prepared, CLIENTS as usize, 2, &scripts);
        load.workloads[0].driver.preparing = preparing;
        // Three hundred histograms are 66 MB, and every interval is kept here.
        load.interval = Duration::from_secs(3_600);
        let mut keep = Keep::default();
        let outcome = drive(&load, &mut keep, &Stop::new()).expect("the load runs");
        assert!(outcome.ended_early.is_none(), "{:?}", outcome.ended_early);
        let total = keep.total(0);
        assert_eq!((total.transactions, total.errors), (2 * CLIENTS, 0));
        assert_eq!(total.statements, 2 * CLIENTS * STATEMENTS);
    }
}

/// A unix socket with room for hardly anybody who was not accepted yet.
fn narrow_socket() -> (UnixListener, PathBuf, TempDir) {
    let folder = tempfile::tempdir().expect("a folder");
    let path = folder.path().join("socket");
    let socket = net::socket(AddressFamily::UNIX, SocketType::STREAM, None).expect("a socket");
    net::bind(&socket, &SocketAddrUnix::new(&path).expect("a path")).expect("a free path");
    net::listen(&socket, 0).expect("a listener");
    (socket.into(), path, folder)
}

/// Accepts so many connections and passes what is said on them to and fro; then nobody listens any more.
fn relay(listener: UnixListener, server: SocketAddr, connections: usize) {
    for stream in listener.incoming().flatten().take(connections) {
        let there = TcpStream::connect(server).expect("the server");
        there.set_nodelay(true).expect("a socket");
        let (mut from, mut to) = (
            stream.try_clone().expect("a socket"),
            there.try_clone().expect("a socket"),
        );
        thread::spawn(move || {
            let _ = io::copy(&mut from, &mut to);
            let _ = to.shutdown(Shutdown::Write);
        });
        let (mut from, mut to) = (there, stream);
        thread::spawn(move || io::copy(&mut from, &mut to));
    }
}

/// Fills the queue of a socket that accepts nobody.
fn fill(path: &Path) -> Vec<UnixStream> {
    let mut waiting = Vec::new();
    let address = SocketAddrUnix::new(path).expect("a path");
    loop {
        let flags = net::SocketFlags::NONBLOCK;
        let socket = net::socket_with(AddressFamily::UNIX, SocketType::STREAM, flags, None).expect("a socket");
        match net::connect(&socket, &address) {
            Ok(()) => waiting.push(socket.into()),
            Err(_) => return waiting,
        }
    }
}

#[test]
fn a_full_queue_is_waited_for() {
    let server = at_once();
    let (listener, path, _folder) = narrow_socket();
    let waiting = fill(&path);
    let accepted = 64 + waiting.len();
    let address = server.address();
    thread::spawn(move || {
        // Longer than the engine asks the system to wait at a time.
        thread::sleep(Duration::from_millis(500));
        relay(listener, address, accepted);
    });
    let mut load = load(
        TransportChoice::Auto,
        &server,
        64,
        1,
        Pacing::Closed,
        &[("measure", 100)],
    );
    load.workloads[0].driver.endpoints[0].address = Address::Unix(path);
    let mut keep = Keep::default();
    drive(&load, &mut keep, &Stop::new()).expect("all are let in after a while");
    assert!(keep.total(0).transactions >= 64);
}

#[test]
fn a_server_that_accepts_nobody_is_given_up_in_time() {
    let server = at_once();
    let (_listener, path, _folder) = narrow_socket();
    let _waiting = fill(&path);
    let mut load = load(
        TransportChoice::Auto,
        &server,
        64,
        1,
        Pacing::Closed,
        &[("measure", 100)],
    );
    load.workloads[0].driver.endpoints[0].address = Address::Unix(path);
    load.workloads[0].driver.endpoints[0].connect_timeout = Duration::from_millis(300);
    let error = drive(&load, &mut Keep::default(), &Stop::new()).expect_err("nobody is let in");
    assert!(error.to_string().contains("within the connect timeout"), "{error}");
}

#[test]
fn an_error_says_how_many_were_connected() {
    let server = at_once();
    let (listener, path, _folder) = narrow_socket();
    let address = server.address();
    thread::spawn(move || relay(listener, address, 5));
    // Few enough to connect one after the other.
    let mut load = load(
        TransportChoice::Auto,
        &server,
        8,
        1,
        Pacing::Closed,
        &[("measure", 100)],
    );
    load.workloads[0].driver.endpoints[0].address = Address::Unix(path);
    let error = drive(&load, &mut Keep::default(), &Stop::new()).expect_err("the sixth is not let in");
    assert!(matches!(error, DriveError::Connect { client: 5, .. }), "{error:?}");
    assert!(
        error.to_string().ends_with("5 of 8 clients were connected by then"),
        "{error}"
    );
}

#[test]
fn a_server_that_talks_without_end_is_given_up_in_time() {
    let talker = TcpListener::bind("127.0.0.1:0").expect("a free port");
    let address = talker.local_addr().expect("the port's address");
    thread::spawn(move || {
        for mut stream in talker.incoming().flatten() {
            // Far longer than the engine waits, and not without end.
            thread::spawn(move || {
                for number in 0..600 {
                    let report = format!("n{number}\0on\0");
                    let header = [&b"S"[..], &(report.len() as u32 + 4).to_be_bytes()].concat();
                    if stream.write_all(&[&header, report.as_bytes()].concat()).is_err() {
                        return;
                    }
                    thread::sleep(Duration::from_millis(100));
                }
            });
        }
    });
    let server = at_once();
    let mut load = load(
        TransportChoice::Auto,
        &server,
        2,
        1,
        Pacing::Closed,
        &[("measure", 100)],
    );
    load.workloads[0].driver.endpoints[0].address = Address::Tcp(vec![address]);
    load.workloads[0].driver.endpoints[0].connect_timeout = Duration::from_millis(500);
    let error = drive(&load, &mut Keep::default(), &Stop::new()).expect_err("nobody is let in");
    assert!(error.to_string().contains("within the connect timeout"), "{error}");
}
