//! A stand-in that speaks just enough of PostgreSQL's protocol to answer every request after a chosen delay.
//!
//! A real server cannot be made to stall, break off or take exactly 20 ms on demand. This one can.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

/// What the server does with a request.
#[derive(Clone, Copy, Debug)]
#[allow(dead_code, reason = "each test uses its own part")]
pub enum Behaviour {
    /// Answer after this long.
    Answer(Duration),
    /// Answer with an error of this SQLSTATE.
    Fail(&'static str),
    /// Close the connection in the middle of a message.
    BreakOff,
    /// Send bytes that are no message.
    Garbage,
}

/// A running server; it ends with the process.
pub struct ScriptedServer {
    address: SocketAddr,
    cancels: Arc<AtomicUsize>,
}

impl ScriptedServer {
    /// Starts a server that asks `script` what to do with each request: it is given the connection's number, the request's number on it, and the time
    /// since the server started.
    pub fn start(script: impl Fn(usize, usize, Duration) -> Behaviour + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").expect("a free port");
        let address = listener.local_addr().expect("the port's address");
        let script = Arc::new(script);
        let begin = Instant::now();
        let cancels = Arc::new(AtomicUsize::new(0));
        let cancelled = Arc::clone(&cancels);
        thread::spawn(move || {
            for (number, stream) in listener.incoming().flatten().enumerate() {
                let (script, cancelled) = (Arc::clone(&script), Arc::clone(&cancelled));
                thread::spawn(move || serve(stream, &cancelled, |request| script(number, request, begin.elapsed())));
            }
        });
        Self { address, cancels }
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// How many requests to cancel arrived.
    #[allow(dead_code, reason = "each test uses its own part")]
    pub fn cancels(&self) -> usize {
        self.cancels.load(Ordering::Relaxed)
    }
}

/// The request code of a CancelRequest.
const CANCEL: &[u8] = &80_877_102_i32.to_be_bytes();

/// Serves one connection until it ends. Any log-in is accepted.
fn serve(mut stream: TcpStream, cancels: &AtomicUsize, script: impl Fn(usize) -> Behaviour) -> Option<()> {
    stream.set_nodelay(true).ok()?;
    let mut length = [0; 4];
    stream.read_exact(&mut length).ok()?;
    let mut start = vec![0; u32::from_be_bytes(length) as usize - 4];
    stream.read_exact(&mut start).ok()?;
    if start.starts_with(CANCEL) {
        cancels.fetch_add(1, Ordering::Relaxed);
        return None;
    }
    stream
        .write_all(b"R\0\0\0\x08\0\0\0\0K\0\0\0\x0c\0\0\0\x01\0\0\0\x02Z\0\0\0\x05I")
        .ok()?;
    let mut request = 0;
    loop {
        // Requests end with Sync or are a Query; Parse alone (a preparation) is answered at once.
        let (preparing, begin) = read_request(&mut stream)?;
        if preparing {
            stream.write_all(b"1\0\0\0\x04Z\0\0\0\x05I").ok()?;
            continue;
        }
        match script(request) {
            Behaviour::Answer(delay) => {
                wait_until(begin + delay);
                stream
                    .write_all(b"2\0\0\0\x04D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0Z\0\0\0\x05I")
                    .ok()?;
            }
            Behaviour::Fail(state) => {
                let mut body = format!("SERROR\0VERROR\0C{state}\0Mscripted error\0\0").into_bytes();
                let mut message = vec![b'E'];
                message.extend_from_slice(&(body.len() as u32 + 4).to_be_bytes());
                message.append(&mut body);
                message.extend_from_slice(b"Z\0\0\0\x05I");
                stream.write_all(&message).ok()?;
            }
            Behaviour::BreakOff => {
                stream.write_all(b"2\0\0\0\x04D\0\0").ok()?;
                return None;
            }
            Behaviour::Garbage => stream.write_all(b"\xff\xff\xff\xff\xff\xff\xff\xff").ok()?,
        }
        request += 1;
    }
}

/// Reads up to the end of a request. Says whether it only prepared a statement, and when it had arrived.
fn read_request(stream: &mut TcpStream) -> Option<(bool, Instant)> {
    let mut preparing = true;
    loop {
        let mut header = [0; 5];
        stream.read_exact(&mut header).ok()?;
        let length = u32::from_be_bytes([header[1], header[2], header[3], header[4]]) as usize - 4;
        let mut body = vec![0; length];
        stream.read_exact(&mut body).ok()?;
        match header[0] {
            b'X' => return None,
            b'Q' => return Some((false, Instant::now())),
            b'S' => return Some((preparing, Instant::now())),
            b'B' | b'E' => preparing = false,
            _ => {}
        }
    }
}

/// Sleeps most of the time and spins for the rest, so that the delay is exact.
fn wait_until(instant: Instant) {
    loop {
        let left = instant.saturating_duration_since(Instant::now());
        if left.is_zero() {
            return;
        }
        if left > Duration::from_micros(300) {
            thread::sleep(left - Duration::from_micros(300));
        } else {
            std::hint::spin_loop();
        }
    }
}
