//! Writing a run's folder.

use crate::analysis::Analysis;
use crate::append::AppendFile;
use crate::events::{EventKind, EventRecord};
use crate::intervals::IntervalRow;
use crate::latencies::Encoder;
use crate::plan::{ErrorLimit, Phase};
use crate::summary::{Summary, WorkloadFacts};
use crate::{
    ArchiveError, CheckResult, EVENTS_JSONL, FORMAT, INTERVALS_CSV, LATENCY_HLOG, LoadHost, OutputResult, Preparation,
    RUN_JSON, Run, earlier, latencies, replace_json, to_csv,
};
use dyno_record::{Interval, Point, ServerTraits};
use indexmap::IndexMap;
use jiff::Timestamp;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fmt;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// What is known of a run: the content of `run.json`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RunRecord {
    /// The format of the folder, see [`FORMAT`].
    pub format: u32,
    /// How far it came.
    pub state: RunState,
    /// Its position in the plan, from 1; 0 in the records of the first dynos.
    #[serde(default)]
    pub number: usize,
    /// The levels of the factors; empty without factors.
    pub cell: IndexMap<String, String>,
    /// Which repetition of its cell it is, from 1.
    pub repetition: usize,
    /// The database, without passwords; of several servers the main one's.
    pub target: String,
    /// The names of all servers, the main one first; empty: there is only that.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub servers: Vec<String>,
    /// The command line, without passwords; as a shell would read it.
    pub command: String,
    /// When its folder was made.
    pub created: Timestamp,
    /// When its first phase began: the instant from which all times in the folder count.
    pub load_started: Option<Timestamp>,
    /// The share of errors, in percent, with which it still counts. Earlier dynos had none, and their runs are
    /// judged by the usual one.
    #[serde(default)]
    pub max_errors_percent: ErrorLimit,
    /// How long a complete interval lasts, in seconds.
    pub interval_s: f64,
    /// That it was measured in turn with another one, so that there is time between its intervals.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub in_turns: bool,
    /// What ran.
    pub workloads: Vec<WorkloadFacts>,
    /// The phases, as planned and as they were.
    pub phases: Vec<PhaseRecord>,
    /// The server's version, settings and so on, as the target reports them.
    pub server: Value,
    /// The load host's kernel, processor and so on, as the target reports them.
    pub host: Value,
    /// The hosts that drove the load; empty: it was dyno itself, on the host above.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_hosts: Vec<LoadHost>,
    /// How the load's threads move bytes, such as `io_uring`; several where they differ.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transport: Option<String>,
    /// What dyno could do at most on this machine with a load like this one, if it was measured before.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub ceiling: Option<Point>,
    /// Sizes and cumulative statistics of the tables before and after the load, as the target reports them.
    #[serde(default)]
    pub tables: Value,
    /// What was done before the load, and how long it took; absent in the records of earlier dynos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
    /// What came of the checks.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<CheckResult>,
    /// The rows that are kept with the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<OutputResult>,
    /// The figures, once the run is over.
    pub summary: Option<Summary>,
    /// What the recording says about itself, once the run is over.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub analysis: Option<Analysis>,
    /// What ended it before its time, or why it could not begin, in full; `None` if nothing did, or if that was
    /// asked for.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<String>,
}

/// How far a run came.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RunState {
    /// It is going on; or the dyno that made it was killed.
    Running,
    /// Every phase took its time.
    Complete,
    /// Every phase took its time, but more transactions than allowed ended with an error, or more clients before
    /// their time, or a check failed: it is over, and its figures do not count.
    Faulty,
    /// It ended early. What was measured is there.
    Incomplete,
    /// It could not begin, or nothing was measured; [`RunRecord::failure`] says why.
    Failed,
}

impl fmt::Display for RunState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Running => "running",
            Self::Complete => "complete",
            Self::Faulty => "faulty",
            Self::Incomplete => "incomplete",
            Self::Failed => "failed",
        })
    }
}

impl RunState {
    /// Whether the run took all the time that was planned for it, so that there is nothing to be made anew.
    #[must_use]
    pub fn is_over(self) -> bool {
        matches!(self, Self::Complete | Self::Faulty)
    }
}

/// A phase of a run. Times are seconds since the first phase began.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct PhaseRecord {
    /// Its name.
    pub name: String,
    /// How long it was to last; `None`: until all clients have had their transactions.
    pub planned_s: Option<f64>,
    /// When it began, if it did.
    pub start_s: Option<f64>,
    /// When its last interval ended, if it had one.
    pub end_s: Option<f64>,
}

impl RunRecord {
    /// The record of a run about to begin, of which all that its caller has yet to learn is empty.
    #[must_use]
    pub fn new(
        target: String,
        command: String,
        workloads: Vec<WorkloadFacts>,
        phases: &[Phase],
        interval: Duration,
    ) -> Self {
        let phases = phases.iter().map(|phase| PhaseRecord {
            name: phase.name.to_owned(),
            planned_s: phase.duration.map(|duration| duration.as_secs_f64()),
            start_s: None,
            end_s: None,
        });
        Self {
            format: FORMAT,
            state: RunState::Running,
            number: 1,
            cell: IndexMap::new(),
            repetition: 1,
            target,
            servers: Vec::new(),
            command,
            created: Timestamp::now(),
            load_started: None,
            max_errors_percent: ErrorLimit::default(),
            interval_s: interval.as_secs_f64(),
            in_turns: false,
            workloads,
            phases: phases.collect(),
            server: Value::Null,
            host: Value::Null,
            load_hosts: Vec::new(),
            transport: None,
            ceiling: None,
            tables: Value::Null,
            preparation: None,
            checks: Vec::new(),
            outputs: Vec::new(),
            summary: None,
            analysis: None,
            failure: None,
        }
    }

    /// What is to be known of the database: as its target declared it, or for runs of earlier dynos, as it follows from
    /// what was recorded of it.
    #[must_use]
    pub fn traits(&self) -> ServerTraits {
        let declared = self.server.get("traits").map(ServerTraits::deserialize);
        declared
            .and_then(Result::ok)
            .unwrap_or_else(|| earlier::traits(&self.server))
    }

    /// How many rows of a table were read or changed while the load ran, and how many of them were updated or deleted;
    /// `table` is one of `tables` after the load. None where the server does not tell.
    #[must_use]
    pub fn rows_worked_on(&self, table: &Value) -> Option<[f64; 2]> {
        let counted = |table: &Value| {
            let declared = ["rows_touched", "rows_changed"].map(|name| table.get(name).and_then(Value::as_f64));
            match declared {
                [Some(touched), Some(changed)] => Some([touched, changed]),
                _ => earlier::rows_of(table),
            }
        };
        let [touched, changed] = counted(table)?;
        let before = self.table_before(table).and_then(counted);
        let [touched_before, changed_before] = before.unwrap_or_default();
        Some([(touched - touched_before).max(0.0), (changed - changed_before).max(0.0)])
    }

    /// The same table as it was before the load.
    #[must_use]
    pub fn table_before(&self, table: &Value) -> Option<&Value> {
        let tables = self.tables.get("before")?.get("tables")?.as_array()?;
        tables
            .iter()
            .find(|other| other.get("schema") == table.get("schema") && other.get("name") == table.get("name"))
    }

    /// Marks a complete run as faulty if more of its transactions failed or of its clients were lost than may, or a
    /// check failed, and says so as the reason.
    pub(super) fn judge(&mut self) {
        if self.state != RunState::Complete {
            return;
        }
        let summary = self.summary.as_ref();
        let exceeded = summary.and_then(|summary| self.max_errors_percent.exceeded_by(summary));
        let failed = || self.checks.iter().find_map(CheckResult::failure);
        if let Some(reason) = exceeded.or_else(failed) {
            self.state = RunState::Faulty;
            self.failure.get_or_insert(reason);
        }
    }

    /// Writes `run.json` into the run's folder.
    pub(super) fn write(&self, path: &Path) -> Result<(), ArchiveError> {
        replace_json(&path.join(RUN_JSON), self)
    }
}

impl Run {
    /// What is to be known of its database, see [`RunRecord::traits`].
    #[must_use]
    pub fn traits(&self) -> ServerTraits {
        let record = self.record.as_ref();
        record.map_or_else(|_| earlier::traits(&Value::Null), RunRecord::traits)
    }

    /// Adds `analysis` to `run.json`.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn analysed(&mut self, analysis: Analysis) -> Result<(), ArchiveError> {
        if let Ok(record) = &mut self.record {
            record.analysis = Some(analysis);
            record.write(&self.path)?;
        }
        Ok(())
    }
}

/// Writes a run's folder while the run goes on.
///
/// When something cannot be written the error is returned once and nothing more is appended; the run itself can go
/// on, and [`RunWriter::finish`] is still to be called.
pub struct RunWriter {
    path: PathBuf,
    record: RunRecord,
    intervals: AppendFile,
    latencies: AppendFile,
    events: AppendFile,
    encoder: Encoder,
    header_written: bool,
    stopped: bool,
}

impl RunWriter {
    /// Begins to write into the folder `path`, which exists and is empty.
    pub(super) fn create(path: PathBuf, record: RunRecord) -> Result<Self, ArchiveError> {
        let intervals = AppendFile::create(path.join(INTERVALS_CSV))?;
        intervals.lock();
        let latencies = AppendFile::create(path.join(LATENCY_HLOG))?;
        let events = AppendFile::create(path.join(EVENTS_JSONL))?;
        replace_json(&path.join(RUN_JSON), &record)?;
        Ok(Self {
            path,
            record,
            intervals,
            latencies,
            events,
            encoder: Encoder::default(),
            header_written: false,
            stopped: false,
        })
    }

    /// The run's folder.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// When the first phase began; `None` before [`Self::begin`].
    #[must_use]
    pub fn load_started(&self) -> Option<Timestamp> {
        self.record.load_started
    }

    /// What will be in `run.json`; the caller may fill in what it learns. It is written by [`Self::begin`] and
    /// [`Self::finish`].
    pub fn record_mut(&mut self) -> &mut RunRecord {
        &mut self.record
    }

    /// Notes that the first phase begins now, and writes `run.json` with all that is known.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn begin(&mut self) -> Result<(), ArchiveError> {
        let now = Timestamp::now();
        self.record.load_started = Some(now);
        let result = self
            .latencies
            .append(&latencies::header(now))
            .and_then(|()| replace_json(&self.path.join(RUN_JSON), &self.record));
        self.stopped = result.is_err();
        result
    }

    /// Appends an interval of any phase.
    ///
    /// # Errors
    ///
    /// If it cannot be written; see [`RunWriter`].
    pub fn interval(&mut self, interval: &Interval) -> Result<(), ArchiveError> {
        let Some(phase) = self.record.phases.get_mut(interval.phase) else {
            return Ok(());
        };
        let end_s = (interval.start + interval.duration).as_secs_f64();
        let mut events = Vec::new();
        if phase.start_s.is_none() {
            let start_s = interval.start.as_secs_f64();
            phase.start_s = Some(start_s);
            events.push(EventRecord {
                at_s: start_s,
                kind: EventKind::Phase {
                    phase: phase.name.clone(),
                },
            });
        }
        phase.end_s = Some(end_s);
        if self.stopped {
            return Ok(());
        }
        let phase = phase.name.clone();
        let workloads = || {
            self.record
                .workloads
                .iter()
                .map(|facts| facts.name.as_str())
                .zip(&interval.recordings)
        };
        let mut rows = Vec::new();
        for (workload, recording) in workloads() {
            rows.push(IntervalRow::new(
                self.record.load_started,
                &phase,
                interval,
                workload,
                recording,
            ));
            events.extend(recording.errors_by_code.iter().map(|error| EventRecord {
                at_s: end_s,
                kind: EventKind::Errors {
                    phase: phase.clone(),
                    workload: workload.to_owned(),
                    sqlstate: error.code.to_string(),
                    count: error.count,
                    example: error.example.clone(),
                },
            }));
        }
        let mut histograms = Vec::new();
        self.encoder.interval(interval, workloads(), &mut histograms);
        let csv = to_csv(&rows, !self.header_written);
        self.header_written = true;
        // The rows come last: an interval is there when its rows are, and then so are its histograms.
        let result = self
            .append_events(&events)
            .and_then(|()| self.latencies.append(&histograms))
            .and_then(|()| self.intervals.append(&csv));
        self.stopped = result.is_err();
        result
    }

    /// Appends an event that the intervals do not tell of.
    ///
    /// # Errors
    ///
    /// If it cannot be written; see [`RunWriter`].
    pub fn event(&mut self, event: &EventRecord) -> Result<(), ArchiveError> {
        if self.stopped {
            return Ok(());
        }
        let result = self.append_events(std::slice::from_ref(event));
        self.stopped = result.is_err();
        result
    }

    /// Writes `run.json` with how the run ended, faulty instead of complete if too many transactions failed. Gives
    /// back the run.
    ///
    /// # Errors
    ///
    /// If it cannot be written; then the one written at the begin is still there.
    pub fn finish(mut self, state: RunState, summary: Summary) -> Result<Run, ArchiveError> {
        self.record.state = state;
        self.record.summary = Some(summary);
        self.record.judge();
        self.record.write(&self.path)?;
        Ok(Run {
            path: self.path,
            state: self.record.state,
            record: Ok(self.record),
        })
    }

    fn append_events(&mut self, events: &[EventRecord]) -> Result<(), ArchiveError> {
        if events.is_empty() {
            return Ok(());
        }
        self.events.append(&event_lines(events))
    }
}

/// Events as lines of their file.
pub(super) fn event_lines(events: &[EventRecord]) -> Vec<u8> {
    let mut lines = Vec::new();
    for event in events {
        // Plain fields into memory: there is nothing that could fail.
        let _ = serde_json::to_writer(&mut lines, event);
        lines.push(b'\n');
    }
    lines
}
