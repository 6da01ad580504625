//! The files and modules that a script names in calls of `dofile`, `loadfile` and `require`: those that it loads only
//! later, as in a command, belong to it, too, and are not known from loading it.

/// What a text names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Mentioned {
    /// A file, by its path.
    File(String),
    /// A module, by its name.
    Module(String),
}

/// What is named in a script. What it puts together, as `dofile(folder .. "x.lua")`, is not seen.
pub(crate) fn mentioned(text: &[u8]) -> Vec<Mentioned> {
    let mut found = Vec::new();
    let mut rest = text;
    // What was called just before, if nothing but a parenthesis came since.
    let mut called: Option<fn(String) -> Mentioned> = None;
    while let [byte, behind @ ..] = rest {
        match byte {
            b'-' if behind.first() == Some(&b'-') => rest = behind_comment(&behind[1..]),
            b'\'' | b'"' => {
                let (inside, after) = quoted(behind, *byte);
                note(called.take(), inside, after, &mut found);
                rest = after;
            }
            b'[' => match long(rest) {
                Some((inside, after)) => {
                    note(called.take(), inside, after, &mut found);
                    rest = after;
                }
                None => (called, rest) = (None, behind),
            },
            _ if is_of_word(*byte) => {
                let end = rest.iter().position(|byte| !is_of_word(*byte)).unwrap_or(rest.len());
                called = match &rest[..end] {
                    b"dofile" | b"loadfile" => Some(Mentioned::File),
                    b"require" => Some(Mentioned::Module),
                    _ => None,
                };
                rest = &rest[end..];
            }
            b'(' => rest = behind,
            _ => {
                if !byte.is_ascii_whitespace() {
                    called = None;
                }
                rest = behind;
            }
        }
    }
    found
}

/// Notes the text in quotes that a call begins with, unless more is put to it, or it has escapes.
fn note(called: Option<fn(String) -> Mentioned>, inside: &[u8], after: &[u8], found: &mut Vec<Mentioned>) {
    let Some(kind) = called else { return };
    if inside.contains(&b'\\') || after.trim_ascii_start().starts_with(b"..") {
        return;
    }
    if let Ok(name) = str::from_utf8(inside) {
        let mention = kind(name.to_owned());
        if !found.contains(&mention) {
            found.push(mention);
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// What follows a comment, which this is what stands behind the hyphens of.
fn behind_comment(text: &[u8]) -> &[u8] {
    match long(text) {
        Some((_, after)) => after,
        None => {
            let end = text.iter().position(|byte| *byte == b'\n').unwrap_or(text.len());
            &text[end..]
        }
    }
}

/// What is in a text in quotes, and what follows it. One that does not end goes to the end of its line.
fn quoted(text: &[u8], quote: u8) -> (&[u8], &[u8]) {
    let mut at = 0;
    while let Some(byte) = text.get(at) {
        match byte {
            b'\\' => at += 2,
            b'\n' => break,
            _ if *byte == quote => return (&text[..at], &text[at + 1..]),
            _ => at += 1,
        }
    }
    text.split_at(at.min(text.len()))
}

/// What is in long brackets (`[[`, `[=[`), if a text begins with them, and what follows.
fn long(text: &[u8]) -> Option<(&[u8], &[u8])> {
    let behind = text.strip_prefix(b"[")?;
    let level = behind.iter().take_while(|byte| **byte == b'=').count();
    let inside = behind[level..].strip_prefix(b"[")?;
    let end = [b"]".as_slice(), &vec![b'='; level], b"]"].concat();
    let at = inside.windows(end.len()).position(|window| window == end)?;
    Some((&inside[..at], &inside[at + end.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn calls_with_a_plain_name_are_seen() {
        let text = br#"
            require "common"
            require('a.b') -- require("not")
            --[[ dofile("neither") ]] local f = loadfile ( 'x.lua' )
            if late then dofile [[y.lua]] dofile([=[z]].lua]=]) end
            dofile(folder .. "no.lua") dofile("no" .. name) print("require", "no") dofile(name) require(t["no"])
            dofile "esc\\aped" dofile("x.lua")
        "#;
        let module = |name: &str| Mentioned::Module(name.to_owned());
        let file = |name: &str| Mentioned::File(name.to_owned());
        assert_eq!(
            mentioned(text),
            [
                module("common"),
                module("a.b"),
                file("x.lua"),
                file("y.lua"),
                file("z]].lua")
            ]
        );
    }

    proptest! {
        #[test]
        fn any_text_can_be_looked_at(text in "(require|dofile|--|\\[=?\\[|\\]=?\\]|[\"'\\\\( \n]|x){0,40}") {
            let _ = mentioned(text.as_bytes());
        }
    }
}
