//! Counters of the server and of the load's machine over time.

use super::annotations::Annotations;
use super::model::{Figure, FigureData, Lane};
use super::series::{Grid, Steps};
use super::table::{Cells, time_table};
use crate::figures::figure;
use dyno_record::Meaning;

/// How the values of a column become a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    /// They are of the time since the last sample.
    Level,
    /// They add up: their growth per second counts.
    Growth,
}

/// A line in the making.
#[derive(Clone, Debug)]
struct Line {
    meaning: Meaning,
    name: &'static str,
    kind: Kind,
    factor: f64,
    last: Option<(f64, f64)>,
    steps: Steps,
}

/// A panel in the making.
#[derive(Clone, Debug)]
struct Panel {
    id: &'static str,
    title: &'static str,
    unit: &'static str,
    stacked: bool,
    lines: Vec<Line>,
}

/// A figure of counters in the making: rows of `server.csv` or `host.csv` are added as they come.
#[derive(Clone, Debug)]
pub struct Counters {
    grid: Grid,
    title: &'static str,
    note: &'static str,
    panels: Vec<Panel>,
}

impl Counters {
    /// The write-ahead log and checkpoints, from `server.csv`.
    #[must_use]
    pub fn wal(grid: Grid) -> Self {
        let panels = [
            (
                "wal",
                "WAL",
                "bytes/s",
                false,
                vec![(Meaning::LogBytes, "written", Kind::Growth, 1.0)],
            ),
            (
                "fpi",
                "Full page images",
                "images/s",
                false,
                vec![(Meaning::LogPageImages, "written", Kind::Growth, 1.0)],
            ),
            (
                "checkpoint",
                "Buffers written",
                "buffers/s",
                true,
                vec![
                    (Meaning::PagesWrittenByCheckpoints, "by checkpoints", Kind::Growth, 1.0),
                    (
                        Meaning::PagesWrittenByBackground,
                        "by the background writer",
                        Kind::Growth,
                        1.0,
                    ),
                    (Meaning::PagesWrittenBySessions, "by sessions", Kind::Growth, 1.0),
                ],
            ),
        ];
        let note = "For the whole server, whoever uses it. After a checkpoint, the first change of each page writes \
                    the whole page to the WAL.";
        Self::new(grid, "WAL, full page images and checkpoints", note, panels)
    }

    /// Sessions and data read, from `server.csv`.
    #[must_use]
    pub fn sessions(grid: Grid) -> Self {
        let panels = [
            (
                "sessions",
                "Sessions",
                "sessions",
                false,
                vec![
                    (Meaning::SessionsActive, "active", Kind::Level, 1.0),
                    (
                        Meaning::SessionsIdleInTransaction,
                        "idle in transaction",
                        Kind::Level,
                        1.0,
                    ),
                    (Meaning::SessionsWaitingForLocks, "waiting for a lock", Kind::Level, 1.0),
                ],
            ),
            (
                "reads",
                "Blocks read",
                "blocks/s",
                false,
                vec![(Meaning::PagesRead, "not found in shared buffers", Kind::Growth, 1.0)],
            ),
            (
                "lag",
                "Standby behind",
                "bytes",
                false,
                vec![(Meaning::StandbyLagBytes, "slowest standby", Kind::Level, 1.0)],
            ),
        ];
        Self::new(grid, "Sessions and blocks read", "", panels)
    }

    /// CPU of the load's machine, from `host.csv`.
    #[must_use]
    pub fn cpu(grid: Grid) -> Self {
        let panels = [
            (
                "cpu",
                "CPU by kind",
                "%",
                true,
                vec![
                    (Meaning::CpuUserShare, "user", Kind::Level, 100.0),
                    (Meaning::CpuSystemShare, "system", Kind::Level, 100.0),
                    (Meaning::CpuIowaitShare, "waiting for storage", Kind::Level, 100.0),
                    (Meaning::CpuStealShare, "stolen", Kind::Level, 100.0),
                ],
            ),
            (
                "cores",
                "CPU by process group",
                "cores",
                true,
                vec![
                    (Meaning::ServerCpuS, "server", Kind::Growth, 1.0),
                    (Meaning::DynoCpuS, "dyno", Kind::Growth, 1.0),
                    (Meaning::OtherCpuS, "others", Kind::Growth, 1.0),
                ],
            ),
            (
                "pressure",
                "Time in which some tasks had to wait",
                "%",
                false,
                vec![
                    (Meaning::CpuPressureUs, "for a CPU", Kind::Growth, 1e-4),
                    (Meaning::IoPressureUs, "for storage", Kind::Growth, 1e-4),
                    (Meaning::MemoryPressureUs, "for memory", Kind::Growth, 1e-4),
                ],
            ),
        ];
        let note = "This is the machine that made the load; it includes the server if that ran there.";
        Self::new(grid, "CPU of the load's machine", note, panels)
    }

    /// Storage, network and memory of the load's machine, from `host.csv`.
    #[must_use]
    pub fn storage(grid: Grid) -> Self {
        let panels = [
            (
                "storage",
                "Storage",
                "bytes/s",
                false,
                vec![
                    (Meaning::DiskReadBytes, "read", Kind::Growth, 1.0),
                    (Meaning::DiskWrittenBytes, "written", Kind::Growth, 1.0),
                ],
            ),
            (
                "busy",
                "Busiest disk",
                "%",
                false,
                vec![(Meaning::DiskBusyShare, "busy", Kind::Level, 100.0)],
            ),
            (
                "network",
                "Network",
                "bytes/s",
                false,
                vec![
                    (Meaning::NetReceivedBytes, "received", Kind::Growth, 1.0),
                    (Meaning::NetSentBytes, "sent", Kind::Growth, 1.0),
                ],
            ),
            (
                "memory",
                "Memory",
                "bytes",
                false,
                vec![
                    (Meaning::MemoryAvailableBytes, "available", Kind::Level, 1.0),
                    (Meaning::MemoryDirtyBytes, "not yet written", Kind::Level, 1.0),
                ],
            ),
        ];
        Self::new(grid, "Storage, network and memory of the load's machine", "", panels)
    }

    #[allow(clippy::type_complexity, reason = "a table of literals")]
    fn new<const N: usize>(
        grid: Grid,
        title: &'static str,
        note: &'static str,
        panels: [(
            &'static str,
            &'static str,
            &'static str,
            bool,
            Vec<(Meaning, &'static str, Kind, f64)>,
        ); N],
    ) -> Self {
        let line = |(meaning, name, kind, factor)| Line {
            meaning,
            name,
            kind,
            factor,
            last: None,
            steps: Steps::new(grid.step()),
        };
        let panel = |(id, title, unit, stacked, lines): (_, _, _, _, Vec<_>)| Panel {
            id,
            title,
            unit,
            stacked,
            lines: lines.into_iter().map(line).collect(),
        };
        Self {
            grid,
            title,
            note,
            panels: panels.into_iter().map(panel).collect(),
        }
    }

    /// Whether what has this meaning is drawn.
    #[must_use]
    pub fn wants(&self, meaning: Meaning) -> bool {
        self.panels
            .iter()
            .flat_map(|panel| &panel.lines)
            .any(|line| line.meaning == meaning)
    }

    /// Adds a sample taken `at_s` after the load began: `value` gives the value of a meaning, if it is known.
    pub fn push(&mut self, at_s: f64, value: impl Fn(Meaning) -> Option<f64>) {
        for line in self.panels.iter_mut().flat_map(|panel| &mut panel.lines) {
            let Some(value) = value(line.meaning).filter(|value| value.is_finite()) else {
                continue;
            };
            if let Some((last_s, last)) = line.last.replace((at_s, value)) {
                let held = match line.kind {
                    Kind::Level => value,
                    // A counter that was reset meanwhile says nothing.
                    Kind::Growth if value < last => continue,
                    Kind::Growth => (value - last) / (at_s - last_s),
                };
                line.steps.push(last_s, at_s, held * line.factor);
            }
        }
    }

    /// The figure `id`; panels of which nothing is known are left out. `None` if that is all.
    #[must_use]
    pub fn figure(&self, id: &str, annotations: &Annotations) -> Option<Figure> {
        let known: Vec<(&Panel, Vec<&Line>)> = self
            .panels
            .iter()
            .map(|panel| {
                let lines: Vec<&Line> = panel.lines.iter().filter(|line| !line.steps.is_empty()).collect();
                (panel, lines)
            })
            .filter(|(_, lines)| !lines.is_empty())
            .collect();
        let lanes = known.iter().map(|(panel, lines)| Lane {
            id: panel.id.to_owned(),
            title: panel.title.to_owned(),
            unit: panel.unit.to_owned(),
            log: false,
            stacked: panel.stacked,
            series: lines.iter().map(|line| line.steps.series(line.name)).collect(),
        });
        let lanes: Vec<Lane> = lanes.collect();
        let from_s = annotations.measured_from_s();
        let words = known.iter().map(|(panel, lines)| {
            let means = lines.iter().filter_map(|line| {
                let mean = line.steps.mean(from_s)?;
                Some(format!("{} {}", line.name, amount(mean, panel.unit)))
            });
            format!("{}: {}", panel.title, means.collect::<Vec<_>>().join(", "))
        });
        let caption = format!(
            "Means over the measured time. {}. {}",
            words.collect::<Vec<_>>().join("; "),
            self.note
        );
        let names: Vec<(String, &str, &Steps)> = known
            .iter()
            .flat_map(|(panel, lines)| {
                lines
                    .iter()
                    .map(|line| (format!("{}: {}", panel.title, line.name), panel.unit, &line.steps))
            })
            .collect();
        let columns = names
            .iter()
            .map(|(name, unit, steps)| (name.as_str(), *unit, *steps, Cells::Mean));
        let table = time_table(self.grid.row_s(), columns);
        (!lanes.is_empty()).then(|| Figure {
            id: id.to_owned(),
            title: self.title.to_owned(),
            caption: caption.trim_end().to_owned(),
            data: FigureData::Timeline(annotations.timeline(lanes)),
            table: Some(table),
        })
    }
}

/// A number with its unit, as in a sentence.
fn amount(number: f64, unit: &str) -> String {
    match unit {
        "bytes" | "bytes/s" => {
            let words = crate::figures::bytes(number.max(0.0).round() as u64);
            if unit == "bytes" { words } else { format!("{words}/s") }
        }
        _ => format!("{} {unit}", figure(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn timeline(figure: &Figure) -> &[Lane] {
        match &figure.data {
            FigureData::Timeline(timeline) => &timeline.lanes,
            _ => &[],
        }
    }

    #[test]
    fn counters_become_rates_and_what_is_unknown_is_left_out() {
        let mut wal = Counters::wal(Grid::new(1.0, 10.0));
        assert!(wal.wants(Meaning::LogPageImages) && !wal.wants(Meaning::CpuUserShare));
        let annotations = Annotations::new("r", 1.0, 10.0);
        assert_eq!(wal.figure("wal", &annotations), None);
        for (at_s, bytes) in [(1.0, 1_000.0), (2.0, 5_000.0), (3.0, 100.0), (4.0, 300.0)] {
            wal.push(at_s, |meaning| (meaning == Meaning::LogBytes).then_some(bytes));
        }
        let figure = wal.figure("wal", &annotations).unwrap();
        let lanes = timeline(&figure);
        assert_eq!(lanes.len(), 1);
        // The counter began anew between the second and the third sample.
        assert_eq!(
            (lanes[0].series[0].first_s, &lanes[0].series[0].mean),
            (1.0, &vec![Some(4_000.0), None, Some(200.0)])
        );
        assert!(
            figure
                .caption
                .starts_with("Means over the measured time. WAL: written 2,100 bytes/s."),
            "{}",
            figure.caption
        );
        assert_eq!(figure.table.unwrap().rows.len(), 2);
    }
}
