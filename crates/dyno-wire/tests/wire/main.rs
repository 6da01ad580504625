//! Sessions as an engine sees them: bytes in, bytes and events out, without any server.

// Everything here is test code, the functions that are not tests themselves included.
#![allow(clippy::unwrap_used, clippy::panic)]

mod chaos;
mod mysql;
mod replies;
mod results;
mod start_up;
mod support;
mod tls;
