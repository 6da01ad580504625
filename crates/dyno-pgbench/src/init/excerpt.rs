//! A server's error in the words of libpq, which shows the place in the statement that the server points at.

use dyno_wire::ServerError;
use std::ops::Range;

/// Widest piece of a line that is shown, in characters.
const WIDTH: usize = 60;
/// How much of it stays to the right of the place.
const RIGHT: usize = 10;

/// `error` as libpq words it: severity and message, the place in `statement`, detail, hint.
#[must_use]
pub fn server_text(error: &ServerError, statement: &str) -> String {
    let whole = error.to_string();
    let place = error
        .position
        .and_then(|position| excerpt(statement, usize::try_from(position).ok()?.checked_sub(1)?));
    let Some(place) = place else {
        return whole;
    };
    let head = format!("{}:  {}", error.severity, error.message);
    let rest = whole.strip_prefix(head.as_str()).unwrap_or_default();
    format!("{head}\n{place}{rest}")
}

/// The line of `statement` around the character at `place` (from 0), and under it a caret; `None` if there is no such character.
fn excerpt(statement: &str, place: usize) -> Option<String> {
    let text: Vec<char> = statement
        .chars()
        .map(|character| if character == '\t' { ' ' } else { character })
        .collect();
    if place > text.len() {
        return None;
    }
    let is_end = |character: &char| matches!(character, '\n' | '\r');
    let before = &text[..place];
    let number = before.iter().filter(|character| **character == '\n').count() + 1;
    let begin = before.iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = text[place..]
        .iter()
        .position(is_end)
        .map_or(text.len(), |length| place + length);
    let shown = window(begin..end, place);
    let mut line = format!("LINE {number}: ");
    if shown.start > begin {
        line.push_str("...");
    }
    let indent = line.chars().count() + place - shown.start;
    line.extend(&text[shown.clone()]);
    if shown.end < end {
        line.push_str("...");
    }
    Some(format!("{line}\n{:indent$}^", ""))
}

/// The piece of a line that is shown: cut at the right if that is enough, else at both ends.
fn window(line: Range<usize>, place: usize) -> Range<usize> {
    let Range { mut start, mut end } = line;
    if end - start > WIDTH {
        if start + WIDTH >= place + RIGHT {
            end = start + WIDTH;
        } else {
            end = end.min(place + RIGHT);
            start = start.max(end.saturating_sub(WIDTH));
        }
    }
    start..end
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn points_into_the_line() {
        // As printed by pgbench 15 for the same statement and place.
        let create =
            "create table pgbench_history(tid int,bid int,aid    int,delta int,mtime timestamp,filler char(22))";
        let error = ServerError {
            severity: "ERROR".to_owned(),
            message: "permission denied for schema public".to_owned(),
            hint: Some("Ask.".to_owned()),
            position: Some(14),
            ..ServerError::default()
        };
        assert_eq!(
            server_text(&error, create),
            "ERROR:  permission denied for schema public\n\
             LINE 1: create table pgbench_history(tid int,bid int,aid    int,delt...\n\
             \x20                    ^\nHINT:  Ask."
        );
    }

    #[test]
    fn cuts_both_ends_of_a_long_line() {
        let statement = format!("select\n{}X{}", "a".repeat(100), "b".repeat(100));
        let shown = excerpt(&statement, 107).unwrap();
        let (line, caret) = shown.split_once('\n').unwrap();
        assert_eq!(line, format!("LINE 2: ...{}X{}...", "a".repeat(50), "b".repeat(9)));
        assert_eq!(line.find('X'), caret.find('^'));
    }

    #[test]
    fn without_a_place_there_is_no_excerpt() {
        let error = ServerError {
            severity: "ERROR".to_owned(),
            message: "no".to_owned(),
            position: Some(100),
            ..ServerError::default()
        };
        assert_eq!(server_text(&error, "select"), "ERROR:  no");
        assert_eq!(excerpt("", 0).unwrap(), "LINE 1: \n        ^");
    }

    proptest! {
        #[test]
        fn never_panics(statement in any::<String>(), place in 0_usize..200) {
            let _ = excerpt(&statement, place);
        }
    }
}
