//! What Oracle calls its parts and settings, for readers of results who know no database.

use super::parameters::Parameters;
use dyno_record::{ServerTraits, SettingNames, Words};

/// Settings that say where the server is and which data it has, or that are raised by the number of clients.
const INCIDENTAL: [&str; 22] = [
    "audit_file_dest",
    "background_dump_dest",
    "control_files",
    "core_dump_dest",
    "db_create_file_dest",
    "db_domain",
    "db_name",
    "db_recovery_file_dest",
    "db_unique_name",
    "diagnostic_dest",
    "dispatchers",
    "instance_name",
    "instance_number",
    "local_listener",
    "log_archive_dest_1",
    "processes",
    "remote_login_passwordfile",
    "service_names",
    "sessions",
    "spfile",
    "thread",
    "user_dump_dest",
];

/// The traits of a server with these parameters, as far as they may be read, and a buffer cache of so many bytes. It
/// writes changed blocks all the time, has no longest time between checkpoints unless it is given one, and logs no
/// whole blocks.
pub(super) fn traits(parameters: Option<&Parameters>, cache_bytes: Option<u64>) -> ServerTraits {
    let cache = "db_cache_size";
    ServerTraits {
        product: "Oracle".to_owned(),
        words: Words {
            log: "redo".to_owned(),
            log_in_full: "redo log".to_owned(),
            page_image: String::new(),
            page_read: "block".to_owned(),
            page_written: "block".to_owned(),
            cache: "the buffer cache".to_owned(),
            error_code: "ORA number".to_owned(),
            waits_source: "v$session".to_owned(),
            statements_source: "v$sqlstats".to_owned(),
        },
        settings: SettingNames {
            cache: cache.to_owned(),
            memory: [
                cache,
                "db_keep_cache_size",
                "sga_target",
                "memory_target",
                "pga_aggregate_target",
            ]
            .map(str::to_owned)
            .to_vec(),
            checkpoint_time: "log_checkpoint_timeout".to_owned(),
            checkpoint_log: String::new(),
            of_checkpoints: ["log_checkpoint_", "fast_start_mttr_target"]
                .map(str::to_owned)
                .to_vec(),
            of_cleaning: vec!["undo_retention".to_owned()],
            incidental: INCIDENTAL.map(str::to_owned).to_vec(),
        },
        page_bytes: parameters.and_then(|parameters| parameters.number("db_block_size")),
        cache_bytes,
        checkpoint_every_s: parameters
            .and_then(|parameters| parameters.number("log_checkpoint_timeout"))
            .filter(|seconds| *seconds > 0)
            .map(|seconds| seconds as f64),
        logs_page_images: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_server() {
        let parameters = [("db_block_size", "8192"), ("log_checkpoint_timeout", "1800")].into();
        let own = traits(Some(&parameters), Some(1 << 30));
        assert_eq!((own.page_bytes, own.cache_bytes), (Some(8192), Some(1 << 30)));
        assert_eq!(own.checkpoint_every_s, Some(1800.0));
        assert_eq!(traits(None, None).page_bytes, None);
    }
}
