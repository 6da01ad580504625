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

pub use client::{Client, ClientError};
