//! Reads a file row by row, in either layout.

use super::Layout;
use super::lines::Line;
use super::watch::Watched;
use csv::{ByteRecord, ErrorKind, Position, ReaderBuilder};
use std::io::{self, BufReader, Read, Seek, SeekFrom};
use std::ops::Range;

/// Where a value stands among those of its row.
pub(super) type Span = Range<usize>;

/// Where a row begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Place {
    /// In bytes from the begin of the file.
    pub byte: u64,
    /// The number of its line, from 1.
    pub line: u64,
}

/// A file, and the row that was read last.
#[derive(Debug)]
pub(super) enum RowReader<R> {
    Separated {
        file: Box<csv::Reader<Watched<R>>>,
        row: ByteRecord,
    },
    Escaped {
        file: BufReader<R>,
        row: Line,
        next: Place,
    },
}

impl<R: Read> RowReader<R> {
    /// At the begin of a file.
    pub fn new(file: R, layout: Layout) -> Self {
        match layout {
            Layout::Separated(delimiter) => Self::separated(Watched::new(file, delimiter), delimiter),
            // Parquet is read by others.
            Layout::Escaped | Layout::Parquet => Self::Escaped {
                file: BufReader::with_capacity(64 << 10, file),
                row: Line::default(),
                next: Place { byte: 0, line: 1 },
            },
        }
    }

    fn separated(file: Watched<R>, delimiter: u8) -> Self {
        let mut builder = ReaderBuilder::new();
        // How many values there are is told in our own words.
        builder.has_headers(false).flexible(true).delimiter(delimiter);
        Self::Separated {
            file: Box::new(builder.from_reader(file)),
            row: ByteRecord::new(),
        }
    }

    /// Where the next row begins.
    pub fn place(&self) -> Place {
        match self {
            Self::Separated { file, .. } => {
                let position = file.position();
                Place {
                    byte: position.byte(),
                    line: position.line(),
                }
            }
            Self::Escaped { next, .. } => *next,
        }
    }

    /// Reads the next row, and says whether there is one.
    ///
    /// # Errors
    /// The line and what is wrong with it.
    pub fn next(&mut self) -> Result<bool, String> {
        let line = self.place().line;
        let said = |error: &io::Error| match error.kind() {
            // It has its line in it.
            io::ErrorKind::InvalidData => error.to_string(),
            _ => format!("line {line}: {error}"),
        };
        match self {
            Self::Separated { file, row } => file.read_byte_record(row).map_err(|error| match error.kind() {
                ErrorKind::Io(error) => said(error),
                _ => format!("line {line}: {error}"),
            }),
            Self::Escaped { file, row, next } => {
                let taken = row.read(file, line).map_err(|error| said(&error))?;
                if let Some((bytes, breaks)) = taken {
                    next.byte += bytes;
                    next.line += breaks;
                }
                Ok(taken.is_some())
            }
        }
    }

    /// How many values the row has.
    pub fn width(&self) -> usize {
        match self {
            Self::Separated { row, .. } => row.len(),
            Self::Escaped { row, .. } => row.width(),
        }
    }

    /// The values of the row as texts.
    pub fn texts(&self) -> Vec<String> {
        let values = (1..=self.width()).map(|number| {
            // Names are texts whatever they look like.
            let value = self.value(number, b"\xff").and_then(|span| self.bytes(span));
            String::from_utf8_lossy(value.unwrap_or_default()).into_owned()
        });
        values.collect()
    }

    /// Where the value of this number, from 1, stands; `None` if it is written as `null`, or not there.
    pub fn value(&self, number: usize, null: &[u8]) -> Option<Span> {
        let number = number.checked_sub(1)?;
        match self {
            Self::Separated { row, .. } => row.range(number).filter(|span| &row.as_slice()[span.clone()] != null),
            Self::Escaped { row, .. } => row.value(number, null),
        }
    }

    /// What stands there.
    pub fn bytes(&self, span: Span) -> Option<&[u8]> {
        match self {
            Self::Separated { row, .. } => row.as_slice().get(span),
            Self::Escaped { row, .. } => row.bytes().get(span),
        }
    }

    /// The file.
    pub fn into_inner(self) -> R {
        match self {
            Self::Separated { file, .. } => file.into_inner().into_inner(),
            Self::Escaped { file, .. } => file.into_inner(),
        }
    }
}

impl<R: Read + Seek> RowReader<R> {
    /// In a file, before the row that begins there.
    pub fn at(file: R, layout: Layout, place: Place) -> io::Result<Self> {
        let mut reader = match layout {
            Layout::Separated(delimiter) => Self::separated(Watched::at(file, delimiter, place.line), delimiter),
            layout => Self::new(file, layout),
        };
        match &mut reader {
            Self::Separated { file, .. } => {
                let mut position = Position::new();
                position.set_byte(place.byte).set_line(place.line);
                file.seek(position)?;
            }
            Self::Escaped { file, next, .. } => {
                file.seek(SeekFrom::Start(place.byte))?;
                *next = place;
            }
        }
        Ok(reader)
    }
}
