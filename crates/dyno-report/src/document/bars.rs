//! A measure of cells beside each other, where the levels are names.

use super::layout::Facet;
use super::measures::Measure;
use super::model::{BarSeries, Bars, Figure, FigureData};
use super::series::significant;
use crate::campaign::cells::Cell;
use crate::figures::{one_line, rate};

/// The figure of `measure` by the levels of the axis of `facet`.
pub(super) fn figure(id: &str, facet: &Facet, measure: &Measure) -> Figure {
    let axis = &facet.axis;
    let of = if facet.name.is_empty() {
        String::new()
    } else {
        format!(", {}", facet.name)
    };
    let series: Vec<BarSeries> = facet
        .lines
        .iter()
        .map(|(name, cells)| bars(facet, name, cells, measure))
        .collect();
    let values = series.iter().flat_map(|bars| {
        axis.levels
            .iter()
            .zip(&bars.values)
            .map(move |(level, value)| (bars, level, value))
    });
    let best = values
        .filter_map(|(bars, level, value)| Some((bars, level, (*value)?)))
        .max_by(|one, other| one.2.total_cmp(&other.2));
    let caption = best.map_or_else(String::new, |(bars, level, value)| {
        let line = if bars.name.is_empty() {
            String::new()
        } else {
            format!(", {}", bars.name)
        };
        let unit = if measure.unit.is_empty() {
            String::new()
        } else {
            format!(" {}", measure.unit)
        };
        format!(
            "Highest: {}{unit} with {} = {}{line}.",
            rate(value),
            axis.name,
            one_line(level)
        )
    });
    let whiskers = if series.iter().any(|bars| !bars.low.is_empty()) {
        " Whiskers reach from the least to the greatest run."
    } else {
        ""
    };
    Figure {
        id: id.to_owned(),
        title: format!("{} by {}{of}", measure.title, axis.name),
        caption: format!("{caption}{whiskers}").trim_start().to_owned(),
        table: Some(super::cell_table::points(facet, &[measure])),
        data: FigureData::Bars(Bars {
            title: measure.title.clone(),
            unit: measure.unit.to_owned(),
            categories: axis.levels.iter().map(|level| one_line(level)).collect(),
            series,
        }),
    }
}

fn bars(facet: &Facet, name: &str, cells: &[(&str, &Cell)], measure: &Measure) -> BarSeries {
    let cell = |level: &String| cells.iter().find(|(other, _)| other == level).map(|(_, cell)| *cell);
    let of = |value: &dyn Fn(&Cell) -> Option<f64>| {
        facet
            .axis
            .levels
            .iter()
            .map(|level| cell(level).and_then(value).map(significant))
            .collect::<Vec<_>>()
    };
    let ranges = cells.iter().any(|(_, cell)| measure.range(cell).is_some());
    let range = |end: fn((f64, f64)) -> f64| {
        if ranges {
            of(&|cell| measure.range(cell).map(end))
        } else {
            Vec::new()
        }
    };
    BarSeries {
        name: name.to_owned(),
        values: of(&|cell| measure.value(cell)),
        low: range(|(low, _)| low),
        high: range(|(_, high)| high),
    }
}
