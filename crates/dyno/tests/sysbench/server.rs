//! The servers that both programs talk to.

use crate::case::Desk;
use dyno_target::mysql::Client;
use dyno_target::mysql::address::Host;
use dyno_target::{mysql, postgres};
use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

/// The database and its user, who has this password, too.
const NAME: &str = "sbtest";

/// The home that the other tests use: servers are fetched once.
pub fn home() -> PathBuf {
    let own = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
    std::env::var_os("DYNO_HOME").map_or(own, PathBuf::from)
}

/// The MariaDB server; one test at a time, because its log does not tell who asked.
pub struct Mariadb {
    shared: Arc<mysql::embedded::Server>,
    _alone: MutexGuard<'static, ()>,
}

impl Mariadb {
    /// Starts it, unless it runs.
    pub fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        static SHARED: Mutex<Weak<mysql::embedded::Server>> = Mutex::new(Weak::new());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut shared = SHARED.lock().unwrap_or_else(PoisonError::into_inner);
        let server = shared.upgrade().unwrap_or_else(|| {
            let mut options = mysql::embedded::EmbeddedOptions::new(home());
            "tests-sysbench".clone_into(&mut options.cluster);
            let embedded = mysql::embedded::Embedded::prepare(&options, &mut |_| ()).unwrap();
            let settings = [("max_connections", "100"), ("innodb_buffer_pool_size", "64M")];
            let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
            let server = Arc::new(embedded.start(&settings, &mut |_| ()).unwrap());
            let mut admin = server.connection("mysql").connect().unwrap();
            for statement in [
                format!("create or replace user {NAME} identified by '{NAME}'"),
                format!("grant all on {NAME}.* to {NAME}"),
                "set global log_output = 'table'".to_owned(),
            ] {
                admin.execute(&statement).unwrap();
            }
            server
        });
        *shared = Arc::downgrade(&server);
        Self {
            shared: server,
            _alone: alone,
        }
    }

    /// Logs anew what it is asked from now on.
    pub fn forget(&self) {
        let mut admin = self.admin();
        for statement in ["truncate mysql.general_log", "set global general_log = on"] {
            admin.execute(statement).unwrap();
        }
    }

    fn admin(&self) -> Client {
        self.shared.connection("mysql").connect().unwrap()
    }

    /// Where it listens on TCP.
    pub fn port(&self) -> u16 {
        self.shared.port()
    }

    /// The path of its socket.
    pub fn socket(&self) -> String {
        match self.shared.connection(NAME).host {
            Host::Unix(path) => path.display().to_string(),
            Host::Tcp { .. } => panic!("it has a socket"),
        }
    }
}

impl Desk for Mariadb {
    fn options(&self) -> Vec<String> {
        vec![
            "--db-driver=mysql".to_owned(),
            format!("--mysql-socket={}", self.socket()),
            format!("--mysql-user={NAME}"),
            format!("--mysql-password={NAME}"),
            format!("--mysql-db={NAME}"),
        ]
    }

    fn reset(&self, sql: &[&str]) {
        let mut admin = self.admin();
        for statement in [
            "set global general_log = off",
            "truncate mysql.general_log",
            "create or replace database sbtest",
        ] {
            admin.execute(statement).unwrap();
        }
        let mut own = self.shared.connection(NAME).connect().unwrap();
        for statement in sql {
            own.execute(statement).unwrap();
        }
        admin.execute("set global general_log = on").unwrap();
    }

    fn seen(&self, log: bool, rows: Option<&str>) -> String {
        let mut admin = self.admin();
        admin.execute("set global general_log = off").unwrap();
        let mut seen = String::new();
        if log {
            let asked = "select concat(command_type, ' ', convert(argument using utf8mb4)) from mysql.general_log \
                         where user_host like 'sbtest%' and command_type in ('Query', 'Prepare', 'Execute') \
                         and argument not like 'KILL QUERY%'";
            let lines: Vec<String> = admin.query(asked).unwrap();
            seen += &lines.join("\n");
        }
        if let Some(query) = rows {
            let mut own = self.shared.connection(NAME).connect().unwrap();
            let lines: Vec<String> = own.query(query).unwrap();
            seen += &lines.join("\n");
        }
        seen
    }
}

/// The PostgreSQL server, with a database for each group of cases.
pub struct Postgres {
    // Dropped in this order: first the server stops, then the cluster is free.
    server: postgres::embedded::Server,
    _embedded: postgres::embedded::Embedded,
    _alone: MutexGuard<'static, ()>,
}

impl Postgres {
    /// Starts it.
    pub fn start() -> Self {
        static ALONE: Mutex<()> = Mutex::new(());
        let alone = ALONE.lock().unwrap_or_else(PoisonError::into_inner);
        let mut options = postgres::embedded::EmbeddedOptions::new(home());
        "tests-sysbench".clone_into(&mut options.cluster);
        let embedded = postgres::embedded::Embedded::prepare(&options, &mut |_| ()).unwrap();
        let settings = [("max_connections", "60"), ("fsync", "off"), ("autovacuum", "off")];
        let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
        let server = embedded.start(&settings, &mut |_| ()).unwrap();
        Self {
            server,
            _embedded: embedded,
            _alone: alone,
        }
    }

    /// Runs SQL in the programs' database.
    fn execute(&self, sql: &str) {
        self.server
            .connection(NAME)
            .connect()
            .unwrap()
            .batch_execute(sql)
            .unwrap();
    }
}

impl Desk for Postgres {
    fn options(&self) -> Vec<String> {
        let info = self.server.connection(NAME);
        let host = info.hosts().next().unwrap().to_string();
        let (folder, _) = host.rsplit_once('/').unwrap();
        vec![
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={folder}"),
            format!("--pgsql-port={}", self.server.port()),
            format!("--pgsql-user={}", info.user()),
            format!("--pgsql-db={NAME}"),
        ]
    }

    fn reset(&self, sql: &[&str]) {
        let mut admin = self.server.connection("postgres").connect().unwrap();
        postgres::embedded::drop_database(&mut admin, NAME).unwrap();
        postgres::embedded::create_from_template(&mut admin, "template0", NAME).unwrap();
        for statement in sql {
            self.execute(statement);
        }
    }

    fn seen(&self, _: bool, rows: Option<&str>) -> String {
        let Some(query) = rows else { return String::new() };
        let mut client = self.server.connection(NAME).connect().unwrap();
        let query = format!("select coalesce(string_agg(r::text, E'\\n'), '') from ({query}) r");
        client.query_one(&query, &[]).unwrap().get(0)
    }
}
