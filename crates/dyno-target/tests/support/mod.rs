//! One server for the tests of a binary: started by the first that asks, stopped when the last that uses it is done.

#[allow(dead_code, reason = "only the tests of data need it")]
pub mod as_mysql;
#[allow(dead_code, reason = "only the tests of a server's life need it")]
pub mod holder;
#[allow(dead_code, reason = "only the tests of MySQL itself need it")]
pub mod real_mysql;
#[allow(dead_code, reason = "only the tests of Oracle need it")]
pub mod stand_in;
#[allow(dead_code, reason = "only the tests of samplers need it")]
pub mod watch;
#[allow(dead_code, reason = "only the tests of MariaDB's samplers need it")]
pub mod watched;

use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Progress, Server};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, Weak};

/// A home that stays between test runs, so that one download serves all.
pub fn home() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dyno-home")
}

/// The pinned release on a cluster of this name.
pub fn options(cluster: &str) -> EmbeddedOptions {
    let mut options = EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    options
}

/// A progress display that shows nothing.
pub fn quiet(_: Progress) {}

/// A server with the right to be there.
#[allow(dead_code, reason = "not every test binary needs the shared server")]
pub struct Shared {
    // Dropped in this order: first the server stops, then the cluster is free.
    pub server: Server,
    _embedded: Embedded,
}

/// The shared server, on the cluster `cluster`.
#[allow(dead_code, reason = "not every test binary needs the shared server")]
pub fn shared_server(cluster: &str) -> Arc<Shared> {
    static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(running) = shared.upgrade() {
        return running;
    }
    let embedded = Embedded::prepare(&options(cluster), &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    let started = Arc::new(Shared {
        server,
        _embedded: embedded,
    });
    *shared = Arc::downgrade(&started);
    started
}
