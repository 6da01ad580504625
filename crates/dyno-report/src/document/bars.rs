//! Measures of cells beside each other, where the levels are names.

use super::layout::Facet;
use super::measures::Measure;
use super::model::{BarSeries, Bars, Figure, FigureData};
use crate::campaign::cells::Cell;
use crate::figures::{Greatest, one_line, rounded};

/// The figure of `measures`, which have the same unit, by the levels of the axis of `facet`: a bar for each of its
/// lines, or of several measures of one line a bar for each. `None` of nothing.
pub(super) fn figure(id: &str, facet: &Facet, measures: &[&Measure], reach: Option<[f64; 2]>) -> Option<Figure> {
    let first = measures.first()?;
    let axis = &facet.axis;
    let of = if facet.name.is_empty() {
        String::new()
    } else {
        format!(", {}", facet.name)
    };
    let series: Vec<BarSeries> = facet
        .lines
        .iter()
        .flat_map(|(name, cells)| measures.iter().map(move |measure| (name.as_str(), cells, measure)))
        .map(|(line, cells, measure)| {
            let name = if measures.len() > 1 { &measure.name } else { line };
            bars(facet, name, cells, measure)
        })
        .collect();
    let title = Measure::title_of(measures);
    Some(Figure {
        id: id.to_owned(),
        title: format!("{title} by {}{of}", axis.name),
        caption: caption(facet, measures, &series),
        table: Some(super::cell_table::points(facet, measures)),
        data: FigureData::Bars(Bars {
            title,
            unit: first.unit.to_owned(),
            reach,
            asked: asked(facet, first),
            categories: axis.levels.iter().map(|level| one_line(level)).collect(),
            series,
        }),
    })
}

/// What schedules asked for, if that is the same in all cells.
fn asked(facet: &Facet, measure: &Measure) -> Option<f64> {
    let mut asked = facet
        .lines
        .iter()
        .flat_map(|(_, cells)| cells)
        .map(|(_, cell)| measure.asked(cell));
    let first = asked.next()??;
    asked.all(|other| other == Some(first)).then(|| rounded(first))
}

/// Which bar is the highest, if that is known.
fn caption(facet: &Facet, measures: &[&Measure], series: &[BarSeries]) -> String {
    let Some(measure) = measures.first() else {
        return String::new();
    };
    let cells = facet.lines.iter().flat_map(|(_, cells)| cells).map(|(_, cell)| *cell);
    let cells: Vec<&Cell> = cells.collect();
    let is_known = measures.iter().all(|measure| measure.is_highest_known(&cells));
    let values = series
        .iter()
        .flat_map(|bars| facet.axis.levels.iter().zip(&bars.values).map(move |of| (bars, of)));
    let known = values.filter_map(|(bars, (level, value))| Some(((bars, level), (*value)?)));
    let (known, values): (Vec<_>, Vec<f64>) = known.unzip();
    let greatest = Greatest::of(&values).filter(|_| is_known);
    let caption = greatest.map_or_else(String::new, |greatest| {
        let (bars, level) = known[greatest.place];
        let bar = if bars.name.is_empty() {
            String::new()
        } else {
            format!(", {}", bars.name)
        };
        let (value, axis) = (measure.words(values[greatest.place]), &facet.axis.name);
        let more = greatest.and_more("bar");
        format!("Highest: {value} with {axis} = {}{bar}{more}.", one_line(level))
    });
    let whiskers = if series.iter().any(|bars| !bars.low.is_empty()) {
        " Whiskers: lowest and highest run."
    } else {
        ""
    };
    format!("{caption}{whiskers}").trim_start().to_owned()
}

fn bars(facet: &Facet, name: &str, cells: &[(&str, &Cell)], measure: &Measure) -> BarSeries {
    let cell = |level: &String| cells.iter().find(|(other, _)| other == level).map(|(_, cell)| *cell);
    let of = |value: &dyn Fn(&Cell) -> Option<f64>| {
        facet
            .axis
            .levels
            .iter()
            .map(|level| cell(level).and_then(value).map(rounded))
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
