//! A relay that TCP connections pass through, and that passes on late what it is given: the kernel here has no `netem`.

use rustix::net::{connect_unspec, sockopt::set_socket_linger};
use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

/// How late something is: so long at least, and up to so much more, by chance.
#[derive(Clone, Copy)]
pub struct Delay {
    pub least: Duration,
    pub jitter: Duration,
}

impl Delay {
    pub const NONE: Self = Self {
        least: Duration::ZERO,
        jitter: Duration::ZERO,
    };

    pub fn ms(least: u64, jitter: u64) -> Self {
        Self {
            least: Duration::from_millis(least),
            jitter: Duration::from_millis(jitter),
        }
    }
}

/// The relay, on a port of 127.0.0.1.
pub struct Relay {
    pub address: SocketAddr,
    connections: Arc<Mutex<Vec<TcpStream>>>,
}

impl Relay {
    /// To `address`; what goes there is as late as the first says, what comes back as late as the second.
    pub fn to(address: SocketAddr, there: Delay, back: Delay) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let relay = Self {
            address: listener.local_addr().unwrap(),
            connections: Arc::default(),
        };
        let connections = Arc::clone(&relay.connections);
        std::thread::spawn(move || {
            for near in listener.incoming() {
                let (near, far) = (near.unwrap(), TcpStream::connect(address).unwrap());
                near.set_nodelay(true).unwrap();
                far.set_nodelay(true).unwrap();
                let again = |stream: &TcpStream| stream.try_clone().unwrap();
                connections.lock().unwrap().extend([again(&near), again(&far)]);
                pass(again(&near), again(&far), there);
                pass(far, near, back);
            }
        });
        relay
    }

    /// Resets all connections, both ways.
    pub fn reset(&self) {
        for connection in self.connections.lock().unwrap().drain(..) {
            set_socket_linger(&connection, Some(Duration::ZERO)).unwrap();
            connect_unspec(&connection).unwrap();
        }
    }
}

/// Passes on what comes, in its order.
fn pass(mut from: TcpStream, mut to: TcpStream, delay: Delay) {
    let (queue, queued) = mpsc::channel::<(Instant, Vec<u8>)>();
    std::thread::spawn(move || {
        let mut chunk = vec![0; 1 << 16];
        // Multiples of the golden ratio, less what is whole, are spread evenly and follow no order.
        let mut chance = 0.0_f64;
        while let Ok(length @ 1..) = from.read(&mut chunk) {
            chance = (chance + 0.618_034).fract();
            let due = Instant::now() + delay.least + delay.jitter.mul_f64(chance);
            let _ = queue.send((due, chunk[..length].to_vec()));
        }
    });
    std::thread::spawn(move || {
        for (due, chunk) in queued {
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
            if to.write_all(&chunk).is_err() {
                return;
            }
        }
        let _ = to.shutdown(Shutdown::Write);
    });
}
