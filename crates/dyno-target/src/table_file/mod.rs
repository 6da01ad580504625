//! Rows of a table that stand in a file: values separated by commas, or lines with tabs as COPY and `mysqldump --tab`
//! write them.
//!
//! A file is read once to know how many rows it has, that it is whole, and where every thousandth row begins: so
//! several connections can load it at a time, each from a place of its own, with little of it in memory. What was found
//! is kept as long as dyno runs and the file has the same size and times; else it is read once more before it is
//! loaded, to see that it is still the same. After the load it is looked at again.

mod lines;
#[cfg(feature = "parquet")]
mod parquet;
mod reader;
mod watch;

use crate::embedded::hex;
use dyno_script::{GivenReader, GivenRows, Rows};
use reader::{Place, RowReader, Span};
use sha2::{Digest, Sha256};
use std::collections::HashMap;
use std::fs::{File, Metadata};
use std::io::{self, BufReader, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

/// Of so many rows one has its place noted.
const STRIDE: u64 = 1_000;

/// How a file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Layout {
    /// Values separated by a byte, in double quotes where they hold it, a quote or a line break (RFC 4180).
    Separated(u8),
    /// Values separated by tabs, with backslashes before what is special.
    Escaped,
    /// Groups of columns in Apache Parquet, for which dyno has to be built with the feature `parquet`.
    Parquet,
}

/// How a file is to be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileForm {
    /// How values stand in it.
    pub layout: Layout,
    /// Whether its first row has the names of its columns.
    pub header: bool,
    /// What stands for NULL.
    pub null: String,
}

/// A file of rows as it was when it was looked at.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TableFile {
    /// Where it is.
    pub path: PathBuf,
    /// How it is read.
    pub form: FileForm,
    /// Its rows, without that of the names.
    pub rows: u64,
    /// The SHA-256 of all its bytes, in hexadecimal.
    pub sha256: String,
}

/// Why the rows of a file cannot be had.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum TableFileError {
    #[error("cannot read {}: {cause}", path.display())]
    Read { path: PathBuf, cause: io::Error },
    #[error("{}, {message}", path.display())]
    Row { path: PathBuf, message: String },
    #[error(
        "{} is a Parquet file, which this dyno cannot read (cargo build --release --features parquet makes one that \
         can); convert it to csv", path.display()
    )]
    NoParquet { path: PathBuf },
    #[error("{} is not the file any more that it was when the campaign was planned; plan a new one", path.display())]
    Changed { path: PathBuf },
    #[error("{} was changed while it was read; run again when nobody writes to it any more", path.display())]
    Unsteady { path: PathBuf },
}

impl TableFile {
    /// Looks at a file. Gives with it what the values of its first row are: the names of its columns if it has these.
    ///
    /// # Errors
    /// It cannot be read to its end, or its rows have not the same number of values.
    pub fn look(path: &Path, form: FileForm) -> Result<(Self, Vec<String>), TableFileError> {
        let seen = Seen::of(path, &form)?;
        let file = Self {
            path: path.to_owned(),
            form,
            rows: seen.rows,
            sha256: seen.sha256.clone(),
        };
        Ok((file, seen.first.clone()))
    }

    /// Its rows for a table: for each column its name and the number of the value in the file, counted from 1.
    ///
    /// # Errors
    /// It cannot be read, or has changed since it was looked at.
    pub(crate) fn rows<'c>(
        self: &Arc<Self>,
        columns: impl IntoIterator<Item = (&'c str, &'c str)>,
    ) -> Result<Rows, TableFileError> {
        let seen = Seen::of(&self.path, &self.form)?;
        if seen.sha256 != self.sha256 {
            return Err(TableFileError::Changed {
                path: self.path.clone(),
            });
        }
        let (names, values): (Vec<&str>, Vec<&str>) = columns.into_iter().unzip();
        let file = Arc::clone(self);
        // What is no number is no value of any row.
        let values = values.iter().map(|value| value.parse().unwrap_or(0)).collect();
        #[cfg(feature = "parquet")]
        if self.form.layout == Layout::Parquet {
            return Ok(Rows::given(names, Arc::new(parquet::Groups { file, values })));
        }
        let indexed = Indexed { file, seen, values };
        Ok(Rows::given(names, Arc::new(indexed)))
    }

    /// Makes sure that it is what was read, after it was loaded.
    ///
    /// # Errors
    /// It is not.
    pub(crate) fn check_unchanged(&self) -> Result<(), TableFileError> {
        let unread = |cause| TableFileError::Read {
            path: self.path.clone(),
            cause,
        };
        let now = Stamp::of(&std::fs::metadata(&self.path).map_err(unread)?);
        match Seen::kept(&self.path, &self.form) {
            Some(seen) if seen.stamp == now && seen.sha256 == self.sha256 => Ok(()),
            _ => Err(TableFileError::Unsteady {
                path: self.path.clone(),
            }),
        }
    }

    /// Where these rows stand, in words.
    pub(crate) fn lines(&self, first: u64, last: u64) -> String {
        let name = self.path.display();
        match (self.line(first), self.line(last)) {
            (Some(first), Some(last)) if first < last => format!("{name}, lines {first} to {last}"),
            (Some(line), _) => format!("{name}, line {line}"),
            _ => name.to_string(),
        }
    }

    /// The line in which a row begins, from 1; `None`: there are no lines, or not so many.
    fn line(&self, row: u64) -> Option<u64> {
        if self.form.layout == Layout::Parquet {
            return None;
        }
        let mut reader = RowReader::new(File::open(&self.path).ok()?, self.form.layout);
        for _ in 0..u64::from(self.form.header) + row - 1 {
            reader.next().ok().filter(|is_there| *is_there)?;
        }
        line_at(&self.path, reader.place().byte).ok()
    }
}

/// The line of what stands at a place of a file, or behind the line breaks there.
fn line_at(path: &Path, byte: u64) -> io::Result<u64> {
    let mut line = 1;
    for (at, read) in (0..).zip(BufReader::with_capacity(64 << 10, File::open(path)?).bytes()) {
        match read? {
            b'\n' => line += 1,
            b'\r' => {}
            _ if at >= byte => break,
            _ => {}
        }
    }
    Ok(line)
}

/// What changes with a file's content.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Stamp {
    file: (u64, u64),
    bytes: u64,
    /// When its content and when anything of it was changed, in seconds and nanoseconds.
    changed: [(i64, i64); 2],
}

impl Stamp {
    fn of(found: &Metadata) -> Self {
        Self {
            file: (found.dev(), found.ino()),
            bytes: found.size(),
            changed: [(found.mtime(), found.mtime_nsec()), (found.ctime(), found.ctime_nsec())],
        }
    }

    /// Whether a change from now on would show: a file system's clock has coarse ticks.
    fn is_settled(&self) -> bool {
        let now = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .as_secs();
        self.changed
            .iter()
            .all(|(seconds, _)| seconds.saturating_add(2) < now.cast_signed())
    }
}

/// A file, and what decides about its rows.
type Key = (PathBuf, Layout, bool);

/// What was found out about files.
static KEPT: LazyLock<Mutex<HashMap<Key, Arc<Seen>>>> = LazyLock::new(Mutex::default);

/// What is found out by reading all of a file.
#[derive(Debug)]
struct Seen {
    rows: u64,
    first: Vec<String>,
    /// Where every [`STRIDE`]th row begins.
    places: Vec<Place>,
    sha256: String,
    stamp: Stamp,
    /// Whether it was read long enough after its last change.
    is_settled: bool,
}

impl Seen {
    /// What was found out when it was read last.
    fn kept(path: &Path, form: &FileForm) -> Option<Arc<Self>> {
        let kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.get(&(path.to_owned(), form.layout, form.header)).cloned()
    }

    fn of(path: &Path, form: &FileForm) -> Result<Arc<Self>, TableFileError> {
        let unread = |cause| TableFileError::Read {
            path: path.to_owned(),
            cause,
        };
        // A pipe gives its rows only once.
        let found = std::fs::metadata(path).map_err(unread)?;
        if !found.is_file() {
            return Err(unread(io::Error::other("it is not a regular file")));
        }
        let stamp = Stamp::of(&found);
        if let Some(kept) = Self::kept(path, form).filter(|kept| kept.is_settled && kept.stamp == stamp) {
            return Ok(kept);
        }
        let is_settled = stamp.is_settled();
        let mut seen = Self {
            rows: 0,
            first: Vec::new(),
            places: Vec::new(),
            sha256: String::new(),
            stamp,
            is_settled,
        };
        if form.layout == Layout::Parquet {
            #[cfg(feature = "parquet")]
            parquet::look(path, &mut seen)?;
            #[cfg(not(feature = "parquet"))]
            return Err(TableFileError::NoParquet { path: path.to_owned() });
        } else {
            seen.read(path, form)?;
        }
        if Stamp::of(&std::fs::metadata(path).map_err(unread)?) != stamp {
            return Err(TableFileError::Unsteady { path: path.to_owned() });
        }
        let seen = Arc::new(seen);
        let mut kept = KEPT.lock().unwrap_or_else(PoisonError::into_inner);
        kept.insert((path.to_owned(), form.layout, form.header), Arc::clone(&seen));
        Ok(seen)
    }

    /// Reads all rows.
    fn read(&mut self, path: &Path, form: &FileForm) -> Result<(), TableFileError> {
        let wrong = |message| TableFileError::Row {
            path: path.to_owned(),
            message,
        };
        let file = File::open(path).map_err(|cause| TableFileError::Read {
            path: path.to_owned(),
            cause,
        })?;
        let mut reader = RowReader::new(Hashed::of(file), form.layout);
        let mut width = None;
        let mut is_name = form.header;
        loop {
            let place = reader.place();
            if !reader.next().map_err(wrong)? {
                break;
            }
            let values = reader.width();
            if width.is_none() {
                self.first = reader.texts();
            }
            let wanted = *width.get_or_insert(values);
            if values != wanted {
                let line = line_at(path, place.byte).unwrap_or(place.line);
                return Err(wrong(format!(
                    "line {line}: it has {values} values, and the first {wanted}"
                )));
            }
            if std::mem::take(&mut is_name) {
                continue;
            }
            if self.rows.is_multiple_of(STRIDE) {
                self.places.push(place);
            }
            self.rows += 1;
        }
        self.sha256 = reader.into_inner().digest();
        Ok(())
    }
}

/// A file whose bytes are hashed as they are read.
struct Hashed {
    file: File,
    hash: Sha256,
}

impl Hashed {
    fn of(file: File) -> Self {
        Self {
            file,
            hash: Sha256::new(),
        }
    }

    fn digest(self) -> String {
        hex(&self.hash.finalize())
    }
}

impl Read for Hashed {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.file.read(buffer)?;
        self.hash.update(&buffer[..read]);
        Ok(read)
    }
}

/// A file of which it is known where rows begin.
#[derive(Debug)]
struct Indexed {
    file: Arc<TableFile>,
    seen: Arc<Seen>,
    /// For each column the number of its value, from 1.
    values: Box<[usize]>,
}

impl GivenRows for Indexed {
    fn open(&self) -> Box<dyn GivenReader> {
        Box::new(Reading {
            file: Arc::clone(&self.file),
            seen: Arc::clone(&self.seen),
            reader: None,
            at: 0,
            spans: vec![None; self.values.len()],
            values: self.values.clone(),
        })
    }
}

/// One reader of it.
#[derive(Debug)]
struct Reading {
    file: Arc<TableFile>,
    seen: Arc<Seen>,
    reader: Option<RowReader<File>>,
    /// The number of the row it has read last.
    at: u64,
    values: Box<[usize]>,
    /// Where the value of each column stands; `None` for NULL.
    spans: Vec<Option<Span>>,
}

impl Reading {
    /// The file, before the row `row` or one of the thousand before it.
    fn before(&mut self, row: u64) -> Result<&mut RowReader<File>, String> {
        let stride = (row - 1) / STRIDE;
        // What lies further ahead than its thousand is jumped to.
        let goes_on = self.reader.is_some() && self.at < row && self.at >= stride * STRIDE;
        if !goes_on {
            let place = usize::try_from(stride)
                .ok()
                .and_then(|number| self.seen.places.get(number));
            let place = place.ok_or_else(|| format!("{} has no such row", self.file.path.display()))?;
            let file = File::open(&self.file.path).map_err(|cause| self.said(&cause.to_string()))?;
            let reader = RowReader::at(file, self.file.form.layout, *place);
            self.reader = Some(reader.map_err(|cause| self.said(&cause.to_string()))?);
            self.at = stride * STRIDE;
        }
        self.reader.as_mut().ok_or_else(String::new)
    }

    fn said(&self, message: &str) -> String {
        format!("{}, {message}", self.file.path.display())
    }
}

impl GivenReader for Reading {
    fn read(&mut self, row: u64) -> Result<(), String> {
        self.before(row.max(1))?;
        while self.at < row {
            let read = self.reader.as_mut().map_or(Ok(false), RowReader::next);
            if !read.map_err(|message| self.said(&message))? {
                return Err(self.said("the file ends before it"));
            }
            self.at += 1;
        }
        let Some(reader) = &self.reader else { return Ok(()) };
        let null = self.file.form.null.as_bytes();
        for (span, number) in self.spans.iter_mut().zip(&self.values) {
            *span = reader.value(*number, null);
        }
        Ok(())
    }

    fn value(&self, column: usize) -> Option<&[u8]> {
        let span = self.spans.get(column)?.clone()?;
        self.reader.as_ref()?.bytes(span)
    }
}

#[cfg(test)]
mod tests;
