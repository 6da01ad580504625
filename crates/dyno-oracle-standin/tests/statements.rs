//! What statements for Oracle do on the PostgreSQL behind a stand-in.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

mod behind;

use dyno_oracle_standin::{Executor, Executors, Kind, Outcome, Postgres, Value, Work};
use std::path::Path;

/// Executors on a fresh database.
fn database(name: &str) -> behind::Database {
    behind::database(&Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home"), name).unwrap()
}

/// A session.
struct Session(Box<dyn Executor>);

impl Session {
    fn new(executors: &Postgres, number: u32) -> Self {
        Self(executors.executor(number).unwrap())
    }

    /// Executes with rows of texts; rows as text, or how many rows were changed, or the error's number.
    fn with(&mut self, sql: &str, rows: &[&[&str]]) -> Result<Vec<String>, u32> {
        let kinds = vec![Kind::Varchar; rows.first().map_or(0, |row| row.len())];
        let rows: Vec<Vec<Value>> = rows
            .iter()
            .map(|row| row.iter().map(|text| Value::text(text)).collect())
            .collect();
        let work = Work {
            sql,
            kinds: &kinds,
            rows: if rows.is_empty() { &[Vec::new()] } else { &rows },
            batch_errors: false,
            commit: false,
        };
        match self.0.execute(&work) {
            Ok(Outcome::Rows { rows, .. }) => Ok(rows.iter().map(|row| shown(row)).collect()),
            Ok(Outcome::Changed { counts, .. }) => Ok(counts.iter().map(u64::to_string).collect()),
            Ok(Outcome::Block) => Ok(Vec::new()),
            Err(failure) => Err(failure.error.code),
        }
    }

    fn run(&mut self, sql: &str) -> Result<Vec<String>, u32> {
        self.with(sql, &[])
    }

    #[track_caller]
    fn finds(&mut self, sql: &str, rows: &[&str]) {
        assert_eq!(
            self.run(sql).as_deref(),
            Ok(&*rows.iter().map(|row| (*row).to_owned()).collect::<Vec<_>>())
        );
    }
}

fn shown(row: &[Value]) -> String {
    let values = row.iter().map(|value| match value {
        Value::Null => "-".to_owned(),
        Value::Number(text) | Value::Text(text) => text.clone(),
        Value::Raw(bytes) => format!("{bytes:02x?}"),
        Value::Double(number) => number.to_string(),
        Value::Time(at) => at.to_string(),
        Value::Rare(value) => format!("{value:?}"),
    });
    values.collect::<Vec<_>>().join(" ")
}

#[test]
fn transactions_are_oracles() {
    let database = database("statements_transactions");
    let (mut one, mut other) = (
        Session::new(&database.executors, 1),
        Session::new(&database.executors, 2),
    );
    one.run("create table t (id number(10) primary key, n number default 0 not null) tablespace users")
        .unwrap();
    // A query begins nothing, a change does.
    one.finds("select count(*) from t", &["0"]);
    assert!(!one.0.in_transaction());
    one.with("insert into t (id) values (:1)", &[&["1"], &["2"], &["3"]])
        .unwrap();
    assert!(one.0.in_transaction());
    // What fails takes nothing back but itself; of an array the rows before stay.
    assert_eq!(
        one.with("insert into t (id) values (:1)", &[&["4"], &["1"], &["5"]]),
        Err(1)
    );
    one.finds("select id from t order by id", &["1", "2", "3", "4"]);
    other.finds("select count(*) from t", &["0"]);
    one.0.commit().unwrap();
    other.finds("select count(*) from t", &["4"]);
    // A definition commits what is before it.
    one.run("delete from t where rownum <= 1").unwrap();
    one.run("alter table t add (v varchar2(5))").unwrap();
    one.0.roll_back().unwrap();
    one.finds("select count(*) from t", &["3"]);
    // Savepoints.
    one.run("update t set n = 1").unwrap();
    one.run("savepoint a").unwrap();
    one.run("update t set n = 2").unwrap();
    one.run("rollback to savepoint a").unwrap();
    one.finds("select distinct n from t", &["1"]);
    one.run("rollback").unwrap();
    one.finds("select distinct n from t", &["0"]);
}

#[test]
fn serializable_transactions_cannot_overtake() {
    let database = database("statements_serializable");
    let (mut one, mut other) = (
        Session::new(&database.executors, 1),
        Session::new(&database.executors, 2),
    );
    one.run("create table t (n number)").unwrap();
    one.run("insert into t values (1)").unwrap();
    one.0.commit().unwrap();
    one.run("set transaction isolation level serializable").unwrap();
    one.run("update t set n = n where n = 0").unwrap();
    other.run("update t set n = 2").unwrap();
    other.0.commit().unwrap();
    assert_eq!(one.run("update t set n = 3"), Err(8177));
    one.0.roll_back().unwrap();
    one.finds("select n from t", &["2"]);
    // What another has locked, waited for no longer than was said.
    other.run("select n from t for update").unwrap();
    assert_eq!(one.run("select n from t for update nowait"), Err(54));
    assert_eq!(one.run("select n from t for update wait 0"), Err(54));
    one.finds("select n from t for update skip locked", &[]);
}

#[test]
fn texts_of_oracle_are_understood() {
    let database = database("statements_texts");
    let mut session = Session::new(&database.executors, 7);
    session
        .run("create table t (id number(10), v varchar2(20), d date, r raw(4))")
        .unwrap();
    session.run("create sequence s start with 5 nocache noorder").unwrap();
    session
        .run(
            "insert into t (id, v, d) select \"ROW\", 'row ' || \"ROW\", date '2026-01-31' + \"ROW\" from \
             (select level + 2 as \"ROW\" from dual connect by level <= 3)",
        )
        .unwrap();
    session.finds(
        "select id, v, d from t where rownum < 2",
        &["3 row 3 2026-02-03T00:00:00"],
    );
    session.finds("select s.nextval from dual", &["5"]);
    session.finds(
        "select s.currval, user, nvl(null, 'x'), round(sysdate - sysdate) from dual",
        &["5 BENCH x 0"],
    );
    session.finds("select 'a' from t minus select 'b' from dual", &["a"]);
    session.finds(
        "select to_char(12.5), to_number('3.25'), instr('abc', 'c') from dual",
        &["12.5 3.25 3"],
    );
    session.finds(
        "select to_date('2026-02-01 10:11', 'YYYY-MM-DD HH24:MI') from dual",
        &["2026-02-01T10:11:00"],
    );
    // Text becomes what is compared with it.
    assert_eq!(
        session.with("select v from t where id = :id", &[&["4"]]),
        Ok(vec!["row 4".to_owned()])
    );
    assert_eq!(session.with("select v from t where id = :id", &[&["four"]]), Err(1722));
    session
        .run("declare n number; begin select count(*) into n from t; delete from t; commit; end;")
        .unwrap();
    session.finds("select count(*) from t", &["0"]);
    session.run("truncate table t reuse storage").unwrap();
    session.run("drop table t cascade constraints purge").unwrap();
    for (sql, code) in [
        ("select * from t", 942),
        ("create table t (a clob)", 3001),
        ("begin raise_application_error(-20000, 'x'); end;", 6550),
        ("select sum(1, 2) from dual", 904),
        ("nonsense", 900),
    ] {
        assert_eq!(session.run(sql), Err(code), "{sql}");
    }
}

#[test]
fn views_are_there_for_those_who_may_see_them() {
    let database = database("statements_views");
    // Sessions of other tests stand in v$session, too.
    let mut session = Session::new(&database.executors, 9);
    session.run("create table t (id number(10) primary key)").unwrap();
    session.finds("select table_name from user_tables", &["T"]);
    session.finds("select table_name, uniqueness from user_indexes", &["T UNIQUE"]);
    session.0.name_module("a test");
    let own = "select sid, username, module, status from v$session where type = 'USER' and sid = 9";
    session.finds(own, &["9 BENCH a test ACTIVE"]);
    let parameter = "select value, isdefault from v$parameter where name = 'open_cursors'";
    session.finds(parameter, &["300 FALSE"]);
    session
        .run("alter system set open_cursors = 1K scope = memory")
        .unwrap();
    session.finds(parameter, &["1024 FALSE"]);
    session.finds("select value from v$spparameter where name = 'open_cursors'", &["300"]);
    session.run("alter system reset open_cursors scope = both").unwrap();
    session.finds(parameter, &["300 TRUE"]);
    assert_eq!(session.run("alter system set processes = 500"), Err(2095));
    assert_eq!(session.run("alter system set no_such_thing = 1"), Err(2065));
    session
        .run("explain plan set statement_id = 'x' for select * from t where id = :1")
        .unwrap();
    session.finds(
        "select operation, object_name from plan_table order by id",
        &["SELECT STATEMENT -", "TABLE ACCESS T"],
    );
    assert_eq!(session.run("explain plan for select * from nothing"), Err(942));
    session.0.roll_back().unwrap();
    // A table of the user's takes a view's place.
    database
        .executors
        .connect()
        .unwrap()
        .batch_execute("create table bench.\"v$sgainfo\" as select 1 x")
        .unwrap();
    session.finds("select x from v$sgainfo", &["1"]);

    let mut ordinary = Session::new(&database.executors.clone().ordinary(), 8);
    ordinary.finds("select table_name from user_tables where table_name = 'T'", &["T"]);
    assert_eq!(ordinary.run("select * from v$session"), Err(942));
    assert_eq!(ordinary.run("alter system set open_cursors = 400"), Err(1031));
    assert_eq!(ordinary.run("alter system checkpoint"), Err(1031));
    ordinary.run("alter session set nls_date_format = 'YYYY'").unwrap();
}
