//! Asking a server to stop what another connection is doing.

/// What identifies a connection to the server in a cancel request.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BackendKey {
    /// The server process.
    pub process_id: i32,
    /// What shows that we are the one who opened the connection.
    pub secret: i32,
}

/// The request code of a CancelRequest: 1234 in the high half, 5678 in the low one.
const CANCEL_CODE: i32 = 80_877_102;

/// The message to send, alone, on a new connection to the same server; it is not answered. Servers take it without
/// encryption however the first connection is encrypted; then whoever listens in can cancel by it, too.
pub fn cancel_request(key: &BackendKey) -> [u8; 16] {
    let mut message = [0; 16];
    let fields = [16, CANCEL_CODE, key.process_id, key.secret];
    for (place, field) in message.chunks_exact_mut(4).zip(fields) {
        place.copy_from_slice(&field.to_be_bytes());
    }
    message
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::message::frontend;

    #[test]
    fn agrees_with_postgres_protocol() {
        let key = BackendKey {
            process_id: 4711,
            secret: -559_038_737,
        };
        let mut expected = BytesMut::new();
        frontend::cancel_request(key.process_id, key.secret, &mut expected);
        assert_eq!(cancel_request(&key)[..], expected[..]);
    }
}
