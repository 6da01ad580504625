//! The figures of a run that is going on: the builders of reports, fed row by row.

use dyno_archive::analysis::Dip;
use dyno_archive::{EventRecord, IntervalRow, LOG_TOLERANCE_S, LatencyParser, RunRecord, WaitRow};
use dyno_record::Meaning;
use dyno_report::document::model::{Figure, FigureData};
use dyno_report::document::{Annotations, Counters, Grid, Latency, Throughput, Waits};

/// As coarse as for a report of so many runs: a page that is drawn every second gets half as many points.
const COARSER: usize = 2;

/// The figures in the making.
pub(super) struct Figures {
    annotations: Annotations,
    throughput: Throughput,
    latency: Latency,
    waits: Waits,
    server: [Counters; 1],
    host: [Counters; 2],
    parser: LatencyParser,
    /// When the last interval ended.
    now_s: f64,
}

impl Figures {
    /// Of the run `name`, none of whose rows has come, for as long as it does not last longer than `horizon_s`.
    pub(super) fn new(name: &str, run: &RunRecord, horizon_s: f64) -> Self {
        let mut annotations = Annotations::new(name, run.interval_s, horizon_s);
        annotations.set_phases(&run.phases);
        let grid = Grid::new(run.interval_s, horizon_s).measured_from(annotations.measured_from_s());
        let grid = grid.shared_by(COARSER);
        Self {
            annotations,
            throughput: Throughput::new(grid),
            latency: Latency::new(grid, &run.workloads),
            waits: Waits::new(grid),
            server: [Counters::log(grid, &run.traits().words)],
            host: [Counters::cpu(grid), Counters::storage(grid)],
            parser: LatencyParser::default(),
            now_s: 0.0,
        }
    }

    /// When the last interval ended, in seconds since the load began.
    pub(super) fn now_s(&self) -> f64 {
        self.now_s
    }

    /// Adds a row of `intervals.csv`.
    pub(super) fn interval(&mut self, row: &IntervalRow) {
        self.now_s = self.now_s.max(row.interval_start_s + row.interval_s);
        self.throughput.push(row);
    }

    /// Adds lines of `latency.hlog`.
    pub(super) fn latencies(&mut self, lines: &[u8]) {
        let measured_from_s = self.annotations.measured_from_s() - LOG_TOLERANCE_S;
        for line in lines.split(|byte| *byte == b'\n') {
            if let Some(line) = self.parser.parse(line, |_, statement| statement.is_none()) {
                self.latency.push(line, line.start_s >= measured_from_s);
            }
        }
    }

    /// Adds an event.
    pub(super) fn event(&mut self, event: &EventRecord) {
        self.annotations.push(event);
    }

    /// Adds a row of `waits.csv`.
    pub(super) fn wait(&mut self, row: &WaitRow) {
        self.waits.push(row);
    }

    /// Adds a row of `server.csv`: `value` gives the value of a meaning.
    pub(super) fn server(&mut self, at_s: f64, value: impl Fn(Meaning) -> Option<f64>) {
        self.server.iter_mut().for_each(|counters| counters.push(at_s, &value));
    }

    /// Adds a row of `host.csv`.
    pub(super) fn host(&mut self, at_s: f64, value: impl Fn(Meaning) -> Option<f64>) {
        self.host.iter_mut().for_each(|counters| counters.push(at_s, &value));
    }

    /// Sets the dips found so far.
    pub(super) fn dips(&mut self, dips: &[Dip]) {
        self.annotations.set_dips(dips);
    }

    /// All figures of which there is something to see, from the beginning until now.
    pub(super) fn all(&self) -> Vec<Figure> {
        let annotations = &self.annotations;
        let [log] = &self.server;
        let [cpu, storage] = &self.host;
        let figures = [
            self.throughput.figure("throughput", annotations),
            self.latency.figure("latency", annotations),
            self.waits.figure("waits", annotations),
            log.figure("wal", annotations),
            cpu.figure("cpu", annotations),
            storage.figure("storage", annotations),
        ];
        figures
            .into_iter()
            .flatten()
            .map(|figure| self.until_now(figure))
            .collect()
    }

    /// A figure whose axis ends now, not when the run is to end.
    fn until_now(&self, mut figure: Figure) -> Figure {
        if let FigureData::Timeline(timeline) = &mut figure.data {
            timeline.end_s = self.now_s;
            timeline.spans.retain(|span| span.start_s < self.now_s);
            for span in &mut timeline.spans {
                span.end_s = span.end_s.min(self.now_s);
            }
            for mark in &mut timeline.marks {
                mark.end_s = mark.end_s.map(|end_s| end_s.min(self.now_s).max(mark.start_s));
            }
        }
        // People read the tables in the report.
        figure.table = None;
        figure
    }
}
