//! The seam between what is done with a database under test and the databases there are.
//!
//! A [`Target`] is what an address names: a private server that dyno makes ([`Embedded`], and [`Instance`] while a
//! campaign holds it) or one that is there already ([`External`]). Both end in a [`Database`] that a run works on,
//! which is asked through a [`Control`]. A new database brings implementations of these, and one line in
//! [`PRODUCTS`].

mod data;
mod database;
mod embedded;
mod error;
mod executed;
mod explain;
mod external;
mod fillable;
mod foreign;
mod named;
mod passwords;
mod progress;
mod room;
mod round_trip;
mod rows;
mod secrets;
mod settings;
mod sizes;
mod sql;
mod trial;
mod whereabouts;

pub use data::{Data, Fill, MakeError, Maker, Needs, RowSource, Sql, State, Wanted};
pub use database::{Control, Database, Description, Reach, Route, SamplerSet};
pub use embedded::{Armed, Embedded, Instance, KillSwitch};
pub use error::TargetError;
pub(crate) use executed::{Counted, between, wait};
pub use executed::{Executed, Statement, Values};
pub use explain::{ToExplain, first_word};
pub use external::{Applied, Change, External, Lock, OwnData, while_held};
pub use fillable::Unfillable;
pub use foreign::{ForeignTables, Oracle, Remote};
pub use named::{EMBEDDED, Environment, PRODUCTS, Product, Target, locale, product, setting_names, storage};
pub use passwords::Passwords;
pub use progress::{Part, Progress};
pub use room::room_for_data;
pub use round_trip::round_trip;
pub use rows::{Asked, MOST_ROWS, TextRows};
pub(crate) use secrets::{HIDDEN, is_misplaced, is_secret, statement_without_secrets};
pub use secrets::{
    Keyword, holds_address, text_without_secrets, without_secrets, word_without_secrets, words_without_secrets,
};
pub use settings::{Difference, Mapped, Restored, Saved, SavedSetting, Unset};
pub use sizes::{DatabaseSizes, TableSizes};
pub use sql::{SqlError, statements};
pub use trial::{Chosen, Trial, Tried, Verdict};
pub use whereabouts::Whereabouts;

pub use crate::values::size_bytes;

use std::sync::Arc;
use std::sync::atomic::AtomicBool;

/// Raised to end what a server is asked and what is waited for.
pub type StopFlag = Arc<AtomicBool>;
