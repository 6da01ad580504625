//! What only the throughput of one workload of several shows: beside a busy one, another may stand still unnoticed.

use crate::series::Window;
use crate::throughput::Throughput;
use dyno_archive::figures::decimal;
use dyno_archive::summary::WorkloadFacts;
use std::collections::BTreeMap;

/// What one workload loses others may gain, without anything being wrong: a dip of one alone must be as deep, as a
/// share of its running median.
const LEAST_DEPTH: f64 = 0.5;

/// So many transactions must be missing before a standstill is more than a rest.
const FEWEST_MISSING: f64 = 20.0;

/// A dip of one workload.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct OwnDip {
    pub workload: String,
    pub time: Window,
    /// As a share of the running median.
    pub depth: f64,
}

/// The dips of each workload that are no part of `known` ones, which are of all workloads together.
pub(super) fn dips(
    each: &BTreeMap<String, Throughput>,
    facts: &[WorkloadFacts],
    known: &[(Window, f64)],
) -> Vec<OwnDip> {
    let mut found = Vec::new();
    for (name, throughput) in several(each) {
        let is_new = |time: Window| {
            let known_s: f64 = known.iter().map(|(known, _)| known.overlap_s(time)).sum();
            2.0 * known_s < time.length_s()
        };
        let dips = throughput.dips().into_iter();
        let dips = dips
            .filter(|(time, depth)| *depth >= LEAST_DEPTH && is_new(*time) && !is_done(name, facts, throughput, *time));
        found.extend(dips.map(|(time, depth)| OwnDip {
            workload: name.clone(),
            time,
            depth,
        }));
    }
    found
}

/// A sentence for each workload that stood still for half of the time or more.
pub(super) fn standstills(each: &BTreeMap<String, Throughput>, facts: &[WorkloadFacts]) -> Vec<String> {
    let sentences = several(each).filter_map(|(name, throughput)| {
        let idle = throughput.idle()?;
        let busy_s = throughput.measured().length_s() - idle.length_s();
        let missing = throughput.transactions() / busy_s.max(f64::MIN_POSITIVE) * idle.length_s();
        (missing >= FEWEST_MISSING && !is_done(name, facts, throughput, idle)).then(|| {
            format!(
                "workload {name}: from {} s on {}",
                decimal(idle.start_s, 0),
                throughput.standstill().unwrap_or_default()
            )
        })
    });
    sentences.collect()
}

/// A workload alone is all workloads together.
fn several(each: &BTreeMap<String, Throughput>) -> impl Iterator<Item = (&String, &Throughput)> {
    each.iter().filter(|_| each.len() > 1)
}

/// Whether it does nothing any more because it has done all that was asked of it.
fn is_done(name: &str, facts: &[WorkloadFacts], throughput: &Throughput, time: Window) -> bool {
    let limited = |workload: &WorkloadFacts| workload.name == name && workload.transactions_per_client.is_some();
    facts.iter().any(limited) && time.end_s >= throughput.measured().end_s
}

#[cfg(test)]
mod tests {
    use dyno_archive::analysis::{Analysis, Cause, Dip};
    use dyno_archive::summary::{StageFacts, WorkloadFacts};
    use dyno_archive::{Run, RunRecord, RunState};
    use std::fmt::Write as _;
    use std::time::Duration;

    /// What is said of two minutes of `busy` with 10,000 TPS by 16 clients and `small` with two, of which a session
    /// blocked both from second 60 to 64.
    fn analysed(small: &dyn Fn(usize) -> u64, per_client: Option<u64>) -> Analysis {
        analysed_with(small, |facts| facts.transactions_per_client = per_client)
    }

    fn analysed_with(small: &dyn Fn(usize) -> u64, change: impl FnOnce(&mut WorkloadFacts)) -> Analysis {
        let folder = tempfile::tempdir().unwrap();
        let mut rows = "phase,interval_start_s,interval_s,workload,transactions,statements,errors,retries,skipped,tps,\
             latency_mean_us,latency_min_us,latency_max_us,latency_p50_us,latency_p95_us,latency_p99_us,\
             latency_p99_9_us,lag_mean_us,lag_max_us,retried,late\n"
            .to_owned();
        for second in 0..120 {
            let noise = second as u64 % 7;
            for (workload, transactions) in [("busy", 10_000 + 40 * noise), ("small", small(second))] {
                writeln!(
                    rows,
                    "measure,{second},1,{workload},{transactions},{transactions},0,0,0,{transactions},,,,,,,,,,0,0"
                )
                .unwrap();
            }
        }
        std::fs::write(folder.path().join("intervals.csv"), rows).unwrap();
        let blocked = "{\"at_s\":64.0,\"event\":\"blocked\",\"start_s\":60.0,\"end_s\":64.0,\"waiting\":2,\
             \"holder\":\"4711 psql\",\"relation\":\"tbl\"}\n";
        std::fs::write(folder.path().join("events.jsonl"), blocked).unwrap();
        let mut facts = vec![
            WorkloadFacts::closed("busy", 16, 2),
            WorkloadFacts::closed("small", 2, 2),
        ];
        change(&mut facts[1]);
        let record = RunRecord::new(String::new(), String::new(), facts, &[], Duration::from_secs(1));
        crate::analyse(&Run {
            path: folder.path().to_owned(),
            record: Ok(record),
            state: RunState::Complete,
        })
    }

    #[test]
    fn a_workload_that_stands_still_beside_a_busy_one_is_told_with_its_cause() {
        let found = analysed(&|second| if (60..64).contains(&second) { 0 } else { 200 }, None);
        let told: Vec<_> = found.dips.iter().map(of).collect();
        assert_eq!(told, [(Some("small"), 60.0, 64.0, Cause::Lock)], "{found:?}");
        assert!(found.findings.is_empty(), "{:?}", found.findings);
    }

    #[test]
    fn what_hits_all_is_told_once() {
        // Two of 18 clients that wait for a lock do not explain it.
        let found = analysed(&|second| if (60..64).contains(&second) { 90 } else { 40_000 }, None);
        let told: Vec<_> = found.dips.iter().map(of).collect();
        assert_eq!(told, [(None, 60.0, 64.0, Cause::Unknown)], "{found:?}");
    }

    #[test]
    fn who_rests_by_plan_does_not_stand_still() {
        let found = analysed_with(&|second| if second < 80 { 0 } else { 200 }, |facts| {
            facts.start_delay_s = 80.0
        });
        assert_eq!((found.dips, found.findings), (vec![], vec![]));
        let stage = StageFacts {
            name: "another".to_owned(),
            rate_per_s: None,
            ramp: false,
        };
        let found = analysed_with(&|second| if second < 80 { 0 } else { 200 }, |facts| {
            facts.stages = vec![stage]
        });
        assert_eq!((found.dips, found.findings), (vec![], vec![]));
    }

    #[test]
    fn less_than_half_is_a_matter_between_the_two() {
        let found = analysed(&|second| if (60..64).contains(&second) { 120 } else { 200 }, None);
        assert_eq!(found.dips, []);
    }

    #[test]
    fn what_stands_still_for_good_is_told_unless_it_was_done() {
        let early = |second| if second >= 12 { 0 } else { 200 };
        let found = analysed(&early, None);
        assert_eq!(
            found.findings,
            ["workload small: from 12 s on no transaction completed for 108 s of the 120 s measured"]
        );
        assert!(analysed(&early, Some(1_200)).findings.is_empty());
        let late = |second| if second >= 70 { 0 } else { 200 };
        assert_eq!(analysed(&late, None).dips.len(), 1);
        assert_eq!(analysed(&late, Some(7_000)).dips, []);
    }

    fn of(dip: &Dip) -> (Option<&str>, f64, f64, Cause) {
        (dip.workload.as_deref(), dip.start_s, dip.end_s, dip.cause)
    }
}
