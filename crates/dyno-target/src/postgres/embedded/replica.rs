//! PostgreSQL's replicas: streaming, on files that were copied during a backup.
//!
//! A replica connects by the primary's unix socket, where the server's user needs no password, with a role that may
//! only replicate: so there is no password to be seen anywhere.

use super::installation::Installation;
use super::{POSTGRESQL, Server, tablespace};
use crate::embedded::EmbeddedError;
use crate::embedded::copy::Copy;
use crate::embedded::place::Place;
use crate::embedded::replica::{ReplicaError, Replicates, State};
use crate::patience::SAMPLE;
use crate::postgres::{AskError, Client};
use crate::target::TargetError;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// The role of replicas.
const ROLE: &str = "dyno_replication";

/// The first version whose replicas are made by a file `standby.signal`.
const OLDEST: i32 = 12;

/// Settings that a standby must have at least as high as its primary (PostgreSQL, "Hot Standby", "Administrator's
/// Overview").
const NOT_LOWER: &str = "'max_connections', 'max_locks_per_transaction', 'max_prepared_transactions', \
                         'max_wal_senders', 'max_worker_processes'";

/// What of a data folder is not part of a backup (PostgreSQL, "Making a Base Backup Using the Low Level API"): the
/// contents of these folders, and these files.
const EMPTY: [&str; 8] = [
    "pg_dynshmem",
    "pg_notify",
    "pg_replslot",
    "pg_serial",
    "pg_snapshots",
    "pg_stat_tmp",
    "pg_subtrans",
    "pg_wal",
];
const LEFT_OUT: [&str; 2] = ["postmaster.opts", "backup_label"];

/// What a replica's log says when it can follow no more (PostgreSQL 12 to 18, `walreceiver.c`, `walsender.c`,
/// `xlogrecovery.c`).
const LOST: [&str; 5] = [
    "has already been removed",
    "database system identifier differs",
    "is ahead of the WAL flush position",
    "is not in this server's history",
    "highest timeline",
];

/// What lines of a replica's log have in them that say how it fares in following.
const OF_FOLLOWING: [&str; 4] = ["WAL", "primary server", "replication", "timeline"];

/// How lines begin that tell what failed; others add to them, such as with a client's statement.
const FAILURES: [&str; 3] = ["ERROR:", "FATAL:", "PANIC:"];

impl Replicates for Installation {
    /// The connection that has a slot, which keeps the log for as long as it is open.
    type Copied = Client;

    fn followed(_settings: &[(String, String)]) -> Vec<(String, String)> {
        // It is so by itself.
        Vec::new()
    }

    fn keeps_record(_settings: &[(String, String)]) -> bool {
        true
    }

    fn forget_record(_place: &Place) {}

    fn beside(data: &Path) -> Vec<PathBuf> {
        vec![tablespace::folder(data)]
    }

    fn following(
        primary: &Server,
        role: &str,
        settings: &[(String, String)],
    ) -> Result<Vec<(String, String)>, TargetError> {
        let mut client = primary.connection("postgres").connect()?;
        let major = check(&mut client, primary)?;
        let least = format!("select name, setting::bigint from pg_settings where name in ({NOT_LOWER}) order by 1");
        let least = asked("read the primary's settings", client.query(&least, &[]))?;
        let mut own: Vec<(String, String)> = Vec::new();
        for row in least {
            let (name, value): (String, i64) = (row.get(0), row.get(1));
            let wanted = settings.iter().rfind(|(wanted, _)| wanted.eq_ignore_ascii_case(&name));
            if wanted.is_none_or(|(_, wanted)| wanted.trim().parse::<i64>().is_ok_and(|wanted| wanted < value)) {
                own.push((name, value.to_string()));
            }
        }
        let mut add = |name: &str, value: String| own.push((name.to_owned(), value));
        add(
            "primary_conninfo",
            format!(
                "host={} port={} user={ROLE} application_name={role}",
                primary.sockets().display(),
                primary.port()
            ),
        );
        add("hot_standby", "on".to_owned());
        if major >= 13 {
            // Keeps the log from being removed while the replica follows, and no longer.
            add("wal_receiver_create_temp_slot", "on".to_owned());
        }
        // A primary that was restarted is soon followed again.
        add("wal_retrieve_retry_interval", "500ms".to_owned());
        Ok(own)
    }

    fn follow(_replica: &Server, _primary: &Server, _copied: Option<&Client>) -> Result<(), TargetError> {
        // It was started with the address.
        Ok(())
    }

    fn state(replica: &Server) -> Result<State, TargetError> {
        // One that stands still does not follow.
        let mut client = replica.connection("postgres").connect_with_patience(SAMPLE)?;
        // The connection stands before the primary finds that it does not have what it is to send.
        let status = "select pg_is_in_recovery(), exists (select from pg_stat_wal_receiver where status = 'streaming' \
                      and latest_end_lsn is not null)";
        let row = asked("ask a replica whether it follows", client.query_one(status, &[]))?;
        let (is_standby, streams): (bool, bool) = (row.get(0), row.get(1));
        Ok(match (is_standby, streams) {
            (false, _) => State::Lost("it was promoted and is a server of its own now".to_owned()),
            (true, true) => State::Follows,
            (true, false) => state_by_log(&replica.cluster().place.log_tail()),
        })
    }

    fn position(primary: &Server) -> Result<String, TargetError> {
        let mut client = primary.connection("postgres").connect()?;
        let row = client.query_one("select pg_current_wal_lsn()::text", &[]);
        Ok(asked("ask the primary for its position in the log", row)?.get(0))
    }

    fn has(replica: &Server, position: &str) -> Result<bool, TargetError> {
        let mut client = replica.connection("postgres").connect()?;
        let query = "select coalesce(pg_last_wal_replay_lsn() >= $1::text::pg_lsn, false)";
        Ok(asked(
            "ask a replica for its position in the log",
            client.query_one(query, &[&position]),
        )?
        .get(0))
    }
}

/// Copies the files of a server that goes on.
pub(in crate::postgres) fn copy(
    primary: &Server,
    place: &Place,
    fresh: &Path,
    stop: &AtomicBool,
) -> Result<Client, TargetError> {
    let mut client = primary.connection("postgres").connect()?;
    let role = format!(
        "do $$ begin if not exists (select from pg_roles where rolname = '{ROLE}') then create role {ROLE} login \
         replication; end if; end $$"
    );
    asked("make the role of replicas", client.batch_execute(&role))?;
    let version = asked("read the version", crate::postgres::facts::server_version(&mut client))?;
    let (begin, end) = if version >= 150_000 {
        ("select pg_backup_start('dyno', true)", "pg_backup_stop(false)")
    } else {
        (
            "select pg_start_backup('dyno', true, false)",
            "pg_stop_backup(false, false)",
        )
    };
    let slot = "select pg_create_physical_replication_slot('dyno_copy_' || pg_backend_pid(), true, true)";
    asked("keep the log for a replica", client.query(slot, &[]))?;
    asked("begin a backup", client.query(begin, &[]))?;
    let copy = Copy {
        to: fresh,
        linked: &tablespace::folder(&place.data),
        user: &place.user,
        leaves_out: &leaves_out,
        stop,
    };
    copy.of(primary.data_folder())?;
    let label = asked(
        "end a backup",
        client.query_one(&format!("select labelfile from {end}"), &[]),
    )?;
    let write = |name: &str, text: &str| {
        let path = fresh.join(name);
        fs::write(&path, text).map_err(EmbeddedError::file("write", &path))?;
        place.user.hand_over(&path)
    };
    write("backup_label", label.get(0))?;
    write("standby.signal", "")?;
    Ok(client)
}

/// Checks that a server can be followed; gives its major version.
fn check(client: &mut Client, primary: &Server) -> Result<i32, TargetError> {
    let query = "select current_setting('server_version_num')::int / 10000, current_setting('wal_level'), \
                 current_setting('max_wal_senders')::int";
    let row = asked("read the primary's settings", client.query_one(query, &[]))?;
    let (major, wal_level, senders): (i32, String, i32) = (row.get(0), row.get(1), row.get(2));
    let reason = match (wal_level.as_str(), senders) {
        _ if major < OLDEST => format!("dyno makes replicas of PostgreSQL {OLDEST} and later"),
        ("minimal", _) => "it runs with wal_level = minimal; leave that out".to_owned(),
        (_, 0) => "it runs with max_wal_senders = 0; leave that out".to_owned(),
        _ => return Ok(major),
    };
    let error = ReplicaError::Primary {
        primary: format!("the {} of {}", POSTGRESQL.name, primary.data_folder().display()),
        reason,
    };
    Err(error.into())
}

/// Whether a file of a data folder, or what is in a folder of it, is not copied.
fn leaves_out(path: &Path) -> bool {
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let is_in_base = path.starts_with("base") || path.starts_with("global") || path.starts_with("pg_tblspc");
    EMPTY.iter().any(|folder| path == Path::new(folder))
        || LEFT_OUT.iter().any(|file| path == Path::new(file))
        || path == Path::new(POSTGRESQL.pid_file)
        || name.starts_with("pgsql_tmp")
        || (is_in_base && name.starts_with("pg_internal.init"))
}

/// What the end of the log of a standby says that receives nothing.
fn state_by_log(tail: &str) -> State {
    let messages: Vec<String> = tail.lines().map(message).collect();
    let last_with = |words: &[&str]| {
        let is_failure = |message: &&String| FAILURES.iter().any(|failure| message.starts_with(failure));
        let found = messages
            .iter()
            .filter(is_failure)
            .rfind(|message| words.iter().any(|word| message.contains(word)));
        found.cloned()
    };
    match last_with(&LOST) {
        Some(said) => State::Lost(said),
        None => State::Tries(last_with(&OF_FOLLOWING).unwrap_or_else(|| "it receives nothing".to_owned())),
    }
}

/// A line of the log without what stands before the message.
fn message(line: &str) -> String {
    line.split_once("] ").map_or(line, |(_, said)| said).trim().to_owned()
}

fn asked<T>(what: &str, answer: Result<T, postgres::Error>) -> Result<T, TargetError> {
    answer.map_err(|error| AskError::new(what, &error).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_backup_has_what_a_server_does_not_make_itself() {
        for name in [
            "pg_wal",
            "postmaster.pid",
            "base/pgsql_tmp",
            "base/5/pg_internal.init",
            "pg_replslot",
        ] {
            assert!(leaves_out(Path::new(name)), "{name}");
        }
        for name in ["base/5/1259", "global/pg_control", "pg_xact/0000", "PG_VERSION", "base"] {
            assert!(!leaves_out(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn what_the_log_says_is_told_without_its_time() {
        let line = "2026-11-24 12:00:00.000 UTC [7] FATAL:  could not receive data from WAL stream: ERROR:  requested \
                    WAL segment 000000010000000000000001 has already been removed";
        assert!(message(line).starts_with("FATAL:  could not"));
        assert_eq!(message("none"), "none");
    }
    #[test]
    fn the_reason_is_no_line_of_the_log_that_happens_to_be_the_last() {
        let said = |lines: &[&str]| {
            let lines = lines
                .iter()
                .map(|line| format!("2026-11-24 12:00:00.000 UTC [7] {line}"));
            match state_by_log(&lines.collect::<Vec<_>>().join("\n")) {
                State::Lost(said) => format!("lost: {said}"),
                State::Tries(said) => said,
                State::Follows => String::new(),
            }
        };
        let client = [
            "ERROR:  division by zero",
            "STATEMENT:  select 1/0 from primary server WAL",
        ];
        assert_eq!(said(&client), "it receives nothing");
        let refused = "FATAL:  could not connect to the primary server: connection refused";
        let waits = "LOG:  waiting for WAL to become available at 0/300C018";
        assert_eq!(said(&[refused, waits, client[0], client[1]]), refused);
        let removed = "FATAL:  requested WAL segment 1 has already been removed";
        assert_eq!(said(&[removed, refused, client[1]]), format!("lost: {removed}"));
    }
}
