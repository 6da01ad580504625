//! What a server says, in libpq's layout: severity and message, the statement's line with a mark, detail, hint.

use dyno_wire::ServerError;
use postgres::error::ErrorPosition;

/// An error of the load's own connections; `query` is the statement as it was sent, if its text was.
pub fn of_server(error: &ServerError, query: Option<&str>) -> String {
    let mut text = format!("{}:  {}\n", error.severity, error.message);
    if let (Some(position), Some(query)) = (error.position, query) {
        text += &marked_line(query, position as usize);
    }
    for (name, value) in [("DETAIL", &error.detail), ("HINT", &error.hint)] {
        if let Some(value) = value {
            text += &format!("{name}:  {value}\n");
        }
    }
    text
}

/// An error of the connection for everything else.
pub fn of_client(error: &postgres::Error, query: &str) -> String {
    let Some(error) = error.as_db_error() else {
        return format!("{error}\n");
    };
    let mut text = format!("{}:  {}\n", error.severity(), error.message());
    if let Some(ErrorPosition::Original(position)) = error.position() {
        text += &marked_line(query, *position as usize);
    }
    for (name, value) in [
        ("DETAIL", error.detail()),
        ("HINT", error.hint()),
        ("CONTEXT", error.where_()),
    ] {
        if let Some(value) = value {
            text += &format!("{name}:  {value}\n");
        }
    }
    text
}

/// How much of a line is shown, and how much of that behind the mark: libpq's measures.
const SHOWN: usize = 60;
const BEHIND: usize = 10;

/// The line of `query` that holds its `position`-th character (from 1), and a `^` under that.
fn marked_line(query: &str, position: usize) -> String {
    let characters: Vec<char> = query.chars().collect();
    let at = position.saturating_sub(1).min(characters.len());
    let is_end = |character: &char| matches!(character, '\n' | '\r');
    let line_number = characters[..at].iter().filter(|character| **character == '\n').count() + 1;
    let start = characters[..at].iter().rposition(is_end).map_or(0, |end| end + 1);
    let end = characters[at..]
        .iter()
        .position(is_end)
        .map_or(characters.len(), |length| at + length);
    let (mut from, mut to) = (start, end);
    if end - start > SHOWN {
        // The mark stays in sight; what is cut off is replaced by dots.
        if start + SHOWN >= at + BEHIND {
            to = start + SHOWN;
        } else if at + BEHIND < end {
            to = at + BEHIND;
            from = to.saturating_sub(SHOWN).max(start);
        } else {
            from = end - SHOWN;
        }
    }
    let (cut_before, cut_behind) = (from > start, to < end);
    let dots = |cut: bool| if cut { "..." } else { "" };
    let shown: String = characters[from..to]
        .iter()
        .map(|character| if *character == '\t' { ' ' } else { *character })
        .collect();
    let label = format!("LINE {line_number}: {}", dots(cut_before));
    let blanks = label.chars().count() + at.saturating_sub(from);
    format!("{label}{shown}{}\n{}^\n", dots(cut_behind), " ".repeat(blanks))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_line_is_marked() {
        assert_eq!(
            marked_line("select count(*) from pgbench_branches", 22),
            "LINE 1: select count(*) from pgbench_branches\n                             ^\n"
        );
        assert_eq!(
            marked_line("select 1,\n nocolumn;", 12),
            "LINE 2:  nocolumn;\n         ^\n"
        );
    }

    #[test]
    fn a_long_line_is_cut_around_the_mark() {
        let line = format!("{}x{}", "a".repeat(100), "b".repeat(100));
        let text = marked_line(&line, 101);
        let (shown, mark) = text.split_once('\n').unwrap();
        assert_eq!(shown.chars().nth(mark.find('^').unwrap()), Some('x'));
        assert!(shown.starts_with("LINE 1: ...") && shown.ends_with("..."));
    }

    proptest! {
        #[test]
        fn never_panics(query in "\\PC{0,80}\n?\\PC{0,80}", position in 0usize..200) {
            let _ = marked_line(&query, position);
        }
    }
}
