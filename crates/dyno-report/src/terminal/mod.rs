//! A document as plain text, for a terminal: what is marked as brief, and of figures nothing, which `--plot` draws.
//!
//! What is said, with which figures, is the document's; here it is only laid out: titles are underlined, tables are
//! set in, and lines are broken where a [`Page`] ends. In a terminal the last lines are read first, so what to keep in
//! mind and the results in a few sentences come last, with the answer at the very end. Of a campaign of several runs a
//! screenful is shown, unless everything is asked for.
//!
//! Some texts are of no document: lines about what goes on ([`crate::progress_line`] and its like) are gone when a run
//! is over, and where a run lies on this machine is nobody else's business.

#[cfg(test)]
pub(crate) mod campaign_tests;
#[cfg(test)]
mod compare_tests;
#[cfg(test)]
mod run_tests;

mod screenful;

use crate::document::model::{Block, Caution, Column, Detail, Document, Headline, Section, Table, Value};
use crate::document::table::{FACTS, RUN, for_people};
use crate::document::{of_campaign, of_comparison_in_brief, of_finished, of_plans, of_run};
use crate::figures::{in_unit, one_line};
use crate::table::{INDENT, Page};
use dyno_analysis::comparison::{Comparison, Pool};
use dyno_analysis::progress::FinishedRun;
use dyno_archive::{Campaign, Run};

/// What matters of a campaign: what its runs show together in a screenful, or its only run. With `all`, everything
/// that a terminal has room for.
#[must_use]
pub fn campaign(campaign: &Campaign, all: bool, page: Page) -> String {
    let document = of_campaign(campaign, Detail::Brief);
    match campaign.runs.as_slice() {
        [only] if campaign.record.as_ref().map_or(1, |record| record.runs.len()) < 2 => {
            text(&document, page) + &folder(only)
        }
        _ if all => text(&document, page),
        _ => screenful::of(&document, &campaign.name(), page),
    }
}

/// A run by itself.
#[must_use]
pub fn run(campaign: &Campaign, run: &Run, page: Page) -> String {
    text(&of_run(campaign, run, Detail::Brief), page) + &folder(run)
}

/// How the server executed the statements of a run, or of the first of each cell of a campaign.
#[must_use]
pub fn plans(campaign: &Campaign, run: Option<&Run>, page: Page) -> String {
    text(&of_plans(campaign, run), page)
}

fn folder(run: &Run) -> String {
    format!("\nAll data: {}\n", run.path.display())
}

/// What the runs of a campaign that has just ended show together, in a screenful. Whoever made it knows what it asks.
#[must_use]
pub fn overview(campaign: &Campaign, page: Page) -> String {
    let document = Document {
        title: String::new(),
        question: None,
        ..of_campaign(campaign, Detail::Brief)
    };
    screenful::of(&document, &campaign.name(), page)
}

/// A run that has just ended; `None` if nothing was measured or kept. Of one that is alone in its campaign nothing
/// follows, so all is said.
pub(crate) fn finished(run: &FinishedRun, page: Page) -> Option<String> {
    let campaign = run.folder.parent();
    let campaign = campaign.and_then(|folder| Campaign::read(folder.to_owned()));
    let kept = Run {
        state: run.state,
        ..Run::read(run.folder.clone())?
    };
    let document = of_finished(campaign.as_ref(), &kept, run.summary.clone()?, run.analysis.clone());
    Some(text(&document, page))
}

/// A comparison of two campaigns. The baseline is called A, the other B.
#[must_use]
pub fn comparison<'a>(
    baseline: impl Into<Pool<'a>>,
    candidate: impl Into<Pool<'a>>,
    comparison: &Comparison,
    page: Page,
) -> String {
    text(&of_comparison_in_brief(baseline, candidate, comparison), page)
}

/// All that is brief in `document`.
pub(crate) fn text(document: &Document, page: Page) -> String {
    let mut parts = vec![about(document, page)];
    document
        .sections
        .iter()
        .for_each(|section| chapter(section, page, &mut parts));
    let warnings = document
        .warnings
        .iter()
        .filter(|warning| warning.detail == Detail::Brief);
    let warnings: String = warnings.map(|warning| item(&told(warning), page)).collect();
    parts.push(match warnings.as_str() {
        "" => warnings,
        _ => format!("Keep in mind:\n{warnings}"),
    });
    parts.push(headlines(&document.headlines, page));
    parts.extend(document.answer.iter().map(|answer| paragraph("", answer, page)));
    joined(parts)
}

/// What a document is about.
fn about(document: &Document, page: Page) -> String {
    let about = [Some(&document.title), document.question.as_ref()];
    let about = about.into_iter().flatten().filter(|words| !words.is_empty());
    about.map(|words| paragraph("", words, page)).collect()
}

/// Parts with an empty line between them.
fn joined(mut parts: Vec<String>) -> String {
    parts.retain(|part| !part.is_empty());
    parts.join("\n")
}

/// A caution with what it is of.
fn told(warning: &Caution) -> String {
    both([&warning.subject, &warning.text], ": ")
}

/// Results, a paragraph each.
pub(crate) fn headlines(headlines: &[Headline], page: Page) -> String {
    let headlines = headlines.iter().map(in_words);
    headlines.map(|words| paragraph("", &words, page)).collect()
}

/// A result as sentences.
pub(crate) fn in_words(headline: &Headline) -> String {
    let interval = match headline.interval.as_str() {
        "" => String::new(),
        interval => format!(" ({interval})"),
    };
    let figure = both([&headline.subject, &headline.figure], ": ") + &interval;
    both([&figure, &headline.verdict], ". ")
}

fn both(parts: [&str; 2], between: &str) -> String {
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(between)
}

/// Adds a section and those within it, if they say anything here.
fn chapter(section: &Section, page: Page, parts: &mut Vec<String>) {
    if section.detail == Detail::Full {
        return;
    }
    let own = blocks(&section.blocks, page);
    if !own.is_empty() {
        let title = one_line(&section.title);
        let line = "-".repeat(title.chars().count());
        parts.push(format!("{title}\n{line}\n{own}"));
    }
    section
        .sections
        .iter()
        .for_each(|section| chapter(section, page, parts));
}

/// Blocks with an empty line between them, unless both are text.
fn blocks<'a>(blocks: impl IntoIterator<Item = &'a Block>, page: Page) -> String {
    let mut written = String::new();
    let mut after_text = true;
    for block in blocks {
        let is_text = matches!(block, Block::Text { .. });
        let text = match block {
            Block::Text { text } => paragraph("", text, page),
            Block::List { items } => items.iter().map(|words| item(words, page)).collect(),
            Block::Code { caption, text } => code(caption, text, page),
            Block::Table(rows) => table(rows, page),
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

fn paragraph(first: &str, text: &str, page: Page) -> String {
    page.paragraph(first, &one_line(text))
}

fn item(text: &str, page: Page) -> String {
    paragraph("  - ", text, page)
}

/// Lines as they stand, however long, for they may be copied.
fn code(caption: &str, text: &str, page: Page) -> String {
    let lines = text.lines().map(|line| {
        let line: String = line.chars().filter(|character| !character.is_control()).collect();
        format!("{INDENT}{line}\n")
    });
    std::iter::once(paragraph("", &format!("{caption}:"), page))
        .chain(lines)
        .collect()
}

/// What marks the best and the worst value of a column, and what keeps the digits of the others below each other.
const MARKS: [char; 3] = ['*', '!', '\u{a0}'];

/// What the marks mean.
const MARKED: &str = "  * the best, ! the worst of its kind\n";

/// A table as it is laid out: what stands in its cells, and what is known of its columns.
struct LaidOut {
    caption: String,
    header: Vec<String>,
    /// The columns of texts.
    texts: Vec<usize>,
    /// The column of names that are to be copied.
    names: Option<usize>,
    /// So many columns say what a row is of.
    keys: usize,
    rows: Vec<Vec<String>>,
    is_marked: bool,
}

/// A table. A unit is said once: of all columns in the caption, else at the first of those beside each other.
pub(crate) fn table(table: &Table, page: Page) -> String {
    let LaidOut {
        caption,
        header,
        texts,
        names,
        keys,
        rows,
        is_marked,
    } = laid_out(table);
    let caption = match caption.as_str() {
        "" => String::new(),
        caption => paragraph("", &format!("{caption}:"), page),
    };
    let header: Vec<&str> = header.iter().map(String::as_str).collect();
    let table = page.table(&header, &texts, names.as_slice(), keys, rows);
    let legend = if is_marked { MARKED } else { "" };
    caption + &table.replace(MARKS[2], " ") + legend
}

/// Whether all columns of a table have room beside each other.
fn fits(table: &Table, page: Page) -> bool {
    let table = laid_out(table);
    let header: Vec<&str> = table.header.iter().map(String::as_str).collect();
    page.fits(&header, &table.texts, table.names.as_slice(), &table.rows)
}

fn laid_out(table: &Table) -> LaidOut {
    let table = for_people(table);
    let is_brief = |(_, column): &(usize, &Column)| column.detail == Detail::Brief;
    let shown: Vec<(usize, &Column)> = table.columns.iter().enumerate().filter(is_brief).collect();
    let rows = table.rows.iter().enumerate().map(|(number, row)| {
        let values = shown
            .iter()
            .filter_map(|(place, column)| Some((row.get(*place)?, column)));
        values
            .map(|(of, column)| value(of, &column.unit) + &mark(column, number))
            .collect::<Vec<_>>()
    });
    let texts = shown.iter().enumerate().filter(|(_, (_, column))| !column.numeric);
    let texts: Vec<usize> = texts.map(|(place, _)| place).collect();
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
    let are_facts = shown.iter().map(|(_, column)| column.name.as_str()).eq(FACTS);
    // What a row is of stands before its first quantity.
    let quantity = shown.iter().position(|(_, column)| !column.unit.is_empty());
    let keys = texts
        .iter()
        .rfind(|text| quantity.is_some_and(|quantity| **text < quantity));
    LaidOut {
        header: match are_facts {
            true => Vec::new(),
            false => header.collect(),
        },
        keys: keys.map_or(1, |last| last + 1),
        rows: rows.collect(),
        texts,
        names: shown.iter().position(|(_, column)| column.name == RUN),
        is_marked: shown.iter().any(|(_, column)| is_marked(column)),
        caption: match (table.caption.as_str(), common) {
            _ if are_facts => String::new(),
            ("", _) => String::new(),
            (caption, "") => caption.to_owned(),
            (caption, unit) => format!("{caption} ({unit})"),
        },
    }
}

fn is_marked(column: &Column) -> bool {
    !column.best.is_empty() || !column.worst.is_empty()
}

/// What stands behind the value of a row.
fn mark(column: &Column, row: usize) -> String {
    let [best, worst, neither] = MARKS;
    let mark = match column {
        _ if column.best.contains(&row) => best,
        _ if column.worst.contains(&row) => worst,
        _ if is_marked(column) => neither,
        _ => return String::new(),
    };
    mark.to_string()
}

fn value(value: &Value, unit: &str) -> String {
    match value {
        Value::Nothing(()) => "-".to_owned(),
        Value::Number(number) => in_unit(*number, unit),
        Value::Text(words) => one_line(words),
    }
}
