//! The throughput of a run over time: a chart per workload, with what happened beneath.

use super::Screen;
use super::axis::Axis;
use super::chart::{Chart, Curve, Row, draw};
use crate::document::in_short;
use crate::figures::{counted, one_line};
use crate::table::Page;
use crate::terminal::headlines;
use dyno_analysis::summary::is_complete;
use dyno_archive::plan::WARMUP;
use dyno_archive::{EventKind, Run};
use indexmap::IndexMap;

/// A label of time with the room around it.
const LABEL_COLUMNS: usize = 13;

/// About as many ticks on the axis of throughput.
const TICKS: usize = 4;

/// Draws `run`; see [`super::run`].
pub(super) fn run(run: &Run, screen: Screen) -> Result<String, String> {
    let intervals = run.intervals().map_err(|error| error.to_string())?;
    let mut curves: IndexMap<String, Vec<(f64, f64)>> = IndexMap::new();
    let (mut warm_up, mut time) = (None, None);
    let interval_s = run.record.as_ref().map_or(0.0, |record| record.interval_s);
    let add = |times: &mut Option<(f64, f64)>, start_s: f64, end_s: f64| {
        *times = Some(times.map_or((start_s, end_s), |(first_s, _)| (first_s, end_s)));
    };
    for row in intervals {
        let end_s = row.interval_start_s + row.interval_s;
        add(&mut time, row.interval_start_s, end_s);
        if row.phase == WARMUP {
            add(&mut warm_up, row.interval_start_s, end_s);
        }
        if is_complete(row.interval_s, interval_s) {
            let middle_s = row.interval_start_s + row.interval_s / 2.0;
            curves.entry(row.workload).or_default().push((middle_s, row.tps));
        }
    }
    let Some((start_s, end_s)) = time.filter(|_| !curves.is_empty()) else {
        return Err(format!(
            "there is nothing to draw: {} has no complete interval",
            run.path.display()
        ));
    };
    let (results, analysis) = in_short(run);
    let charts: Vec<Chart> = curves
        .into_iter()
        .map(|(workload, points)| chart(run, &workload, points))
        .collect();
    let mut rows = vec![row("warm-up", warm_up.into_iter().collect())];
    rows.extend(happened(run));
    rows.push(row(
        "dips",
        analysis
            .iter()
            .flat_map(|analysis| &analysis.dips)
            .map(|dip| (dip.start_s, dip.end_s))
            .collect(),
    ));
    rows.retain(|row| !row.spans.is_empty());
    let x = |columns: usize| Axis::time(start_s.min(0.0), end_s, columns / LABEL_COLUMNS);
    let unit = |axis: &Axis| format!("time since the load began ({})", axis.time_unit());
    let mut text = format!("{} ({})\n\n", run.name(), run.state);
    text.push_str(&draw(&charts, x, unit, &rows, screen));
    text.push('\n');
    text.push_str(&headlines(&results, Page::new(screen.width)));
    Ok(text)
}

fn row(name: &str, spans: Vec<(f64, f64)>) -> Row {
    Row {
        name: name.to_owned(),
        spans,
        symbol: None,
    }
}

fn chart(run: &Run, workload: &str, points: Vec<(f64, f64)>) -> Chart {
    let facts = run
        .record
        .as_ref()
        .ok()
        .and_then(|record| record.workloads.iter().find(|facts| facts.name == workload));
    let clients = facts.map_or_else(String::new, |facts| {
        format!(", {}", counted(facts.clients as u64, "client"))
    });
    let most = points.iter().map(|(_, tps)| *tps).fold(0.0, f64::max);
    Chart {
        title: format!("TPS of {}{clients}", one_line(workload)),
        y: Axis::from_zero(most, TICKS),
        lines: vec![Curve { points, symbol: None }],
    }
}

/// Checkpoints and vacuums.
fn happened(run: &Run) -> [Row; 2] {
    let (mut checkpoints, mut vacuums) = (Vec::new(), Vec::new());
    for event in run.events().into_iter().flatten() {
        match event.kind {
            EventKind::Checkpoint(checkpoint) => {
                checkpoints.push((checkpoint.start_s, checkpoint.end_s.unwrap_or(f64::INFINITY)));
            }
            EventKind::Autovacuum(work) if !work.analyze => vacuums.push((work.start_s, work.end_s)),
            EventKind::Vacuum(work) => vacuums.push((work.start_s, work.end_s)),
            _ => {}
        }
    }
    [row("checkpoints", checkpoints), row("vacuums", vacuums)]
}
