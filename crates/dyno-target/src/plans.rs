//! What bounds plans of statements, whatever server tells them.

use dyno_text::one_line;

/// A statement of more bytes is not explained.
const MOST_TEXT_BYTES: usize = 65_536;

/// A plan of more steps is not kept.
pub(crate) const MOST_STEPS: usize = 500;

/// An answer of more bytes is kept as steps only.
pub(crate) const MOST_ANSWER_BYTES: usize = 100_000;

/// A name or a condition is shown to this many characters.
const MOST_CHARACTERS: usize = 2_000;

/// A name or a condition in one line of bounded length.
pub(crate) fn clipped(text: &str) -> String {
    one_line(text, MOST_CHARACTERS)
}

/// Why a statement of this text is not asked for; `None` if nothing keeps it from that.
pub(crate) fn unfit(text: &str) -> Option<String> {
    if text.len() > MOST_TEXT_BYTES {
        Some(format!("its text has more than {MOST_TEXT_BYTES} bytes"))
    } else if text.contains('\0') || std::str::from_utf8(&dyno_text::encode(text)) != Ok(text) {
        Some("its text is not UTF-8".to_owned())
    } else {
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_cannot_be_sent_is_not_asked_for() {
        assert_eq!(unfit("select 'ä'"), None);
        assert!(unfit(&"x".repeat(MOST_TEXT_BYTES + 1)).is_some());
        assert!(unfit(&dyno_text::decode(b"select '\xe4'")).is_some());
        assert!(unfit("select '\0'").is_some());
    }

    #[test]
    fn a_long_condition_is_cut() {
        let long = "ä".repeat(MOST_CHARACTERS + 1);
        assert_eq!(clipped(&long).chars().count(), MOST_CHARACTERS + 1);
    }
}
