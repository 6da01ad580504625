//! Counters of the server and of the load's machine over time.

use super::annotations::Annotations;
use super::model::{Figure, FigureData, Lane};
use super::series::{Grid, Steps};
use super::table::{Cells, time_table};
use crate::figures::figure;
use dyno_record::{Meaning, Words};

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
    name: String,
    kind: Kind,
    factor: f64,
    last: Option<(f64, f64)>,
    steps: Steps,
}

/// A panel in the making.
#[derive(Clone, Debug)]
struct Panel {
    id: &'static str,
    title: String,
    unit: String,
    stacked: bool,
    lines: Vec<Line>,
}

/// A figure of counters in the making: rows of `server.csv` or `host.csv` are added as they come.
#[derive(Clone, Debug)]
pub struct Counters {
    grid: Grid,
    title: String,
    note: String,
    panels: Vec<Panel>,
}

impl Counters {
    /// The log of changes and checkpoints, from `server.csv` of a database with these words.
    #[must_use]
    pub fn log(grid: Grid, words: &Words) -> Self {
        let log = capitalised(&words.log);
        let (image, page) = (&words.page_image, &words.page_written);
        let panels = [
            Panel::new("wal", &log, "bytes/s").growing(Meaning::LogBytes, "written"),
            Panel::new("fpi", &format!("{}s", capitalised(image)), "images/s")
                .growing(Meaning::LogPageImages, "written"),
            Panel::new("age", &format!("{log} since the last checkpoint"), "bytes")
                .level(Meaning::LogSinceCheckpointBytes, "used")
                .level(Meaning::LogSinceCheckpointLimitBytes, "limit"),
            Panel::new(
                "checkpoint",
                &format!("{}s written", capitalised(page)),
                &format!("{page}s/s"),
            )
            .stacked()
            .growing(Meaning::PagesWrittenByCheckpoints, "by checkpoints")
            .growing(Meaning::PagesWrittenByBackground, "by the background writer")
            .growing(Meaning::PagesWrittenBySessions, "by sessions")
            .growing(Meaning::PagesWritten, "in all"),
            Panel::new(
                "dirty",
                &format!("{}s to write", capitalised(page)),
                &format!("{page}s"),
            )
            .level(Meaning::PagesDirty, "changed in the cache"),
        ];
        let (images, note) = match image.as_str() {
            "" => (" ".to_owned(), String::new()),
            image => (
                format!(", {image}s "),
                format!(
                    " After a checkpoint, the first change of each page writes the whole page to the {}.",
                    words.log
                ),
            ),
        };
        let note = format!("For the whole server, whoever uses it.{note}");
        Self::new(grid, &format!("{log}{images}and checkpoints"), &note, panels)
    }

    /// Sessions and data read, from `server.csv` of a database with these words.
    #[must_use]
    pub fn sessions(grid: Grid, words: &Words) -> Self {
        let page = &words.page_read;
        let panels = [
            Panel::new("sessions", "Sessions", "sessions")
                .level(Meaning::SessionsActive, "active")
                .level(Meaning::SessionsIdleInTransaction, "idle in transaction")
                .level(Meaning::SessionsWaitingForLocks, "waiting for a lock"),
            Panel::new("reads", &format!("{}s read", capitalised(page)), &format!("{page}s/s"))
                .growing(Meaning::PagesRead, &format!("not found in {}", words.cache)),
            Panel::new("cpu", "CPU as the server counts it", "cores").growing(Meaning::ServerCpuS, "server"),
            Panel::new("purge", "Old versions of rows", "transactions")
                .level(Meaning::TransactionsToPurge, "yet to be removed"),
            Panel::new("lag", "Standby behind", "bytes").level(Meaning::StandbyLagBytes, "slowest standby"),
        ];
        Self::new(grid, &format!("Sessions and {page}s read"), "", panels)
    }

    /// How far this server is behind the one that it follows: by what `is_known` of both, or only as it says itself,
    /// from `server.csv`.
    #[must_use]
    pub fn lag(grid: Grid, is_known: bool) -> Self {
        let panels = [
            Panel::new("behind", "In time", "s").level(Meaning::StandbyLagS, "behind"),
            Panel::new("unread", "In the log", "bytes").level(Meaning::OwnLagBytes, "not yet executed"),
        ];
        let note = match is_known {
            true => {
                "What it has not even received counts, as far as samples of both servers show it: less than what \
                 happens between two samples may not be seen."
            }
            false => "As the server says itself: whether it has received everything, it does not know.",
        };
        Self::new(grid, "Behind the server that it follows", note, panels)
    }

    /// CPU of the load's machine, from `host.csv`.
    #[must_use]
    pub fn cpu(grid: Grid) -> Self {
        let panels = [
            Panel::new("cpu", "CPU by kind", "%")
                .stacked()
                .line(Meaning::CpuUserShare, "user", Kind::Level, 100.0)
                .line(Meaning::CpuSystemShare, "system", Kind::Level, 100.0)
                .line(Meaning::CpuIowaitShare, "waiting for storage", Kind::Level, 100.0)
                .line(Meaning::CpuStealShare, "stolen", Kind::Level, 100.0),
            Panel::new("cores", "CPU by process group", "cores")
                .stacked()
                .growing(Meaning::ServerCpuS, "server")
                .growing(Meaning::DynoCpuS, "dyno")
                .growing(Meaning::OtherCpuS, "others"),
            // Microseconds per second.
            Panel::new("pressure", "Time in which some tasks had to wait", "%")
                .line(Meaning::CpuPressureUs, "for a CPU", Kind::Growth, 1e-4)
                .line(Meaning::IoPressureUs, "for storage", Kind::Growth, 1e-4)
                .line(Meaning::MemoryPressureUs, "for memory", Kind::Growth, 1e-4),
        ];
        let note = "This is the machine that made the load; it includes the server if that ran there.";
        Self::new(grid, "CPU of the load's machine", note, panels)
    }

    /// Storage, network and memory of the load's machine, from `host.csv`.
    #[must_use]
    pub fn storage(grid: Grid) -> Self {
        let panels = [
            Panel::new("storage", "Storage", "bytes/s")
                .growing(Meaning::DiskReadBytes, "read")
                .growing(Meaning::DiskWrittenBytes, "written"),
            Panel::new("busy", "Busiest disk", "%").line(Meaning::DiskBusyShare, "busy", Kind::Level, 100.0),
            Panel::new("network", "Network", "bytes/s")
                .growing(Meaning::NetReceivedBytes, "received")
                .growing(Meaning::NetSentBytes, "sent"),
            Panel::new("memory", "Memory", "bytes")
                .level(Meaning::MemoryAvailableBytes, "available")
                .level(Meaning::MemoryDirtyBytes, "not yet written"),
        ];
        Self::new(grid, "Storage, network and memory of the load's machine", "", panels)
    }

    fn new<const N: usize>(grid: Grid, title: &str, note: &str, panels: [Panel; N]) -> Self {
        let mut panels = Vec::from(panels);
        for line in panels.iter_mut().flat_map(|panel| &mut panel.lines) {
            line.steps = Steps::of_samples(grid);
        }
        Self {
            grid,
            title: title.to_owned(),
            note: note.to_owned(),
            panels,
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
            title: panel.title.clone(),
            unit: panel.unit.clone(),
            stacked: panel.stacked,
            series: lines.iter().map(|line| line.steps.series(line.name.as_str())).collect(),
            ..Lane::default()
        });
        let lanes: Vec<Lane> = lanes.collect();
        let words = known.iter().filter_map(|(panel, lines)| {
            let means = lines.iter().filter_map(|line| {
                let mean = line.steps.mean()?;
                Some(format!("{} {}", line.name, amount(mean, &panel.unit)))
            });
            let means: Vec<String> = means.collect();
            (!means.is_empty()).then(|| format!("{}: {}", panel.title, means.join(", ")))
        });
        let words: Vec<String> = words.collect();
        let caption = match words.as_slice() {
            // The run ended in its warm-up.
            [] => self.note.clone(),
            _ => format!("Means over the measured time. {}. {}", words.join("; "), self.note),
        };
        let names: Vec<(String, &str, &Steps)> = known
            .iter()
            .flat_map(|(panel, lines)| {
                lines.iter().map(|line| {
                    (
                        format!("{}: {}", panel.title, line.name),
                        panel.unit.as_str(),
                        &line.steps,
                    )
                })
            })
            .collect();
        let columns = names
            .iter()
            .map(|(name, unit, steps)| (name.as_str(), *unit, *steps, Cells::Mean));
        let table = time_table(self.grid.row_s(), columns);
        (!lanes.is_empty()).then(|| Figure {
            id: id.to_owned(),
            title: self.title.clone(),
            caption: caption.trim_end().to_owned(),
            data: FigureData::Timeline(annotations.timeline(lanes)),
            table: Some(table),
        })
    }
}

impl Panel {
    /// A panel without lines.
    fn new(id: &'static str, title: &str, unit: &str) -> Self {
        Self {
            id,
            title: title.to_owned(),
            unit: unit.to_owned(),
            stacked: false,
            lines: Vec::new(),
        }
    }

    /// Its lines add up.
    fn stacked(mut self) -> Self {
        self.stacked = true;
        self
    }

    /// With a line of values as they are.
    fn level(self, meaning: Meaning, name: &str) -> Self {
        self.line(meaning, name, Kind::Level, 1.0)
    }

    /// With a line of growth per second.
    fn growing(self, meaning: Meaning, name: &str) -> Self {
        self.line(meaning, name, Kind::Growth, 1.0)
    }

    /// With a line of values times `factor`.
    fn line(mut self, meaning: Meaning, name: &str, kind: Kind, factor: f64) -> Self {
        self.lines.push(Line {
            meaning,
            name: name.to_owned(),
            kind,
            factor,
            last: None,
            steps: Steps::default(),
        });
        self
    }
}

/// With a capital letter at the beginning.
pub(super) fn capitalised(words: &str) -> String {
    let mut letters = words.chars();
    let first = letters.next().map(|first| first.to_uppercase().to_string());
    first.unwrap_or_default() + letters.as_str()
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
        let words = dyno_archive::earlier::traits(&serde_json::Value::Null).words;
        let mut wal = Counters::log(Grid::new(1.0, 10.0), &words);
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
