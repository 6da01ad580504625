//! What sessions wait for, by the states in the server's list of processes.
//!
//! A state says what a session is at, and some are waits: for locks, and while a transaction is committed, for the
//! logs. Others, such as `Updating`, are work: the session runs, waits for a core, or reads pages.

use crate::sampler::waits::RUNNING;
use dyno_record::WaitKind;

/// The state of sessions that wait for a row, which the list of processes does not tell and the transactions do.
pub(super) const ROW_LOCK: &str = "waiting for a row lock";

/// The state in which a session of MariaDB from 10.6 on, having done all else, waits at the end of its statement until
/// the log has been flushed for it and others: seen here by making the log's storage slow.
const FLUSHED: &str = "updating status";

const ROW: &str = "Row lock";
const METADATA: &str = "Metadata lock";
const BACKUP: &str = "Backup lock";
const GLOBAL: &str = "Global read lock";
const TABLE: &str = "Table lock";
const USER: &str = "User lock";
pub(super) const COMMIT: &str = "Commit";
const STANDBY: &str = "Semi-sync";
const NETWORK: &str = "Network";
const SLEEP: &str = "Sleep";

/// The classes of what the performance schema counts: waits for files, named as PostgreSQL's are, and for locks that
/// belong to the server's own data structures.
pub(super) const FILE: &str = "IO";
pub(super) const INTERNAL: &str = "Mutex";

/// The class of what a session in this state waits for. Names of MariaDB's documentation, "Thread States", and of
/// MySQL's, "General Thread States", of versions 10.5 to 11.4 and 8.0 to 9.
pub(super) fn class_of(state: &str) -> &'static str {
    let state = state.to_ascii_lowercase();
    let has = |part: &str| state.contains(part);
    if state == ROW_LOCK {
        ROW
    } else if has("metadata lock") {
        METADATA
    } else if has("waiting for backup lock") {
        BACKUP
    } else if has("waiting for global read lock") || has("waiting for commit lock") {
        GLOBAL
    } else if has("waiting for table level lock") || has("waiting for table flush") {
        TABLE
    } else if state == "user lock" {
        USER
    } else if has("semi-sync ack") {
        STANDBY
    } else if state.starts_with("commit") || has("handler commit") || has("prior transaction") || state == FLUSHED {
        COMMIT
    } else if has("writing to net") || has("reading from net") || has("sending to client") {
        NETWORK
    } else if state == "user sleep" {
        SLEEP
    } else {
        RUNNING
    }
}

/// What a wait of this class is for.
pub(super) fn kind_of(class: &str, event: &str) -> WaitKind {
    match class {
        RUNNING => WaitKind::None,
        FILE => kind_of_file(event),
        ROW => WaitKind::Row,
        METADATA | BACKUP | GLOBAL | TABLE | USER => WaitKind::Lock,
        COMMIT => WaitKind::Log,
        STANDBY => WaitKind::Standby,
        _ => WaitKind::Other,
    }
}

/// What a wait for a file is for, by the name that the performance schema of 10.5 to 11.4 and 8.0 to 9 gives it.
fn kind_of_file(event: &str) -> WaitKind {
    match event.trim_start_matches("wait/io/file/") {
        "innodb/innodb_log_file" | "sql/binlog" | "sql/binlog_index" | "sql/relaylog" | "aria/translog" => {
            WaitKind::Log
        }
        file if file.starts_with("innodb/") || file.starts_with("myisam/") || file.starts_with("aria/") => {
            WaitKind::Data
        }
        _ => WaitKind::Other,
    }
}

/// Whether sessions of this class wait for a lock.
pub(super) fn is_lock(class: &str) -> bool {
    matches!(kind_of(class, ""), WaitKind::Row | WaitKind::Lock)
}

/// Whether one session's statements cannot take locks of this class from another's, so that somebody else has it, with
/// a command: a change of a table, a lock of tables, a backup.
pub(super) fn is_of_commands(class: &str) -> bool {
    matches!(class, METADATA | BACKUP | GLOBAL | TABLE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn states_of_both_servers_are_told_apart() {
        for (state, class, kind) in [
            ("Updating", RUNNING, WaitKind::None),
            ("", RUNNING, WaitKind::None),
            ("starting", RUNNING, WaitKind::None),
            (ROW_LOCK, ROW, WaitKind::Row),
            ("Waiting for table metadata lock", METADATA, WaitKind::Lock),
            ("Waiting for schema metadata lock", METADATA, WaitKind::Lock),
            ("Waiting for backup lock", BACKUP, WaitKind::Lock),
            ("Waiting for global read lock", GLOBAL, WaitKind::Lock),
            ("Waiting for commit lock", GLOBAL, WaitKind::Lock),
            ("Waiting for table level lock", TABLE, WaitKind::Lock),
            ("Waiting for table flush", TABLE, WaitKind::Lock),
            ("User lock", USER, WaitKind::Lock),
            ("Commit", COMMIT, WaitKind::Log),
            ("Commit implicit", COMMIT, WaitKind::Log),
            ("Updating status", COMMIT, WaitKind::Log),
            ("waiting for handler commit", COMMIT, WaitKind::Log),
            ("Waiting for prior transaction to commit", COMMIT, WaitKind::Log),
            ("Waiting for semi-sync ACK from slave", STANDBY, WaitKind::Standby),
            ("Writing to net", NETWORK, WaitKind::Other),
        ] {
            assert_eq!(class_of(state), class, "{state}");
            assert_eq!(kind_of(class, state), kind, "{state}");
        }
    }

    #[test]
    fn files_are_told_apart_by_what_is_in_them() {
        for (file, kind) in [
            ("innodb/innodb_log_file", WaitKind::Log),
            ("innodb/innodb_data_file", WaitKind::Data),
            ("innodb/innodb_dblwr_file", WaitKind::Data),
            ("sql/binlog", WaitKind::Log),
            ("aria/MAD", WaitKind::Data),
            ("sql/FRM", WaitKind::Other),
        ] {
            assert_eq!(kind_of(FILE, &format!("wait/io/file/{file}")), kind, "{file}");
        }
        assert_eq!(kind_of(INTERNAL, "wait/synch/mutex/sql/LOCK_open"), WaitKind::Other);
    }

    #[test]
    fn only_commands_hold_locks_that_statements_share() {
        assert!(is_lock(ROW) && !is_of_commands(ROW));
        assert!(is_lock(USER) && !is_of_commands(USER));
        assert!(is_lock(BACKUP) && is_of_commands(BACKUP));
        assert!(!is_lock(COMMIT) && !is_lock(RUNNING));
    }
}
