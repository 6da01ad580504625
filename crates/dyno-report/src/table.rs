//! Tables and paragraphs: columns set apart by space alone, numbers to the right, and lines that fit a page.

use comfy_table::presets::NOTHING;
use comfy_table::{CellAlignment, ColumnConstraint, ContentArrangement, Table, Width};
use unicode_width::UnicodeWidthStr;

/// How wide text is, in columns of a terminal.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Page(usize);

/// Narrower lines would be broken so often that nobody could read them.
const NARROWEST: usize = 50;
/// Wider ones are not read with ease.
const WIDEST: usize = 120;
/// Lists, and all else that does not ask how wide it is shown, are no wider than this.
pub(crate) const WIDTH: usize = 100;
/// Between columns.
const GAP: usize = 2;
/// Everything below a heading is set in by this.
pub(crate) const INDENT: &str = "  ";

impl Default for Page {
    /// That of a terminal of the usual size, for text that is shown on none.
    fn default() -> Self {
        Self(80)
    }
}

impl Page {
    /// A page for a terminal with so many columns.
    #[must_use]
    pub fn new(columns: usize) -> Self {
        Self(columns.clamp(NARROWEST, WIDEST))
    }

    /// Its width.
    pub(crate) fn columns(self) -> usize {
        self.0
    }

    /// Lines with those broken between words that are wider, without the last line's end.
    #[must_use]
    pub fn wrapped(self, lines: &str) -> String {
        let lines = lines.lines().map(|line| match line.width() <= self.0 {
            true => line.to_owned(),
            false => self.paragraph("", line).trim_end().to_owned(),
        });
        lines.collect::<Vec<_>>().join("\n")
    }

    /// The words of a text that have room in a line of which so many columns are `taken`.
    #[must_use]
    pub fn begin(self, text: &str, taken: usize) -> String {
        let room = self.0.saturating_sub(taken);
        if text.width() <= room {
            return text.to_owned();
        }
        let ends = text.match_indices(' ').map(|(end, _)| &text[..end]);
        let begin = ends.take_while(|begin| begin.width() < room).last();
        format!("{}…", begin.unwrap_or_default())
    }

    /// Text broken between words into lines, the first after `first` and the others set in as far.
    pub(crate) fn paragraph(self, first: &str, text: &str) -> String {
        paragraph_within(first, text, self.0)
    }

    /// A table, each line ended by a newline; a text that is too long is wrapped. A number never is, nor the words of
    /// the columns in `names`, so that these can be copied whole: columns that do not fit stand below the others. The
    /// columns whose number is in `texts` stand to the left; the first `keys` say what a row is of.
    pub(crate) fn table(
        self,
        header: &[&str],
        texts: &[usize],
        names: &[usize],
        keys: usize,
        rows: impl IntoIterator<Item = Vec<String>>,
    ) -> String {
        let rows: Vec<Vec<String>> = rows.into_iter().collect();
        let mut narrowest = self.narrowest(header, texts, names, &rows);
        let parts = match header {
            // Without a heading nobody would know what a part of it is.
            [] => vec![self.together(&mut narrowest)],
            _ => self.parts(&narrowest, keys),
        };
        let drawn = parts.iter().map(|part| {
            let rows: Vec<Vec<String>> = rows.iter().map(|row| only(row, part)).collect();
            let header: Vec<&str> = part.iter().filter_map(|column| header.get(*column).copied()).collect();
            let least: Vec<usize> = part.iter().map(|column| narrowest[*column]).collect();
            let is_text = |place: usize| texts.contains(&part[place]);
            arranged(ContentArrangement::Dynamic, self.0, &header, &is_text, &least, &rows)
        });
        drawn.collect::<Vec<_>>().join("\n")
    }

    /// Facts, one per line: name and value. A value that is too long is wrapped.
    pub(crate) fn facts(self, facts: impl IntoIterator<Item = (&'static str, String)>) -> String {
        let rows = facts.into_iter().map(|(name, value)| vec![name.to_owned(), value]);
        self.table(&[], &[0, 1], &[], 1, rows)
    }

    /// Whether all columns of such a table stand beside each other.
    pub(crate) fn fits(self, header: &[&str], texts: &[usize], names: &[usize], rows: &[Vec<String>]) -> bool {
        self.parts(&self.narrowest(header, texts, names, rows), 1).len() < 2
    }

    /// How narrow each column may become.
    fn narrowest(self, header: &[&str], texts: &[usize], names: &[usize], rows: &[Vec<String>]) -> Vec<usize> {
        // A longer word, such as a path, would leave no room for anything beside it.
        let longest = self.0 * 3 / 4;
        let words = |text: &str| text.split(' ').map(UnicodeWidthStr::width).max().unwrap_or(0);
        let of = |column: usize| {
            let cells = rows.iter().filter_map(|row| row.get(column));
            let heading = header.get(column).map_or(0, |heading| words(heading));
            match (texts.contains(&column), names.contains(&column)) {
                (true, true) => cells.map(|cell| words(cell)).fold(heading, usize::max),
                (true, false) => cells.map(|cell| words(cell)).fold(heading, usize::max).min(longest),
                (false, _) => cells.map(|cell| cell.width()).fold(heading, usize::max),
            }
        };
        let columns = rows.iter().map(Vec::len).fold(header.len(), usize::max);
        (0..columns).map(of).collect()
    }

    /// All columns, the last as narrow as there is room for: a word in it may be broken.
    fn together(self, narrowest: &mut [usize]) -> Vec<usize> {
        if let Some((last, others)) = narrowest.split_last_mut() {
            let taken: usize = others.iter().map(|other| other + GAP).sum();
            *last = (*last).min((self.0 - INDENT.len()).saturating_sub(taken)).max(1);
        }
        (0..narrowest.len()).collect()
    }

    /// The columns that stand beside each other: all of them, or else as many as fit behind the first `keys`.
    fn parts(self, narrowest: &[usize], keys: usize) -> Vec<Vec<usize>> {
        let room = self.0 - INDENT.len();
        let keys: Vec<usize> = (0..keys.min(narrowest.len())).collect();
        let mut parts = vec![keys.clone()];
        for column in keys.len()..narrowest.len() {
            let Some(part) = parts.last_mut() else { break };
            let wide = part.iter().map(|other| narrowest[*other] + GAP).sum::<usize>() + narrowest[column];
            if wide > room && part.len() > keys.len() {
                parts.push([keys.as_slice(), &[column]].concat());
            } else {
                part.push(column);
            }
        }
        parts
    }
}

/// A table as wide as a page of lists.
pub(crate) fn table(header: &[&str], texts: &[usize], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    Page(WIDTH).table(header, texts, &[], 1, rows)
}

/// A table with exactly one line per row, however wide: for names that are to be copied whole.
pub(crate) fn unbroken(header: &[&str], texts: &[usize], rows: impl IntoIterator<Item = Vec<String>>) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let is_text = |column: usize| texts.contains(&column);
    arranged(ContentArrangement::Disabled, WIDTH, header, &is_text, &[], &rows)
}

/// The same for a `page`, if it is for one: where a line would be wider, the last columns, which nobody looks for, are
/// on lines of their own below the others.
pub(crate) fn listed(
    header: &[&str],
    texts: &[usize],
    rows: impl IntoIterator<Item = Vec<String>>,
    page: Option<Page>,
) -> String {
    let rows: Vec<Vec<String>> = rows.into_iter().collect();
    let beside = |columns: usize| {
        let firsts = rows.iter().map(|row| row.iter().take(columns).cloned().collect());
        unbroken(&header[..columns], texts, firsts)
    };
    let fits = |text: &String| page.is_none_or(|page| text.lines().all(|line| line.width() <= page.0));
    let all = header.len();
    let fitting = (1..=all).rev().map(|columns| (columns, beside(columns)));
    let (columns, text) = fitting
        .into_iter()
        .find(|(_, text)| fits(text))
        .unwrap_or_else(|| (1, beside(1)));
    let (Some(page), true) = (page, columns < all) else {
        return text;
    };
    let below = |row: &[String]| {
        let told = row.iter().skip(columns).filter(|cell| !cell.is_empty());
        page.paragraph(BELOW, &told.cloned().collect::<Vec<_>>().join(", "))
    };
    let heading: Vec<String> = header.iter().map(|&name| name.to_owned()).collect();
    let lines = text.lines().zip(std::iter::once(&heading).chain(&rows));
    lines.map(|(line, row)| format!("{line}\n{}", below(row))).collect()
}

/// What stands before what is on lines of its own below the rest of its row.
const BELOW: &str = "      ";

/// Of a row the columns in `part`.
fn only(row: &[String], part: &[usize]) -> Vec<String> {
    part.iter()
        .map(|column| row.get(*column).cloned().unwrap_or_default())
        .collect()
}

fn arranged(
    arrangement: ContentArrangement,
    width: usize,
    header: &[&str],
    is_text: &dyn Fn(usize) -> bool,
    narrowest: &[usize],
    rows: &[Vec<String>],
) -> String {
    let mut table = Table::new();
    table
        .load_style(NOTHING)
        .set_content_arrangement(arrangement)
        .set_width((width - INDENT.len()) as u16)
        .set_header(header.iter().copied())
        .add_rows(rows);
    for (number, column) in table.column_iter_mut().enumerate() {
        // None around the table.
        let gap = if number == 0 { 0 } else { GAP as u16 };
        column.set_padding((gap, 0));
        if let Some(least) = narrowest.get(number) {
            column.set_constraint(ColumnConstraint::LowerBoundary(Width::Fixed(*least as u16 + gap)));
        }
        column.set_cell_alignment(if is_text(number) {
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

/// Facts on a page of lists.
pub(crate) fn facts(facts: impl IntoIterator<Item = (&'static str, String)>) -> String {
    Page(WIDTH).facts(facts)
}

/// Text broken between words into lines of at most `width`, the first after `first` and the others set in as far.
pub(crate) fn paragraph_within(first: &str, text: &str, width: usize) -> String {
    let indent = first.width();
    let mut result = first.to_owned();
    let mut column = indent;
    for (number, word) in words(text).into_iter().enumerate() {
        let length = word.width();
        if number > 0 && column + 1 + length > width {
            result.push('\n');
            result.push_str(&" ".repeat(indent));
            column = indent;
        } else if number > 0 {
            result.push(' ');
            column += 1;
        }
        result.push_str(&word);
        column += length;
    }
    result.push('\n');
    result
}

/// The words of a text; a number is one with its sign of percent.
fn words(text: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    for word in text.split_whitespace() {
        match words.last_mut() {
            Some(before) if word.starts_with('%') => *before = format!("{before} {word}"),
            _ => words.push(word.to_owned()),
        }
    }
    words
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_text_is_broken_between_words() {
        let text = Page(WIDTH).paragraph("  ! ", &"word ".repeat(40));
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
        let rows = [row("simple"), row("extended, with preparing")];
        let text = Page::default().table(&header, &[0], &[], 1, rows);
        assert_eq!(text.matches("194.4–20,000").count(), 18, "{text}");
        assert!(text.contains("cls.clients") && text.contains("cls.protocol"), "{text}");
        // What does not fit stands below, with what the rows are of.
        assert!(text.lines().all(|line| line.width() <= 80), "{text}");
        assert_eq!(text.matches("cls.protocol").count(), 3, "{text}");
        assert_eq!(text.matches("  simple").count(), 3, "{text}");
    }

    #[test]
    fn a_word_is_never_broken_and_letters_may_be_wide() {
        let word = "a-name-that-is-not-to-be-broken-anywhere";
        let rows = [vec![word.to_owned(), format!("{word} {}", "more ".repeat(30))]];
        let text = Page::default().table(&["name", "what"], &[0, 1], &[], 1, rows);
        assert_eq!(text.matches(word).count(), 2, "{text}");
        let text = Page::new(60).paragraph("- ", &"数据库 ".repeat(30));
        assert!(text.lines().all(|line| line.width() <= 60), "{text}");
        assert_eq!((Page::new(10), Page::new(500)), (Page(NARROWEST), Page(WIDEST)));
        let begin = |taken: usize| Page::new(60).begin("Waiting for the other one", taken);
        assert_eq!(
            [35, 36, 60].map(begin),
            ["Waiting for the other one", "Waiting for the other…", "…"]
        );
    }

    #[test]
    fn a_number_stays_with_its_percent_and_facts_beside_their_names() {
        let text = Page::new(50).paragraph(
            "",
            "one is faster than the other by that (+242 to +506 %, 95 %); so it is",
        );
        assert!(text.lines().all(|line| !line.trim_start().starts_with('%')), "{text}");
        let rows = ["short", &"long".repeat(20)].map(|fact| ["kind", "a-name", fact].map(str::to_owned).to_vec());
        let text = Page::new(50).table(&[], &[0, 1, 2], &[], 1, rows);
        assert_eq!(text.matches("a-name").count(), 2, "{text}");
        assert!(text.lines().next().unwrap().ends_with("short"), "{text}");
        assert!(text.lines().all(|line| line.width() <= 50), "{text}");
    }

    #[test]
    fn what_has_no_room_in_a_list_stands_below_its_row() {
        let rows = || {
            [1, 2].map(|number| {
                let answer = format!("variant {number} is faster than the other by very much");
                vec![
                    format!("2026-11-27T19-33-2{number}-duel"),
                    "complete".to_owned(),
                    "embedded:mariadb".to_owned(),
                    answer,
                ]
            })
        };
        let header = ["campaign", "runs", "target", "result"];
        let of = |page| listed(&header, &[0, 1, 2, 3], rows(), page);
        assert_eq!(of(None).lines().count(), 3);
        assert_eq!(of(Some(Page::new(120))), of(None));
        insta::assert_snapshot!(format!("{}\n{}", of(Some(Page::new(60))), of(Some(Page::new(50)))));
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
