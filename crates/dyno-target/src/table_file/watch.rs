//! Sees to it that what the reader of separated values lets pass does not go unnoticed: a quote that is left open takes
//! in the rows behind it, and a row without an end all of memory.

use std::io::{self, ErrorKind, Read, Seek, SeekFrom};

/// No row is longer than this, in bytes.
pub(super) const MOST_ROW_BYTES: u64 = 64 << 20;

/// The mark of UTF-8 that some programs write before the first row.
const MARK: [u8; 3] = [0xef, 0xbb, 0xbf];

/// Where in a row the last byte was.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the begin of a file, with so many bytes of the mark before it.
    Mark(usize),
    /// At the begin of a value.
    Begin,
    /// In a value without quotes.
    Plain,
    /// In a value with quotes.
    Quoted,
    /// Behind a quote that ends a value, unless another follows.
    Closing,
}

/// A file of separated values.
#[derive(Debug)]
pub(super) struct Watched<R> {
    file: R,
    delimiter: u8,
    state: State,
    line: u64,
    /// The line in which the value with quotes began.
    quoted_from: u64,
    /// The line in which the row began, and how long it is so far.
    row_from: u64,
    row_bytes: u64,
    sought_line: u64,
}

impl<R> Watched<R> {
    /// At the begin of a file.
    pub fn new(file: R, delimiter: u8) -> Self {
        Self {
            file,
            delimiter,
            state: State::Mark(0),
            line: 1,
            quoted_from: 1,
            row_from: 1,
            row_bytes: 0,
            sought_line: 1,
        }
    }

    /// In it, before a row that begins in this line, as soon as it is sought.
    pub fn at(file: R, delimiter: u8, line: u64) -> Self {
        Self {
            sought_line: line,
            ..Self::new(file, delimiter)
        }
    }

    /// The file.
    pub fn into_inner(self) -> R {
        self.file
    }

    fn see(&mut self, bytes: &[u8]) -> Result<(), String> {
        for byte in bytes {
            self.row_bytes += 1;
            self.state = match (self.state, *byte) {
                (State::Mark(seen), byte) if MARK.get(seen) == Some(&byte) => State::Mark(seen + 1),
                (State::Quoted, b'"') => State::Closing,
                (State::Quoted, b'\n') => {
                    self.line += 1;
                    State::Quoted
                }
                (State::Quoted, _) => State::Quoted,
                (State::Closing, b'"') => State::Quoted,
                (_, b'\r') => State::Begin,
                (_, b'\n') => {
                    self.line += 1;
                    (self.row_from, self.row_bytes) = (self.line, 0);
                    State::Begin
                }
                (_, byte) if byte == self.delimiter => State::Begin,
                (State::Begin | State::Mark(0 | 3), b'"') => {
                    self.quoted_from = self.line;
                    State::Quoted
                }
                (State::Closing, _) => {
                    return Err(format!(
                        "line {}: something follows the quote that ends the value which begins there; a quote inside \
                         of a value is written twice",
                        self.quoted_from
                    ));
                }
                (State::Begin | State::Plain | State::Mark(_), _) => State::Plain,
            };
        }
        match self.row_bytes > MOST_ROW_BYTES {
            true => Err(match self.state {
                State::Quoted => self.open_quote(),
                _ => too_long(self.row_from),
            }),
            false => Ok(()),
        }
    }

    fn open_quote(&self) -> String {
        format!(
            "line {}: the quote that begins a value there has no end",
            self.quoted_from
        )
    }
}

/// What is said of a row that is too long.
pub(super) fn too_long(line: u64) -> String {
    format!(
        "line {line}: the row is longer than {} MB; are its lines ended otherwise, or the values separated by another \
         character?",
        MOST_ROW_BYTES >> 20
    )
}

/// An error whose text has its own line in it.
pub(super) fn told(text: String) -> io::Error {
    io::Error::new(ErrorKind::InvalidData, text)
}

impl<R: Read> Read for Watched<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        if read == 0 && self.state == State::Quoted {
            return Err(told(self.open_quote()));
        }
        self.see(&buffer[..read]).map_err(told)?;
        Ok(read)
    }
}

impl<R: Seek> Seek for Watched<R> {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        // The reader may have looked at the begin of the file before.
        (self.state, self.row_bytes) = (State::Begin, 0);
        (self.line, self.row_from) = (self.sought_line, self.sought_line);
        self.file.seek(to)
    }
}
