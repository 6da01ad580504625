//! Transactions per second over time.

use super::annotations::Annotations;
use super::model::{Figure, FigureData, Lane, Series};
use super::series::{Grid, Steps};
use super::table::{Cells, time_table};
use crate::figures::rate;
use dyno_analysis::summary::{is_complete, metrics};
use dyno_archive::IntervalRow;
use indexmap::IndexMap;

/// The throughput of a run in the making: rows of `intervals.csv` are added as they come.
#[derive(Clone, Debug)]
pub struct Throughput {
    grid: Grid,
    workloads: IndexMap<String, Workload>,
}

/// What is drawn of a workload.
#[derive(Clone, Debug)]
struct Workload {
    tps: Steps,
    /// The same in steps as long as those of other figures, and statements per second.
    gathered: [Steps; 2],
    errors: Steps,
    failed: bool,
}

impl Throughput {
    /// Nothing yet.
    #[must_use]
    pub fn new(grid: Grid) -> Self {
        Self {
            grid,
            workloads: IndexMap::new(),
        }
    }

    /// Adds an interval of a workload.
    pub fn push(&mut self, row: &IntervalRow) {
        let steps = |step_s| Steps::of_intervals(self.grid, step_s);
        let (fine_s, step_s) = (self.grid.fine_s(), self.grid.step());
        let new = || Workload {
            tps: steps(fine_s),
            gathered: [steps(step_s), steps(step_s)],
            errors: steps(step_s),
            failed: false,
        };
        let workload = match self.workloads.get_mut(&row.workload) {
            Some(known) => known,
            None => self.workloads.entry(row.workload.clone()).or_insert_with(new),
        };
        let (start_s, end_s) = (row.interval_start_s, row.interval_start_s + row.interval_s);
        if is_complete(row.interval_s, self.grid.interval_s()) {
            workload.tps.push(start_s, end_s, row.tps);
        }
        workload.errors.push(start_s, end_s, row.errors as f64 / row.interval_s);
        workload.gathered[0].push(start_s, end_s, row.tps);
        workload.gathered[1].push(start_s, end_s, row.statements as f64 / row.interval_s);
        workload.failed |= row.errors > 0;
    }

    /// The figure `id`: one line per workload, and beneath it the errors if there were any. `None` without a complete
    /// interval.
    #[must_use]
    pub fn figure(&self, id: &str, annotations: &Annotations) -> Option<Figure> {
        if self.workloads.values().all(|workload| workload.tps.is_empty()) {
            return None;
        }
        let lines = self
            .workloads
            .iter()
            .map(|(name, workload)| workload.tps.series(name.clone()));
        let mut lanes = vec![Lane {
            id: "throughput".to_owned(),
            title: "Throughput".to_owned(),
            unit: "TPS".to_owned(),
            series: lines.collect(),
            ..Lane::default()
        }];
        let failed = self.workloads.iter().filter(|(_, workload)| workload.failed);
        let errors: Vec<_> = failed
            .map(|(name, workload)| workload.errors.series(name.clone()))
            .collect();
        if !errors.is_empty() {
            lanes.push(Lane {
                id: "errors".to_owned(),
                title: "Errors".to_owned(),
                unit: "errors/s".to_owned(),
                series: errors,
                ..Lane::default()
            });
        }
        let columns = self
            .workloads
            .iter()
            .map(|(name, workload)| (name.as_str(), "TPS", &workload.tps, Cells::Range));
        Some(Figure {
            id: id.to_owned(),
            title: format!("Throughput of {}", names(self.workloads.keys())),
            caption: self.caption(annotations),
            data: FigureData::Timeline(annotations.timeline(lanes)),
            table: Some(time_table(self.grid.row_s(), columns)),
        })
    }

    /// The line of each workload, called `name`.
    pub(super) fn lines(&self, name: &str) -> impl Iterator<Item = (&str, Series)> {
        let workloads = self.workloads.iter();
        workloads.map(move |(workload, values)| (workload.as_str(), values.tps.series(name.to_owned())))
    }

    /// Begin, end, and the throughput of each workload, step by step.
    pub(super) fn steps(&self) -> Vec<(f64, f64, Vec<metrics::Throughput<'_>>)> {
        let step_s = self.grid.step();
        let last = self
            .workloads
            .values()
            .map(|workload| workload.gathered[0].len())
            .max()
            .unwrap_or(0);
        let of_step = |step: usize| {
            let throughput = self.workloads.iter().filter_map(|(name, workload)| {
                let [tps, statements] = &workload.gathered;
                Some(metrics::Throughput {
                    workload: name,
                    tps: tps.mean_of(step)?,
                    statements_per_s: statements.mean_of(step)?,
                    scripts: &[],
                })
            });
            let start_s = self.grid.first_s(step_s) + step as f64 * step_s;
            (
                start_s.max(0.0),
                self.grid.within(start_s + step_s),
                throughput.collect(),
            )
        };
        (0..last).map(of_step).collect()
    }

    fn caption(&self, annotations: &Annotations) -> String {
        let several = self.workloads.len() > 1;
        let range = |(name, workload): (&String, &Workload)| {
            let (min, max) = workload.tps.extremes()?;
            let of = if several { format!(" of {name}") } else { String::new() };
            Some(format!("TPS{of} {} to {}", rate(min), rate(max)))
        };
        let mut parts: Vec<String> = self.workloads.iter().filter_map(range).collect();
        let happened = annotations.words();
        parts.extend((!happened.is_empty()).then_some(happened));
        let each = format!("Each value is of {}.", seconds_words(self.grid.fine_s()));
        // Of a run that ended in its warm-up there is nothing else to say.
        if parts.is_empty() {
            return each;
        }
        format!("{}. {each}", parts.join("; "))
    }
}

/// A number of seconds as the length of something.
pub(super) fn seconds_words(seconds: f64) -> String {
    if seconds == 1.0 {
        "one second".to_owned()
    } else {
        format!("{seconds} seconds")
    }
}

/// Names in a row: "a", "a and b", "a, b and c".
pub(super) fn names<'a>(names: impl Iterator<Item = &'a (impl AsRef<str> + ?Sized + 'a)>) -> String {
    let names: Vec<&str> = names.map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, rest)) if !rest.is_empty() => format!("{} and {last}", rest.join(", ")),
        Some((only, _)) => (*only).to_owned(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_interval_that_was_cut_short_is_not_on_the_chart() {
        let mut throughput = Throughput::new(Grid::new(1.0, 4.0));
        for (start_s, lasted_s, tps) in [
            (0.2, 0.8, 1_500.0),
            (1.0, 1.0, 1_000.0),
            (2.0, 1.0, 1_100.0),
            (3.0, 0.002, 9_000.0),
        ] {
            let row = serde_json::json!({
                "phase": "measure", "interval_start_s": start_s, "interval_s": lasted_s, "workload": "main",
                "transactions": 1, "statements": 1, "errors": 0, "retries": 0, "skipped": 0, "tps": tps,
            });
            throughput.push(&serde_json::from_value(row).unwrap());
        }
        let figure = throughput.figure("t", &Annotations::new("run", 1.0, 4.0)).unwrap();
        assert!(figure.caption.starts_with("TPS 1,000 to 1,100."), "{}", figure.caption);
        let FigureData::Timeline(timeline) = figure.data else {
            panic!()
        };
        let line = &timeline.lanes[0].series[0];
        assert_eq!(
            (line.first_s, line.mean.as_slice()),
            (1.0, [Some(1_000.0), Some(1_100.0)].as_slice())
        );
    }
}
