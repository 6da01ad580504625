//! A database under test: where it is, how to start and set it, how to fill it, and what it reports about itself.
//!
//! A benchmark is only as good as the server it runs on, so everything that touches a server outside the measured
//! statements is here. [`host`] is the machine, whatever database is measured; [`embedded`] is how a private server is
//! brought; [`sampler`] is what all sources of
//! numbers have in common; each database has a folder of its own, such as [`postgres`]. Nothing here knows what is being
//! measured.

pub mod embedded;
pub mod host;
pub mod postgres;
pub mod sampler;

mod notice;
