//! A database under test: where it is, how to start and set it, how to fill it, and what it reports about itself.
//!
//! A benchmark is only as good as the server it runs on, so everything that touches a server outside the measured statements is here:
//! [`address`] finds a server as psql would, [`embedded`] brings a private one, [`settings`] makes it run as asked, [`load`] fills
//! it, [`schema`] keeps it apart from what others have, [`tablespaces`] and [`disk`] say whether it has the room, [`cache`] brings its caches into a known state, [`sizes`] and [`sampler`] read its
//! counters and those of the host. Nothing here knows what is being measured.

pub mod address;
pub mod cache;
pub mod disk;
pub mod embedded;
pub mod export;
pub mod facts;
pub mod load;
pub mod lock;
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
