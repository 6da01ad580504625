//! The listener: a thread that accepts, and a thread for each session.

use crate::counters::{Counters, Counts, Registry};
use crate::link::Link;
use crate::options::Options;
use crate::session::{Ended, Session};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::{self, JoinHandle};

/// The first session's number; the lower ones belong to a server's own processes.
const FIRST_SESSION: u32 = 101;

/// A stand-in that is running. It ends with this value, and so do its sessions.
pub struct Standin {
    address: SocketAddr,
    shared: Arc<Shared>,
    listener: Option<JoinHandle<()>>,
}

/// What the threads share.
struct Shared {
    options: Arc<Options>,
    counters: Arc<Registry>,
    complaints: Mutex<Vec<String>>,
    sessions: Mutex<Vec<(TcpStream, JoinHandle<()>)>>,
    next: AtomicU32,
    ending: AtomicBool,
}

impl Standin {
    /// Starts one on 127.0.0.1.
    ///
    /// # Errors
    /// The port is taken.
    pub fn start(options: Options) -> io::Result<Self> {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, options.port))?;
        let address = listener.local_addr()?;
        let shared = Arc::new(Shared {
            options: Arc::new(options),
            counters: Arc::default(),
            complaints: Mutex::default(),
            sessions: Mutex::default(),
            next: AtomicU32::new(FIRST_SESSION),
            ending: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let listener = thread::Builder::new()
            .name("standin".to_owned())
            .spawn(move || accepting.accept(&listener))?;
        Ok(Self {
            address,
            shared,
            listener: Some(listener),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients asked of it so far.
    #[must_use]
    pub fn counts(&self) -> Counts {
        self.shared.counters.sum()
    }

    /// What clients sent that no client should: empty when they speak the protocol as it is known here.
    #[must_use]
    pub fn complaints(&self) -> Vec<String> {
        locked(&self.shared.complaints).clone()
    }
}

impl Drop for Standin {
    fn drop(&mut self) {
        self.shared.ending.store(true, Ordering::Release);
        // Wakes the thread that accepts.
        let _ = TcpStream::connect(self.address);
        if let Some(listener) = self.listener.take() {
            let _ = listener.join();
        }
        let sessions = std::mem::take(&mut *locked(&self.shared.sessions));
        for (socket, _) in &sessions {
            let _ = socket.shutdown(Shutdown::Both);
        }
        for (_, session) in sessions {
            let _ = session.join();
        }
    }
}

impl Shared {
    fn accept(self: &Arc<Self>, listener: &TcpListener) {
        for socket in listener.incoming() {
            if self.ending.load(Ordering::Acquire) {
                return;
            }
            if let Err(error) = socket.and_then(|socket| self.begin(socket)) {
                self.complain(format!("a connection was not taken: {error}"));
            }
        }
    }

    fn begin(self: &Arc<Self>, socket: TcpStream) -> io::Result<()> {
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let counters = self.counters.begin(number);
        Counters::one(&counters.connections);
        let kept = socket.try_clone()?;
        let shared = Arc::clone(self);
        let session = thread::Builder::new()
            .name(format!("session {number}"))
            .spawn(move || shared.serve(socket, counters, number))?;
        let mut sessions = locked(&self.sessions);
        sessions.retain(|(_, session)| !session.is_finished());
        sessions.push((kept, session));
        Ok(())
    }

    fn serve(&self, socket: TcpStream, counters: Arc<Counters>, number: u32) {
        let options = &self.options;
        let shutting = socket.try_clone();
        let link = Link::new(socket, options.tls.as_ref(), options.pieces, Arc::clone(&counters));
        let ended = match link {
            Ok(link) => {
                let all = Arc::clone(&self.counters);
                Session::new(link, Arc::clone(options), (counters, all), number).serve()
            }
            Err(error) => Ended::from(error),
        };
        if let Ended::Wrong(what) = ended {
            self.complain(format!("session {number}: {what}"));
        }
        // The clone that ends sessions would keep the connection open.
        if let Ok(socket) = shutting {
            let _ = socket.shutdown(Shutdown::Both);
        }
    }

    fn complain(&self, what: String) {
        locked(&self.complaints).push(what);
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
