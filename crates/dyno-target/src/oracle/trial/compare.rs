//! What both clients got, side by side.

use super::sides::Got;
use crate::oracle::client::TextRow;
use crate::target::Verdict;
use dyno_text::one_line;

/// How much of a value or a message is shown.
const LONGEST: usize = 200;

/// What is meant to come of something.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Meant {
    /// It is done.
    Success,
    /// Versions differ: it is done, or refused.
    Either,
    /// It is refused with this number.
    Refusal(&'static str),
}

/// Judges what came of the steps of a case, of dyno's session and of the crate.
pub(super) fn judge(meant: Meant, own: &[Got], beside: &[Got]) -> (Verdict, String) {
    if let (Meant::Either, [Got::Unfit(why)], [other]) = (meant, own, beside) {
        let why = one_line(why, LONGEST);
        return (
            Verdict::Good,
            format!("dyno's session does not show it ({why}); the crate: {}", told(other)),
        );
    }
    for (at, (one, other)) in own.iter().zip(beside).enumerate() {
        if let Some(how) = difference(one, other) {
            let step = match own.len() {
                1 => String::new(),
                _ => format!(" in step {}", at + 1),
            };
            return (Verdict::Different, format!("DIFFERENT{step}: {how}"));
        }
    }
    let refusal = own.iter().find_map(|got| match got {
        Got::Refused(code, message) => Some((code.as_str(), message)),
        _ => None,
    });
    let shown = |message: &str| one_line(message, LONGEST);
    match (meant, refusal) {
        (Meant::Refusal(code), Some((found, _))) if code == found => {
            (Verdict::Good, format!("alike: both are refused by {code}"))
        }
        (Meant::Refusal(code), Some((_, message))) => (
            Verdict::Different,
            format!("NOT {code}: both are refused by {}", shown(message)),
        ),
        (Meant::Refusal(code), None) => (Verdict::Failed, format!("NOT refused by {code}: {}", summary(own))),
        (Meant::Either, Some((_, message))) => {
            (Verdict::Good, format!("alike: both are refused by {}", shown(message)))
        }
        (Meant::Success, Some((_, message))) => (Verdict::Failed, format!("both are refused by {}", shown(message))),
        (_, None) => (Verdict::Good, format!("alike: {}", summary(own))),
    }
}

/// What the last step gave that gives anything.
fn summary(got: &[Got]) -> String {
    let telling = got.iter().rev().find(|got| **got != Got::Done);
    match telling {
        Some(Got::Rows(rows)) => match rows.as_slice() {
            [row] => shown(row),
            rows => format!("{} rows", rows.len()),
        },
        Some(Got::Changed(rows)) => format!("{rows} rows changed"),
        Some(Got::Unfit(_)) => "neither client fetches it".to_owned(),
        _ => "done".to_owned(),
    }
}

/// How two differ; `None` if they do not.
fn difference(own: &Got, beside: &Got) -> Option<String> {
    let both = |own: String, beside: String| Some(format!("dyno's session: {own}; the crate: {beside}"));
    match (own, beside) {
        (Got::Rows(own), Got::Rows(beside)) => {
            if own.len() != beside.len() {
                return both(format!("{} rows", own.len()), format!("{} rows", beside.len()));
            }
            let other = own.iter().zip(beside).position(|(own, beside)| !is_alike(own, beside));
            other.and_then(|at| {
                let row = format!("row {}: ", at + 1);
                both(row.clone() + &shown(&own[at]), row + &shown(&beside[at]))
            })
        }
        (Got::Refused(own, _), Got::Refused(beside, _)) if own == beside => None,
        (Got::Unfit(_), Got::Unfit(_)) => None,
        (own, beside) if own == beside => None,
        (own, beside) => both(told(own), told(beside)),
    }
}

fn told(got: &Got) -> String {
    match got {
        Got::Rows(rows) => match rows.as_slice() {
            [row] => shown(row),
            rows => format!("{} rows", rows.len()),
        },
        Got::Changed(rows) => format!("{rows} rows changed"),
        Got::Done => "done".to_owned(),
        Got::Refused(_, message) => format!("refused by {}", one_line(message, LONGEST)),
        Got::Unfit(why) => format!("cannot: {}", one_line(why, LONGEST)),
    }
}

fn shown(row: &TextRow) -> String {
    let values = row.iter().map(|value| value.as_deref().unwrap_or("NULL"));
    one_line(&values.collect::<Vec<_>>().join(" | "), LONGEST)
}

fn is_alike(own: &TextRow, beside: &TextRow) -> bool {
    own.len() == beside.len()
        && own.iter().zip(beside).all(|(own, beside)| match (own, beside) {
            (Some(own), Some(beside)) => own == beside || plain(own) == plain(beside),
            (own, beside) => own == beside,
        })
}

/// A value without what says nothing: zeros at the end of a fraction, a sign of how UTC is written, and whether
/// digits of bytes are in capitals.
fn plain(value: &str) -> String {
    let value = value
        .trim_end_matches(" +00:00")
        .trim_end_matches(" UTC")
        .to_ascii_lowercase();
    let is_number_like = value
        .bytes()
        .all(|byte| byte.is_ascii_digit() || b" -:.+e".contains(&byte));
    match value.contains('.') && is_number_like {
        true => value.trim_end_matches('0').trim_end_matches('.').to_owned(),
        false => value,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(rows: &[&[&str]]) -> Got {
        let row = |row: &&[&str]| row.iter().map(|value| Some((*value).to_owned())).collect();
        Got::Rows(rows.iter().map(row).collect())
    }

    fn refused(code: &str) -> Got {
        Got::Refused(code.to_owned(), format!("{code}: no"))
    }

    #[test]
    fn the_same_is_alike_however_it_is_written() {
        let own = rows(&[&["2026-05-01 10:11:12.345", "1.5", "00ff"]]);
        let beside = rows(&[&["2026-05-01 10:11:12.345000000", "1.50", "00FF"]]);
        let (verdict, found) = judge(Meant::Success, &[own], &[beside]);
        assert_eq!(verdict, Verdict::Good);
        assert_eq!(found, "alike: 2026-05-01 10:11:12.345 | 1.5 | 00ff");
        let one = [Got::Done, Got::Changed(2), Got::Done];
        assert_eq!(judge(Meant::Success, &one, &one).1, "alike: 2 rows changed");
    }

    #[test]
    fn differences_are_told_plainly() {
        let (own, beside) = (rows(&[&["1", "a"], &["2", "b"]]), rows(&[&["1", "a"], &["2", "c"]]));
        let (verdict, found) = judge(Meant::Success, &[Got::Done, own.clone()], &[Got::Done, beside]);
        assert_eq!(verdict, Verdict::Different);
        assert_eq!(
            found,
            "DIFFERENT in step 2: dyno's session: row 2: 2 | b; the crate: row 2: 2 | c"
        );
        let (verdict, found) = judge(Meant::Success, &[own], &[refused("ORA-00942")]);
        assert_eq!(verdict, Verdict::Different);
        assert_eq!(
            found,
            "DIFFERENT: dyno's session: 2 rows; the crate: refused by ORA-00942: no"
        );
        let null = Got::Rows(vec![vec![None]]);
        assert_eq!(
            judge(Meant::Success, &[null], &[rows(&[&["NULL"]])]).0,
            Verdict::Different
        );
    }

    #[test]
    fn a_refusal_may_be_what_is_meant() {
        let judged = |meant, code| judge(meant, &[refused(code)], &[refused(code)]).0;
        assert_eq!(judged(Meant::Refusal("ORA-00001"), "ORA-00001"), Verdict::Good);
        assert_eq!(judged(Meant::Refusal("ORA-00001"), "ORA-00942"), Verdict::Different);
        assert_eq!(judged(Meant::Success, "ORA-00942"), Verdict::Failed);
        assert_eq!(judged(Meant::Either, "ORA-00904"), Verdict::Good);
        // That some types are not shown is known.
        let unfit = [Got::Unfit("ROWID is not shown".to_owned())];
        let (verdict, found) = judge(Meant::Either, &unfit, &[rows(&[&["(ROWID)"]])]);
        assert_eq!(verdict, Verdict::Good);
        assert!(found.ends_with("(ROWID is not shown); the crate: (ROWID)"), "{found}");
        let done = [Got::Changed(1)];
        assert_eq!(judge(Meant::Refusal("ORA-00001"), &done, &done).0, Verdict::Failed);
    }
}
