//! What the template sees: the document without the data of its figures, which the page carries apart.

use super::whole;
use crate::document::model::{
    Bars, Block, Document, Figure, FigureData, HeatMap, Matrix, Percentiles, Section, Sweep, Timeline,
};
use crate::document::table::for_people;
use crate::figures::in_unit;
use minijinja::HtmlEscape;
use minijinja::value::ValueKind;
use std::collections::BTreeMap;

/// The data of figures by their ids.
pub(super) type Figures<'a> = BTreeMap<&'a str, &'a FigureData>;

/// Takes the data of the figures out of `document`: a template need not see thousands of numbers.
pub(super) fn split(document: &Document) -> (Document, Figures<'_>) {
    let mut figures = Figures::new();
    let sections = document
        .sections
        .iter()
        .map(|section| without_data(section, &mut figures))
        .collect();
    let document = Document {
        sections,
        answer: document.answer.clone(),
        format: document.format,
        dyno_version: document.dyno_version.clone(),
        created: document.created.clone(),
        title: document.title.clone(),
        question: document.question.clone(),
        headlines: document.headlines.clone(),
        warnings: document.warnings.clone(),
        definitions: document.definitions.clone(),
    };
    (document, figures)
}

fn without_data<'a>(section: &'a Section, figures: &mut Figures<'a>) -> Section {
    let blocks = section.blocks.iter().map(|block| match block {
        Block::Figure(figure) => {
            figures.insert(&figure.id, &figure.data);
            Block::Figure(Figure {
                id: figure.id.clone(),
                title: figure.title.clone(),
                caption: figure.caption.clone(),
                data: emptied(&figure.data),
                table: figure.table.as_ref().map(for_people),
            })
        }
        Block::Table(table) => Block::Table(for_people(table)),
        other => other.clone(),
    });
    let blocks = blocks.collect();
    Section {
        id: section.id.clone(),
        title: section.title.clone(),
        folded: section.folded,
        detail: section.detail,
        part: section.part,
        cautions: section.cautions.clone(),
        blocks,
        sections: section
            .sections
            .iter()
            .map(|section| without_data(section, figures))
            .collect(),
    }
}

/// A figure of the same kind, with nothing in it.
fn emptied(data: &FigureData) -> FigureData {
    match data {
        FigureData::Timeline(_) => FigureData::Timeline(Timeline::default()),
        FigureData::HeatMap(_) => FigureData::HeatMap(HeatMap::default()),
        FigureData::Percentiles(_) => FigureData::Percentiles(Percentiles::default()),
        FigureData::Sweep(_) => FigureData::Sweep(Sweep::default()),
        FigureData::Bars(_) => FigureData::Bars(Bars::default()),
        FigureData::Matrix(_) => FigureData::Matrix(Matrix::default()),
    }
}

/// A value of a table as people read it: numbers as figures with this unit are written, nothing as a dash. Where there
/// is no room, names may be broken between the words that they consist of.
pub(super) fn cell(value: minijinja::Value, unit: &str, numeric: bool) -> minijinja::Value {
    let numeric = numeric || value.kind() == ValueKind::Number;
    let text = readable(value, unit);
    if numeric {
        return text.into();
    }
    let words: Vec<String> = text.split_inclusive(' ').map(word).collect();
    minijinja::Value::from_safe_string(words.concat())
}

/// A word with the space behind it. Behind a comma and the like a line may end also where spaces do not break it.
fn word(word: &str) -> String {
    if let Some(word) = word.strip_suffix(' ') {
        let end = if word.ends_with(SEPARATORS) { "<wbr> " } else { " " };
        return self::word(word) + end;
    }
    match whole::holds_together(word) {
        true => whole::in_one(word, in_parts),
        false => in_parts(word),
    }
}

/// What the words of a name end with.
const SEPARATORS: [char; 6] = ['=', '_', '-', '/', ',', '.'];

fn in_parts(word: &str) -> String {
    let parts = word.split_inclusive(SEPARATORS).flat_map(pieces);
    let parts: Vec<String> = parts.map(|part| HtmlEscape(part).to_string()).collect();
    parts.join("<wbr>")
}

/// A part of a word as it is, or in pieces if it does not end: a hash, for example.
fn pieces(text: &str) -> Vec<&str> {
    const LONGEST_WORD: usize = 24;
    if text.len() <= LONGEST_WORD || !text.is_ascii() {
        return vec![text];
    }
    let ends = (0..text.len()).step_by(LONGEST_WORD);
    ends.map(|from| &text[from..text.len().min(from + LONGEST_WORD)])
        .collect()
}

fn readable(value: minijinja::Value, unit: &str) -> String {
    match value.kind() {
        ValueKind::None | ValueKind::Undefined => "–".to_owned(),
        ValueKind::Number => f64::try_from(value).map_or_else(|_| "–".to_owned(), |number| in_unit(number, unit)),
        _ => value.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_not_measured_is_a_dash() {
        assert_eq!(readable(minijinja::Value::from(()), ""), "–");
        assert_eq!(readable(minijinja::Value::from("<b>"), ""), "<b>");
        assert_eq!(readable(minijinja::Value::from(2_500.0), "ms"), "2,500");
    }

    #[test]
    fn names_may_be_broken_between_their_words() {
        let name = cell(minijinja::Value::from("full_page=<on>"), "", false);
        assert!(name.is_safe());
        assert_eq!(name.to_string(), "full_<wbr>page=<wbr>&lt;on&gt;");
        let run = cell(
            minijinja::Value::from("001-full_page_writes=off,fsync=on-rep1"),
            "",
            false,
        );
        assert_eq!(
            run.to_string(),
            "<span class=\"whole\">001-</span>full_<wbr>page_<wbr>writes=<wbr>off,<wbr>fsync=<wbr>on-\
             <span class=\"whole\">rep1</span>"
        );
        let hash = cell(minijinja::Value::from("0123456789abcdef0123456789abcdef"), "", false);
        assert_eq!(hash.to_string(), "0123456789abcdef01234567<wbr>89abcdef");
        let option = cell(minijinja::Value::from("with --no-sampling"), "", false);
        let listed = cell(minijinja::Value::from("id = row, and more"), "", false);
        assert_eq!(listed.to_string(), "id =<wbr> row,<wbr> and more");
        assert_eq!(option.to_string(), "with <span class=\"whole\">--no-sampling</span>");
    }
}
