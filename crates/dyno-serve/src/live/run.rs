//! Follows one run: reads what was appended to its files, and keeps its figures.

use super::change::{Change, change};
use super::figures::Figures;
use super::status::{Status, Totals};
use super::tail::{Table, Tail, events};
use dyno_analysis::analyse;
use dyno_archive::summary::Warning;
use dyno_archive::{EventKind, EventRecord, Run, RunRecord, folder_name};
use dyno_report::document::model::Figure;
use jiff::Timestamp;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

/// Error messages that are shown: the last ones.
const SHOWN_ERRORS: usize = 5;
/// How many intervals the first figures have room for; when a run outgrows them, new ones are made with room for
/// twice as many, in longer steps.
const FIRST_INTERVALS: f64 = 1_800.0;
/// How often dips are looked for, at most.
const ANALYSIS_PERIOD: Duration = Duration::from_secs(10);
/// And looking for them takes no more than this part of the time.
const ANALYSIS_SHARE: u32 = 100;

/// A run with what its files say so far.
pub(super) struct RunFollower {
    path: PathBuf,
    record: RunRecord,
    horizon_s: f64,
    files: Files,
    figures: Figures,
    totals: Totals,
    /// The last error messages, and what else is wrong.
    errors: Vec<String>,
    warnings: Vec<String>,
    next_analysis: Instant,
    /// The figures as the last look left them.
    shown: Vec<Figure>,
}

/// What is read of a run's folder.
#[derive(Debug)]
struct Files {
    intervals: Table,
    latencies: Tail,
    events: Tail,
    waits: Table,
    server: Table,
    host: Table,
}

impl Files {
    fn new(run: &Path) -> Self {
        Self {
            intervals: Table::new(run.join("intervals.csv")),
            latencies: Tail::new(run.join("latency.hlog")),
            events: Tail::new(run.join("events.jsonl")),
            waits: Table::new(run.join("waits.csv")),
            server: Table::new(run.join("server.csv")),
            host: Table::new(run.join("host.csv")),
        }
    }
}

impl RunFollower {
    /// `None` if it is not known what runs.
    pub(super) fn new(path: PathBuf) -> Option<Self> {
        let record = Run::read(path.clone())?.record.ok()?;
        let since = record
            .load_started
            .map(|began| Timestamp::now().duration_since(began).as_secs_f64());
        let horizon_s = horizon_s(record.interval_s, since.unwrap_or(0.0));
        let mut run = Self {
            files: Files::new(&path),
            figures: Figures::new(&folder_name(&path), &record, horizon_s),
            totals: Totals::default(),
            errors: Vec::new(),
            warnings: Vec::new(),
            next_analysis: Instant::now(),
            shown: Vec::new(),
            path,
            record,
            horizon_s,
        };
        run.look();
        Some(run)
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    pub(super) fn record(&self) -> &RunRecord {
        &self.record
    }

    /// The figures as the last look left them.
    pub(super) fn figures(&self) -> &[Figure] {
        &self.shown
    }

    pub(super) fn status(&self) -> Status {
        Status {
            warnings: self.errors.iter().rev().chain(&self.warnings).cloned().collect(),
            ..self.totals.status(&self.record)
        }
    }

    /// Reads what was appended, and says how the figures have changed; `None` if they were made anew.
    pub(super) fn look(&mut self) -> Option<Vec<Change>> {
        self.read();
        let outgrown = self.figures.now_s() > self.horizon_s;
        if outgrown {
            self.horizon_s = horizon_s(self.record.interval_s, self.figures.now_s());
            self.figures = Figures::new(&folder_name(&self.path), &self.record, self.horizon_s);
            self.files = Files::new(&self.path);
            self.totals = Totals::default();
            self.next_analysis = Instant::now();
            self.read();
        }
        self.analyse();
        let now = self.figures.all();
        let changes = changes(&self.shown, &now);
        self.shown = now;
        (!outgrown).then_some(changes)
    }

    fn read(&mut self) {
        for row in self.files.intervals.rows() {
            self.totals.push(&row);
            self.figures.interval(&row);
        }
        self.files.latencies.for_each(|lines| self.figures.latencies(lines));
        let mut happened = Vec::new();
        self.files.events.for_each(|lines| happened.extend(events(lines)));
        for event in &happened {
            self.remember(event);
            self.figures.event(event);
        }
        for row in self.files.waits.rows() {
            self.figures.wait(&row);
        }
        let figures = &mut self.figures;
        self.files.server.samples(|at_s, value| figures.server(at_s, value));
        self.files.host.samples(|at_s, value| figures.host(at_s, value));
    }

    fn remember(&mut self, event: &EventRecord) {
        if let EventKind::Errors { sqlstate, example, .. } = &event.kind {
            let text = format!("{sqlstate}: {example}");
            self.errors.retain(|known| *known != text);
            self.errors.push(text);
            let old = self.errors.len().saturating_sub(SHOWN_ERRORS);
            self.errors.drain(..old);
        }
    }

    /// Looks for dips and their causes, now and then.
    fn analyse(&mut self) {
        let begun = Instant::now();
        if begun < self.next_analysis {
            return;
        }
        if let Some(run) = Run::read(self.path.clone()) {
            let analysis = analyse(&run);
            self.figures.dips(&analysis.dips);
            let lasting = analysis.warnings.iter().filter(|warning| !is_of_time(warning));
            self.warnings = lasting.map(ToString::to_string).collect();
        }
        self.next_analysis = Instant::now() + ANALYSIS_PERIOD.max(begun.elapsed() * ANALYSIS_SHARE);
    }
}

/// Whether a warning may be gone when the run has gone on for longer.
fn is_of_time(warning: &Warning) -> bool {
    matches!(
        warning,
        Warning::NoSteadyState { .. } | Warning::FewCheckpoints { .. } | Warning::FewIntervals { .. }
    )
}

/// For how long figures of a run have room that goes on since `since_s`.
fn horizon_s(interval_s: f64, since_s: f64) -> f64 {
    let mut horizon_s = FIRST_INTERVALS * interval_s.max(0.01);
    while horizon_s < since_s {
        horizon_s *= 2.0;
    }
    horizon_s
}

/// How figures have changed. If there are other ones, all are sent.
fn changes(old: &[Figure], new: &[Figure]) -> Vec<Change> {
    let same = old.len() == new.len() && old.iter().zip(new).all(|(old, new)| old.id == new.id);
    if same {
        return old.iter().zip(new).filter_map(|(old, new)| change(old, new)).collect();
    }
    let whole = |figure: &Figure| Change::Whole {
        figure: Box::new(figure.clone()),
    };
    new.iter().map(whole).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::Phase;
    use dyno_report::document::model::{FigureData, Series};
    use std::fmt::Write as _;
    use std::fs::{self, OpenOptions};
    use std::io::Write as _;

    const INTERVAL: Duration = Duration::from_millis(10);

    fn begin(folder: &Path) {
        let phase = Phase {
            name: "measure".to_owned(),
            duration: None,
            measured: true,
        };
        let record = RunRecord::new(String::new(), String::new(), Vec::new(), &[phase], INTERVAL);
        fs::write(folder.join("run.json"), serde_json::to_string(&record).unwrap()).unwrap();
        let header = "phase,interval_start_s,interval_s,workload,transactions,statements,errors,retries,skipped,tps,\
                      latency_mean_us,latency_min_us,latency_max_us,latency_p50_us,latency_p95_us,latency_p99_us,\
                      latency_p99_9_us,lag_mean_us,lag_max_us,retried,late\n";
        fs::write(folder.join("intervals.csv"), header).unwrap();
    }

    fn go_on(folder: &Path, intervals: std::ops::Range<u32>) {
        let mut rows = String::new();
        for number in intervals {
            let start_s = f64::from(number) * INTERVAL.as_secs_f64();
            writeln!(
                rows,
                "measure,{start_s},0.01,update,{number},{number},0,0,0,{number},,,,,,,,,,0,0"
            )
            .unwrap();
        }
        let mut file = OpenOptions::new()
            .append(true)
            .open(folder.join("intervals.csv"))
            .unwrap();
        file.write_all(rows.as_bytes()).unwrap();
    }

    fn throughput(run: &RunFollower) -> &Series {
        match &run.figures()[0].data {
            FigureData::Timeline(timeline) => &timeline.lanes[0].series[0],
            other => panic!("{other:?}"),
        }
    }

    #[test]
    fn a_run_that_outgrows_its_figures_gets_coarser_ones() {
        let folder = tempfile::tempdir().unwrap();
        begin(folder.path());
        go_on(folder.path(), 0..1_000);
        let mut run = RunFollower::new(folder.path().to_owned()).unwrap();
        assert_eq!(throughput(&run).mean.len(), 1_000);
        go_on(folder.path(), 1_000..1_001);
        assert_eq!(run.look().map(|changes| changes.len()), Some(1));
        assert_eq!(run.look(), Some(Vec::new()));
        go_on(folder.path(), 1_001..40_000);
        assert_eq!(run.look(), None);
        let series = throughput(&run);
        assert!(
            series.mean.len() <= 15_000 && series.step_s > INTERVAL.as_secs_f64(),
            "{} of {} s",
            series.mean.len(),
            series.step_s
        );
        assert_eq!(series.max.last(), Some(&Some(40_000.0)));
        assert_eq!(run.status().transactions, "799,980,000");
        go_on(folder.path(), 40_000..40_001);
        assert_eq!(run.look().map(|changes| changes.len()), Some(1));
    }
}
