//! What came of asking the server around the load: whether checks were passed, and the rows that are kept.

use crate::plan::When;
use crate::{ArchiveError, Run};
use serde::{Deserialize, Serialize};
use std::path::Path;

/// What came of a check.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CheckResult {
    /// Its name.
    pub name: String,
    /// When it was asked.
    pub when: When,
    /// What was asked, in the database's own words.
    pub sql: String,
    /// What was expected, in words.
    pub expected: String,
    /// What was found, in words; absent if it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub found: Option<String>,
    /// Whether that is what was expected.
    pub passed: bool,
    /// Why it could not be asked.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

impl CheckResult {
    /// Why the run does not count, if this check did not pass.
    #[must_use]
    pub fn failure(&self) -> Option<String> {
        let CheckResult {
            name, when, expected, ..
        } = self;
        let found = match (&self.found, &self.error) {
            _ if self.passed => return None,
            (Some(found), _) => format!("expected {expected}, found {found}"),
            (None, Some(error)) => format!("could not be asked: {error}"),
            (None, None) => "was not asked".to_owned(),
        };
        Some(format!("the check \"{name}\" {when} the load failed: {found}"))
    }
}

/// Rows that are kept of a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputResult {
    /// Its name.
    pub name: String,
    /// When it was asked.
    pub when: When,
    /// What was asked, in the database's own words.
    pub sql: String,
    /// The file in the run's folder; absent if the server gave no rows.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<String>,
    /// How many rows there were; the file has 1,000 of them at most.
    #[serde(default)]
    pub rows: u64,
    /// Why there are none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
}

/// Rows as they were kept; NULL is an empty text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OutputTable {
    /// The names of the columns.
    pub columns: Vec<String>,
    /// The rows.
    pub rows: Vec<Vec<String>>,
}

/// Writes rows into the file `name` of a run's folder. There is no such file if that fails.
///
/// # Errors
/// It cannot be written.
pub fn write_output(
    folder: &Path,
    name: &str,
    columns: &[String],
    rows: &[Vec<Option<String>>],
) -> Result<(), ArchiveError> {
    let path = folder.join(name);
    let write = || -> csv::Result<()> {
        let mut writer = csv::WriterBuilder::new().flexible(true).from_path(&path)?;
        writer.write_record(columns)?;
        for row in rows {
            writer.write_record(row.iter().map(|value| value.as_deref().unwrap_or_default()))?;
        }
        writer.flush()?;
        Ok(())
    };
    write().map_err(|error| {
        // Half of it would be taken for all.
        let _ = std::fs::remove_file(&path);
        ArchiveError::write(&path)(error.into())
    })
}

impl Run {
    /// The rows of an output; none if they were not kept, or cannot be read.
    #[must_use]
    pub fn output(&self, output: &OutputResult) -> Option<OutputTable> {
        // A name, not a way to somewhere else.
        let name = output.file.as_deref().filter(|name| !name.contains(['/', '\\']))?;
        let mut reader = csv::ReaderBuilder::new()
            .flexible(true)
            .from_path(self.path.join(name))
            .ok()?;
        let texts = |record: &csv::StringRecord| record.iter().map(str::to_owned).collect::<Vec<_>>();
        Some(OutputTable {
            columns: texts(reader.headers().ok()?),
            rows: reader.records().map_while(Result::ok).map(|row| texts(&row)).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::RunState;

    fn check(passed: bool, found: Option<&str>, error: Option<&str>) -> CheckResult {
        CheckResult {
            name: "rows".to_owned(),
            when: When::After,
            sql: "select 7".to_owned(),
            expected: "7".to_owned(),
            found: found.map(str::to_owned),
            passed,
            error: error.map(str::to_owned),
        }
    }

    #[test]
    fn a_check_says_why_it_failed() {
        assert_eq!(check(true, Some("7"), None).failure(), None);
        assert_eq!(
            check(false, Some("8"), None).failure().unwrap(),
            "the check \"rows\" after the load failed: expected 7, found 8"
        );
        assert_eq!(
            check(false, None, Some("no such table")).failure().unwrap(),
            "the check \"rows\" after the load failed: could not be asked: no such table"
        );
    }

    #[test]
    fn rows_are_read_as_they_were_written() {
        let folder = tempfile::tempdir().unwrap();
        let run = Run {
            path: folder.path().to_owned(),
            record: Err(ArchiveError::InUse {
                path: folder.path().to_owned(),
            }),
            state: RunState::Complete,
        };
        let mut output = OutputResult {
            name: "o".to_owned(),
            when: When::Before,
            sql: "select 7".to_owned(),
            file: Some("output-o.csv".to_owned()),
            rows: 2,
            error: None,
        };
        assert_eq!(run.output(&output), None);
        let some = |text: &str| Some(text.to_owned());
        let rows = [vec![some("1"), None], vec![some("a\n\"b\""), some("")]];
        let columns = ["x".to_owned(), "y, z".to_owned()];
        write_output(folder.path(), "output-o.csv", &columns, &rows).unwrap();
        let table = run.output(&output).unwrap();
        assert_eq!(table.columns, columns);
        assert_eq!(table.rows, [["1", ""], ["a\n\"b\"", ""]]);
        output.file = Some("../output-o.csv".to_owned());
        assert_eq!(run.output(&output), None);
    }

    #[test]
    fn rows_that_cannot_all_be_written_leave_no_file() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("output-o.csv");
        std::os::unix::fs::symlink("/dev/full", &file).unwrap();
        let columns = ["x".to_owned()];
        assert!(write_output(folder.path(), "output-o.csv", &columns, &[]).is_err());
        assert!(file.symlink_metadata().is_err());
    }
}
