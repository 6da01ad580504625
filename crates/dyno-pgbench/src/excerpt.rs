//! A server's error in the words of libpq, which shows the place in the statement that the server points at.

use dyno_wire::ServerError;
use std::fmt::Write;
use std::ops::Range;

/// Widest piece of a line that is shown, in characters.
const WIDTH: usize = 60;
/// How much of it stays to the right of the place.
const RIGHT: usize = 10;

/// `error` as libpq words it: severity and message, the place in `statement` (if its text was sent) or in one that
/// the server made itself, detail, hint, context.
#[must_use]
pub fn server_text(error: &ServerError, statement: Option<&str>) -> String {
    let place = |statement: Option<&str>, position: Option<u32>| {
        let place = usize::try_from(position?).ok()?.checked_sub(1)?;
        excerpt(statement?, place)
    };
    let place = match error.position {
        Some(position) => place(statement, Some(position)),
        None => place(error.internal_query.as_deref(), error.internal_position),
    };
    let mut text = format!("{}:  {}", error.severity, error.message);
    // Writing to a string cannot fail.
    let _ = place.map(|place| write!(text, "\n{place}"));
    let rest = [
        ("DETAIL", &error.detail),
        ("HINT", &error.hint),
        ("QUERY", &error.internal_query),
        ("CONTEXT", &error.context),
    ];
    for (name, more) in rest {
        let _ = more.as_ref().map(|more| write!(text, "\n{name}:  {more}"));
    }
    text
}

/// The line of `statement` around the character at `place` (from 0), and under it a caret; `None` if there is no
/// such character.
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
            server_text(&error, Some(create)),
            "ERROR:  permission denied for schema public\n\
             LINE 1: create table pgbench_history(tid int,bid int,aid    int,delt...\n\
             \x20                    ^\nHINT:  Ask."
        );
    }

    #[test]
    fn shows_the_servers_own_statement() {
        // As printed by pgbench 15.
        let error = ServerError {
            severity: "ERROR".to_owned(),
            message: "column \"a\" does not exist".to_owned(),
            internal_query: Some("select a".to_owned()),
            internal_position: Some(8),
            context: Some("PL/pgSQL function inline_code_block line 1 at EXECUTE".to_owned()),
            ..ServerError::default()
        };
        assert_eq!(
            server_text(&error, None),
            "ERROR:  column \"a\" does not exist\nLINE 1: select a\n               ^\nQUERY:  select a\n\
             CONTEXT:  PL/pgSQL function inline_code_block line 1 at EXECUTE"
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
        assert_eq!(server_text(&error, Some("select")), "ERROR:  no");
        assert_eq!(excerpt("", 0).unwrap(), "LINE 1: \n        ^");
    }

    proptest! {
        #[test]
        fn never_panics(statement in any::<String>(), place in 0_usize..200) {
            let _ = excerpt(&statement, place);
        }
    }
}
