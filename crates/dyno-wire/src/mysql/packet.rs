//! Packets as they are written, and the numbers and texts in them.
//!
//! A packet is a length of three bytes, a number of one, and the payload. A longer payload travels in several packets,
//! of which all but the last are full; the last may be empty.

/// The length of a packet's header, in bytes.
pub(super) const HEADER: usize = 4;
/// The length of a full packet's payload, in bytes.
pub(super) const FULL: usize = 0xFF_FFFF;

/// Makes room for a packet's header; the payload is appended next. Returns where the packet begins.
#[inline]
pub(super) fn begin(out: &mut Vec<u8>) -> usize {
    out.extend_from_slice(&[0; HEADER]);
    out.len() - HEADER
}

/// Writes the header of the packet that begins at `start` and ends with `out`, as number `sequence`.
#[inline]
pub(super) fn finish(out: &mut Vec<u8>, start: usize, sequence: u8) {
    let length = out.len().saturating_sub(start + HEADER);
    if length >= FULL {
        return split(out, start, sequence);
    }
    if let Some(place) = out.get_mut(start..start + HEADER) {
        place.copy_from_slice(&header(length, sequence));
    }
}

/// A whole packet of these parts.
pub(super) fn write(out: &mut Vec<u8>, sequence: u8, parts: &[&[u8]]) {
    let start = begin(out);
    for part in parts {
        out.extend_from_slice(part);
    }
    finish(out, start, sequence);
}

#[inline]
fn header(length: usize, sequence: u8) -> [u8; HEADER] {
    let [a, b, c, ..] = length.to_le_bytes();
    [a, b, c, sequence]
}

/// Cuts a payload that is longer than a packet into full ones and a last one.
#[cold]
fn split(out: &mut Vec<u8>, start: usize, mut sequence: u8) {
    let payload = out.split_off(start + HEADER);
    out.truncate(start);
    let mut rest = &payload[..];
    loop {
        let (part, after) = rest.split_at(rest.len().min(FULL));
        out.extend_from_slice(&header(part.len(), sequence));
        out.extend_from_slice(part);
        if part.len() < FULL {
            return;
        }
        (rest, sequence) = (after, sequence.wrapping_add(1));
    }
}

/// Appends a length-encoded number.
pub(super) fn write_number(out: &mut Vec<u8>, number: u64) {
    let bytes = number.to_le_bytes();
    match number {
        0..=0xFA => out.push(bytes[0]),
        0xFB..=0xFFFF => out.extend_from_slice(&[0xFC, bytes[0], bytes[1]]),
        0x1_0000..=0xFF_FFFF => out.extend_from_slice(&[0xFD, bytes[0], bytes[1], bytes[2]]),
        _ => {
            out.push(0xFE);
            out.extend_from_slice(&bytes);
        }
    }
}

/// Appends a text with its length before it.
pub(super) fn write_text(out: &mut Vec<u8>, text: &[u8]) {
    write_number(out, text.len() as u64);
    out.extend_from_slice(text);
}

/// Puts the length of the text behind the byte at `at` into that byte; a long one needs more room, and the text moves.
#[inline]
pub(super) fn insert_length(out: &mut Vec<u8>, at: usize) {
    let length = out.len().saturating_sub(at + 1);
    match (u8::try_from(length), out.get_mut(at)) {
        (Ok(short @ ..=0xFA), Some(place)) => *place = short,
        _ => insert_long_length(out, at, length),
    }
}

#[cold]
fn insert_long_length(out: &mut Vec<u8>, at: usize, length: usize) {
    let mut prefix = Vec::with_capacity(9);
    write_number(&mut prefix, length as u64);
    out.splice(at..at + 1, prefix);
}

/// Takes a length-encoded number off `rest`; `None` if it is cut short, or is no number.
#[inline]
pub(super) fn read_number(rest: &mut &[u8]) -> Option<u64> {
    let (&first, after) = rest.split_first()?;
    let length = match first {
        0..=0xFA => {
            *rest = after;
            return Some(u64::from(first));
        }
        0xFC => 2,
        0xFD => 3,
        0xFE => 8,
        0xFB | 0xFF => return None,
    };
    let (digits, after) = after.split_at_checked(length)?;
    let mut bytes = [0; 8];
    bytes[..length].copy_from_slice(digits);
    *rest = after;
    Some(u64::from_le_bytes(bytes))
}

/// Takes a text with its length before it off `rest`.
pub(super) fn read_text<'a>(rest: &mut &'a [u8]) -> Option<&'a [u8]> {
    let length = usize::try_from(read_number(rest)?).ok()?;
    take(rest, length)
}

/// Takes a text with a NUL byte behind it off `rest`; the last one of a packet may lack it.
pub(super) fn read_nul_text<'a>(rest: &mut &'a [u8]) -> &'a [u8] {
    let all = *rest;
    match all.iter().position(|&byte| byte == 0) {
        Some(end) => {
            *rest = &all[end + 1..];
            &all[..end]
        }
        None => {
            *rest = &[];
            all
        }
    }
}

/// Takes `length` bytes off `rest`.
pub(super) fn take<'a>(rest: &mut &'a [u8], length: usize) -> Option<&'a [u8]> {
    let (part, after) = rest.split_at_checked(length)?;
    *rest = after;
    Some(part)
}

/// Takes a number of bytes that is known in advance off `rest`.
#[inline]
pub(super) fn take_array<const N: usize>(rest: &mut &[u8]) -> Option<[u8; N]> {
    let (part, after) = rest.split_first_chunk::<N>()?;
    *rest = after;
    Some(*part)
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::io::{BufMutExt, ParseBuf};

    #[test]
    fn numbers_agree_with_mysql_common() {
        for number in [
            0,
            1,
            0xFA,
            0xFB,
            0xFC,
            0xFFFF,
            0x1_0000,
            0xFF_FFFF,
            0x100_0000,
            u64::MAX,
        ] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            write_number(&mut ours, number);
            theirs.put_lenenc_int(number);
            assert_eq!(ours, theirs);
            let mut rest = &ours[..];
            assert_eq!(read_number(&mut rest), Some(number));
            assert!(rest.is_empty());
            assert_eq!(ParseBuf(&ours).checked_eat_lenenc_int(), Some(number));
            for length in 0..ours.len() {
                assert_eq!(read_number(&mut &ours[..length]), None);
            }
        }
        assert_eq!(read_number(&mut &[0xFB][..]), None);
        assert_eq!(read_number(&mut &[0xFF][..]), None);
    }

    #[test]
    fn a_text_takes_its_length_in_front() {
        for length in [0, 1, 250, 251, 70_000, FULL + 1] {
            let text = vec![b'x'; length];
            let mut out = b"before\0".to_vec();
            out.extend_from_slice(&text);
            insert_length(&mut out, 6);
            let mut expected = b"before".to_vec();
            write_text(&mut expected, &text);
            assert!(out == expected, "{length}");
            assert!(read_text(&mut &out[6..]) == Some(&text[..]), "{length}");
        }
    }

    #[test]
    fn long_payloads_are_split_and_a_full_one_is_ended_by_an_empty_packet() {
        for (length, lengths) in [
            (FULL - 1, &[FULL - 1][..]),
            (FULL, &[FULL, 0]),
            (FULL + 1, &[FULL, 1]),
            (2 * FULL, &[FULL, FULL, 0]),
        ] {
            let payload = vec![7; length];
            let mut out = b"before".to_vec();
            write(&mut out, 255, &[&payload]);
            let mut rest = &out[6..];
            for (number, &expected) in lengths.iter().enumerate() {
                let [a, b, c, sequence] = take_array(&mut rest).unwrap();
                assert_eq!(u32::from_le_bytes([a, b, c, 0]) as usize, expected);
                assert_eq!(sequence, 255_u8.wrapping_add(number as u8));
                assert!(take(&mut rest, expected).unwrap().iter().all(|&byte| byte == 7));
            }
            assert!(rest.is_empty());
        }
    }
}
