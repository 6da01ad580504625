//! The page as Markdown, for publication elsewhere.

use super::{Row, SeriesReport};
use crate::figures::{count, decimal, figure, ms, one_line};
use crate::markdown::text;

/// The bytes of a MB, as PostgreSQL counts them.
const MB: f64 = (1 << 20) as f64;

/// What is published of the series, as a table for each group and what is to be known of its experiments.
#[must_use]
pub fn markdown(report: &SeriesReport) -> String {
    let mut paper = format!("# {}\n\n", text(&report.title));
    for begun in &report.begun {
        paper.push_str(&format!(
            "* {}: `{}`\n",
            begun.when,
            one_line(&begun.command).replace('`', "'")
        ));
    }
    for note in &report.notes {
        paper.push_str(&format!("* {}\n", text(note)));
    }
    let published = report.rows.iter().any(|row| row.published.is_some());
    for group in report.rows.chunk_by(|one, other| one.group == other.group) {
        let Some(first) = group.first() else { continue };
        if let Some(heading) = report.heading(first) {
            paper.push_str(&format!("\n## {}\n", text(heading)));
        }
        paper.push('\n');
        table(&mut paper, report, group, published);
    }
    paper.push_str(
        "\nTPS: transactions per second. Latencies are of one workload each; sizes are of tables and indexes after the \
         load. All are means over the complete runs.\n",
    );
    let told = report
        .parts
        .iter()
        .filter(|part| !(part.failures.is_empty() && part.cautions.is_empty()));
    for (number, part) in told.enumerate() {
        if number == 0 {
            paper.push_str("\n## Cautions\n");
        }
        paper.push_str(&format!("\n{}:\n\n", text(&part.title)));
        for caution in part.failures.iter().chain(&part.cautions) {
            paper.push_str(&format!("* {}\n", text(caution)));
        }
    }
    paper
}

fn table(paper: &mut String, report: &SeriesReport, rows: &[Row], published: bool) {
    let mut heads = vec!["Experiment".to_owned(), "Clients".to_owned(), "Rows".to_owned()];
    let several = report.columns.len() > 1;
    for (number, column) in report.columns.iter().enumerate() {
        let name = match several {
            true => format!("{}: ", text(&column.name)),
            false => String::new(),
        };
        heads.push(format!("{name}TPS"));
        if number > 0 {
            heads.push("ratio".to_owned());
        }
        heads.push(format!("{name}p99 (ms)"));
        heads.push(format!("{name}size (MB)"));
    }
    if published {
        heads.push("Published".to_owned());
        heads.push("here / published".to_owned());
    }
    line(paper, heads.iter().cloned());
    let rule = heads
        .iter()
        .enumerate()
        .map(|(number, _)| if number == 0 { "---" } else { "--:" });
    line(paper, rule.map(str::to_owned));
    for row in rows {
        line(paper, cells(row, published).into_iter());
    }
}

fn cells(row: &Row, published: bool) -> Vec<String> {
    let name = match row.of.as_str() {
        "" => text(&row.title),
        of => format!("{}, {}", text(&row.title), text(of)),
    };
    let number = |number: Option<u64>| number.map(count).unwrap_or_default();
    let mut cells = vec![name, number(row.clients), number(row.rows)];
    let first = row.figures.first().and_then(|figures| figures.as_ref()?.tps);
    for (place, figures) in row.figures.iter().enumerate() {
        let figures = figures.as_ref();
        let tps = figures.and_then(|figures| figures.tps);
        let state = figures.map_or("", |figures| figures.state.as_str());
        cells.push(tps.map_or_else(|| state.to_owned(), figure));
        if place > 0 {
            let scheduled = figures.is_some_and(|figures| figures.scheduled);
            let ratio = tps.zip(first).map(|(tps, first)| tps / first);
            let ratio = ratio.filter(|ratio| !scheduled && ratio.is_finite());
            cells.push(ratio.map_or_else(String::new, |ratio| decimal(ratio, 2)));
        }
        let p99 = figures.and_then(|figures| figures.p99_us);
        cells.push(p99.map_or_else(String::new, ms));
        let size = figures.and_then(|figures| figures.size_bytes);
        cells.push(size.map_or_else(String::new, |bytes| figure(bytes / MB)));
    }
    if published {
        let published = row.published.as_ref();
        cells.push(published.map_or_else(String::new, |published| {
            text(format!("{} {}", figure(published.value), published.unit).trim())
        }));
        let ratio = published.and_then(|published| published.ratio);
        cells.push(ratio.map_or_else(String::new, |ratio| decimal(ratio, 2)));
    }
    cells
}

fn line(paper: &mut String, cells: impl Iterator<Item = String>) {
    let cells: Vec<String> = cells.collect();
    paper.push_str(&format!("| {} |\n", cells.join(" | ")));
}
