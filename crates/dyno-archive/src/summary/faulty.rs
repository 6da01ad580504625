//! Whether a run counts, by the errors in its summary.

use super::{Summary, Warning, WorkloadSummary};
use crate::plan::ErrorLimit;

impl ErrorLimit {
    /// Why a run with these figures does not count: a workload that had fewer clients than it should, or the one
    /// with the largest share of errors. `None` if it counts.
    #[must_use]
    pub fn exceeded_by(self, summary: &Summary) -> Option<String> {
        if let Some(reason) = summary.warnings.iter().find_map(|warning| self.shrunk(warning)) {
            return Some(reason);
        }
        let over = summary
            .workloads
            .iter()
            .filter(|workload| !self.allows(workload.transactions, workload.errors));
        let worst = over.max_by(|one, other| one.error_percent().total_cmp(&other.error_percent()))?;
        Some(self.reason(worst))
    }

    /// The reason, if too many clients ended before their time: the load was another one than was asked for.
    fn shrunk(self, warning: &Warning) -> Option<String> {
        match warning {
            Warning::Aborted {
                workload,
                aborted,
                clients,
                ..
            } if !self.allows(clients.saturating_sub(*aborted), *aborted) => Some(format!(
                "{aborted} of {clients} clients of \"{workload}\" ended early, and a run counts only with at most \
                 {self}"
            )),
            _ => None,
        }
    }

    fn reason(self, workload: &WorkloadSummary) -> String {
        // Just above the limit more digits are needed to see that it is above.
        let percent = workload.error_percent();
        let shown = (1..10)
            .map(|decimals| format!("{percent:.decimals$}"))
            .find(|shown| shown.parse().is_ok_and(|shown: f64| shown > self.percent()))
            .unwrap_or_else(|| percent.to_string());
        let most = workload.errors_by_state.first().map_or_else(String::new, |error| {
            let example = error.example.lines().next().unwrap_or_default();
            format!("; most often {}: {example}", error.sqlstate)
        });
        format!(
            "{shown} % of the transactions of \"{}\" ended with an error, and a run counts only with at most \
             {self}{most}",
            workload.name
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::summary::{Completion, ErrorSummary, Pacing};
    use proptest::prelude::*;

    fn workload(name: &str, transactions: u64, errors: u64) -> WorkloadSummary {
        WorkloadSummary {
            name: name.to_owned(),
            clients: 1,
            threads: 1,
            pacing: Pacing::Closed,
            transactions,
            statements: transactions,
            errors,
            unfinished: 0,
            completion: Completion::default(),
            transactions_per_client: None,
            skipped: 500,
            late: 500,
            retried: 500,
            retries: 500,
            tps: 0.0,
            statements_per_s: 0.0,
            steadiness: None,
            latency: None,
            lag: None,
            statement_latencies: Vec::new(),
            errors_by_state: vec![ErrorSummary {
                sqlstate: "53100".to_owned(),
                count: errors,
                example: "could not extend file: No space left on device\nHINT: Check free disk space.".to_owned(),
            }],
            scripts: Vec::new(),
        }
    }

    fn judged(limit: &str, workloads: Vec<WorkloadSummary>) -> Option<String> {
        let summary = Summary {
            workloads,
            ..Summary::default()
        };
        limit.parse::<ErrorLimit>().unwrap().exceeded_by(&summary)
    }

    #[test]
    fn each_workload_is_judged_by_itself() {
        assert_eq!(judged("1%", vec![workload("a", 99, 1), workload("b", 0, 0)]), None);
        let reason = judged("1%", vec![workload("a", 1_000_000, 0), workload("b", 56, 44)]).unwrap();
        assert_eq!(
            reason,
            "44.0 % of the transactions of \"b\" ended with an error, and a run counts only with at most 1 %; most \
             often 53100: could not extend \
             file: No space left on device"
        );
        assert!(judged("100%", vec![workload("a", 0, 5)]).is_none());
        assert!(
            judged("0%", vec![workload("a", 1_000_000, 1)])
                .unwrap()
                .starts_with("0.0001 %")
        );
        let reason = judged("1%", vec![workload("a", 98_999, 1_001)]).unwrap();
        assert!(reason.starts_with("1.001 %"), "{reason}");
    }

    #[test]
    fn too_few_clients_left_are_too_little_load() {
        let judged = |limit: &str, aborted: u64| {
            let summary = Summary {
                workloads: vec![workload("a", 1_000_000, aborted)],
                warnings: vec![Warning::Aborted {
                    workload: "a".to_owned(),
                    aborted,
                    clients: 200,
                    first_s: Some(3.0),
                    reason: "connection lost: end of file".to_owned(),
                }],
                ..Summary::default()
            };
            limit.parse::<ErrorLimit>().unwrap().exceeded_by(&summary)
        };
        let reason = "3 of 200 clients of \"a\" ended early, and a run counts only with at most 1 %";
        assert_eq!(judged("1%", 3).as_deref(), Some(reason));
        assert_eq!(judged("1%", 2), None);
        assert!(judged("0%", 1).is_some());
        assert_eq!(judged("100%", 199), None);
    }

    proptest! {
        #[test]
        fn a_reason_is_given_exactly_if_the_share_is_above(percent in 0.0..100.0_f64,
            transactions in 0..1_000_000_u64, errors in 0..1_000_000_u64) {
            let limit = format!("{percent}%").parse::<ErrorLimit>().unwrap();
            let summary = Summary { workloads: vec![workload("a", transactions, errors)], ..Summary::default() };
            prop_assert_eq!(limit.exceeded_by(&summary).is_some(), !limit.allows(transactions, errors));
        }
    }
}
