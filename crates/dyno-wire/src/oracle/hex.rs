//! Bytes as hexadecimal digits.

/// In upper case, as Oracle has them.
pub(super) fn encode(bytes: &[u8]) -> String {
    let digits = bytes.iter().flat_map(|byte| [byte >> 4, byte & 15]);
    digits
        .map(|digit| char::from(b"0123456789ABCDEF"[usize::from(digit)]))
        .collect()
}

/// The bytes of these digits, in either case; `None` if these are none.
pub(super) fn decode(digits: &[u8]) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16).map(|digit| digit as u8);
    let (pairs, rest) = digits.as_chunks::<2>();
    let bytes = pairs.iter().map(|[high, low]| Some(digit(*high)? << 4 | digit(*low)?));
    bytes.collect::<Option<_>>().filter(|_| rest.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_come_back_as_they_were() {
        let all: Vec<u8> = (0..=255).collect();
        assert_eq!(decode(encode(&all).as_bytes()), Some(all));
        assert_eq!(decode(b"ab"), Some(vec![0xAB]));
        assert_eq!(decode(b"abc"), None);
        assert_eq!(decode(b"0g"), None);
    }
}
