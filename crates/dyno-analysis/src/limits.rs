//! Whether dyno itself may have been what limited a run: its threads had no time left, or it did nearly all that it
//! can do on this machine.

use crate::recording::Recording;
use dyno_archive::RunRecord;
use dyno_archive::summary::{Summary, Warning};

/// Threads that run for this share of the time have nothing left.
const BUSY_SHARE: f64 = 0.9;

/// A load that comes up to this share of the ceiling is near it: from run to run both vary by some percent.
const NEAR_SHARE: f64 = 0.8;

/// One that is so far above it was not measured as the ceiling was.
const BEYOND_SHARE: f64 = 1.2;

pub(super) fn warnings(record: &RunRecord, recording: &Recording) -> impl Iterator<Item = Warning> {
    let (busy, near) = (busy(record, recording), near_ceiling(record));
    busy.into_iter().chain(near)
}

/// Whether the threads of the load ran nearly all the time that they could have: all of it, or as much as there are
/// cores.
fn busy(record: &RunRecord, recording: &Recording) -> Option<Warning> {
    let most = recording.threads.min(recording.cores).max(1.0);
    // By the samples; where there are none, by what the load cost in all.
    let sampled = recording.dyno_cores.as_ref().map(|cores| cores.usual.median);
    let cores = sampled.or_else(|| cores_in_all(record.summary.as_ref()?))?;
    let late = |warning: &Warning| matches!(warning, Warning::RateMissed { .. } | Warning::Late { .. });
    let summary = record.summary.as_ref();
    let open = summary.is_some_and(|summary| summary.warnings.iter().any(late));
    (cores >= BUSY_SHARE * most).then_some(Warning::LoadGeneratorBusy {
        busy_percent: cores / most * 100.0,
        threads: recording.threads.max(1.0) as u64,
        open,
    })
}

/// How many cores dyno kept busy over the whole time measured.
fn cores_in_all(summary: &Summary) -> Option<f64> {
    let cpu = summary.client_cpu?;
    let workloads = summary.workloads.iter();
    let transactions: u64 = workloads.map(|workload| workload.transactions + workload.errors).sum();
    let used_s = (cpu.user_us + cpu.system_us) * transactions as f64 / 1e6;
    (summary.measured_s > 0.0).then(|| used_s / summary.measured_s)
}

/// Whether so many statements per second are nearly all that dyno does at most, which is `ceiling_per_s`.
#[must_use]
pub fn is_near_ceiling(statements_per_s: f64, ceiling_per_s: f64) -> bool {
    (NEAR_SHARE * ceiling_per_s..=BEYOND_SHARE * ceiling_per_s).contains(&statements_per_s)
}

/// Whether dyno executed nearly as many statements per second as it does against a server that answers at once.
fn near_ceiling(record: &RunRecord) -> Option<Warning> {
    let ceiling = record.ceiling.as_ref()?;
    let workloads = record.summary.as_ref()?.workloads.iter();
    let statements_per_s: f64 = workloads.map(|workload| workload.statements_per_s).sum();
    // A transaction of the ceiling is one statement. Who does much more sends several at once, and has another ceiling.
    is_near_ceiling(statements_per_s, ceiling.tps).then_some(Warning::NearCeiling {
        statements_per_s,
        ceiling_per_s: ceiling.tps,
        shape: ceiling.shape,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::causes::fixture::{calm, signal};
    use crate::summary::SummaryBuilder;
    use dyno_archive::summary::{ClientCpu, WorkloadFacts};
    use dyno_record::{Point, Route, Shape};
    use std::time::Duration;

    /// Of 8 clients on 2 threads that executed this many statements per second, one for each transaction, for 10 s.
    fn record(statements_per_s: f64) -> RunRecord {
        let facts = vec![WorkloadFacts {
            statements: vec!["select 1".to_owned()],
            ..WorkloadFacts::closed("main", 8, 2)
        }];
        let mut summary = SummaryBuilder::new(&facts, Duration::from_secs(1)).build();
        summary.measured_s = 10.0;
        summary.workloads[0].statements_per_s = statements_per_s;
        summary.workloads[0].transactions = (statements_per_s * 10.0) as u64;
        let mut record = RunRecord::new(String::new(), String::new(), facts, &[], Duration::from_secs(1));
        record.summary = Some(summary);
        record
    }

    #[test]
    fn threads_are_busy_when_they_run_all_the_time_or_as_much_as_there_are_cores() {
        let record = record(0.0);
        let busy_percent = |threads, cores, used| {
            let mut recording = calm();
            (recording.threads, recording.cores) = (threads, cores);
            recording.dyno_cores = signal(used, used);
            match busy(&record, &recording) {
                Some(Warning::LoadGeneratorBusy { busy_percent, .. }) => Some(busy_percent.round()),
                _ => None,
            }
        };
        assert_eq!(busy_percent(2.0, 4.0, 1.9), Some(95.0));
        assert_eq!(busy_percent(2.0, 4.0, 1.5), None);
        assert_eq!(busy_percent(8.0, 2.0, 1.9), Some(95.0));
    }

    #[test]
    fn without_samples_the_cost_of_the_load_tells_how_busy_it_was() {
        let mut record = record(100_000.0);
        let mut recording = calm();
        recording.dyno_cores = None;
        assert_eq!(busy(&record, &recording), None);
        let summary = record.summary.as_mut().unwrap();
        // 100,000 per second of 19 µs are 1.9 cores.
        summary.client_cpu = Some(ClientCpu {
            user_us: 9.0,
            system_us: 10.0,
        });
        let Some(Warning::LoadGeneratorBusy { busy_percent, .. }) = busy(&record, &recording) else {
            unreachable!("1.9 of 2 cores are nearly all");
        };
        assert!((busy_percent - 95.0).abs() < 1e-6);
    }

    #[test]
    fn a_run_near_the_ceiling_says_so_in_numbers() {
        let mut record = record(170_000.0);
        assert_eq!(near_ceiling(&record), None);
        let shape = Shape {
            route: Route::Unix,
            clients: 16,
            threads: 2,
        };
        record.ceiling = Some(Point {
            tps: 200_000.0,
            transport: "epoll".to_owned(),
            tps_per_core: 250_000.0,
            measured: jiff::Timestamp::UNIX_EPOCH,
            measured_s: 2.0,
            client_user_us: 0.5,
            client_system_us: 3.5,
            responder_us: 4.0,
            p50_us: 60.0,
            p99_us: 120.0,
            shape,
        });
        let warning = near_ceiling(&record).unwrap();
        insta::assert_snapshot!(warning, @"dyno executed 170,000 statements per second: 85 % of the 200,000 that \
            it can execute here against a server that answers at once (dyno \
            ceiling: unix, 16 clients, 2 threads). It may be the limit, not the \
            server. Give the workload more threads, or run dyno on a larger machine.");
        record.summary.as_mut().unwrap().workloads[0].statements_per_s = 150_000.0;
        assert_eq!(near_ceiling(&record), None);
    }
}
