//! What is to be driven: workloads, phases and where they go.
//!
//! This is the engine's whole input. It says nothing of files, experiments or SQL: statements are opaque, and a session turns them into bytes.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Everything one call of [`crate::drive`] does.
pub struct Load<S: dyno_wire::Session, P: crate::Program> {
    /// The workloads, which run at the same time.
    pub workloads: Vec<Workload<S, P>>,
    /// The phases, one after the other without a pause: clients are not drained between them.
    pub phases: Vec<Phase>,
    /// How often recordings are collected. The last interval of a phase may be shorter.
    pub interval: Duration,
    /// How long transactions that are still running at the end may take to finish before their connections are closed.
    pub grace: Duration,
}

/// A stretch of the run with its own results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// For example `warmup` or `measure`.
    pub name: String,
    /// How long it lasts.
    pub duration: Duration,
}

/// One script run by a number of clients.
pub struct Workload<S: dyno_wire::Session, P: crate::Program> {
    /// Name, unique among the workloads.
    pub name: String,
    /// Number of connections, each executing transactions one after the other. At least 1.
    pub clients: usize,
    /// Number of threads that share the clients out among themselves, 1 to `clients`.
    pub threads: usize,
    /// Closed or open loop.
    pub pacing: Pacing,
    /// What the clients do.
    pub program: P,
    /// The program's statements in its order, encoded once for all clients.
    pub statements: Vec<S::Statement>,
    /// How statements are sent.
    pub protocol: dyno_wire::Protocol,
    /// Where the connections go.
    pub endpoint: Endpoint,
    /// One random state per thread, for the open loop's schedule.
    pub throttle: Vec<dyno_script::Random>,
    /// Makes the session of a new connection.
    pub session: NewSession<S>,
}

/// Makes the session of a new connection, given its TLS state if it has one.
pub type NewSession<S> = Box<dyn Fn(Option<&rustls::ClientConnection>) -> S + Send + Sync>;

/// When a client begins its next transaction.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Pacing {
    /// On completion of the previous one.
    Closed,
    /// At instants of a Poisson process with this mean rate, over all clients of the workload together. Latency counts from the scheduled instant.
    Open {
        /// Transactions per second, above 0.
        rate_per_s: f64,
    },
}

/// Where and how to connect.
#[derive(Clone)]
pub struct Endpoint {
    /// The address.
    pub address: Address,
    /// How to go about TLS; `None`: never.
    pub tls: Option<Tls>,
    /// How long connecting and logging in may take.
    pub connect_timeout: Duration,
}

/// The address of a server, already resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Address {
    /// Addresses of one host, tried in turn.
    Tcp(Vec<SocketAddr>),
    /// The path of a unix socket.
    Unix(PathBuf),
}

impl fmt::Display for Address {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unix(path) => write!(f, "unix socket {}", path.display()),
            Self::Tcp(addresses) => match addresses.first() {
                Some(first) => write!(f, "{first}"),
                None => f.write_str("a host without address"),
            },
        }
    }
}

/// TLS for a connection.
#[derive(Clone)]
pub struct Tls {
    /// Whether the server may decline TLS, and how strictly it is verified.
    pub mode: dyno_wire::tls::SslMode,
    /// Roots, client certificate and verifier.
    pub config: Arc<rustls::ClientConfig>,
    /// The name that the server's certificate is checked against.
    pub server_name: String,
}

/// Asks a running load to end early; clones share one flag.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// A flag not yet raised.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Asks the load to end: no transaction begins from now on.
    pub fn request(&self) {
        self.0.store(true, Ordering::Relaxed);
    }

    /// The flag itself, for code that knows nothing of loads. True asks to stop.
    #[must_use]
    pub fn flag(&self) -> Arc<AtomicBool> {
        Arc::clone(&self.0)
    }

    /// Whether the end was asked for.
    #[must_use]
    pub fn requested(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
