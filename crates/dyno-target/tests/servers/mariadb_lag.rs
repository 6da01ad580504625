//! Two kinds of work that a MariaDB can be behind with: what a replica has still to execute, and old versions of rows
//! that nobody has purged.

use crate::support::watch::{Told, watch};
use crate::support::{home, quiet};
use dyno_record::{Meaning, Value};
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions, Server};
use dyno_target::mysql::sampler::sampler_set;
use std::time::{Duration, Instant};

/// Long enough for anything that a server does here.
const PATIENCE: Duration = Duration::from_secs(60);

/// A server on a cluster of its own.
fn start(cluster: &str, settings: &[(&str, &str)]) -> (Embedded, Server) {
    let mut options = EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
    let settings: Vec<_> = settings.iter().map(owned).collect();
    let server = embedded.start(&settings, &mut quiet).unwrap();
    (embedded, server)
}

fn client(server: &Server) -> Client {
    server.connection("").connect().unwrap()
}

fn seconds(seconds: f64) {
    std::thread::sleep(Duration::from_secs_f64(seconds));
}

/// Asks until the answer is this.
fn until(client: &mut Client, query: &str, expected: &str) {
    let begun = Instant::now();
    loop {
        let found: Option<String> = client.query_first(query).unwrap_or_default();
        if found.as_deref() == Some(expected) {
            return;
        }
        assert!(begun.elapsed() < PATIENCE, "{query} gives {found:?}");
        seconds(0.05);
    }
}

/// The samples of what has this meaning, with their times.
fn series(told: &Told, meaning: Meaning) -> Vec<(f64, f64)> {
    let column = &told.meanings["server.csv"][&meaning];
    let rows = told.rows["server.csv"].iter();
    rows.filter_map(|(at, row)| match row[column] {
        Value::Number(number) => Some((*at, number)),
        _ => None,
    })
    .collect()
}

#[test]
fn a_replica_is_behind_while_it_does_not_execute_what_it_is_sent() {
    let source_settings = [("log-bin", "binlog"), ("server-id", "1"), ("sync-binlog", "0")];
    let (_source_held, source) = start("tests-mariadb-source", &source_settings);
    let (_replica_held, replica) = start("tests-mariadb-replica", &[("server-id", "2")]);
    let (mut on_source, mut on_replica) = (client(&source), client(&replica));
    on_replica.execute("stop all slaves; reset slave all").unwrap();
    for client in [&mut on_source, &mut on_replica] {
        client.execute("set sql_log_bin = 0").unwrap();
        let table = "create or replace database followed; create table followed.t (id int primary key, n int); insert \
                     into followed.t values (1, 0)";
        client.execute(table).unwrap();
    }
    let account = "create or replace user follower@'127.0.0.1' identified by 'f'; grant replication slave on *.* to \
                   follower@'127.0.0.1'; set sql_log_bin = 1";
    on_source.execute(account).unwrap();
    let place: Option<(String, u64)> = on_source
        .query::<(String, u64, Option<String>, Option<String>)>("show master status")
        .unwrap()
        .into_iter()
        .next()
        .map(|(file, position, ..)| (file, position));
    let (file, position) = place.unwrap();
    let follow = format!(
        "change master to master_host = '127.0.0.1', master_port = {}, master_user = 'follower', master_password = \
         'f', master_log_file = '{file}', master_log_pos = {position}, master_ssl = 0; start slave",
        source.port()
    );
    on_replica.execute(&follow).unwrap();
    let value = "select n from followed.t where id = 1";
    on_source.execute("update followed.t set n = 1 where id = 1").unwrap();
    until(&mut on_replica, value, "1");

    let told = watch(sampler_set(&replica.connection("followed"), true, None), || {
        seconds(1.5);
        // What the source does from here on arrives, but the SQL thread is held up by a lock, so that it is behind.
        let mut holder = client(&replica);
        holder
            .execute("start transaction; update followed.t set n = n where id = 1")
            .unwrap();
        for n in 2..=4 {
            on_source
                .execute(&format!("update followed.t set n = {n} where id = 1"))
                .unwrap();
            seconds(1.0);
        }
        holder.execute("rollback").unwrap();
        until(&mut on_replica, value, "4");
        seconds(2.5);
    });
    on_replica.execute("stop slave").unwrap();
    assert_eq!(told.warnings, [""; 0]);
    let lags = series(&told, Meaning::StandbyLagS);
    let greatest = lags.iter().map(|(_, lag_s)| *lag_s).fold(0.0, f64::max);
    assert!((1.0..30.0).contains(&greatest), "{lags:?}");
    assert_eq!(lags.first().unwrap().1, 0.0, "{lags:?}");
    assert_eq!(lags.last().unwrap().1, 0.0, "{lags:?}");
    // Both say in the same way where they are in the log.
    let executed = series(&told, Meaning::ExecutedPosition);
    assert!(executed.is_sorted_by(|one, other| one.1 <= other.1), "{executed:?}");
    let told = watch(sampler_set(&source.connection("followed"), true, None), || seconds(1.5));
    let followed = series(&told, Meaning::FollowedPosition);
    assert_eq!(executed.last().unwrap().1, followed.last().unwrap().1);
    assert!(series(&told, Meaning::FollowedBytes).last().unwrap().1 > 0.0);
}

#[test]
fn old_versions_pile_up_while_somebody_may_still_read_them() {
    let (_held, server) = start("tests-mariadb-purge", &[]);
    let mut admin = client(&server);
    let table = "create or replace database piled; use piled; create table t (id int primary key, n int); insert into \
                 t select seq, 0 from seq_1_to_100";
    admin.execute(table).unwrap();
    let info: ConnectionInfo = server.connection("piled");
    let mut reader = client(&server);
    let told = watch(sampler_set(&info, true, None), || {
        seconds(1.5);
        reader
            .execute("set transaction isolation level repeatable read; start transaction with consistent snapshot")
            .unwrap();
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            for id in 1..=100 {
                admin
                    .execute(&format!("update piled.t set n = n + 1 where id = {id}"))
                    .unwrap();
            }
        }
        seconds(1.5);
    });
    let piled = series(&told, Meaning::TransactionsToPurge);
    let (first, last) = (piled.first().unwrap().1, piled.last().unwrap().1);
    let updates = admin.query_first::<f64>("select sum(n) from piled.t").unwrap().unwrap();
    // One transaction each.
    assert!(last - first > updates / 2.0, "{updates} updates: {piled:?}");
    // Who reads is asleep in its transaction.
    let idle = series(&told, Meaning::SessionsIdleInTransaction);
    assert!(idle.iter().any(|(_, sessions)| *sessions >= 1.0), "{idle:?}");
}
