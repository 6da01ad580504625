//! A statement that a session knows, and the rows of its last execution that are still to be fetched.

use crate::binds::Bind;
use crate::codec::Writer;
use crate::rare::{Form, RareValue};
use crate::reply::RowWriter;
use crate::request::{Known, Terms};
use crate::value::{Column, Kind, Value};
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

/// A cursor.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) sql: Arc<str>,
    pub(crate) binds: Vec<Bind>,
    /// The columns that the client was last told of.
    pub(crate) described: Option<Arc<[Column]>>,
    /// In what form the client wants them, if it has said so.
    pub(crate) forms: Option<Vec<Form>>,
    rows: Arc<[Vec<Value>]>,
    sent: usize,
}

impl Cursor {
    pub(crate) fn kinds(&self) -> Vec<Kind> {
        self.binds.iter().map(|bind| bind.kind).collect()
    }

    /// Takes the rows of an execution; whether the client does not know these columns yet.
    pub(crate) fn take(&mut self, columns: Arc<[Column]>, rows: Arc<[Vec<Value>]>) -> bool {
        let is_news = self.described.as_ref() != Some(&columns);
        if is_news {
            self.forms = None;
        }
        self.described = Some(columns);
        self.rows = rows;
        self.sent = 0;
        is_news
    }

    /// How many rows were sent since the execution.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Whether rows come behind an execution, or only once the client has said how it wants them.
    pub(crate) fn comes_late(&self) -> bool {
        let columns = self.described.as_deref().unwrap_or_default();
        self.forms.is_none() && columns.iter().any(Column::comes_late)
    }

    /// The rows that are sent next, at most so many.
    fn next(&self, most: usize) -> Range<usize> {
        self.sent..self.sent.saturating_add(most).min(self.rows.len())
    }

    /// The cursors in these rows.
    fn nested(&self, most: usize) -> Vec<Cursor> {
        let values = self.rows[self.next(most)].iter().flatten();
        let cursors = values.filter_map(|value| match value {
            Value::Rare(RareValue::Cursor(columns, rows)) => Some(Self {
                described: Some(Arc::clone(columns)),
                rows: Arc::clone(rows),
                ..Self::default()
            }),
            _ => None,
        });
        cursors.collect()
    }

    /// Writes rows, at most so many, whose cursors have these numbers; how many it were.
    fn write_rows(
        &mut self,
        writer: &mut Writer,
        terms: Terms,
        most: usize,
        compress: bool,
        nested: Vec<u32>,
    ) -> usize {
        let range = self.next(most);
        let mut rows = RowWriter {
            terms,
            columns: self.described.as_deref().unwrap_or_default(),
            forms: self.forms.as_deref().unwrap_or_default(),
            nested: nested.into_iter(),
        };
        for at in range.clone() {
            // The first row of a reply repeats the last of the reply before it, too.
            let before = (compress && at > 0).then(|| &self.rows[at - 1][..]);
            rows.write(writer, &self.rows[at], before);
        }
        self.sent = range.end;
        range.len()
    }
}

/// The cursors of a session.
#[derive(Debug, Default)]
pub(crate) struct Cursors {
    open: HashMap<u32, Cursor>,
    last: u32,
}

impl Cursors {
    /// A new cursor's number.
    pub(crate) fn open(&mut self) -> u32 {
        self.last += 1;
        self.open.insert(self.last, Cursor::default());
        self.last
    }

    pub(crate) fn close(&mut self, cursor: u32) {
        self.open.remove(&cursor);
    }

    /// Writes rows of a cursor, at most so many; how many it were. The cursors in them are opened.
    pub(crate) fn write_rows(
        &mut self,
        number: u32,
        writer: &mut Writer,
        terms: Terms,
        most: usize,
        compress: bool,
    ) -> usize {
        let nested = self
            .open
            .get(&number)
            .map_or_else(Vec::new, |cursor| cursor.nested(most));
        let mut numbers = Vec::new();
        for cursor in nested {
            let number = self.open();
            self.open.insert(number, cursor);
            numbers.push(number);
        }
        match self.open.get_mut(&number) {
            Some(cursor) => cursor.write_rows(writer, terms, most, compress, numbers),
            None => 0,
        }
    }

    pub(crate) fn get(&mut self, cursor: u32) -> Option<&mut Cursor> {
        self.open.get_mut(&cursor)
    }
}

impl Known for Cursors {
    fn binds(&self, cursor: u32) -> Option<(&[Bind], bool)> {
        let cursor = self.open.get(&cursor)?;
        Some((&cursor.binds, cursor.described.is_some()))
    }
}
