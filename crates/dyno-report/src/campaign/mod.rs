//! A campaign of several runs at a glance: its cells beside each other, and where each run is.
//!
//! One factor makes a sweep, several make matrices as long as these fit on a page. Only complete runs count; the
//! others are named. Latencies are of one workload each, and what several runs of a cell say together is told by
//! [`dyno_analysis::summary::over_runs`] alone.

pub(crate) mod cells;
pub(crate) mod kept;
pub(crate) mod latencies;
#[cfg(test)]
pub(crate) mod overviews;
pub(crate) mod ratio;

use crate::analysis::with_warnings;
use crate::document::cautions::Cautions;
use crate::document::model::Caution;
use crate::figures::{counted, ms, one_line, percent, rate};
use crate::table::{INDENT, paragraph, table, unbroken};
use cells::{Cell, Factor, Levels, Line, cells, factors, number, of_workload, tps_words, whose_tps, workload_names};
use dyno_analysis::campaign_warnings;
use dyno_analysis::summary::{over_runs, summary_of};
use dyno_archive::{Campaign, Run, RunState};
use indexmap::IndexSet;
use kept::{follow_schedules, rate_finding, varied_rate};
use latencies::{ALL_STAGES, Percentiles, Whose, p99_words};
use ratio::{has_ratios, ratio};

/// More columns of a matrix do not fit on a page.
const MOST_COLUMNS: usize = 7;

/// What all runs together show.
#[must_use]
pub fn overview(campaign: &Campaign) -> String {
    let cells = cells(campaign);
    let factors = factors([campaign], &cells);
    let varied: Vec<&Factor> = factors.iter().filter(|factor| factor.levels.len() > 1).collect();
    let baseline = campaign
        .record
        .as_ref()
        .map(|record| record.baseline.clone())
        .unwrap_or_default();
    let mut sections = vec![fixed(&factors)];
    let columns = rows_of(&varied).map(|rows| (rows, columns(&varied, rows)));
    match columns {
        Some((rows, columns)) if columns.len() <= MOST_COLUMNS => {
            sections.push(matrices(&cells, rows, &columns));
            sections.push(knees(&cells, rows, &columns));
            // What a matrix does not show: ratios, metrics of the experiment, and cells one by one where there are
            // many columns.
            if !baseline.is_empty() || varied.len() > 2 || cells.iter().any(|cell| !cell.metrics.is_empty()) {
                sections.push(list(&cells, &varied, &baseline));
            }
        }
        _ => sections.push(list(&cells, &varied, &baseline)),
    }
    if let [factor] = varied.as_slice() {
        sections.push(knee_words(&cells, factor));
    }
    sections.push(runs(campaign));
    let of_campaign = campaign_warnings(campaign);
    let of_campaign = of_campaign.iter().map(|warning| one_line(&warning.to_string()));
    let of_runs = events(campaign, |run| {
        let analysis = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
        let figures = with_warnings(summary_of(run).unwrap_or_default(), analysis);
        figures.warnings.iter().map(ToString::to_string).collect()
    });
    sections.push(bullets("Keep in mind", of_campaign.chain(of_runs)));
    let findings = events(campaign, |run| {
        let analysis = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
        analysis.map_or_else(Vec::new, |analysis| analysis.findings.clone())
    });
    sections.push(bullets("Found", findings.into_iter()));
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// What is to be said of the runs, each with their numbers.
fn events(campaign: &Campaign, of: impl Fn(&Run) -> Vec<String>) -> Vec<String> {
    let mut cautions = Cautions::default();
    for (place, run) in campaign.runs.iter().enumerate() {
        let number = run.record.as_ref().map_or(place + 1, |record| record.number);
        cautions.events(&format!("run {number}"), of(run).into_iter());
    }
    let events = cautions.all().into_iter();
    events
        .map(|Caution { subject, text }| format!("{subject}: {text}"))
        .collect()
}

/// A list with its heading; nothing if it is empty.
fn bullets(heading: &str, items: impl Iterator<Item = String>) -> String {
    let items: String = items.map(|item| paragraph("  - ", &item)).collect();
    if items.is_empty() {
        items
    } else {
        format!("{heading}:\n{items}")
    }
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
pub(crate) fn columns<'a>(varied: &[&'a Factor], rows: &Factor) -> Vec<Vec<(&'a Factor, &'a str)>> {
    let mut columns = vec![Vec::new()];
    for factor in varied.iter().filter(|factor| factor.name != rows.name) {
        let each = |column: Vec<(&'a Factor, &'a str)>| {
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

/// One line per cell, and per workload where there are several.
fn list(cells: &[Cell], factors: &[&Factor], baseline: &Levels) -> String {
    let ordered = ordered(cells, factors);
    let knee = match factors {
        [factor] => knee_of(&ordered, factor),
        _ => None,
    };
    let shows_ratio = has_ratios(cells, baseline);
    let several_runs = cells.iter().any(|cell| cell.tps.len() > 1);
    let several_workloads = cells.iter().any(|cell| cell.workloads.len() > 1);
    let metrics: IndexSet<&String> = cells.iter().flat_map(|cell| cell.metrics.keys()).collect();

    let mut header: Vec<String> = factors.iter().map(|factor| one_line(&factor.name)).collect();
    let mut texts: Vec<usize> = (0..factors.len())
        .filter(|index| !factors[*index].levels.iter().all(|level| number(level).is_some()))
        .collect();
    let mut heading = |heading: &str| header.push(heading.to_owned());
    let staged = cells.iter().any(Cell::is_staged);
    let names = [("workload", several_workloads), ("stage", staged)];
    for (place, (name, _)) in names.iter().filter(|(_, shown)| *shown).enumerate() {
        texts.push(factors.len() + place);
        heading(name);
    }
    ["runs", "TPS"].into_iter().for_each(&mut heading);
    if several_runs {
        heading("min–max");
    }
    ["CV", "p50 (ms)", "p95", "p99"].into_iter().for_each(&mut heading);
    metrics.iter().for_each(|name| heading(name));
    if shows_ratio {
        heading("ratio");
    }
    if knee.is_some() {
        heading("");
        texts.push(header.len() - 1);
    }

    let row = |position: usize, cell: &Cell, line: &Line<'_>| {
        let mut row: Vec<String> = factors.iter().map(|factor| one_line(level(cell, factor))).collect();
        row.extend(several_workloads.then(|| line.name.to_owned()));
        row.extend(staged.then(|| line.stage.unwrap_or(ALL_STAGES).to_owned()));
        row.extend([line.tps.len().to_string(), rate(over_runs(line.tps))]);
        if several_runs {
            let extremes = line.extremes();
            row.push(extremes.map_or("-".to_owned(), |(min, max)| format!("{}–{}", rate(min), rate(max))));
        }
        row.push(percent(line.variation_percent));
        let shown = |percentile: fn(&Percentiles) -> f64| ms(line.latency.as_ref().map(percentile));
        row.extend([
            shown(|latency| latency.p50_us),
            shown(|latency| latency.p95_us),
            shown(|latency| latency.p99_us),
        ]);
        // Metrics and ratios are of the cell, not of one of its workloads.
        let of_cell = |text: String| if line.whole { text } else { String::new() };
        row.extend(metrics.iter().map(|name| of_cell(rate(cell.metric(name)))));
        if shows_ratio {
            row.push(of_cell(ratio(cells, baseline, cell)));
        }
        if let Some(knee) = knee {
            let mark = if knee == position { "← knee" } else { "" };
            row.push(of_cell(mark.to_owned()));
        }
        row
    };
    let rows = ordered.iter().enumerate().flat_map(|(position, cell)| {
        let lines = cell.lines();
        lines.iter().map(|line| row(position, cell, line)).collect::<Vec<_>>()
    });
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let figures = if several_runs {
        "TPS and percentiles: means over the runs of a cell. CV: coefficient of variation between the runs."
    } else {
        "CV: coefficient of variation between the intervals of the run."
    };
    table(&header, &texts, rows) + &paragraph(INDENT, figures)
}

/// What the knee means, for a factor whose levels are numbers; of open loops, which rate was kept.
fn knee_words(cells: &[Cell], factor: &Factor) -> String {
    let ordered = ordered(cells, &[factor]);
    if follow_schedules(cells) || varied_rate(cells).is_some() {
        return rate_finding(cells).map_or_else(String::new, |words| paragraph(INDENT, &one_line(&words)));
    }
    let numbers = factor.levels.len() >= 3 && factor.levels.iter().all(|level| number(level).is_some());
    if !numbers || !is_load(&factor.name) || ordered.iter().any(|cell| cell.mean_tps().is_none()) {
        return String::new();
    }
    let words = match knee_of(&ordered, factor) {
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
    };
    paragraph(INDENT, &one_line(&words))
}

/// TPS and the 99th percentile, a factor by the combinations of the others; of several workloads each by itself.
fn matrices(cells: &[Cell], rows: &Factor, columns: &[Vec<(&Factor, &str)>]) -> String {
    let others: IndexSet<&str> = columns
        .iter()
        .flatten()
        .map(|(factor, _)| factor.name.as_str())
        .collect();
    let others: Vec<_> = others.into_iter().collect();
    let by_column: Vec<_> = columns.iter().map(|column| column_cells(cells, rows, column)).collect();
    let matrix = |what: &str, show: &dyn Fn(&Cell) -> String| {
        let corner = format!("{what}: {} \\ {}", rows.name, others.join(", "));
        let mut header = vec![one_line(&corner)];
        header.extend(columns.iter().map(|column| column_name(column)));
        let header: Vec<&str> = header.iter().map(String::as_str).collect();
        let lines = rows.levels.iter().enumerate().map(|(row, level)| {
            // A combination that was left out is not a failure.
            let cells = by_column.iter().map(|column| column[row].map_or(String::new(), show));
            std::iter::once(one_line(level)).chain(cells).collect()
        });
        table(&header, &[0], lines)
    };
    let mut matrices = vec![matrix(&of_workload("TPS", whose_tps(cells)), &|cell| {
        rate(cell.mean_tps())
    })];
    for name in workload_names(cells).into_iter().filter(Option::is_some) {
        let tps = |cell: &Cell| rate(cell.workload(name).and_then(|workload| over_runs(&workload.tps)));
        matrices.push(matrix(&of_workload("TPS", name), &tps));
    }
    for whose in Whose::all(cells) {
        matrices.push(matrix(&whose.words("p99 in ms"), &|cell| ms(cell.p99_us(&whose))));
    }
    if cells.iter().any(|cell| cell.tps.len() > 1) {
        matrices.push(paragraph(INDENT, "Means over the runs of a cell."));
    }
    matrices.join("\n")
}

/// Where the knee of each column is, or which rate was kept, if the rows are how much load there is.
fn knees(cells: &[Cell], rows: &Factor, columns: &[Vec<(&Factor, &str)>]) -> String {
    if follow_schedules(cells) || varied_rate(cells).is_some() {
        let of_column = |column: &Vec<(&Factor, &str)>| {
            let words = rate_finding(column_cells(cells, rows, column).into_iter().flatten())?;
            Some(format!("{}: {words}", column_name(column)))
        };
        let words: Vec<_> = columns.iter().filter_map(of_column).collect();
        return words.iter().map(|words| paragraph(INDENT, &one_line(words))).collect();
    }
    let knee = |column: &Vec<(&Factor, &str)>| {
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
        return String::new();
    }
    let words = format!(
        "Knee, the first {} within 5 % of the best TPS: {}.",
        rows.name,
        knees.join("; ")
    );
    paragraph(INDENT, &one_line(&words))
}

/// Where each run is, and how far it came.
fn runs(campaign: &Campaign) -> String {
    let rows = campaign.runs.iter().map(|run| {
        let summary = summary_of(run).ok().filter(|summary| !summary.workloads.is_empty());
        let dips = run.record.as_ref().ok().and_then(|record| record.analysis.as_ref());
        vec![
            run.state.to_string(),
            summary.as_ref().map_or("-".to_owned(), tps_words),
            summary.as_ref().and_then(p99_words).unwrap_or_else(|| "-".to_owned()),
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
            &format!("{} does not count: {}", run.name(), reason(run)),
        ));
    }
    let planned = campaign.record.as_ref().map_or(0, |record| record.runs.len());
    if let Some(missing) = planned.checked_sub(campaign.runs.len()).filter(|missing| *missing > 0) {
        let name = campaign.name();
        let of = counted(planned as u64, "run");
        text.push_str(&format!(
            "{INDENT}{missing} of {of} not measured yet; continue with: dyno run --resume {name}\n"
        ));
    }
    text
}

pub(crate) fn reason(run: &Run) -> String {
    let failure = run.record.as_ref().ok().and_then(|record| record.failure.as_deref());
    failure.map_or_else(
        || format!("it is {}", run.state),
        |failure| one_line(failure.lines().next().unwrap_or_default()),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::campaign::cells::factor;
    use insta::assert_snapshot;

    /// Cells of all combinations but one, with a TPS that follows from them.
    fn three_factors() -> (Vec<Cell>, Vec<Factor>) {
        let factors = vec![
            factor("workload", &["ro", "rw"]),
            factor("clients", &["1", "4", "16"]),
            factor("profile", &["32 GB", "200 GB"]),
        ];
        let refs: Vec<&Factor> = factors.iter().collect();
        let mut cells = Vec::new();
        for column in columns(&refs, &factors[1]) {
            for (row, clients) in factors[1].levels.iter().enumerate() {
                let mut levels: Levels = column
                    .iter()
                    .map(|(f, level)| (f.name.clone(), (*level).to_owned()))
                    .collect();
                levels.insert("clients".to_owned(), clients.clone());
                let tps = match levels["workload"].as_str() {
                    "ro" => [1_000.0, 4_000.0, 4_100.0][row],
                    _ => [100.0, 200.0, 400.0][row],
                };
                cells.push(Cell {
                    tps: vec![tps; usize::from(cells.len() != 4)],
                    levels,
                    ..Cell::default()
                });
            }
        }
        cells.remove(11);
        (cells, factors)
    }

    #[test]
    fn several_factors_are_a_matrix_of_the_longest_by_the_others() {
        let (cells, factors) = three_factors();
        let refs: Vec<&Factor> = factors.iter().collect();
        let rows = rows_of(&refs).unwrap();
        let columns = columns(&refs, rows);
        let text = matrices(&cells, rows, &columns) + &knees(&cells, rows, &columns);
        assert_snapshot!(text.split_once("p99").map_or("", |(tps, _)| tps.trim_end()), @r"
          TPS: clients \ workload, profile  ro, 32 GB  ro, 200 GB  rw, 32 GB  rw, 200 GB
          1                                     1,000       1,000        100         100
          4                                     4,000           -        200         200
          16                                    4,100       4,100        400
        ");
        assert_snapshot!(knees(&cells, rows, &columns), @"  Knee, the first clients within 5 % of the best TPS: \
            ro, 32 GB: 4; rw, 32 GB: none so far.");
        assert_eq!(knees(&cells, &factors[2], &super::columns(&refs, &factors[2])), "");
        assert!(rows_of(&refs[..1]).is_none());
    }
}
