//! What a screen has room for of a campaign of several runs: what is answered with its tables, the gravest of what to
//! keep in mind, and last the answer.

use super::{about, blocks, fits, headlines, joined, paragraph, told};
use crate::document::model::{Block, Detail, Document, Part, Section, Table};
use crate::document::table::without_column;
use crate::figures::counted;
use crate::table::Page;

/// Cells in more rows are shown as tables of one factor by the others, where there are such.
const MOST_ROWS: usize = 12;

/// More runs that do not count are only counted.
const MOST_UNCOUNTED: usize = 4;

/// More sentences are not read; the answer, if there is one, says what follows from all of them.
const MOST_HEADLINES: usize = 4;

/// The columns of cells that are the first to be left out where not all fit.
const LEAST: [&[&str]; 5] = [
    &["variation"],
    &["lowest run", "highest run"],
    &["p90 response"],
    &["p50"],
    &["mean latency"],
];

/// A screenful of the `document` of the campaign of this `name`.
pub(super) fn of(document: &Document, name: &str, page: Page) -> String {
    let answering = |section: &&Section| section.part == Part::Answer && section.detail == Detail::Brief;
    let sections = document.sections.iter().filter(answering);
    let mut parts = vec![about(document, page)];
    parts.extend(sections.map(|section| blocks(&chosen(&section.blocks, page), page)));
    let runs = document.sections.iter().filter(|section| section.id == "runs");
    parts.push(blocks(&runs.filter_map(uncounted).collect::<Vec<_>>(), page));
    let few = document.headlines.len().min(MOST_HEADLINES);
    parts.push(cautions(document, name, page));
    parts.push(match &document.answer {
        Some(answer) => paragraph("", answer, page),
        None => headlines(&document.headlines[..few], page),
    });
    joined(parts)
}

/// The first of the runs that do not count, and why.
fn uncounted(runs: &Section) -> Option<Block> {
    let items = runs.blocks.iter().find_map(|block| match block {
        Block::List { items } => Some(items),
        _ => None,
    })?;
    let more = items.len().saturating_sub(MOST_UNCOUNTED);
    let more = (more > 0).then(|| format!("{more} more do not count"));
    let items = items.iter().take(MOST_UNCOUNTED).cloned().chain(more).collect();
    Some(Block::List { items })
}

/// Of tables that show the same the one that is shorter, with as many columns as there is room for.
fn chosen(blocks: &[Block], page: Page) -> Vec<Block> {
    let cells = |block: &Block| matches!(block, Block::Table(table) if is_of_cells(table));
    let is_table = |block: &Block| matches!(block, Block::Table(_));
    let long = |block: &Block| matches!(block, Block::Table(table) if table.rows.len() > MOST_ROWS);
    let has_cells = blocks.iter().any(cells);
    let by_factors = has_cells
        && blocks.iter().any(|block| cells(block) && long(block))
        && blocks.iter().any(|block| is_table(block) && !cells(block));
    let is_shown = |block: &&Block| match block {
        Block::Table(_) if has_cells => cells(block) != by_factors,
        Block::Figure(_) => false,
        _ => true,
    };
    let shown = blocks.iter().filter(is_shown).cloned();
    let shown = shown.map(|block| match block {
        Block::Table(table) => Block::Table(fitting(table, page)),
        other => other,
    });
    shown.collect()
}

/// Whether a table has what was measured in each cell.
fn is_of_cells(table: &Table) -> bool {
    table.columns.iter().any(|column| column.name == "runs")
}

/// The table with as few as possible of its columns left out, and a caption that speaks of none of these.
fn fitting(table: Table, page: Page) -> Table {
    LEAST.iter().fold(table, |mut table, names| {
        if fits(&table, page) {
            return table;
        }
        let end = table.caption.find(" (and").or(table.caption.find(';'));
        table.caption.truncate(end.unwrap_or(table.caption.len()));
        names.iter().fold(table, |table, name| without_column(table, name))
    })
}

/// How many things are to be kept in mind and the gravest of them, and which command shows everything.
fn cautions(document: &Document, name: &str, page: Page) -> String {
    let words = document.warnings.first().map(|gravest| {
        let number = document.warnings.len() as u64;
        let the_gravest = if number > 1 { "; the gravest" } else { "" };
        format!("{}{the_gravest}: {}", counted(number, "caution"), told(gravest))
    });
    let words = words.map_or_else(String::new, |words| paragraph("", &words, page));
    words + &paragraph("", &format!("Everything else: dyno show --all {name}"), page)
}
