//! A stand-in that speaks just enough of PostgreSQL's protocol to answer every request after a chosen delay.
//!
//! A real server cannot be made to stall, break off or take exactly 20 ms on demand. This one can.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

/// What the server does with a request.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each test uses its own part")]
pub enum Behaviour {
    /// Answer after this long.
    Answer(Duration),
    /// Answer at once, from within a transaction.
    AnswerInTransaction,
    /// Answer at once with one row: a column's name and its value.
    Row(&'static str, Option<&'static str>),
    /// Answer at once with no row.
    NoRow,
    /// Answer at once, after a warning.
    Warn,
    /// Answer with an error of this SQLSTATE.
    Fail(&'static str),
    /// Answer at once, and close the connection.
    AnswerLast,
    /// Answer at once, and refuse so many log-ins from then on.
    AnswerAndRefuse(usize),
    /// Answer at once, and again with so many bytes of the same answer, at most all of them.
    AnswerAgain(usize),
    /// Answer at once, each byte by itself.
    Pieces,
    /// Answer at once, and read nothing for so long.
    AnswerAndPause(Duration),
    /// Close the connection in the middle of a message.
    BreakOff,
    /// The same, and answer no log-in from then on.
    FallSilent,
    /// Send bytes that are no message.
    Garbage,
}

/// A running server; it ends with the process.
pub struct ScriptedServer {
    address: SocketAddr,
    cancels: Arc<Cancels>,
    door: Arc<Door>,
    queries: Arc<Mutex<Vec<(usize, String)>>>,
}

/// Requests to cancel.
#[derive(Default)]
struct Cancels {
    count: AtomicUsize,
    /// How long each of them takes.
    delay_ms: AtomicU64,
}

/// Log-ins.
#[derive(Default)]
struct Door {
    /// How many there were.
    knocks: AtomicUsize,
    /// How many are to be refused.
    refusals: AtomicUsize,
    /// Whether none is answered.
    silent: AtomicBool,
}

impl ScriptedServer {
    /// Starts a server that asks `script` what to do with each request: it is given the connection's number, the
    /// request's number on it, and the time since the server started.
    pub fn start(script: impl Fn(usize, usize, Duration) -> Behaviour + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the port's address");
        let script = Arc::new(script);
        let begin = Instant::now();
        let cancels = Arc::<Cancels>::default();
        let cancelled = Arc::clone(&cancels);
        let door = Arc::<Door>::default();
        let entrance = Arc::clone(&door);
        let queries = Arc::new(Mutex::new(Vec::new()));
        let asked = Arc::clone(&queries);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (script, cancelled, asked) = (Arc::clone(&script), Arc::clone(&cancelled), Arc::clone(&asked));
                let entrance = Arc::clone(&entrance);
                let note = move |query| asked.lock().expect("no panic").push((number, query));
                thread::spawn(move || {
                    serve(stream, &cancelled, &entrance, note, |request| {
                        script(number, request, begin.elapsed())
                    })
                });
            }
        });
        Self {
            address,
            cancels,
            door,
            queries,
        }
    }

    /// The texts of all queries of the simple protocol so far, with the numbers of their connections.
    #[allow(dead_code, reason = "each test uses its own part")]
    pub fn queries(&self) -> Vec<(usize, String)> {
        self.queries.lock().expect("no panic").clone()
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests to cancel arrived.
    #[allow(dead_code, reason = "each test uses its own part")]
    pub fn cancels(&self) -> usize {
        self.cancels.count.load(Ordering::Relaxed)
    }

    /// How many log-ins were tried.
    #[allow(dead_code, reason = "each test uses its own part")]
    pub fn knocks(&self) -> usize {
        self.door.knocks.load(Ordering::Relaxed)
    }

    /// Has a request to cancel take so long from now on, as over a long way.
    #[allow(dead_code, reason = "each test uses its own part")]
    pub fn delay_cancels(&self, delay: Duration) {
        self.cancels.delay_ms.store(delay.as_millis() as u64, Ordering::Relaxed);
    }
}

/// The request code of a CancelRequest.
const CANCEL: &[u8] = &80_877_102_i32.to_be_bytes();

/// Serves one connection until it ends.
fn serve(
    mut stream: TcpStream,
    cancels: &Cancels,
    door: &Door,
    note: impl Fn(String),
    script: impl Fn(usize) -> Behaviour,
) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut start = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut start).ok()?;
    if start.starts_with(CANCEL) {
        thread::sleep(Duration::from_millis(cancels.delay_ms.load(Ordering::Relaxed)));
        cancels.count.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    door.knocks.fetch_add(1, Ordering::Relaxed);
    if door.silent.load(Ordering::Relaxed) {
        // Until the client gives up.
        let _ = stream.read(&mut [0]);
        return None;
    }
    let refused = |left: usize| left.checked_sub(1);
    if door
        .refusals
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, refused)
        .is_ok()
    {
        let refusal = message(b'E', b"SFATAL\0VFATAL\0C57P03\0Mscripted refusal\0\0");
        stream.write_all(&refusal).ok()?;
        return None;
    }
    stream
        .write_all(b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I")
        .ok()?;
    let mut request = 0;
    loop {
        let asked = read_request(&mut stream)?;
        if let Some(query) = asked.query {
            note(query);
        } else if asked.executions == 0 {
            // Nothing but preparations; they are answered at once.
            stream.write_all(b"1\0\0\0\x04Z\0\0\0\x05I").ok()?;
            continue;
        }
        let one = b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0";
        let answer = one.repeat(asked.executions.max(1));
        match script(request) {
            Behaviour::Answer(delay) => {
                wait_until(asked.arrived + delay);
                stream.write_all(&[&answer[..], b"Z\0\0\0\x05I"].concat()).ok()?;
            }
            Behaviour::AnswerInTransaction => stream.write_all(&[&answer[..], b"Z\0\0\0\x05T"].concat()).ok()?,
            Behaviour::AnswerLast => {
                stream.write_all(&[&answer[..], b"Z\0\0\0\x05I"].concat()).ok()?;
                return None;
            }
            Behaviour::AnswerAndRefuse(count) => {
                door.refusals.store(count, Ordering::Relaxed);
                stream.write_all(&[&answer[..], b"Z\0\0\0\x05I"].concat()).ok()?;
            }
            Behaviour::AnswerAgain(bytes) => {
                let whole = [&answer[..], b"Z\0\0\0\x05I"].concat();
                let again = &whole[..bytes.min(whole.len())];
                stream.write_all(&[&whole[..], again].concat()).ok()?;
            }
            Behaviour::Pieces => {
                for byte in [&answer[..], b"Z\0\0\0\x05I"].concat() {
                    stream.write_all(&[byte]).ok()?;
                    thread::yield_now();
                }
            }
            Behaviour::AnswerAndPause(pause) => {
                stream.write_all(&[&answer[..], b"Z\0\0\0\x05I"].concat()).ok()?;
                thread::sleep(pause);
            }
            Behaviour::Warn => {
                let warning = message(b'N', b"SWARNING\0VWARNING\0C01000\0Mscripted warning\0\0");
                stream
                    .write_all(&[&warning[..], &answer[..], b"Z\0\0\0\x05I"].concat())
                    .ok()?;
            }
            Behaviour::NoRow => {
                let parts = [
                    message(b'T', &[0; 2]),
                    message(b'C', b"SELECT 0\0"),
                    message(b'Z', b"I"),
                ];
                stream.write_all(&parts.concat()).ok()?;
            }
            Behaviour::Row(name, value) => {
                let column = [b"\0\x01", name.as_bytes(), &[0; 19]].concat();
                let row = match value {
                    Some(value) => [b"\0\x01", &(value.len() as u32).to_be_bytes()[..], value.as_bytes()].concat(),
                    None => b"\0\x01\xff\xff\xff\xff".to_vec(),
                };
                let parts = [
                    message(b'T', &column),
                    message(b'D', &row),
                    message(b'C', b"SELECT 1\0"),
                    message(b'Z', b"I"),
                ];
                stream.write_all(&parts.concat()).ok()?;
            }
            Behaviour::Fail(state) => {
                let body = format!("SERROR\0VERROR\0C{state}\0Mscripted error\0\0");
                let parts = [message(b'E', body.as_bytes()), message(b'Z', b"I")];
                stream.write_all(&parts.concat()).ok()?;
            }
            Behaviour::BreakOff => {
                stream.write_all(b"2\0\0\0\x04D\0\0").ok()?;
                return None;
            }
            Behaviour::FallSilent => {
                door.silent.store(true, Ordering::Relaxed);
                stream.write_all(b"2\0\0\0\x04D\0\0").ok()?;
                return None;
            }
            Behaviour::Garbage => stream.write_all(b"\xff\xff\xff\xff\xff\xff\xff\xff").ok()?,
        }
        request += 1;
    }
}

/// A message of the protocol.
fn message(tag: u8, body: &[u8]) -> Vec<u8> {
    [&[tag], &(body.len() as u32 + 4).to_be_bytes()[..], body].concat()
}

/// What a client asked for with one Query, or with everything up to a Sync.
struct Asked {
    query: Option<String>,
    executions: usize,
    arrived: Instant,
}

/// Reads up to the end of a request.
fn read_request(stream: &mut TcpStream) -> Option<Asked> {
    let mut executions = 0;
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        let query = match header[0] {
            b'X' => return None,
            b'Q' => Some(String::from_utf8_lossy(body.strip_suffix(b"\0")?).into_owned()),
            b'S' => None,
            b'E' => {
                executions += 1;
                continue;
            }
            _ => continue,
        };
        return Some(Asked {
            query,
            executions,
            arrived: Instant::now(),
        });
    }
}

/// For so long at the end of a delay.
const SPUN: Duration = Duration::from_micros(60);

/// Sleeps most of the time and spins for the rest, so that the delay is exact.
fn wait_until(instant: Instant) {
    loop {
        let left = instant.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > SPUN {
            thread::sleep(left - SPUN);
        } else {
            std::hint::spin_loop();
        }
    }
}
