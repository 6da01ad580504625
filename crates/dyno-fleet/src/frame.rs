//! Frames on a stream of bytes: a length of four bytes, little-endian, then as many bytes of a message.
//!
//! The other end may be anything that answers where an agent was expected, so nothing is believed of it: a length is
//! bounded, memory grows only with bytes that have come, and what follows a broken frame is not looked at.

use dyno_text::one_line;
use serde::Serialize;
use serde::de::DeserializeOwned;
use std::io::{self, Read, Write};

/// No frame is longer: an interval takes no more than 32 MiB, and a plan far less.
pub const MOST_BYTES: u32 = 33 << 20;

/// A frame that cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FrameError {
    /// The stream has ended between two frames.
    #[error("the connection was closed")]
    Closed,
    /// The stream has ended, or failed, within one.
    #[error("the connection broke: {0}")]
    Broken(#[from] io::Error),
    /// What comes is no frame.
    #[error("what came is not what dyno agents and their controllers say to each other (a message of {0} bytes)")]
    TooLong(u32),
    /// What comes is text, such as that of a shell; this is how it begins.
    #[error("what came is not what dyno agents and their controllers say to each other, but text: {0}")]
    Text(String),
    /// Its content is no message.
    #[error("what came is not what dyno agents and their controllers say to each other: {0}")]
    Unreadable(postcard::Error),
    /// Something follows the message within its frame.
    #[error("what came is not what dyno agents and their controllers say to each other: {0} bytes too many")]
    Trailing(usize),
}

/// Writes a message and flushes.
///
/// # Errors
/// The stream does not take it, or the message is longer than any may be.
pub fn write<M: Serialize>(out: &mut impl Write, message: &M) -> io::Result<()> {
    // The length is filled in afterwards, so that all of it is one write.
    let bytes = postcard::to_extend(message, vec![0; 4]).map_err(io::Error::other)?;
    let length = u32::try_from(bytes.len() - 4)
        .ok()
        .filter(|length| *length <= MOST_BYTES);
    let Some(length) = length else {
        return Err(io::Error::other(format!(
            "a message of {} bytes is too long",
            bytes.len()
        )));
    };
    let mut bytes = bytes;
    bytes[..4].copy_from_slice(&length.to_le_bytes());
    out.write_all(&bytes)?;
    out.flush()
}

/// Reads a message; `buffer` is memory to be used again.
///
/// # Errors
/// There is none, or what comes is none. Nothing can be read from the stream after that.
pub fn read<M: DeserializeOwned>(input: &mut impl Read, buffer: &mut Vec<u8>) -> Result<M, FrameError> {
    let mut length = [0; 4];
    let mut got = 0;
    while got < length.len() {
        match input.read(&mut length[got..]) {
            Ok(0) if got == 0 => return Err(FrameError::Closed),
            Ok(0) => return Err(FrameError::Broken(io::ErrorKind::UnexpectedEof.into())),
            Ok(read) => got += read,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            Err(error) => return Err(FrameError::Broken(error)),
        }
    }
    let begin = length;
    let length = u32::from_le_bytes(begin);
    if length > MOST_BYTES {
        let is_text = |byte: &u8| byte.is_ascii_graphic() || byte.is_ascii_whitespace();
        return Err(match begin.iter().all(is_text) {
            true => FrameError::Text(text(&begin, input)),
            false => FrameError::TooLong(length),
        });
    }
    buffer.clear();
    // This makes room as bytes come, not for as many as are promised.
    let read = input.by_ref().take(u64::from(length)).read_to_end(buffer)?;
    if read < length as usize {
        return Err(FrameError::Broken(io::ErrorKind::UnexpectedEof.into()));
    }
    let (message, rest) = postcard::take_from_bytes(buffer).map_err(FrameError::Unreadable)?;
    match rest.len() {
        0 => Ok(message),
        rest => Err(FrameError::Trailing(rest)),
    }
}

/// The line that begins so, with what comes next of it.
fn text(begin: &[u8], input: &mut impl Read) -> String {
    let mut rest = [0; 200];
    // Without the rest the begin is all that is known.
    let read = input.read(&mut rest).unwrap_or(0);
    one_line(&String::from_utf8_lossy(&[begin, &rest[..read]].concat()), 80)
}
