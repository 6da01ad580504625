//! The server that both sides are measured on.

use crate::Result;
use crate::bare::{BareConnection, Dialect, address};
use dyno_ceiling::Responder;
use dyno_target::postgres::address::Host;
use dyno_target::postgres::embedded::{self, Embedded, EmbeddedOptions, home_folder};
use dyno_wire::{PgConfig, PgSession, Protocol, Secret};
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// As [`crate::BUSY_MARIADB`].
pub const BUSY_POSTGRES: [(&str, &str); 3] = [
    ("max_connections", "1100"),
    ("synchronous_commit", "off"),
    ("max_wal_size", "4GB"),
];

/// An embedded PostgreSQL with pgbench's tables at scale 1 and a role `bench` that may log in over TCP.
pub struct BenchServer {
    server: embedded::Server,
    sockets: PathBuf,
}

/// What the measured processes connect to.
pub trait Server {
    /// What the `PGHOST` variable is to be to reach it over the unix socket, or over TCP.
    fn host(&self, tcp: bool) -> String;

    /// Its port, which is also in the name of PostgreSQL's unix socket.
    fn port(&self) -> u16;

    /// What dyno is told as its target. For PostgreSQL the variables of [`server_environment`] say the rest.
    ///
    /// [`server_environment`]: crate::server_environment
    fn address(&self, _tcp: bool) -> String {
        "postgres://".to_owned()
    }

    /// Its unix socket.
    fn socket(&self) -> PathBuf {
        Path::new(&self.host(false)).join(format!(".s.PGSQL.{}", self.port()))
    }

    /// A connection to execute `sql` on, whose `$1` is a number, again and again.
    ///
    /// # Errors
    /// It cannot be made, or the statement not be prepared.
    fn bare(&self, tcp: bool, sql: &str, protocol: Protocol) -> Result<BareConnection> {
        let config = Arc::new(PgConfig {
            user: BENCH.to_owned(),
            password: Some(Secret::new(BENCH)),
            database: BENCH.to_owned(),
            ..PgConfig::default()
        });
        let address = address(&self.host(true), self.port(), &self.socket(), tcp)?;
        BareConnection::open(
            address,
            || PgSession::new(config.clone()),
            Dialect::Postgres,
            sql,
            protocol,
        )
    }

    /// The options that tell mariadb-slap where it is; `None` if it cannot be driven by that.
    fn slap_options(&self, _tcp: bool) -> Option<Vec<String>> {
        None
    }

    /// The options that tell sysbench where it is.
    fn sysbench_options(&self, tcp: bool) -> Vec<String> {
        vec![
            "--db-driver=pgsql".to_owned(),
            format!("--pgsql-host={}", self.host(tcp)),
            format!("--pgsql-port={}", self.port()),
            format!("--pgsql-user={BENCH}"),
            format!("--pgsql-password={BENCH}"),
            format!("--pgsql-db={BENCH}"),
        ]
    }
}

/// The role's name, password and database.
pub const BENCH: &str = "bench";

impl BenchServer {
    /// Starts it, with data that fits the cache many times over.
    ///
    /// # Errors
    /// The server or the data cannot be made.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// Starts it with further settings.
    ///
    /// # Errors
    /// The server or the data cannot be made.
    pub fn start_with(further: &[(&str, &str)]) -> Result<Self> {
        let mut options = EmbeddedOptions::new(home_folder(&|name| std::env::var(name).ok())?);
        options.cluster = BENCH.to_owned();
        let embedded = Embedded::prepare(&options, &mut |_| {})?;
        let settings = [
            ("max_connections", "600"),
            ("shared_buffers", "256MB"),
            ("autovacuum", "off"),
        ];
        let settings = settings.iter().chain(further);
        let settings: Vec<_> = settings
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let server = embedded.start(&settings, &mut |_| {})?;
        let mut admin = server.connection("postgres").connect()?;
        admin.batch_execute("drop database if exists bench")?;
        admin.batch_execute("drop role if exists bench")?;
        admin.batch_execute("create role bench login superuser password 'bench'")?;
        admin.batch_execute("create database bench owner bench")?;
        let mut client = server.connection(BENCH).connect()?;
        client.batch_execute(
            "create table pgbench_branches (bid int primary key, bbalance int, filler char(88));
             create table pgbench_accounts (aid int primary key, bid int, abalance int, filler char(84));
             insert into pgbench_branches values (1, 0, '');
             insert into pgbench_accounts select aid, 1, 0, '' from generate_series(1, 100000) as aid;",
        )?;
        client.batch_execute("vacuum analyze")?;
        log_in_at_once(&mut admin)?;
        let connection = server.connection(BENCH);
        let sockets = connection.hosts().find_map(|host| match host {
            Host::Unix { directory, .. } => Some(directory.clone()),
            Host::Tcp { .. } => None,
        });
        Ok(Self {
            sockets: sockets.ok_or("the embedded server has no unix socket")?,
            server,
        })
    }

    /// A connection to its database as its superuser.
    ///
    /// # Errors
    /// It does not answer.
    pub fn connect(&self) -> Result<dyno_target::postgres::Client> {
        Ok(self.server.connection(BENCH).connect()?)
    }

    /// What it has to say.
    #[must_use]
    pub fn log(&self) -> &Path {
        self.server.log_path()
    }

    /// Its version.
    ///
    /// # Errors
    /// It does not answer.
    pub fn version(&self) -> Result<String> {
        let row = self.connect()?.query_one("show server_version", &[])?;
        Ok(row.get(0))
    }
}

/// Lets [`BENCH`] log in over TCP without a password. Proving one takes milliseconds of a client's CPU, which would
/// count with each run, and with hundreds of clients be most of it.
fn log_in_at_once(admin: &mut dyno_target::postgres::Client) -> Result<()> {
    let file: String = admin.query_one("show hba_file", &[])?.get(0);
    let rules = std::fs::read_to_string(&file)?;
    let rule = format!("host {BENCH} {BENCH} {LOOPBACK}/32 trust\n");
    if !rules.starts_with(&rule) {
        std::fs::write(&file, rule + &rules)?;
    }
    admin.batch_execute("select pg_reload_conf()")?;
    Ok(())
}

pub(crate) const LOOPBACK: &str = "127.0.0.1";

impl Server for BenchServer {
    fn host(&self, tcp: bool) -> String {
        match tcp {
            true => LOOPBACK.to_owned(),
            false => self.sockets.display().to_string(),
        }
    }

    fn port(&self) -> u16 {
        self.server.port()
    }
}

impl Server for Responder {
    fn host(&self, tcp: bool) -> String {
        match tcp {
            true => LOOPBACK.to_owned(),
            false => self.folder().display().to_string(),
        }
    }

    fn port(&self) -> u16 {
        self.port()
    }
}
