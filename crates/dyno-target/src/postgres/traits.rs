//! What PostgreSQL calls its parts and settings, for readers of results who know no database.

use crate::postgres::Client;
use dyno_record::{ServerTraits, SettingNames, Words};

/// Settings that say where the server is and which data it has, or that dyno sets by the number of clients.
const INCIDENTAL: [&str; 9] = [
    "port",
    "max_connections",
    "data_directory",
    "config_file",
    "hba_file",
    "ident_file",
    "unix_socket_directories",
    "listen_addresses",
    "external_pid_file",
];

/// The cache in bytes, the page, the time between checkpoints in seconds, and whether whole pages are logged; null
/// for settings that a relative of PostgreSQL does not have. `shared_buffers` is counted in pages.
const QUERY: &str = "select max(case name when 'shared_buffers' then setting::int8 end)
                            * max(case name when 'block_size' then setting::int8 end),
                            max(case name when 'block_size' then setting::int8 end),
                            max(case name when 'checkpoint_timeout' then setting::float8 end),
                            max(case name when 'full_page_writes' then setting end)
                       from pg_settings
                      where name in ('shared_buffers', 'block_size', 'checkpoint_timeout', 'full_page_writes')";

/// The traits of a server as it is set.
pub(super) fn traits(client: &mut Client) -> Result<ServerTraits, postgres::Error> {
    let row = client.query_one(QUERY, &[])?;
    let bytes = |index: usize| -> Result<Option<u64>, postgres::Error> {
        let bytes: Option<i64> = row.try_get(index)?;
        Ok(bytes.and_then(|bytes| u64::try_from(bytes).ok()))
    };
    let full_page_writes: Option<String> = row.try_get(3)?;
    let names = |names: &[&str]| names.iter().map(|name| (*name).to_owned()).collect();
    Ok(ServerTraits {
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
            incidental: names(&INCIDENTAL),
        },
        page_bytes: bytes(1)?,
        cache_bytes: bytes(0)?,
        checkpoint_every_s: row.try_get(2)?,
        logs_page_images: full_page_writes.as_deref() != Some("off"),
    })
}
