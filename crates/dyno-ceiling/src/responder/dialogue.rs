//! What the responder says to what it is told: one connection's side of PostgreSQL's protocol, without the connection.
//!
//! Messages are those of the PostgreSQL documentation, "Message Formats". Their contents are not looked into: a
//! header says where the next one begins, and the answer follows from the type alone.

/// Codes that stand in place of a protocol version in a start-up packet.
const CANCEL: u32 = 80_877_102;
const ASK_TLS: u32 = 80_877_103;
const ASK_GSS: u32 = 80_877_104;

/// The longest message whose beginning is kept until the rest arrives: the start-up packet's own limit in PostgreSQL.
const LONGEST_START: usize = 10_000;

/// A message's type and length.
const HEADER: usize = 5;

/// Let in without a password: AuthenticationOk, what libpq and others want to know of a server, BackendKeyData,
/// ReadyForQuery.
const WELCOME: &[u8] = b"R\0\0\0\x08\0\0\0\0\
    S\0\0\0\x18server_version\x0018.0\0\
    S\0\0\0\x19client_encoding\0UTF8\0\
    S\0\0\0\x19server_encoding\0UTF8\0\
    S\0\0\0\x17DateStyle\0ISO, MDY\0\
    S\0\0\0\x11TimeZone\0UTC\0\
    S\0\0\0\x19integer_datetimes\0on\0\
    S\0\0\0\x23standard_conforming_strings\0on\0\
    K\0\0\0\x0c\0\0\0\0\0\0\0\0\
    Z\0\0\0\x05I";

/// RowDescription: one column named `n` of type int4 as text.
const DESCRIPTION: &[u8] = b"T\0\0\0\x1a\0\x01n\0\0\0\0\0\0\0\0\0\0\x17\0\x04\xff\xff\xff\xff\0\0";
/// ParameterDescription of a statement, which has none as far as anybody who asks is told.
const NO_PARAMETERS: &[u8] = b"t\0\0\0\x06\0\0";
/// DataRow with a `1`, CommandComplete.
const ROW: &[u8] = b"D\0\0\0\x0b\0\x01\0\0\0\x011C\0\0\0\x0dSELECT 1\0";
const PARSED: &[u8] = b"1\0\0\0\x04";
const BOUND: &[u8] = b"2\0\0\0\x04";
const CLOSED: &[u8] = b"3\0\0\0\x04";
const READY: &[u8] = b"Z\0\0\0\x05I";

/// One connection.
#[derive(Default)]
pub(super) struct Dialogue {
    started: bool,
    /// The beginning of a message of which not even the header, or of a start-up packet of which not everything is
    /// there.
    beginning: Vec<u8>,
    /// So many bytes of a message are still to come, and of no interest.
    skip: usize,
}

impl Dialogue {
    /// Appends the answers to everything that is complete. False if the connection is to be closed.
    #[inline]
    pub fn answer(&mut self, received: &[u8], out: &mut Vec<u8>) -> bool {
        if self.beginning.is_empty() {
            return self.read(received, out);
        }
        let mut joined = std::mem::take(&mut self.beginning);
        joined.extend_from_slice(received);
        self.read(&joined, out)
    }

    #[inline]
    fn read(&mut self, mut bytes: &[u8], out: &mut Vec<u8>) -> bool {
        loop {
            let skipped = self.skip.min(bytes.len());
            self.skip -= skipped;
            bytes = &bytes[skipped..];
            if bytes.is_empty() {
                return true;
            }
            if !self.started {
                match self.start(bytes, out) {
                    Some(used) => bytes = &bytes[used..],
                    None => return false,
                }
                if !self.beginning.is_empty() {
                    return true;
                }
                continue;
            }
            let [kind, a, b, c, d, ..] = *bytes else {
                self.beginning.extend_from_slice(bytes);
                return true;
            };
            // Whether a statement or a portal is to be described stands at the beginning of the body.
            if kind == b'D' && bytes.len() == HEADER {
                self.beginning.extend_from_slice(bytes);
                return true;
            }
            // The length counts itself but not the type.
            self.skip = u32::from_be_bytes([a, b, c, d]) as usize + 1;
            if self.skip < HEADER || !answer_to(kind, bytes.get(HEADER), out) {
                return false;
            }
        }
    }

    /// Takes a start-up packet, and says how long it was. It is kept in `beginning` as long as it is not complete.
    /// `None` if the connection is to be closed.
    #[cold]
    fn start(&mut self, bytes: &[u8], out: &mut Vec<u8>) -> Option<usize> {
        let length = bytes.first_chunk().map_or(0, |length| u32::from_be_bytes(*length)) as usize;
        if length > LONGEST_START {
            return None;
        }
        if bytes.len() < length.max(8) {
            self.beginning.extend_from_slice(bytes);
            return Some(bytes.len());
        }
        match u32::from_be_bytes(*bytes[4..].first_chunk()?) {
            ASK_TLS | ASK_GSS if length == 8 => out.push(b'N'),
            CANCEL => return None,
            _ if length < 8 => return None,
            _ => {
                self.started = true;
                out.extend_from_slice(WELCOME);
            }
        }
        Some(length)
    }
}

/// Appends the answer to a message of this type. False if it ends the connection.
#[inline]
fn answer_to(kind: u8, first: Option<&u8>, out: &mut Vec<u8>) -> bool {
    match kind {
        b'B' => out.extend_from_slice(BOUND),
        b'E' => out.extend_from_slice(ROW),
        b'S' => out.extend_from_slice(READY),
        b'P' => out.extend_from_slice(PARSED),
        b'Q' => {
            for part in [DESCRIPTION, ROW, READY] {
                out.extend_from_slice(part);
            }
        }
        b'D' => {
            if first == Some(&b'S') {
                out.extend_from_slice(NO_PARAMETERS);
            }
            out.extend_from_slice(DESCRIPTION);
        }
        b'C' => out.extend_from_slice(CLOSED),
        b'H' => {}
        // Terminate, and what a server that copies nothing and asks for no password is not told.
        _ => return false,
    }
    true
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::message::backend::Message;
    use postgres_protocol::message::frontend;

    /// The types of the messages in `answers`, each of which must be whole.
    fn types(answers: &[u8]) -> String {
        let mut rest = BytesMut::from(answers);
        let mut types = String::new();
        while !rest.is_empty() {
            types.push(char::from(rest[0]));
            assert!(Message::parse(&mut rest).unwrap().is_some(), "cut off after {types}");
        }
        types
    }

    /// A conversation with everything that a client sends who only executes statements.
    fn conversation() -> Vec<u8> {
        let mut out = BytesMut::new();
        frontend::startup_message([("user", "somebody")], &mut out).unwrap();
        frontend::parse("P_0", "select $1", [], &mut out).unwrap();
        frontend::describe(b'S', "P_0", &mut out).unwrap();
        frontend::sync(&mut out);
        let value = |_: i32, _: &mut BytesMut| Ok(postgres_protocol::IsNull::Yes);
        assert!(frontend::bind("", "P_0", [], [1], value, [], &mut out).is_ok());
        frontend::describe(b'P', "", &mut out).unwrap();
        frontend::execute("", 0, &mut out).unwrap();
        frontend::close(b'S', "P_0", &mut out).unwrap();
        frontend::flush(&mut out);
        frontend::sync(&mut out);
        frontend::query("select 1", &mut out).unwrap();
        out.to_vec()
    }

    const ANSWERED: &str = "RSSSSSSSKZ1tTZ2TDC3ZTDCZ";

    #[test]
    fn every_message_has_its_answer() {
        let mut out = Vec::new();
        assert!(Dialogue::default().answer(&conversation(), &mut out));
        assert_eq!(types(&out), ANSWERED);
    }

    #[test]
    fn it_does_not_matter_how_the_stream_is_cut() {
        let sent = conversation();
        for length in 1..sent.len() {
            let (mut dialogue, mut out) = (Dialogue::default(), Vec::new());
            for piece in sent.chunks(length) {
                assert!(dialogue.answer(piece, &mut out));
            }
            assert_eq!(types(&out), ANSWERED, "in pieces of {length}");
        }
    }

    #[test]
    fn encryption_is_declined() {
        let mut sent = BytesMut::new();
        frontend::ssl_request(&mut sent);
        let (mut dialogue, mut out) = (Dialogue::default(), Vec::new());
        assert!(dialogue.answer(&sent, &mut out));
        assert_eq!(out, b"N");
        assert!(dialogue.answer(&conversation(), &mut out));
        assert_eq!(types(&out[1..]), ANSWERED);
    }

    #[test]
    fn what_is_no_conversation_ends_the_connection() {
        let start = |rest: &[u8]| {
            let mut out = BytesMut::new();
            frontend::startup_message([("user", "somebody")], &mut out).unwrap();
            [&out[..], rest].concat()
        };
        let cases = [
            start(b"X\0\0\0\x04"),
            start(b"?\0\0\0\x04"),
            start(b"S\0\0\0\0"),
            b"\0\0\0\x10\x04\xd2\x16\x2e\0\0\0\0\0\0\0\0".to_vec(),
            b"\0\0\0\x04\0\x03\0\0".to_vec(),
            b"GET / HTTP/1.1\r\n\r\n".to_vec(),
        ];
        for sent in cases {
            assert!(!Dialogue::default().answer(&sent, &mut Vec::new()), "{sent:?}");
        }
    }
}
