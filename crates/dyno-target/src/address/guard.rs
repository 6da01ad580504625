//! What a server may send before it has let us in.

use dyno_wire::{AuthenticationGuard, Channel};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

/// How much a server may send until it is ready for the first query, in bytes. PostgreSQL sends less than a thousand.
const MAX_BYTES: u64 = 1 << 20;

/// Type byte and length.
const HEADER_BYTES: usize = 5;

/// Whatever moves a connection's bytes.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection on which the log-in may not take more than [`MAX_BYTES`].
///
/// The messages of the log-in are looked at on their way, because whoever reads them makes room for the length that a message announces. Nothing
/// is looked at once the server is ready. Nor does the crate that logs in know of a policy of authentication: it never sees a request that is refused.
pub(super) struct Guarded {
    wire: Box<dyn Wire>,
    authentication: AuthenticationGuard,
    log_in: Option<LogIn>,
}

/// Where in the messages of the log-in the bytes so far ended.
#[derive(Default)]
struct LogIn {
    /// What the messages so far have announced.
    announced: u64,
    header: [u8; HEADER_BYTES],
    /// How much of the header is here.
    header_length: usize,
    /// How much of the message's body is to come.
    left: usize,
}

impl LogIn {
    /// Goes through what was received. True once the server has said that it is ready.
    fn advance(&mut self, mut received: &[u8]) -> io::Result<bool> {
        loop {
            let skipped = received.len().min(self.left);
            self.left -= skipped;
            received = &received[skipped..];
            let Some((&byte, rest)) = received.split_first() else {
                return Ok(false);
            };
            self.header[self.header_length] = byte;
            self.header_length += 1;
            received = rest;
            if self.header_length < HEADER_BYTES {
                continue;
            }
            self.header_length = 0;
            let [tag, length @ ..] = self.header;
            // The length counts itself, not the type byte.
            let length = u32::from_be_bytes(length);
            self.announced += u64::from(length) + 1;
            if self.announced > MAX_BYTES {
                return Err(too_much());
            }
            if tag == b'Z' {
                return Ok(true);
            }
            // Shorter than itself: whoever reads the message will say so.
            self.left = (length as usize).saturating_sub(HEADER_BYTES - 1);
        }
    }
}

#[cold]
fn too_much() -> io::Error {
    let what = format!(
        "the server sends more than {} MiB before it lets anybody in",
        MAX_BYTES >> 20
    );
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Guarded {
    pub(super) fn new(wire: Box<dyn Wire>, authentication: AuthenticationGuard) -> Self {
        Self {
            wire,
            authentication,
            log_in: Some(LogIn::default()),
        }
    }
}

impl AsyncRead for Guarded {
    fn poll_read(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        let before = buffer.filled().len();
        ready!(Pin::new(&mut self.wire).poll_read(context, buffer))?;
        let received = &buffer.filled()[before..];
        if let Some(log_in) = &mut self.log_in
            && log_in.advance(received)?
        {
            self.log_in = None;
        }
        self.authentication.inspect(received).map_err(io::Error::other)?;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for Guarded {
    fn poll_write(mut self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        Pin::new(&mut self.wire).poll_write(context, bytes)
    }

    fn poll_flush(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_flush(context)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.wire).poll_shutdown(context)
    }
}

impl TlsStream for Guarded {
    fn channel_binding(&self) -> ChannelBinding {
        match self.authentication.channel() {
            Some(Channel::Tls(Some(hash))) => ChannelBinding::tls_server_end_point(hash.clone()),
            _ => ChannelBinding::none(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn message(tag: u8, body: &[u8]) -> Vec<u8> {
        let length = u32::try_from(body.len() + 4).unwrap();
        [&[tag][..], &length.to_be_bytes(), body].concat()
    }

    fn announcing(tag: u8, length: u32) -> Vec<u8> {
        [&[tag][..], &length.to_be_bytes()].concat()
    }

    #[test]
    fn an_announced_length_is_refused_before_its_bytes_come() {
        for length in [1 << 20, 1 << 30, u32::MAX] {
            for tag in [b'R', b'E', b'S', b'N', b'Z', b'H'] {
                assert!(LogIn::default().advance(&announcing(tag, length)).is_err());
            }
        }
        // Too short for itself is for whoever reads the message.
        assert!(!LogIn::default().advance(&announcing(b'R', 0)).unwrap());
    }

    #[test]
    fn many_short_messages_are_refused_too() {
        let report = message(b'S', b"name\0value\0");
        let mut log_in = LogIn::default();
        let most = (1 << 20) / report.len();
        for _ in 0..most {
            assert!(!log_in.advance(&report).unwrap());
        }
        assert!(log_in.advance(&report).is_err());
    }

    proptest! {
        /// However the bytes are cut, a log-in ends with the server being ready, and not before.
        #[test]
        fn a_log_in_of_any_pieces_ends(
            bodies in proptest::collection::vec((prop::sample::select(b"RSKNE".to_vec()), proptest::collection::vec(any::<u8>(), 0..50)), 0..20),
            piece in 1_usize..40,
        ) {
            let mut bytes: Vec<u8> = bodies.iter().flat_map(|(tag, body)| message(*tag, body)).collect();
            let before_ready = bytes.len();
            bytes.extend(message(b'Z', b"I"));
            let mut log_in = LogIn::default();
            let mut seen = 0;
            let mut ready = false;
            for part in bytes.chunks(piece) {
                ready = log_in.advance(part).unwrap();
                seen += part.len();
                if ready {
                    break;
                }
            }
            prop_assert!(ready);
            prop_assert!(seen >= before_ready + HEADER_BYTES);
        }
    }
}
