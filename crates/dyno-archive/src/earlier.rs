//! What archives of earlier dynos do not say: what their columns mean and what to know of their database.
//!
//! They are all of PostgreSQL on Linux, so it follows from the names of that system. These names are here, and nowhere
//! else among what reads archives.

use dyno_record::{Meaning, ServerTraits, SettingNames, WaitKind, Words};
use serde_json::Value;
use std::path::Path;

/// The columns of a file with their meanings. Of several with one meaning, the first that is there counts.
pub(crate) type Columns = &'static [(&'static str, Meaning)];

/// What the columns of a sampled file mean.
pub(crate) fn columns(csv: &Path) -> Columns {
    let file = csv.file_name().unwrap_or_default();
    let known = COLUMNS.iter().find(|(name, _)| file == *name);
    known.map_or(&[], |(_, columns)| columns)
}

/// The columns by file.
const COLUMNS: [(&str, Columns); 3] = [
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

/// What a wait was for: by the names of PostgreSQL's documentation, "Wait Event Tables", of versions 9.6 to 18.
pub(crate) fn wait_kind(class: &str, event: &str) -> WaitKind {
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

/// What is to be known of the database of a run, from what `run.json` has under `server`.
pub fn traits(server: &Value) -> ServerTraits {
    let setting = |name: &str| {
        let mut settings = server.get("settings")?.as_array()?.iter();
        let found = settings.find(|setting| setting.get("name").and_then(Value::as_str) == Some(name))?;
        found.get("value")?.as_str()
    };
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    // Settings at their defaults were not recorded.
    let cache_bytes = setting("shared_buffers").map_or(Some(128.0 * 1_048_576.0), bytes);
    ServerTraits {
        product: "PostgreSQL".to_owned(),
        words: Words {
            log: "WAL".to_owned(),
            log_in_full: "write-ahead log".to_owned(),
            page_image: "full page image".to_owned(),
            page_read: "block".to_owned(),
            page_written: "buffer".to_owned(),
            cache: "shared buffers".to_owned(),
            error_code: "SQLSTATE".to_owned(),
            waits_source: "pg_stat_activity".to_owned(),
            statements_source: "pg_stat_statements".to_owned(),
        },
        settings: SettingNames {
            cache: "shared_buffers".to_owned(),
            memory: names(&["shared_buffers", "work_mem"]),
            checkpoint_time: "checkpoint_timeout".to_owned(),
            checkpoint_log: "max_wal_size".to_owned(),
            of_checkpoints: names(&["checkpoint", "max_wal_size"]),
            of_cleaning: names(&["autovacuum"]),
            incidental: names(&[
                "port",
                "max_connections",
                "data_directory",
                "config_file",
                "hba_file",
                "ident_file",
                "unix_socket_directories",
                "listen_addresses",
                "external_pid_file",
            ]),
        },
        page_bytes: Some(8192),
        cache_bytes: cache_bytes.map(|bytes| bytes as u64),
        checkpoint_every_s: setting("checkpoint_timeout").map_or(Some(300.0), seconds),
        logs_page_images: setting("full_page_writes") != Some("off"),
    }
}

/// The names by which warnings speak of settings.
pub(crate) fn memory_settings() -> Vec<String> {
    traits(&Value::Null).settings.memory
}

/// The same of the longest time between checkpoints.
pub(crate) fn checkpoint_time() -> String {
    traits(&Value::Null).settings.checkpoint_time
}

/// How many rows of `table` in `run.json` were read or changed, and how many of them were updated or deleted, since
/// the server counts; none where it may not be read.
pub(crate) fn rows_of(table: &Value) -> Option<[f64; 2]> {
    let counted = table
        .get("statistics")?
        .as_object()
        .filter(|counted| !counted.is_empty())?;
    // A table without indexes has no counter of them.
    let sum = |names: &[&str]| {
        let each = names.iter().map(|name| counted.get(*name).and_then(Value::as_f64));
        each.map(Option::unwrap_or_default).sum::<f64>()
    };
    let changed = sum(&["n_tup_upd", "n_tup_del"]);
    Some([changed + sum(&["seq_tup_read", "idx_tup_fetch", "n_tup_ins"]), changed])
}

/// A time as PostgreSQL shows it, such as `5min`.
fn seconds(text: &str) -> Option<f64> {
    with_unit(
        text,
        &[
            ("ms", 0.001),
            ("min", 60.0),
            ("s", 1.0),
            ("h", 3_600.0),
            ("d", 86_400.0),
        ],
    )
}

/// A size as PostgreSQL shows it, such as `128MB`.
fn bytes(text: &str) -> Option<f64> {
    let kilo = 1024.0_f64;
    with_unit(
        text,
        &[
            ("kB", kilo),
            ("MB", kilo.powi(2)),
            ("GB", kilo.powi(3)),
            ("TB", kilo.powi(4)),
        ],
    )
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    units
        .iter()
        .find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * factor))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_sizes_as_the_server_shows_them() {
        assert_eq!(
            (seconds("5min"), seconds("30s"), seconds("250ms")),
            (Some(300.0), Some(30.0), Some(0.25))
        );
        assert_eq!(
            (bytes("128MB"), bytes("16kB"), bytes("on")),
            (Some(134_217_728.0), Some(16_384.0), None)
        );
    }

    #[test]
    fn traits_follow_from_the_settings() {
        let settings = |settings: &[(&str, &str)]| {
            let each = settings
                .iter()
                .map(|(name, value)| serde_json::json!({ "name": name, "value": value }));
            let found = traits(&serde_json::json!({ "settings": each.collect::<Vec<_>>() }));
            (found.cache_bytes, found.checkpoint_every_s, found.logs_page_images)
        };
        assert_eq!(settings(&[]), (Some(134_217_728), Some(300.0), true));
        let set = [
            ("shared_buffers", "1GB"),
            ("checkpoint_timeout", "30min"),
            ("full_page_writes", "off"),
        ];
        assert_eq!(settings(&set), (Some(1 << 30), Some(1_800.0), false));
    }
}
