//! What the columns of sampled files mean: `server.meanings.json` beside `server.csv`, and so on.
//!
//! Archives of earlier dynos have no such files, and their columns bear the names that dyno's samplers for Linux and
//! PostgreSQL gave them. These names are here, and nowhere else among what reads archives.

use crate::append::AppendFile;
use crate::{ArchiveError, FORMAT, read_json};
use dyno_record::{Meaning, Series, WaitKind};
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
            let file = csv.file_name().unwrap_or_default();
            let known = EARLIER.iter().find(|(name, _)| file == *name);
            let columns = known.map_or(&[][..], |(_, columns)| columns);
            columns.iter().for_each(|(column, meaning)| add(*meaning, column));
        }
    }
    found
}

/// The columns of a file with their meanings. Of several with one meaning, the first that is there counts.
type Columns = &'static [(&'static str, Meaning)];

/// The columns of earlier archives, by file.
const EARLIER: [(&str, Columns); 3] = [
    (
        "host.csv",
        &[
            ("cpu_user_share", Meaning::CpuUserShare),
            ("cpu_system_share", Meaning::CpuSystemShare),
            ("cpu_iowait_share", Meaning::CpuIowaitShare),
            ("cpu_steal_share", Meaning::CpuStealShare),
            ("cpu_idle_share", Meaning::CpuIdleShare),
            ("dyno_cpu_s", Meaning::DynoCpuS),
            ("server_cpu_s", Meaning::ServerCpuS),
            ("other_cpu_s", Meaning::OtherCpuS),
            ("pressure_cpu_some_us", Meaning::CpuPressureUs),
            ("pressure_io_some_us", Meaning::IoPressureUs),
            ("pressure_memory_some_us", Meaning::MemoryPressureUs),
            ("disk_read_bytes", Meaning::DiskReadBytes),
            ("disk_written_bytes", Meaning::DiskWrittenBytes),
            ("disk_busy_share", Meaning::DiskBusyShare),
            ("net_received_bytes", Meaning::NetReceivedBytes),
            ("net_sent_bytes", Meaning::NetSentBytes),
            ("memory_available_bytes", Meaning::MemoryAvailableBytes),
            ("memory_dirty_bytes", Meaning::MemoryDirtyBytes),
            ("swap_out_bytes", Meaning::SwapOutBytes),
            ("runqueue_wait_s", Meaning::RunQueueS),
            ("involuntary_switches", Meaning::InvoluntarySwitches),
            ("throttled_s", Meaning::ThrottledS),
            ("server_stopped", Meaning::ServerStopped),
        ],
    ),
    (
        "server.csv",
        &[
            ("wal_position_bytes", Meaning::LogBytes),
            ("pg_stat_wal.wal_fpi", Meaning::LogPageImages),
            (
                "pg_stat_checkpointer.buffers_written",
                Meaning::PagesWrittenByCheckpoints,
            ),
            (
                "pg_stat_bgwriter.buffers_checkpoint",
                Meaning::PagesWrittenByCheckpoints,
            ),
            ("pg_stat_bgwriter.buffers_clean", Meaning::PagesWrittenByBackground),
            ("pg_stat_bgwriter.buffers_backend", Meaning::PagesWrittenBySessions),
            ("pg_stat_io.client_backend.writes", Meaning::PagesWrittenBySessions),
            ("pg_stat_database.blks_read", Meaning::PagesRead),
            ("sessions.active", Meaning::SessionsActive),
            ("sessions.idle_in_transaction", Meaning::SessionsIdleInTransaction),
            ("locks.waiting", Meaning::SessionsWaitingForLocks),
            ("replication.lag_bytes", Meaning::StandbyLagBytes),
        ],
    ),
    (
        "statements.csv",
        &[
            ("calls", Meaning::Calls),
            ("total_exec_time", Meaning::ExecutionMs),
            ("total_time", Meaning::ExecutionMs),
            ("rows", Meaning::Rows),
            ("shared_blks_hit", Meaning::StatementPagesHit),
            ("shared_blks_read", Meaning::StatementPagesRead),
            ("shared_blks_dirtied", Meaning::StatementPagesDirtied),
            ("wal_records", Meaning::StatementLogRecords),
            ("wal_fpi", Meaning::StatementLogPageImages),
            ("wal_bytes", Meaning::StatementLogBytes),
        ],
    ),
];

/// What a wait was for in archives that do not say so: by the names of PostgreSQL's documentation, "Wait Event
/// Tables", of versions 9.6 to 18.
pub(crate) fn earlier_wait_kind(class: &str, event: &str) -> WaitKind {
    match (class, event) {
        ("CPU", _) => WaitKind::None,
        ("Lock", "transactionid" | "tuple") => WaitKind::Row,
        ("Lock", _) => WaitKind::Lock,
        ("IPC", "SyncRep") => WaitKind::Standby,
        ("IO", event) if event.starts_with("WAL") || event == "WalSync" || event == "WalWrite" => WaitKind::Log,
        ("LWLock" | "LWLockNamed" | "LWLockTranche", event) if event.to_ascii_lowercase().starts_with("wal") => {
            WaitKind::Log
        }
        ("IO", event) if event.starts_with("DataFile") => WaitKind::Data,
        _ => WaitKind::Other,
    }
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
