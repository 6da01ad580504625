//! Whether and how a connection to PostgreSQL is encrypted, with libpq's rules.
//!
//! The way in: send [`ssl_request`], give the answer to [`interpret_answer`]; if it says [`Encryption::Tls`], shake
//! hands with a rustls connection made from [`client_config`] and [`server_name`], then start the session, bound to
//! the encryption by [`server_end_point`]. The transport owns the bytes; here are the decisions. Rules: PostgreSQL
//! documentation, chapter "SSL Support" of libpq.

mod certificate;
mod config;
mod error;
mod mode;
mod verifier;
mod words;

pub use certificate::server_end_point;
pub use config::{ClientIdentity, ClientOptions, Roots, Versions, client_config, server_name};
pub use error::TlsError;
pub use mode::{Encryption, SslMode, interpret_answer, ssl_request};
pub use words::Words;
