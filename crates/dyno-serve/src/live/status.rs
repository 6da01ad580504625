//! Where a campaign under way is, in words and figures.

use dyno_archive::summary::WorkloadFacts;
use dyno_archive::{CampaignRecord, IntervalRow, RunRecord};
use dyno_report::figures::{count, duration, rate, time};
use indexmap::IndexMap;
use serde::Serialize;
use std::time::Duration;

/// What the head of the live page says. All but the progress is as it is shown; what is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Status {
    pub state: State,
    /// What is going on, as a sentence.
    pub what: String,
    /// How much of the run is over: from 0 to 1.
    pub progress: Option<f64>,
    pub phase: String,
    pub elapsed: String,
    pub left: String,
    /// Transactions per second of the last interval, of all workloads together.
    pub tps: String,
    /// Latency in the last interval of the only workload; each of several has its own.
    pub p50: String,
    pub p99: String,
    /// Since the load began.
    pub transactions: String,
    pub errors: String,
    pub workloads: Vec<Workload>,
    /// The last errors, as the database worded them, and what else is wrong.
    pub warnings: Vec<String>,
}

/// How far a campaign is.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum State {
    /// No load runs: data is loaded, a server restarted.
    #[default]
    Preparing,
    /// A load runs.
    Running,
    /// No dyno works on it any more.
    Ended,
}

/// A workload in the last interval.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub(crate) struct Workload {
    pub name: String,
    pub clients: String,
    pub tps: String,
    pub p50: String,
    pub p95: String,
    pub p99: String,
    /// Since the load began.
    pub errors: String,
}

/// What the intervals of a run say so far.
#[derive(Debug, Default)]
pub(crate) struct Totals {
    workloads: IndexMap<String, Counted>,
    phase: String,
    /// When the last interval began and ended, in seconds since the load began.
    start_s: f64,
    end_s: f64,
}

/// A workload so far.
#[derive(Clone, Debug)]
pub(crate) struct Counted {
    /// Its last interval.
    pub last: IntervalRow,
    /// Transactions that completed without error, since the load began.
    pub transactions: u64,
    /// Transactions that ended with an error, since the load began.
    pub errors: u64,
}

impl Totals {
    /// Takes note of the next row.
    pub(crate) fn push(&mut self, row: &IntervalRow) {
        self.phase.clone_from(&row.phase);
        self.start_s = row.interval_start_s;
        self.end_s = row.interval_start_s + row.interval_s;
        let counted = self.workloads.entry(row.workload.clone()).or_insert_with(|| Counted {
            last: row.clone(),
            transactions: 0,
            errors: 0,
        });
        counted.transactions += row.transactions;
        counted.errors += row.errors;
        counted.last.clone_from(row);
    }

    /// When the last interval ended, in seconds since the load began.
    pub(crate) fn end_s(&self) -> f64 {
        self.end_s
    }

    /// The workloads that took part in the last interval, and their counts.
    pub(crate) fn present(&self) -> impl Iterator<Item = (&str, &Counted)> {
        let workloads = self.workloads.iter().map(|(name, counted)| (name.as_str(), counted));
        workloads.filter(|(_, counted)| counted.last.interval_start_s >= self.start_s)
    }

    /// The state of the run of which these are the intervals.
    pub(super) fn status(&self, run: &RunRecord) -> Status {
        let planned_s: Option<f64> = run.phases.iter().map(|phase| phase.planned_s).sum();
        let planned_s = planned_s.filter(|planned_s| *planned_s > 0.0);
        let present = || self.present().map(|(_, counted)| &counted.last);
        let of_only = |of: fn(&IntervalRow) -> Option<f64>| {
            let only = present().next().filter(|_| run.workloads.len() == 1);
            latency(only.and_then(of))
        };
        let sum = |of: fn(&Counted) -> u64| count(self.workloads.values().map(of).sum());
        Status {
            state: State::Running,
            what: String::new(),
            progress: planned_s.map(|planned_s| (self.end_s / planned_s).clamp(0.0, 1.0)),
            phase: self.phase.clone(),
            elapsed: seconds(self.end_s),
            left: planned_s.map_or_else(String::new, |planned_s| seconds(planned_s - self.end_s)),
            tps: present()
                .map(|row| row.tps)
                .reduce(|sum, tps| sum + tps)
                .map_or_else(String::new, rate),
            p50: of_only(|row| row.latency_p50_us),
            p99: of_only(|row| row.latency_p99_us),
            transactions: sum(|counted| counted.transactions),
            errors: sum(|counted| counted.errors),
            workloads: run.workloads.iter().map(|facts| self.workload(facts)).collect(),
            warnings: Vec::new(),
        }
    }

    fn workload(&self, facts: &WorkloadFacts) -> Workload {
        let mut workload = Workload {
            name: facts.name.clone(),
            clients: count(facts.clients as u64),
            ..Workload::default()
        };
        if let Some(Counted { last, errors, .. }) = self.workloads.get(&facts.name) {
            workload.tps = rate(last.tps);
            workload.p50 = latency(last.latency_p50_us);
            workload.p95 = latency(last.latency_p95_us);
            workload.p99 = latency(last.latency_p99_us);
            workload.errors = count(*errors);
        }
        workload
    }
}

/// "Run 3 of 40: clients = 16, repetition 2".
pub(super) fn which_run(campaign: Option<&CampaignRecord>, run: &RunRecord) -> String {
    let of = campaign.map_or(1, |campaign| campaign.runs.len());
    let levels = run.cell.iter().map(|(factor, level)| format!("{factor} = {level}"));
    let repetition =
        (of > 1 && (run.repetition > 1 || run.cell.is_empty())).then(|| format!("repetition {}", run.repetition));
    let levels: Vec<_> = levels.chain(repetition).collect();
    match (of, levels.is_empty()) {
        (1, true) => String::new(),
        (1, false) => levels.join(", "),
        (_, true) => format!("Run {} of {of}", run.number),
        (_, false) => format!("Run {} of {of}: {}", run.number, levels.join(", ")),
    }
}

fn latency(time_us: Option<f64>) -> String {
    time_us.map_or_else(String::new, time)
}

/// Whole seconds in words; of what is negative none are left.
fn seconds(seconds: f64) -> String {
    duration(Duration::from_secs(seconds.round().max(0.0) as u64))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::Phase;

    fn row(start_s: f64, workload: &str, tps: f64) -> IntervalRow {
        IntervalRow {
            phase: "measure".to_owned(),
            interval_start_s: start_s,
            interval_s: 1.0,
            workload: workload.to_owned(),
            transactions: tps as u64,
            statements: tps as u64,
            errors: 1,
            retries: 0,
            skipped: 0,
            tps,
            latency_mean_us: None,
            latency_min_us: None,
            latency_max_us: None,
            latency_p50_us: Some(tps),
            latency_p95_us: None,
            latency_p99_us: None,
            latency_p99_9_us: None,
            lag_mean_us: None,
            lag_max_us: None,
            retried: 0,
            late: 0,
            time: None,
        }
    }

    fn record(planned: Option<Duration>) -> RunRecord {
        let facts = |name: &str| WorkloadFacts::closed(name, 8, 1);
        let phase = Phase {
            name: "measure".to_owned(),
            duration: planned,
            measured: true,
        };
        let facts = vec![facts("reader"), facts("writer"), facts("idle")];
        RunRecord::new(String::new(), String::new(), facts, &[phase], Duration::from_secs(1))
    }

    #[test]
    fn the_last_interval_counts_for_rates_and_all_for_sums() {
        let mut totals = Totals::default();
        for row in [
            row(0.0, "reader", 100.0),
            row(0.0, "writer", 10.0),
            row(1.0, "reader", 200.0),
            row(1.0, "writer", 20.0),
        ] {
            totals.push(&row);
        }
        let status = totals.status(&record(Some(Duration::from_secs(8))));
        assert_eq!(
            (status.tps.as_str(), status.p50.as_str(), status.p99.as_str()),
            ("220", "", "")
        );
        // A latency is of a workload: of several none stands for all.
        assert_eq!(status.workloads[0].p50, "0.200 ms");
        assert_eq!((status.transactions.as_str(), status.errors.as_str()), ("330", "4"));
        assert_eq!(
            (status.elapsed.as_str(), status.left.as_str(), status.progress),
            ("2 s", "6 s", Some(0.25))
        );
        let writer = &status.workloads[1];
        assert_eq!((writer.tps.as_str(), writer.errors.as_str()), ("20", "2"));
        assert_eq!(
            (status.workloads[2].clients.as_str(), status.workloads[2].tps.as_str()),
            ("8", "")
        );
    }

    #[test]
    fn a_run_without_an_end_has_no_progress() {
        let mut totals = Totals::default();
        totals.push(&row(0.0, "reader", 100.0));
        let status = totals.status(&record(None));
        assert_eq!(
            (status.progress, status.left.as_str(), status.elapsed.as_str()),
            (None, "", "1 s")
        );
        let nothing = Totals::default().status(&record(None));
        assert_eq!((nothing.tps.as_str(), nothing.transactions.as_str()), ("", "0"));
    }
}
