//! Rows of a Parquet file. It says itself how many it has, and of its groups of rows each can be read alone.

use super::{Hashed, Seen, TableFile, TableFileError};
use crate::embedded::hex;
use dyno_script::{GivenReader, GivenRows};
use parquet::errors::ParquetError;
use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::file::serialized_reader::ReadOptionsBuilder;
use parquet::record::reader::RowIter;
use parquet::record::{Field, Row};
use std::fmt;
use std::fs::File;
use std::io;
use std::path::Path;
use std::sync::Arc;

/// What is found out about a file.
pub(super) fn look(path: &Path) -> Result<Seen, TableFileError> {
    let unread = |cause| TableFileError::Read {
        path: path.to_owned(),
        cause,
    };
    let wrong = |error: ParquetError| TableFileError::Row {
        path: path.to_owned(),
        message: format!("it cannot be read as Parquet: {error}"),
    };
    let mut hashed = Hashed::of(File::open(path).map_err(unread)?);
    io::copy(&mut hashed, &mut io::sink()).map_err(unread)?;
    let reader = SerializedFileReader::new(File::open(path).map_err(unread)?).map_err(wrong)?;
    let file = reader.metadata().file_metadata();
    let columns = file.schema().get_fields().iter();
    Ok(Seen {
        rows: u64::try_from(file.num_rows()).unwrap_or_default(),
        first: columns.map(|column| column.name().to_owned()).collect(),
        places: Vec::new(),
        sha256: hashed.digest(),
    })
}

/// The rows of a file, with the numbers of their values for each column, from 1.
#[derive(Debug)]
pub(super) struct Groups {
    pub file: Arc<TableFile>,
    pub values: Box<[usize]>,
}

impl GivenRows for Groups {
    fn open(&self) -> Box<dyn GivenReader> {
        Box::new(Reading {
            file: Arc::clone(&self.file),
            values: self.values.clone(),
            rows: None,
            at: 0,
            texts: Vec::new(),
        })
    }
}

/// One reader of it.
struct Reading {
    file: Arc<TableFile>,
    values: Box<[usize]>,
    rows: Option<RowIter<'static>>,
    /// The number of the row it has read last.
    at: u64,
    texts: Vec<Option<Vec<u8>>>,
}

impl fmt::Debug for Reading {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Reading")
            .field("file", &self.file)
            .finish_non_exhaustive()
    }
}

impl Reading {
    fn said(&self, message: &dyn fmt::Display) -> String {
        format!("{}: {message}", self.file.path.display())
    }

    /// Goes to the begin of the group that has this row.
    fn seek(&mut self, row: u64) -> Result<(), ParquetError> {
        let open = || Ok::<_, ParquetError>(File::open(&self.file.path)?);
        let all = SerializedFileReader::new(open()?)?;
        let (mut before, mut first) = (0, 0);
        for group in all.metadata().row_groups() {
            let rows = u64::try_from(group.num_rows()).unwrap_or_default();
            if before + rows >= row {
                break;
            }
            before += rows;
            first += 1;
        }
        let options = ReadOptionsBuilder::new().with_predicate(Box::new(move |_, group| group >= first));
        let from_there = SerializedFileReader::new_with_options(open()?, options.build())?;
        self.rows = Some(RowIter::from_file_into(Box::new(from_there)));
        self.at = before;
        Ok(())
    }
}

impl GivenReader for Reading {
    fn read(&mut self, row: u64) -> Result<(), String> {
        // A batch seldom begins far behind the end of another.
        if self.rows.is_none() || self.at >= row || row - self.at > 100_000 {
            self.seek(row).map_err(|error| self.said(&error))?;
        }
        let mut read: Option<Row> = None;
        while self.at < row {
            let next = self.rows.as_mut().and_then(Iterator::next);
            let next = next.ok_or_else(|| self.said(&"the file ends before this row"))?;
            read = Some(next.map_err(|error| self.said(&error))?);
            self.at += 1;
        }
        let Some(read) = read else { return Ok(()) };
        let fields: Vec<&Field> = read.get_column_iter().map(|(_, field)| field).collect();
        let of = |number: &usize| fields.get(number.checked_sub(1)?).and_then(|field| text(field));
        self.texts = self.values.iter().map(of).collect();
        Ok(())
    }

    fn value(&self, column: usize) -> Option<&[u8]> {
        self.texts.get(column)?.as_deref()
    }
}

/// A value as databases read it; `None` for NULL.
fn text(field: &Field) -> Option<Vec<u8>> {
    Some(match field {
        Field::Null => return None,
        Field::Str(text) => text.clone().into_bytes(),
        Field::Bool(is) => if *is { "1" } else { "0" }.into(),
        Field::Bytes(bytes) => format!("\\x{}", hex(bytes.data())).into_bytes(),
        Field::Group(_) | Field::ListInternal(_) | Field::MapInternal(_) => {
            field.to_json_value().to_string().into_bytes()
        }
        other => other.to_string().into_bytes(),
    })
}
