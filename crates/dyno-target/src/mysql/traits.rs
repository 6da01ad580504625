//! What MariaDB and MySQL call their parts and settings, for readers of results who know no database.

use super::redo_log::{CAPACITY, FILE_SIZE};
use super::variables::Variables;
use crate::values::same_value;
use dyno_record::{ServerTraits, SettingNames, Words};

/// Settings that say where the server is and which data it has, or that dyno sets by the number of clients.
const INCIDENTAL: [&str; 39] = [
    "aria_log_dir_path",
    "basedir",
    "character_sets_dir",
    "datadir",
    "feedback_server_uid",
    "general_log_file",
    "gtid_binlog_pos",
    "gtid_binlog_state",
    "gtid_current_pos",
    "gtid_executed",
    "gtid_purged",
    "gtid_slave_pos",
    "hostname",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "innodb_tmpdir",
    "innodb_undo_directory",
    "lc_messages_dir",
    "log_basename",
    "log_bin_basename",
    "log_bin_index",
    "log_error",
    "log_slow_query_file",
    "max_connections",
    "pid_file",
    "plugin_dir",
    "port",
    "relay_log_basename",
    "relay_log_index",
    "report_host",
    "report_port",
    "server_id",
    "server_uid",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "tmpdir",
    "wsrep_node_name",
];

/// The sizes of the redo log; a server that has both heeds the first.
const LOG_SIZES: [&str; 2] = [CAPACITY, FILE_SIZE];

/// The traits of a server of this version with these variables. InnoDB writes changed pages when it needs to and has no
/// longest time between checkpoints; torn pages are mended from its doublewrite buffer, not from the log.
pub(super) fn traits(version: &str, variables: &Variables) -> ServerTraits {
    let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
    let cache = "innodb_buffer_pool_size";
    let counts_waits = variables
        .get("performance_schema")
        .is_some_and(|value| same_value(value, "on"));
    let log_size = LOG_SIZES.into_iter().find(|name| variables.get(name).is_some());
    ServerTraits {
        product: if is_mariadb { "MariaDB" } else { "MySQL" }.to_owned(),
        words: Words {
            log: "redo log".to_owned(),
            log_in_full: "redo log".to_owned(),
            page_image: String::new(),
            page_read: "page".to_owned(),
            page_written: "page".to_owned(),
            cache: "the buffer pool".to_owned(),
            error_code: "error number".to_owned(),
            waits_source: match counts_waits {
                true => "the list of processes and the performance schema",
                false => "the list of processes",
            }
            .to_owned(),
            statements_source: "performance_schema".to_owned(),
        },
        settings: SettingNames {
            cache: cache.to_owned(),
            memory: vec![cache.to_owned()],
            checkpoint_time: String::new(),
            checkpoint_log: log_size.unwrap_or_default().to_owned(),
            of_checkpoints: LOG_SIZES.map(str::to_owned).to_vec(),
            of_cleaning: vec!["innodb_purge".to_owned()],
            incidental: INCIDENTAL.map(str::to_owned).to_vec(),
        },
        page_bytes: variables.number("innodb_page_size"),
        cache_bytes: variables.number(cache),
        checkpoint_every_s: None,
        logs_page_images: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_settings() {
        let variables = [
            ("innodb_buffer_pool_size", "134217728"),
            ("innodb_page_size", "16384"),
            ("innodb_log_file_size", "100663296"),
        ]
        .into();
        let own = traits("11.4.5-MariaDB", &variables);
        assert_eq!((own.cache_bytes, own.page_bytes), (Some(134_217_728), Some(16_384)));
        assert_eq!(own.product, "MariaDB");
        assert_eq!(own.settings.checkpoint_log, "innodb_log_file_size");
        assert_eq!(traits("8.0.43", &variables).product, "MySQL");
        assert_eq!(own.words.waits_source, "the list of processes");
        let counting = [("performance_schema", "ON")].into();
        assert!(
            traits("8.0.43", &counting)
                .words
                .waits_source
                .ends_with("performance schema")
        );
    }
}
