//! What the runs of a campaign say together: its cells, how they compare with a baseline, and what is found of them.
//!
//! Only complete runs count. Latencies are of one workload each, and what several runs of a cell say together is told
//! by [`dyno_analysis::summary::over_runs`] alone.

pub(crate) mod cells;
pub(crate) mod kept;
pub(crate) mod latencies;
pub(crate) mod ratio;
pub(crate) mod whose;

use crate::figures::one_line;
use cells::{Cell, Factor, number};
use dyno_archive::{Run, RunRecord};
use kept::{follow_schedules, rate_finding, varied_rate};

/// A combination of levels, in the order of their factors.
pub(crate) type Column<'a> = Vec<(&'a Factor, &'a str)>;

/// The level of a cell for `factor`.
pub(crate) fn level<'a>(cell: &'a Cell, factor: &Factor) -> &'a str {
    cell.levels.get(&factor.name).map_or("-", String::as_str)
}

/// The factor whose levels are the rows of a matrix: of several factors the one with the most levels.
pub(crate) fn rows_of<'a>(varied: &[&'a Factor]) -> Option<&'a Factor> {
    let several = varied.len() > 1;
    let longest = varied.iter().rev().max_by_key(|factor| factor.levels.len());
    longest.copied().filter(|_| several)
}

/// The columns of a matrix: each combination of levels of the other factors.
pub(crate) fn columns<'a>(varied: &[&'a Factor], rows: &Factor) -> Vec<Column<'a>> {
    let mut columns = vec![Vec::new()];
    for factor in varied.iter().filter(|factor| factor.name != rows.name) {
        let each = |column: Column<'a>| {
            let with = move |level: &'a String| [column.as_slice(), &[(*factor, level.as_str())]].concat();
            factor.levels.iter().map(with).collect::<Vec<_>>()
        };
        columns = columns.into_iter().flat_map(each).collect();
    }
    columns
}

/// What stands above a column.
pub(crate) fn column_name(column: &[(&Factor, &str)]) -> String {
    let levels: Vec<_> = column.iter().map(|(_, level)| *level).collect();
    one_line(&levels.join(", "))
}

/// The cells of a column, row by row; `None` where a combination was left out.
pub(crate) fn column_cells<'a>(cells: &'a [Cell], rows: &Factor, column: &[(&Factor, &str)]) -> Vec<Option<&'a Cell>> {
    let of_column = |cell: &&Cell| column.iter().all(|(factor, other)| level(cell, factor) == *other);
    let at = |row: &String| cells.iter().filter(of_column).find(|cell| level(cell, rows) == row);
    rows.levels.iter().map(at).collect()
}

/// Cells in the order of their levels.
pub(crate) fn ordered<'a>(cells: &'a [Cell], factors: &[&Factor]) -> Vec<&'a Cell> {
    let mut ordered: Vec<&Cell> = cells.iter().collect();
    ordered.sort_by_key(|cell| {
        let place = |factor: &&Factor| factor.levels.iter().position(|other| other == level(cell, factor));
        factors.iter().map(place).collect::<Vec<_>>()
    });
    ordered
}

/// Whether a factor is how much load there is.
pub(crate) fn is_load(name: &str) -> bool {
    name.rsplit('.')
        .next()
        .is_some_and(|name| ["clients", "threads", "rate"].contains(&name))
}

/// The position of the knee among cells of a factor that is how much load there is: of other numbers, such as rows,
/// more is not asked for to get more done. There is none where the throughput follows schedules.
pub(crate) fn knee_of(cells: &[&Cell], factor: &Factor) -> Option<usize> {
    let asked = || follow_schedules(cells.iter().copied()) || varied_rate(cells.iter().copied()).is_some();
    if !is_load(&factor.name) || !factor.levels.iter().all(|level| number(level).is_some()) || asked() {
        return None;
    }
    let tps: Option<Vec<f64>> = cells.iter().map(|cell| cell.mean_tps()).collect();
    dyno_stats::knee(&tps?)
}

/// What the knee means, for a factor whose levels are numbers; of open loops, which rate was kept.
pub(crate) fn knee_words(cells: &[Cell], factor: &Factor) -> Option<String> {
    let ordered = ordered(cells, &[factor]);
    if follow_schedules(cells) || varied_rate(cells).is_some() {
        return rate_finding(cells);
    }
    let numbers = factor.levels.len() >= 3 && factor.levels.iter().all(|level| number(level).is_some());
    if !numbers || !is_load(&factor.name) || ordered.iter().any(|cell| cell.mean_tps().is_none()) {
        return None;
    }
    Some(match knee_of(&ordered, factor) {
        Some(knee) => format!(
            "The knee is at {} = {}: the first level within 5 % of the best TPS. More load adds waiting but hardly \
             any throughput.",
            factor.name,
            level(ordered[knee], factor)
        ),
        None => format!(
            "There is no knee: TPS is highest at the highest {}, and might rise further.",
            factor.name
        ),
    })
}

/// Where the knee of each column is, or which rate was kept, if the rows are how much load there is.
pub(crate) fn knees_by_column(cells: &[Cell], rows: &Factor, columns: &[Column]) -> Vec<String> {
    if follow_schedules(cells) || varied_rate(cells).is_some() {
        let of_column = |column: &Column| {
            let words = rate_finding(column_cells(cells, rows, column).into_iter().flatten())?;
            Some(format!("{}: {words}", column_name(column)))
        };
        return columns.iter().filter_map(of_column).collect();
    }
    let knee = |column: &Column| {
        let cells: Vec<&Cell> = column_cells(cells, rows, column).into_iter().collect::<Option<_>>()?;
        let at = match knee_of(&cells, rows) {
            Some(knee) => rows.levels[knee].as_str(),
            None if rows.levels.len() >= 3 && cells.iter().all(|cell| cell.mean_tps().is_some()) => "none so far",
            None => return None,
        };
        Some(format!("{}: {at}", column_name(column)))
    };
    let load = is_load(&rows.name);
    let numbers = rows.levels.iter().all(|level| number(level).is_some());
    let knees: Vec<_> = columns.iter().filter(|_| load && numbers).filter_map(knee).collect();
    if knees.is_empty() {
        return knees;
    }
    vec![format!(
        "Knee, the first {} within 5 % of the best TPS: {}.",
        rows.name,
        knees.join("; ")
    )]
}

/// What the server of a run calls itself, such as `PostgreSQL 18.6`; `None` if it did not say.
pub(crate) fn server_name(record: &RunRecord) -> Option<String> {
    // Some servers go on with what they were compiled on.
    let version = one_line(record.server.get("version")?.as_str()?);
    let version = version.split([',', ' ']).take(2).collect::<Vec<_>>().join(" ");
    let product = record.traits().product;
    // Some servers say their name with their version: 11.4.5-MariaDB-log.
    if let Some((number, _)) = version.split_once(&format!("-{product}")) {
        return Some(format!("{product} {number}"));
    }
    Some(match version.contains(&product) {
        true => version,
        false => format!("{product} {version}"),
    })
}

/// Why a run does not count.
pub(crate) fn reason(run: &Run) -> String {
    let failure = run.record.as_ref().ok().and_then(|record| record.failure.as_deref());
    failure.map_or_else(
        || format!("it is {}", run.state),
        |failure| one_line(failure.lines().next().unwrap_or_default()),
    )
}
