// The report document, see crates/dyno-report/src/document/model.rs. This file is written from it; after a change there:
// UPDATE=1 cargo test -p dyno-report bindings

/**
 * A report.
 */
export type Document = {
/**
 * What it answers, in one sentence, or why it does not; `null` if it compares nothing.
 */
answer: string | null,
/**
 * [`FORMAT`].
 */
format: number,
/**
 * The dyno that made it.
 */
dyno_version: string,
/**
 * When it was made: RFC 3339, UTC.
 */
created: string,
/**
 * What it is about, for example the experiment's title.
 */
title: string,
/**
 * What the experiment asks.
 */
question: string | null,
/**
 * The results in a few sentences, the most important first.
 */
headlines: Array<Headline>,
/**
 * What to keep in mind when reading the figures, the gravest first.
 */
warnings: Array<Caution>,
/**
 * The chapters, those that answer first: see [`Part`].
 */
sections: Array<Section>,
/**
 * What each figure means.
 */
definitions: Array<Definition>, };

/**
 * How much a reader wants to know. A screenful has what is brief; a page has everything.
 */
export type Detail = "brief" | "full";

/**
 * A result.
 */
export type Headline = {
/**
 * What it is of, for example a workload or a cell; empty if it is of everything.
 */
subject: string,
/**
 * The figure with its unit, for example "12,346 TPS".
 */
figure: string,
/**
 * The interval of the figure in words, for example "12,100 to 12,590 at 95 % confidence"; empty if there is none.
 */
interval: string,
/**
 * What may be concluded, as a sentence.
 */
verdict: string, };

/**
 * A warning.
 */
export type Caution = {
/**
 * The runs it is about, for example "001-rep1" or "all 12 runs".
 */
subject: string,
/**
 * What is the matter, and what to do about it.
 */
text: string,
/**
 * Who wants to know it; what a section says as well is for full reports.
 */
detail: Detail,
/**
 * How much it matters.
 */
gravity: Gravity, };

/**
 * How much a warning matters to whoever reads the figures, the gravest first.
 */
export type Gravity = "void" | "biased" | "uncertain" | "note";

/**
 * A word that is used, and what it means.
 */
export type Definition = {
/**
 * The word.
 */
term: string,
/**
 * Its meaning, with the unit.
 */
meaning: string, };

/**
 * A chapter.
 */
export type Section = {
/**
 * Unique in the document; letters, digits and `-`.
 */
id: string,
/**
 * Its heading.
 */
title: string,
/**
 * Whether it is folded up on a screen until somebody asks for it. It is always there in print.
 */
folded: boolean,
/**
 * Who wants to know it.
 */
detail: Detail,
/**
 * What it is good for, by which chapters are ordered.
 */
part: Part,
/**
 * What to keep in mind of this chapter; the report's list of warnings has it as well.
 */
cautions: Array<string>,
/**
 * Its content, in order.
 */
blocks: Array<Block>,
/**
 * Chapters within it.
 */
sections: Array<Section>, };

/**
 * What a chapter is good for. A report has its chapters in this order, with the list of warnings before
 * [`Part::Setup`].
 */
export type Part = "answer" | "evidence" | "setup";

/**
 * A part of a chapter. All text is plain text.
 */
export type Block = { "block": "text",
/**
 * Its words.
 */
text: string, } | { "block": "list",
/**
 * One text each.
 */
items: Array<string>, } | { "block": "code",
/**
 * What it is.
 */
caption: string,
/**
 * Its lines.
 */
text: string, } | { "block": "table" } & Table | { "block": "figure" } & Figure;

/**
 * Rows and columns.
 */
export type Table = {
/**
 * What it shows; may be empty.
 */
caption: string,
/**
 * The columns.
 */
columns: Array<Column>,
/**
 * The rows, each with as many values as there are columns.
 */
rows: Array<Array<Value>>, };

/**
 * A column of a table.
 */
export type Column = {
/**
 * Its heading.
 */
name: string,
/**
 * The unit of its numbers; empty for text and plain numbers.
 */
unit: string,
/**
 * Whether it holds numbers, which are aligned to the right.
 */
numeric: boolean,
/**
 * Whether it holds the ends of an interval around the column before; forms for people put them into its cells.
 */
interval: boolean,
/**
 * How many significant digits are shown, with zeros at the end; `null`: as many as others have.
 */
digits: number | null,
/**
 * Whether it holds changes in percent, which are written with their signs.
 */
change: boolean,
/**
 * The rows, from 0, whose value is the best of those that it is to be compared with.
 */
best: Array<number>,
/**
 * Those whose value is the worst of them.
 */
worst: Array<number>,
/**
 * Who wants to know it.
 */
detail: Detail, };

/**
 * A value of a table.
 */
export type Value = null | number | string;

/**
 * A chart.
 */
export type Figure = {
/**
 * Unique in the document; letters, digits and `-`.
 */
id: string,
/**
 * What it shows, naming its subject: "Throughput of update, 8 clients".
 */
title: string,
/**
 * What is seen in it, as a sentence, also for those who cannot see it.
 */
caption: string,
/**
 * What is drawn.
 */
data: FigureData,
/**
 * The figures behind it, summed up where there are too many to read.
 */
table: Table | null, };

/**
 * What is drawn.
 */
export type FigureData = { "kind": "timeline" } & Timeline | { "kind": "heat_map" } & HeatMap | { "kind": "percentiles" } & Percentiles | { "kind": "sweep" } & Sweep | { "kind": "bars" } & Bars | { "kind": "matrix" } & Matrix;

/**
 * Lanes over one axis of time.
 */
export type Timeline = {
/**
 * Figures of one group show the same stretch of time: zooming one zooms all. The name of the run.
 */
group: string,
/**
 * Where the axis begins, in seconds since the load began.
 */
start_s: number,
/**
 * Where it ends.
 */
end_s: number,
/**
 * The lanes, from top to bottom.
 */
lanes: Array<Lane>,
/**
 * Stretches of time that are shaded: warm-up, dips, stages.
 */
spans: Array<Span>,
/**
 * What happened: checkpoints, autovacuums, errors. Drawn in a lane of their own with a row per kind.
 */
marks: Array<Mark>,
/**
 * The names that have the same colours and dashes in all figures of the document, in their order; empty: those
 * of the lanes themselves.
 */
names: Array<string>, };

/**
 * A panel of a timeline.
 */
export type Lane = {
/**
 * Unique in the figure; letters, digits and `-`.
 */
id: string,
/**
 * What is on its axis, for example "Throughput".
 */
title: string,
/**
 * The unit of its axis, for example "TPS", "µs", "bytes/s", "cores", "sessions", "%".
 */
unit: string,
/**
 * Whether its axis is logarithmic.
 */
log: boolean,
/**
 * Whether its series are stacked.
 */
stacked: boolean,
/**
 * The least and the greatest value of all lanes that are to be compared with this one, so that their axes are
 * the same; `null` if there is no other.
 */
reach: [number, number] | null,
/**
 * Its lines.
 */
series: Array<Series>, };

/**
 * Values at equal steps of time.
 */
export type Series = {
/**
 * What it is called in the legend; unique in its lane.
 */
name: string,
/**
 * What it tells.
 */
role: Role,
/**
 * Where the first step begins, in seconds since the load began; before it, if only a part of the first step is of
 * the run.
 */
first_s: number,
/**
 * How long a step is, in seconds.
 */
step_s: number,
/**
 * The mean of each step; `null` where nothing was measured.
 */
mean: Array<number | null>,
/**
 * The least value in each step; empty where a step is a single value.
 */
min: Array<number | null>,
/**
 * The greatest value in each step; empty where a step is a single value.
 */
max: Array<number | null>, };

/**
 * What a series tells, and so how it is drawn.
 */
export type Role = "course" | "knowledge" | "level";

/**
 * A stretch of time.
 */
export type Span = {
/**
 * What it is.
 */
kind: SpanKind,
/**
 * When it begins, in seconds since the load began.
 */
start_s: number,
/**
 * When it ends.
 */
end_s: number,
/**
 * What to write beside it, for example the cause of a dip.
 */
label: string,
/**
 * Where there is no room for all labels, those of the greatest weight are written: the depth of a dip in
 * percent, 100 of all else.
 */
weight: number, };

/**
 * Why a stretch of time is shaded.
 */
export type SpanKind = "warmup" | "stage" | "dip";

/**
 * Something that happened.
 */
export type Mark = {
/**
 * What it is.
 */
kind: MarkKind,
/**
 * When it began, in seconds since the load began.
 */
start_s: number,
/**
 * When it ended; `null` if it has no length.
 */
end_s: number | null,
/**
 * Details, for example "checkpoint by time: write 26.9 s, sync 0.1 s".
 */
label: string, };

/**
 * Kinds of what happens.
 */
export type MarkKind = "timed_checkpoint" | "requested_checkpoint" | "vacuum" | "blocked" | "stalled" | "errors" | "note";

/**
 * Transactions by time and latency.
 */
export type HeatMap = {
/**
 * See [`Timeline::group`].
 */
group: string,
/**
 * Where the axis begins, in seconds since the load began.
 */
start_s: number,
/**
 * Where it ends; the last column may end later.
 */
end_s: number,
/**
 * Where the first column begins, in seconds since the load began; before it, if only a part of the first column is
 * of the run.
 */
first_s: number,
/**
 * How long a column is, in seconds.
 */
step_s: number,
/**
 * The limits of the rows in microseconds, ascending: one more than there are rows.
 */
bounds_us: Array<number>,
/**
 * Transactions per second of the time in the run, column by column: of each column the rows from the fastest on.
 */
counts: Array<Array<number>>, };

/**
 * Distributions of latency.
 */
export type Percentiles = {
/**
 * The least and the greatest value of all panels that are to be compared with this one, so that their axes are
 * the same; `null` if there is no other.
 */
reach: [number, number] | null,
/**
 * See [`Timeline::names`].
 */
names: Array<string>,
/**
 * The curves.
 */
curves: Array<Curve>, };

/**
 * A distribution of latency.
 */
export type Curve = {
/**
 * Whose it is.
 */
name: string,
/**
 * Whether it is what the others are compared with.
 */
baseline: boolean,
/**
 * Percentiles, ascending, below 100: 99.9 means that 99.9 % of the transactions took at most that long.
 */
percentile: Array<number>,
/**
 * The latency of each in microseconds.
 */
latency_us: Array<number>, };

/**
 * Values over a factor.
 */
export type Sweep = {
/**
 * The factor.
 */
factor: string,
/**
 * Whether the axis of the factor is logarithmic.
 */
log: boolean,
/**
 * What is measured, from top to bottom: one panel each, for example TPS and p99.
 */
panels: Array<SweepPanel>, };

/**
 * One measure over a factor.
 */
export type SweepPanel = {
/**
 * What is on its axis.
 */
title: string,
/**
 * The unit.
 */
unit: string,
/**
 * Whether its axis is logarithmic.
 */
log: boolean,
/**
 * The least and the greatest value of all panels that are to be compared with this one, so that their axes are
 * the same; `null` if there is no other.
 */
reach: [number, number] | null,
/**
 * The lines, for example one per system.
 */
lines: Array<SweepLine>, };

/**
 * A line of a sweep.
 */
export type SweepLine = {
/**
 * What it is called in the legend.
 */
name: string,
/**
 * Its points by ascending level.
 */
points: Array<SweepPoint>,
/**
 * The level of the knee, if there is one.
 */
knee: number | null, };

/**
 * A point of a sweep.
 */
export type SweepPoint = {
/**
 * The level of the factor.
 */
level: number,
/**
 * The value.
 */
value: number,
/**
 * The lower end of its interval, or the least of its runs.
 */
low: number | null,
/**
 * The upper end of its interval, or the greatest of its runs.
 */
high: number | null, };

/**
 * Values beside each other.
 */
export type Bars = {
/**
 * What is on the axis of values.
 */
title: string,
/**
 * Its unit.
 */
unit: string,
/**
 * The least and the greatest value of all panels that are to be compared with this one, so that their axes are
 * the same; `null` if there is no other.
 */
reach: [number, number] | null,
/**
 * What schedules asked for, if that is the same in all groups: no bar can be much higher.
 */
asked: number | null,
/**
 * What each group of bars is of.
 */
categories: Array<string>,
/**
 * One bar in each group.
 */
series: Array<BarSeries>, };

/**
 * A bar in each group.
 */
export type BarSeries = {
/**
 * What it is called in the legend.
 */
name: string,
/**
 * One per category; `null` where nothing was measured.
 */
values: Array<number | null>,
/**
 * Lower ends of intervals, or empty.
 */
low: Array<number | null>,
/**
 * Upper ends of intervals, or empty.
 */
high: Array<number | null>, };

/**
 * Two factors against each other.
 */
export type Matrix = {
/**
 * What the values are, for example "TPS, ratio to full_page_writes = on".
 */
title: string,
/**
 * The unit; empty for a ratio.
 */
unit: string,
/**
 * Whether values are ratios, which are shaded to both sides of 1.
 */
ratio: boolean,
/**
 * Whether ratios below 1 are the better ones, for each column; empty: for none.
 */
less_is_better: Array<boolean>,
/**
 * The factors of the rows.
 */
row_factor: string,
/**
 * The factors of the columns.
 */
column_factor: string,
/**
 * Their levels.
 */
rows: Array<string>,
/**
 * Their levels.
 */
columns: Array<string>,
/**
 * Row by row.
 */
cells: Array<Array<MatrixCell>>, };

/**
 * A cell of a matrix.
 */
export type MatrixCell = {
/**
 * The value; `null` where nothing was measured.
 */
value: number | null,
/**
 * Its interval in words; may be empty.
 */
interval: string,
/**
 * Whether it is not significant, and is greyed out.
 */
unproven: boolean,
/**
 * Whether it is what others are compared with, and has a frame.
 */
baseline: boolean, };
