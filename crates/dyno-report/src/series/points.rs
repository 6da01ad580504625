//! What a campaign has for a series: of each cell and workload the figures.

use crate::campaign::cells::{Cell, cells};
use crate::export::Made;
use dyno_analysis::summary::{over_runs, summary_of};
use dyno_archive::plan::{Levels, Resolved, Workload};
use dyno_archive::{Campaign, CampaignRecord, Run, RunState};
use serde::Serialize;

/// The factor whose levels are databases: columns, where other levels are rows.
const TARGET: &str = "target";

/// What was measured of a workload in a cell; absent figures are not known, or not one.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Figures {
    /// What to say instead of figures, such as `failed`; empty if there are complete runs.
    pub state: String,
    /// Complete runs.
    pub runs: usize,
    /// Transactions per second.
    pub tps: Option<f64>,
    /// Mean latency in microseconds.
    pub mean_us: Option<f64>,
    /// The 99th percentile of latency in microseconds.
    pub p99_us: Option<f64>,
    /// Tables and indexes after the load, in bytes.
    pub size_bytes: Option<f64>,
    /// How long it took to fill the tables, in seconds; absent if they were there.
    pub load_s: Option<f64>,
    /// Whether a schedule asked for these transactions: then their number says nothing of the database.
    pub scheduled: bool,
}

/// A row's cell before there is a row.
pub(super) struct Point {
    /// Levels beside the database.
    pub levels: Levels,
    /// All levels.
    pub cell: Levels,
    /// The workload if it is one of several; else empty.
    pub workload: String,
    pub target: String,
    pub size: String,
    pub rows: Option<u64>,
    pub clients: Option<u64>,
    pub figures: Figures,
}

/// All that a campaign measured or was to measure.
pub(super) fn points(campaign: &Campaign) -> Vec<Point> {
    let Ok(record) = &campaign.record else {
        return Vec::new();
    };
    let mut cells = cells(&[campaign]);
    // Runs are made in an order that was drawn; the page has that of the file.
    cells.sort_by_key(|cell| record.cells.iter().position(|planned| planned.levels == cell.levels));
    cells.iter().flat_map(|cell| of_cell(campaign, record, cell)).collect()
}

fn of_cell(campaign: &Campaign, record: &CampaignRecord, cell: &Cell) -> Vec<Point> {
    let planned = record.cells.iter().find(|planned| planned.levels == cell.levels);
    let planned = planned.map_or(&record.experiment, |planned| &planned.experiment);
    let mut names: Vec<&str> = cell.workloads.keys().map(String::as_str).collect();
    if names.is_empty() {
        names = planned
            .workloads
            .iter()
            .map(|workload| workload.name.as_str())
            .collect();
    }
    let of_cell = |run: &&Run| run.record.as_ref().is_ok_and(|record| record.cell == cell.levels);
    let runs: Vec<&Run> = campaign.runs.iter().filter(of_cell).collect();
    let several = names.len() > 1;
    let mut levels = cell.levels.clone();
    let target = levels.shift_remove(TARGET).unwrap_or_else(|| record.target.clone());
    let point = |name: &str| Point {
        levels: levels.clone(),
        cell: cell.levels.clone(),
        workload: if several { name.to_owned() } else { String::new() },
        target: target.clone(),
        size: planned.size.map_or_else(String::new, |size| size.to_string()),
        rows: rows_of(planned),
        clients: workload_of(planned, name).map(|workload| workload.clients as u64),
        figures: figures(cell, name, &runs),
    };
    names.into_iter().map(point).collect()
}

/// The rows that are filled into all tables; `None` if none is, or a script does.
fn rows_of(planned: &Resolved) -> Option<u64> {
    let fills = planned.data.fill.iter().map(|fill| fill.rows);
    let rows = fills.fold(0, u64::saturating_add);
    (rows > 0 && planned.data.prepare.is_none()).then_some(rows)
}

fn workload_of<'a>(planned: &'a Resolved, name: &str) -> Option<&'a Workload> {
    planned.workloads.iter().find(|workload| workload.name == name)
}

fn figures(cell: &Cell, name: &str, runs: &[&Run]) -> Figures {
    let Some(workload) = cell.workloads.get(name) else {
        return Figures {
            state: state(runs),
            ..Figures::default()
        };
    };
    let complete = runs.iter().filter(|run| run.state == RunState::Complete);
    let made: Vec<Made> = complete
        .filter_map(|run| Some(Made::of(run, &summary_of(run).ok()?, name)))
        .collect();
    let sum = |made: &Made| {
        let [_, (_, tables), _, (_, indexes)] = made.bytes;
        Some((tables? + indexes?) as f64)
    };
    let latency = workload.latency();
    Figures {
        state: String::new(),
        runs: cell.runs,
        tps: over_runs(&workload.tps),
        mean_us: latency.map(|latency| latency.mean_us),
        p99_us: latency.map(|latency| latency.p99_us),
        size_bytes: over_runs(&made.iter().filter_map(sum).collect::<Vec<_>>()),
        load_s: over_runs(&made.iter().filter_map(|made| made.load_s).collect::<Vec<_>>()),
        scheduled: workload.schedule.is_some(),
    }
}

/// What became of a cell that has no complete run.
fn state(runs: &[&Run]) -> String {
    runs.last()
        .map_or_else(|| "not measured".to_owned(), |run| run.state.to_string())
}
