//! Sections and blocks, in fewer words.

use super::model::{Block, Detail, Figure, Part, Section, Table};
use super::table::without_empty_columns;

/// A section that is open.
pub(super) fn section(id: impl Into<String>, title: impl Into<String>, blocks: Vec<Block>) -> Section {
    Section {
        id: id.into(),
        title: title.into(),
        blocks,
        ..Section::default()
    }
}

/// A section that is left out where there is no room for everything.
pub(super) fn in_full(section: Section) -> Section {
    Section {
        detail: Detail::Full,
        ..section
    }
}

/// A section that shows what is answered.
pub(super) fn in_answer(section: Section) -> Section {
    Section {
        part: Part::Answer,
        ..section
    }
}

/// A section that says how it was measured.
pub(super) fn in_setup(section: Section) -> Section {
    Section {
        part: Part::Setup,
        ..section
    }
}

/// A paragraph.
pub(super) fn paragraph(text: impl Into<String>) -> Block {
    Block::Text { text: text.into() }
}

/// A list; nothing if it is empty.
pub(super) fn list(items: Vec<String>) -> Option<Block> {
    (!items.is_empty()).then_some(Block::List { items })
}

/// Something that is shown as it stands.
pub(super) fn code(caption: impl Into<String>, text: impl Into<String>) -> Block {
    Block::Code {
        caption: caption.into(),
        text: text.into(),
    }
}

/// A table with the columns that say anything; nothing if it has no row.
pub(super) fn table(table: Table) -> Option<Block> {
    (!table.rows.is_empty()).then(|| Block::Table(without_empty_columns(table)))
}

/// A figure, if there is one.
pub(super) fn figure(figure: Option<Figure>) -> Option<Block> {
    figure.map(Block::Figure)
}
