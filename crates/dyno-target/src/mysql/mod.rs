//! MariaDB and MySQL under test: where the server is, how to start it, how to fill it, and what it reports about
//! itself.
//!
//! Both speak one protocol and nearly one SQL; [`address`] finds a server, [`embedded`] brings a private MariaDB.
//! Nothing here knows what is being measured.

pub mod address;
pub mod embedded;

mod client;

pub use client::{Client, ClientError};
