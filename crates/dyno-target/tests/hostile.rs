//! Servers that send too much, or without end, or nothing. A program of their own: what is measured is its memory.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::load::{Loader, LoaderError};
use std::io::{Read, Write};
use std::net::TcpListener;
use std::os::unix::net::UnixListener;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

/// More than any client should take in, in bytes.
const FLOOD: u64 = 256 << 20;

/// What the sockets' buffers and a client together may take of it, in bytes.
const ENOUGH: u64 = 32 << 20;

/// What a server sends after a start-up message.
#[derive(Clone, Copy, Debug)]
enum Log {
    /// An error whose announced length is that of all that follows.
    LongError,
    /// A message of an impossible length.
    Impossible,
    /// Reports of settings, one after the other.
    Reports,
    /// Notices, one after the other.
    Notices,
    /// A byte every now and then.
    Drip,
    /// What a server says that lets everybody in.
    Ready,
    /// The same, and then no more.
    Quiet,
}

fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    let length = u32::try_from(body.len() + 4).unwrap();
    [&[tag][..], &length.to_be_bytes(), body].concat()
}

/// Sends it until the client has enough, and gives the number of bytes the client took.
fn pour(client: &mut (impl Read + Write), log: Log) -> u64 {
    let mut start_up = [0; 1024];
    let _ = client.read(&mut start_up);
    let (first, repeated) = match log {
        Log::LongError => (b"E\x5f\xff\xff\xff".to_vec(), vec![b'x'; 64 * 1024]),
        Log::Impossible => (b"R\xff\xff\xff\xff".to_vec(), vec![0; 64 * 1024]),
        Log::Reports => (
            message(b'R', &[0; 4]),
            (0..1000)
                .flat_map(|n| message(b'S', format!("name{n}\0{}\0", "x".repeat(60)).as_bytes()))
                .collect(),
        ),
        Log::Notices => (
            message(b'R', &[0; 4]),
            message(b'N', &[&b"SNOTICE\0C00000\0M"[..], &[b'x'; 9000], b"\0\0"].concat()),
        ),
        Log::Drip => (message(b'R', &[0; 4]), Vec::new()),
        Log::Ready | Log::Quiet => ([message(b'R', &[0; 4]), message(b'Z', b"I")].concat(), Vec::new()),
    };
    let mut sent = 0;
    let mut send = |bytes: &[u8]| {
        client.write_all(bytes).map(|()| {
            sent += bytes.len() as u64;
            sent
        })
    };
    let mut going = send(&first).is_ok();
    match log {
        Log::Ready => {
            // Until the client goes away.
            let _ = client.read(&mut start_up);
        }
        Log::Quiet => while client.read(&mut start_up).is_ok_and(|read| read > 0) {},
        Log::Drip => {
            // Far longer than the client waits, and not without end.
            for byte in message(b'S', &[b'x'; 600]) {
                going = going && send(&[byte]).is_ok();
                if going {
                    thread::sleep(Duration::from_millis(100));
                }
            }
        }
        _ => while going && send(&repeated).is_ok_and(|sent| sent < FLOOD) {},
    }
    sent
}

/// A server that treats its n-th client as `logs[n]`, further ones as the last, on TCP and a unix socket.
struct Hostile {
    targets: [String; 2],
    taken: Arc<AtomicU64>,
    _folder: tempfile::TempDir,
}

fn hostile(logs: &'static [Log]) -> Hostile {
    let folder = tempfile::tempdir().unwrap();
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = tcp.local_addr().unwrap().port();
    let unix = UnixListener::bind(folder.path().join(".s.PGSQL.5432")).unwrap();
    let taken = Arc::new(AtomicU64::new(0));
    let number = Arc::new(AtomicUsize::new(0));
    let serve = {
        let taken = Arc::clone(&taken);
        move |client: &mut dyn ReadWrite| {
            let number = number.fetch_add(1, Ordering::Relaxed).min(logs.len() - 1);
            taken.fetch_max(pour(&mut Dynamic(client), logs[number]), Ordering::Relaxed);
        }
    };
    let other = serve.clone();
    thread::spawn(move || tcp.incoming().flatten().for_each(|mut client| serve(&mut client)));
    thread::spawn(move || unix.incoming().flatten().for_each(|mut client| other(&mut client)));
    let options = "user=u dbname=d connect_timeout=2 sslmode=disable";
    Hostile {
        targets: [
            format!("host=127.0.0.1 port={port} {options}"),
            format!("host={} port=5432 {options}", folder.path().display()),
        ],
        taken,
        _folder: folder,
    }
}

trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

struct Dynamic<'a>(&'a mut dyn ReadWrite);

impl Read for Dynamic<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> std::io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Write for Dynamic<'_> {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.0.write(bytes)
    }

    fn flush(&mut self) -> std::io::Result<()> {
        self.0.flush()
    }
}

fn info(target: &str) -> ConnectionInfo {
    ConnectionInfo::resolve(Some(target), &|_| None).unwrap()
}

/// The most memory this process has had, in bytes.
fn peak() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    line.trim_end_matches("kB").trim().parse::<u64>().unwrap() * 1024
}

#[test]
fn control_connections_take_no_more_than_a_log_in_needs() {
    for logs in [
        &[Log::LongError][..],
        &[Log::Impossible],
        &[Log::Reports],
        &[Log::Notices],
    ] {
        let server = hostile(logs);
        for target in &server.targets {
            let error = info(target).connect().map(|_| ()).unwrap_err().to_string();
            assert!(error.contains("sends more than 1 MiB"), "{logs:?}: {error}");
        }
        let taken = server.taken.load(Ordering::Relaxed);
        assert!(taken < ENOUGH, "{logs:?}: took {taken} bytes");
    }
}

#[test]
fn a_log_in_that_only_drips_meets_the_limit() {
    let server = hostile(&[Log::Drip]);
    for target in &server.targets {
        let error = info(target).connect().map(|_| ()).unwrap_err().to_string();
        assert!(error.contains("no answer within the time allowed"), "{error}");
    }
    // The control connection looks first.
    let server = hostile(&[Log::Ready, Log::Drip]);
    let error = Loader::connect(&info(&server.targets[0]), &|| false)
        .map(|_| ())
        .unwrap_err();
    assert!(matches!(error, LoaderError::Lost(_)), "{error}");
    assert!(
        error.to_string().contains("no answer within the time allowed"),
        "{error}"
    );
}

/// Neither an answer nor a request to cancel is to be had of it.
#[test]
fn a_server_gone_quiet_is_left_when_asked_to_stop() {
    let server = hostile(&[Log::Quiet]);
    for target in &server.targets {
        let stop = Arc::new(AtomicBool::new(false));
        let mut client = info(target).connect_until(&stop).unwrap();
        let raise = thread::spawn(move || {
            thread::sleep(Duration::from_millis(100));
            stop.store(true, Ordering::Relaxed);
        });
        assert!(client.batch_execute("select 1").is_err());
        assert!(client.is_closed());
        raise.join().unwrap();
    }
}

#[test]
fn a_server_gone_quiet_is_left_when_patience_ends() {
    let server = hostile(&[Log::Quiet]);
    for target in &server.targets {
        let mut client = info(target).connect_with_patience(Duration::from_millis(100)).unwrap();
        assert!(client.batch_execute("select 1").is_err());
        assert!(client.is_closed());
    }
}

#[test]
fn a_loader_keeps_little_of_what_comes() {
    for logs in [
        &[Log::Ready, Log::LongError][..],
        &[Log::Ready, Log::Impossible],
        &[Log::Ready, Log::Reports],
    ] {
        let server = hostile(logs);
        let before = peak();
        assert!(
            Loader::connect(&info(&server.targets[0]), &|| false).is_err(),
            "{logs:?}"
        );
        let grown = peak() - before;
        assert!(grown < ENOUGH, "{logs:?}: {grown} bytes more");
    }
}
