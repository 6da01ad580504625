//! What messages are made of, as it is written.

/// The longest value whose length fits a byte.
const SHORT: usize = 252;

/// The length that says that a value is in pieces.
const PIECES: u8 = 254;

/// The longest piece.
const PIECE: usize = 32_767;

/// Appends a number with its length before it.
#[inline]
pub(super) fn write_number(out: &mut Vec<u8>, number: u64) {
    match number {
        0 => out.push(0),
        1..=0xFF => out.extend_from_slice(&[1, number as u8]),
        0x100..=0xFFFF => {
            out.push(2);
            out.extend_from_slice(&(number as u16).to_be_bytes());
        }
        0x1_0000..=0xFFFF_FFFF => {
            out.push(4);
            out.extend_from_slice(&(number as u32).to_be_bytes());
        }
        _ => {
            out.push(8);
            out.extend_from_slice(&number.to_be_bytes());
        }
    }
}

/// Appends a value with its length before it.
pub(super) fn write_value(out: &mut Vec<u8>, value: &[u8]) {
    let at = out.len();
    out.push(0);
    out.extend_from_slice(value);
    insert_length(out, at);
}

/// Appends a value with two lengths before it, the first of which says whether there is one.
pub(super) fn write_optional(out: &mut Vec<u8>, value: &[u8]) {
    write_number(out, value.len() as u64);
    if !value.is_empty() {
        write_value(out, value);
    }
}

/// Puts the length of the value behind the byte at `at` into that byte; a long one is cut into pieces.
#[inline]
pub(super) fn insert_length(out: &mut Vec<u8>, at: usize) {
    let length = out.len().saturating_sub(at + 1);
    match (length <= SHORT, out.get_mut(at)) {
        (true, Some(place)) => *place = length as u8,
        _ => cut(out, at),
    }
}

#[cold]
fn cut(out: &mut Vec<u8>, at: usize) {
    let value = out.split_off(at + 1);
    out.truncate(at);
    out.push(PIECES);
    for piece in value.chunks(PIECE) {
        write_number(out, piece.len() as u64);
        out.extend_from_slice(piece);
    }
    out.push(0);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_are_cut_where_a_byte_cannot_hold_their_length() {
        let mut out = b"before".to_vec();
        write_value(&mut out, &[b'x'; 252]);
        assert_eq!((out.len(), out[6]), (6 + 1 + 252, 252));
        out.clear();
        write_value(&mut out, &[b'x'; 253]);
        assert_eq!(out[..3], [PIECES, 1, 253]);
        assert_eq!((out.len(), out[out.len() - 1]), (3 + 253 + 1, 0));
        out.clear();
        write_value(&mut out, &vec![b'x'; PIECE + 1]);
        assert_eq!(out[..4], [PIECES, 2, 0x7F, 0xFF]);
        assert_eq!(out[out.len() - 4..], [1, 1, b'x', 0]);
        out.clear();
        write_optional(&mut out, b"");
        write_optional(&mut out, b"ab");
        assert_eq!(out, b"\0\x01\x02\x02ab");
    }
}
