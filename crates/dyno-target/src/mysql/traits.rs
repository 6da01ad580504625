//! What MariaDB and MySQL call their parts and settings, for readers of results who know no database.

use super::facts::ServerSetting;
use dyno_record::{ServerTraits, SettingNames, Words};

/// Settings that say where the server is and which data it has, or that dyno sets by the number of clients.
const INCIDENTAL: [&str; 20] = [
    "basedir",
    "character_sets_dir",
    "datadir",
    "general_log_file",
    "hostname",
    "innodb_data_home_dir",
    "innodb_log_group_home_dir",
    "lc_messages_dir",
    "log_error",
    "max_connections",
    "pid_file",
    "plugin_dir",
    "port",
    "report_host",
    "server_uuid",
    "slave_load_tmpdir",
    "slow_query_log_file",
    "socket",
    "tmpdir",
    "wsrep_node_name",
];

/// The traits of a server with these settings. InnoDB writes changed pages when it needs to and has no longest time
/// between checkpoints; torn pages are mended from its doublewrite buffer, not from the log.
pub(super) fn traits(settings: &[ServerSetting]) -> ServerTraits {
    let number = |name: &str| {
        let found = settings.iter().find(|setting| setting.name == name)?;
        found.value.parse().ok()
    };
    let cache = "innodb_buffer_pool_size";
    ServerTraits {
        words: Words {
            log: "redo log".to_owned(),
            log_in_full: "redo log".to_owned(),
            page_image: String::new(),
            page_read: "page".to_owned(),
            page_written: "page".to_owned(),
            cache: "the buffer pool".to_owned(),
            waits_source: String::new(),
            statements_source: String::new(),
        },
        settings: SettingNames {
            cache: cache.to_owned(),
            memory: vec![cache.to_owned()],
            checkpoint_time: String::new(),
            checkpoint_log: "innodb_log_file_size".to_owned(),
            of_checkpoints: vec!["innodb_log_file_size".to_owned()],
            of_cleaning: vec!["innodb_purge".to_owned()],
            incidental: INCIDENTAL.map(str::to_owned).to_vec(),
        },
        page_bytes: number("innodb_page_size"),
        cache_bytes: number(cache),
        checkpoint_every_s: None,
        logs_page_images: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_those_of_the_settings() {
        let settings = [("innodb_buffer_pool_size", "134217728"), ("innodb_page_size", "16384")];
        let settings = settings.map(|(name, value)| ServerSetting {
            name: name.to_owned(),
            value: value.to_owned(),
        });
        let traits = traits(&settings);
        assert_eq!(
            (traits.cache_bytes, traits.page_bytes),
            (Some(134_217_728), Some(16_384))
        );
    }
}
