//! Measures over a factor with numbers as levels.

use super::layout::{Facet, position};
use super::measures::Measure;
use super::model::{Figure, FigureData, Sweep, SweepLine, SweepPanel, SweepPoint};
use crate::campaign::cells::Cell;
use crate::campaign::is_load;
use crate::campaign::kept::rate_finding;
use crate::figures::{Greatest, rounded};

/// The figure of `measures` over the axis of `facet`, a panel each.
pub(super) fn figure(
    id: &str,
    facet: &Facet,
    measures: &[&Measure],
    reach: &dyn Fn(&Measure) -> Option<[f64; 2]>,
) -> Figure {
    let drawn: Vec<(&Measure, SweepPanel)> = measures
        .iter()
        .map(|measure| {
            let panel = SweepPanel {
                reach: reach(measure),
                ..panel(facet, measure)
            };
            (*measure, panel)
        })
        .filter(|(_, panel)| !panel.lines.is_empty())
        .collect();
    let told: Vec<(&Measure, &SweepPanel)> = drawn.iter().map(|(measure, panel)| (*measure, panel)).collect();
    let axis = &facet.axis;
    let levels = || axis.levels.iter().map(|level| position(level));
    let (least, greatest) = (levels().fold(f64::INFINITY, f64::min), levels().fold(0.0, f64::max));
    let title = Measure::title_of(measures);
    let of = if facet.name.is_empty() {
        String::new()
    } else {
        format!(", {}", facet.name)
    };
    Figure {
        id: id.to_owned(),
        title: format!("{title} over {}{of}", axis.name),
        caption: caption(facet, &told),
        table: Some(super::cell_table::points(facet, measures)),
        data: FigureData::Sweep(Sweep {
            factor: axis.name.clone(),
            log: least > 0.0 && greatest >= 20.0 * least,
            panels: with_asked(facet, drawn),
        }),
    }
}

/// The panels, with what schedules asked for drawn in; then a line without a name needs one.
fn with_asked(facet: &Facet, drawn: Vec<(&Measure, SweepPanel)>) -> Vec<SweepPanel> {
    let limits: Vec<Option<SweepLine>> = drawn.iter().map(|(measure, _)| asked(facet, measure)).collect();
    let any = limits.iter().any(Option::is_some);
    let panels = drawn.into_iter().zip(limits).map(|((_, mut panel), limit)| {
        let unnamed = panel.lines.iter_mut().filter(|line| any && line.name.is_empty());
        unnamed.for_each(|line| line.name = MEASURED.to_owned());
        panel.lines.extend(limit);
        panel
    });
    panels.collect()
}

/// What the line is called that is beside the one of what schedules ask for.
pub(super) const MEASURED: &str = "measured";

/// What schedules asked for at each level, which bounds what can be reached. `None` unless all lines had the same.
fn asked(facet: &Facet, measure: &Measure) -> Option<SweepLine> {
    let line = |cells: &[(&str, &Cell)]| -> Option<Vec<SweepPoint>> {
        let point = |(level, cell): &(&str, &Cell)| {
            Some(SweepPoint {
                level: position(level),
                value: rounded(measure.asked(cell)?),
                ..SweepPoint::default()
            })
        };
        cells.iter().map(point).collect()
    };
    let mut lines = facet.lines.iter().map(|(_, cells)| line(cells));
    let first = lines.next()??;
    lines.all(|line| line.as_ref() == Some(&first)).then(|| SweepLine {
        name: ASKED.to_owned(),
        points: first,
        knee: None,
    })
}

/// What the line of what schedules ask for is called.
pub(super) const ASKED: &str = "asked for";

fn panel(facet: &Facet, measure: &Measure) -> SweepPanel {
    let line = |(name, cells): &(String, Vec<(&str, &Cell)>)| {
        let points: Vec<SweepPoint> = cells
            .iter()
            .filter_map(|(level, cell)| {
                let range = measure.range(cell);
                Some(SweepPoint {
                    level: position(level),
                    value: rounded(measure.value(cell)?),
                    low: range.map(|(low, _)| rounded(low)),
                    high: range.map(|(_, high)| rounded(high)),
                })
            })
            .collect();
        let throughputs: Vec<f64> = points.iter().map(|point| point.value).collect();
        // More rows are not asked for to get more done; more clients are.
        let has_knee = is_load(&facet.axis.name) && measure.unit != "ms" && !facet.follows_schedules();
        let knee = dyno_stats::knee(&throughputs).filter(|_| has_knee);
        SweepLine {
            name: name.clone(),
            knee: knee.map(|knee| points[knee].level),
            points,
        }
    };
    SweepPanel {
        title: measure.title.clone(),
        unit: measure.unit.to_owned(),
        log: measure.log,
        lines: facet
            .lines
            .iter()
            .map(line)
            .filter(|line| !line.points.is_empty())
            .collect(),
        ..SweepPanel::default()
    }
}

/// Where each line is highest, if that is known, and where its knee is: of the first of different measures, and of each
/// of several workloads or metrics.
fn caption(facet: &Facet, measures: &[(&Measure, &SweepPanel)]) -> String {
    let Some((first, _)) = measures.first() else {
        return String::new();
    };
    let named = first.name != first.title;
    let told = if named { measures } else { &measures[..1] };
    let several = told.len() > 1;
    let name_of = |measure: &Measure, line: &SweepLine| {
        let of = several.then(|| measure.name.clone()).into_iter();
        let name: Vec<String> = of.chain((!line.name.is_empty()).then(|| line.name.clone())).collect();
        match name.is_empty() {
            true => String::new(),
            false => format!("{}: ", name.join(", ")),
        }
    };
    let (mut highest, mut knees) = (Vec::new(), Vec::new());
    for (measure, panel) in told {
        for line in &panel.lines {
            let name = name_of(measure, line);
            let values: Vec<f64> = line.points.iter().map(|point| point.value).collect();
            let greatest = Greatest::of(&values).filter(|_| is_highest_known(facet, measure, line));
            if let Some(greatest) = greatest {
                let best = &line.points[greatest.place];
                highest.push(format!(
                    "{name}{} at {} = {}{}{}",
                    measure.words(best.value),
                    facet.axis.name,
                    best.level,
                    greatest.and_more("level"),
                    line.knee.map_or_else(String::new, |knee| format!(", knee at {knee}"))
                ));
            } else {
                knees.extend(line.knee.map(|knee| format!("{name}{} = {knee}", facet.axis.name)));
            }
        }
    }
    let points = || {
        measures
            .iter()
            .flat_map(|(_, panel)| &panel.lines)
            .flat_map(|line| &line.points)
    };
    let whiskers = if points().any(|point| point.low.is_some()) {
        " Points are means over runs; whiskers: lowest and highest run."
    } else {
        ""
    };
    // What was asked for is no achievement.
    let highest = if facet.follows_schedules() {
        let lines = facet.lines.iter().filter_map(|(name, points)| {
            let words = rate_finding(points.iter().map(|(_, cell)| *cell))?;
            Some(if name.is_empty() {
                words
            } else {
                format!("{name}: {words}")
            })
        });
        lines.collect::<Vec<_>>().join(" ")
    } else {
        let told = [("Highest: ", highest), ("Knee: ", knees)];
        let told = told.iter().filter(|(_, lines)| !lines.is_empty());
        let told: Vec<String> = told
            .map(|(what, lines)| format!("{what}{}.", lines.join("; ")))
            .collect();
        told.join(" ")
    };
    format!("{highest}{whiskers}").trim_start().to_owned()
}

/// Whether it is known that the highest point of `line` is higher than the next.
fn is_highest_known(facet: &Facet, measure: &Measure, line: &SweepLine) -> bool {
    let of = facet.lines.iter().find(|(name, _)| *name == line.name);
    let cells: Vec<&Cell> = of
        .into_iter()
        .flat_map(|(_, cells)| cells)
        .map(|(_, cell)| *cell)
        .collect();
    measure.is_highest_known(&cells)
}
