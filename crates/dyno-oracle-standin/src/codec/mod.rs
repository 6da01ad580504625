//! The encodings of Oracle's protocol, as the server's side reads and writes them.
//!
//! `dyno-wire` has a codec of its own for the client's side, and nothing of it is used here: if both sides shared
//! one, a misunderstanding of the protocol would read what it wrote and every test would pass.

mod number;
mod reader;
mod time;
mod writer;

pub(crate) use number::{decode_number, encode_number};
pub(crate) use reader::{Flaw, Reader, text};
pub(crate) use time::{decode_time, encode_date, encode_timestamp, encode_timestamp_tz};
pub(crate) use writer::Writer;
