//! Text that need not be UTF-8, kept in strings without losing a byte.
//!
//! Scripts, values and servers' messages come in the encoding of whoever wrote them: Latin-1, KOI8, EUC, GBK. Their
//! bytes must go on as they are, and yet parsing, columns and messages are to work on strings. So every byte that
//! belongs to no UTF-8 character becomes a character of its own, from 128 private ones at the very end of Unicode
//! (U+10FF80 to U+10FFFF, for 0x80 to 0xFF), and on the way out a byte again. If such a character is in the text
//! itself, its bytes are treated like that, too, so that [`encode`] gives back exactly what [`decode`] was given,
//! whatever it was.
//!
//! Python does the same for file names with its "surrogateescape", for which Rust's strings have no room.

mod assigned;
mod line;
mod secret;
mod visible;

use std::borrow::Cow;

pub use assigned::{ends_in_secret, line_without_secrets};
pub use line::one_line;
pub use secret::{HIDDEN, PASSWORDS, is_named_secret, is_secret, names_secret, user_password};
pub use visible::visible;

/// The character of byte 0x00, if it had one.
const BASE: u32 = 0x10_FF00;

/// What the UTF-8 form of every one of the private characters begins with, and of few others.
const LEAD: u8 = 0xF4;

/// Text of these bytes. UTF-8 stays what it is, and is not copied.
pub fn decode(bytes: &[u8]) -> Cow<'_, str> {
    match str::from_utf8(bytes) {
        Ok(text) if !has_private(text) => return Cow::Borrowed(text),
        _ => {}
    }
    let mut text = String::with_capacity(bytes.len() + 64);
    for chunk in bytes.utf8_chunks() {
        for character in chunk.valid().chars() {
            if private_byte(character).is_some() {
                text.extend(character.encode_utf8(&mut [0; 4]).bytes().filter_map(private));
            } else {
                text.push(character);
            }
        }
        text.extend(chunk.invalid().iter().copied().filter_map(private));
    }
    Cow::Owned(text)
}

/// The bytes that a text stands for. Copies nothing if they are UTF-8.
pub fn encode(text: &str) -> Cow<'_, [u8]> {
    if !has_private(text) {
        return Cow::Borrowed(text.as_bytes());
    }
    let mut bytes = Vec::with_capacity(text.len());
    for character in text.chars() {
        match private_byte(character) {
            Some(byte) => bytes.push(byte),
            None => bytes.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        }
    }
    Cow::Owned(bytes)
}

/// How many bytes [`encode`] gives.
pub fn encoded_len(text: &str) -> usize {
    if !has_private(text) {
        return text.len();
    }
    text.chars().map(encoded_len_of).sum()
}

/// How many bytes [`encode`] gives for one character.
pub fn encoded_len_of(character: char) -> usize {
    private_byte(character).map_or(character.len_utf8(), |_| 1)
}

fn has_private(text: &str) -> bool {
    text.as_bytes().contains(&LEAD) && text.chars().any(|character| private_byte(character).is_some())
}

/// The character that stands for a byte; `None` for ASCII, which is always UTF-8.
fn private(byte: u8) -> Option<char> {
    (!byte.is_ascii())
        .then_some(char::from_u32(BASE + u32::from(byte)))
        .flatten()
}

/// The byte that a character stands for.
fn private_byte(character: char) -> Option<u8> {
    let byte = u8::try_from(u32::from(character).checked_sub(BASE)?).ok()?;
    (!byte.is_ascii()).then_some(byte)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn utf8_is_left_alone() {
        let text = "sélect 'д', '\u{10ff7f}', '\u{1f600}'";
        assert!(matches!(decode(text.as_bytes()), Cow::Borrowed(same) if same == text));
        assert!(matches!(encode(text), Cow::Borrowed(same) if same == text.as_bytes()));
        assert_eq!(encoded_len(text), text.len());
    }

    #[test]
    fn other_bytes_become_a_character_each() {
        let bytes = b"caf\xe9 \xc3\xa9 \xff";
        let text = decode(bytes);
        assert_eq!(text, "caf\u{10ffe9} é \u{10ffff}");
        assert_eq!(*encode(&text), *bytes);
        assert_eq!(encoded_len(&text), bytes.len());
    }

    #[test]
    fn the_private_characters_themselves_come_back() {
        let bytes = "a\u{10ff80}b".as_bytes();
        let text = decode(bytes);
        assert_eq!(text.chars().count(), 6);
        assert_eq!(*encode(&text), *bytes);
    }

    proptest! {
        #[test]
        fn no_byte_is_lost(bytes: Vec<u8>) {
            let text = decode(&bytes).into_owned();
            prop_assert_eq!(&*encode(&text), &bytes[..]);
            prop_assert_eq!(encoded_len(&text), bytes.len());
        }

        #[test]
        fn ascii_separates(left: Vec<u8>, right: Vec<u8>) {
            // Parts of a text between ASCII characters can be decoded by themselves.
            let whole = [&left[..], b"=", &right[..]].concat();
            let parts = format!("{}={}", decode(&left), decode(&right));
            prop_assert_eq!(decode(&whole), parts);
        }
    }
}
