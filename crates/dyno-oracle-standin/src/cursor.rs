//! A statement that a session knows, and the rows of its last execution that are still to be fetched.

use crate::binds::Bind;
use crate::codec::Writer;
use crate::reply;
use crate::request::Known;
use crate::value::{Column, Kind, Value};
use std::collections::HashMap;
use std::sync::Arc;

/// A cursor.
#[derive(Debug, Default)]
pub(crate) struct Cursor {
    pub(crate) sql: Arc<str>,
    pub(crate) binds: Vec<Bind>,
    /// The columns that the client was last told of.
    pub(crate) described: Option<Arc<[Column]>>,
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
        self.described = Some(columns);
        self.rows = rows;
        self.sent = 0;
        is_news
    }

    /// How many rows were sent since the execution.
    pub(crate) fn sent(&self) -> usize {
        self.sent
    }

    /// Writes rows, at most so many; how many it were.
    pub(crate) fn write_rows(&mut self, writer: &mut Writer, most: usize, compress: bool) -> usize {
        let columns = self.described.as_deref().unwrap_or_default();
        let from = self.sent;
        let to = from.saturating_add(most).min(self.rows.len());
        for at in from..to {
            // The first row of a reply repeats the last of the reply before it, too.
            let before = (compress && at > 0).then(|| &self.rows[at - 1][..]);
            reply::row(writer, columns, &self.rows[at], before);
        }
        self.sent = to;
        to - from
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
