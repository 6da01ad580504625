//! What the samplers notice on a real MariaDB, each thing provoked.

use crate::support::watch::{Row, Told, watch};
use crate::support::watched::{Watched, other, seconds, start, under_load};
use dyno_record::{Blocked, Event, Meaning, Value, WaitKind, Who};
use dyno_target::mysql::Client;
use dyno_target::mysql::sampler::sampler_set;
use rustix::process::{Pid, Signal, kill_process};
use std::os::unix::net::UnixStream;

/// The cluster of these tests.
const CLUSTER: &str = "tests-mariadb-samplers";

/// The longest wait for a lock.
fn blocked(told: &Told) -> &Blocked {
    let blocked = told.events.iter().filter_map(|event| match event {
        Event::Blocked(blocked) => Some(blocked),
        _ => None,
    });
    let longest = blocked.max_by(|one, other| (one.end_s - one.start_s).total_cmp(&(other.end_s - other.start_s)));
    longest.unwrap_or_else(|| panic!("{:?} {:?}", told.events, told.warnings))
}

/// Whether measured sessions were seen at all: in a moment all of them may be at a commit.
fn were_seen(told: &Told) -> bool {
    told.rows["waits.csv"].iter().any(|(_, row)| {
        row["backend"] == Value::from("client") && matches!(row["sessions"], Value::Number(sessions) if sessions > 0.0)
    })
}

/// Whether measured sessions were seen waiting so.
fn waited(told: &Told, class: &str, kind: WaitKind) -> bool {
    told.rows["waits.csv"].iter().any(|(_, row)| {
        row["backend"] == Value::from("client")
            && row["wait_event_type"] == Value::from(class)
            && row["kind"] == Value::from(kind.name())
    })
}

#[test]
fn every_source_has_rows() {
    let Watched { server, info, .. } = &start(CLUSTER, &[("performance_schema", "on")]);
    let told = watch(sampler_set(info, true, Some(server.log_path())), || {
        under_load(info, || seconds(2.5));
    });
    assert_eq!(told.warnings, [""; 0]);
    for file in [
        "host.csv",
        "processes.csv",
        "server.csv",
        "waits.csv",
        "tables.csv",
        "statements.csv",
    ] {
        assert!(told.rows.contains_key(file), "{file} has no rows");
    }
    assert!(were_seen(&told), "{:?}", told.rows["waits.csv"]);
    let meanings = &told.meanings["server.csv"];
    let (_, row) = told.rows["server.csv"].last().unwrap();
    for meaning in [
        Meaning::LogBytes,
        Meaning::LogSinceCheckpointBytes,
        Meaning::LogSinceCheckpointLimitBytes,
        Meaning::PagesDirty,
        Meaning::PagesRead,
        Meaning::PagesWritten,
        Meaning::SessionsActive,
        Meaning::SessionsIdleInTransaction,
        Meaning::SessionsWaitingForLocks,
        Meaning::TransactionsToPurge,
    ] {
        let column = meanings
            .get(&meaning)
            .unwrap_or_else(|| panic!("{meaning:?}: {meanings:?}"));
        assert!(matches!(row[column], Value::Number(_)), "{column}: {row:?}");
    }
    let of_table = |(_, row): &&Row| row["table"] == Value::from("watched.t");
    let (_, table) = told.rows["tables.csv"].iter().rfind(of_table).unwrap();
    assert!(
        matches!(table["file_bytes"], Value::Number(bytes) if bytes > 10_000.0),
        "{table:?}"
    );
    assert!(
        matches!(table["count_update"], Value::Number(rows) if rows > 10.0),
        "{table:?}"
    );
    let (_, statement) = &told.rows["statements.csv"][0];
    let Value::Text(query) = &statement["query"] else {
        panic!("{statement:?}")
    };
    assert!(query.to_lowercase().starts_with("update"), "{query}");
    assert!(
        matches!(statement["count_star"], Value::Number(calls) if calls > 10.0),
        "{statement:?}"
    );
    let meanings = &told.meanings["statements.csv"];
    assert_eq!(meanings[&Meaning::ExecutionMs], "sum_timer_wait_ms");
}

#[test]
fn locks_of_other_sessions_are_told_with_their_kinds_and_holders() {
    let Watched { server, info, .. } = &start(CLUSTER, &[]);
    let provoked = |provoke: &dyn Fn(&mut Client)| {
        watch(sampler_set(info, true, None), || {
            under_load(info, || {
                seconds(1.0);
                let mut holder = other(server);
                provoke(&mut holder);
                drop(holder);
                seconds(0.5);
            });
        })
    };
    let rows = provoked(&|holder| {
        holder.execute("start transaction; update watched.t set n = 0").unwrap();
        seconds(1.5);
    });
    let found = blocked(&rows);
    assert_eq!(found.lock.as_deref(), Some("row lock"), "{found:?}");
    assert_eq!(found.relation.as_deref(), Some("t"), "{found:?}");
    let holder = found.holder.as_deref().unwrap();
    assert!(holder.contains("(root@localhost), asleep in a transaction"), "{holder}");
    assert!(found.waiting >= 3, "{found:?}");
    assert!(waited(&rows, "Row lock", WaitKind::Row));
    // Nobody can have waited before there was a lock; the look itself takes a moment.
    assert!(found.start_s > 0.7, "{found:?}");

    let metadata = provoked(&|holder| {
        holder
            .execute("start transaction; select count(*) from watched.t")
            .unwrap();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                other(server)
                    .execute("alter table watched.t comment = 'changed'")
                    .unwrap()
            });
            seconds(1.5);
            holder.execute("rollback").unwrap();
        });
    });
    let found = blocked(&metadata);
    assert_eq!(found.lock.as_deref(), Some("metadata lock"), "{found:?}");
    let holder = found.holder.as_deref().unwrap();
    assert!(holder.contains("asleep in a transaction"), "{holder}");
    assert!(
        holder.contains("behind which waits") && holder.contains("alter table"),
        "{holder}"
    );
    assert!(waited(&metadata, "Metadata lock", WaitKind::Lock));

    for lock in [
        "flush tables with read lock",
        "backup stage start; backup stage flush; backup stage block_ddl; backup stage block_commit",
    ] {
        let backup = provoked(&|holder| {
            holder.execute(lock).unwrap();
            seconds(1.5);
        });
        let found = blocked(&backup);
        assert_eq!(found.lock.as_deref(), Some("backup lock"), "{lock}: {found:?}");
        let holder = found.holder.as_deref().unwrap();
        assert!(holder.contains("(root@localhost), asleep"), "{lock}: {holder}");
    }
}

#[test]
fn a_stopped_server_is_told() {
    let Watched { server, info, .. } = &start(CLUSTER, &[]);
    let server_pid = Pid::from_raw(server.pid().cast_signed()).unwrap();
    let told = watch(sampler_set(info, true, None), || {
        seconds(1.0);
        kill_process(server_pid, Signal::STOP).unwrap();
        seconds(2.0);
        kill_process(server_pid, Signal::CONT).unwrap();
        seconds(1.0);
    });
    let stalled = told.events.iter().find_map(|event| match event {
        Event::Stalled(stalled) if stalled.who == Who::Server => Some(stalled),
        _ => None,
    });
    let stalled = stalled.unwrap_or_else(|| panic!("{:?}", told.events));
    assert!(stalled.end_s - stalled.start_s > 1.0, "{stalled:?}");
}

#[test]
fn what_goes_wrong_in_the_server_is_told_by_its_log() {
    let Watched { server, info, .. } = &start(CLUSTER, &[("log_warnings", "2")]);
    let told = watch(sampler_set(info, true, Some(server.log_path())), || {
        // Somebody who goes away before having said who it is.
        drop(UnixStream::connect(info.host.to_string()).unwrap());
        seconds(1.5);
    });
    let said = told.events.iter().any(|event| match event {
        Event::Said(said) => said.text.starts_with("the server's log: warning: Aborted connection"),
        _ => false,
    });
    assert!(said, "{:?}", told.events);
}

#[test]
fn a_role_without_rights_is_told_what_to_ask_for() {
    let Watched { server, .. } = &start(CLUSTER, &[("performance_schema", "on")]);
    let mut admin = other(server);
    admin
        .execute(
            "create or replace user modest@localhost identified by 'modest'; grant select, update on watched.* to \
             modest@localhost",
        )
        .unwrap();
    let mut info = server.connection("watched");
    "modest".clone_into(&mut info.user);
    info.password = Some("modest".into());
    let told = watch(sampler_set(&info, true, None), || {
        under_load(&info, || seconds(2.5));
    });
    let wanted = [
        "grant process on *.* to 'modest'@'localhost'",
        "grant select on performance_schema.* to 'modest'@'localhost'",
    ];
    for (wanted, warning) in wanted.iter().zip(&told.warnings) {
        assert!(warning.contains(wanted), "{warning}");
    }
    assert_eq!(told.warnings.len(), wanted.len(), "{:?}", told.warnings);
    // Its own sessions are there all the same, and the counters that every role may read.
    assert!(were_seen(&told), "{:?}", told.rows["waits.csv"]);
    let meanings = &told.meanings["server.csv"];
    assert!(meanings.contains_key(&Meaning::TransactionsToPurge));
    assert!(!meanings.contains_key(&Meaning::SessionsIdleInTransaction));
}
