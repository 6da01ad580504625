//! Tables: columns set apart by space alone, numbers to the right.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};

/// No line of text is wider than this, so that it can be pasted anywhere.
pub(crate) const WIDTH: usize = 100;
/// A longer word of a text may be broken.
const WIDEST_WORD: usize = 20;
/// Everything below a heading is set in by this.
pub(crate) const INDENT: &str = "  ";

/// A table as wide as a page, each line ended by a newline; a text that is too long is wrapped. A number never is:
/// where there are too many, the table is wider. The columns whose number is in `texts` stand to the left.
pub(crate) fn table(header: &[&str], texts: &[usize], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    with_names(header, texts, &[], rows)
}

/// The same with the columns in `names`, whose words are not broken either, so that they can be copied whole.
pub(crate) fn with_names(
    header: &[&str],
    texts: &[usize],
    names: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    arranged(ContentArrangement::Dynamic, header, texts, names, rows)
}

/// A table with exactly one line per row, however wide: for names that are to be copied whole.
pub(crate) fn unbroken(header: &[&str], texts: &[usize], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    arranged(ContentArrangement::Disabled, header, texts, &[], rows)
}

fn arranged(
    arrangement: ContentArrangement,
    header: &[&str],
    texts: &[usize],
    names: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let narrowest = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let words = |text: &str| text.split(' ').map(|word| word.chars().count()).max().unwrap_or(0);
        let heading = header.get(column).map_or(0, |heading| words(heading));
        if texts.contains(&column) {
            let longest = cells.map(|cell| words(cell)).fold(heading, usize::max);
            if names.contains(&column) {
                longest
            } else {
                longest.min(WIDEST_WORD)
            }
        } else {
            cells.map(|cell| cell.chars().count()).fold(heading, usize::max)
        }
    };
    let columns = rows.iter().map(Vec::len).fold(header.len(), usize::max);
    let narrowest: Vec<usize> = (0..columns).map(narrowest).collect();
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(arrangement)
        .set_width((WIDTH - INDENT.len()) as u16)
        .set_header(header.iter().copied())
        .add_rows(&rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        // Two spaces between columns, none around the table.
        let gap = if number == 0 { 0 } else { 2 };
        column.set_padding((gap, 0));
        column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(
            narrowest[number] as u16 + gap,
        )));
        column.set_cell_alignment(if texts.contains(&number) {
            CellAlignment::Left
        } else {
            CellAlignment::Right
        });
    }
    let lines = table.lines().map(|line| format!("{INDENT}{}", line.trim_end()));
    lines
        .filter(|line| !line.trim().is_empty())
        .map(|line| line + "\n")
        .collect()
}

/// Facts, one per line: name and value. A value that is too long is wrapped.
pub(crate) fn facts(facts: impl IntoIterator<Item = (&'static str, String)>) -> String {
    let rows = facts.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
    table(&[], &[0, 1], rows)
}

/// Text broken between words into lines of at most [`WIDTH`], the first after `first` and the others set in as far.
pub(crate) fn paragraph(first: &str, text: &str) -> String {
    paragraph_within(first, text, WIDTH)
}

/// The same in lines of at most `width`.
pub(crate) fn paragraph_within(first: &str, text: &str, width: usize) -> String {
    let indent = first.chars().count();
    let mut result = first.to_owned();
    let mut column = indent;
    for (number, word) in text.split_whitespace().enumerate() {
        let length = word.chars().count();
        if number > 0 && column + 1 + length > width {
            result.push('\n');
            result.push_str(&" ".repeat(indent));
            column = indent;
        } else if number > 0 {
            result.push(' ');
            column += 1;
        }
        result.push_str(word);
        column += length;
    }
    result.push('\n');
    result
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_broken_between_words() {
        let text = paragraph("  ! ", &"word ".repeat(40));
        assert!(
            text.lines()
                .all(|line| line.chars().count() <= WIDTH && line.trim_start().len() > 2)
        );
        assert_eq!(text.lines().count(), 3);
        assert!(text.lines().nth(1).unwrap().starts_with("    word"));
    }

    #[test]
    fn a_number_is_never_broken() {
        let row = |text: &str| {
            let mut row = vec!["194.4–20,000".to_owned(); 9];
            row.insert(0, text.to_owned());
            row
        };
        let header = [
            "cls.protocol",
            "cls.clients",
            "TPS of all",
            "min–max",
            "CV",
            "p50 (ms)",
            "p95",
            "p99",
            "rows touched",
            "ratio",
        ];
        let text = table(&header, &[0], [row("simple"), row("extended, with preparing")]);
        assert_eq!(text.matches("194.4–20,000").count(), 18, "{text}");
        assert!(text.contains("cls.clients") && text.contains("cls.protocol"), "{text}");
    }

    #[test]
    fn a_wide_table_is_wrapped_not_cut() {
        let text = table(
            &["count", "sql"],
            &[1],
            [vec!["1,000".to_owned(), "select ".repeat(40)]],
        );
        assert!(text.lines().all(|line| line.chars().count() <= WIDTH));
        assert_eq!(text.matches("select").count(), 40);
    }
}
