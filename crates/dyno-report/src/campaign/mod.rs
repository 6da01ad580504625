//! A campaign of several runs at a glance: its cells beside each other, and where each run is.
//!
//! One factor makes a sweep, two make matrices, more a list. Only complete runs count; the others are named. Percentiles over repetitions are those
//! of all their transactions together, never means of percentiles.

mod cells;
mod ratio;

use crate::figures::{TimeUnit, counted, one_line, percent, rate, time};
use crate::table::{INDENT, paragraph, table, unbroken};
use cells::{Cell, Factor, Levels, cells, factors, number, total_tps};
use dyno_lab::analysis::campaign_warnings;
use dyno_lab::archive::{Campaign, Run, RunState};
use dyno_lab::summary::Latency;
use indexmap::IndexMap;
use ratio::ratio;

/// More columns of a matrix do not fit on a page.
const MOST_COLUMNS: usize = 7;

/// What all runs together show.
#[must_use]
pub fn overview(campaign: &Campaign) -> String {
    let cells = cells(campaign);
    let factors = factors(campaign, &cells);
    let varied: Vec<&Factor> = factors.iter().filter(|factor| factor.levels.len() > 1).collect();
    let baseline = campaign
        .record
        .as_ref()
        .map(|record| record.baseline.clone())
        .unwrap_or_default();
    let mut sections = vec![fixed(&factors)];
    match varied.as_slice() {
        [one, other] if one.levels.len().min(other.levels.len()) <= MOST_COLUMNS => {
            sections.push(matrices(&cells, one, other));
            if !baseline.is_empty() {
                sections.push(list(&cells, &varied, &baseline));
            }
        }
        _ => sections.push(list(&cells, &varied, &baseline)),
    }
    if let [factor] = varied.as_slice() {
        sections.push(knee_words(&cells, factor));
    }
    sections.push(runs(campaign));
    let warnings: String = campaign_warnings(campaign)
        .iter()
        .map(|warning| paragraph("  - ", &one_line(&warning.to_string())))
        .collect();
    if !warnings.is_empty() {
        sections.push(format!("Keep in mind:\n{warnings}"));
    }
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// Factors that have but one level.
fn fixed(factors: &[Factor]) -> String {
    let fixed = factors.iter().filter(|factor| factor.levels.len() == 1);
    let fixed: Vec<_> = fixed
        .map(|factor| format!("{} = {}", factor.name, factor.levels[0]))
        .collect();
    if fixed.is_empty() {
        String::new()
    } else {
        paragraph("  All with ", &one_line(&fixed.join(", ")))
    }
}

/// The level of a cell for `factor`.
fn level<'a>(cell: &'a Cell, factor: &Factor) -> &'a str {
    cell.levels.get(&factor.name).map_or("-", String::as_str)
}

/// The cell with these levels of two factors.
fn cell_at<'a>(
    cells: &'a [Cell],
    (one, one_level): (&Factor, &str),
    (other, other_level): (&Factor, &str),
) -> Option<&'a Cell> {
    cells
        .iter()
        .find(|cell| level(cell, one) == one_level && level(cell, other) == other_level)
}

/// Cells in the order of their levels.
fn ordered<'a>(cells: &'a [Cell], factors: &[&Factor]) -> Vec<&'a Cell> {
    let mut ordered: Vec<&Cell> = cells.iter().collect();
    ordered.sort_by_key(|cell| {
        let place = |factor: &&Factor| factor.levels.iter().position(|other| other == level(cell, factor));
        factors.iter().map(place).collect::<Vec<_>>()
    });
    ordered
}

/// The position of the knee among cells of a factor whose levels are numbers.
fn knee_of(cells: &[&Cell], factor: &Factor) -> Option<usize> {
    if !factor.levels.iter().all(|level| number(level).is_some()) {
        return None;
    }
    let tps: Option<Vec<f64>> = cells.iter().map(|cell| cell.mean_tps()).collect();
    dyno_stats::knee(&tps?)
}

/// One line per cell.
fn list(cells: &[Cell], factors: &[&Factor], baseline: &Levels) -> String {
    let ordered = ordered(cells, factors);
    let knee = match factors {
        [factor] => knee_of(&ordered, factor),
        _ => None,
    };
    let several = cells.iter().any(|cell| cell.tps.len() > 1);
    let latencies = || cells.iter().filter_map(|cell| cell.latency);
    let unit = TimeUnit::for_max(latencies().map(|latency| latency.p99_us).fold(0.0, f64::max));
    let metrics: IndexMap<&String, ()> = cells
        .iter()
        .flat_map(|cell| cell.metrics.keys())
        .map(|name| (name, ()))
        .collect();

    let p50 = format!("p50 ({})", unit.symbol());
    let names: Vec<String> = factors.iter().map(|factor| one_line(&factor.name)).collect();
    let mut header: Vec<&str> = names.iter().map(String::as_str).collect();
    header.extend(["runs", "TPS"]);
    if several {
        header.push("min–max");
    }
    header.extend(["CV", &p50, "p95", "p99"]);
    header.extend(metrics.keys().map(|name| name.as_str()));
    if !baseline.is_empty() {
        header.push("ratio");
    }
    if knee.is_some() {
        header.push("");
    }
    let rows = ordered.iter().enumerate().map(|(position, cell)| {
        let mut row: Vec<String> = factors.iter().map(|factor| one_line(level(cell, factor))).collect();
        row.extend([cell.tps.len().to_string(), rate(cell.mean_tps())]);
        if several {
            row.push(
                cell.extremes()
                    .map_or("-".to_owned(), |(min, max)| format!("{}–{}", rate(min), rate(max))),
            );
        }
        row.push(percent(cell.variation_percent()));
        let shown = |percentile: fn(&Latency) -> f64| {
            cell.latency
                .as_ref()
                .map_or("-".to_owned(), |latency| unit.show(percentile(latency)))
        };
        row.extend([
            shown(|latency| latency.p50_us),
            shown(|latency| latency.p95_us),
            shown(|latency| latency.p99_us),
        ]);
        row.extend(metrics.keys().map(|name| rate(cell.metrics.get(*name).copied())));
        if !baseline.is_empty() {
            row.push(ratio(cells, baseline, cell));
        }
        if let Some(knee) = knee {
            row.push(if knee == position {
                "← knee".to_owned()
            } else {
                String::new()
            });
        }
        row
    });
    let mut texts: Vec<usize> = (0..factors.len())
        .filter(|index| !factors[*index].levels.iter().all(|level| number(level).is_some()))
        .collect();
    if knee.is_some() {
        texts.push(header.len() - 1);
    }
    let between = if several {
        "between the runs of a cell"
    } else {
        "between the intervals of a run"
    };
    table(&header, &texts, rows) + &format!("{INDENT}CV: coefficient of variation {between}.\n")
}

/// What the knee means, for a factor whose levels are numbers.
fn knee_words(cells: &[Cell], factor: &Factor) -> String {
    let ordered = ordered(cells, &[factor]);
    let numbers = factor.levels.len() >= 3 && factor.levels.iter().all(|level| number(level).is_some());
    if !numbers || ordered.iter().any(|cell| cell.mean_tps().is_none()) {
        return String::new();
    }
    let words = match knee_of(&ordered, factor) {
        Some(knee) => format!(
            "The knee is at {} = {}: the first level within 5 % of the best TPS. More adds waiting, and next to no throughput.",
            factor.name,
            level(ordered[knee], factor)
        ),
        None => format!(
            "TPS still rises at the highest {}: there is no knee up to there.",
            factor.name
        ),
    };
    paragraph(INDENT, &one_line(&words))
}

/// TPS and the 99th percentile of two factors, rows by columns.
fn matrices(cells: &[Cell], one: &Factor, other: &Factor) -> String {
    let (rows, columns) = if one.levels.len() < other.levels.len() {
        (other, one)
    } else {
        (one, other)
    };
    let unit = TimeUnit::for_max(cells.iter().filter_map(Cell::p99_us).fold(0.0, f64::max));
    let matrix = |what: &str, show: &dyn Fn(&Cell) -> String| {
        let mut header = vec![format!(
            "{what}: {} \\ {}",
            one_line(&rows.name),
            one_line(&columns.name)
        )];
        header.extend(columns.levels.iter().map(|level| one_line(level)));
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let lines = rows.levels.iter().map(|row| {
            let cells = columns.levels.iter().map(|column| {
                // A combination that was left out is not a failure.
                cell_at(cells, (rows, row), (columns, column)).map_or(String::new(), show)
            });
            std::iter::once(one_line(row)).chain(cells).collect()
        });
        table(&header, &[0], lines)
    };
    let p99 = format!("p99 in {}", unit.symbol());
    [
        matrix("TPS", &|cell| rate(cell.mean_tps())),
        matrix(&p99, &|cell| {
            cell.p99_us().map_or("-".to_owned(), |p99_us| unit.show(p99_us))
        }),
    ]
    .join("\n")
}

/// Where each run is, and how far it came.
fn runs(campaign: &Campaign) -> String {
    let rows = campaign.runs.iter().map(|run| {
        let summary = run.summary().ok().filter(|summary| !summary.workloads.is_empty());
        let p99_us = summary.as_ref().and_then(|summary| {
            let workloads = summary.workloads.iter();
            workloads
                .filter_map(|workload| Some(workload.latency?.p99_us))
                .max_by(f64::total_cmp)
        });
        let dips = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
        vec![
            run.state.to_string(),
            rate(summary.as_ref().map(total_tps)),
            p99_us.map_or("-".to_owned(), time),
            dips.map_or("-".to_owned(), |analysis| analysis.dips.len().to_string()),
            run.name(),
        ]
    });
    let mut text = unbroken(&["state", "TPS", "p99", "dips", "run"], &[0, 4], rows);
    text.push_str(&not_counted(campaign));
    text
}

/// The runs that do not count, each with the reason.
fn not_counted(campaign: &Campaign) -> String {
    let mut text = String::new();
    for run in campaign.runs.iter().filter(|run| run.state != RunState::Complete) {
        text.push_str(&paragraph(
            INDENT,
            &format!("{} is not counted: {}", run.name(), reason(run)),
        ));
    }
    let planned = campaign.record.as_ref().map_or(0, |record| record.runs.len());
    if let Some(missing) = planned.checked_sub(campaign.runs.len()).filter(|missing| *missing > 0) {
        let name = campaign.name();
        let of = counted(planned as u64, "run");
        text.push_str(&format!(
            "{INDENT}{missing} of {of} not made yet; dyno run --resume {name} makes them.\n"
        ));
    }
    text
}

fn reason(run: &Run) -> String {
    let failure = run.record.as_ref().ok().and_then(|record| record.failure.as_deref());
    failure.map_or_else(
        || format!("it is {}", run.state),
        |failure| one_line(failure.lines().next().unwrap_or_default()),
    )
}
