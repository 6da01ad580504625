//! Statements as the server takes them: SQL without a semicolon at its end, a block of PL/SQL with one.

use crate::target::first_word;

/// A statement without what ends it in a script. A block, which ends with its last word, keeps its semicolon.
pub(super) fn sent(text: &str) -> &str {
    let text = text.trim_end();
    match is_block(text) {
        true => text,
        false => text.trim_end_matches(|last: char| last == ';' || last.is_whitespace()),
    }
}

/// Whether it is a block of PL/SQL, or makes what has one.
pub(super) fn is_block(text: &str) -> bool {
    match first_word(text, &["--"]).as_str() {
        "begin" | "declare" => true,
        "create" => {
            let words = text.split_whitespace().map(str::to_ascii_lowercase).skip(1);
            let mut words =
                words.skip_while(|word| ["or", "replace", "editionable", "noneditionable"].contains(&word.as_str()));
            let made = words.next().unwrap_or_default();
            ["function", "procedure", "package", "trigger", "type"].contains(&made.as_str())
        }
        _ => false,
    }
}

/// Whether it changes what there is beside rows, so that the server commits by itself.
pub(super) fn is_definition(text: &str) -> bool {
    let word = first_word(text, &["--"]);
    [
        "create", "alter", "drop", "truncate", "rename", "comment", "grant", "begin", "declare",
    ]
    .contains(&word.as_str())
}

/// A name as SQL takes it, as the dictionary has it.
pub(super) fn quoted(name: &str) -> String {
    format!("\"{}\"", name.replace('"', ""))
}

/// A name as people write it: in small letters if the dictionary has it in capitals, as it does unless it was quoted.
pub(super) fn shown(name: &str) -> String {
    match name.chars().any(char::is_lowercase) {
        true => name.to_owned(),
        false => name.to_lowercase(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_blocks_keep_their_semicolon() {
        assert_eq!(sent("select 1 from dual ;\n"), "select 1 from dual");
        assert_eq!(sent("-- x\nbegin null; end;\n"), "-- x\nbegin null; end;");
        let made = "create or replace procedure p is begin null; end;";
        assert_eq!(sent(made), made);
        assert_eq!(sent("create table type (a number);"), "create table type (a number)");
    }

    #[test]
    fn names_are_shown_as_they_are_written() {
        assert_eq!((shown("TBL"), shown("Tbl")), ("tbl".to_owned(), "Tbl".to_owned()));
        assert_eq!(quoted("TBL"), "\"TBL\"");
    }
}
