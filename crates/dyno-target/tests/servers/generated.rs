//! Rows that dyno makes are the same on PostgreSQL and MariaDB, however they get there.

use crate::support::as_mysql::as_mysql;
use crate::support::{home, options, quiet};
use dyno_script::Rows;
use dyno_target::mysql::embedded as mariadb;
use dyno_target::mysql::load::{LoadError, fill_rows, run};
use dyno_target::postgres::embedded::{Embedded, create_from_template, drop_database};
use dyno_target::postgres::load::{self, Filled, run_sql};
use dyno_target::postgres::room::needed_bytes;
use dyno_target::target::{Fill, RowSource, Sql};
use dyno_target::{mysql, postgres};
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

const ROWS: u64 = 60_001;
const SEED: u64 = 42;

/// A table that both databases understand; sysbench's, with more kinds of columns.
const TABLE: &str = "create table sbtest1 (id int primary key, k int not null, c char(120) not null, pad char(60) not \
                     null, note text, day date, moment timestamp(6) null, size double precision, ok boolean, doc text)";

const COLUMNS: [(&str, &str); 10] = [
    ("id", "row"),
    ("k", "random(1, 60001)"),
    (
        "c",
        "pattern('###########-###########-###########-###########-###########-###########-###########-###########-\
         ###########-###########')",
    ),
    (
        "pad",
        "pattern('###########-###########-###########-###########-###########')",
    ),
    (
        "note",
        "case when row % 10 = 0 then null when row % 10 = 1 then concat('a\tb\\c\n''ü''', row) else words(0, 8) end",
    ),
    ("day", "date('2024-01-31', row % 1000)"),
    ("moment", "timestamp('2024-03-31 01:30:00', row * 0.001)"),
    ("size", "row / 7.0"),
    ("ok", "row % 3 = 0"),
    (
        "doc",
        "json_object('id', row, 'tags', json_array(words(2), 'a\"b\\c'), 'note', lpad(row, 8, '0'))",
    ),
];

fn fill(rows: u64) -> Fill {
    let columns = COLUMNS.iter();
    Fill {
        table: "sbtest1".to_owned(),
        rows,
        columns: columns
            .map(|(name, expression)| ((*name).to_owned(), (*expression).to_owned()))
            .collect(),
        source: RowSource::Seed(SEED),
    }
}

/// Each database's own words for one text of all rows in order, and its hash.
fn postgres_sum(client: &mut postgres::Client) -> String {
    let query = "select md5(string_agg(concat_ws('|', id, k, c::text, pad::text, coalesce(note, 'NULL'), day,
                                                 to_char(moment, 'YYYY-MM-DD HH24:MI:SS.US'), round(size::numeric, 9),
                                                 ok::int, doc), '#' order by id)) from sbtest1";
    client.query_one(query, &[]).unwrap().get(0)
}

fn mariadb_sum(client: &mut mysql::Client) -> String {
    client
        .execute("set session group_concat_max_len = 1 << 30, session time_zone = '+00:00'")
        .unwrap();
    let query = "select md5(group_concat(concat_ws('|', id, k, c, pad, coalesce(note, 'NULL'), day, moment, \
                 cast(size as decimal(30, 9)), ok, doc) order by id separator '#')) from sbtest1";
    client.query_first(query).unwrap().unwrap()
}

fn on_postgres(info: &postgres::address::ConnectionInfo, connections: usize) -> (String, Filled) {
    let mut client = info.connect().unwrap();
    run_sql(&mut client, &format!("drop table if exists sbtest1; {TABLE}"), "setup").unwrap();
    let Fill {
        table,
        rows,
        columns,
        source,
    } = fill(ROWS);
    let mut fill = load::Fill::new(&table, rows, columns);
    (fill.source, fill.connections) = (source, connections);
    let estimate = |copies| needed_bytes(&mut info.connect().unwrap(), std::slice::from_ref(&fill), copies).unwrap();
    let estimated = estimate(2) - estimate(1);
    let mut last = 0;
    let filled = load::fill_table(info, &fill, &Arc::new(AtomicBool::new(false)), &mut |filling| {
        assert!(filling.rows > last);
        last = filling.rows;
    });
    assert_eq!(last, ROWS);
    let taken = client
        .query_one("select pg_total_relation_size('sbtest1')", &[])
        .unwrap();
    let ratio = estimated as f64 / taken.get::<_, i64>(0) as f64;
    assert!((0.85..1.15).contains(&ratio), "{estimated} estimated, {ratio}");
    (postgres_sum(&mut client), filled.unwrap())
}

fn fill_generated(
    client: &mut mysql::Client,
    fill: &Fill,
    seed: u64,
    connections: usize,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let columns = fill.columns.iter();
    let columns = columns.map(|(name, expression)| (name.as_str(), expression.as_str()));
    let rows = Rows::compile(&fill.table, seed, columns)?;
    fill_rows(client, fill, &rows, connections, stop, progress)
}

fn on_mariadb(info: &mysql::address::ConnectionInfo, connections: usize) -> String {
    into_mariadb(info, connections, TABLE)
}

fn into_mariadb(info: &mysql::address::ConnectionInfo, connections: usize, table: &str) -> String {
    let mut client = info.connect().unwrap();
    client
        .execute(&format!("create or replace {}", table.strip_prefix("create ").unwrap()))
        .unwrap();
    let mut told = Vec::new();
    let stop = AtomicBool::new(false);
    fill_generated(&mut client, &fill(ROWS), SEED, connections, &stop, &mut |rows| {
        told.push(rows);
    })
    .unwrap();
    assert!(
        told.is_sorted() && told.last() == Some(&ROWS) && told.len() > 2,
        "{told:?}"
    );
    mariadb_sum(&mut client)
}

#[test]
fn the_same_rows_stand_in_both_databases_over_any_number_of_connections() {
    let embedded = Embedded::prepare(&options("tests-generated"), &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    let mut admin = server.connection("postgres").connect().unwrap();
    // A server whose usual encoding and zone are others.
    drop_database(&mut admin, "generated").unwrap();
    create_from_template(&mut admin, "template0", "generated").unwrap();
    admin
        .batch_execute(
            "alter database generated set timezone = 'Asia/Kolkata'; alter database generated set \
                        client_encoding = 'LATIN1'",
        )
        .unwrap();
    let info = server.connection("generated");
    let (expected, filled) = on_postgres(&info, 1);
    assert_eq!(filled.rows, ROWS);
    assert_eq!(on_postgres(&info, 4).0, expected);

    let mut options = mariadb::EmbeddedOptions::new(home());
    "tests-generated".clone_into(&mut options.cluster);
    let embedded = mariadb::Embedded::prepare(&options, &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    let mut admin = server.connection("").connect().unwrap();
    admin
        .execute(
            "create or replace database generated character set utf8mb4; set global time_zone = '+05:30'; \
             set global sql_mode = 'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'",
        )
        .unwrap();
    let info = server.connection("generated");
    for connections in [1, 4] {
        assert_eq!(on_mariadb(&info, connections), expected, "{connections} connections");
    }
    assert_eq!(on_mariadb(&server.connection_tcp("generated"), 2), expected);
    what_does_not_fit_is_refused(&info);
    assert_eq!(status(&info, "com_load"), 0);
    assert_eq!(status(&info, "com_insert"), status(&info, "com_stmt_execute"));

    admin
        .execute("create or replace user guest@'%' identified by 'secret'; grant all on *.* to guest@'%'")
        .unwrap();
    let port = as_mysql(server.port());
    let address = format!("mysql://guest:secret@127.0.0.1:{port}/generated");
    let info = mysql::address::ConnectionInfo::resolve(&address, &|_| None).unwrap();
    as_into_mysql(&mut admin, &info, &expected);
}

/// Without rows of values they come by LOAD DATA LOCAL, and where that is off by INSERT.
fn as_into_mysql(admin: &mut mysql::Client, info: &mysql::address::ConnectionInfo, expected: &str) {
    for connections in [1, 4] {
        assert_eq!(on_mariadb(info, connections), expected, "{connections} connections");
    }
    numbers_are_not_waited_for(info, expected);
    admin.execute("set global local_infile = 0").unwrap();
    for connections in [1, 4] {
        assert_eq!(
            on_mariadb(info, connections),
            expected,
            "INSERT over {connections} connections"
        );
    }
    for local_infile in [1, 0] {
        admin
            .execute(&format!("set global local_infile = {local_infile}"))
            .unwrap();
        what_does_not_fit_is_refused(info);
    }
}

/// How many statements of a kind the server has executed.
fn status(info: &mysql::address::ConnectionInfo, name: &str) -> u64 {
    let mut client = info.connect().unwrap();
    let query = format!("show global status like '{name}'");
    let (_, count): (String, u64) = client.query_first(&query).unwrap().unwrap();
    count
}

/// Several connections do not use LOAD DATA where one would wait for the other.
fn numbers_are_not_waited_for(info: &mysql::address::ConnectionInfo, expected: &str) {
    let numbered = TABLE.replace("id int primary key", "id int auto_increment primary key");
    assert_ne!(numbered, TABLE);
    for (connections, table, by_load) in [(1, numbered.as_str(), true), (4, TABLE, true), (4, &numbered, false)] {
        let before = status(info, "com_load");
        assert_eq!(into_mariadb(info, connections, table), expected, "{table}");
        assert_eq!(
            status(info, "com_load") > before,
            by_load,
            "{table} over {connections} connections"
        );
    }
}

fn what_does_not_fit_is_refused(info: &mysql::address::ConnectionInfo) {
    let mut client = info.connect().unwrap();
    let set_up = Sql {
        text: "create or replace table t (id int primary key, word varchar(3))".to_owned(),
        name: "setup".to_owned(),
    };
    let mut load = |id: &str, word: &str, stop: bool| {
        run(&mut client, &set_up).unwrap();
        let columns = [("id", id), ("word", word)];
        let fill = Fill {
            table: "t".to_owned(),
            rows: 3000,
            columns: columns.map(|(name, text)| (name.to_owned(), text.to_owned())).to_vec(),
            source: RowSource::Seed(0),
        };
        fill_generated(&mut client, &fill, 0, 2, &AtomicBool::new(stop), &mut |_| ())
    };
    load("row - 1", "'ü''\\'", false).unwrap();
    for (id, word, expected) in [
        (
            "row % 2999",
            "'abc'",
            "ERROR 1062: Duplicate entry '1' for key 'PRIMARY'",
        ),
        ("row", "'abcd'", "for column 'word'"),
        ("concat('a', row)", "'abc'", "Incorrect integer value: 'a1' for column"),
        ("null", "'abc'", "'id'"),
    ] {
        let error = load(id, word, false).unwrap_err().to_string();
        assert!(
            error.starts_with("filling t failed at rows 1 to 3000: ERROR 1"),
            "{error}"
        );
        assert!(error.contains(expected), "{error}");
    }
    let error = load("1 / (row - 2999)", "'a'", false).unwrap_err().to_string();
    assert_eq!(error, "a row cannot be made: row 2999, column id: division by zero");
    let error = load("row", "no such", false).unwrap_err().to_string();
    assert!(
        error.starts_with("the rows of a table cannot be made: the column word: unknown name no"),
        "{error}"
    );
    assert!(matches!(load("row", "'a'", true), Err(LoadError::Stopped)));
}
