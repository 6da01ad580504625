//! Text for a terminal.

use std::borrow::Cow;

/// The text without anything that a terminal would obey: names, scripts and servers' messages are others' and may
/// say `\x1b[2J`. What is not shown as a character is written out as in Rust: `\x1b`, `\u{202e}`. Ends of lines and
/// tabs stay; so does a carriage return at the end, which is our own.
pub fn visible(text: &str) -> Cow<'_, str> {
    let (body, end) = match text.strip_suffix('\r') {
        Some(body) => (body, "\r"),
        None => (text, ""),
    };
    if !body.chars().any(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let mut shown = String::with_capacity(text.len() + 16);
    for character in body.chars() {
        match crate::private_byte(character) {
            _ if !is_obeyed(character) => shown.push(character),
            Some(byte) => shown.push_str(&format!("\\x{byte:02x}")),
            None if character.is_ascii() => shown.push_str(&format!("\\x{:02x}", u32::from(character))),
            None => shown.extend(character.escape_unicode()),
        }
    }
    shown.push_str(end);
    Cow::Owned(shown)
}

/// Whether a terminal does something at this character: control characters, in whatever encoding, and those that
/// turn the direction of writing.
fn is_obeyed(character: char) -> bool {
    match character {
        '\n' | '\t' => false,
        '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}' => true,
        _ => character.is_control() || crate::private_byte(character).is_some_and(|byte| byte < 0xa0),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn what_is_obeyed_is_written_out() {
        for (text, shown) in [
            ("plain é 漢\n\tx", "plain é 漢\n\tx"),
            ("a\x1b[31mred\x1b]0;title\x07", "a\\x1b[31mred\\x1b]0;title\\x07"),
            ("over\rwritten", "over\\x0dwritten"),
            ("10 of 100 tuples\r", "10 of 100 tuples\r"),
            ("c1 \u{9b}31m", "c1 \\u{9b}31m"),
            ("\u{202e}gpj.exe", "\\u{202e}gpj.exe"),
        ] {
            assert_eq!(visible(text), shown);
        }
        assert_eq!(
            visible(&crate::decode(b"\x9b31m \xe9")),
            format!("\\x9b31m {}", crate::decode(b"\xe9"))
        );
    }

    proptest! {
        #[test]
        fn nothing_is_left_to_obey(text in any::<String>()) {
            let shown = visible(&text);
            let body = shown.strip_suffix('\r').unwrap_or(&shown);
            prop_assert!(body.chars().all(|c| c == '\n' || c == '\t' || !c.is_control()));
            if !text.chars().any(is_obeyed) {
                prop_assert_eq!(&*shown, &*text);
            }
        }
    }
}
