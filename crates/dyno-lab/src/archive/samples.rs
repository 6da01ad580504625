//! `server.csv` and `host.csv`: sampled counters, wide, one row per sample.

use super::append::AppendFile;
use super::{ArchiveError, rounded};
use std::fmt::Write;
use std::path::PathBuf;
use std::time::Duration;

/// Writes one file of samples. It may be used on another thread than the run's other files.
#[derive(Debug)]
pub struct SampleWriter {
    file: AppendFile,
    columns: usize,
    row: String,
    stopped: bool,
}

impl SampleWriter {
    pub(super) fn create(path: PathBuf, columns: &[String]) -> Result<Self, ArchiveError> {
        let mut file = AppendFile::create(path)?;
        let mut header = "at_s".to_owned();
        for column in columns {
            header.push(',');
            header.push_str(&column.replace([',', '"', '\n', '\r'], "_"));
        }
        header.push('\n');
        file.append(header.as_bytes())?;
        Ok(Self {
            file,
            columns: columns.len(),
            row: String::new(),
            stopped: false,
        })
    }

    /// Writes one sample, taken `at` after the first phase began: a value per column, `None` where there was none.
    ///
    /// # Errors
    ///
    /// If it cannot be written. The error comes once; later samples are then ignored, so that sampling can go on.
    pub fn sample(&mut self, at: Duration, values: &[Option<f64>]) -> Result<(), ArchiveError> {
        if self.stopped {
            return Ok(());
        }
        self.row.clear();
        // Writing to a String cannot fail.
        let _ = write!(self.row, "{}", rounded(at.as_secs_f64()));
        for column in 0..self.columns {
            self.row.push(',');
            if let Some(value) = values.get(column).copied().flatten().filter(|value| value.is_finite()) {
                let _ = write!(self.row, "{value}");
            }
        }
        self.row.push('\n');
        let result = self.file.append(self.row.as_bytes());
        self.stopped = result.is_err();
        result
    }
}
