//! The PostgreSQL behind stand-ins, in tests and examples: started by the first that asks, stopped by the last that
//! uses it.

use dyno_oracle_standin::Postgres;
use dyno_target::postgres::address::Socket;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server, create_from_template, drop_database};
use std::error::Error;
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

/// A fresh database of this name. The server is kept in `home`.
pub fn database(home: &Path, name: &str) -> Result<Database, Box<dyn Error>> {
    let behind = server(home)?;
    let mut client = behind.server.connection("postgres").connect()?;
    drop_database(&mut client, name)?;
    create_from_template(&mut client, "template0", name)?;
    let mut config = postgres::Config::new();
    if let Socket::Unix(socket) = behind.server.connection(name).endpoint()?.socket
        && let Some(folder) = socket.parent()
    {
        config.host_path(folder);
    }
    config.port(behind.server.port()).user("postgres").dbname(name);
    // Deadlocks are found sooner.
    config.options("-c deadlock_timeout=100ms");
    Ok(Database {
        executors: Postgres::prepare(config, "bench")?,
        _behind: behind,
    })
}

fn server(home: &Path) -> Result<Arc<Behind>, Box<dyn Error>> {
    static BEHIND: Mutex<Weak<Behind>> = Mutex::new(Weak::new());
    let mut behind = BEHIND.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = behind.upgrade() {
        return Ok(running);
    }
    let mut options = EmbeddedOptions::new(home.to_owned());
    "oracle-standin".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| {})?;
    let server = embedded.start(&[], &mut |_| {})?;
    let started = Arc::new(Behind {
        server,
        _embedded: embedded,
    });
    *behind = Arc::downgrade(&started);
    Ok(started)
}
