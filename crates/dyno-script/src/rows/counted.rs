//! Values with their lengths before them, as MariaDB takes them (its documentation, "COM_STMT_BULK_EXECUTE" and
//! "Protocol Data Types").

/// What stands before a value.
pub(super) const IS_VALUE: u8 = 0;
/// What stands in the place of none.
pub(super) const IS_NULL: u8 = 1;

/// The longest text whose length is a single byte.
const SHORT: usize = 250;

/// Puts the length of the text behind the byte at `at` into that byte. A long one takes more bytes: the text moves.
#[inline]
pub(super) fn set_length(out: &mut Vec<u8>, at: usize) {
    let length = out.len().saturating_sub(at + 1);
    match (u8::try_from(length), out.get_mut(at)) {
        (Ok(short), Some(place)) if length <= SHORT => *place = short,
        _ => set_long_length(out, at, length),
    }
}

#[cold]
fn set_long_length(out: &mut Vec<u8>, at: usize, length: usize) {
    let bytes = (length as u64).to_le_bytes();
    let (mark, count) = match length {
        ..=0xFFFF => (0xFC, 2),
        0x1_0000..=0xFF_FFFF => (0xFD, 3),
        _ => (0xFE, 8),
    };
    out.splice(at..=at, std::iter::once(mark).chain(bytes.into_iter().take(count)));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lengths_take_as_many_bytes_as_they_need() {
        for (length, prefix) in [
            (0, &b"\x00"[..]),
            (250, b"\xfa"),
            (251, b"\xfc\xfb\x00"),
            (65_535, b"\xfc\xff\xff"),
            (65_536, b"\xfd\x00\x00\x01"),
            (16_777_216, b"\xfe\x00\x00\x00\x01\x00\x00\x00\x00"),
        ] {
            let mut out = vec![b'.'; 3];
            out.push(0);
            out.resize(4 + length, b'x');
            set_length(&mut out, 3);
            assert_eq!(&out[..3], b"...");
            assert_eq!(&out[3..3 + prefix.len()], prefix, "{length}");
            assert_eq!(out.len(), 3 + prefix.len() + length);
        }
    }
}
