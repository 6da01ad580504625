//! Finding the packets in a stream of bytes, however it is cut into reads.

use std::borrow::Cow;

use super::packet::{FULL, HEADER};
use super::{MyError, POSTGRESQL, malformed};
use crate::WireError;

/// How much of a packet is kept, in bytes; the rest of a longer error is cut off.
pub(super) const MAX_KEPT: usize = 16 * 1024;
/// The longest row a server sends, in bytes (`max_allowed_packet`).
const MAX_ROW: usize = 1 << 30;
/// The longest greeting, in bytes: far longer than any server's.
const MAX_GREETING: usize = 1024;
/// The first byte of a packet that ends rows, and of an error.
const END: u8 = 0xFE;
const ERROR: u8 = 0xFF;

/// What the next packet of the server is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Expect {
    /// The first one on a connection.
    Greeting,
    /// The first one that answers a command. It follows the numbers of the command's packets, which are several if it
    /// is long: whatever it has is right.
    Answer,
    /// A step of the log-in, or the begin of a further result in an answer.
    Reply,
    /// One of so many that describe a result's columns (and end the description); rows follow.
    Columns(u32),
    /// One of so many that describe a prepared statement.
    Preparation(u32),
    /// A row, or what ends the rows.
    Rows,
    /// Nothing: no reply is awaited.
    Nothing,
}

/// What a packet worth a look is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// The first one on a connection.
    Greeting,
    /// A step of the log-in, the beginning of a reply, or of a further result in it.
    Reply,
    /// A column's description, or the end of the descriptions; only when results are kept.
    Column,
    /// The last packet about a prepared statement.
    Prepared,
    /// A row; only when results are kept.
    Row,
    /// The end of the rows, or an error in their stead.
    End,
    /// One that belongs to nothing that was sent.
    Unasked,
}

/// Walks over a server's packets and stops at those worth a look.
///
/// Headers are read in place. Packets nobody looks into (rows and columns above all) are skipped by their length
/// without being stored, however many reads they span; one that is looked into and split between reads is gathered, up
/// to [`MAX_KEPT`] bytes.
pub(super) struct Framing {
    place: Place,
    expect: Expect,
    /// The number the next packet must have.
    sequence: u8,
    /// Whether the next packet continues the payload of a full one.
    continues: bool,
    /// Whether rows and columns are worth a look, whole.
    keep_rows: bool,
    /// Rows passed since the last packet handed out.
    rows: u64,
    /// The part of a payload worth a look that is here.
    gathered: Option<Box<Gathered>>,
}

/// Where in the stream the input so far ended.
enum Place {
    /// Between two packets, or in what shows what a packet is: its header and the payload's first byte, of which the
    /// first `length` bytes are here.
    Header { bytes: [u8; HEADER + 1], length: u8 },
    /// In a payload with `left` bytes to come.
    Payload { left: u32 },
}

const BOUNDARY: Place = Place::Header {
    bytes: [0; HEADER + 1],
    length: 0,
};

/// The begin of a payload to look into.
struct Gathered {
    kind: Kind,
    body: Vec<u8>,
}

/// A packet worth a look.
pub(super) struct Packet<'a> {
    /// What it is.
    pub(super) kind: Kind,
    /// Its payload, at most [`MAX_KEPT`] bytes unless it is a row.
    pub(super) body: Cow<'a, [u8]>,
    /// How many rows were skipped between the packet worth a look before this one and this one.
    pub(super) rows: u64,
}

impl Framing {
    /// At the begin of a stream.
    pub(super) fn new() -> Self {
        Self {
            place: BOUNDARY,
            expect: Expect::Greeting,
            sequence: 0,
            continues: false,
            keep_rows: false,
            rows: 0,
            gathered: None,
        }
    }

    /// Says whether rows and columns are worth a look.
    #[inline]
    pub(super) fn keep_rows(&mut self, keep: bool) {
        self.keep_rows = keep;
    }

    /// Whether rows and columns are worth a look.
    #[inline]
    pub(super) fn keeps_rows(&self) -> bool {
        self.keep_rows
    }

    /// A command was sent, or the one before is answered: what comes next is the answer's begin.
    #[inline]
    pub(super) fn begin_answer(&mut self) {
        self.expect = Expect::Answer;
        self.sequence = 1;
    }

    /// Says what the next packet is.
    #[inline]
    pub(super) fn expect(&mut self, expect: Expect) {
        self.expect = expect;
    }

    /// The number of the packet with which the client goes on in the middle of an exchange; the server's next one has
    /// the number after it.
    pub(super) fn take_number(&mut self) -> u8 {
        let number = self.sequence;
        self.sequence = number.wrapping_add(1);
        number
    }

    /// Whether a part of a reply came, but not its end.
    pub(super) fn in_reply(&self) -> bool {
        let started = match self.place {
            Place::Header { length, .. } => length > 0,
            Place::Payload { .. } => true,
        };
        started || self.continues || matches!(self.expect, Expect::Columns(_) | Expect::Preparation(_) | Expect::Rows)
    }

    /// Advances to the end of the next packet worth a look, if it is in `input`, else to the end of `input`. Returns
    /// how far that was.
    #[inline]
    pub(super) fn next<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Option<Packet<'a>>), WireError> {
        let mut rest = input;
        while matches!(self.place, Place::Header { length: 0, .. }) && !self.continues {
            let Some((&[a, b, c, number], after)) = rest.split_first_chunk::<HEADER>() else {
                break;
            };
            let length = u32::from_le_bytes([a, b, c, 0]) as usize;
            let (Some((body, next)), 0..FULL) = (after.split_at_checked(length), length) else {
                break;
            };
            let kind = self.judge([a, b, c, number], body.first().copied())?;
            rest = next;
            if let Some(kind) = kind {
                let body = Cow::Borrowed(&body[..body.len().min(kept(kind))]);
                let rows = std::mem::take(&mut self.rows);
                return Ok((input.len() - rest.len(), Some(Packet { kind, body, rows })));
            }
        }
        while !rest.is_empty() {
            if let Some(packet) = self.resume(&mut rest)? {
                return Ok((input.len() - rest.len(), Some(packet)));
            }
            // Whole packets are passed faster above.
            if matches!(self.place, Place::Header { length: 0, .. }) && !self.continues {
                let (length, packet) = self.next(rest)?;
                return Ok((input.len() - rest.len() + length, packet));
            }
        }
        Ok((input.len(), None))
    }

    /// What becomes of a packet with this header and first byte: `None` if it is skipped.
    #[inline]
    fn judge(&mut self, header: [u8; HEADER], first: Option<u8>) -> Result<Option<Kind>, WireError> {
        let [.., number] = header;
        if number != self.sequence && !self.is_numbered_freely(first) {
            return Err(self.out_of_order(header, first));
        }
        self.sequence = number.wrapping_add(1);
        match self.expect {
            Expect::Rows => match first {
                // A row that begins like the end holds a text of more than 16 MiB, so it fills its packet.
                Some(END | ERROR) if header[..3] != [0xFF; 3] => {
                    self.expect = Expect::Reply;
                    Ok(Some(Kind::End))
                }
                Some(_) if self.keep_rows => Ok(Some(Kind::Row)),
                Some(_) => {
                    self.rows += 1;
                    Ok(None)
                }
                None => Err(malformed("a row is empty")),
            },
            Expect::Columns(left) => {
                self.expect = match left {
                    0 | 1 => Expect::Rows,
                    _ => Expect::Columns(left - 1),
                };
                Ok(self.keep_rows.then_some(Kind::Column))
            }
            Expect::Answer | Expect::Reply => Ok(Some(Kind::Reply)),
            Expect::Preparation(left) => match left {
                0 | 1 => {
                    self.expect = Expect::Reply;
                    Ok(Some(Kind::Prepared))
                }
                _ => {
                    self.expect = Expect::Preparation(left - 1);
                    Ok(None)
                }
            },
            Expect::Greeting => self.greet(header, first).map(Some),
            Expect::Nothing => Ok(Some(Kind::Unasked)),
        }
    }

    /// Whether a packet may have any number: the first one of an answer, one that nothing was sent for, and an error,
    /// with which a server may end a connection before it has seen what was sent last.
    #[cold]
    fn is_numbered_freely(&self, first: Option<u8>) -> bool {
        match self.expect {
            Expect::Answer | Expect::Nothing => true,
            Expect::Reply => first == Some(ERROR),
            _ => false,
        }
    }

    #[cold]
    fn out_of_order(&self, header: [u8; HEADER], first: Option<u8>) -> WireError {
        if self.expect == Expect::Greeting {
            return no_greeting(header, first);
        }
        WireError::from(MyError::OutOfOrder {
            due: self.sequence,
            got: header[3],
        })
    }

    #[cold]
    fn greet(&mut self, header: [u8; HEADER], first: Option<u8>) -> Result<Kind, WireError> {
        let [a, b, c, _] = header;
        let length = u32::from_le_bytes([a, b, c, 0]) as usize;
        // Every version of the protocol so far had a small number; an error may come in a greeting's stead.
        match first {
            Some(1..=31 | ERROR) if length <= MAX_GREETING && !is_postgresql(header, first) => {
                self.expect = Expect::Reply;
                Ok(Kind::Greeting)
            }
            _ => Err(no_greeting(header, first)),
        }
    }

    /// Takes the next part of a packet that is not whole in one input, or not the only one of its payload, off `rest`.
    /// Returns the packet if that completed one worth a look.
    #[cold]
    fn resume<'a>(&mut self, rest: &mut &[u8]) -> Result<Option<Packet<'a>>, WireError> {
        if let Place::Header { bytes, length } = &mut self.place {
            while usize::from(*length) < needed(bytes, *length) {
                let Some((&byte, after)) = rest.split_first() else {
                    return Ok(None);
                };
                bytes[usize::from(*length)] = byte;
                (*length, *rest) = (*length + 1, after);
            }
            let [a, b, c, number, first] = *bytes;
            let payload = u32::from_le_bytes([a, b, c, 0]);
            let first = (payload > 0).then_some(first);
            self.enter([a, b, c, number], first)?;
            self.place = Place::Payload {
                left: payload.saturating_sub(1),
            };
            if let (Some(first), Some(gathered)) = (first, &mut self.gathered) {
                gather(gathered, &[first])?;
            }
        }
        let Place::Payload { left } = &mut self.place else {
            return Ok(None);
        };
        let (part, after) = rest.split_at(rest.len().min(*left as usize));
        *rest = after;
        // `part` is no longer than `left`, so its length fits.
        *left -= part.len() as u32;
        let done = *left == 0;
        if let Some(gathered) = &mut self.gathered {
            gather(gathered, part)?;
        }
        if !done {
            return Ok(None);
        }
        self.place = BOUNDARY;
        if self.continues {
            return Ok(None);
        }
        Ok(self.gathered.take().map(|gathered| Packet {
            kind: gathered.kind,
            body: Cow::Owned(gathered.body),
            rows: std::mem::take(&mut self.rows),
        }))
    }

    /// Begins a packet that is taken in parts.
    fn enter(&mut self, header: [u8; HEADER], first: Option<u8>) -> Result<(), WireError> {
        let [a, b, c, number] = header;
        if self.continues {
            if number != self.sequence {
                return Err(self.out_of_order(header, first));
            }
            self.sequence = number.wrapping_add(1);
        } else {
            let kind = self.judge(header, first)?;
            self.gathered = kind.map(|kind| Box::new(Gathered { kind, body: Vec::new() }));
        }
        self.continues = u32::from_le_bytes([a, b, c, 0]) as usize == FULL;
        Ok(())
    }
}

/// How many bytes show what a packet is: without a payload there is no first byte of it.
fn needed(bytes: &[u8; HEADER + 1], length: u8) -> usize {
    match (bytes, length) {
        ([0, 0, 0, ..], 3..) => HEADER,
        _ => HEADER + 1,
    }
}

/// How much of a packet is kept, in bytes.
#[inline]
fn kept(kind: Kind) -> usize {
    match kind {
        Kind::Row => MAX_ROW,
        _ => MAX_KEPT,
    }
}

fn gather(gathered: &mut Gathered, part: &[u8]) -> Result<(), WireError> {
    let room = kept(gathered.kind).saturating_sub(gathered.body.len());
    if gathered.kind == Kind::Row && part.len() > room {
        return Err(MyError::TooLong.into());
    }
    gathered.body.extend_from_slice(&part[..part.len().min(room)]);
    Ok(())
}

/// Why this is no greeting.
fn no_greeting(header: [u8; HEADER], first: Option<u8>) -> WireError {
    if is_postgresql(header, first) {
        return WireError::OtherDatabase(&POSTGRESQL);
    }
    let bytes: Vec<u8> = header.into_iter().chain(first).collect();
    MyError::NoGreeting(bytes.escape_ascii().to_string()).into()
}

/// Whether a packet that should be a greeting begins like an error of PostgreSQL, which does not speak first unless
/// something is wrong: `E` and a length of four bytes, the most significant one first.
fn is_postgresql(header: [u8; HEADER], first: Option<u8>) -> bool {
    matches!((header, first), ([b'E', 0, 0, high], Some(low)) if high > 0 || (low != 10 && low != ERROR))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet(sequence: u8, body: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        super::super::packet::write(&mut out, sequence, &[body]);
        out
    }

    /// What is handed out of a stream that is read in chunks of this length.
    fn seen(framing: &mut Framing, stream: &[u8], chunk: usize) -> Result<Vec<(Kind, usize, u64)>, WireError> {
        let mut seen = Vec::new();
        for mut rest in stream.chunks(chunk) {
            while !rest.is_empty() {
                let (length, packet) = framing.next(rest)?;
                rest = &rest[length..];
                match packet {
                    Some(packet) => seen.push((packet.kind, packet.body.len(), packet.rows)),
                    None => assert!(rest.is_empty()),
                }
            }
        }
        Ok(seen)
    }

    #[test]
    fn rows_longer_than_a_packet_are_one_row() {
        let long = vec![1; FULL];
        let stream = [
            packet(1, &long),
            packet(3, &[1; 5]),
            packet(4, &vec![1; FULL + 7]),
            packet(6, &[END, 0, 0, 2, 0]),
        ]
        .concat();
        for chunk in [stream.len(), 100_000, FULL + 4, FULL + 5] {
            let mut framing = Framing::new();
            framing.begin_answer();
            framing.expect(Expect::Rows);
            let expected = vec![(Kind::End, 5, 3)];
            assert_eq!(seen(&mut framing, &stream, chunk), Ok(expected), "{chunk}");
            framing.begin_answer();
            framing.expect(Expect::Rows);
            framing.keep_rows(true);
            let expected = vec![
                (Kind::Row, FULL, 0),
                (Kind::Row, 5, 0),
                (Kind::Row, FULL + 7, 0),
                (Kind::End, 5, 0),
            ];
            assert_eq!(seen(&mut framing, &stream, chunk), Ok(expected), "{chunk}");
        }
    }

    #[test]
    fn a_packet_out_of_order_is_refused() {
        for chunk in [1, 100] {
            let mut framing = Framing::new();
            framing.begin_answer();
            framing.expect(Expect::Columns(2));
            let stream = [packet(1, b"one"), packet(3, b"two")].concat();
            let error = seen(&mut framing, &stream, chunk).unwrap_err();
            assert_eq!(error, MyError::OutOfOrder { due: 2, got: 3 }.into());
        }
    }

    #[test]
    fn an_error_may_have_any_number() {
        let mut framing = Framing::new();
        framing.begin_answer();
        let stream = packet(0, &[ERROR, 0x87, 0x07]);
        assert_eq!(seen(&mut framing, &stream, 100), Ok(vec![(Kind::Reply, 3, 0)]));
    }

    #[test]
    fn strangers_are_told() {
        for (first, part) in [
            (&b"SSH-2.0-OpenSSH_9.2"[..], "(\"SSH-2\")"),
            (b"HTTP/1.1 400 Bad Request", "(\"HTTP/\")"),
            (b"220 mail ESMTP", "no greeting"),
            (b"\0\0\0\0", "no greeting"),
            (b"E\0\0\0\x33SFATAL\0VFATAL\0", "a PostgreSQL server answers there"),
        ] {
            for chunk in [1, 100] {
                let error = seen(&mut Framing::new(), first, chunk).unwrap_err().to_string();
                assert!(error.contains(part), "{error}");
            }
        }
    }
}
