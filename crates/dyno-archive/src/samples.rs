//! `host.csv`, `server.csv` and the other files of what was sampled beside the load: one row or several per sample,
//! the time since the load began in the first column, and the time of day in the last.

use crate::append::AppendFile;
use crate::{ArchiveError, clock, meanings, rounded};
use dyno_record::{Series, Value};
use jiff::Timestamp;
use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

/// Writes one file of samples. It may be used on another thread than the run's other files.
#[derive(Debug)]
pub struct SampleWriter {
    file: AppendFile,
    /// When the load began; `None`: no row has the time of day.
    pub(crate) load_started: Option<Timestamp>,
    columns: usize,
    row: String,
    stopped: bool,
}

impl SampleWriter {
    /// Makes the file of `series` in a run's folder, and beside it the one that says what its columns mean, so that
    /// whoever finds the one finds the other. The load began at `load_started`.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn create(folder: &Path, series: &Series, load_started: Option<Timestamp>) -> Result<Self, ArchiveError> {
        meanings::write(folder, series)?;
        let mut file = AppendFile::create(folder.join(series.file))?;
        let mut header = "at_s".to_owned();
        for column in &series.columns {
            header.push(',');
            quote(&mut header, column);
        }
        header.push_str(",time\n");
        file.append(header.as_bytes())?;
        Ok(Self {
            file,
            load_started,
            columns: series.columns.len(),
            row: String::new(),
            stopped: false,
        })
    }

    /// Writes one row, taken `at` after the first phase began: a value per column.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The error comes once; later samples are then ignored, so that sampling can go on.
    pub fn row(&mut self, at: Duration, values: &[Value]) -> Result<(), ArchiveError> {
        if self.stopped {
            return Ok(());
        }
        self.row.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.row, "{}", rounded(at.as_secs_f64()));
        for column in 0..self.columns {
            self.row.push(',');
            match values.get(column) {
                Some(Value::Number(value)) if value.is_finite() => {
                    let _ = write!(self.row, "{}", exact(*value));
                }
                Some(Value::Text(text)) => quote(&mut self.row, text),
                _ => {}
            }
        }
        self.row.push(',');
        let time = self.load_started.and_then(|began| clock::time_of_day(began, at));
        time.into_iter()
            .for_each(|time| self.row.push_str(&clock::written(time)));
        self.row.push('\n');
        let result = self.file.append(self.row.as_bytes());
        self.stopped = result.is_err();
        result
    }
}

/// A number without digits that no counter or clock has: rounded to six decimals.
fn exact(number: f64) -> f64 {
    // A position in a log is so large that it would not survive it.
    if number.fract() == 0.0 {
        return number;
    }
    (number * 1e6).round() / 1e6
}

/// Adds a field of CSV (RFC 4180).
fn quote(row: &mut String, text: &str) {
    if text.contains([',', '"', '\n', '\r']) {
        row.push('"');
        row.push_str(&text.replace('"', "\"\""));
        row.push('"');
    } else {
        row.push_str(text);
    }
}
