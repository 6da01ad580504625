//! Plans of statements, asked of real servers.

use crate::support::{shared_server, watched};
use dyno_record::{AskedWith, Explained, QueryPlan};
use dyno_target::mysql::{MysqlDatabase, Scope as MysqlScope};
use dyno_target::postgres::PostgresDatabase;
use dyno_target::postgres::scope::Scope;
use dyno_target::postgres::server_message;
use dyno_target::target::{Database, StopFlag, ToExplain};

/// What a connection says twice.
fn asked(database: &dyn Database, statements: &[ToExplain]) -> Vec<Explained> {
    let mut control = database.control(&StopFlag::default()).unwrap();
    let first = control.explain(statements).unwrap();
    assert_eq!(control.explain(statements).unwrap(), first);
    first
}

fn filled(text: &str) -> ToExplain {
    ToExplain {
        parameterized: None,
        filled: Some(text.to_owned()),
        has_values: false,
    }
}

#[track_caller]
fn plan(explained: &Explained) -> &QueryPlan {
    explained.plan().unwrap_or_else(|| panic!("{explained:?}"))
}

fn steps(explained: &Explained) -> Vec<String> {
    plan(explained).steps.iter().map(|step| step.words()).collect()
}

const HARMLESS: [&str; 4] = ["begin;", "commit", "create table other (i int)", "vacuum t"];

#[test]
fn postgres_tells_plans_and_executes_nothing() {
    let shared = shared_server("tests-plans");
    let info = shared.server.connection("postgres");
    let mut client = info.connect().unwrap();
    let mut execute = |sql: &str| {
        client
            .batch_execute(sql)
            .unwrap_or_else(|error| panic!("{}", server_message(&error)))
    };
    execute(
        "drop table if exists t cascade; drop role if exists poor; create table t (id int primary key, x int); \
         insert into t select i, i from generate_series(1, 20000) i; analyze t; create role poor login; \
         create sequence if not exists drawn; \
         create or replace function noted(int) returns int stable language plpgsql as \
         'begin insert into t values (-1); return 1; end'",
    );
    let database = PostgresDatabase::new(info.clone(), Scope::Database);
    let parameterized = ToExplain {
        parameterized: Some("select * from t where id = $1;".to_owned()),
        filled: Some("select * from t where id = '5';".to_owned()),
        has_values: true,
    };
    let badly_parameterized = ToExplain {
        parameterized: Some("select * from t$1".to_owned()),
        filled: Some("select * from t".to_owned()),
        has_values: true,
    };
    let unknown = ToExplain {
        parameterized: Some("select x from nowhere where id = $1".to_owned()),
        ..ToExplain::default()
    };
    let told = asked(
        &database,
        &[
            parameterized,
            filled("update t set x = x + 1 where id between 5 and 7"),
            badly_parameterized,
            unknown,
            filled("delete from t; delete from t"),
            filled("select 1; commit; delete from t"),
            filled("select nextval('drawn'), noted(1)"),
            filled("(select * from t where x = 5)"),
            filled("with gone as (delete from t returning *) select count(*) from gone"),
        ],
    );
    assert_eq!(steps(&told[0]), ["Index Scan using t_pkey on t"]);
    let condition = &plan(&told[0]).steps[0].details["Index Cond"];
    assert_eq!(
        (plan(&told[0]).asked_with, condition.as_str()),
        (AskedWith::Parameters, "(t.id = $1)")
    );
    assert_eq!(steps(&told[1]), ["Update on t", "Index Scan using t_pkey on t"]);
    assert_eq!(plan(&told[1]).asked_with, AskedWith::Text);
    assert_eq!(steps(&told[2]), ["Seq Scan on t"]);
    assert_eq!(plan(&told[2]).asked_with, AskedWith::Values);
    assert!(
        matches!(&told[3], Explained::Refused(why) if why.contains("nowhere")),
        "{:?}",
        told[3]
    );
    for several in [&told[4], &told[5]] {
        assert!(
            matches!(several, Explained::Refused(why) if why.contains("multiple commands")),
            "{several:?}"
        );
    }
    assert_eq!(steps(&told[6]), ["Result"]);
    assert_eq!(steps(&told[7]), ["Seq Scan on t"]);
    assert!(
        steps(&told[8]).contains(&"CTE gone: Delete on t".to_owned()),
        "{:?}",
        told[8]
    );
    let mut client = info.connect().unwrap();
    let row = client.query_one("select count(*), sum(x), (select is_called from drawn) from t", &[]);
    let row = row.unwrap();
    assert_eq!(
        (row.get::<_, i64>(0), row.get::<_, i64>(1)),
        (20_000, 20_000 * 20_001 / 2)
    );
    assert!(!row.get::<_, bool>(2), "a number was drawn");

    let none = asked(&database, &HARMLESS.map(filled));
    assert!(none.iter().all(|told| *told == Explained::HasNone), "{none:?}");
    // Somebody who holds a lock is not waited for.
    let mut holder = info.connect().unwrap();
    holder
        .batch_execute("begin; lock table t in access exclusive mode")
        .unwrap();
    let waiting = asked(&database, &[filled("select * from t"), filled("select 1")]);
    assert!(
        matches!(&waiting[0], Explained::Refused(why) if why.contains("lock timeout")),
        "{waiting:?}"
    );
    assert_eq!(steps(&waiting[1]), ["Result"]);
}

/// Planning calls functions whose values it takes for constant; the server gives up what takes long.
#[test]
fn a_plan_that_takes_long_is_not_waited_for() {
    let shared = shared_server("tests-plans");
    let info = shared.server.connection("postgres");
    let mut client = info.connect().unwrap();
    let slow = "create or replace function slow() returns int immutable language plpgsql as
                'begin perform pg_sleep(100); return 1; end'";
    client.batch_execute(slow).unwrap();
    let statements = [filled("select 1 where slow() = 1"), filled("select 1")];
    let told = asked(&PostgresDatabase::new(info, Scope::Database), &statements);
    assert!(
        matches!(&told[0], Explained::Refused(why) if why.contains("statement timeout")),
        "{told:?}"
    );
    assert_eq!(steps(&told[1]), ["Result"]);

    let watched = watched::start("tests-mariadb-plans", &[]);
    let mut client = watched.info.connect().unwrap();
    let slow = "create or replace function slow() returns int deterministic begin do sleep(100); return 1; end;";
    client.execute(slow).unwrap();
    let database = MysqlDatabase::new(watched.info.clone(), MysqlScope::Database);
    let told = asked(
        &database,
        &[filled("select * from t where id = slow()"), filled("select 1")],
    );
    assert!(
        matches!(&told[0], Explained::Refused(why) if why.contains("max_statement_time")),
        "{told:?}"
    );
    assert_eq!(steps(&told[1]), ["No tables used"]);
}

/// A role that may not read a table is not told how it would be read.
#[test]
fn postgres_says_which_right_is_missing() {
    let shared = shared_server("tests-plans");
    // Other tests connect as the same user meanwhile: what is taken from it is taken in a database of its own.
    let mut admin = shared.server.connection("postgres").connect().unwrap();
    let run = |client: &mut dyno_target::postgres::Client, statements: &[&str]| {
        statements
            .iter()
            .for_each(|statement| client.batch_execute(statement).unwrap());
    };
    run(
        &mut admin,
        &[
            "drop database if exists rights",
            "drop role if exists barred",
            "create database rights",
            "create role barred",
        ],
    );
    let info = shared.server.connection("rights");
    run(&mut info.connect().unwrap(), &["create table secret (i int)"]);
    run(&mut admin, &["alter role postgres in database rights set role barred"]);
    let told = asked(
        &PostgresDatabase::new(info, Scope::Database),
        &[filled("select * from secret")],
    );
    assert!(
        matches!(&told[0], Explained::Denied(why) if why.contains("permission denied")),
        "{told:?}"
    );
}

/// What another server is sent is part of the plan.
#[test]
fn postgres_tells_what_a_foreign_scan_sends() {
    let shared = shared_server("tests-plans");
    let info = shared.server.connection("postgres");
    let mut client = info.connect().unwrap();
    let port = shared.server.port();
    let sql = format!(
        "drop extension if exists postgres_fdw cascade; drop table if exists near cascade; create extension \
         postgres_fdw; create table near (id int primary key, x int); create server far foreign data wrapper \
         postgres_fdw options (host '127.0.0.1', port '{port}', dbname 'postgres'); create user mapping for postgres \
         server far options (user 'postgres', password 'hidden'); create foreign table away (id int, x int) server far \
         options (table_name 'near')"
    );
    client
        .batch_execute(&sql)
        .unwrap_or_else(|error| panic!("{}", server_message(&error)));
    let statement = ToExplain {
        parameterized: Some("select x from away where id = $1".to_owned()),
        ..ToExplain::default()
    };
    let told = asked(&PostgresDatabase::new(info, Scope::Database), &[statement]);
    let step = &plan(&told[0]).steps[0];
    assert_eq!(step.words(), "Foreign Scan on away");
    let sent = step.remote.as_deref().unwrap();
    assert_eq!(sent, "SELECT x FROM public.near WHERE ((id = $1::integer))");
    assert!(!plan(&told[0]).answer.as_deref().unwrap().contains("hidden"));
    client
        .batch_execute("drop extension postgres_fdw cascade; drop table near")
        .unwrap();
}

#[test]
fn mariadb_tells_plans_and_executes_nothing() {
    let watched = watched::start("tests-mariadb-plans", &[]);
    let mut client = watched.info.connect().unwrap();
    client
        .execute(
            "create or replace table u (id int primary key, t int, c char(10), key (t)); \
                  insert into u select seq, seq, seq from seq_1_to_1000; analyze table t, u; \
                  create or replace function noted(i int) returns int begin insert into t values (-1, 1); \
                  return 1; end",
        )
        .unwrap();
    let database = MysqlDatabase::new(watched.info.clone(), MysqlScope::Database);
    let parameterized = |text: &str| ToExplain {
        parameterized: Some(text.to_owned()),
        ..ToExplain::default()
    };
    let told = asked(
        &database,
        &[
            filled("select * from t where id = 5;"),
            filled("update t set n = n + 1 where id between 5 and 7"),
            filled("insert into t values (5000, 1)"),
            filled("select * from t join u on u.t = t.id where t.n = 0 order by u.c"),
            parameterized("select n from t where id between ? and ? limit ?"),
            parameterized("select n from t where id = $1"),
            filled("select * from nowhere"),
            filled("delete from t; delete from t"),
            filled("select 1; commit; delete from t"),
            filled("select noted(1)"),
            filled("select * from (select n, count(*) from t group by n) s"),
            filled("replace into t values (5, 5)"),
            filled("delete from t where id = 5"),
        ],
    );
    assert_eq!(steps(&told[0]), ["one row (const) using PRIMARY on t"]);
    assert_eq!(plan(&told[0]).asked_with, AskedWith::Text);
    assert_eq!(steps(&told[1]), ["update: rows (range) using PRIMARY on t"]);
    assert_eq!(steps(&told[2]), ["insert on t"]);
    let join = steps(&told[3]);
    assert!(
        join.contains(&"unique lookup (eq_ref) using PRIMARY on t".to_owned()),
        "{join:?}"
    );
    assert!(join.contains(&"filesort".to_owned()), "{join:?}");
    assert_eq!(steps(&told[4]), ["rows (range) using PRIMARY on t"]);
    assert_eq!(plan(&told[4]).asked_with, AskedWith::StandIns);
    assert_eq!(steps(&told[5]), ["one row (const) using PRIMARY on t"]);
    for refused in &told[6..9] {
        assert!(matches!(refused, Explained::Refused(_)), "{refused:?}");
    }
    println!("{:?} {:?}", told[9], steps(&told[10]));
    assert!(steps(&told[10]).len() > 2, "{:?}", told[10]);
    assert_eq!(steps(&told[11]), ["replace on t"]);
    assert_eq!(steps(&told[12]), ["delete: rows (range) using PRIMARY on t"]);
    let count = "select concat(count(*), ' ', sum(n)) from t";
    assert_eq!(client.query_first::<String>(count).unwrap().unwrap(), "1000 0");
    let none = asked(&database, &HARMLESS.map(filled));
    assert!(none.iter().all(|told| *told == Explained::HasNone), "{none:?}");
    // Who may read a view may not be told what it reads.
    client
        .execute(
            "create or replace view v as select id from t; create or replace user poor@localhost identified by 'p'; \
             grant select, show view on watched.v to poor@localhost",
        )
        .unwrap();
    let mut info = watched.info.clone();
    (info.user, info.password) = ("poor".to_owned(), Some("p".to_owned().into()));
    let view = MysqlDatabase::new(info, MysqlScope::Database);
    let told = asked(&view, &[filled("select * from v where id = 5"), filled("select 1")]);
    assert!(matches!(&told[0], Explained::Denied(_)), "{told:?}");
    assert_eq!(steps(&told[1]), ["No tables used"]);
    // Somebody who holds a lock is not waited for long.
    let mut holder = watched.info.connect().unwrap();
    holder.execute("lock tables t write").unwrap();
    // Two limits of a second end that, and either may say so.
    let mut control = database.control(&StopFlag::default()).unwrap();
    let waiting = control
        .explain(&[filled("select * from t"), filled("select 1")])
        .unwrap();
    assert!(matches!(waiting[0], Explained::Refused(_)), "{waiting:?}");
    assert_eq!(steps(&waiting[1]), ["No tables used"]);
}
