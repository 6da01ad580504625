//! The PostgreSQL behind the stand-ins of a test binary: started by the first that asks, stopped by the last that uses
//! it.

use dyno_oracle_standin::Postgres;
use dyno_target::postgres::address::Socket;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server, create_from_template, drop_database};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A server with the right to be there.
struct Behind {
    // Dropped in this order: first the server stops, then the cluster is free.
    server: Server,
    _embedded: Embedded,
}

/// Executors on a database, and the server that it is on.
pub struct Database {
    pub executors: Postgres,
    _behind: Arc<Behind>,
}

/// A fresh database of this name.
pub fn database(name: &str) -> Database {
    let behind = server();
    let mut client = behind.server.connection("postgres").connect().unwrap();
    drop_database(&mut client, name).unwrap();
    create_from_template(&mut client, "template0", name).unwrap();
    let Socket::Unix(socket) = behind.server.connection(name).endpoint().unwrap().socket else {
        panic!("an embedded server has a socket of its own");
    };
    let mut config = postgres::Config::new();
    config.host_path(socket.parent().unwrap()).port(behind.server.port());
    // Deadlocks are found sooner.
    config.user("postgres").dbname(name).options("-c deadlock_timeout=100ms");
    Database {
        executors: Postgres::prepare(config, "bench").unwrap(),
        _behind: behind,
    }
}

fn server() -> Arc<Behind> {
    static BEHIND: Mutex<Weak<Behind>> = Mutex::new(Weak::new());
    let mut behind = BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = behind.upgrade() {
        return running;
    }
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
    let mut options = EmbeddedOptions::new(home);
    "tests-oracle-standin".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| {}).unwrap();
    let server = embedded.start(&[], &mut |_| {}).unwrap();
    let started = Arc::new(Behind {
        server,
        _embedded: embedded,
    });
    *behind = Arc::downgrade(&started);
    started
}
