//! What the measured sessions waited for, by class of wait event.

use super::annotations::Annotations;
use super::model::{Figure, FigureData, Lane, Table};
use super::series::{Grid, Steps};
use super::table::{Cells, number, text, time_table, value, words};
use crate::figures::figure;
use dyno_archive::WaitRow;
use dyno_record::WaitKind;
use indexmap::IndexMap;

/// Of a class with fewer sessions in the mean a caption says nothing.
const LEAST_TOLD: f64 = 0.05;

/// More events than this are not read.
const MOST_EVENTS: usize = 20;

/// The class of sessions that do not wait.
const NOT_WAITING: &str = "not waiting";

/// The waits of a run in the making: rows of `waits.csv` are added as they come.
#[derive(Clone, Debug)]
pub struct Waits {
    grid: Grid,
    /// Stretches of time that are complete.
    windows: Vec<(f64, f64)>,
    /// The one whose rows are still coming.
    open: Option<Open>,
    classes: IndexMap<String, Steps>,
    /// Sessions times seconds that were measured, by class and event.
    events: IndexMap<(String, String), f64>,
}

/// A stretch of time with the sessions by class, as far as its rows have come.
#[derive(Clone, Debug)]
struct Open {
    start_s: f64,
    end_s: f64,
    sessions: IndexMap<String, f64>,
}

impl Waits {
    /// Nothing yet.
    #[must_use]
    pub fn new(grid: Grid) -> Self {
        Self {
            grid,
            windows: Vec::new(),
            open: None,
            classes: IndexMap::new(),
            events: IndexMap::new(),
        }
    }

    /// Adds what some sessions did. Sessions that are not measured are left out.
    pub fn push(&mut self, row: &WaitRow) {
        if !row.sessions.is_finite() || !row.at_s.is_finite() {
            return;
        }
        if self.open.as_ref().is_none_or(|open| row.at_s > open.end_s) {
            self.close();
            let before_s = self.windows.last().map(|(_, end_s)| *end_s);
            self.open = Some(Open {
                start_s: WaitRow::start_s(row.at_s, before_s),
                end_s: row.at_s,
                sessions: IndexMap::new(),
            });
        }
        // A row of no sessions says that somebody has looked.
        let measured = row.backend == "client" && row.sessions > 0.0;
        let Some(open) = self.open.as_mut().filter(|_| measured) else {
            return;
        };
        let class = match row.kind() {
            WaitKind::None => NOT_WAITING,
            _ => row.class.as_str(),
        };
        *open.sessions.entry(class.to_owned()).or_default() += row.sessions;
        let event = (class.to_owned(), row.event.clone());
        let measured_s = self.grid.measured_s(open.start_s, open.end_s);
        *self.events.entry(event).or_default() += row.sessions * measured_s;
    }

    /// Ends the stretch of time whose rows have come.
    fn close(&mut self) {
        let Some(Open {
            start_s,
            end_s,
            sessions,
        }) = self.open.take()
        else {
            return;
        };
        for class in sessions
            .keys()
            .filter(|class| !self.classes.contains_key(*class))
            .cloned()
            .collect::<Vec<_>>()
        {
            // Until now nobody waited for it.
            let mut steps = Steps::of_samples(self.grid);
            self.windows
                .iter()
                .for_each(|(start_s, end_s)| steps.push(*start_s, *end_s, 0.0));
            self.classes.insert(class, steps);
        }
        for (class, steps) in &mut self.classes {
            steps.push(start_s, end_s, sessions.get(class).copied().unwrap_or(0.0));
        }
        self.windows.push((start_s, end_s));
    }

    /// The figure `id`. `None` if nobody was seen.
    #[must_use]
    pub fn figure(&self, id: &str, annotations: &Annotations) -> Option<Figure> {
        let mut whole = self.clone();
        whole.close();
        let mean = |steps: &Steps| steps.mean().unwrap_or(0.0);
        let mut classes: Vec<(&String, &Steps)> = whole.classes.iter().collect();
        classes.sort_by(|(_, one), (_, other)| mean(other).total_cmp(&mean(one)));
        let words = classes
            .iter()
            .filter(|(_, steps)| mean(steps) >= LEAST_TOLD)
            .map(|(class, steps)| format!("{class} {}", figure(mean(steps))));
        let words: Vec<String> = words.collect();
        let seen = match words.is_empty() {
            true => "Hardly any session was seen in the measured time".to_owned(),
            false => format!("Mean number of sessions in the measured time: {}", words.join(", ")),
        };
        let caption = format!("{seen}. Sessions that are not waiting run on a CPU, or are ready to.");
        let lane = Lane {
            id: "waits".to_owned(),
            title: "Sessions by wait".to_owned(),
            unit: "sessions".to_owned(),
            stacked: true,
            series: classes
                .iter()
                .map(|(class, steps)| steps.series(class.as_str()))
                .collect(),
            ..Lane::default()
        };
        let columns = classes
            .iter()
            .map(|(class, steps)| (class.as_str(), "sessions", *steps, Cells::Mean));
        let table = time_table(self.grid.row_s(), columns);
        (!classes.is_empty()).then(|| Figure {
            id: id.to_owned(),
            title: "What measured sessions waited for".to_owned(),
            caption,
            data: FigureData::Timeline(annotations.timeline(vec![lane])),
            table: Some(table),
        })
    }

    /// The events that sessions waited for most in the measured time.
    pub(super) fn table(&self) -> Option<Table> {
        let all: f64 = self.events.values().sum();
        let open = self.open.iter().map(|open| (open.start_s, open.end_s));
        let times = self.windows.iter().copied().chain(open);
        let time_s: f64 = times.map(|(start_s, end_s)| self.grid.measured_s(start_s, end_s)).sum();
        let mut events: Vec<_> = self.events.iter().filter(|(_, sessions)| **sessions > 0.0).collect();
        events.sort_by(|(_, one), (_, other)| other.total_cmp(one));
        let rows = events.iter().take(MOST_EVENTS).map(|((class, event), sessions)| {
            let figures = [value(**sessions / time_s), value(**sessions / all * 100.0)];
            [words(class.as_str()), words(event.as_str())]
                .into_iter()
                .chain(figures)
                .collect()
        });
        (!events.is_empty()).then(|| Table {
            caption: "What measured sessions waited for most".to_owned(),
            columns: vec![
                text("class"),
                text("event"),
                number("mean", "sessions"),
                number("share", "%"),
            ],
            rows: rows.collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(at_s: f64, backend: &str, class: &str, sessions: f64) -> WaitRow {
        let kind = match class {
            "CPU" => WaitKind::None,
            _ => WaitKind::Other,
        };
        WaitRow::new(at_s, backend, kind, [class, "event"], sessions)
    }

    #[test]
    fn time_in_which_nobody_looked_is_empty() {
        let mut waits = Waits::new(Grid::new(1.0, 10.0));
        waits.push(&row(1.0, "client", "Lock", 2.0));
        waits.push(&row(2.0, "client", "CPU", 0.0));
        waits.push(&row(6.0, "client", "Lock", 4.0));
        let figure = waits.figure("waits", &Annotations::new("r", 0.0, 10.0)).unwrap();
        let FigureData::Timeline(timeline) = figure.data else {
            panic!("{:?}", figure.data)
        };
        let [series] = &timeline.lanes[0].series[..] else {
            panic!("{:?}", timeline.lanes[0].series)
        };
        assert_eq!(series.mean, [Some(2.0), Some(0.0), None, None, None, Some(4.0)]);
        let table = waits.table().unwrap();
        assert_eq!(table.rows[0][2], value(2.0));
    }

    #[test]
    fn waits_count_in_the_measured_time_alone() {
        let mut waits = Waits::new(Grid::new(1.0, 3.5).measured_from(1.0));
        for (at_s, class, sessions) in [
            (1.0, "Lock", 9.0),
            (2.0, "Lock", 2.0),
            (3.0, "IO", 4.0),
            (3.5, "IO", 4.0),
        ] {
            waits.push(&row(at_s, "client", class, sessions));
        }
        // The last look was taken when the load was over.
        waits.push(&row(3.6, "client", "CPU", 0.0));
        let figure = waits.figure("waits", &Annotations::new("r", 1.0, 3.5)).unwrap();
        assert!(
            figure
                .caption
                .starts_with("Mean number of sessions in the measured time: IO 2.4, Lock 0.8."),
            "{}",
            figure.caption
        );
        let table = waits.table().unwrap();
        assert_eq!(table.rows[0][2..], [value(2.4), value(75.0)]);
        assert_eq!(table.rows[1][2..], [value(0.8), value(25.0)]);
    }

    #[test]
    fn a_class_that_nobody_waits_for_is_zero_not_unknown() {
        let mut waits = Waits::new(Grid::new(1.0, 10.0));
        waits.push(&row(1.0, "client", "CPU", 8.0));
        waits.push(&row(2.0, "client", "Lock", 2.0));
        waits.push(&row(2.0, "client", "Lock", 1.0));
        waits.push(&row(2.0, "autovacuum", "IO", 1.0));
        waits.push(&row(3.0, "client", "CPU", 7.0));
        let figure = waits.figure("waits", &Annotations::new("r", 1.0, 10.0)).unwrap();
        let FigureData::Timeline(timeline) = figure.data else {
            panic!("{:?}", figure.data)
        };
        let series: Vec<_> = timeline.lanes[0]
            .series
            .iter()
            .map(|series| (series.name.as_str(), series.mean.clone()))
            .collect();
        assert_eq!(
            series,
            [
                ("not waiting", vec![Some(8.0), Some(0.0), Some(7.0)]),
                ("Lock", vec![Some(0.0), Some(3.0), Some(0.0)]),
            ]
        );
        let table = waits.table().unwrap();
        assert_eq!(table.rows[0][0], words("not waiting"));
        assert_eq!(table.rows[0][2], value(5.0));
        assert_eq!(
            Waits::new(Grid::new(1.0, 10.0)).figure("waits", &Annotations::default()),
            None
        );
    }
}
