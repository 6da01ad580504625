//! What the columns of sampled files mean: `server.meanings.json` beside `server.csv`, and so on.
//!
//! Archives of earlier dynos have no such files.

use crate::append::AppendFile;
use crate::{ArchiveError, FORMAT, earlier, read_json};
use dyno_record::{Meaning, Series};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, HashMap};
use std::path::{Path, PathBuf};

/// The content of the file.
#[derive(Serialize, Deserialize)]
struct Declared<C> {
    format: u32,
    /// Columns by meaning.
    columns: C,
}

/// Where it is said what the columns of a CSV file mean.
fn path_of(csv: &Path) -> PathBuf {
    csv.with_extension("meanings.json")
}

/// Writes what the columns of `series` mean, if that is known of any.
pub(crate) fn write(folder: &Path, series: &Series) -> Result<(), ArchiveError> {
    if series.meanings.is_empty() {
        return Ok(());
    }
    let declared = Declared {
        format: FORMAT,
        columns: &series.meanings,
    };
    // Names into memory: there is nothing that could fail.
    let mut text = serde_json::to_vec_pretty(&declared).unwrap_or_default();
    text.push(b'\n');
    // Not synced, as the load runs already.
    AppendFile::create(path_of(&folder.join(series.file)))?.append(&text)
}

/// The places of the columns of the CSV file `csv` by what they mean: as is said beside it, or else by the names that
/// earlier dynos gave them.
#[must_use]
pub fn columns_by_meaning<'a>(csv: &Path, header: impl IntoIterator<Item = &'a str>) -> HashMap<Meaning, usize> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    for (place, name) in header.into_iter().enumerate() {
        places.entry(name).or_insert(place);
    }
    let mut found = HashMap::new();
    let mut add = |meaning, column: &str| {
        if let Some(place) = places.get(column) {
            found.entry(meaning).or_insert(*place);
        }
    };
    // There may be meanings that only a later dyno knows.
    match read_json::<Declared<BTreeMap<String, String>>>(&path_of(csv)) {
        Ok(declared) => {
            for (meaning, column) in &declared.columns {
                Meaning::named(meaning)
                    .into_iter()
                    .for_each(|meaning| add(meaning, column));
            }
        }
        Err(_) => {
            let known = earlier::columns(csv).iter();
            known.for_each(|(column, meaning)| add(*meaning, column));
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_declared_is_found_whatever_the_columns_are_called() {
        let folder = tempfile::tempdir().unwrap();
        let series = Series::new("server.csv", ["x", "wal_position_bytes"]).meaning([("x", Meaning::LogBytes)]);
        write(folder.path(), &series).unwrap();
        let csv = folder.path().join("server.csv");
        let header = ["at_s", "x", "wal_position_bytes"];
        assert_eq!(
            columns_by_meaning(&csv, header),
            HashMap::from([(Meaning::LogBytes, 1)])
        );
        // A later dyno knows more meanings.
        let later = "{\"format\":1,\"columns\":{\"tea_leaves\":\"x\",\"pages_read\":\"x\",\"calls\":\"gone\"}}";
        std::fs::write(path_of(&csv), later).unwrap();
        assert_eq!(
            columns_by_meaning(&csv, header),
            HashMap::from([(Meaning::PagesRead, 1)])
        );
    }

    #[test]
    fn earlier_archives_are_known_by_their_names() {
        let columns = |file: &str, header: &[&str]| columns_by_meaning(Path::new(file), header.iter().copied());
        let both = [
            "at_s",
            "pg_stat_io.client_backend.writes",
            "pg_stat_bgwriter.buffers_backend",
        ];
        let expected = HashMap::from([(Meaning::PagesWrittenBySessions, 2)]);
        assert_eq!(columns("server.csv", &both), expected);
        assert_eq!(columns("host.csv", &both), HashMap::new());
        assert_eq!(columns("waits.csv", &both), HashMap::new());
    }

    #[test]
    fn a_series_that_means_nothing_to_anybody_leaves_no_file() {
        let folder = tempfile::tempdir().unwrap();
        write(folder.path(), &Series::new("processes.csv", ["pid"])).unwrap();
        assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 0);
    }
}
