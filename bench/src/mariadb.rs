//! The MariaDB that both sides are measured on.

use crate::bare::{BareConnection, Dialect, address};
use crate::server::{BENCH, LOOPBACK};
use crate::{Result, Server};
use dyno_target::embedded::home_folder;
use dyno_target::mysql::Client;
use dyno_target::mysql::address::{ConnectionInfo, Host};
use dyno_target::mysql::embedded::{self, Embedded, EmbeddedOptions};
use dyno_wire::{MyConfig, MySession, Protocol, Secret};
use std::path::PathBuf;
use std::sync::Arc;

/// For loads of many connections at once, and their statements; those of the program before may still be there. What an
/// update costs its client does not depend on when it is durable, but what a run's begin and end add to it depends on
/// how many there are: so nobody waits for the disk.
pub const BUSY_MARIADB: [(&str, &str); 5] = [
    ("max_connections", "10100"),
    ("back_log", "4096"),
    ("max_prepared_stmt_count", "1000000"),
    ("innodb_flush_log_at_trx_commit", "2"),
    ("innodb_log_file_size", "1G"),
];

/// An embedded MariaDB with an empty database, and a user `bench` who may log in over TCP and over the unix socket.
pub struct BenchMariadb {
    server: embedded::Server,
}

impl BenchMariadb {
    /// Starts it.
    ///
    /// # Errors
    /// The server, the user or the database cannot be made.
    pub fn start() -> Result<Self> {
        Self::start_with(&[])
    }

    /// Starts it with further settings, which win over the usual ones.
    ///
    /// # Errors
    /// The server, the user or the database cannot be made.
    pub fn start_with(further: &[(&str, &str)]) -> Result<Self> {
        let mut options = EmbeddedOptions::new(home_folder(&|name| std::env::var(name).ok())?);
        options.cluster = BENCH.to_owned();
        let embedded = Embedded::prepare(&options, &mut |_| {})?;
        let usual = [("max_connections", "600"), ("innodb_buffer_pool_size", "256M")];
        let settings: Vec<_> = usual
            .iter()
            .chain(further)
            .map(|&(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let server = embedded.start(&settings, &mut |_| {})?;
        let mut admin = server.connection("mysql").connect()?;
        for statement in [
            format!("create or replace database {BENCH}"),
            format!("create or replace user {BENCH} identified by '{BENCH}'"),
            format!("grant all on {BENCH}.* to {BENCH}"),
        ] {
            admin.execute(&statement)?;
        }
        Ok(Self { server })
    }

    /// A connection to its database as its superuser.
    ///
    /// # Errors
    /// It does not answer.
    pub fn connect(&self) -> Result<Client> {
        Ok(self.connection(false).connect()?)
    }

    /// Its version.
    ///
    /// # Errors
    /// It does not answer.
    pub fn version(&self) -> Result<String> {
        let version = self.connect()?.query_first("select version()")?;
        version.ok_or_else(|| "the server does not say its version".into())
    }

    fn connection(&self, tcp: bool) -> ConnectionInfo {
        match tcp {
            true => self.server.connection_tcp(BENCH),
            false => self.server.connection(BENCH),
        }
    }
}

impl Server for BenchMariadb {
    fn host(&self, tcp: bool) -> String {
        match self.connection(tcp).host {
            Host::Unix(path) => path.display().to_string(),
            Host::Tcp { name, .. } => name,
        }
    }

    fn port(&self) -> u16 {
        self.server.port()
    }

    fn address(&self, tcp: bool) -> String {
        let (host, port) = (self.host(tcp), self.port());
        match tcp {
            true => format!("mysql://{BENCH}:{BENCH}@{host}:{port}/{BENCH}"),
            false => format!("mysql://{BENCH}:{BENCH}@localhost/{BENCH}?socket={host}"),
        }
    }

    fn socket(&self) -> PathBuf {
        self.host(false).into()
    }

    fn bare(&self, tcp: bool, sql: &str, protocol: Protocol) -> Result<BareConnection> {
        let config = Arc::new(MyConfig {
            user: BENCH.to_owned(),
            password: Some(Secret::new(BENCH)),
            database: BENCH.to_owned(),
            local: !tcp,
            ..MyConfig::default()
        });
        let address = address(&self.host(true), self.port(), &self.socket(), tcp)?;
        BareConnection::open(
            address,
            || MySession::new(config.clone()),
            Dialect::Mysql,
            sql,
            protocol,
        )
    }

    fn slap_options(&self, tcp: bool) -> Option<Vec<String>> {
        let mut options = vec![
            format!("--user={BENCH}"),
            format!("--password={BENCH}"),
            format!("--create-schema={BENCH}"),
            "--skip-ssl".to_owned(),
        ];
        if tcp {
            options.push("--protocol=tcp".to_owned());
            options.push(format!("--host={LOOPBACK}"));
            options.push(format!("--port={}", self.port()));
        } else {
            options.push(format!("--socket={}", self.host(false)));
        }
        Some(options)
    }

    fn sysbench_options(&self, tcp: bool) -> Vec<String> {
        let mut options = vec![
            "--db-driver=mysql".to_owned(),
            format!("--mysql-user={BENCH}"),
            format!("--mysql-password={BENCH}"),
            format!("--mysql-db={BENCH}"),
        ];
        if tcp {
            options.push(format!("--mysql-host={LOOPBACK}"));
            options.push(format!("--mysql-port={}", self.port()));
        } else {
            options.push(format!("--mysql-socket={}", self.host(tcp)));
        }
        options
    }
}
