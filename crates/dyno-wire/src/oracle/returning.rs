//! Changes that give values back (`returning … into`), which nobody here could take.
//!
//! They would go into places for values that come out, which scripts do not have. So such a statement is refused before
//! it reaches the server, whose own error would speak of variables that are not bound.

use super::placeholders::passed_over;

/// What to do instead, for a message.
pub(super) const INSTEAD: &str = "it gives values back (RETURNING … INTO), which there is no place for; leave the \
                                  clause out, or put the statement into a block with a variable of its own: declare x \
                                  number; begin … returning … into x; end;";

/// Whether a change gives values back: outside of texts and comments it has the word RETURNING, or RETURN, and INTO
/// behind it. Oracle SQL Language Reference, "INSERT", "UPDATE", "DELETE", "MERGE".
pub(super) fn gives_back(text: &[u8]) -> bool {
    let mut at = 0;
    let mut returns = false;
    while let Some(rest) = text.get(at..).filter(|rest| !rest.is_empty()) {
        if let Some(length) = passed_over(rest) {
            at += length;
            continue;
        }
        let length = rest.iter().take_while(|byte| is_of_word(**byte)).count();
        match &rest[..length] {
            word if word.eq_ignore_ascii_case(b"returning") || word.eq_ignore_ascii_case(b"return") => returns = true,
            word if returns && word.eq_ignore_ascii_case(b"into") => return true,
            _ => {}
        }
        at += length.max(1);
    }
    false
}

fn is_of_word(byte: u8) -> bool {
    matches!(byte, b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'_' | b'$' | b'#' | 0x80..)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_the_clause_counts() {
        for (text, gives) in [
            ("insert into t (a) values ($1) returning id into $2", true),
            ("UPDATE t SET a = 1 RETURN a, b\nBULK COLLECT INTO :x", true),
            ("delete from t returning id /* into */", false),
            ("insert into t (a) values ('returning id into')", false),
            ("insert into t (a) values (q'[returning id into]')", false),
            ("insert into t (a) select \"RETURNING into\" from u", false),
            ("insert into t (a) values (1) -- returning id into x", false),
            ("insert into t (returning_id) select into_a from u", false),
            ("insert into t (a) values (1)", false),
            ("", false),
        ] {
            assert_eq!(gives_back(text.as_bytes()), gives, "{text}");
        }
    }

    proptest! {
        #[test]
        fn no_text_does_harm(text in r#"(returning|into|q'\[|[-q'"/*; a\n]){0,12}"#) {
            gives_back(text.as_bytes());
        }
    }
}
