//! A document as Markdown, for a repository or a blog: text, tables, and pictures that lie beside it.

use crate::document::model::{Block, Document, Part, Section, Table, Value};
use crate::document::table::for_people;
use crate::figures::{counted, in_unit};
use std::fmt::Write;

/// The paper of `document`. `picture` gives the address of a figure's picture by its id, relative to the paper;
/// `None`: there is none.
#[must_use]
pub fn paper(document: &Document, picture: impl Fn(&str) -> Option<String>) -> String {
    let mut paper = format!("# {}\n\n", text(&document.title));
    if let Some(answer) = &document.answer {
        paragraph(&mut paper, &format!("**{}**", text(answer)));
    }
    if let Some(question) = &document.question {
        paragraph(&mut paper, &format!("*{}*", text(question)));
    }
    for headline in &document.headlines {
        let parts = [&headline.subject, &headline.interval].map(|part| text(part));
        let of = if parts[0].is_empty() {
            String::new()
        } else {
            format!("{}: ", parts[0])
        };
        let interval = if parts[1].is_empty() {
            String::new()
        } else {
            format!(" ({})", parts[1])
        };
        paragraph(
            &mut paper,
            &format!(
                "**{of}{}**{interval}. {}",
                text(&headline.figure),
                text(&headline.verdict)
            ),
        );
    }
    let (setup, answered): (Vec<_>, Vec<_>) = document
        .sections
        .iter()
        .partition(|section| section.part == Part::Setup);
    for section in answered {
        chapter(&mut paper, section, 2, &picture);
    }
    if !document.warnings.is_empty() {
        let all = counted(document.warnings.len() as u64, "caution");
        // Writing to a String cannot fail.
        let _ = writeln!(paper, "> **Keep in mind: {all}, the gravest first**\n>");
        for warning in &document.warnings {
            let of = if warning.subject.is_empty() {
                String::new()
            } else {
                format!("{}: ", text(&warning.subject))
            };
            let _ = writeln!(paper, "> - {of}{}", text(&warning.text));
        }
        paper.push('\n');
    }
    for section in setup {
        chapter(&mut paper, section, 2, &picture);
    }
    if !document.definitions.is_empty() {
        paper.push_str("## Definitions\n\n");
        for definition in &document.definitions {
            let _ = writeln!(paper, "- **{}**: {}", text(&definition.term), text(&definition.meaning));
        }
        paper.push('\n');
    }
    let _ = writeln!(
        paper,
        "Made by dyno {}, {}.",
        text(&document.dyno_version),
        text(&document.created)
    );
    paper
}

/// An answer with the table that it rests on, as a part of a page of others.
pub(crate) fn in_short(title: &str, answer: &str, rows: &Table) -> String {
    let mut part = format!("## {}\n\n", text(title));
    paragraph(&mut part, &format!("**{}**", text(answer)));
    table(&mut part, rows);
    part
}

fn chapter(paper: &mut String, section: &Section, level: usize, picture: &impl Fn(&str) -> Option<String>) {
    let _ = write!(paper, "{} {}\n\n", "#".repeat(level.min(6)), text(&section.title));
    for block in &section.blocks {
        match block {
            Block::Text { text: words } => paragraph(paper, &text(words)),
            Block::List { items } => {
                items
                    .iter()
                    .for_each(|item| paper.push_str(&format!("- {}\n", text(item))));
                paper.push('\n');
            }
            Block::Code { caption, text: lines } => code(paper, caption, lines),
            Block::Table(rows) => table(paper, rows),
            Block::Figure(figure) => match picture(&figure.id) {
                Some(address) => {
                    let _ = write!(paper, "![{}]({address})\n\n", text(&figure.title));
                    paragraph(
                        paper,
                        &format!("**{}.** {}", text(&figure.title), text(&figure.caption)),
                    );
                }
                // Without its picture a figure is its table.
                None => {
                    paragraph(
                        paper,
                        &format!("**{}.** {}", text(&figure.title), text(&figure.caption)),
                    );
                    figure.table.iter().for_each(|rows| table(paper, rows));
                }
            },
        }
    }
    for caution in &section.cautions {
        paragraph(paper, &format!("> {}", text(caution)));
    }
    for section in &section.sections {
        chapter(paper, section, level + 1, picture);
    }
}

fn paragraph(paper: &mut String, words: &str) {
    paper.push_str(words.trim());
    paper.push_str("\n\n");
}

/// Lines as they stand, within a fence that is longer than any in them.
fn code(paper: &mut String, caption: &str, lines: &str) {
    let longest = lines
        .split(|character| character != '`')
        .map(str::len)
        .max()
        .unwrap_or(0);
    let fence = "`".repeat(longest.max(2) + 1);
    paragraph(paper, &format!("{}:", text(caption)));
    let _ = write!(paper, "{fence}\n{lines}\n{fence}\n\n");
}

fn table(paper: &mut String, table: &Table) {
    let table = for_people(table);
    if !table.caption.is_empty() {
        paragraph(paper, &format!("{}:", text(&table.caption)));
    }
    let heading = table.columns.iter().map(|column| match column.unit.as_str() {
        "" => text(&column.name),
        unit => format!("{} ({})", text(&column.name), text(unit)),
    });
    row(paper, heading);
    row(
        paper,
        table
            .columns
            .iter()
            .map(|column| if column.numeric { "--:" } else { "---" }.to_owned()),
    );
    for (place, values) in table.rows.iter().enumerate() {
        let cells = values.iter().zip(&table.columns).map(|(of, column)| {
            let told = value(of, &column.unit);
            match column {
                _ if column.best.contains(&place) => format!("**{told}**"),
                _ if column.worst.contains(&place) => format!("*{told}*"),
                _ => told,
            }
        });
        row(paper, cells);
    }
    paper.push('\n');
    if table.columns.iter().any(|column| !column.best.is_empty()) {
        paragraph(paper, BEST);
    }
}

/// What marks mean.
const BEST: &str = "The best of each kind is bold, the worst italic.";

fn row(paper: &mut String, values: impl Iterator<Item = String>) {
    paper.push('|');
    values.for_each(|value| paper.push_str(&format!(" {value} |")));
    paper.push('\n');
}

fn value(value: &Value, unit: &str) -> String {
    match value {
        Value::Nothing(()) => "–".to_owned(),
        Value::Number(number) => in_unit(*number, unit),
        Value::Text(words) => text(words),
    }
}

/// Foreign text on one line, in which nothing is taken for Markdown or HTML.
pub(crate) fn text(words: &str) -> String {
    let mut result = String::with_capacity(words.len());
    for character in words.chars() {
        match character {
            '\\' | '`' | '*' | '_' | '[' | ']' | '#' | '|' | '~' => result.extend(['\\', character]),
            '<' => result.push_str("&lt;"),
            '>' => result.push_str("&gt;"),
            '&' => result.push_str("&amp;"),
            character if character.is_control() => result.push(' '),
            character => result.push(character),
        }
    }
    result
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::document::model::{Caution, Column, Figure, FigureData, Headline, Timeline};

    fn document() -> Document {
        let rows = Table {
            caption: "Cells".to_owned(),
            columns: vec![
                Column {
                    name: "factor".to_owned(),
                    ..Column::default()
                },
                Column {
                    name: "mean".to_owned(),
                    unit: "TPS".to_owned(),
                    numeric: true,
                    ..Column::default()
                },
            ],
            rows: vec![
                vec![Value::Text("a|b <b>".to_owned()), Value::Number(12_345.6)],
                vec![Value::Text("*".to_owned()), Value::Nothing(())],
            ],
        };
        let figure = Figure {
            id: "tps-1".to_owned(),
            title: "Throughput of update".to_owned(),
            caption: "TPS 10 to 20.".to_owned(),
            data: FigureData::Timeline(Timeline::default()),
            table: Some(rows.clone()),
        };
        let section = Section {
            id: "results".to_owned(),
            title: "Results".to_owned(),
            blocks: vec![
                Block::Text {
                    text: "All with x = 1.".to_owned(),
                },
                Block::Table(rows),
                Block::Figure(figure),
                Block::Code {
                    caption: "A script".to_owned(),
                    text: "select 1; -- ```".to_owned(),
                },
                Block::List {
                    items: vec!["one".to_owned(), "two".to_owned()],
                },
            ],
            ..Section::default()
        };
        Document {
            title: "Updates".to_owned(),
            answer: Some("8 clients are 7 % faster than 4 <b>*on* pk_update</b>.".to_owned()),
            question: Some("How many?".to_owned()),
            created: "2026-11-22T06:00:00Z".to_owned(),
            dyno_version: "0.1.0".to_owned(),
            headlines: vec![Headline {
                subject: "update".to_owned(),
                figure: "12,346 TPS".to_owned(),
                interval: "12,100 to 12,590".to_owned(),
                verdict: "Steady.".to_owned(),
            }],
            warnings: vec![Caution {
                subject: "all 3 runs".to_owned(),
                text: "Only 5 intervals.".to_owned(),
                ..Caution::default()
            }],
            sections: vec![section],
            ..Document::default()
        }
    }

    #[test]
    fn a_paper_with_pictures() {
        insta::assert_snapshot!(paper(&document(), |id| Some(format!("figures/{id}.svg"))));
    }

    #[test]
    fn without_pictures_figures_are_their_tables() {
        let paper = paper(&document(), |_| None);
        assert!(!paper.contains("!["));
        assert_eq!(paper.matches("| a\\|b &lt;b&gt; | 12,346 |").count(), 2);
    }
}
