//! The words of comparisons.

use crate::completion::seconds;
use crate::figures::{self, decimal, one_line};
use dyno_analysis::comparison::{CellComparison, Comparison, Loss, Side, Verdict, WorkloadComparison};
use dyno_archive::plan::Levels;
use dyno_stats::MANY_RUNS;

/// Longer values are shown from where they begin to differ.
const LONGEST_VALUE: usize = 60;

/// More cells that only one side has are not read.
const MOST_UNMATCHED: usize = 10;

/// What stands before the first difference of two long values.
const BEFORE: usize = 16;

/// A ratio, exact to a tenth of a percent where it is near 1.
pub(crate) fn ratio(ratio: f64) -> String {
    decimal(ratio, if ratio < 10.0 { 3 } else { 1 })
}

/// A ratio as a change: `+9.0 %`.
pub(crate) fn change(ratio: f64) -> String {
    let percent = (ratio - 1.0) * 100.0;
    let sign = if percent < 0.0 { "−" } else { "+" };
    format!("{sign}{} %", decimal(percent.abs(), 1))
}

/// A probability.
pub(crate) fn p_value(p_value: f64) -> String {
    if p_value < 0.001 {
        "<0.001".to_owned()
    } else {
        decimal(p_value, 3)
    }
}

/// A verdict, with what would help where there is none.
pub(crate) fn verdict(verdict: Verdict) -> String {
    match verdict {
        Verdict::Better => "better".to_owned(),
        Verdict::Worse => "worse".to_owned(),
        Verdict::CannotTellYet { more_runs: None } => "cannot tell yet".to_owned(),
        Verdict::CannotTellYet {
            more_runs: Some(MANY_RUNS..),
        } => format!("cannot tell yet: over {MANY_RUNS} more runs"),
        Verdict::CannotTellYet { more_runs: Some(1) } => "cannot tell yet: 1 more run".to_owned(),
        Verdict::CannotTellYet { more_runs: Some(more) } => format!("cannot tell yet: {more} more runs"),
    }
}

/// The levels of a cell; empty if nothing is varied.
pub(crate) fn levels(levels: &Levels) -> String {
    let levels = levels.iter().map(|(factor, level)| format!("{factor} = {level}"));
    one_line(&levels.collect::<Vec<_>>().join(", "))
}

/// The cells and the workloads that only one side has, as a sentence; `None` if there are none.
pub(crate) fn unmatched(name: &str, side: &Side) -> Option<String> {
    let cells = side.unmatched.iter().map(|unmatched| match levels(unmatched) {
        levels if levels.is_empty() => "a cell without factors".to_owned(),
        levels => levels,
    });
    let workloads = side
        .unmatched_workloads
        .iter()
        .map(|workload| format!("workload {workload}"));
    let only: Vec<String> = workloads.chain(cells).collect();
    let more = only.len().saturating_sub(MOST_UNMATCHED);
    let more = if more > 0 {
        format!("; and {more} more")
    } else {
        String::new()
    };
    let told = only.iter().take(MOST_UNMATCHED).cloned().collect::<Vec<_>>().join("; ");
    (!only.is_empty()).then(|| format!("Only {name} has: {told}{more}."))
}

/// A workload with the cell it ran in. Where workloads are levels of a factor, its name is not said twice.
pub(crate) fn named(cell: &CellComparison, workload: &WorkloadComparison) -> String {
    let others = cell.levels.iter().filter(|(_, level)| **level != workload.name);
    match levels(&others.map(|(factor, level)| (factor.clone(), level.clone())).collect()) {
        levels if levels.is_empty() => workload.name.clone(),
        levels => format!("{}, {levels}", workload.name),
    }
}

/// Open or closed loop, and of both sides if that differs.
pub(crate) fn pacing(workload: &WorkloadComparison) -> String {
    let (baseline, candidate) = (
        figures::pacing(workload.baseline_pacing),
        figures::pacing(workload.candidate_pacing),
    );
    if baseline == candidate {
        baseline
    } else {
        format!("A {baseline}, B {candidate}")
    }
}

/// The verdict on all measures together: worse if anything is, better if anything is and nothing is worse.
pub(crate) fn overall(comparison: &Comparison) -> &'static str {
    let counted = comparison.verdict_counts();
    let worse = counted.worse + comparison.unfinished().count();
    match (worse, counted.better) {
        (0, 0) => "cannot tell yet",
        (0, _) => "better",
        (_, 0) => "worse",
        (_, _) => "worse in some respects, better in others",
    }
}

/// How many verdicts there are of each kind, and how many of them may be chance.
pub(crate) fn conclusion(comparison: &Comparison) -> String {
    let counted = comparison.verdict_counts();
    if counted.all() == 0 {
        return "Nothing could be compared.".to_owned();
    }
    let counts = [
        (counted.worse, "worse"),
        (counted.better, "better"),
        (counted.unknown, "cannot be judged yet"),
    ];
    let counts = counts.iter().filter(|(count, _)| *count > 0);
    let counts: Vec<String> = counts.map(|(count, what)| format!("{count} {what}")).collect();
    let mut text = format!("Of {} measures {}.", counted.all(), counts.join(", "));
    if counted.better + counted.worse > 0 {
        text.push_str(&format!(
            " If nothing differed at all, chance would call at most {} of them better or worse on average.",
            decimal(counted.by_chance(), 1)
        ));
    }
    text
}

/// What became worse and by how much.
pub(crate) fn loss(loss: &Loss<'_>) -> String {
    let (measure, percent) = (loss.measure.measure, decimal(loss.measure.loss() * 100.0, 1));
    let how = if measure.is_latency() { "higher" } else { "lower" };
    format!(
        "{} of {} is {percent} % {how}",
        measure.name(),
        named(loss.cell, loss.workload)
    )
}

/// What the baseline finished and the other did not.
pub(crate) fn unfinished_words(cell: &CellComparison, workload: &WorkloadComparison) -> String {
    format!(
        "{} was unfinished after {}, and the baseline finished it",
        named(cell, workload),
        seconds(workload.candidate_longer_than_s.unwrap_or_default())
    )
}

/// Two values on one line each, as short as shows the difference; `-` for none.
pub(crate) fn excerpts(one: &str, another: &str) -> (String, String) {
    let (one, another): (Vec<char>, Vec<char>) = (one_line(one).chars().collect(), one_line(another).chars().collect());
    let common = one
        .iter()
        .zip(&another)
        .take_while(|(one, another)| one == another)
        .count();
    let short = one.len().max(another.len()) <= LONGEST_VALUE;
    let from = if short { 0 } else { common.saturating_sub(BEFORE) };
    let excerpt = |text: &[char]| {
        if text.is_empty() {
            return "-".to_owned();
        }
        let rest = &text[from.min(text.len())..];
        let mut excerpt: String = rest.iter().take(LONGEST_VALUE).collect();
        if from > 0 {
            excerpt.insert(0, '…');
        }
        if rest.len() > LONGEST_VALUE {
            excerpt.push('…');
        }
        excerpt
    };
    (excerpt(&one), excerpt(&another))
}

/// A gate: says which measures became worse by at least `least` (a share), and what is not finished any more, or
/// nothing if there is neither.
#[must_use]
pub fn losses(comparison: &Comparison, least: f64) -> Option<String> {
    let losses = comparison.losses(least);
    let unfinished = comparison
        .unfinished()
        .map(|(cell, workload)| unfinished_words(cell, workload));
    let mut all = unfinished.chain(losses.iter().map(loss));
    let first = all.next()?;
    let others = match all.count() {
        0 => String::new(),
        1 => ", and 1 other measure is worse".to_owned(),
        more => format!(", and {more} other measures are worse"),
    };
    Some(first + &others)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_say_as_much_as_they_mean() {
        assert_eq!(
            (ratio(1.0904), ratio(12.345), ratio(0.0)),
            ("1.090".into(), "12.3".into(), "0.000".into())
        );
        assert_eq!((change(1.09), change(0.881)), ("+9.0 %".into(), "−11.9 %".into()));
        assert_eq!((p_value(0.02857), p_value(0.0001)), ("0.029".into(), "<0.001".into()));
    }

    #[test]
    fn no_verdict_says_what_would_help() {
        let unknown = |more_runs| verdict(Verdict::CannotTellYet { more_runs });
        assert_eq!(unknown(None), "cannot tell yet");
        assert_eq!(unknown(Some(1)), "cannot tell yet: 1 more run");
        assert_eq!(unknown(Some(99)), "cannot tell yet: 99 more runs");
        assert_eq!(unknown(Some(100)), "cannot tell yet: over 100 more runs");
    }

    #[test]
    fn long_values_are_shown_where_they_differ() {
        assert_eq!(excerpts("4MB", ""), ("4MB".to_owned(), "-".to_owned()));
        let script = |end: &str| format!("{}\nupdate tbl set a = {end}", "select 1; ".repeat(20));
        let (one, another) = excerpts(&script("1"), &script("22"));
        assert_eq!(
            (one.as_str(), another.as_str()),
            ("…ate tbl set a = 1", "…ate tbl set a = 22")
        );
        let (one, _) = excerpts(&"x".repeat(100), "y");
        assert_eq!(one.chars().count(), 61);
    }
}
