//! What sessions of a real MariaDB wait for, as its list of processes and its performance schema tell it.

use crate::support::watch::{Told, watch};
use crate::support::watched::{Watched, other, seconds, start, under_load};
use dyno_record::{Value, WaitKind};
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::sampler::sampler_set;
use std::collections::BTreeMap;

const CLUSTER: &str = "tests-mariadb-waits";

/// MariaDB 11.4 counts no waits for its redo log.
const LOG_FILE: &str = "wait/io/file/sql/binlog";

const DATA_FILE: &str = "wait/io/file/innodb/innodb_data_file";

/// A binary log, written through at each commit, and a buffer pool that does not hold the data.
const COUNTED: [(&str, &str); 4] = [
    ("performance_schema", "on"),
    ("log_bin", "binary"),
    ("sync_binlog", "1"),
    ("innodb_buffer_pool_size", "6M"),
];

/// All sessions of `waits.csv` added up, by whose they are, class, event and kind.
fn waited(told: &Told) -> BTreeMap<[String; 4], f64> {
    let mut waited = BTreeMap::new();
    for (_, row) in &told.rows["waits.csv"] {
        let text = |column: &str| match &row[column] {
            Value::Text(text) => text.clone(),
            other => panic!("{other:?}"),
        };
        let Value::Number(sessions) = row["sessions"] else {
            panic!("{row:?}")
        };
        let wait = ["backend", "wait_event_type", "wait_event", "kind"].map(text);
        *waited.entry(wait).or_default() += sessions;
    }
    waited
}

/// How many of them belong to measured sessions that wait for this file.
fn for_file(told: &Told, file: &str, kind: WaitKind) -> f64 {
    let wait = ["client", "IO", file, kind.name()].map(str::to_owned);
    waited(told).get(&wait).copied().unwrap_or(0.0)
}

#[test]
fn waits_for_files_are_told_where_the_performance_schema_counts_them() {
    let Watched { server, info, .. } = &start(CLUSTER, &COUNTED);
    let mut admin = other(server);
    let large = "create table watched.large (id int primary key, text varchar(2000)); insert into watched.large select \
                 seq, repeat('x', 2000) from seq_1_to_20000";
    admin.execute(large).unwrap();
    let watched = |info: &ConnectionInfo| {
        watch(sampler_set(info, true, None), || {
            under_load(info, || {
                let mut reader = info.connect().unwrap();
                for _ in 0..3 {
                    seconds(1.0);
                    reader.execute("select sum(length(text)) from large").unwrap();
                }
            });
        })
    };
    let told = watched(info);
    assert_eq!(told.warnings, [""; 0]);
    assert!(for_file(&told, LOG_FILE, WaitKind::Log) > 0.0, "{:?}", waited(&told));
    assert!(for_file(&told, DATA_FILE, WaitKind::Data) > 0.0, "{:?}", waited(&told));
    let background = waited(&told).into_keys().any(|wait| wait[0] == "background");
    assert!(background, "{:?}", waited(&told));
    // No more sessions are told of than there are.
    let mut by_time: BTreeMap<u64, f64> = BTreeMap::new();
    for (at_s, row) in &told.rows["waits.csv"] {
        if let (Value::Number(sessions), true) = (&row["sessions"], row["backend"] == Value::from("client")) {
            *by_time.entry(at_s.to_bits()).or_default() += sessions;
        }
    }
    assert!(by_time.values().all(|sessions| *sessions <= 5.0 + 1e-9), "{by_time:?}");

    // An administrator has switched some of it off, and on again as is said.
    let off = |admin: &mut Client, what: &str, table: &str, names: &str| {
        let statement = format!("update performance_schema.{table} set enabled = 'NO' where name {names}");
        admin.execute(&statement).unwrap();
        let told = watched(info);
        let [warning] = &told.warnings[..] else {
            panic!("{:?}", told.warnings)
        };
        assert!(warning.starts_with(what), "{warning}");
        let (_, remedy) = warning.split_once("execute: ").unwrap();
        admin.execute(remedy.trim_end_matches('.')).unwrap();
        told
    };
    let files = "How long sessions wait for files is not sampled";
    let told = off(&mut admin, files, "setup_instruments", "like 'wait/io/file/%'");
    assert_eq!(for_file(&told, LOG_FILE, WaitKind::Log), 0.0);
    let statements = "What statements cost is not sampled";
    off(&mut admin, statements, "setup_consumers", "= 'statements_digest'");
    let both = "What statements cost, and how long sessions wait for files, is not sampled";
    off(&mut admin, both, "setup_consumers", "= 'thread_instrumentation'");
    let told = watched(info);
    assert_eq!(told.warnings, [""; 0]);
    assert!(for_file(&told, LOG_FILE, WaitKind::Log) > 0.0, "{:?}", waited(&told));
}

#[test]
fn a_performance_schema_that_is_off_counts_nothing() {
    let Watched { info, .. } = &start(CLUSTER, &[("performance_schema", "off")]);
    let told = watch(sampler_set(info, true, None), || {
        under_load(info, || seconds(1.5));
    });
    // It is off unless somebody switches it on: nothing to keep in mind with each run.
    assert_eq!(told.warnings, [""; 0]);
    assert!(!told.rows.contains_key("statements.csv"));
    assert_eq!(for_file(&told, LOG_FILE, WaitKind::Log), 0.0);
}

/// InnoDB tells of waits for rows late. That is no work.
#[test]
fn the_begin_of_a_wait_for_a_row_is_told_as_one() {
    let Watched { server, info, .. } = &start(CLUSTER, &[]);
    let mut holder = other(server);
    let [mut waiting, mut busy] = [(), ()].map(|()| info.connect().unwrap());
    let told = watch(sampler_set(info, true, None), || {
        std::thread::scope(|scope| {
            // As long as somebody is at work, the transactions are looked at.
            scope.spawn(|| busy.execute("do sleep(5.5)").unwrap());
            for _ in 0..8 {
                seconds(0.25);
                let lock = "start transaction; update watched.t set n = 1 where id = 1";
                holder.execute(lock).unwrap();
                std::thread::scope(|scope| {
                    scope.spawn(|| waiting.execute("update t set n = 2 where id = 1").unwrap());
                    seconds(0.37);
                    holder.execute("rollback").unwrap();
                });
            }
        });
    });
    let of = |class: &str| {
        let waited = waited(&told);
        let of_class = waited
            .iter()
            .filter(|(wait, _)| wait[0] == "client" && wait[1] == class);
        of_class.map(|(_, sessions)| sessions).sum::<f64>()
    };
    let (row, work) = (of("Row lock"), of("CPU"));
    assert!(work < 0.1 * row, "{row} waited, {work} worked: {:?}", waited(&told));
}
