//! What a report consists of, before it is HTML, Markdown or JSON.
//!
//! A document is made once from the archive and then written in any form, so all forms say the same. Figures are
//! data, not pictures: `web/` draws them, for the HTML report, the live page and SVG files alike. This is also the
//! documented schema of `dyno report --format json`, see `docs/report-format.md`; the types of `web/src/model.ts` are
//! generated from these.

use serde::{Deserialize, Serialize};

/// The version of this schema. Fields may be added within a version, never changed or taken away.
pub const FORMAT: u32 = 1;

/// How much a reader wants to know. A screenful has what is brief; a page has everything.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Detail {
    /// Every form says it.
    #[default]
    Brief,
    /// Short forms, such as the terminal's, leave it out.
    Full,
}

/// A report.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Document {
    /// What it answers, in one sentence, or why it does not; `null` if it compares nothing.
    #[serde(default)]
    pub answer: Option<String>,
    /// [`FORMAT`].
    pub format: u32,
    /// The dyno that made it.
    pub dyno_version: String,
    /// When it was made: RFC 3339, UTC.
    pub created: String,
    /// What it is about, for example the experiment's title.
    pub title: String,
    /// What the experiment asks.
    pub question: Option<String>,
    /// The results in a few sentences, the most important first.
    pub headlines: Vec<Headline>,
    /// What to keep in mind when reading the figures, the gravest first.
    pub warnings: Vec<Caution>,
    /// The chapters, those that answer first: see [`Part`].
    pub sections: Vec<Section>,
    /// What each figure means.
    pub definitions: Vec<Definition>,
}

/// A result.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Headline {
    /// What it is of, for example a workload or a cell; empty if it is of everything.
    pub subject: String,
    /// The figure with its unit, for example "12,346 TPS".
    pub figure: String,
    /// The interval of the figure in words, for example "12,100 to 12,590 at 95 % confidence"; empty if there is none.
    pub interval: String,
    /// What may be concluded, as a sentence.
    pub verdict: String,
}

/// A warning.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Caution {
    /// The runs it is about, for example "001-rep1" or "all 12 runs".
    pub subject: String,
    /// What is the matter, and what to do about it.
    pub text: String,
    /// Who wants to know it; what a section says as well is for full reports.
    #[serde(default)]
    pub detail: Detail,
    /// How much it matters.
    #[serde(default)]
    pub gravity: Gravity,
}

/// How much a warning matters to whoever reads the figures, the gravest first.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Gravity {
    /// Something else was measured than was meant, or not all of it.
    Void,
    /// Figures are off in one direction: something beside the server has a share in them.
    Biased,
    /// Figures are less certain than they look.
    Uncertain,
    /// It is good to know.
    #[default]
    Note,
}

/// A word that is used, and what it means.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Definition {
    /// The word.
    pub term: String,
    /// Its meaning, with the unit.
    pub meaning: String,
}

/// A chapter.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Section {
    /// Unique in the document; letters, digits and `-`.
    pub id: String,
    /// Its heading.
    pub title: String,
    /// Whether it is folded up on a screen until somebody asks for it. It is always there in print.
    pub folded: bool,
    /// Who wants to know it.
    #[serde(default)]
    pub detail: Detail,
    /// What it is good for, by which chapters are ordered.
    #[serde(default)]
    pub part: Part,
    /// What to keep in mind of this chapter; the report's list of warnings has it as well.
    #[serde(default)]
    pub cautions: Vec<String>,
    /// Its content, in order.
    pub blocks: Vec<Block>,
    /// Chapters within it.
    pub sections: Vec<Section>,
}

/// What a chapter is good for. A report has its chapters in this order, with the list of warnings before
/// [`Part::Setup`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Part {
    /// It shows what is answered: a picture, then the table.
    Answer,
    /// What the answer rests on: distributions, runs, servers.
    #[default]
    Evidence,
    /// How it was measured: data, settings, machines, plans.
    Setup,
}

/// A part of a chapter. All text is plain text.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "block", rename_all = "snake_case")]
#[allow(
    clippy::large_enum_variant,
    reason = "a report has some hundred, and most of what is large is figures"
)]
pub enum Block {
    /// A paragraph.
    Text {
        /// Its words.
        text: String,
    },
    /// Points of a list.
    List {
        /// One text each.
        items: Vec<String>,
    },
    /// What is to be shown as it stands: a script, a command.
    Code {
        /// What it is.
        caption: String,
        /// Its lines.
        text: String,
    },
    /// Rows and columns.
    Table(Table),
    /// A chart.
    Figure(Figure),
}

/// Rows and columns.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Table {
    /// What it shows; may be empty.
    pub caption: String,
    /// The columns.
    pub columns: Vec<Column>,
    /// The rows, each with as many values as there are columns.
    pub rows: Vec<Vec<Value>>,
}

/// A column of a table.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Column {
    /// Its heading.
    pub name: String,
    /// The unit of its numbers; empty for text and plain numbers.
    pub unit: String,
    /// Whether it holds numbers, which are aligned to the right.
    pub numeric: bool,
    /// Whether it holds the ends of an interval around the column before; forms for people put them into its cells.
    #[serde(default)]
    pub interval: bool,
    /// How many significant digits are shown, with zeros at the end; `null`: as many as others have.
    #[serde(default)]
    pub digits: Option<u8>,
    /// Whether it holds changes in percent, which are written with their signs.
    #[serde(default)]
    pub change: bool,
    /// The rows, from 0, whose value is the best of those that it is to be compared with.
    #[serde(default)]
    pub best: Vec<usize>,
    /// Those whose value is the worst of them.
    #[serde(default)]
    pub worst: Vec<usize>,
    /// Who wants to know it.
    #[serde(default)]
    pub detail: Detail,
}

/// A value of a table.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(untagged)]
pub enum Value {
    /// Nothing was measured.
    Nothing(()),
    /// A number in the column's unit.
    Number(f64),
    /// Any words.
    Text(String),
}

/// A chart.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Figure {
    /// Unique in the document; letters, digits and `-`.
    pub id: String,
    /// What it shows, naming its subject: "Throughput of update, 8 clients".
    pub title: String,
    /// What is seen in it, as a sentence, also for those who cannot see it.
    pub caption: String,
    /// What is drawn.
    pub data: FigureData,
    /// The figures behind it, summed up where there are too many to read.
    pub table: Option<Table>,
}

/// What is drawn.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum FigureData {
    /// Values over time.
    Timeline(Timeline),
    /// How many transactions took how long, over time.
    HeatMap(HeatMap),
    /// Latency over the share of transactions, on an axis of nines.
    Percentiles(Percentiles),
    /// Values over a factor with numbers as levels.
    Sweep(Sweep),
    /// Values beside each other.
    Bars(Bars),
    /// Two factors against each other.
    Matrix(Matrix),
}

/// Lanes over one axis of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Timeline {
    /// Figures of one group show the same stretch of time: zooming one zooms all. The name of the run.
    pub group: String,
    /// Where the axis begins, in seconds since the load began.
    pub start_s: f64,
    /// Where it ends.
    pub end_s: f64,
    /// The lanes, from top to bottom.
    pub lanes: Vec<Lane>,
    /// Stretches of time that are shaded: warm-up, dips, stages.
    pub spans: Vec<Span>,
    /// What happened: checkpoints, autovacuums, errors. Drawn in a lane of their own with a row per kind.
    pub marks: Vec<Mark>,
    /// The names that have the same colours and dashes in all figures of the document, in their order; empty: those
    /// of the lanes themselves.
    #[serde(default)]
    pub names: Vec<String>,
}

/// A panel of a timeline.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Lane {
    /// Unique in the figure; letters, digits and `-`.
    pub id: String,
    /// What is on its axis, for example "Throughput".
    pub title: String,
    /// The unit of its axis, for example "TPS", "µs", "bytes/s", "cores", "sessions", "%".
    pub unit: String,
    /// Whether its axis is logarithmic.
    pub log: bool,
    /// Whether its series are stacked.
    pub stacked: bool,
    /// The least and the greatest value of all lanes that are to be compared with this one, so that their axes are
    /// the same; `null` if there is no other.
    #[serde(default)]
    pub reach: Option<[f64; 2]>,
    /// Its lines.
    pub series: Vec<Series>,
}

/// Values at equal steps of time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Series {
    /// What it is called in the legend; unique in its lane.
    pub name: String,
    /// What it tells.
    #[serde(default)]
    pub role: Role,
    /// Where the first step begins, in seconds since the load began; before it, if only a part of the first step is of
    /// the run.
    pub first_s: f64,
    /// How long a step is, in seconds.
    pub step_s: f64,
    /// The mean of each step; `null` where nothing was measured.
    pub mean: Vec<Option<f64>>,
    /// The least value in each step; empty where a step is a single value.
    pub min: Vec<Option<f64>>,
    /// The greatest value in each step; empty where a step is a single value.
    pub max: Vec<Option<f64>>,
}

/// What a series tells, and so how it is drawn.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum Role {
    /// How something was at each time.
    #[default]
    Course,
    /// What was known at each time: its last value, with its range, is what it led to, and is written beside it.
    Knowledge,
    /// A level that others are judged by.
    Level,
}

/// A stretch of time.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Span {
    /// What it is.
    pub kind: SpanKind,
    /// When it begins, in seconds since the load began.
    pub start_s: f64,
    /// When it ends.
    pub end_s: f64,
    /// What to write beside it, for example the cause of a dip.
    pub label: String,
    /// Where there is no room for all labels, those of the greatest weight are written: the depth of a dip in
    /// percent, 100 of all else.
    pub weight: f64,
}

/// Why a stretch of time is shaded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum SpanKind {
    /// Before the measurement.
    Warmup,
    /// One stage of several.
    Stage,
    /// Low throughput.
    Dip,
}

/// Something that happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Mark {
    /// What it is.
    pub kind: MarkKind,
    /// When it began, in seconds since the load began.
    pub start_s: f64,
    /// When it ended; `null` if it has no length.
    pub end_s: Option<f64>,
    /// Details, for example "checkpoint by time: write 26.9 s, sync 0.1 s".
    pub label: String,
}

/// Kinds of what happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub enum MarkKind {
    /// A checkpoint by time.
    TimedCheckpoint,
    /// A checkpoint by the amount of WAL, or that somebody asked for.
    RequestedCheckpoint,
    /// An autovacuum or vacuum.
    Vacuum,
    /// Sessions that waited for a lock.
    Blocked,
    /// dyno or the server stood still.
    Stalled,
    /// Transactions failed.
    Errors,
    /// Anything else.
    Note,
}

/// Transactions by time and latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct HeatMap {
    /// See [`Timeline::group`].
    pub group: String,
    /// Where the axis begins, in seconds since the load began.
    pub start_s: f64,
    /// Where it ends; the last column may end later.
    pub end_s: f64,
    /// Where the first column begins, in seconds since the load began; before it, if only a part of the first column is
    /// of the run.
    pub first_s: f64,
    /// How long a column is, in seconds.
    pub step_s: f64,
    /// The limits of the rows in microseconds, ascending: one more than there are rows.
    pub bounds_us: Vec<f64>,
    /// Transactions per second of the time in the run, column by column: of each column the rows from the fastest on.
    pub counts: Vec<Vec<f64>>,
}

/// Distributions of latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Percentiles {
    /// The least and the greatest value of all panels that are to be compared with this one, so that their axes are
    /// the same; `null` if there is no other.
    #[serde(default)]
    pub reach: Option<[f64; 2]>,
    /// See [`Timeline::names`].
    #[serde(default)]
    pub names: Vec<String>,
    /// The curves.
    pub curves: Vec<Curve>,
}

/// A distribution of latency.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Curve {
    /// Whose it is.
    pub name: String,
    /// Whether it is what the others are compared with.
    pub baseline: bool,
    /// Percentiles, ascending, below 100: 99.9 means that 99.9 % of the transactions took at most that long.
    pub percentile: Vec<f64>,
    /// The latency of each in microseconds.
    pub latency_us: Vec<f64>,
}

/// Values over a factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Sweep {
    /// The factor.
    pub factor: String,
    /// Whether the axis of the factor is logarithmic.
    pub log: bool,
    /// What is measured, from top to bottom: one panel each, for example TPS and p99.
    pub panels: Vec<SweepPanel>,
}

/// One measure over a factor.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SweepPanel {
    /// What is on its axis.
    pub title: String,
    /// The unit.
    pub unit: String,
    /// Whether its axis is logarithmic.
    pub log: bool,
    /// The least and the greatest value of all panels that are to be compared with this one, so that their axes are
    /// the same; `null` if there is no other.
    #[serde(default)]
    pub reach: Option<[f64; 2]>,
    /// The lines, for example one per system.
    pub lines: Vec<SweepLine>,
}

/// A line of a sweep.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SweepLine {
    /// What it is called in the legend.
    pub name: String,
    /// Its points by ascending level.
    pub points: Vec<SweepPoint>,
    /// The level of the knee, if there is one.
    pub knee: Option<f64>,
}

/// A point of a sweep.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct SweepPoint {
    /// The level of the factor.
    pub level: f64,
    /// The value.
    pub value: f64,
    /// The lower end of its interval, or the least of its runs.
    pub low: Option<f64>,
    /// The upper end of its interval, or the greatest of its runs.
    pub high: Option<f64>,
}

/// Values beside each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Bars {
    /// What is on the axis of values.
    pub title: String,
    /// Its unit.
    pub unit: String,
    /// The least and the greatest value of all panels that are to be compared with this one, so that their axes are
    /// the same; `null` if there is no other.
    #[serde(default)]
    pub reach: Option<[f64; 2]>,
    /// What schedules asked for, if that is the same in all groups: no bar can be much higher.
    #[serde(default)]
    pub asked: Option<f64>,
    /// What each group of bars is of.
    pub categories: Vec<String>,
    /// One bar in each group.
    pub series: Vec<BarSeries>,
}

/// A bar in each group.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct BarSeries {
    /// What it is called in the legend.
    pub name: String,
    /// One per category; `null` where nothing was measured.
    pub values: Vec<Option<f64>>,
    /// Lower ends of intervals, or empty.
    pub low: Vec<Option<f64>>,
    /// Upper ends of intervals, or empty.
    pub high: Vec<Option<f64>>,
}

/// Two factors against each other.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct Matrix {
    /// What the values are, for example "TPS, ratio to full_page_writes = on".
    pub title: String,
    /// The unit; empty for a ratio.
    pub unit: String,
    /// Whether values are ratios, which are shaded to both sides of 1.
    pub ratio: bool,
    /// Whether ratios below 1 are the better ones, for each column; empty: for none.
    pub less_is_better: Vec<bool>,
    /// The factors of the rows.
    pub row_factor: String,
    /// The factors of the columns.
    pub column_factor: String,
    /// Their levels.
    pub rows: Vec<String>,
    /// Their levels.
    pub columns: Vec<String>,
    /// Row by row.
    pub cells: Vec<Vec<MatrixCell>>,
}

/// A cell of a matrix.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub struct MatrixCell {
    /// The value; `null` where nothing was measured.
    pub value: Option<f64>,
    /// Its interval in words; may be empty.
    pub interval: String,
    /// Whether it is not significant, and is greyed out.
    pub unproven: bool,
    /// Whether it is what others are compared with, and has a frame.
    pub baseline: bool,
}
