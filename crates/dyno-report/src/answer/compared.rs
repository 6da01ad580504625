//! What two campaigns say about each other.

use super::{Known, Pair, by_runs, more_runs};
use crate::compare::{loss, named, unfinished_words};
use crate::completion::seconds;
use crate::figures::one_line;
use dyno_analysis::comparison::{self, CellComparison, Comparison, MeasureComparison, WorkloadComparison};
use dyno_archive::{Measure, Verdict};
use serde::Serialize;

/// What `comparison` answers.
pub(crate) fn answer_of_comparison(comparison: &Comparison) -> String {
    let [baseline, candidate] = [&comparison.baseline, &comparison.candidate].map(|side| one_line(&side.name));
    let compared = comparison.workloads().filter(|(_, workload)| workload.is_compared());
    match compared.collect::<Vec<_>>().as_slice() {
        [] => format!(
            "There is no answer, because nothing could be compared: {candidate} and {baseline} have no complete runs \
             of the same cell and workload in the same kind of loop."
        ),
        [(cell, workload)] => {
            let compared = pair(cell, workload);
            let unfinished = unfinished(workload, [&baseline, &candidate]);
            Pair {
                deciding: unfinished.map_or(compared.deciding, Err),
                baseline,
                candidate,
                ..compared
            }
            .sentence()
        }
        _ => of_several(comparison, [&baseline, &candidate]),
    }
}

/// `comparison` as JSON, with its answer first.
///
/// # Errors
///
/// None but for mistakes of the program.
pub fn comparison_json(comparison: &Comparison) -> serde_json::Result<String> {
    #[derive(Serialize)]
    struct Answered<'a> {
        answer: String,
        #[serde(flatten)]
        comparison: &'a Comparison,
    }
    let answer = answer_of_comparison(comparison);
    serde_json::to_string_pretty(&Answered { answer, comparison }).map(|text| text + "\n")
}

/// Which of two sides did not finish a workload, and for how long.
fn unfinished(workload: &WorkloadComparison, names: [&str; 2]) -> Option<String> {
    let known = [workload.baseline_longer_than_s, workload.candidate_longer_than_s];
    let sides = names.iter().zip(known);
    let sides = sides.filter_map(|(name, longer_than_s)| {
        Some(format!("{name} had not finished it after {}", seconds(longer_than_s?)))
    });
    let sides: Vec<String> = sides.collect();
    (!sides.is_empty()).then(|| sides.join(" and "))
}

/// One workload in one cell. In an open loop the throughput is what was asked for.
fn pair(cell: &CellComparison, workload: &WorkloadComparison) -> Pair {
    let open = workload.baseline_pacing.is_open();
    let wanted = if open { Measure::P95 } else { Measure::Throughput };
    let of = |measure: Measure| {
        workload
            .measures
            .iter()
            .find(|compared| measure_of(compared) == Some(measure))
    };
    let deciding = of(wanted);
    let (answer, more) = match deciding.map(|compared| (compared.verdict, compared.ratio)) {
        Some((comparison::Verdict::CannotTellYet { more_runs: more }, _)) => (Verdict::Unknown, more_runs(more)),
        Some((_, ratio)) if ratio >= 1.0 => (Verdict::Higher, String::new()),
        Some(_) => (Verdict::Lower, String::new()),
        None => (Verdict::Unknown, String::new()),
    };
    let others = [Measure::P95, Measure::P99]
        .into_iter()
        .filter(|other| *other != wanted);
    Pair {
        baseline: String::new(),
        candidate: String::new(),
        work: format!(" on {}", named(cell, workload)),
        among: None,
        answer,
        deciding: deciding
            .and_then(known)
            .ok_or_else(|| "one of them has nothing that could be compared".to_owned()),
        others: others.filter_map(of).filter_map(known).collect(),
        detect: 0.0,
        effort: by_runs(workload.candidate_runs.len(), workload.baseline_runs.len()),
        more,
    }
}

fn known(compared: &MeasureComparison) -> Option<Known> {
    Some(Known {
        measure: measure_of(compared)?,
        ratio: compared.ratio,
        // What a single run of each says of itself says nothing of another.
        interval: compared
            .interval
            .filter(|interval| !interval.within_a_run)
            .map(|interval| (interval.low, interval.high)),
        differs: !matches!(compared.verdict, comparison::Verdict::CannotTellYet { .. }),
    })
}

/// What it is in an answer. How long counted work took is in its throughput.
fn measure_of(compared: &MeasureComparison) -> Option<Measure> {
    match compared.measure {
        comparison::Measure::Tps => Some(Measure::Throughput),
        comparison::Measure::P50 => Some(Measure::P50),
        comparison::Measure::P95 => Some(Measure::P95),
        comparison::Measure::P99 => Some(Measure::P99),
        comparison::Measure::Time => None,
    }
}

/// Several workloads or cells: how many measures say what, and the worst of them.
fn of_several(comparison: &Comparison, [baseline, candidate]: [&str; 2]) -> String {
    let counted = comparison.verdict_counts();
    let all = counted.all();
    let open = match counted.unknown {
        0 => String::new(),
        unknown => format!("; {unknown} cannot be judged yet"),
    };
    let unfinished = comparison
        .unfinished()
        .map(|(cell, workload)| format!(" {}.", unfinished_words(cell, workload)));
    let unfinished: String = unfinished.collect();
    let counts = match (counted.worse, counted.better) {
        (0, 0) => format!("{candidate} beside {baseline}: not decided; none of {all} measures can be judged yet."),
        (0, better) => {
            format!("{candidate} is better than {baseline} in {better} of {all} measures and worse in none{open}.")
        }
        (worse, better) => {
            let most = comparison.losses(f64::NEG_INFINITY);
            let most = most
                .first()
                .map_or_else(String::new, |most| format!(" ({})", loss(most)));
            format!(
                "{candidate} is worse than {baseline} in {worse} of {all} measures{most} and better in {better}{open}."
            )
        }
    };
    counts + &unfinished
}
