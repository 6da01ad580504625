//! Which statements of a run are shown: nobody reads a table of hundreds.

use dyno_lab::summary::{StatementSummary, Summary, WorkloadSummary};

/// So many statements are shown.
const SHOWN: usize = 30;

/// A statement, and its index in its workload.
pub(crate) type Shown<'a> = (&'a WorkloadSummary, usize, &'a StatementSummary);

/// The statements that took most of the clients' time, in the order of their scripts, and what to say if they are not all.
pub(crate) fn heaviest(summary: &Summary) -> (Vec<Shown<'_>>, Option<String>) {
    let workloads = summary.workloads.iter();
    let each = workloads.flat_map(|workload| {
        let statements = workload.statement_latencies.iter().enumerate();
        statements.map(move |(index, statement)| (workload, index, statement))
    });
    let mut all: Vec<Shown> = each.collect();
    if all.len() <= SHOWN {
        return (all, None);
    }
    let taken_us = |statement: &StatementSummary| {
        let mean_us = statement.latency.as_ref().map_or(0.0, |latency| latency.mean_us);
        mean_us * statement.count as f64
    };
    let mut sorted: Vec<f64> = all.iter().map(|(_, _, statement)| taken_us(statement)).collect();
    sorted.sort_unstable_by(|one, other| other.total_cmp(one));
    let least_us = sorted.get(SHOWN - 1).copied().unwrap_or(0.0);
    let of = all.len();
    all.retain(|(_, _, statement)| taken_us(statement) >= least_us);
    all.truncate(SHOWN);
    let note = format!("the {SHOWN} of {of} that took most time; run.json has them all");
    (all, Some(note))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture;

    #[test]
    fn those_that_took_most_stay_in_order() {
        let mut summary = fixture::two_workloads();
        let (few, note) = heaviest(&summary);
        assert!(note.is_none() && !few.is_empty());
        let statement = summary.workloads[0].statement_latencies[0].clone();
        let each = (0..100_u64).map(|count| StatementSummary {
            count: (count * 37) % 100 + 1,
            ..statement.clone()
        });
        summary.workloads.truncate(1);
        summary.workloads[0].statement_latencies = each.collect();
        let (shown, note) = heaviest(&summary);
        assert_eq!(
            note.unwrap(),
            "the 30 of 100 that took most time; run.json has them all"
        );
        assert_eq!(shown.len(), SHOWN);
        assert!(shown.iter().all(|(_, _, statement)| statement.count > 70));
        assert!(shown.is_sorted_by_key(|(_, index, _)| *index));
    }
}
