//! Packets: a length, a type, flags, and a body. Messages travel in the bodies of DATA packets, behind two bytes of
//! flags, and go on in the next packet where one is full.

use super::malformed;
use crate::WireError;

/// The length of a packet's header, in bytes.
const HEADER: usize = 8;

/// The length of the header of a packet with data, with the flags of the data.
const DATA_HEADER: usize = HEADER + 2;

/// The longest packet there can be, in bytes: the greatest SDU.
pub(super) const LONGEST: usize = 2_097_152;

/// In the flags of data: nothing follows, and the connection is to be closed.
pub(super) const END_OF_FILE: u16 = 0x40;

/// The types of packets that are sent or understood.
pub(super) mod kind {
    pub(in super::super) const CONNECT: u8 = 1;
    pub(in super::super) const ACCEPT: u8 = 2;
    pub(in super::super) const REFUSE: u8 = 4;
    pub(in super::super) const REDIRECT: u8 = 5;
    pub(in super::super) const DATA: u8 = 6;
    pub(in super::super) const RESEND: u8 = 11;
    pub(in super::super) const MARKER: u8 = 12;
    pub(in super::super) const CONTROL: u8 = 14;
}

/// What a marker says.
pub(super) mod marker {
    /// Give up what is under way.
    pub(in super::super) const INTERRUPT: u8 = 3;
    /// Whatever was under way is given up: what follows is to be understood.
    pub(in super::super) const RESET: u8 = 2;
}

/// How packets say how long they are.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Lengths {
    /// With 16 bits, until the server has accepted the connection.
    #[default]
    Short,
    /// With 32 bits.
    Long,
}

impl Lengths {
    fn header(self, length: usize, kind: u8, flags: u8) -> [u8; HEADER] {
        let [a, b, c, d] = (length as u32).to_be_bytes();
        match self {
            Self::Short => [c, d, 0, 0, kind, flags, 0, 0],
            Self::Long => [a, b, c, d, kind, flags, 0, 0],
        }
    }

    fn read(self, header: [u8; 4]) -> usize {
        let [a, b, c, d] = header;
        match self {
            Self::Short => usize::from(u16::from_be_bytes([a, b])),
            Self::Long => u32::from_be_bytes([a, b, c, d]) as usize,
        }
    }
}

/// Appends a whole packet.
pub(super) fn write(out: &mut Vec<u8>, lengths: Lengths, kind: u8, flags: u8, body: &[u8]) {
    out.extend_from_slice(&lengths.header(HEADER + body.len(), kind, flags));
    out.extend_from_slice(body);
}

/// Appends a marker.
pub(super) fn write_marker(out: &mut Vec<u8>, marker: u8) {
    write(out, Lengths::Long, kind::MARKER, 0, &[1, 0, marker]);
}

/// Makes room for the header of a packet with data, which is appended next. Returns where the packet begins.
#[inline]
pub(super) fn begin(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; DATA_HEADER]);
    out.len() - DATA_HEADER
}

/// Writes the header of the packet that begins at `start` and ends with `out`; if it is longer than packets may be
/// (`sdu`), it becomes several.
#[inline]
pub(super) fn finish(out: &mut Vec<u8>, start: usize, sdu: usize) {
    let length = out.len().saturating_sub(start);
    if length > sdu {
        return split(out, start, sdu);
    }
    if let Some(place) = out.get_mut(start..start + HEADER) {
        place.copy_from_slice(&Lengths::Long.header(length, kind::DATA, 0));
    }
}

#[cold]
fn split(out: &mut Vec<u8>, start: usize, sdu: usize) {
    let message = out.split_off(start + DATA_HEADER);
    out.truncate(start);
    for part in message.chunks(sdu.saturating_sub(DATA_HEADER).max(1)) {
        out.extend_from_slice(&Lengths::Long.header(DATA_HEADER + part.len(), kind::DATA, 0));
        out.extend_from_slice(&[0, 0]);
        out.extend_from_slice(part);
    }
}

/// A packet that has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Packet<'a> {
    pub(super) kind: u8,
    pub(super) flags: u8,
    pub(super) body: &'a [u8],
}

/// Where what was received has come to, among packets.
#[derive(Debug, Default)]
pub(super) struct Framing {
    /// A packet of which a part has come.
    part: Vec<u8>,
    /// Whether it is whole and handed over: it is dropped when the next one is asked for.
    is_taken: bool,
}

impl Framing {
    /// Whether a part of a packet has come.
    pub(super) fn in_packet(&self) -> bool {
        !self.is_taken && !self.part.is_empty()
    }

    /// Takes the next packet off `input`: how many bytes of it were used, and the packet, if it is whole.
    ///
    /// One that came in one piece is not copied.
    #[inline]
    pub(super) fn next<'a>(
        &'a mut self,
        lengths: Lengths,
        input: &'a [u8],
    ) -> Result<(usize, Option<Packet<'a>>), WireError> {
        if self.is_taken {
            self.part.clear();
            self.is_taken = false;
        }
        if self.part.is_empty()
            && let Some(length) = length(lengths, input)?
            && let Some(whole) = input.get(..length)
        {
            return Ok((length, Some(packet(whole))));
        }
        self.next_in_parts(lengths, input)
    }

    fn next_in_parts(&mut self, lengths: Lengths, input: &[u8]) -> Result<(usize, Option<Packet<'_>>), WireError> {
        let mut used = 0;
        loop {
            let wanted = length(lengths, &self.part)?.unwrap_or(HEADER);
            let missing = wanted.saturating_sub(self.part.len());
            if missing == 0 {
                break;
            }
            let part = &input[used..];
            let part = &part[..part.len().min(missing)];
            self.part.extend_from_slice(part);
            used += part.len();
            if part.len() < missing {
                return Ok((used, None));
            }
        }
        self.is_taken = true;
        Ok((used, Some(packet(&self.part))))
    }
}

/// The length of the packet that begins with these bytes, if they are enough to tell.
#[inline]
fn length(lengths: Lengths, bytes: &[u8]) -> Result<Option<usize>, WireError> {
    let (Some(&header), true) = (bytes.first_chunk(), bytes.len() >= HEADER) else {
        return Ok(None);
    };
    match lengths.read(header) {
        length @ HEADER..=LONGEST => Ok(Some(length)),
        _ => Err(malformed("a packet has an impossible length")),
    }
}

#[inline]
fn packet(whole: &[u8]) -> Packet<'_> {
    match whole {
        [_, _, _, _, kind, flags, _, _, body @ ..] => Packet {
            kind: *kind,
            flags: *flags,
            body,
        },
        // Never so short: its length is checked.
        _ => Packet {
            kind: 0,
            flags: 0,
            body: &[],
        },
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn message(length: usize, sdu: usize) -> Vec<u8> {
        let mut out = Vec::new();
        let start = begin(&mut out);
        out.extend((0..length).map(|number| number as u8));
        finish(&mut out, start, sdu);
        out
    }

    /// All packets of a stream that comes in pieces of this length.
    fn packets(stream: &[u8], piece: usize) -> Vec<(u8, Vec<u8>)> {
        let mut framing = Framing::default();
        let mut found = Vec::new();
        for mut piece in stream.chunks(piece) {
            while !piece.is_empty() {
                let (used, packet) = framing.next(Lengths::Long, piece).unwrap();
                found.extend(packet.map(|packet| (packet.kind, packet.body.to_vec())));
                piece = &piece[used..];
            }
        }
        assert!(!framing.in_packet());
        found
    }

    #[test]
    fn a_message_travels_in_as_many_packets_as_it_needs() {
        assert_eq!(message(3, 512), b"\0\0\0\x0d\x06\0\0\0\0\0\0\x01\x02");
        let stream = message(1000, 512);
        let found = packets(&stream, stream.len());
        let lengths: Vec<_> = found.iter().map(|(_, body)| body.len()).collect();
        assert_eq!(lengths, [504, 504 - 2 - 498 + 496]);
        let data: Vec<u8> = found.iter().flat_map(|(_, body)| body[2..].to_vec()).collect();
        assert!(data.iter().enumerate().all(|(at, byte)| *byte == at as u8));
        assert_eq!(data.len(), 1000);
    }

    #[test]
    fn packets_are_the_same_however_they_are_cut() {
        let mut stream = message(1000, 512);
        write_marker(&mut stream, marker::RESET);
        write(&mut stream, Lengths::Long, kind::CONTROL, 0, b"");
        let whole = packets(&stream, stream.len());
        assert_eq!(whole.len(), 4);
        for piece in 1..40 {
            assert_eq!(packets(&stream, piece), whole, "{piece}");
        }
    }

    #[test]
    fn impossible_lengths_are_refused() {
        for header in [
            *b"\0\0\0\x07\x06\0\0\0",
            *b"\0\x20\0\x01\x06\0\0\0",
            *b"\xff\xff\xff\xff\x06\0\0\0",
        ] {
            let mut framing = Framing::default();
            assert!(framing.next(Lengths::Long, &header).is_err());
            let mut framing = Framing::default();
            let (first, rest) = header.split_at(3);
            assert_eq!(framing.next(Lengths::Long, first).unwrap(), (3, None));
            assert!(framing.next(Lengths::Long, rest).is_err());
        }
    }
}
