//! What a server may send: little before it has let us in, and afterwards nothing without end that is kept.

use dyno_wire::{AuthenticationGuard, Channel, LogInMethod};
use std::io;
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio_postgres::tls::{ChannelBinding, TlsStream};

/// How much a server may send until it is ready for the first query, in bytes. PostgreSQL sends less than a thousand.
const MAX_BYTES: u64 = 1 << 20;

/// The longest message after the log-in, in bytes.
const MAX_MESSAGE_BYTES: u64 = 64 << 20;

/// How much of what nobody asked for (reports of settings, notices, notifications) may come before an answer is
/// complete, in bytes.
const MAX_ASIDE_BYTES: u64 = 16 << 20;

/// Type byte and length.
const HEADER_BYTES: usize = 5;

/// Whatever moves a connection's bytes.
pub(super) trait Wire: AsyncRead + AsyncWrite + Send + Unpin {}

impl<T: AsyncRead + AsyncWrite + Send + Unpin> Wire for T {}

/// A connection on which the log-in may not take more than [`MAX_BYTES`].
///
/// Messages are looked at on their way, because whoever reads them makes room for the length that a message
/// announces. Nor does the crate that logs in know of a policy of authentication: it never sees a request that is
/// refused.
pub(super) struct Guarded {
    wire: Box<dyn Wire>,
    authentication: AuthenticationGuard,
    messages: Messages,
}

/// Where in the messages the bytes so far ended.
#[derive(Default)]
struct Messages {
    /// The server has let us in.
    is_in: bool,
    /// What the messages so far have announced: all of the log-in, afterwards those that nobody asked for since the
    /// server was ready last.
    announced: u64,
    header: [u8; HEADER_BYTES],
    /// How much of the header is here.
    header_length: usize,
    /// How much of the message's body is to come.
    left: usize,
}

impl Messages {
    /// Goes through what was received.
    fn advance(&mut self, mut received: &[u8]) -> io::Result<()> {
        loop {
            let skipped = received.len().min(self.left);
            self.left -= skipped;
            received = &received[skipped..];
            let Some((&byte, rest)) = received.split_first() else {
                return Ok(());
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
            let bytes = u64::from(length) + 1;
            if !self.is_in || matches!(tag, b'S' | b'N' | b'A') {
                self.announced += bytes;
            }
            match self.is_in {
                false if self.announced > MAX_BYTES => return Err(too_much(MAX_BYTES, "before it lets anybody in")),
                true if bytes > MAX_MESSAGE_BYTES => return Err(too_much(MAX_MESSAGE_BYTES, "in one message")),
                true if self.announced > MAX_ASIDE_BYTES => {
                    return Err(too_much(MAX_ASIDE_BYTES, "that nobody asked for, without an answer"));
                }
                _ => {}
            }
            if tag == b'Z' {
                self.is_in = true;
                self.announced = 0;
            }
            // Shorter than itself: whoever reads the message will say so.
            self.left = (length as usize).saturating_sub(HEADER_BYTES - 1);
        }
    }
}

#[cold]
fn too_much(limit: u64, what: &str) -> io::Error {
    let what = format!("the server sends more than {} MiB {what}", limit >> 20);
    io::Error::new(io::ErrorKind::InvalidData, what)
}

impl Guarded {
    pub(super) fn new(wire: Box<dyn Wire>, authentication: AuthenticationGuard) -> Self {
        Self {
            wire,
            authentication,
            messages: Messages::default(),
        }
    }

    /// What the server asks for to let us in.
    pub(super) fn asked(&self) -> LogInMethod {
        self.authentication.asked()
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
        self.messages.advance(received)?;
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
                assert!(Messages::default().advance(&announcing(tag, length)).is_err());
            }
        }
        // Too short for itself is for whoever reads the message.
        Messages::default().advance(&announcing(b'R', 0)).unwrap();
    }

    #[test]
    fn what_comes_after_the_log_in_is_bounded_too() {
        let entered = || {
            let mut messages = Messages::default();
            messages.advance(&message(b'Z', b"I")).unwrap();
            messages
        };
        entered().advance(&announcing(b'D', 60 << 20)).unwrap();
        let error = entered().advance(&announcing(b'D', 0x7fff_fff0)).unwrap_err();
        assert_eq!(error.to_string(), "the server sends more than 64 MiB in one message");
        for tag in [b'S', b'N', b'A'] {
            let report = message(tag, &[b'x'; 1 << 20]);
            let mut messages = entered();
            (0..15).for_each(|_| messages.advance(&report).unwrap());
            messages.advance(&message(b'Z', b"I")).unwrap();
            (0..15).for_each(|_| messages.advance(&report).unwrap());
            assert!(messages.advance(&report).is_err());
        }
        let mut rows = entered();
        (0..100).for_each(|_| rows.advance(&message(b'D', &[b'x'; 1 << 20])).unwrap());
    }

    #[test]
    fn many_short_messages_are_refused_too() {
        let report = message(b'S', b"name\0value\0");
        let mut log_in = Messages::default();
        let most = (1 << 20) / report.len();
        for _ in 0..most {
            log_in.advance(&report).unwrap();
        }
        assert!(log_in.advance(&report).is_err());
    }

    proptest! {
        /// However the bytes are cut, a log-in ends with the server being ready, and not before.
        #[test]
        fn a_log_in_of_any_pieces_ends(
            bodies in proptest::collection::vec((prop::sample::select(b"RSKNE".to_vec()),
                proptest::collection::vec(any::<u8>(), 0..50)), 0..20),
            piece in 1_usize..40,
        ) {
            let mut bytes: Vec<u8> = bodies.iter().flat_map(|(tag, body)| message(*tag, body)).collect();
            let before_ready = bytes.len();
            bytes.extend(message(b'Z', b"I"));
            let mut log_in = Messages::default();
            let mut seen = 0;
            for part in bytes.chunks(piece) {
                log_in.advance(part).unwrap();
                seen += part.len();
                if log_in.is_in {
                    break;
                }
            }
            prop_assert!(log_in.is_in);
            prop_assert!(seen >= before_ready + HEADER_BYTES);
        }
    }
}
