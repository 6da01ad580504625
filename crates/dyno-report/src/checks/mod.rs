//! What a pipeline is told of a comparison beside the exit code: each measure as a check that holds or does not, as a
//! JUnit report, which CI servers show, or in Markdown, for their summaries.

mod junit;

use crate::answer::{self, answer_of_comparison};
use crate::compare::{change, named, unfinished_words, verdict};
use crate::document::model::{Column, Table, Value};
use crate::figures::one_line;
use crate::markdown;
use dyno_analysis::comparison::{Comparison, MeasureComparison};
use dyno_archive::{Campaign, Measure, Verdict, Versus};

/// What there is to pass, and why.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Limits {
    /// Being worse by at least this share does not pass; `None`: it does.
    pub worse: Option<f64>,
    /// Whether what is not decided does not pass.
    pub unsure: bool,
}

/// The checks of a comparison.
#[derive(Clone, Debug, PartialEq)]
pub struct Checks {
    /// What is compared.
    title: String,
    /// What came of it, in a sentence.
    answer: String,
    checks: Vec<Check>,
}

/// One of them.
#[derive(Clone, Debug, PartialEq)]
struct Check {
    /// What was measured.
    name: String,
    /// What was found, in words.
    found: String,
    outcome: Outcome,
}

/// Whether a check passes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Outcome {
    Passed,
    /// It is worse than the limit, or is to be decided and is not.
    Failed,
    /// That is not known.
    Undecided,
    /// It could not be measured.
    Broken,
}

impl Outcome {
    fn words(self) -> &'static str {
        match self {
            Self::Passed => "passed",
            Self::Failed => "failed",
            Self::Undecided => "not decided",
            Self::Broken => "not measured",
        }
    }
}

impl Checks {
    /// Of variants that were measured in turn. Only what decides can fail.
    #[must_use]
    pub fn of_versus(campaign: &Campaign, versus: &Versus, limits: Limits) -> Self {
        let measures = Measure::ALL;
        let record = campaign.record.as_ref();
        let several = !versus.further.is_empty();
        let named: Vec<[String; 2]> = versus.all().map(|one| answer::names(one, campaign)).collect();
        let checks = versus.all().zip(&named).flat_map(|(one, [_, candidate])| {
            let of = if several {
                format!(" of {candidate}")
            } else {
                String::new()
            };
            measures.into_iter().filter_map(move |measure| {
                let check = check_of(one, measure, limits)?;
                Some(Check {
                    name: check.name + &of,
                    ..check
                })
            })
        });
        let candidates: Vec<&str> = named.iter().map(|[_, candidate]| candidate.as_str()).collect();
        let baseline = named.first().map_or("", |[baseline, _]| baseline);
        let name = record.map_or_else(|_| campaign.name(), |record| record.experiment.name.clone());
        Self {
            title: format!("{name}: {} beside {baseline}", candidates.join(", ")),
            answer: answer::answer(campaign).unwrap_or_default(),
            checks: checks.collect(),
        }
    }

    /// Of two campaigns: each measure of each workload and cell.
    #[must_use]
    pub fn of_comparison(comparison: &Comparison, limits: Limits) -> Self {
        let losses = limits.worse.map_or_else(Vec::new, |worse| comparison.losses(worse));
        let is_loss = |compared: &MeasureComparison| losses.iter().any(|loss| std::ptr::eq(loss.measure, compared));
        let checks = comparison.workloads().flat_map(|(cell, workload)| {
            let check = move |compared: &MeasureComparison| Check {
                name: format!("{} of {}", compared.measure.name(), named(cell, workload)),
                found: format!("{}, {}", between(compared), verdict(compared.verdict)),
                outcome: match compared.verdict {
                    _ if is_loss(compared) => Outcome::Failed,
                    dyno_analysis::comparison::Verdict::CannotTellYet { .. } => Outcome::Undecided,
                    _ => Outcome::Passed,
                },
            };
            workload.measures.iter().map(check).collect::<Vec<_>>()
        });
        let unfinished = comparison.unfinished().map(|(cell, workload)| Check {
            name: format!("end of {}", named(cell, workload)),
            found: unfinished_words(cell, workload),
            outcome: match limits.worse {
                Some(_) => Outcome::Failed,
                None => Outcome::Undecided,
            },
        });
        Self {
            title: format!("{} against {}", comparison.candidate.name, comparison.baseline.name),
            answer: answer_of_comparison(comparison),
            checks: unfinished.chain(checks).collect(),
        }
    }

    /// Adds that measuring did not come to its end.
    pub fn broken(&mut self, why: &str) {
        self.checks.push(Check {
            name: "measuring".to_owned(),
            found: one_line(why),
            outcome: Outcome::Broken,
        });
    }

    /// The answer and a row for each check, in Markdown.
    #[must_use]
    pub fn markdown(&self) -> String {
        let row = |check: &Check| {
            let cells = [check.name.as_str(), &check.found, check.outcome.words()];
            cells.map(|cell| Value::Text(one_line(cell))).to_vec()
        };
        let column = |name: &str| Column {
            name: name.to_owned(),
            ..Column::default()
        };
        let table = Table {
            columns: ["measure", "change (95 %)", "check"].map(column).to_vec(),
            rows: self.checks.iter().map(row).collect(),
            ..Table::default()
        };
        markdown::in_short(&self.title, &self.answer, &table)
    }
}

/// A measure of a variant beside the baseline, if it decides or something is known of it.
fn check_of(versus: &Versus, measure: Measure, limits: Limits) -> Option<Check> {
    let ratio = versus.ratio(measure);
    let decides = measure == versus.measure;
    let outcome = match (decides, versus.answer) {
        (true, Verdict::Unknown) if limits.unsure => Outcome::Failed,
        (true, Verdict::Unknown) => Outcome::Undecided,
        (true, _) if is_worse(versus, limits.worse) => Outcome::Failed,
        _ => Outcome::Passed,
    };
    let found = match ratio {
        Some(ratio) => format!(
            "{} ({} to {})",
            change(ratio.ratio),
            change(ratio.low),
            change(ratio.high)
        ),
        None => "too few blocks to compare".to_owned(),
    };
    (decides || ratio.is_some()).then(|| Check {
        name: answer::name(measure).to_owned(),
        found,
        outcome,
    })
}

/// By how much the mean changed, and between what that lies.
fn between(compared: &MeasureComparison) -> String {
    let interval = compared.interval.filter(|interval| !interval.within_a_run);
    let interval = interval.map_or_else(String::new, |interval| {
        format!(" ({} to {})", change(interval.low), change(interval.high))
    });
    change(compared.ratio) + &interval
}

/// Whether a variant is known to be worse than the first, by at least the share `least` in the middle of what is known.
#[must_use]
pub fn is_worse(versus: &Versus, least: Option<f64>) -> bool {
    let Some((least, ratio)) = least.zip(versus.ratio(versus.measure)) else {
        return false;
    };
    let loss = match versus.measure {
        Measure::Throughput => 1.0 - ratio.ratio,
        _ => ratio.ratio - 1.0,
    };
    matches!(versus.answer, Verdict::Higher | Verdict::Lower) && loss > 0.0 && loss >= least
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::Ratio;

    fn versus(answer: Verdict, ratio: f64) -> Versus {
        Versus {
            factor: "clients".to_owned(),
            baseline: "4".to_owned(),
            candidate: "8".to_owned(),
            detect: 0.03,
            measure: Measure::Throughput,
            answer,
            ratios: vec![Ratio {
                measure: Measure::Throughput,
                ratio,
                low: ratio - 0.02,
                high: ratio + 0.02,
            }],
            blocks: 10,
            left_out: 0,
            more_blocks: None,
            block_s: 2.0,
            measured_s: 20.0,
            notes: Vec::new(),
            further: Vec::new(),
        }
    }

    #[test]
    fn only_what_is_known_to_be_worse_by_enough_is_worse() {
        let lower = versus(Verdict::Lower, 0.93);
        assert!(is_worse(&lower, Some(0.05)) && is_worse(&lower, Some(0.0)));
        assert!(!is_worse(&lower, Some(0.08)) && !is_worse(&lower, None));
        assert!(!is_worse(&versus(Verdict::Unknown, 0.5), Some(0.05)));
        assert!(!is_worse(&versus(Verdict::Higher, 1.2), Some(0.0)));
        let latency = Versus {
            measure: Measure::P95,
            ..versus(Verdict::Higher, 1.2)
        };
        // It has no ratio of what decides.
        assert!(!is_worse(&latency, Some(0.0)));
    }

    #[test]
    fn a_summary_has_the_answer_and_a_row_for_each_check() {
        let mut checks = Checks {
            title: "pk_update: <b> beside |a|".to_owned(),
            answer: "8 clients are *7 %* faster.".to_owned(),
            checks: Vec::new(),
        };
        checks.broken("the server\nwas <stopped>");
        insta::assert_snapshot!(checks.markdown());
    }
}
