//! PostgreSQL under test: where it is, how to start and set it, how to fill it, and what it reports about itself.
//!
//! [`address`] finds a server as psql would, [`embedded`] brings a private one, [`settings`] makes it run as asked,
//! [`load`] fills it, [`lock`] reserves it, [`schema`] keeps dyno's data apart from what others have, [`tablespaces`]
//! and [`room`] say whether it has the room, [`cache`] brings its caches into a known state, [`sizes`] and [`sampler`]
//! read its counters. Nothing here knows what is being measured.

pub mod address;
pub mod cache;
pub mod embedded;
pub mod export;
pub mod facts;
pub mod load;
pub mod lock;
pub mod room;
mod rows;
pub mod sampler;
pub mod schema;
pub mod scope;
pub mod settings;
pub mod sizes;
pub mod tablespaces;

mod client;
mod data;
mod database;
mod error;
mod examine;
mod executed;
mod external;
mod foreign;
mod instance;
mod notice;
mod own_data;
mod plans;
mod title;
mod traits;

use crate::target::{Embedded, Environment, External, Keyword, Product, StopFlag, TargetError};
use dyno_record::Storage;
use dyno_script::Lexis;
use std::sync::Arc;

pub use client::{Client, Transaction};
pub use database::PostgresDatabase;
pub use error::AskError;
pub use notice::server_message;
pub(crate) use title::work_of;

/// What is added to each row: its header of 23 bytes, padded, and its pointer in the page.
const ROW_BYTES: u64 = 24 + 4;

/// PostgreSQL among the kinds of databases.
pub struct Postgres;

impl Product for Postgres {
    fn key(&self) -> &'static str {
        "postgres"
    }

    fn name(&self) -> &'static str {
        "PostgreSQL"
    }

    fn schemes(&self) -> &'static [&'static str] {
        &["postgres", "postgresql"]
    }

    fn keyword(&self, keyword: &str) -> Option<Keyword> {
        address::keyword(keyword)
    }

    fn lexis(&self) -> Lexis {
        Lexis::Psql
    }

    fn settings(&self) -> Box<dyn Iterator<Item = &'static str>> {
        Box::new(settings::names())
    }

    fn locale(&self, text: &str) -> Result<String, String> {
        Ok(text.parse::<embedded::Locale>()?.to_string())
    }

    fn storage(&self, is_embedded: bool) -> Storage {
        Storage {
            row_bytes: ROW_BYTES,
            is_clustered: false,
            makes_copies: is_embedded,
        }
    }

    fn embedded_names(&self) -> &'static [&'static str] {
        &["postgres"]
    }

    fn private_servers(&self) -> &'static [&'static str] {
        &["embedded", "embedded:system"]
    }

    fn embedded(
        &self,
        _name: &str,
        version: Option<&str>,
        environment: Environment<'_>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Embedded>, TargetError> {
        let mut options = embedded::EmbeddedOptions::new(embedded::home_folder(environment)?);
        options.stop = Arc::clone(stop);
        if let Some(version) = version {
            version.clone_into(&mut options.version);
        }
        Ok(Box::new(options))
    }

    fn external(&self, address: &str, environment: Environment<'_>) -> Result<Arc<dyn External>, TargetError> {
        Ok(Arc::new(address::ConnectionInfo::resolve(Some(address), environment)?))
    }
}
