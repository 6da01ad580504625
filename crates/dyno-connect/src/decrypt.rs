//! What TLS has carried: the one place where what came from a socket is taken in.

use rustls::ClientConnection;
use std::io::{self, BufRead};

/// Takes in `encrypted`, which came from the socket, and hands on what it says, and what was taken in before. Gives
/// whether the peer has ended TLS: whatever follows that is not part of what was encrypted, and is dropped.
///
/// # Errors
/// As TLS reports them.
pub fn decrypt(tls: &mut ClientConnection, mut encrypted: &[u8], sink: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    loop {
        let is_over = hand_on(tls, sink)?;
        if is_over || encrypted.is_empty() {
            return Ok(is_over);
        }
        tls.read_tls(&mut encrypted)?;
        tls.process_new_packets().map_err(io::Error::other)?;
    }
}

/// Hands on what is decrypted. Gives whether that was the last.
fn hand_on(tls: &mut ClientConnection, sink: &mut impl FnMut(&[u8])) -> io::Result<bool> {
    let mut reader = tls.reader();
    loop {
        let length = match reader.fill_buf() {
            Ok([]) => return Ok(true),
            Ok(plain) => {
                sink(plain);
                plain.len()
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => return Ok(false),
            Err(error) => return Err(error),
        };
        reader.consume(length);
    }
}
