//! Finding the messages in a stream of bytes, however it is cut into reads.

use std::borrow::Cow;

use super::{NAME, malformed};
use crate::WireError;

/// The longest message a server sends, in bytes: its own buffers end at 1 GiB.
const MAX_MESSAGE: u32 = 1 << 30;
/// How much of a message's body is kept, in bytes; the rest of a longer error or notice is cut off.
pub(super) const MAX_KEPT: usize = 16 * 1024;
/// The length of a message's type and length fields, in bytes.
const HEADER: usize = 5;

/// Walks over a server's messages and stops at those worth a look.
///
/// Headers are read in place. Messages nobody looks into (rows above all) are skipped by their length without being
/// stored, however many reads they span; one that is looked into and split between reads is gathered, up to
/// [`MAX_KEPT`] bytes.
pub(super) struct Framing {
    place: Place,
    /// Rows passed since the last message handed out.
    rows: u64,
    /// Statements accepted since the end of the last reply.
    accepted: u64,
    /// Whether other parts of a reply came since then.
    parts: bool,
    /// Whether rows and their descriptions are worth a look, whole.
    keep_rows: bool,
}

/// Where in the stream the input so far ended.
enum Place {
    /// Between two messages.
    Boundary,
    /// In a header, of which the first `length` (1 to 4) bytes are here.
    Header { bytes: [u8; HEADER], length: u8 },
    /// In a message that is skipped, with `left` bytes to come.
    Skip { left: u32 },
    /// In a message to look into.
    Gather(Box<Gathered>),
}

/// The beginning of a message to look into.
struct Gathered {
    tag: u8,
    /// Bytes to come.
    left: u32,
    /// The body so far, without what exceeds what is kept.
    body: Vec<u8>,
}

/// A message worth a look.
pub(super) struct Message<'a> {
    /// Its type byte.
    pub(super) tag: u8,
    /// What follows its header, at most [`MAX_KEPT`] bytes unless rows are kept and it is one.
    pub(super) body: Cow<'a, [u8]>,
    /// How many rows came between the message worth a look before this one and this one.
    pub(super) rows: u64,
}

/// What is done with a message.
#[derive(Clone, Copy)]
enum Treatment {
    Skip,
    /// As a part of a reply.
    SkipPart,
    CountRow,
    CountAccepted,
    Examine,
    Refuse,
}

/// What is done with a message of this type. Types: PostgreSQL documentation, "Message Formats".
#[inline]
const fn treatment(tag: u8) -> Treatment {
    match tag {
        // CommandComplete, ReadyForQuery, EmptyQueryResponse; ErrorResponse, NoticeResponse, ParameterStatus,
        // CopyInResponse, CopyOutResponse; Authentication…, BackendKeyData, NegotiateProtocolVersion.
        b'C' | b'Z' | b'E' | b'N' | b'S' | b'G' | b'H' | b'R' | b'K' | b'v' | b'I' => Treatment::Examine,
        // DataRow.
        b'D' => Treatment::CountRow,
        // ParseComplete.
        b'1' => Treatment::CountAccepted,
        // BindComplete, CloseComplete, RowDescription, NoData, ParameterDescription, PortalSuspended, CopyData,
        // CopyDone.
        b'2' | b'3' | b'T' | b'n' | b't' | b's' | b'd' | b'c' => Treatment::SkipPart,
        // NotificationResponse.
        b'A' => Treatment::Skip,
        _ => Treatment::Refuse,
    }
}

/// The length of the body that a header announces.
#[inline]
fn body_length(header: &[u8; HEADER]) -> Result<u32, WireError> {
    let [tag, length @ ..] = *header;
    let length = u32::from_be_bytes(length);
    // The length counts itself.
    match length.checked_sub(4) {
        Some(body) if length <= MAX_MESSAGE => Ok(body),
        Some(_) => Err(WireError::TooLong {
            database: NAME,
            tag,
            length,
        }),
        None => Err(malformed("its length is impossible")),
    }
}

#[cold]
fn refused(tag: u8) -> WireError {
    WireError::Unexpected {
        database: NAME,
        tag,
        when: "that no PostgreSQL server sends to a client",
    }
}

impl Framing {
    /// At the beginning of a stream.
    pub(super) fn new() -> Self {
        Self {
            place: Place::Boundary,
            rows: 0,
            accepted: 0,
            parts: false,
            keep_rows: false,
        }
    }

    /// Says whether rows and their descriptions are worth a look.
    #[inline]
    pub(super) fn keep_rows(&mut self, keep: bool) {
        self.keep_rows = keep;
    }

    /// A reply has ended: how many statements the server has accepted in it.
    #[inline]
    pub(super) fn end_reply(&mut self) -> u64 {
        self.parts = false;
        std::mem::take(&mut self.accepted)
    }

    /// Whether a part of a reply that is not handed out came since the end of the last one.
    pub(super) fn in_reply(&self) -> bool {
        self.parts || self.rows > 0 || self.accepted > 0
    }

    /// Whether rows and their descriptions are worth a look.
    #[inline]
    pub(super) fn keeps_rows(&self) -> bool {
        self.keep_rows
    }

    /// How much of a message's body is kept, in bytes.
    #[inline]
    fn kept(&self, tag: u8) -> usize {
        match tag {
            b'T' | b'D' => MAX_MESSAGE as usize,
            _ => MAX_KEPT,
        }
    }

    #[inline]
    fn treatment(&self, tag: u8) -> Treatment {
        match tag {
            b'T' | b'D' if self.keep_rows => Treatment::Examine,
            _ => treatment(tag),
        }
    }

    /// Advances to the end of the next message worth a look, if it is in `input`, else to the end of `input`.
    /// Returns how far that was.
    #[inline]
    pub(super) fn next<'a>(&mut self, input: &'a [u8]) -> Result<(usize, Option<Message<'a>>), WireError> {
        let mut rest = input;
        if !matches!(self.place, Place::Boundary) {
            let message = self.resume(&mut rest)?;
            if message.is_some() {
                return Ok((input.len() - rest.len(), message));
            }
        }
        while let Some((header, after)) = rest.split_first_chunk::<HEADER>() {
            let tag = header[0];
            let length = body_length(header)?;
            let whole = after.split_at_checked(length as usize);
            match (self.treatment(tag), whole) {
                (Treatment::Examine, Some((body, next))) => {
                    let body = Cow::Borrowed(&body[..body.len().min(self.kept(tag))]);
                    let rows = std::mem::take(&mut self.rows);
                    return Ok((input.len() - next.len(), Some(Message { tag, body, rows })));
                }
                (Treatment::Skip, Some((_, next))) => rest = next,
                (Treatment::SkipPart, Some((_, next))) => {
                    self.parts = true;
                    rest = next;
                }
                (Treatment::CountRow, Some((_, next))) => {
                    self.rows += 1;
                    rest = next;
                }
                (Treatment::CountAccepted, Some((_, next))) => {
                    self.accepted += 1;
                    rest = next;
                }
                (_, None) => {
                    self.enter(tag, length)?;
                    rest = after;
                    self.resume(&mut rest)?;
                    return Ok((input.len(), None));
                }
                (Treatment::Refuse, _) => return Err(refused(tag)),
            }
        }
        if !rest.is_empty() {
            self.place = Place::Header {
                bytes: [0; HEADER],
                length: 0,
            };
            self.resume(&mut rest)?;
        }
        Ok((input.len(), None))
    }

    /// Begins a message that is not whole in the input.
    fn enter(&mut self, tag: u8, length: u32) -> Result<(), WireError> {
        self.place = match self.treatment(tag) {
            Treatment::Refuse => return Err(refused(tag)),
            Treatment::Examine => Place::Gather(Box::new(Gathered {
                tag,
                left: length,
                body: Vec::new(),
            })),
            Treatment::Skip => Place::Skip { left: length },
            Treatment::SkipPart => {
                self.parts = true;
                Place::Skip { left: length }
            }
            Treatment::CountRow => {
                self.rows += 1;
                Place::Skip { left: length }
            }
            Treatment::CountAccepted => {
                self.accepted += 1;
                Place::Skip { left: length }
            }
        };
        Ok(())
    }

    /// Takes the next part of a message that is not whole in one input off `rest`. Returns the message if that
    /// completed one worth a look.
    #[cold]
    fn resume<'a>(&mut self, rest: &mut &'a [u8]) -> Result<Option<Message<'a>>, WireError> {
        if let Place::Header { bytes, length } = &mut self.place {
            for place in &mut bytes[usize::from(*length)..] {
                let Some((&byte, after)) = rest.split_first() else {
                    return Ok(None);
                };
                (*place, *length, *rest) = (byte, *length + 1, after);
            }
            let header = *bytes;
            self.enter(header[0], body_length(&header)?)?;
        }
        let kept = match &self.place {
            Place::Gather(gathered) => self.kept(gathered.tag),
            _ => 0,
        };
        match &mut self.place {
            Place::Boundary | Place::Header { .. } => Ok(None),
            Place::Skip { left } => {
                take(rest, left);
                if *left == 0 {
                    self.place = Place::Boundary;
                }
                Ok(None)
            }
            Place::Gather(gathered) => {
                let part = take(rest, &mut gathered.left);
                let room = kept - gathered.body.len();
                gathered.body.extend_from_slice(&part[..part.len().min(room)]);
                if gathered.left > 0 {
                    return Ok(None);
                }
                let (tag, body) = (gathered.tag, std::mem::take(&mut gathered.body));
                self.place = Place::Boundary;
                let rows = std::mem::take(&mut self.rows);
                Ok(Some(Message {
                    tag,
                    body: Cow::Owned(body),
                    rows,
                }))
            }
        }
    }
}

/// Takes at most `left` bytes off `rest` and off `left`.
fn take<'a>(rest: &mut &'a [u8], left: &mut u32) -> &'a [u8] {
    let (part, after) = rest.split_at(rest.len().min(*left as usize));
    *rest = after;
    // `part` is no longer than `left`, so its length fits.
    *left -= part.len() as u32;
    part
}
