//! Which statements of a run are shown: nobody reads a table of hundreds.

use dyno_archive::summary::{StatementSummary, Summary, WorkloadSummary};

/// So many statements are shown.
const SHOWN: usize = 30;

/// A statement, and its index in its workload.
pub(crate) type Shown<'a> = (&'a WorkloadSummary, usize, &'a StatementSummary);

/// The statements that took most of the clients' time, in the order of their scripts, and what to say if they are not
/// all.
pub(crate) fn heaviest(summary: &Summary) -> (Vec<Shown<'_>>, Option<String>) {
    let workloads = summary.workloads.iter();
    let each = workloads.flat_map(|workload| {
        let statements = workload.statement_latencies.iter().enumerate();
        statements.map(move |(index, statement)| (workload, index, statement))
    });
    let all: Vec<Shown> = each.collect();
    if all.len() <= SHOWN {
        return (all, None);
    }
    let taken_us = |statement: &StatementSummary| {
        let mean_us = statement.latency.as_ref().map_or(0.0, |latency| latency.mean_us);
        mean_us * statement.count as f64
    };
    let mut order: Vec<usize> = (0..all.len()).collect();
    order.sort_by(|one, other| taken_us(all[*other].2).total_cmp(&taken_us(all[*one].2)));
    order.truncate(SHOWN);
    order.sort_unstable();
    let note = format!(
        "the {SHOWN} of {} that took the most time; run.json has them all",
        all.len()
    );
    (order.into_iter().map(|index| all[index]).collect(), Some(note))
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
            "the 30 of 100 that took the most time; run.json has them all"
        );
        assert_eq!(shown.len(), SHOWN);
        assert!(shown.iter().all(|(_, _, statement)| statement.count > 70));
        assert!(shown.is_sorted_by_key(|(_, index, _)| *index));
    }

    #[test]
    fn what_took_no_time_does_not_displace_what_did() {
        let mut summary = fixture::two_workloads();
        summary.workloads.truncate(1);
        let statement = summary.workloads[0].statement_latencies[0].clone();
        let each = (0..40).map(|index| StatementSummary {
            count: if index < 20 { 0 } else { 5 },
            ..statement.clone()
        });
        summary.workloads[0].statement_latencies = each.collect();
        let (shown, _) = heaviest(&summary);
        let heavy = shown.iter().filter(|(_, _, statement)| statement.count == 5).count();
        assert_eq!((shown.len(), heavy), (SHOWN, 20));
    }
}
