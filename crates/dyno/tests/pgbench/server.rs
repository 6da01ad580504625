//! The server that both programs talk to, with a database for each group of cases.

use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server, create_from_template, drop_database};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError, Weak};

/// A running server with the right to be there.
struct Shared {
    // Dropped in this order: first the server stops, then the cluster is free.
    server: Server,
    _embedded: Embedded,
}

/// A database of the shared server.
pub struct Database {
    shared: Arc<Shared>,
    name: String,
}

fn shared() -> Arc<Shared> {
    static SHARED: Mutex<Weak<Shared>> = Mutex::new(Weak::new());
    let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(running) = shared.upgrade() {
        return running;
    }
    // The home that the other tests use: PostgreSQL is fetched once.
    let home = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
    let mut options = EmbeddedOptions::new(home);
    "tests-pgbench".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    let settings = [("max_connections", "60"), ("fsync", "off"), ("autovacuum", "off")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let server = embedded.start(&settings, &mut |_| ()).unwrap();
    let started = Arc::new(Shared {
        server,
        _embedded: embedded,
    });
    *shared = Arc::downgrade(&started);
    started
}

impl Database {
    /// A fresh, empty one.
    pub fn new(name: &str) -> Self {
        let shared = shared();
        let mut client = shared.server.connection("postgres").connect().unwrap();
        drop_database(&mut client, name).unwrap();
        create_from_template(&mut client, "template0", name).unwrap();
        Self {
            shared,
            name: name.to_owned(),
        }
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    fn info(&self) -> ConnectionInfo {
        self.shared.server.connection(&self.name)
    }

    /// What makes libpq connect to it.
    pub fn environment(&self) -> Vec<(&'static str, String)> {
        let info = self.info();
        let host = info.hosts().next().unwrap().to_string();
        let (folder, _) = host.rsplit_once('/').unwrap();
        vec![
            ("PGHOST", folder.to_owned()),
            ("PGPORT", self.shared.server.port().to_string()),
            ("PGUSER", info.user().to_owned()),
            ("PGDATABASE", self.name.clone()),
        ]
    }

    /// Runs SQL.
    pub fn execute(&self, sql: &str) {
        self.info().connect().unwrap().batch_execute(sql).unwrap();
    }

    /// The rows of a query as text.
    pub fn rows(&self, query: &str) -> String {
        let mut client = self.info().connect().unwrap();
        let query = format!("select coalesce(string_agg(r::text, E'\\n'), '') from ({query}) r");
        client.query_one(&query, &[]).unwrap().get(0)
    }
}
