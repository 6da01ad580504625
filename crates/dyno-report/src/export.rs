//! Results as plain rows, for those who go on with other tools: one row per run and workload, or per interval.

use crate::campaign::latencies::{stages_of, takes_part};
use crate::figures::folder_name;
use dyno_analysis::summary::summary_of;
use dyno_archive::analysis::Analysis;
use dyno_archive::summary::{Completion, Pacing, StageSummary, StageWorkload, Summary, TableGrowth, WorkloadSummary};
use dyno_archive::{Campaign, PreparationStep, Run};
use indexmap::{IndexMap, IndexSet};
use serde_json::{Map, Value};

/// Rows with a value for each column.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Export {
    /// The columns in order, with a value's kind for each.
    pub columns: IndexMap<String, ExportKind>,
    /// The rows; a column without a value is null.
    pub rows: Vec<Vec<Value>>,
}

/// What a column holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExportKind {
    /// Text.
    Text,
    /// Whole numbers.
    Integer,
    /// Numbers.
    Number,
    /// Truth values.
    Boolean,
    /// Instants.
    Time,
}

/// A row before the columns of all rows are known.
type Row = IndexMap<String, (ExportKind, Value)>;

impl Export {
    /// How many of the first columns tell a run from every other.
    pub const KEY: usize = 2;

    /// One row per run and workload, and where the load has several stages one for each that the workload took part
    /// in: latencies are of one load, so there the row of all stages has none. A run without figures has one row,
    /// which says why.
    #[must_use]
    pub fn of_runs(campaigns: &[Campaign]) -> Self {
        collect(campaigns, |run, about| {
            let Ok(summary) = summary_of(run) else {
                return vec![about.clone()];
            };
            if summary.workloads.is_empty() {
                return vec![about.clone()];
            }
            summary
                .workloads
                .iter()
                .flat_map(|workload| {
                    let whole = with_figures(about.clone(), run, &summary, workload);
                    let stages = stages_of(&summary, &workload.name);
                    let stages = stages.filter(|(stage, _)| takes_part(run, workload, stage));
                    let stages = stages.map(|(stage, figures)| of_stage(about.clone(), workload, stage, figures));
                    std::iter::once(whole).chain(stages).collect::<Vec<_>>()
                })
                .collect()
        })
    }

    /// One row per interval and workload of each run.
    #[must_use]
    pub fn of_intervals(campaigns: &[Campaign]) -> Self {
        collect(campaigns, |run, about| {
            let rows = run.intervals().into_iter().flatten();
            let rows = rows.filter_map(|row| serde_json::to_value(row).ok());
            rows.filter_map(|row| {
                let Value::Object(figures) = row else { return None };
                let mut row = about.clone();
                for (name, value) in figures {
                    let kind = match name.as_str() {
                        "phase" | "workload" => ExportKind::Text,
                        "time" => ExportKind::Time,
                        "transactions" | "statements" | "errors" | "retries" | "skipped" | "retried" | "late" => {
                            ExportKind::Integer
                        }
                        _ => ExportKind::Number,
                    };
                    row.insert(name, (kind, value));
                }
                Some(row)
            })
            .collect()
        })
    }

    /// As CSV with a line of names.
    ///
    /// # Errors
    ///
    /// Into memory there are none but of the machine itself.
    pub fn to_csv(&self) -> Result<Vec<u8>, csv::Error> {
        let mut writer = csv::Writer::from_writer(Vec::new());
        writer.write_record(self.columns.keys())?;
        for row in &self.rows {
            writer.write_record(row.iter().map(|value| text(value).unwrap_or_default()))?;
        }
        writer
            .into_inner()
            .map_err(|error| csv::Error::from(error.into_error()))
    }

    /// As a JSON array with an object per row.
    #[must_use]
    pub fn to_json(&self) -> Value {
        let object = |row: &Vec<Value>| {
            let fields = self.columns.keys().cloned().zip(row.iter().cloned());
            Value::Object(fields.collect::<Map<_, _>>())
        };
        Value::Array(self.rows.iter().map(object).collect())
    }

    /// Each value as text; `None` where there is none.
    #[must_use]
    pub fn texts(&self) -> Vec<Vec<Option<String>>> {
        self.rows.iter().map(|row| row.iter().map(text).collect()).collect()
    }
}

fn text(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

/// The rows of all runs, with all columns that any of them has.
fn collect(campaigns: &[Campaign], rows_of: impl Fn(&Run, &Row) -> Vec<Row>) -> Export {
    let mut rows: Vec<Row> = Vec::new();
    for campaign in campaigns {
        for run in &campaign.runs {
            rows.extend(rows_of(run, &about(campaign, run)));
        }
    }
    // Factors differ from campaign to campaign: they stand together, before the figures.
    let names: IndexSet<&String> = rows.iter().flat_map(|row| row.keys()).collect();
    let (about, figures): (Vec<&String>, Vec<&String>) = names.into_iter().partition(|name| is_about(name));
    let names: Vec<&String> = about.into_iter().chain(figures).collect();
    let kind = |name: &String| {
        rows.iter()
            .find_map(|row| row.get(name))
            .map_or(ExportKind::Text, |(kind, _)| *kind)
    };
    Export {
        columns: names.iter().map(|name| ((*name).clone(), kind(name))).collect(),
        rows: rows
            .iter()
            .map(|row| {
                names
                    .iter()
                    .map(|name| row.get(*name).map_or(Value::Null, |(_, value)| value.clone()))
                    .collect()
            })
            .collect(),
    }
}

/// What precedes the name of a factor among the columns, so that it is never taken for a figure.
const FACTOR: &str = "factor_";

/// What is said of a run before its figures.
const ABOUT: [&str; 10] = [
    "campaign",
    "run",
    "experiment",
    "size",
    "started",
    "state",
    "number",
    "repetition",
    "target",
    "server_version",
];

fn is_about(name: &str) -> bool {
    name.starts_with(FACTOR) || ABOUT.contains(&name)
}

fn about(campaign: &Campaign, run: &Run) -> Row {
    let mut row = Row::new();
    let mut put = |name: &str, kind, value: Value| row.insert(name.to_owned(), (kind, value));
    put("campaign", ExportKind::Text, folder_name(&campaign.name()).into());
    put("run", ExportKind::Text, folder_name(&run.name()).into());
    let plan = campaign.record.as_ref().ok();
    put(
        "experiment",
        ExportKind::Text,
        plan.map(|plan| plan.experiment.name.clone()).into(),
    );
    put(
        "size",
        ExportKind::Text,
        plan.and_then(|plan| plan.experiment.size)
            .map(|size| size.to_string())
            .into(),
    );
    let record = run.record.as_ref().ok();
    let started = record
        .and_then(|record| record.load_started)
        .map(|started| started.to_string());
    put("started", ExportKind::Time, started.into());
    put("state", ExportKind::Text, run.state.to_string().into());
    put("number", ExportKind::Integer, record.map(|record| record.number).into());
    put(
        "repetition",
        ExportKind::Integer,
        record.map(|record| record.repetition).into(),
    );
    put(
        "target",
        ExportKind::Text,
        record.map(|record| record.target.clone()).into(),
    );
    let version = record
        .and_then(|record| record.server.get("version")?.as_str())
        .map(str::to_owned);
    put("server_version", ExportKind::Text, version.into());
    for (factor, level) in record.iter().flat_map(|record| &record.cell) {
        put(&format!("{FACTOR}{factor}"), ExportKind::Text, level.clone().into());
    }
    put(
        "failure",
        ExportKind::Text,
        record.and_then(|record| record.failure.clone()).into(),
    );
    row
}

fn with_figures(mut row: Row, run: &Run, summary: &Summary, workload: &WorkloadSummary) -> Row {
    use ExportKind::{Boolean, Integer, Number, Text};
    let mut put = |name: &str, kind, value: Value| row.insert(name.to_owned(), (kind, value));
    put("workload", Text, workload.name.clone().into());
    if !summary.stages.is_empty() {
        put("stage", Text, Value::Null);
    }
    put("clients", Integer, workload.clients.into());
    put("threads", Integer, workload.threads.into());
    let rate_per_s = match workload.pacing {
        // A rate that differs from stage to stage is no single number.
        Pacing::Closed | Pacing::Staged { .. } => None,
        Pacing::Open { rate_per_s } => Some(rate_per_s),
    };
    put("rate_per_s", Number, rate_per_s.into());
    put("measured_s", Number, summary.measured_s.into());
    let counts = [
        ("transactions", workload.transactions),
        ("statements", workload.statements),
        ("errors", workload.errors),
        ("unfinished", workload.unfinished),
        ("skipped", workload.skipped),
        ("late", workload.late),
        ("retried", workload.retried),
        ("retries", workload.retries),
    ];
    counts
        .into_iter()
        .for_each(|(name, count)| drop(put(name, Integer, count.into())));
    let steadiness = workload.steadiness.as_ref();
    let latency = summary.latency_of(workload);
    let lag = workload.lag.as_ref();
    let figures = [
        ("tps", Some(workload.tps)),
        ("statements_per_s", Some(workload.statements_per_s)),
        ("tps_min", steadiness.map(|steadiness| steadiness.tps_min)),
        ("tps_max", steadiness.map(|steadiness| steadiness.tps_max)),
        (
            "tps_variation_percent",
            steadiness.and_then(|steadiness| steadiness.variation_percent),
        ),
        ("latency_mean_us", latency.map(|latency| latency.mean_us)),
        ("latency_stddev_us", latency.map(|latency| latency.stddev_us)),
        ("latency_min_us", latency.map(|latency| latency.min_us)),
        ("latency_p50_us", latency.map(|latency| latency.p50_us)),
        ("latency_p95_us", latency.map(|latency| latency.p95_us)),
        ("latency_p99_us", latency.map(|latency| latency.p99_us)),
        ("latency_p99_9_us", latency.map(|latency| latency.p99_9_us)),
        ("latency_max_us", latency.map(|latency| latency.max_us)),
        ("lag_mean_us", lag.map(|lag| lag.mean_us)),
        ("lag_max_us", lag.map(|lag| lag.max_us)),
        (
            "total_tps",
            Some(summary.workloads.iter().map(|workload| workload.tps).sum()),
        ),
    ];
    figures
        .into_iter()
        .for_each(|(name, figure)| drop(put(name, Number, figure.into())));
    let completion = workload.completion;
    if completion != Completion::default() {
        put("took_s", Number, completion.took_s.into());
        put("after_end", Integer, completion.after_end.into());
        put("longer_than_s", Number, completion.longer_than_s.into());
    }
    let analysis = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
    let record = run.record.as_ref().ok();
    let made = Made::of(run, summary, &workload.name);
    for (name, bytes) in made.bytes {
        put(name, Integer, bytes.into());
    }
    put("preparation_s", Number, made.preparation_s.into());
    put("load_s", Number, made.load_s.into());
    put("load_rows", Integer, made.load_rows.into());
    put("data_loaded_by", Text, made.loaded_by.into());
    let outputs = record.map_or(&[][..], |record| &record.outputs);
    let files: Vec<&str> = outputs.iter().filter_map(|output| output.file.as_deref()).collect();
    put("outputs", Text, (!files.is_empty()).then(|| files.join(", ")).into());
    put("steady", Boolean, analysis.map(|analysis| analysis.steady.found).into());
    put("dips", Integer, analysis.and_then(Analysis::dips_found).into());
    for (name, value) in &summary.metrics {
        put(&format!("metric_{name}"), Number, (*value).into());
    }
    row
}

/// What was made for a workload on its server: tables, and how long it took.
pub(crate) struct Made {
    /// The sizes of all tables together, and of their indexes; nothing if they are not known.
    pub bytes: [(&'static str, Option<u64>); 4],
    /// How long all steps took, nothing if none is known.
    pub preparation_s: Option<f64>,
    /// How long those took that filled tables; nothing if none was filled.
    pub load_s: Option<f64>,
    /// The rows that were filled in.
    pub load_rows: Option<u64>,
    /// The campaign that loaded the data, if it is an earlier one.
    pub loaded_by: Option<String>,
}

impl Made {
    /// That of the server which the workload `name` is on.
    pub(crate) fn of(run: &Run, summary: &Summary, name: &str) -> Self {
        let record = run.record.as_ref().ok();
        let facts = record.and_then(|record| record.workloads.iter().find(|facts| facts.name == name));
        let on = facts.and_then(|facts| facts.server.as_ref());
        let servers = on.map(|_| run.servers()).unwrap_or_default();
        let server = on.and_then(|on| servers.iter().find(|server| server.name == *on));
        let seen = server.and_then(|server| server.run.record.as_ref().ok());
        let (record, tables) = match seen {
            Some(seen) => (
                Some(seen),
                seen.summary.as_ref().map_or(&[][..], |summary| &summary.tables),
            ),
            None => (record, &*summary.tables),
        };
        let preparation = record.and_then(|record| record.preparation.as_ref());
        let steps = preparation.map(|preparation| preparation.steps.as_slice());
        let (preparation_s, load_s, load_rows) = steps.map_or((None, None, None), made_ready);
        Self {
            bytes: of_tables(tables),
            preparation_s,
            load_s,
            load_rows,
            loaded_by: preparation.and_then(|preparation| preparation.loaded_by.clone()),
        }
    }
}

/// How long all steps took, and those that filled tables, with their rows; nothing of what was not done.
fn made_ready(steps: &[PreparationStep]) -> (Option<f64>, Option<f64>, Option<u64>) {
    let loads = || steps.iter().filter(|step| step.table.is_some());
    let loaded = loads().next().is_some();
    let to_the_ms = |seconds: f64| (seconds * 1e3).round() / 1e3;
    (
        Some(to_the_ms(steps.iter().map(|step| step.seconds).sum())),
        loaded.then(|| to_the_ms(loads().map(|step| step.seconds).sum())),
        loaded.then(|| loads().filter_map(|step| step.rows).sum()),
    )
}

/// The sizes of all tables together, and of their indexes; nothing if they are not known.
fn of_tables(tables: &[TableGrowth]) -> [(&'static str, Option<u64>); 4] {
    let sum = |bytes: fn(&TableGrowth) -> u64| {
        let all = tables.iter().map(bytes).fold(0, u64::saturating_add);
        (!tables.is_empty()).then_some(all)
    };
    [
        ("tables_before_bytes", sum(|table| table.table_before_bytes)),
        ("tables_after_bytes", sum(|table| table.table_after_bytes)),
        ("indexes_before_bytes", sum(|table| table.indexes_before_bytes)),
        ("indexes_after_bytes", sum(|table| table.indexes_after_bytes)),
    ]
}

/// What `workload` did in a stage.
fn of_stage(mut row: Row, workload: &WorkloadSummary, stage: &StageSummary, figures: &StageWorkload) -> Row {
    let mut put = |name: &str, kind, value: Value| row.insert(name.to_owned(), (kind, value));
    put("workload", ExportKind::Text, workload.name.clone().into());
    put("stage", ExportKind::Text, stage.name.clone().into());
    let figures = [
        ("rate_per_s", figures.asked_per_s),
        // To the microsecond, as of the whole run: a difference of decimal fractions is seldom one.
        ("measured_s", Some(((stage.end_s - stage.start_s) * 1e6).round() / 1e6)),
        ("tps", Some(figures.tps)),
        ("tps_variation_percent", figures.variation_percent),
        ("latency_p50_us", figures.p50_us),
        ("latency_p95_us", figures.p95_us),
        ("latency_p99_us", figures.p99_us),
    ];
    for (name, figure) in figures {
        put(name, ExportKind::Number, figure.into());
    }
    row
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fixture::write_archive;
    use dyno_archive::Archive;

    fn campaigns() -> (tempfile::TempDir, Vec<Campaign>) {
        let folder = tempfile::tempdir().unwrap();
        write_archive(folder.path());
        let campaigns = Archive::new(folder.path()).campaigns().unwrap();
        (folder, campaigns)
    }

    #[test]
    fn runs_as_csv_and_json_say_the_same() {
        let (_folder, campaigns) = campaigns();
        let export = Export::of_runs(&campaigns);
        assert_eq!(export.rows.len(), 3);
        assert_eq!(export.columns.get_index(0).unwrap().0, "campaign");
        let json = export.to_json();
        assert_eq!(json[0]["tps"], 12_345.6);
        assert_eq!(
            (json[0]["state"].as_str(), json[1]["state"].as_str()),
            (Some("complete"), Some("incomplete"))
        );
        let csv = export.to_csv().unwrap();
        let mut reader = csv::Reader::from_reader(csv.as_slice());
        let tps = reader.headers().unwrap().iter().position(|name| name == "tps").unwrap();
        let first = reader.records().next().unwrap().unwrap();
        assert_eq!(first.get(tps), Some("12345.6"));
    }

    #[test]
    fn each_stage_has_a_row_with_its_latencies() {
        let folder = tempfile::tempdir().unwrap();
        let campaign = crate::terminal::campaign_tests::campaign(folder.path(), "", |_| {
            crate::terminal::campaign_tests::Fate::Found(Box::new(crate::fixture::staged()))
        });
        let json = Export::of_runs(&[campaign]).to_json();
        let of = |name: &str| -> Vec<Value> { (0..3).map(|row| json[row][name].clone()).collect() };
        let null = || Value::Null;
        assert_eq!(of("stage"), [null(), "calm".into(), "storm".into()]);
        assert_eq!(
            of("latency_p99_us"),
            [null(), Value::from(900.0), Value::from(40_000.0)]
        );
        assert_eq!(of("tps"), [10_250.0, 500.0, 20_000.0].map(Value::from));
        assert_eq!(of("rate_per_s"), [null(), Value::from(500.0), Value::from(20_000.0)]);
        assert!(json[3].is_null());
    }

    #[test]
    fn every_column_is_documented() {
        let (_folder, mut campaigns) = campaigns();
        let folder = tempfile::tempdir().unwrap();
        campaigns.push(crate::terminal::campaign_tests::campaign(folder.path(), "", |_| {
            crate::terminal::campaign_tests::Fate::Found(Box::new(crate::fixture::staged()))
        }));
        let formats = include_str!("../../../docs/formats.md");
        let (before, exports) = formats.split_once("\n## dyno export\n").unwrap();
        let intervals = before.split_once("\n## intervals.csv\n").unwrap().1;
        let runs = Export::of_runs(&campaigns).columns;
        assert!(runs.len() > 40, "{runs:?}");
        let unknown = |name: &&String| !name.starts_with(FACTOR) && !name.starts_with("metric_");
        for name in runs.keys().filter(unknown) {
            assert!(exports.contains(&format!("`{name}`")), "{name}");
        }
        for name in Export::of_intervals(&campaigns).columns.keys().filter(unknown) {
            let column = format!("`{name}`");
            assert!(exports.contains(&column) || intervals.contains(&column), "{name}");
        }
    }

    #[test]
    fn intervals_have_a_row_each() {
        let (_folder, campaigns) = campaigns();
        let export = Export::of_intervals(&campaigns);
        // Only the run whose dyno was killed has recorded any.
        assert_eq!(export.rows.len(), 8);
        let json = export.to_json();
        assert_eq!(
            (json[0]["phase"].as_str(), json[7]["transactions"].as_u64()),
            (Some("warmup"), Some(1_000))
        );
        let time = |place: usize| {
            json[place]["time"]
                .as_str()
                .unwrap()
                .parse::<jiff::Timestamp>()
                .unwrap()
        };
        assert_eq!(time(7).duration_since(time(0)).as_secs(), 7);
        assert_eq!(export.columns["time"], ExportKind::Time);
    }
}
