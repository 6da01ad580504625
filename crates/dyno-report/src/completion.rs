//! What is said of work that is not bounded by the time measured: transactions that were counted, and those that took
//! longer.

use crate::figures::{counted, decimal, rate};
use dyno_archive::summary::WorkloadSummary;

/// A time that may be of minutes as well as of milliseconds.
pub(crate) fn seconds(seconds: f64) -> String {
    format!("{} s", decimal(seconds, if seconds < 10.0 { 3 } else { 1 }))
}

/// The figure of a workload: how many transactions per second, or how long it took, or longer than what.
pub(crate) fn figure_words(workload: &WorkloadSummary) -> String {
    if let Some(longer_than_s) = workload.longer_than_s() {
        return format!("longer than {}", seconds(longer_than_s));
    }
    let tps = format!("{} TPS", rate(workload.tps));
    match workload.completion.took_s {
        Some(took_s) => format!(
            "{} for {} ({tps})",
            seconds(took_s),
            counted(workload.transactions, "transaction")
        ),
        None => tps,
    }
}

/// What is to be known of transactions that were not finished in the time measured; empty if that is nothing.
pub(crate) fn end_words(workload: &WorkloadSummary) -> String {
    let completion = workload.completion;
    let mut words = String::new();
    if completion.after_end > 0 {
        let were = if completion.after_end == 1 { "was" } else { "were" };
        words = format!(
            "{} {were} finished after the time measured.",
            counted(completion.after_end, "transaction")
        );
    }
    if let Some(longer_than_s) = completion.longer_than_s {
        let space = if words.is_empty() { "" } else { " " };
        let (is, takes) = if workload.unfinished == 1 {
            ("is", "takes")
        } else {
            ("are", "take")
        };
        words.push_str(&format!(
            "{space}{} {is} unfinished and {takes} longer than {}.",
            counted(workload.unfinished, "transaction"),
            seconds(longer_than_s)
        ));
    }
    words
}

/// The figures of all workloads in one line, if one of them has another figure than its TPS.
pub(crate) fn figures_in_short(workloads: &[WorkloadSummary]) -> Option<String> {
    let is_other =
        |workload: &WorkloadSummary| workload.completion.took_s.is_some() || workload.longer_than_s().is_some();
    let each = workloads.iter().map(|workload| match workloads.len() {
        1 => figure_words(workload),
        _ => format!("{} {}", workload.name, figure_words(workload)),
    });
    workloads
        .iter()
        .any(is_other)
        .then(|| each.collect::<Vec<_>>().join(", "))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::update;
    use dyno_archive::summary::Completion;

    fn workload(transactions: u64, unfinished: u64, completion: Completion) -> WorkloadSummary {
        WorkloadSummary {
            name: "query".to_owned(),
            transactions,
            unfinished,
            tps: 0.25,
            completion,
            ..update().workloads.remove(0)
        }
    }

    #[test]
    fn a_time_is_a_figure_and_so_is_what_is_longer_than_one() {
        let took = Completion {
            took_s: Some(4.0),
            ..Completion::default()
        };
        let given_up = Completion {
            longer_than_s: Some(90.0),
            ..Completion::default()
        };
        let late = Completion {
            after_end: 1,
            longer_than_s: Some(90.0),
            ..Completion::default()
        };
        let said = [
            workload(1, 0, took),
            workload(0, 2, given_up),
            workload(1, 1, late),
            workload(1, 0, Completion::default()),
        ]
        .map(|workload| [figure_words(&workload), end_words(&workload)]);
        let expected = [
            ["4.000 s for 1 transaction (0.25 TPS)", ""],
            [
                "longer than 90.0 s",
                "2 transactions are unfinished and take longer than 90.0 s.",
            ],
            [
                "0.25 TPS",
                "1 transaction was finished after the time measured. 1 transaction is unfinished and takes longer than \
                 90.0 s.",
            ],
            ["0.25 TPS", ""],
        ];
        assert_eq!(said, expected);
        let both = [workload(1, 0, took), workload(0, 2, given_up)];
        let short = figures_in_short(&both).unwrap_or_default();
        assert_eq!(
            short,
            "query 4.000 s for 1 transaction (0.25 TPS), query longer than 90.0 s"
        );
        assert_eq!(figures_in_short(&both[..0]), None);
    }
}
