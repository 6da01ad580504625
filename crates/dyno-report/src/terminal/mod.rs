//! A document as plain text, for a terminal: what is marked as brief, and of figures nothing, which `--plot` draws.
//!
//! What is said, with which figures, is the document's; here it is only laid out: titles are underlined, tables are
//! set in, and lines are broken at [`WIDTH`](crate::table::WIDTH). The answer comes first. In a terminal the last lines
//! are read next, so what to keep in mind and the results in a few sentences come last.
//!
//! Some texts are of no document: lines about what goes on ([`crate::progress_line`] and its like) are gone when a run
//! is over, and where a run lies on this machine is nobody else's business.

#[cfg(test)]
pub(crate) mod campaign_tests;
#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod run_tests;

use crate::document::model::{Block, Caution, Column, Detail, Document, Headline, Section, Table, Value};
use crate::document::table::{FACTS, RUN, for_people};
use crate::document::{of_campaign, of_comparison_in_brief, of_finished, of_plans, of_run};
use crate::figures::{in_unit, one_line};
use crate::table::{self as layout, INDENT};
use dyno_analysis::comparison::Comparison;
use dyno_analysis::progress::FinishedRun;
use dyno_archive::{Campaign, Run};

/// Everything that matters of a campaign: what all its runs show together, or its only run.
#[must_use]
pub fn campaign(campaign: &Campaign) -> String {
    let shown = text(&of_campaign(campaign, Detail::Brief));
    match campaign.runs.as_slice() {
        [only] if campaign.record.as_ref().map_or(1, |record| record.runs.len()) < 2 => shown + &folder(only),
        _ => format!("{shown}\nFor the details of a run: dyno show {} RUN\n", campaign.name()),
    }
}

/// A run by itself.
#[must_use]
pub fn run(campaign: &Campaign, run: &Run) -> String {
    text(&of_run(campaign, run, Detail::Brief)) + &folder(run)
}

/// How the server executed the statements of a run, or of the first of each cell of a campaign.
#[must_use]
pub fn plans(campaign: &Campaign, run: Option<&Run>) -> String {
    text(&of_plans(campaign, run))
}

fn folder(run: &Run) -> String {
    format!("\nAll data: {}\n", run.path.display())
}

/// What the runs of a campaign that has just ended show together. Whoever made it knows its environment.
#[must_use]
pub fn overview(campaign: &Campaign) -> String {
    let document = of_campaign(campaign, Detail::Brief);
    text(&Document {
        title: String::new(),
        question: None,
        sections: document
            .sections
            .into_iter()
            .filter(|section| section.id != "environment")
            .collect(),
        ..document
    })
}

/// A run that has just ended; `None` if nothing was measured or kept. Of one that is `alone` in its campaign nothing
/// follows, so all is said.
pub(crate) fn finished(run: &FinishedRun, alone: bool) -> Option<String> {
    let campaign = run.folder.parent().filter(|_| alone);
    let campaign = campaign.and_then(|folder| Campaign::read(folder.to_owned()));
    let kept = Run {
        state: run.state,
        ..Run::read(run.folder.clone())?
    };
    Some(text(&of_finished(
        campaign.as_ref(),
        &kept,
        run.summary.clone()?,
        run.analysis.clone(),
    )))
}

/// A comparison of two campaigns. The baseline is called A, the other B.
#[must_use]
pub fn comparison(baseline: &Campaign, candidate: &Campaign, comparison: &Comparison) -> String {
    text(&of_comparison_in_brief(baseline, candidate, comparison))
}

/// All that is brief in `document`.
pub(crate) fn text(document: &Document) -> String {
    let mut parts: Vec<String> = document.answer.iter().map(|answer| paragraph("", answer)).collect();
    let about = [Some(&document.title), document.question.as_ref()];
    let about = about.into_iter().flatten().filter(|words| !words.is_empty());
    parts.push(about.map(|words| paragraph("", words)).collect());
    document
        .sections
        .iter()
        .for_each(|section| chapter(section, &mut parts));
    let warnings = document
        .warnings
        .iter()
        .filter(|warning| warning.detail == Detail::Brief);
    let warnings: String = warnings.map(warning_item).collect();
    parts.push(match warnings.as_str() {
        "" => warnings,
        _ => format!("Keep in mind:\n{warnings}"),
    });
    parts.push(headlines(&document.headlines));
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

fn warning_item(warning: &Caution) -> String {
    item(&joined([&warning.subject, &warning.text], ": "))
}

/// Results, a paragraph each.
pub(crate) fn headlines(headlines: &[Headline]) -> String {
    let words = |headline: &Headline| {
        let interval = match headline.interval.as_str() {
            "" => String::new(),
            interval => format!(" ({interval})"),
        };
        let figure = joined([&headline.subject, &headline.figure], ": ") + &interval;
        paragraph("", &joined([&figure, &headline.verdict], ". "))
    };
    headlines.iter().map(words).collect()
}

fn joined(parts: [&str; 2], between: &str) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(between)
}

/// Adds a section and those within it, if they say anything here.
fn chapter(section: &Section, parts: &mut Vec<String>) {
    if section.detail == Detail::Full {
        return;
    }
    let own = blocks(&section.blocks);
    if !own.is_empty() {
        let title = one_line(&section.title);
        let line = "-".repeat(title.chars().count());
        parts.push(format!("{title}\n{line}\n{own}"));
    }
    section.sections.iter().for_each(|section| chapter(section, parts));
}

/// Blocks with an empty line between them, unless both are text.
fn blocks(blocks: &[Block]) -> String {
    let mut written = String::new();
    let mut after_text = true;
    for block in blocks {
        let is_text = matches!(block, Block::Text { .. });
        let text = match block {
            Block::Text { text } => paragraph("", text),
            Block::List { items } => items.iter().map(|words| item(words)).collect(),
            Block::Code { caption, text } => code(caption, text),
            Block::Table(rows) => table(rows),
            Block::Figure(_) => continue,
        };
        if !(written.is_empty() || after_text && is_text) {
            written.push('\n');
        }
        written.push_str(&text);
        after_text = is_text;
    }
    written
}

fn paragraph(first: &str, text: &str) -> String {
    layout::paragraph(first, &one_line(text))
}

fn item(text: &str) -> String {
    paragraph("  - ", text)
}

/// Lines as they stand, however long, for they may be copied.
fn code(caption: &str, text: &str) -> String {
    let lines = text.lines().map(|line| {
        let line: String = line.chars().filter(|character| !character.is_control()).collect();
        format!("{INDENT}{line}\n")
    });
    std::iter::once(paragraph("", &format!("{caption}:")))
        .chain(lines)
        .collect()
}

/// A table. A unit is said once: of all columns in the caption, else at the first of those beside each other.
pub(crate) fn table(table: &Table) -> String {
    let table = for_people(table);
    let is_brief = |(_, column): &(usize, &Column)| column.detail == Detail::Brief;
    let shown: Vec<(usize, &Column)> = table.columns.iter().enumerate().filter(is_brief).collect();
    let rows = table.rows.iter().map(|row| {
        let values = shown
            .iter()
            .filter_map(|(place, column)| Some((row.get(*place)?, column)));
        values.map(|(of, column)| value(of, &column.unit)).collect::<Vec<_>>()
    });
    if shown.iter().map(|(_, column)| column.name.as_str()).eq(FACTS) {
        return layout::table(&[], &[0, 1], rows);
    }
    let mut units = shown
        .iter()
        .filter(|(_, column)| column.numeric)
        .map(|(_, column)| column.unit.as_str());
    let first = units.next().unwrap_or_default();
    let common = if table.caption.is_empty() || !units.all(|unit| unit == first) {
        ""
    } else {
        first
    };
    let mut said = common;
    let header = shown.iter().map(|(_, column)| {
        let name = one_line(&column.name);
        let unit = column.unit.as_str();
        let is_new = !unit.is_empty() && unit != said && unit != common;
        said = unit;
        if is_new { format!("{name} ({unit})") } else { name }
    });
    let header: Vec<String> = header.collect();
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let texts = shown.iter().enumerate().filter(|(_, (_, column))| !column.numeric);
    let texts: Vec<usize> = texts.map(|(place, _)| place).collect();
    let names = shown.iter().position(|(_, column)| column.name == RUN);
    let caption = match (table.caption.as_str(), common) {
        ("", _) => String::new(),
        (caption, "") => paragraph("", &format!("{caption}:")),
        (caption, unit) => paragraph("", &format!("{caption} ({unit}):")),
    };
    caption + &layout::with_names(&header, &texts, names.as_slice(), rows)
}

fn value(value: &Value, unit: &str) -> String {
    match value {
        Value::Nothing(()) => "-".to_owned(),
        Value::Number(number) => in_unit(*number, unit),
        Value::Text(words) => one_line(words),
    }
}
