//! MariaDB and MySQL under test: where the server is, how to start it, how to fill it, and what it reports about
//! itself.
//!
//! Both speak one protocol and nearly one SQL; [`address`] finds a server, [`embedded`] brings a private MariaDB,
//! [`load`] fills it, [`data`] makes the database that a run works on, [`facts`], [`sizes`] and [`sampler`] read
//! what it says of itself. Nothing here knows what is being measured.

pub mod address;
pub mod data;
pub mod embedded;
pub mod facts;
pub mod load;
pub mod sampler;
pub mod sizes;

mod client;
mod connections;
mod database;
mod endpoint;
mod error;
mod examine;
mod executed;
mod external;
mod foreign;
mod instance;
mod lock;
mod own_data;
mod persisted;
mod plans;
mod process;
mod redo_log;
mod rights;
mod rows;
mod scope;
mod settings;
mod traits;
mod underway;
mod variables;

use crate::stopping::connected;
use crate::target::{Embedded, Environment, External, Keyword, Product, StopFlag, TargetError};
use address::ConnectionInfo;
use dyno_record::Storage;
use dyno_script::Lexis;
use std::sync::Arc;

pub use client::{Client, ClientError};
pub use database::MysqlDatabase;
pub use endpoint::EndpointError;
pub use scope::Scope;

/// What InnoDB adds to each row: a header of 5 bytes, its transaction's number of 6, and a pointer of 7 to what it was
/// before (MySQL Reference Manual, "InnoDB Row Formats").
const ROW_BYTES: u64 = 5 + 6 + 7;

/// What private servers are called behind `embedded:`.
const MARIADB: &str = "mariadb";
const MYSQL: &str = "mysql";

/// MariaDB and MySQL among the kinds of databases.
pub struct Mysql;

impl Product for Mysql {
    fn key(&self) -> &'static str {
        "mysql"
    }

    fn name(&self) -> &'static str {
        "MariaDB and MySQL"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &address::SCHEMES
    }

    fn keyword(&self, keyword: &str) -> Option<Keyword> {
        address::is_parameter(keyword).then_some(Keyword::Plain)
    }

    fn lexis(&self) -> Lexis {
        Lexis::Mysql
    }

    fn settings(&self) -> Box<dyn Iterator<Item = &'static str>> {
        Box::new(std::iter::empty())
    }

    fn locale(&self, _text: &str) -> Result<String, String> {
        Err("a database has no locale here, but each column a collation".to_owned())
    }

    fn storage(&self, _is_embedded: bool) -> Storage {
        Storage {
            row_bytes: ROW_BYTES,
            is_clustered: true,
            makes_copies: false,
        }
    }

    fn embedded_names(&self) -> &'static [&'static str] {
        &[MARIADB, MYSQL]
    }

    fn private_servers(&self) -> &'static [&'static str] {
        &["embedded:mariadb", "embedded:mariadb:system", "embedded:mysql:system"]
    }

    fn embedded(
        &self,
        name: &str,
        version: Option<&str>,
        environment: Environment<'_>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Embedded>, TargetError> {
        let home = crate::embedded::home_folder(environment)?;
        let mut options = embedded::EmbeddedOptions::new(home);
        options.stop = Arc::clone(stop);
        if name == MYSQL {
            options.maker = embedded::Maker::Mysql;
            options.version.clear();
        }
        if let Some(version) = version {
            version.clone_into(&mut options.version);
        }
        if name == MYSQL {
            options.check()?;
        }
        Ok(Box::new(options))
    }

    fn external(&self, address: &str, environment: Environment<'_>) -> Result<Arc<dyn External>, TargetError> {
        let resolved = ConnectionInfo::resolve(address, environment);
        Ok(Arc::new(resolved.map_err(TargetError::other)?))
    }
}

/// Opens a connection, unless `stop` is raised before it stands. What is asked on it is cancelled when that is raised.
fn connect_until(info: &ConnectionInfo, stop: &StopFlag) -> Result<Client, TargetError> {
    let (own, heeded) = (info.clone(), Arc::clone(stop));
    connected(stop, move || own.connect_heeding(&heeded))
}

/// The same address narrowed to the first host that lets us in, so that all connections go to one server.
fn reachable_until(info: &ConnectionInfo, stop: &StopFlag) -> Result<ConnectionInfo, TargetError> {
    let (own, heeded) = (info.clone(), Arc::clone(stop));
    connected(stop, move || {
        let found = own.connect_any(&heeded);
        found.map(|(_, host)| own.narrowed(host))
    })
}
