//! That Oracle's crate for Rust, by which dyno's control connections speak, accepts the stand-in as python-oracledb
//! does.
//!
//! It knows the 12c verifier only.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod behind;

use dyno_oracle_standin::{Instant, Options, Profile, Standin};
use oracledb::{
    BindParameters, Config, Connection, Error, JsonValue, OracleIntervalDS, OracleIntervalYM, Row, ToDbValue, Vector,
    VectorData,
};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

fn connect(standin: &Standin, password: &str) -> Result<Connection, Error> {
    let address = format!("{}/standin", standin.address());
    oracledb::connect(
        Config::default()
            .set_credentials("bench", password)
            .set_connect_string(&address)?,
    )
}

/// What an error begins with: its number.
#[track_caller]
fn fails<T>(result: Result<T, Error>, code: &str) {
    match result {
        Ok(_) => panic!("no {code}"),
        Err(error) => assert!(error.to_string().contains(code), "{error} instead of {code}"),
    }
}

fn accept(name: &str, profile: Profile) {
    let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
    let database = behind::database(&home, name).unwrap();
    let mut options = Options::new(Arc::new(database.executors.clone()));
    options.profile = profile;
    let standin = Standin::start(options).unwrap();
    fails(connect(&standin, "wrong"), "ORA-01017");
    let mut connection = connect(&standin, "secret").unwrap();
    let made = "create table tbl (id number(10) primary key, info varchar2(100), bal number default 0)";
    connection.execute(made, &[]).unwrap();
    let numbers: Vec<i64> = (1..=500).collect();
    let names: Vec<String> = numbers.iter().map(|number| format!("info-{number}")).collect();
    let rows: Vec<[&dyn ToDbValue; 2]> = numbers
        .iter()
        .zip(&names)
        .map(|(id, name)| [id as &dyn ToDbValue, name])
        .collect();
    let rows: Vec<&[&dyn ToDbValue]> = rows.iter().map(|row| &row[..]).collect();
    let insert = "insert into tbl (id, info) values (:1, :2)";
    let inserted = connection.execute_batch(insert, BindParameters::Slice(&rows)).unwrap();
    assert_eq!(inserted.rows_affected(), 500);
    connection.commit().unwrap();
    for id in [7, 8] {
        let row = connection
            .query_row("select id, info from tbl where id = :1", &[&id])
            .unwrap();
        assert_eq!(row.get::<i64>(0).unwrap(), id);
        assert_eq!(row.get::<String>(1).unwrap(), format!("info-{id}"));
    }
    let found = connection
        .query("select id, info, bal from tbl order by id", &[])
        .unwrap();
    let found: Vec<i64> = found.map(|row| row.unwrap().get(0).unwrap()).collect();
    assert_eq!(found, numbers);
    let changed = connection
        .execute("update tbl set bal = bal + :1 where id <= :2", &[&1, &3])
        .unwrap();
    assert_eq!(changed.rows_affected(), 3);
    fails(connection.execute(insert, &[&1, &"twice"]), "ORA-00001");
    let sum = "select sum(bal) from tbl";
    assert_eq!(connection.query_row(sum, &[]).unwrap().get::<i64>(0).unwrap(), 3);
    connection.rollback().unwrap();
    assert_eq!(connection.query_row(sum, &[]).unwrap().get::<i64>(0).unwrap(), 0);
    fails(connection.query("select * from nowhere", &[]), "ORA-00942");
    connection.ping().unwrap();
    connection.set_call_timeout(Some(Duration::from_millis(200))).unwrap();
    let sleep = "begin dbms_session.sleep(:1); end;";
    assert!(connection.execute(sleep, &[&20]).is_err());
    connection.set_call_timeout(None).unwrap();
    connection.execute(sleep, &[&0]).unwrap();
    connection.close().unwrap();
    assert_eq!(standin.complaints(), [""; 0]);
    let counts = standin.counts();
    assert_eq!((counts.logins, counts.logoffs, counts.breaks), (1, 1, 1));
}

#[test]
fn a_23ai_is_accepted() {
    accept("crate_23", Profile::V23);
}

#[test]
fn a_19c_is_accepted() {
    accept("crate_19", Profile::V19);
}

/// The crate reads each column of a rare type, and what is behind it, as python-oracledb does.
fn read_rare(profile: Profile) {
    let mut options = Options::new(Arc::new(Instant::new().with_rare(20)));
    options.profile = profile;
    let standin = Standin::start(options).unwrap();
    let connection = connect(&standin, "secret").unwrap();
    for _ in 0..2 {
        let read = |table: &str, check: &dyn Fn(&Row) -> bool| {
            let rows = connection.query(&format!("select * from {table}"), &[]).unwrap();
            let mut count = 0;
            for row in rows {
                let row = row.unwrap();
                count += 1;
                assert_eq!(row.get::<i64>(0).unwrap(), count, "{table}");
                assert_eq!(row.get::<String>(2).unwrap(), format!("tail {count}"), "{table}");
                assert!(count % 3 == 0 || check(&row), "{table} {count}");
            }
            assert_eq!(count, 20, "{table}");
        };
        let text = |expected: &'static str| move |row: &Row| row.get::<String>(1).unwrap() == expected;
        read("longs", &text("a long text"));
        read("nclobs", &text("grün 漢"));
        read("nvarchars", &text("é€"));
        read("nchars", &text("漢   "));
        read("clobs", &|row| row.get::<String>(1).unwrap() == "grün 漢 ".repeat(3000));
        let all: Vec<u8> = (0..=255).collect();
        read("blobs", &|row| row.get::<Vec<u8>>(1).unwrap() == all);
        read("long_raws", &|row| row.get::<Vec<u8>>(1).unwrap() == [0, 254, 255]);
        read("booleans", &|row| row.get::<bool>(1).unwrap());
        read("urowids", &text("*BAHBAv4AAAAAAAAA"));
        read("rowids", &text("AAARFwAAFAAAACDAAH"));
        read(
            "jsons",
            &|row| matches!(row.get::<JsonValue>(1).unwrap(), JsonValue::String(text) if text == "a document"),
        );
        read("vectors", &|row| {
            matches!(row.get::<Vector>(1).unwrap(), Vector::Dense(VectorData::Float32(numbers))
                if numbers == [1.5, -2.0, 0.0])
        });
        read("months", &|row| {
            let months = row.get::<OracleIntervalYM>(1).unwrap();
            (months.years(), months.months()) == (-1, -2)
        });
        read("durations", &|row| {
            let duration = row.get::<OracleIntervalDS>(1).unwrap();
            (
                duration.days(),
                duration.hours(),
                duration.minutes(),
                duration.seconds(),
            ) == (-3, -1, -1, -1)
        });
    }
    assert_eq!(standin.complaints(), [""; 0]);
    assert!(standin.counts().defines > 0);
}

#[test]
fn rare_types_of_a_23ai_are_read() {
    read_rare(Profile::V23);
}

#[test]
fn rare_types_of_a_19c_are_read() {
    read_rare(Profile::V19);
}
