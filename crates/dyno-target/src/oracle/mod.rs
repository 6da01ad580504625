//! Oracle under test: where the server is, how to fill it, how to set it, and what it reports about itself.
//!
//! There is no private Oracle: its licence lets nobody hand it on. [`address`] finds a server, [`data`] and `load` fill
//! the schema of its user, `settings` changes parameters, [`facts`], [`sizes`] and [`sampler`] read what it says of
//! itself, from views that everybody may read who was given the right: none belongs to a pack that is licensed apart
//! (`views`). What is asked beside a load goes through Oracle's own crate, one connection a thread. Nothing here knows
//! what is being measured.

pub mod address;
pub mod data;
pub mod facts;
pub mod sampler;
pub mod sizes;

mod cache;
mod client;
mod connections;
mod database;
mod endpoint;
mod error;
mod examine;
mod external;
mod load;
mod lock;
mod own_data;
mod own_session;
mod parameters;
mod plans;
mod rights;
mod rows;
mod settings;
mod statement;
mod text;
mod traits;
mod trial;
mod unharmed;
mod views;
mod worker;

use crate::stopping::connected;
use crate::target::{Embedded, Environment, External, Keyword, Product, StopFlag, TargetError};
use address::ConnectionInfo;
use dyno_record::Storage;
use dyno_script::Lexis;
use std::sync::Arc;

pub use client::{Client, ClientError};
pub use database::OracleDatabase;
pub use endpoint::EndpointError;
pub use unharmed::unharmed;

/// What a block adds to each row: three bytes before it and two in the block's directory of rows (Oracle Database
/// Concepts, "Row Format").
const ROW_BYTES: u64 = 3 + 2;

/// Oracle among the kinds of databases.
pub struct Oracle;

impl Product for Oracle {
    fn key(&self) -> &'static str {
        "oracle"
    }

    fn name(&self) -> &'static str {
        "Oracle"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &address::SCHEMES
    }

    fn takes_names(&self) -> bool {
        true
    }

    fn keyword(&self, keyword: &str) -> Option<Keyword> {
        match keyword {
            address::WALLET_PASSWORD => Some(Keyword::Secret(address::WALLET_PASSWORD)),
            keyword => address::is_parameter(keyword).then_some(Keyword::Plain),
        }
    }

    fn lexis(&self) -> Lexis {
        Lexis::Oracle
    }

    fn settings(&self) -> Box<dyn Iterator<Item = &'static str>> {
        Box::new(std::iter::empty())
    }

    fn locale(&self, _text: &str) -> Result<String, String> {
        Err("a database has one character set from its making on".to_owned())
    }

    fn storage(&self, _is_embedded: bool) -> Storage {
        Storage {
            row_bytes: ROW_BYTES,
            is_clustered: false,
            makes_copies: false,
        }
    }

    fn embedded_names(&self) -> &'static [&'static str] {
        &[]
    }

    fn embedded(
        &self,
        _name: &str,
        _version: Option<&str>,
        _environment: Environment<'_>,
        _stop: &StopFlag,
    ) -> Result<Box<dyn Embedded>, TargetError> {
        Err(TargetError::other(
            "there is no private Oracle; give the address of a running server with --target oracle://user@host/service",
        ))
    }

    fn external(&self, address: &str, environment: Environment<'_>) -> Result<Arc<dyn External>, TargetError> {
        let resolved = ConnectionInfo::resolve(address, environment);
        Ok(Arc::new(resolved.map_err(TargetError::other)?))
    }
}

/// Opens a connection, unless `stop` is raised before it stands. What is asked on it is not waited for any more when
/// that is raised.
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
