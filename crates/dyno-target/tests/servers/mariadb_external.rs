//! A MariaDB that is not dyno's own: reserved, filled and asked without getting into the way of anybody.

use crate::support::{home, quiet};
use dyno_target::mysql::Client;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::data::WORKING;
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions, Server};
use dyno_target::target::{
    Data, Database, External, Fill, Lock, Progress, RowSource, Sql, State, StopFlag, TargetError, Wanted,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

struct Nobody;

impl Progress for Nobody {
    fn note(&mut self, text: &str) {
        panic!("{text}");
    }
}

fn server(cluster: &str) -> (Embedded, Server) {
    let mut options = EmbeddedOptions::new(home());
    cluster.clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    let settings = [("wait_timeout", "1"), ("innodb_buffer_pool_size", "1001M")];
    let settings = settings.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let server = embedded.start(&settings, &mut quiet).unwrap();
    (embedded, server)
}

fn sql(text: &str) -> Sql {
    Sql {
        text: text.to_owned(),
        name: "the set-up".to_owned(),
    }
}

fn data(setup: &str) -> Data {
    Data {
        experiment: "guest".to_owned(),
        setup: sql(setup),
        fill: Vec::new(),
        finish: sql(""),
        tablespaces: Vec::new(),
        maker: None,
        definition: setup.to_owned(),
        locale: None,
        read_only: false,
        state: State::Copy,
        linked: false,
    }
}

fn prepared(info: &ConnectionInfo, data: &Data, stop: &StopFlag) -> Result<Box<dyn Database>, TargetError> {
    let wanted = Wanted {
        data,
        all: &[],
        campaign: "a",
    };
    info.prepare(wanted, &mut Vec::new(), &mut Nobody, stop)
}

fn refused<T>(result: Result<T, TargetError>) -> String {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

/// Stands in the way of a lock.
fn nobody(holder: &str) {
    panic!("waits for {holder}");
}

fn locked(info: &ConnectionInfo) -> Box<dyn Lock> {
    info.lock(false, &[], &StopFlag::default(), &mut nobody).unwrap()
}

#[test]
fn one_server_is_reserved_once_whatever_it_is_called() {
    let (_embedded, server) = server("tests-mariadb-lock");
    let socket = locked(&server.connection("mysql"));
    let tcp = locked(&server.connection_tcp("information_schema"));
    assert!(socket.is_held() && tcp.is_held());

    // The server does not close what says nothing for longer than it usually waits.
    std::thread::sleep(Duration::from_millis(2500));
    assert!(socket.is_held() && tcp.is_held());

    // A foreign connection has to wait, and does not any more once it is told to stop.
    let mut other = server.connection("mysql").connect().unwrap();
    let taken = "select get_lock('dyno', 0)";
    assert_eq!(other.query_first::<u8>(taken).unwrap(), Some(0));
    drop(socket);
    while other.query_first::<u8>(taken).unwrap() == Some(0) {
        std::thread::sleep(Duration::from_millis(10));
    }
    assert!(!tcp.is_held(), "somebody else has it");
    let stop = StopFlag::default();
    let mut told = Vec::new();
    let mut waiting = |holder: &str| {
        told.push(holder.to_owned());
        stop.store(true, Ordering::Relaxed);
    };
    assert!(tcp.ensure(&stop, &mut waiting).is_err());
    assert!(told[0].starts_with("another dyno (connection "), "{told:?}");
    other.execute("do release_lock('dyno')").unwrap();
    tcp.ensure(&StopFlag::default(), &mut nobody).unwrap();
    assert!(tcp.is_held());
}

/// Statements of this text that the server executes.
fn executing(client: &mut Client, text: &str) -> u64 {
    let query = format!(
        "select count(*) from information_schema.processlist where info like '{text}%' and command <> 'Killed'"
    );
    client.query_first(&query).unwrap().unwrap()
}

#[test]
fn what_is_waited_for_ends_with_a_request_to_stop() {
    let (_embedded, server) = server("tests-mariadb-stop");
    let info = server.connection("mysql");
    let mut client = info.connect().unwrap();
    client.execute(&format!("drop database if exists {WORKING}")).unwrap();
    let stop = StopFlag::default();
    let raise = Arc::clone(&stop);
    let raised = std::thread::spawn(move || {
        while executing(&mut client, "select sleep(1000)") == 0 {
            std::thread::sleep(Duration::from_millis(10));
        }
        raise.store(true, Ordering::Relaxed);
        (client, Instant::now())
    });
    refused(prepared(&info, &data("select sleep(1000)"), &stop).map(drop));
    let (mut client, since) = raised.join().unwrap();
    assert!(since.elapsed() < Duration::from_secs(3), "{:?}", since.elapsed());
    let deadline = Instant::now() + Duration::from_secs(5);
    while executing(&mut client, "select sleep(1000)") > 0 {
        assert!(Instant::now() < deadline, "the server goes on");
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn the_database_of_others_stays_theirs() {
    let (_embedded, server) = server("tests-mariadb-guest");
    let mut client = server.connection("").connect().unwrap();
    client.execute("set global character_set_server = latin1").unwrap();
    client
        .execute(&format!("create or replace database {WORKING}"))
        .unwrap();
    client.execute("create or replace database theirs").unwrap();
    client.execute("create table theirs.t (id int primary key)").unwrap();
    client.execute("insert into theirs.t values (1)").unwrap();
    let info = server.connection_tcp("theirs");
    let stop = StopFlag::default();
    let bring = data("create table mine (id int primary key, name text); insert into mine values (1, '杭州')");

    // What cannot be loaded is known before anything is changed.
    let error = refused(info.check_data(&bring, &stop));
    assert!(error.contains("without dyno's mark, which is left alone"), "{error}");
    client.execute(&format!("drop database {WORKING}")).unwrap();
    info.check_data(&bring, &stop).unwrap();
    client.execute("uninstall soname if exists 'ha_sequence'").unwrap();
    let has = "select count(*) from information_schema.engines where engine = 'SEQUENCE' and support <> 'NO'";
    if client.query_first::<u64>(has).unwrap() == Some(0) {
        let fill = vec![Fill {
            table: "mine".to_owned(),
            rows: 1,
            columns: vec![("id".to_owned(), "row".to_owned())],
            source: RowSource::Server,
        }];
        let error = refused(info.check_data(&Data { fill, ..bring.clone() }, &stop));
        assert!(error.contains("no sequence engine"), "{error}");
    }

    // Without data nothing is the experiment's.
    let database = prepared(&info, &data(""), &stop).unwrap();
    let mut control = database.control(&stop).unwrap();
    assert_eq!(
        control.warm().unwrap(),
        "0 tables were read into the cache before the load"
    );
    assert_eq!(control.sizes().unwrap().tables, []);
    database.mark_used(&stop).unwrap();

    // With data it is another database, which is known by the address that was given.
    let database = prepared(&info, &bring, &stop).unwrap();
    assert_eq!(database.to_string(), info.to_string());
    let mut control = database.control(&stop).unwrap();
    let names = control.sizes().unwrap().tables;
    assert_eq!(
        names.iter().map(|table| table.name.as_str()).collect::<Vec<_>>(),
        ["mine"]
    );
    let query = format!("select concat(name, ' ', collation(name)) from {WORKING}.mine");
    let name: String = client.query_first(&query).unwrap().unwrap();
    assert_eq!(name, "杭州 utf8mb4_general_ci", "whatever the server's default is");
    let mut mark = || {
        let query = format!("select schema_comment from information_schema.schemata where schema_name = '{WORKING}'");
        client.query_first::<String>(&query).unwrap().unwrap()
    };
    assert!(mark().starts_with("dyno: loaded "), "{}", mark());
    database.mark_used(&stop).unwrap();
    assert!(mark().ends_with(" used by a"), "{}", mark());
}

#[test]
fn rows_go_only_into_tables_that_the_setup_made() {
    let (_embedded, server) = server("tests-mariadb-rows");
    let mut client = server.connection("").connect().unwrap();
    client.execute(&format!("drop database if exists {WORKING}")).unwrap();
    client.execute("create or replace database theirs").unwrap();
    client.execute("create table theirs.t (id int primary key)").unwrap();
    let info = server.connection_tcp("theirs");
    let stop = StopFlag::default();
    let filling = |setup: &str, table: &str| Data {
        fill: vec![Fill {
            table: table.to_owned(),
            rows: 5,
            columns: vec![("id".to_owned(), "row".to_owned())],
            source: RowSource::Seed(1),
        }],
        state: State::Reload,
        ..data(setup)
    };
    let mut count = |table: &str| {
        let query = format!("select count(*) from {table}");
        client.query_first::<u64>(&query).unwrap().unwrap()
    };
    for table in ["theirs.t", "`theirs` . t"] {
        for setup in ["", "create table if not exists theirs.t (id int)"] {
            let error = refused(prepared(&info, &filling(setup, table), &stop));
            let expected = format!("into the table {table}, which is not of this experiment");
            assert!(error.contains(&expected), "{error}");
        }
    }
    assert_eq!(count("theirs.t"), 0);

    // A set-up that goes elsewhere does not take the rows with it.
    let elsewhere = "create table t (id int); use theirs";
    prepared(&info, &filling(elsewhere, "t"), &stop).unwrap();
    assert_eq!((count("theirs.t"), count(&format!("{WORKING}.t"))), (0, 5));

    // What it makes elsewhere is its own the first time; then it is in its own way.
    let beside = filling("create table theirs.beside (id int)", "theirs.beside");
    prepared(&info, &beside, &stop).unwrap();
    assert!(refused(prepared(&info, &beside, &stop)).contains("not of this experiment"));
    let error = refused(prepared(&info, &data("create table theirs.beside (id int)"), &stop));
    assert!(error.contains("make tables without naming a database"), "{error}");
    assert_eq!(count("theirs.beside"), 5);
}

#[test]
fn connections_of_dyno_are_counted_and_what_is_not_possible_is_said() {
    let (_embedded, server) = server("tests-mariadb-terms");
    let info = server.connection("mysql");
    let stop = StopFlag::default();
    info.check_connections(141, &[], &stop).unwrap();
    let error = refused(info.check_connections(142, &[], &stop));
    assert!(
        error.starts_with("max_connections is 151, too few for 142 clients and 10 connections beside them"),
        "{error}"
    );
    let more = [("max_connections".to_owned(), "400".to_owned())];
    info.check_connections(142, &more, &stop).unwrap();
    info.check_terms(false, None, &stop).unwrap();
    let error = refused(info.check_terms(true, None, &stop));
    assert!(
        error.starts_with("--share-server is for PostgreSQL only so far"),
        "{error}"
    );
    let error = refused(info.check_terms(false, Some("systemctl restart mariadb"), &stop));
    assert!(error.starts_with("--restart-command is not for MariaDB"), "{error}");
}

#[test]
fn a_size_that_the_server_rounds_is_the_one_that_was_wanted() {
    let (_embedded, server) = server("tests-mariadb-pool");
    let stop = StopFlag::default();
    let mut control = prepared(&server.connection("mysql"), &data(""), &stop)
        .unwrap()
        .control(&stop)
        .unwrap();
    let mut differences = |name: &str, wanted: &str| {
        let wanted = [(name.to_owned(), wanted.to_owned())];
        let found = control.differences(&wanted).unwrap();
        found.iter().map(ToString::to_string).collect::<Vec<_>>()
    };
    let none = Vec::<String>::new();
    assert_eq!(differences("innodb_buffer_pool_size", "1001mb"), none);
    assert_eq!(differences("Innodb-Buffer-Pool-Size", "1049624576"), none);
    assert_eq!(differences("innodb_buffer_pool_size", "2GB").len(), 1);
    assert_eq!(
        differences("max_connections", "152"),
        ["max_connections is 151, not 152"]
    );
    assert_eq!(
        differences("innodb_log_buffer_size", "1GB"),
        ["innodb_log_buffer_size is 16M, not 1GB"]
    );
}

/// A role with these rights, if any, on this server.
fn role(server: &Server, name: &str, rights: Option<&str>) -> ConnectionInfo {
    let mut client = server.connection("").connect().unwrap();
    client
        .execute(&format!("create or replace user {name}@localhost identified by 'x'"))
        .unwrap();
    if let Some(rights) = rights {
        client.execute(&format!("grant {rights} to {name}@localhost")).unwrap();
    }
    let socket = server.connection("").host.to_string();
    ConnectionInfo::resolve(
        &format!("mysql://{name}:x@localhost/information_schema?socket={socket}"),
        &|_| None,
    )
    .unwrap()
}

#[test]
fn what_loading_changed_is_written_before_the_load() {
    let (_embedded, server) = server("tests-mariadb-settle");
    let mut client = server.connection("").connect().unwrap();
    client.execute(&format!("drop database if exists {WORKING}")).unwrap();
    let mut bring = data(
        "create table mine (id int primary key, info text); \
         create table kept (id int primary key) engine = myisam",
    );
    bring.fill = vec![Fill {
        table: "mine".to_owned(),
        rows: 50_000,
        columns: vec![
            ("id".to_owned(), "row".to_owned()),
            ("info".to_owned(), "repeat('x', 200)".to_owned()),
        ],
        source: RowSource::Server,
    }];
    let stop = StopFlag::default();
    let mut dirty = || {
        let query = "select cast(variable_value as signed) from information_schema.global_status where variable_name = \
                     'INNODB_BUFFER_POOL_PAGES_DIRTY'";
        client.query_first::<u64>(query).unwrap().unwrap()
    };
    let database = prepared(&server.connection(""), &bring, &stop).unwrap();
    let before = dirty();
    assert!(before > 300, "{before}");
    let notes = database.control(&stop).unwrap().settle().unwrap();
    assert_eq!(notes, Vec::<String>::new());
    assert!(dirty() < before / 2, "{} of {before}", dirty());

    // A role that may not do that says so, and what it takes.
    let plain = role(&server, "plain", Some(&format!("all on {WORKING}.*")));
    let database = prepared(&plain, &bring, &stop).unwrap();
    let notes = database.control(&stop).unwrap().settle().unwrap();
    let grants = ["reload", "process"].map(|right| format!("execute: grant {right} on *.* to 'plain'@'localhost'."));
    assert_eq!(notes.len(), 2, "{notes:?}");
    for (note, grant) in notes.iter().zip(grants) {
        assert!(note.ends_with(&grant), "{note}");
    }
}

#[test]
fn what_others_have_put_into_it_or_built_upon_it_is_not_dropped() {
    let (_embedded, server) = server("tests-mariadb-foreign");
    let mut client = server.connection("").connect().unwrap();
    for database in [WORKING, "theirs"] {
        client.execute(&format!("drop database if exists {database}")).unwrap();
    }
    client.execute("create database theirs").unwrap();
    let info = server.connection("theirs");
    let stop = StopFlag::default();
    let bring = data("create table mine (id int primary key); create view seen as select id from mine");
    let other = data("create table mine (id bigint primary key)");
    prepared(&info, &bring, &stop).unwrap();
    info.check_data(&other, &stop).unwrap();

    let mut while_there = |create: &str, undo: &str, said: &str| {
        client.execute(create).unwrap();
        let errors = [
            refused(info.check_data(&other, &stop)),
            refused(prepared(&info, &other, &stop).map(drop)),
            refused(info.remove(WORKING, &mut Vec::new(), &stop).map(drop)),
        ];
        for error in errors {
            assert!(error.contains(said), "{error}");
        }
        // What is loaded and does is used all the same.
        info.check_data(&bring, &stop).unwrap();
        client.execute(undo).unwrap();
        info.check_data(&other, &stop).unwrap();
    };
    while_there(
        &format!("create table {WORKING}.notes (id int)"),
        &format!("drop table {WORKING}.notes"),
        "that dyno did not make: notes; move them",
    );
    while_there(
        &format!("create view {WORKING}.`it's` as select 1"),
        &format!("drop view {WORKING}.`it's`"),
        "that dyno did not make: it's; move them",
    );
    while_there(
        &format!("create table theirs.t (id int, foreign key (id) references {WORKING}.mine (id))"),
        "drop table theirs.t",
        "theirs.t; drop these foreign keys and views",
    );
    while_there(
        &format!("create view theirs.v as select id from {WORKING}.mine"),
        "drop view theirs.v",
        "theirs.v; drop these foreign keys and views",
    );

    // What a workload of the same campaign has made is no stranger's.
    let database = prepared(&info, &bring, &stop).unwrap();
    database.mark_used(&stop).unwrap();
    client
        .execute(&format!("create table {WORKING}.made (id int)"))
        .unwrap();
    prepared(&info, &bring, &stop).unwrap();
    let made: Vec<String> = client.query(&format!("show tables from {WORKING}")).unwrap();
    assert_eq!(made, ["mine", "seen"]);

    // Who may not make the database is told what it takes.
    let error = refused(prepared(&role(&server, "nobody", None), &other, &stop).map(drop));
    assert!(
        error.ends_with("execute: grant all on dyno_run.* to 'nobody'@'localhost'"),
        "{error}"
    );
}
