//! What the recording of a run shows: steady state, dips and their causes, and what holds for the run as a whole.

use crate::figures::{counted, decimal, duration, one_line};
use crate::table::{INDENT, facts, paragraph, table};
use dyno_archive::analysis::{Analysis, Dip};
use dyno_archive::summary::Summary;
use std::time::Duration;

/// More dips than this are not read; the deepest are shown.
const MOST_DIPS: usize = 10;

/// Of these many dips the cause is told at the end of a run.
const TOLD_DIPS: usize = 3;

/// All of an analysis as text.
#[must_use]
pub fn analysis(analysis: &Analysis) -> String {
    let mut sections = vec![facts([
        ("steady state", steady_state(analysis)),
        ("dips", number_of_dips(analysis)),
    ])];
    if !analysis.dips.is_empty() {
        sections.push(dips(&analysis.dips));
    }
    let findings: String = analysis
        .findings
        .iter()
        .map(|finding| paragraph("  - ", &one_line(finding)))
        .collect();
    sections.push(findings);
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// What matters of an analysis in a few lines; nothing of a run that was short and had no dip.
pub(crate) fn in_short(analysis: &Analysis) -> String {
    let Analysis { steady, dips, .. } = analysis;
    if !steady.found && dips.is_empty() {
        return String::new();
    }
    let mut number = number_of_dips(analysis);
    if !dips.is_empty() {
        let told = deepest(dips, TOLD_DIPS).into_iter().map(|dip| {
            let (start_s, depth) = (decimal(dip.start_s, 0), decimal(dip.depth_percent, 0));
            format!("{depth} % at {start_s} s ({})", dip.cause)
        });
        let which = if dips.len() > TOLD_DIPS {
            "; the deepest: "
        } else {
            ": "
        };
        number = number + which + &told.collect::<Vec<_>>().join(", ");
    }
    [("steady state: ", steady_state(analysis)), ("dips: ", number)]
        .map(|(name, text)| paragraph(&format!("{INDENT}{name}"), &text))
        .concat()
}

/// The figures of a run with all that is to be kept in mind.
pub(crate) fn with_warnings(figures: Summary, analysis: Option<&Analysis>) -> Summary {
    let mut figures = figures;
    let warnings = analysis
        .into_iter()
        .flat_map(|analysis| analysis.warnings.iter().cloned());
    figures.warnings.extend(warnings);
    figures
}

fn steady_state(analysis: &Analysis) -> String {
    let steady = &analysis.steady;
    one_line(&match (steady.found, steady.from_s) {
        (true, Some(from_s)) => format!("from {} s on: {}", decimal(from_s, 0), steady.reason),
        (true, None) => steady.reason.clone(),
        (false, _) => format!("none found: {}", steady.reason),
    })
}

fn number_of_dips(analysis: &Analysis) -> String {
    if analysis.dips.is_empty() {
        return "none".to_owned();
    }
    let lost_s: f64 = analysis.dips.iter().map(|dip| dip.end_s - dip.start_s).sum();
    let mut text = format!(
        "{} of {} s in all",
        counted(analysis.dips.len() as u64, "dip"),
        decimal(lost_s, 0)
    );
    if let Some(period_s) = analysis.dip_period_s {
        let period = duration(Duration::try_from_secs_f64(period_s).unwrap_or_default());
        text.push_str(&format!(", one every {period}"));
    }
    text
}

/// As many of the deepest dips, in order of time.
fn deepest(dips: &[Dip], most: usize) -> Vec<&Dip> {
    let mut deepest: Vec<&Dip> = dips.iter().collect();
    deepest.sort_by(|one, other| other.depth_percent.total_cmp(&one.depth_percent));
    deepest.truncate(most);
    deepest.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    deepest
}

/// The deepest dips with what was seen.
fn dips(dips: &[Dip]) -> String {
    let rows = deepest(dips, MOST_DIPS).into_iter().map(|dip| {
        vec![
            decimal(dip.start_s, 1),
            decimal(dip.end_s - dip.start_s, 1),
            format!("{} %", decimal(dip.depth_percent, 0)),
            dip.cause.to_string(),
            dip.evidence
                .iter()
                .map(|words| one_line(words))
                .collect::<Vec<_>>()
                .join("; "),
        ]
    });
    let mut text = table(
        &["dip at (s)", "lasts (s)", "depth", "cause", "seen at the time"],
        &[3, 4],
        rows,
    );
    if let Some(others) = other_dips(dips.len().saturating_sub(MOST_DIPS)) {
        text.push_str(&format!("{INDENT}({others})\n"));
    }
    text
}

/// What is to be said of so many dips that are not shown beside the deepest; `None` if there are none.
pub(crate) fn other_dips(number: usize) -> Option<String> {
    match number {
        0 => None,
        1 => Some("run.json has the other dip, which is no deeper".to_owned()),
        _ => Some(format!(
            "run.json has the other {}, which are no deeper",
            counted(number as u64, "dip")
        )),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::analysis::{Cause, Steady};
    use insta::assert_snapshot;

    fn dip(start_s: f64, depth_percent: f64, cause: Cause, evidence: &[&str]) -> Dip {
        Dip {
            start_s,
            end_s: start_s + 3.0,
            depth_percent,
            cause,
            evidence: evidence.iter().map(|words| (*words).to_owned()).collect(),
        }
    }

    #[test]
    fn a_run_with_dips() {
        let lock = "8 sessions waited up to 3.0 s for a lock on tbl held by 4711 psql, idle in transaction";
        let found = Analysis {
            steady: Steady {
                found: true,
                from_s: Some(25.0),
                reason: "no trend and no change of level after the first 20 s, in which TPS was 51 % lower than later"
                    .to_owned(),
            },
            dips: vec![
                dip(
                    60.0,
                    99.6,
                    Cause::Lock,
                    &[lock, "the host took 9 % of the CPU time away (steal), usually 1 %"],
                ),
                dip(660.0, 42.0, Cause::Unknown, &[]),
            ],
            dip_period_s: Some(600.0),
            findings: vec![
                "After each checkpoint WAL per transaction was 5.2 times what it was before the next.".to_owned(),
            ],
            warnings: Vec::new(),
        };
        assert_snapshot!(analysis(&found));
    }

    #[test]
    fn of_many_dips_the_deepest_are_shown() {
        let dips = (0..12)
            .map(|number| dip(f64::from(number) * 50.0, 20.0 + f64::from(number), Cause::Unknown, &[]))
            .collect();
        let found = Analysis {
            dips,
            ..Analysis::default()
        };
        let text = analysis(&found);
        assert!(
            text.contains("(run.json has the other 2 dips, which are no deeper)"),
            "{text}"
        );
        assert!(
            !text.contains("20 %") && !text.contains("21 %") && text.contains("22 %"),
            "{text}"
        );
    }

    #[test]
    fn a_short_run_without_dips() {
        let found = Analysis {
            steady: Steady {
                found: false,
                from_s: None,
                reason: "20 intervals are not enough to tell; 60 are needed".to_owned(),
            },
            ..Analysis::default()
        };
        assert_snapshot!(analysis(&found), @r"
          steady state  none found: 20 intervals are not enough to tell; 60 are needed
          dips          none
        ");
    }
}
