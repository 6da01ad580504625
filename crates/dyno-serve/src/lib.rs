//! The archive in a browser: lists of campaigns, their reports, and those under way as they go on.
//!
//! One thread does everything that waits, and what computes or reads files goes to a few helper threads, one report
//! at a time, so that a load measured on the same machine is disturbed as little as possible; while nobody looks
//! there is nothing to do. The runner knows nothing of viewers: what they see comes from the archive's files, which
//! only grow while a run goes on. Nothing can be changed through this server.

mod access;
mod assets;
mod cache;
mod connections;
mod list;
mod live;
mod metrics;
mod pages;
mod problem;
mod reports;
mod routes;
mod series;

pub use access::Token;

use dyno_archive::Archive;
use live::Hub;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener};
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::Notify;

/// Where the server listens unless told otherwise.
pub const USUAL_PORT: u16 = 7878;

/// What to serve, and to whom.
#[derive(Clone, Debug)]
pub struct Options {
    /// The folder of campaigns, which need not exist yet.
    pub archive: PathBuf,
    /// The address to listen at; port 0 is any that is free.
    pub listen: SocketAddr,
    /// What visitors must show; needed unless the address can be reached from this machine alone.
    pub token: Option<Token>,
}

/// Why there is no server.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    /// Everybody could look in.
    #[error(
        "{0} can be reached from other machines, and anyone who reaches it could read the archive: set a token in \
         the variable DYNO_TOKEN (for \
         example with `export DYNO_TOKEN=$(openssl rand -hex 16)`), or listen on 127.0.0.1"
    )]
    Open(SocketAddr),
    /// The token is easily guessed, or cannot be typed.
    #[error(
        "a token needs at least {} characters out of letters, digits and -._~+/=; create one with `openssl rand -hex \
         16`",
        Token::SHORTEST
    )]
    Token,
    /// Another program listens there.
    #[error(
        "another program is listening on {0}, perhaps another dyno serve: use that, end it, or choose another port, \
         for example with --listen {ip}:0 for any free port",
        ip = shown_ip(.0)
    )]
    InUse(SocketAddr),
    /// The address cannot be listened at.
    #[error("cannot listen on {address}: {cause}")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's reason.
        cause: io::Error,
    },
    /// The system refused what the server needs.
    #[error("cannot start the server: {0}")]
    Start(io::Error),
}

/// An IP address as it stands before a port.
fn shown_ip(address: &SocketAddr) -> String {
    match address {
        SocketAddr::V4(address) => address.ip().to_string(),
        SocketAddr::V6(address) => format!("[{}]", address.ip()),
    }
}

/// A server that has its address and waits to be run.
pub struct Server {
    options: Options,
    hub: Arc<Hub>,
    listener: TcpListener,
    address: SocketAddr,
    stop: Arc<Notify>,
}

/// Ends a server from another thread.
#[derive(Clone)]
pub struct Stopper {
    stop: Arc<Notify>,
    hub: Arc<Hub>,
}

impl Stopper {
    /// Ends the server at once.
    pub fn stop(&self) {
        self.stop.notify_one();
    }

    /// How many follow a campaign. They leave by themselves within seconds of its end.
    #[must_use]
    pub fn viewers(&self) -> usize {
        self.hub.viewers()
    }
}

impl Server {
    /// Takes the address, so that whoever connects from now on is served once the server runs.
    ///
    /// # Errors
    ///
    /// If the address is taken, cannot be had, or is open to other machines without a token.
    pub fn bind(options: Options) -> Result<Self, ServeError> {
        let address = options.listen;
        if !address.ip().is_loopback() && options.token.is_none() {
            return Err(ServeError::Open(address));
        }
        let listener = TcpListener::bind(address).map_err(|cause| match cause.kind() {
            ErrorKind::AddrInUse => ServeError::InUse(address),
            _ => ServeError::Listen { address, cause },
        })?;
        listener.set_nonblocking(true).map_err(ServeError::Start)?;
        let address = listener.local_addr().map_err(ServeError::Start)?;
        Ok(Self {
            hub: Arc::new(Hub::new(options.archive.clone())),
            options,
            listener,
            address,
            stop: Arc::default(),
        })
    }

    /// Where it listens.
    #[must_use]
    pub fn address(&self) -> SocketAddr {
        self.address
    }

    /// What ends it.
    #[must_use]
    pub fn stopper(&self) -> Stopper {
        Stopper {
            stop: Arc::clone(&self.stop),
            hub: Arc::clone(&self.hub),
        }
    }

    /// Serves until it is stopped, on this thread.
    ///
    /// # Errors
    ///
    /// If the system refuses what the server needs.
    pub fn run(self) -> Result<(), ServeError> {
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .max_blocking_threads(4)
            .thread_name("serve")
            .thread_keep_alive(Duration::from_secs(2))
            .build()
            .map_err(ServeError::Start)?;
        let archive = Archive::new(self.options.archive);
        let access = access::Access::new(self.address, self.options.token);
        let router = routes::router(archive, access, self.hub);
        let served = runtime.block_on(async {
            let listener = tokio::net::TcpListener::from_std(self.listener)?;
            tokio::select! {
                () = connections::serve(listener, router) => {}
                () = self.stop.notified() => {}
            }
            Ok::<(), io::Error>(())
        });
        // A report that is just being made is waited for by nobody.
        runtime.shutdown_background();
        served.map_err(ServeError::Start)
    }
}
