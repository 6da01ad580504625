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

/// Finds out about a file what it says itself.
pub(super) fn look(path: &Path, seen: &mut Seen) -> Result<(), TableFileError> {
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
    seen.rows = u64::try_from(file.num_rows()).unwrap_or_default();
    seen.first = columns.map(|column| column.name().to_owned()).collect();
    seen.sha256 = hashed.digest();
    Ok(())
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::table_file::{FileForm, Layout};
    use dyno_script::RowFormat;
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    /// A file of so many groups of three rows, of which the second has no name.
    fn written(groups: i64) -> tempfile::NamedTempFile {
        let kept = tempfile::NamedTempFile::new().unwrap();
        let schema = "message row { required int64 id; optional binary name (utf8); \
                      required int64 at (timestamp(micros, true)); }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let options = Arc::new(WriterProperties::default());
        let mut file = SerializedFileWriter::new(kept.reopen().unwrap(), schema, options).unwrap();
        for first in (0..groups).map(|group| 3 * group + 1) {
            let mut group = file.next_row_group().unwrap();
            let ids = [first, first + 1, first + 2];
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&ids, None, None).unwrap();
            column.close().unwrap();
            let names = [first, first + 2].map(|id| ByteArray::from(format!("a \"{id}\",\n").into_bytes()));
            let mut column = group.next_column().unwrap().unwrap();
            let are = Some(&[1_i16, 0, 1][..]);
            column.typed::<ByteArrayType>().write_batch(&names, are, None).unwrap();
            column.close().unwrap();
            let times = ids.map(|id| id * 1_000_000);
            let mut column = group.next_column().unwrap().unwrap();
            column.typed::<Int64Type>().write_batch(&times, None, None).unwrap();
            column.close().unwrap();
            group.close().unwrap();
        }
        file.close().unwrap();
        kept
    }

    fn look(path: &Path) -> Result<(TableFile, Vec<String>), TableFileError> {
        let form = FileForm {
            layout: Layout::Parquet,
            header: true,
            null: String::new(),
        };
        TableFile::look(path, form)
    }

    #[test]
    fn rows_are_read_from_any_place_of_any_group() {
        let kept = written(3);
        let (file, names) = look(kept.path()).unwrap();
        assert_eq!((file.rows, names.join(" ")), (9, "id name at".to_owned()));
        let columns = [("name", "2"), ("id", "1"), ("at", "3")];
        let rows = Arc::new(file).rows(columns).unwrap();
        let mut writer = rows.writer(RowFormat::Lines);
        for row in [9, 1, 2, 4, 8, 3] {
            let name = (row % 3 != 2).then(|| format!("a \"{row}\",\n"));
            let time = format!("1970-01-01 00:00:0{row}");
            let [read_name, id, at] = &writer.values(row).unwrap()[..] else {
                panic!("three values")
            };
            assert_eq!((read_name, id.as_deref()), (&name, Some(row.to_string().as_str())));
            assert!(at.as_deref().unwrap().starts_with(&time), "{at:?}");
        }
    }

    #[test]
    fn a_file_that_is_none_is_told() {
        let kept = written(1);
        let whole = std::fs::read(kept.path()).unwrap();
        for bytes in [&whole[..whole.len() / 2], b"", b"id,name\n1,Ann\n"] {
            std::fs::write(kept.path(), bytes).unwrap();
            let error = look(kept.path()).unwrap_err().to_string();
            assert!(error.contains("it cannot be read as Parquet"), "{error}");
        }
    }
}
