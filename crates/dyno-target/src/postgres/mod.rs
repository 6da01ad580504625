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
pub mod sampler;
pub mod schema;
pub mod scope;
pub mod settings;
pub mod sizes;
pub mod tablespaces;

mod client;
mod notice;

pub use client::{Client, Transaction};
pub use notice::server_message;
