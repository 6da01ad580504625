//! What the template sees: the document without the data of its figures, which the page carries apart.

use crate::document::model::{Block, Document, Figure, FigureData, Section, Timeline};
use crate::figures::in_unit;
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
                data: FigureData::Timeline(Timeline::default()),
                table: figure.table.clone(),
            })
        }
        other => other.clone(),
    });
    let blocks = blocks.collect();
    Section {
        id: section.id.clone(),
        title: section.title.clone(),
        folded: section.folded,
        detail: section.detail,
        blocks,
        sections: section
            .sections
            .iter()
            .map(|section| without_data(section, figures))
            .collect(),
    }
}

/// A value of a table as people read it: numbers as figures with this unit are written, nothing as a dash.
pub(super) fn cell(value: minijinja::Value, unit: &str) -> String {
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
        assert_eq!(cell(minijinja::Value::from(()), ""), "–");
        assert_eq!(cell(minijinja::Value::from("<b>"), ""), "<b>");
        assert_eq!(cell(minijinja::Value::from(2_500.0), "ms"), "2,500");
    }
}
