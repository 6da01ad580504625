//! A database under test: where it is, how to start and set it, how to fill it, and what it reports about itself.
//!
//! A benchmark is only as good as the server it runs on, so everything that touches a server outside the measured
//! statements is here. [`target`] is what all databases have in common, each of which has a folder of its own,
//! [`postgres`], [`mysql`] and [`oracle`]; [`embedded`] is how a private server is brought, [`kept`] what stays of it.
//! [`table_file`] reads rows that stand in files.
//! [`host`] is the machine, whatever database is measured, and [`sampler`] is what all sources of numbers have in
//! common. Nothing here knows what is being measured.

pub mod embedded;
pub mod host;
pub mod kept;
pub mod mysql;
pub mod oracle;
pub mod postgres;
pub mod sampler;
pub mod table_file;
pub mod target;

mod batches;
mod mark;
mod nearest;
mod notice;
mod patience;
mod plans;
mod restart;
mod row;
mod stopping;
mod unencoded;
mod values;
