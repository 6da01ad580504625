//! Two campaigns beside each other as text: first what differs, then each measure with its verdict, then what follows.

#[cfg(test)]
mod tests;
pub(crate) mod words;

use crate::figures::{counted, ms, one_line, rate};
use crate::table::{INDENT, facts, paragraph, table};
use dyno_analysis::comparison::{CellComparison, Comparison, Difference, Side, Verdict, WorkloadComparison};
use words::{change, conclusion, excerpts, loss, named, overall, p_value, pacing, ratio, verdict};

/// More measures that became worse are not read one by one; they stand in the tables.
const MOST_LOSSES: usize = 10;

/// All of a comparison. The baseline is called A, the other campaign B.
#[must_use]
pub fn comparison(comparison: &Comparison) -> String {
    let sides = [("A (baseline)", &comparison.baseline), ("B", &comparison.candidate)];
    let mut sections = vec![
        facts(sides.map(|(name, side)| (name, about(side)))),
        differences(&comparison.differences),
    ];
    sections.extend(comparison.workloads().map(|(cell, measured)| workload(cell, measured)));
    sections.extend([unmatched(comparison), conclusions(comparison)]);
    let cautions: String = comparison
        .cautions
        .iter()
        .map(|caution| paragraph("  - ", &one_line(caution)))
        .collect();
    if !cautions.is_empty() {
        sections.push(format!("Keep in mind:\n{cautions}"));
    }
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

fn about(side: &Side) -> String {
    format!("{}: {}", side.name, counted(side.complete_runs as u64, "complete run"))
}

fn differences(differences: &[Difference]) -> String {
    if differences.is_empty() {
        return "The recorded conditions are the same.\n".to_owned();
    }
    let rows = differences.iter().map(|difference| {
        let (baseline, candidate) = excerpts(&difference.baseline, &difference.candidate);
        vec![one_line(&difference.what), baseline, candidate]
    });
    format!("Differences:\n{}", table(&["", "A", "B"], &[0, 1, 2], rows))
}

fn workload(cell: &CellComparison, workload: &WorkloadComparison) -> String {
    let heading = format!(
        "{}: {} of A against {} of B, {}",
        named(cell, workload),
        counted(workload.baseline_runs.len() as u64, "run"),
        workload.candidate_runs.len(),
        pacing(workload)
    );
    let mut text = paragraph("", &heading);
    let rows = workload.measures.iter().map(|compared| {
        let (name, is_latency) = (compared.measure.name(), compared.measure.is_latency());
        let name = if is_latency {
            format!("{name} (ms)")
        } else {
            name.to_owned()
        };
        let show = |value: f64| if is_latency { ms(value) } else { rate(value) };
        let interval = compared.interval.map_or("-".to_owned(), |interval| {
            let within = if interval.within_a_run { " *" } else { "" };
            format!("{}–{}{within}", ratio(interval.low), ratio(interval.high))
        });
        vec![
            name,
            show(compared.baseline),
            show(compared.candidate),
            ratio(compared.ratio),
            interval,
            p_value(compared.p_value),
            verdict(compared.verdict),
        ]
    });
    if !workload.measures.is_empty() {
        let header = ["", "A", "B", "ratio", "95 % interval", "p", "verdict on B"];
        text.push_str(&table(&header, &[0, 6], rows));
    }
    let within = workload
        .measures
        .iter()
        .any(|compared| compared.interval.is_some_and(|interval| interval.within_a_run));
    if within {
        let words = "* How TPS varied within the only run of each; another run may differ by more.";
        text.push_str(&paragraph(INDENT, words));
    }
    let notes = workload.notes.iter().map(|note| paragraph(INDENT, &one_line(note)));
    text.extend(notes);
    text
}

/// What only one side has.
fn unmatched(comparison: &Comparison) -> String {
    let sides = [("A", &comparison.baseline), ("B", &comparison.candidate)];
    let only = sides.iter().filter_map(|(name, side)| words::unmatched(name, side));
    only.map(|words| paragraph(INDENT, &words)).collect()
}

/// What follows from all verdicts together.
fn conclusions(comparison: &Comparison) -> String {
    let mut text = paragraph("", &format!("Verdict on B: {}", overall(comparison)));
    text.push_str(&paragraph(INDENT, &conclusion(comparison)));
    let losses = comparison.losses(f64::NEG_INFINITY);
    for lost in losses.iter().take(MOST_LOSSES) {
        let between = lost.measure.interval.map_or_else(String::new, |interval| {
            format!(" (between {} and {})", change(interval.low), change(interval.high))
        });
        text.push_str(&paragraph("  - ", &format!("{}{between}", loss(lost))));
    }
    if losses.len() > MOST_LOSSES {
        text.push_str(&format!(
            "{INDENT}{} more are in the tables.\n",
            losses.len() - MOST_LOSSES
        ));
    }
    let unknown = |verdict: &Verdict| matches!(verdict, Verdict::CannotTellYet { more_runs: Some(_) });
    let mut measures = comparison.workloads().flat_map(|(_, workload)| &workload.measures);
    if measures.any(|compared| unknown(&compared.verdict)) {
        let words = "\"n more runs\": about how many more runs on each side would give a verdict four times out of \
                     five, if the difference is what it seems.";
        text.push_str(&paragraph(INDENT, words));
    }
    text
}

/// A gate: says which measures became worse by at least `least` (a share), or nothing if none did.
#[must_use]
pub fn losses(comparison: &Comparison, least: f64) -> Option<String> {
    let losses = comparison.losses(least);
    let first = losses.first()?;
    let others = match losses.len() - 1 {
        0 => String::new(),
        1 => ", and 1 other measure is worse".to_owned(),
        more => format!(", and {more} other measures are worse"),
    };
    Some(loss(first) + &others)
}
