//! Private servers that follow another one, on real servers.

use crate::support::holder::wait_for;
use crate::support::watch::{Told, watch};
use crate::support::{home, options};
use dyno_record::{Meaning, Value};
use dyno_target::mysql::embedded::EmbeddedOptions as MariadbOptions;
use dyno_target::postgres::server_message;
use dyno_target::target::{Embedded, Instance, KillSwitch, Needs, Progress, Reach, StopFlag};
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// What whoever waits was told.
#[derive(Default)]
struct Steps {
    steps: Vec<String>,
    notes: Vec<String>,
}

impl Progress for Steps {
    fn step(&mut self, text: &str) {
        self.steps.push(text.to_owned());
    }

    fn note(&mut self, text: &str) {
        self.notes.push(text.to_owned());
    }
}

const LIMIT: Duration = Duration::from_secs(60);

fn needs(settings: &[(String, String)], followed: bool) -> Needs<'_> {
    Needs {
        settings,
        clients: 1,
        followed,
    }
}

fn setting(name: &str, value: &str) -> Vec<(String, String)> {
    vec![(name.to_owned(), value.to_owned())]
}

/// Executes statements as the kind of server wants them.
fn execute(instance: &dyn Instance, statements: &str) -> Result<(), String> {
    let database = instance.database(None).unwrap();
    match database.reach() {
        Reach::Postgres(info) => {
            let mut client = info.with_database("postgres").connect().unwrap();
            client.batch_execute(statements).map_err(|error| server_message(&error))
        }
        Reach::Mysql(info) => {
            let mut client = info.with_database("").connect().unwrap();
            client.execute(statements).map_err(|error| error.to_string())
        }
        Reach::Oracle(_) => unreachable!("there is no private one"),
    }
}

/// The number that a query gives.
fn number(instance: &dyn Instance, query: &str) -> i64 {
    let database = instance.database(None).unwrap();
    match database.reach() {
        Reach::Postgres(info) => {
            let mut client = info.with_database("postgres").connect().unwrap();
            client.query_one(query, &[]).unwrap().get(0)
        }
        Reach::Mysql(info) => {
            let mut client = info.with_database("").connect().unwrap();
            client.query_first(query).unwrap().unwrap()
        }
        Reach::Oracle(_) => unreachable!("there is no private one"),
    }
}

/// How many files a MariaDB keeps for its replicas.
fn binary_logs(instance: &dyn Instance) -> usize {
    let database = instance.database(None).unwrap();
    let Reach::Mysql(info) = database.reach() else {
        panic!("another database")
    };
    let mut client = info.with_database("").connect().unwrap();
    client.query::<(String, u64)>("show binary logs").unwrap().len()
}

/// The greatest value of this meaning while `provoke` is at work on the replica.
fn greatest(replica: &dyn Instance, meaning: Meaning, provoke: impl FnOnce()) -> (f64, Told) {
    let database = replica.database(None).unwrap();
    let set = database.samplers(&AtomicBool::new(false)).unwrap();
    let told = watch(set, provoke);
    let column = &told.meanings["server.csv"][&meaning];
    let values = told.rows["server.csv"].iter().filter_map(|(_, row)| match row[column] {
        Value::Number(number) => Some(number),
        _ => None,
    });
    (values.fold(0.0, f64::max), told)
}

/// What is the same for all databases: a replica gets what its primary has and what it does, and only that.
fn follows(
    main: &dyn Embedded,
    table: &str,
    primary_settings: &[(String, String)],
    replica_settings: &[(String, String)],
) -> (Box<dyn Instance>, Box<dyn Instance>, StopFlag) {
    let (switch, stop, mut told) = (KillSwitch::default(), StopFlag::default(), Steps::default());
    let primary = main.in_role("tests-primary").unwrap();
    let replica = main.in_role("tests-replica-1").unwrap();
    let mut primary = primary.hold(&switch, &mut told).unwrap();
    let mut replica = replica.hold(&switch, &mut told).unwrap();
    let mut notes = Vec::new();
    primary
        .bring(needs(primary_settings, true), false, &mut notes, &mut told)
        .unwrap();
    if let Some((database, _)) = table.split_once('.') {
        execute(primary.as_ref(), &format!("create database if not exists {database}")).unwrap();
    }
    // The database that runs work on.
    if matches!(primary.database(None).unwrap().reach(), Reach::Postgres(_)) {
        execute(primary.as_ref(), "drop database if exists dyno_run").unwrap();
        execute(primary.as_ref(), "create database dyno_run").unwrap();
    }
    execute(primary.as_ref(), &format!("drop table if exists {table}")).unwrap();
    execute(primary.as_ref(), &format!("create table {table} (id int primary key)")).unwrap();
    execute(primary.as_ref(), &format!("insert into {table} values (1), (2)")).unwrap();
    let mut bring = |primary: &mut dyn Instance, replica: &mut dyn Instance| {
        let needs = needs(replica_settings, false);
        let mut told = Steps::default();
        replica
            .bring_replica(primary, needs, &mut notes, &mut told, &stop)
            .unwrap();
        told
    };
    bring(primary.as_mut(), replica.as_mut());
    let count = format!("select count(*) from {table}");
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();
    assert_eq!(number(replica.as_ref(), &count), 2);

    // What the primary does from here on arrives.
    execute(primary.as_ref(), &format!("insert into {table} values (3)")).unwrap();
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();
    assert_eq!(number(replica.as_ref(), &count), 3);
    let error = execute(replica.as_ref(), &format!("insert into {table} values (4)")).unwrap_err();
    assert!(error.contains("read") && error.contains("only"), "{error}");

    // A run can work on it as on any other server.
    let database = replica.database(None).unwrap();
    let mut control = database.control(&stop).unwrap();
    control.describe().unwrap();
    assert_eq!(control.settle().unwrap(), [""; 0]);
    control.sizes().unwrap();
    control.warm().unwrap();
    drop((control, database));
    replica.clear().unwrap();

    // One that follows is left as it is, and one that was not up goes on; so is one whose primary was restarted.
    assert_eq!(bring(primary.as_mut(), replica.as_mut()).steps, [""; 0]);
    replica.stop(&mut Steps::default());
    execute(primary.as_ref(), &format!("insert into {table} values (4)")).unwrap();
    primary
        .bring(
            needs(primary_settings, true),
            true,
            &mut Vec::new(),
            &mut Steps::default(),
        )
        .unwrap();
    let told = bring(primary.as_mut(), replica.as_mut());
    assert!(
        !told.steps.iter().any(|step| step.starts_with("Copying")),
        "{:?}",
        told.steps
    );
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();
    assert_eq!(number(replica.as_ref(), &count), 4);
    primary
        .bring(
            needs(primary_settings, true),
            true,
            &mut Vec::new(),
            &mut Steps::default(),
        )
        .unwrap();
    execute(primary.as_ref(), &format!("insert into {table} values (5)")).unwrap();
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();
    assert_eq!(number(replica.as_ref(), &count), 5);

    let mut third = main
        .in_role("tests-replica-2")
        .unwrap()
        .hold(&switch, &mut Steps::default())
        .unwrap();
    let error = third
        .bring_replica(
            replica.as_mut(),
            needs(&[], false),
            &mut Vec::new(),
            &mut Steps::default(),
            &stop,
        )
        .unwrap_err();
    assert!(error.to_string().contains("is a replica itself"), "{error}");
    (primary, replica, stop)
}

/// A replica that has strayed is said to have, for this reason, and follows when it is brought again.
fn is_made_anew(replica: &mut dyn Instance, primary: &mut dyn Instance, reason: &str) {
    let stop = StopFlag::default();
    let said = replica.lapse(&stop).unwrap();
    assert!(
        said.contains(&format!("does not follow its primary: {reason}; its log is ")),
        "{said}"
    );
    let mut told = Steps::default();
    replica
        .bring_replica(primary, needs(&[], false), &mut Vec::new(), &mut told, &stop)
        .unwrap();
    assert!(
        told.notes.len() == 1 && told.notes[0].ends_with(&format!("is made anew: {reason}")),
        "{:?}",
        told.notes
    );
    replica.await_caught_up(primary, LIMIT, &stop).unwrap();
    assert_eq!(replica.lapse(&stop), None);
}

#[test]
fn postgresql_is_followed() {
    let primary_settings = setting("max_connections", "123");
    let replica_settings = setting("max_connections", "50");
    let (mut primary, mut replica, stop) = follows(&options("main"), "t", &primary_settings, &replica_settings);
    // A standby may not have less room than its primary.
    assert_eq!(
        number(replica.as_ref(), "select current_setting('max_connections')::bigint"),
        123
    );

    execute(
        primary.as_ref(),
        "drop table if exists grown; create table grown (id int, text text)",
    )
    .unwrap();
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();
    let (bytes, told) = greatest(replica.as_ref(), Meaning::OwnLagBytes, || {
        std::thread::sleep(Duration::from_millis(1500));
        execute(replica.as_ref(), "select pg_wal_replay_pause()").unwrap();
        let rows = "insert into grown select n, repeat('x', 100) from generate_series(1, 50000) n";
        execute(primary.as_ref(), rows).unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        execute(replica.as_ref(), "select pg_wal_replay_resume()").unwrap();
        std::thread::sleep(Duration::from_millis(1500));
    });
    assert!(bytes > 5e6, "{bytes}");
    let column = &told.meanings["server.csv"][&Meaning::StandbyLagS];
    let seconds = told.rows["server.csv"].iter().map(|(_, row)| &row[column]);
    assert!(
        seconds
            .clone()
            .any(|value| matches!(value, Value::Number(lag) if *lag > 1.0)),
        "{column}"
    );
    assert_eq!(told.warnings, [""; 0]);

    // What a replica is missing may be gone: it is made anew.
    replica.stop(&mut Steps::default());
    let least = "alter system set max_wal_size = '32MB'; alter system set wal_keep_size = 0";
    for statement in least.split(';') {
        execute(primary.as_ref(), statement).unwrap();
    }
    execute(primary.as_ref(), "select pg_reload_conf()").unwrap();
    for _ in 0..4 {
        execute(
            primary.as_ref(),
            "insert into grown select n, 'x' from generate_series(1, 1000) n",
        )
        .unwrap();
        execute(primary.as_ref(), "select pg_switch_wal()").unwrap();
        execute(primary.as_ref(), "checkpoint").unwrap();
    }
    let mut told = Steps::default();
    replica
        .bring_replica(
            primary.as_mut(),
            needs(&replica_settings, false),
            &mut Vec::new(),
            &mut told,
            &stop,
        )
        .unwrap();
    assert_eq!(told.notes.len(), 1, "{:?}", told.notes);
    assert!(
        told.notes[0].starts_with("The PostgreSQL tests-replica-1 is made anew: ")
            && told.notes[0].contains("has already been removed"),
        "{:?}",
        told.notes
    );
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();
    assert_eq!(number(replica.as_ref(), "select count(*) from grown"), 54_000);
    execute(primary.as_ref(), "alter system reset all").unwrap();

    // So is one that somebody has made a server of its own.
    assert_eq!(replica.lapse(&stop), None);
    execute(replica.as_ref(), "select pg_promote()").unwrap();
    execute(replica.as_ref(), "create table own (id int)").unwrap();
    is_made_anew(
        replica.as_mut(),
        primary.as_mut(),
        "it was promoted and is a server of its own now",
    );
    execute(replica.as_ref(), "select from own").unwrap_err();

    // A replica that is to be a server of its own begins anew, and is no replica of what it was.
    replica
        .bring(needs(&[], false), false, &mut Vec::new(), &mut Steps::default())
        .unwrap();
    execute(replica.as_ref(), "create table grown (id int)").unwrap();
    let settings = setting("wal_level", "minimal")
        .into_iter()
        .chain(setting("max_wal_senders", "0"))
        .collect::<Vec<_>>();
    primary
        .bring(needs(&settings, true), false, &mut Vec::new(), &mut Steps::default())
        .unwrap();
    let error = replica
        .bring_replica(
            primary.as_mut(),
            needs(&[], false),
            &mut Vec::new(),
            &mut Steps::default(),
            &stop,
        )
        .unwrap_err();
    assert!(error.to_string().contains("wal_level = minimal"), "{error}");
}

#[test]
fn mariadb_is_followed() {
    let logs = setting("general_log", "ON");
    let (mut primary, mut replica, stop) = follows(&MariadbOptions::new(home()), "dyno_run.t", &[], &logs);
    // The password of the replica's account is in no log.
    let data = replica.database(None).unwrap().data_folder().unwrap().to_owned();
    let logs = fs::read_dir(data).unwrap().map(|item| item.unwrap().path());
    let logs = logs.filter(|path| path.extension().is_some_and(|kind| kind == "log"));
    let logs: String = logs
        .map(|path| String::from_utf8_lossy(&fs::read(path).unwrap()).to_lowercase())
        .collect();
    assert!(
        logs.contains("show slave status") && !logs.contains("master_password"),
        "{logs}"
    );

    let (bytes, told) = greatest(replica.as_ref(), Meaning::OwnLagBytes, || {
        std::thread::sleep(Duration::from_millis(1500));
        execute(replica.as_ref(), "stop slave sql_thread").unwrap();
        let rows = "insert into dyno_run.t select seq + 10 from seq_1_to_50000; \
                    update dyno_run.t set id = id + 100000 where id > 10";
        execute(
            primary.as_ref(),
            &format!("use dyno_run; set session binlog_format = row; {rows}"),
        )
        .unwrap();
        std::thread::sleep(Duration::from_millis(2500));
        execute(replica.as_ref(), "start slave sql_thread").unwrap();
        std::thread::sleep(Duration::from_millis(1500));
    });
    assert!(bytes > 5e5, "{bytes}");
    assert!(told.meanings["server.csv"].contains_key(&Meaning::StandbyLagS));
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();

    // What a replica is missing may be gone: it is made anew.
    replica.stop(&mut Steps::default());
    execute(primary.as_ref(), "insert into dyno_run.t values (6)").unwrap();
    // What somebody is being sent is not removed, nor what the server may need itself; both only for a moment, as long
    // as it goes on.
    wait_for("the end of what replicas need", || {
        let purge = "flush binary logs; purge binary logs before now() + interval 1 day";
        execute(primary.as_ref(), purge).unwrap();
        binary_logs(primary.as_ref()) == 1
    });
    let mut told = Steps::default();
    replica
        .bring_replica(primary.as_mut(), needs(&[], false), &mut Vec::new(), &mut told, &stop)
        .unwrap();
    assert_eq!(told.notes.len(), 1, "{:?}", told.notes);
    assert!(
        told.notes[0].starts_with("The MariaDB tests-replica-1 is made anew: "),
        "{:?}",
        told.notes
    );
    replica.await_caught_up(primary.as_mut(), LIMIT, &stop).unwrap();
    assert_eq!(number(replica.as_ref(), "select count(*) from dyno_run.t"), 50_006);

    // So is one that somebody has made a server of its own; one that was only stopped follows again when it is brought.
    execute(replica.as_ref(), "stop slave").unwrap();
    let said = replica.lapse(&stop).unwrap();
    assert!(said.contains("replication is stopped"), "{said}");
    execute(replica.as_ref(), "reset slave all").unwrap();
    is_made_anew(replica.as_mut(), primary.as_mut(), "it follows nobody");

    // A primary that nobody is to follow keeps no record, and cannot be followed then.
    primary
        .bring(needs(&[], false), false, &mut Vec::new(), &mut Steps::default())
        .unwrap();
    let error = replica
        .bring_replica(
            primary.as_mut(),
            needs(&[], false),
            &mut Vec::new(),
            &mut Steps::default(),
            &stop,
        )
        .unwrap_err();
    assert!(error.to_string().contains("keeps no binary log"), "{error}");
    execute(primary.as_ref(), "insert into dyno_run.t values (7)").unwrap();
    primary
        .bring(needs(&[], true), false, &mut Vec::new(), &mut Steps::default())
        .unwrap();
    let mut told = Steps::default();
    replica
        .bring_replica(primary.as_mut(), needs(&[], false), &mut Vec::new(), &mut told, &stop)
        .unwrap();
    assert!(
        told.steps.iter().any(|step| step.starts_with("Copying")),
        "{:?}",
        told.steps
    );
    assert_eq!(number(replica.as_ref(), "select count(*) from dyno_run.t"), 50_007);
}

#[test]
fn a_server_of_another_kind_cannot_be_followed() {
    let (switch, stop) = (KillSwitch::default(), StopFlag::default());
    let mut told = Steps::default();
    let mut one = options("main")
        .in_role("tests-unlike")
        .unwrap()
        .hold(&switch, &mut told)
        .unwrap();
    let other = MariadbOptions::new(home()).in_role("tests-unlike").unwrap();
    let mut other = other.hold(&switch, &mut told).unwrap();
    let error = one
        .bring_replica(other.as_mut(), needs(&[], false), &mut Vec::new(), &mut told, &stop)
        .unwrap_err();
    assert!(
        error.to_string().contains("of the same database and version"),
        "{error}"
    );
}
