//! A stand-in for an Oracle server, on a database of its own.

use super::{Shared, shared_server};
use dyno_oracle_standin::{Options, Postgres, Standin};
use dyno_target::oracle::address::ConnectionInfo;
use dyno_target::postgres::address::Socket;
use std::sync::Arc;

/// It, and where it is.
pub struct StandIn {
    pub standin: Standin,
    pub info: ConnectionInfo,
    /// What it executes statements with, to be changed from behind.
    pub behind: Postgres,
    _server: Arc<Shared>,
}

/// Starts one for the user `bench`, who may see the server's views if this user `sees`.
pub fn start(database: &str, sees: bool) -> StandIn {
    start_as(database, sees, |_| ())
}

/// The same with options of its own.
pub fn start_as(database: &str, sees: bool, set: impl FnOnce(&mut Options)) -> StandIn {
    let server = shared_server("tests-oracle");
    let folder = match server.server.connection("postgres").endpoint().unwrap().socket {
        Socket::Unix(path) => path.parent().unwrap().to_owned(),
        Socket::Tcp(addresses) => unreachable!("{addresses:?}"),
    };
    let mut config = postgres::Config::new();
    config
        .host_path(folder)
        .port(server.server.port())
        .user("postgres")
        .dbname("postgres");
    let mut admin = config.connect(postgres::NoTls).unwrap();
    admin
        .batch_execute(&format!("drop database if exists {database} with (force)"))
        .unwrap();
    admin.batch_execute(&format!("create database {database}")).unwrap();
    config.dbname(database);
    let behind = Postgres::prepare(config, "bench").unwrap();
    let behind = if sees { behind } else { behind.ordinary() };
    let mut options = Options::new(Arc::new(behind.clone()));
    set(&mut options);
    let standin = Standin::start(options).unwrap();
    let address = format!("oracle://bench:secret@{}/shop", standin.address());
    StandIn {
        info: ConnectionInfo::resolve(&address, &|_| None).unwrap(),
        standin,
        behind,
        _server: server,
    }
}
