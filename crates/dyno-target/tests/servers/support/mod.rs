//! A server for several tests: started by the first that asks, stopped when the last that uses it is done.

pub mod as_mysql;
pub mod holder;
pub mod real_mysql;
pub mod stand_in;
pub mod watch;
pub mod watched;

use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Progress, Server};
use std::collections::BTreeMap;
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
pub struct Shared {
    // Dropped in this order: first the server stops, then the cluster is free.
    pub server: Server,
    _embedded: Embedded,
}

/// The server that all tests share which name this cluster.
pub fn shared_server(cluster: &'static str) -> Arc<Shared> {
    static SHARED: Mutex<BTreeMap<&str, Weak<Shared>>> = Mutex::new(BTreeMap::new());
    let mut shared = SHARED.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
    if let Some(running) = shared.get(cluster).and_then(Weak::upgrade) {
        return running;
    }
    let embedded = Embedded::prepare(&options(cluster), &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    let started = Arc::new(Shared {
        server,
        _embedded: embedded,
    });
    shared.insert(cluster, Arc::downgrade(&started));
    started
}
