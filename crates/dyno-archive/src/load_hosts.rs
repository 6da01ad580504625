//! What is kept of the hosts that drove a load: what each had of it in `run.json`, and in the run's folder `hosts` a
//! folder of each with `intervals.csv`, its part of the run's, and `host.csv`, its counters.

use crate::append::AppendFile;
use crate::intervals::{IntervalRow, rows};
use crate::reader::open;
use crate::{ArchiveError, INTERVALS_CSV, Run, SampleWriter, to_csv};
use dyno_record::{ListedInterval, Series, Value};
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The folder in a run that has one for each load host.
const HOSTS: &str = "hosts";

/// A host that drove a part of the load: its entry in `run.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadHost {
    /// What it is called here; its folder has the same name.
    pub name: String,
    /// Where it is: `local`, or what ssh was given.
    pub place: String,
    /// What the host calls itself.
    pub hostname: String,
    /// Cores that it could use.
    pub cores: usize,
    /// What it had of each workload.
    pub shares: Vec<LoadShare>,
    /// Transactions that completed without error in the measured time. This and all that follows is there only when the
    /// run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions: Option<u64>,
    /// The same per second, over the whole time measured.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tps: Option<f64>,
    /// Transactions that ended with an error.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub errors: Option<u64>,
    /// How long after the agreed instant it began, in microseconds, by its own clock.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub late_us: Option<f64>,
    /// How its clock compares.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clock: Option<ClockComparison>,
    /// Statements per second that dyno does there at most, each a transaction, where that was measured by its route.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling_per_s: Option<f64>,
    /// CPU time of its agent in the measured time, in cores.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub agent_cores: Option<f64>,
    /// How much of all CPUs of the host was idle in the measured time, in percent.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub idle_percent: Option<f64>,
    /// Why it, rather than the server, limited the load, if it did; the rest of a sentence about it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub limit: Option<String>,
    /// From when on it is missing, if it is.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub gap: Option<HostGap>,
}

/// What a host had of a workload.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct LoadShare {
    /// The workload.
    pub workload: String,
    /// The number of its first client in the workload.
    pub first_client: usize,
    /// How many clients it had.
    pub clients: usize,
    /// How many threads.
    pub threads: usize,
    /// Transactions per second that it was to begin, where the workload has a rate.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<f64>,
}

/// How the clock of a host compares with that of the dyno that merged its part, in microseconds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ClockComparison {
    /// How far its time of day was ahead before the load; intervals do not depend on it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub time_of_day_us: Option<f64>,
    /// By how much the clocks that intervals depend on drifted apart at most while the load ran.
    pub drift_us: f64,
    /// How far a measurement of all this may be off.
    pub uncertainty_us: f64,
}

/// From when on a host is missing.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct HostGap {
    /// Up to there what it did is counted, in seconds since the first phase began.
    pub from_s: f64,
    /// Why.
    pub reason: String,
}

/// Writes the folder of a load host while the run goes on.
#[derive(Debug)]
pub struct LoadHostWriter {
    intervals: AppendFile,
    samples: Option<SampleWriter>,
    phases: Vec<String>,
    workloads: Vec<String>,
    load_started: Option<Timestamp>,
    header_written: bool,
    stopped: bool,
}

impl LoadHostWriter {
    /// Makes the folder of the host `name` in the folder of its run, which has these phases and workloads. Its counters
    /// are those of `series`; without, it has none.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn create(
        run: &Path,
        name: &str,
        phases: Vec<String>,
        workloads: Vec<String>,
        series: Option<&Series>,
    ) -> Result<Self, ArchiveError> {
        let path = run.join(HOSTS).join(name);
        fs::create_dir_all(&path).map_err(ArchiveError::write(&path))?;
        Ok(Self {
            intervals: AppendFile::create(path.join(INTERVALS_CSV))?,
            samples: series
                .map(|series| SampleWriter::create(&path, series, None))
                .transpose()?,
            phases,
            workloads,
            load_started: None,
            header_written: false,
            stopped: false,
        })
    }

    /// Notes when the run's load began, of which all times count.
    pub fn begin(&mut self, load_started: Option<Timestamp>) {
        self.load_started = load_started;
        if let Some(samples) = &mut self.samples {
            samples.load_started = load_started;
        }
    }

    /// Appends what the host did in an interval.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The error comes once; later intervals are then ignored.
    pub fn interval(&mut self, interval: &ListedInterval) -> Result<(), ArchiveError> {
        let Some(phase) = self.phases.get(interval.phase).filter(|_| !self.stopped) else {
            return Ok(());
        };
        let workloads = self.workloads.iter().zip(&interval.recordings);
        let rows: Vec<_> = workloads
            .map(|(workload, recording)| IntervalRow::new(self.load_started, phase, interval, workload, recording))
            .collect();
        let csv = to_csv(&rows, !self.header_written);
        self.header_written = true;
        let result = self.intervals.append(&csv);
        self.stopped = result.is_err();
        result
    }

    /// Appends the host's counters, taken `at` after the first phase began: a value for each column.
    ///
    /// # Errors
    ///
    /// If they cannot be written. The error comes once; later ones are then ignored.
    pub fn sample(&mut self, at: Duration, values: &[Value]) -> Result<(), ArchiveError> {
        match &mut self.samples {
            Some(samples) => samples.row(at, values),
            None => Ok(()),
        }
    }
}

impl Run {
    /// The part of a load host in the run's intervals, one by one; none if it cannot be read.
    pub fn intervals_of_host(&self, name: &str) -> impl Iterator<Item = IntervalRow> + use<> {
        let path = self.path.join(HOSTS).join(name).join(INTERVALS_CSV);
        let load_started = self.load_started();
        let rows = open(&path).into_iter().flat_map(rows);
        rows.map(move |row| row.timed(load_started))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunState;
    use dyno_record::{Interval, Recording};

    #[test]
    fn what_a_host_did_is_read_again() {
        let folder = tempfile::tempdir().unwrap();
        let series = Series::new("host.csv", ["cpu_idle_share"]);
        let names = |name: &str| vec![name.to_owned()];
        let mut writer =
            LoadHostWriter::create(folder.path(), "b-1", names("measure"), names("main"), Some(&series)).unwrap();
        let began: Timestamp = "2026-11-21T23:59:58Z".parse().unwrap();
        writer.begin(Some(began));
        let recording = Recording {
            transactions: 7,
            ..Recording::default()
        };
        let interval = Interval {
            phase: 0,
            start: Duration::from_secs(3),
            duration: Duration::from_secs(1),
            first_thread_whole: true,
            recordings: vec![recording],
        };
        let interval = ListedInterval::from_bytes(&interval.to_bytes(), 1, 1).unwrap();
        writer.interval(&interval).unwrap();
        // Of another load.
        writer.interval(&Interval { phase: 1, ..interval }).unwrap();
        writer
            .sample(Duration::from_millis(1_500), &[Value::Number(0.25)])
            .unwrap();
        let run = Run {
            path: folder.path().to_owned(),
            record: Err(ArchiveError::InUse {
                path: folder.path().to_owned(),
            }),
            state: RunState::Complete,
        };
        let rows: Vec<_> = run.intervals_of_host("b-1").collect();
        assert_eq!(
            (rows.len(), rows[0].transactions, rows[0].interval_start_s),
            (1, 7, 3.0)
        );
        assert_eq!(rows[0].time.unwrap().to_string(), "2026-11-22T00:00:01Z");
        assert_eq!(run.intervals_of_host("c").count(), 0);
        let samples = fs::read_to_string(folder.path().join("hosts/b-1/host.csv")).unwrap();
        assert_eq!(samples, "at_s,cpu_idle_share,time\n1.5,0.25,2026-11-21T23:59:59.500Z\n");
    }
}
