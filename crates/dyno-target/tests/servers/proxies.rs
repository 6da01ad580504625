//! PostgreSQL as a proxy: tables of another server as foreign tables, on real servers.

use crate::support::watch::watch;
use crate::support::{home, options};
use dyno_record::{Explained, Value};
use dyno_target::mysql::embedded::EmbeddedOptions as MariadbOptions;
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::target::{
    Data, Database, Embedded, External, ForeignTables, Instance, KillSwitch, Needs, Oracle, Progress, Reach, Remote,
    Route, Sql, State, StopFlag, ToExplain, Wanted,
};
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

struct Quiet;

impl Progress for Quiet {
    fn note(&mut self, text: &str) {
        panic!("{text}");
    }
}

fn up(server: &dyn Embedded, role: &str, settings: &[(String, String)]) -> Box<dyn Instance> {
    let server = server.in_role(role).unwrap();
    let mut instance = server.hold(&KillSwitch::default(), &mut Quiet).unwrap();
    let needs = Needs {
        settings,
        clients: 1,
        followed: false,
    };
    instance.bring(needs, false, &mut Vec::new(), &mut Quiet).unwrap();
    instance
}

/// A new database `dyno_run` on a private PostgreSQL, in which these statements were executed.
fn with(instance: &dyn Instance, statements: &str) -> Box<dyn Database> {
    let database = instance.database(Some(Route::Tcp)).unwrap();
    let info = postgres(database.as_ref());
    let mut admin = info.with_database("postgres").connect().unwrap();
    admin
        .batch_execute("drop database if exists dyno_run with (force)")
        .unwrap();
    admin.batch_execute("create database dyno_run").unwrap();
    info.connect().unwrap().batch_execute(statements).unwrap();
    database
}

fn postgres(database: &dyn Database) -> ConnectionInfo {
    match database.reach() {
        Reach::Postgres(info) => info.clone(),
        _ => panic!("another database"),
    }
}

fn tables(names: &[&str], options: &[(&str, &str)]) -> ForeignTables {
    let options = options
        .iter()
        .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    ForeignTables {
        tables: names.iter().map(|name| (*name).to_owned()).collect(),
        options: options.collect(),
    }
}

fn link(proxy: &dyn Database, remote: Remote<'_>, foreign: &ForeignTables) -> Result<Vec<String>, String> {
    let mut control = proxy.control(&StopFlag::default()).unwrap();
    control.link(remote, foreign).map_err(|error| error.to_string())
}

#[test]
fn a_proxy_that_is_not_dynos_has_the_tables_in_dynos_schema_and_forgets_them() {
    let remote = up(&options("main"), "tests-remote-of-others", &[]);
    let proxy = up(&options("main"), "tests-proxy-of-others", &[]);
    let remote_database = with(
        remote.as_ref(),
        "create table far (id int primary key); insert into far values (7)",
    );
    let database = with(proxy.as_ref(), "create table far (whatever text)");
    let (info, stop) = (postgres(database.as_ref()), StopFlag::default());
    let nothing = || Sql::default();
    let data = Data {
        experiment: "x".to_owned(),
        setup: nothing(),
        fill: Vec::new(),
        maker: None,
        finish: nothing(),
        tablespaces: Vec::new(),
        definition: String::new(),
        locale: None,
        read_only: false,
        state: State::Copy,
        linked: true,
    };
    let wanted = Wanted {
        data: &data,
        all: &[],
        campaign: "a",
    };
    let prepared = info.prepare(wanted, &mut Vec::new(), &mut Quiet, &stop).unwrap();
    link(
        prepared.as_ref(),
        remote_database.reach().into(),
        &tables(&["far"], &[]),
    )
    .unwrap();
    let mut client = info.connect().unwrap();
    let mut number = |sql: &str| client.query_one(sql, &[]).unwrap().get::<_, i64>(0);
    assert_eq!(number("select count(*) from dyno_x.far where id = 7"), 1);
    assert_eq!(number("select count(*) from public.far"), 0);
    let left = "select (select count(*) from pg_user_mappings) + (select count(*) from pg_foreign_server)
                       + (select count(*) from pg_foreign_table)";
    assert_eq!(number(left), 3);
    info.unlink("x", &stop).unwrap();
    assert_eq!(number(left), 0);
    info.unlink("x", &stop).unwrap();
    // A dyno that was killed left it; whoever cleans up removes it with the schema.
    link(
        prepared.as_ref(),
        remote_database.reach().into(),
        &tables(&["far"], &[]),
    )
    .unwrap();
    let mut notes = Vec::new();
    assert_eq!(info.remove("dyno_x", &mut notes, &stop).unwrap(), None);
    assert_eq!((number(left), notes), (0, Vec::<String>::new()));
}

#[test]
fn a_proxy_has_the_tables_of_its_remote() {
    let logged = [("log_statement", "all"), ("log_min_duration_statement", "0")];
    let logged = logged.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let remote = up(&options("main"), "tests-remote", &[]);
    let proxy = up(&options("main"), "tests-proxy", &logged);
    let made = "create table far (id int primary key, info text); insert into far select n, 'x' from \
                generate_series(1, 1000) n; create table \"Odd 'one'\" (n int)";
    let remote = with(remote.as_ref(), made);
    let database = with(proxy.as_ref(), "");
    let foreign = tables(
        &["far", "Odd 'one'"],
        &[("fetch_size", "500"), ("use_remote_estimate", "true")],
    );
    assert_eq!(
        link(database.as_ref(), remote.reach().into(), &foreign).unwrap(),
        [""; 0]
    );

    let mut client = postgres(database.as_ref()).connect().unwrap();
    let count: i64 = client.query_one("select count(*) from far", &[]).unwrap().get(0);
    assert_eq!(count, 1000);
    let counted: f32 = client
        .query_one("select reltuples from pg_class where relname = 'far'", &[])
        .unwrap()
        .get(0);
    assert_eq!(counted, 1000.0);
    let options: Vec<String> = client
        .query_one("select srvoptions from pg_foreign_server", &[])
        .unwrap()
        .get(0);
    assert!(options.contains(&"fetch_size=500".to_owned()), "{options:?}");

    // The password is where the server needs it and nowhere else.
    let mapping: Vec<String> = client
        .query_one("select umoptions from pg_user_mappings", &[])
        .unwrap()
        .get(0);
    let password = mapping
        .iter()
        .find_map(|option| option.strip_prefix("password="))
        .unwrap();
    let log = fs::read_to_string(database.data_folder().unwrap().with_file_name("server.log")).unwrap();
    assert!(
        log.contains("create server \"dyno_remote\"") && !log.contains(password),
        "the log has the password"
    );

    // What the proxy sends is part of its plans.
    let explained = database
        .control(&StopFlag::default())
        .unwrap()
        .explain(&[ToExplain {
            parameterized: None,
            filled: Some("select info from far where id = 5".to_owned()),
            has_values: true,
        }])
        .unwrap();
    let Explained::Plan(plan) = &explained[0] else {
        panic!("{explained:?}")
    };
    assert!(
        plan.steps[0].remote.as_deref().unwrap().contains("WHERE ((id = 5))"),
        "{plan:?}"
    );

    // Who waits for the remote is seen to do so.
    let mut holder = postgres(remote.as_ref()).connect().unwrap();
    let mut reader = postgres(database.as_ref()).connect().unwrap();
    let set = database.samplers(&AtomicBool::new(false)).unwrap();
    let told = watch(set, || {
        holder
            .batch_execute("begin; lock far in access exclusive mode")
            .unwrap();
        let reading = std::thread::spawn(move || reader.batch_execute("select * from far"));
        std::thread::sleep(Duration::from_secs(3));
        holder.batch_execute("rollback").unwrap();
        reading.join().unwrap().unwrap();
    });
    let kinds = told.rows["waits.csv"].iter().map(|(_, row)| &row["kind"]);
    assert!(
        kinds.clone().any(|kind| *kind == Value::Text("remote".to_owned())),
        "{:?}",
        kinds.collect::<Vec<_>>()
    );

    // Again, and with another set of tables.
    link(database.as_ref(), remote.reach().into(), &tables(&["far"], &[])).unwrap();
    let error = link(database.as_ref(), remote.reach().into(), &tables(&["far", "near"], &[])).unwrap_err();
    assert!(
        error.ends_with("has no such tables in public: near; give the names that they have there"),
        "{error}"
    );
    let error = link(
        database.as_ref(),
        remote.reach().into(),
        &tables(&["far"], &[("fetch", "1")]),
    )
    .unwrap_err();
    assert!(
        error.starts_with("cannot create the foreign server") && error.contains("\"fetch\""),
        "{error}"
    );

    // What somebody else has made of it stays.
    link(database.as_ref(), remote.reach().into(), &tables(&["far"], &[])).unwrap();
    let again = || link(database.as_ref(), remote.reach().into(), &tables(&["far"], &[]));
    client.batch_execute("create view upon as select * from far").unwrap();
    let error = again().unwrap_err();
    assert!(
        error.starts_with("cannot remove the last remote") && error.contains("view upon"),
        "{error}"
    );
    client.batch_execute("drop view upon").unwrap();
    let others = "create schema others; create foreign table others.far (id int) server dyno_remote";
    client.batch_execute(others).unwrap();
    let error = again().unwrap_err();
    assert!(error.contains("has tables that are not dyno's: others.far;"), "{error}");
    client
        .batch_execute("drop schema others cascade; comment on server dyno_remote is null")
        .unwrap();
    let error = again().unwrap_err();
    assert!(
        error.contains("foreign server dyno_remote of postgres's that dyno did not make"),
        "{error}"
    );
    client
        .batch_execute("comment on server dyno_remote is 'made by dyno'")
        .unwrap();
    again().unwrap();

    // Nobody listens there.
    let nowhere = ConnectionInfo::resolve(Some("postgres://u:s3cret@127.0.0.1:1/d"), &|_| None).unwrap();
    let error = link(
        database.as_ref(),
        Reach::Postgres(&nowhere).into(),
        &tables(&["far"], &[]),
    )
    .unwrap_err();
    assert!(
        error
            .starts_with("the proxy cannot reach its remote postgres://u@127.0.0.1:1/d (it is the proxy that connects")
            && error.contains("could not connect to server")
            && !error.contains("s3cret"),
        "{error}"
    );

    // An extension that is not there is told with its package.
    let oracle = Oracle {
        server: "//127.0.0.1:1521/x".to_owned(),
        user: "scott".to_owned(),
        password: "tiger".into(),
        schema: "SCOTT".to_owned(),
    };
    let error = link(database.as_ref(), Remote::Oracle(&oracle), &tables(&["emp"], &[])).unwrap_err();
    assert!(
        error.contains("has no extension oracle_fdw") && error.contains("oracle_fdw_18") && !error.contains("tiger"),
        "{error}"
    );
}

#[test]
fn a_mariadb_behind_an_installed_postgresql() {
    let mariadb = up(&MariadbOptions::new(home()), "tests-remote", &[]);
    let remote = mariadb.database(Some(Route::Tcp)).unwrap();
    let Reach::Mysql(info) = remote.reach() else {
        panic!("another database")
    };
    let made = "create or replace database dyno_run; create table dyno_run.far (id int primary key, info \
                varchar(20)); insert into dyno_run.far select seq, 'x' from dyno_run.seq_1_to_1000";
    info.with_database("").connect().unwrap().execute(made).unwrap();

    // A MariaDB itself is no proxy.
    let error = link(remote.as_ref(), remote.reach().into(), &tables(&["far"], &[])).unwrap_err();
    assert!(error.starts_with("only PostgreSQL can be a proxy"), "{error}");
    let without = up(&options("main"), "tests-proxy-mariadb", &[]);
    let without = with(without.as_ref(), "");
    let error = link(without.as_ref(), remote.reach().into(), &tables(&["far"], &[])).unwrap_err();
    assert!(
        error.contains("has no extension mysql_fdw") && error.contains("postgresql-18-mysql-fdw"),
        "{error}"
    );

    if !fs::exists("/usr/lib/postgresql/15/lib/mysql_fdw.so").unwrap() {
        eprintln!("not tested: mysql_fdw is not installed (Debian: postgresql-15-mysql-fdw)");
        return;
    }
    let mut installed = options("main");
    "system:15".clone_into(&mut installed.version);
    let proxy = up(&installed, "tests-proxy", &[]);
    let database = with(proxy.as_ref(), "");
    let socket = mariadb.database(Some(Route::Unix)).unwrap();
    let error = link(database.as_ref(), socket.reach().into(), &tables(&["far"], &[])).unwrap_err();
    assert!(error.contains("over TCP only"), "{error}");
    link(
        database.as_ref(),
        remote.reach().into(),
        &tables(&["far"], &[("fetch_size", "500")]),
    )
    .unwrap();
    let mut client = postgres(database.as_ref()).connect().unwrap();
    let count: i64 = client.query_one("select count(*) from far", &[]).unwrap().get(0);
    assert_eq!(count, 1000);
    let explained = database
        .control(&StopFlag::default())
        .unwrap()
        .explain(&[ToExplain {
            parameterized: None,
            filled: Some("select info from far where id = 5".to_owned()),
            has_values: true,
        }])
        .unwrap();
    let Explained::Plan(plan) = &explained[0] else {
        panic!("{explained:?}")
    };
    assert!(
        plan.steps[0].remote.as_deref().unwrap().contains("`dyno_run`.`far`"),
        "{plan:?}"
    );
    let error = link(database.as_ref(), remote.reach().into(), &tables(&["near"], &[])).unwrap_err();
    assert!(error.contains("no such tables in dyno_run: near"), "{error}");
}
