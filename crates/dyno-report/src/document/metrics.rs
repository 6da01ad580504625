//! The metrics of an experiment over time, such as rows in and rows out of a second.

use super::annotations::Annotations;
use super::model::{Figure, FigureData, Lane};
use super::series::{Grid, Steps};
use super::table::{Cells, time_table};
use super::throughput::{Throughput, names};
use crate::figures::{one_line, rate};
use dyno_analysis::summary::metrics;
use dyno_archive::plan::Resolved;

/// Metrics that differ by more than this share no axis.
pub(super) const SAME_MAGNITUDE: f64 = 20.0;

/// The figure `id` of the metrics of `experiment` in a run. `None` if there are none.
pub(super) fn figure(
    id: &str,
    grid: Grid,
    experiment: &Resolved,
    throughput: &Throughput,
    annotations: &Annotations,
) -> Option<Figure> {
    let mut over_time: Vec<(String, Steps)> = Vec::new();
    for name in experiment.metrics.keys() {
        let mut steps = Steps::of_intervals(grid, grid.step());
        for (start_s, end_s, throughput) in throughput.steps() {
            if let Some(value) = metrics::at(experiment, name, &throughput) {
                steps.push(start_s, end_s, value);
            }
        }
        over_time.push((one_line(name), steps));
    }
    over_time.retain(|(_, steps)| !steps.is_empty());
    let means: Vec<f64> = over_time
        .iter()
        .filter_map(|(_, steps)| steps.mean())
        .filter(|mean| *mean > 0.0)
        .collect();
    let least = means.iter().copied().fold(f64::INFINITY, f64::min);
    let together = means.iter().all(|mean| *mean <= SAME_MAGNITUDE * least);
    let series: Vec<_> = over_time
        .iter()
        .map(|(name, steps)| steps.series(name.as_str()))
        .collect();
    let lane = |number: usize, title: &str, series| Lane {
        id: format!("metric-{number}"),
        title: title.to_owned(),
        series,
        ..Lane::default()
    };
    let lanes = match series.as_slice() {
        [] => return None,
        [_, _, ..] if together => vec![lane(1, "Metrics", series)],
        _ => series
            .into_iter()
            .enumerate()
            .map(|(number, series)| lane(number + 1, &series.name.clone(), vec![series]))
            .collect(),
    };
    let words = over_time
        .iter()
        .filter_map(|(name, steps)| Some(format!("{name} {}", rate(steps.mean()?))));
    let columns = over_time
        .iter()
        .map(|(name, steps)| (name.as_str(), "", steps, Cells::Range));
    Some(Figure {
        id: id.to_owned(),
        title: format!("{} over time", names(over_time.iter().map(|(name, _)| name))),
        caption: format!(
            "Means over the measured time: {}.",
            words.collect::<Vec<_>>().join(", ")
        ),
        table: Some(time_table(grid.row_s(), columns)),
        data: FigureData::Timeline(annotations.timeline(lanes)),
    })
}
