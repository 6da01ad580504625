//! Plans of statements, asked of a real MySQL.

use crate::support::real_mysql::{RealMysql, skipped};
use dyno_record::{AskedWith, Explained};
use dyno_target::mysql::{MysqlDatabase, Scope};
use dyno_target::target::{Database, StopFlag, ToExplain};

fn filled(text: &str) -> ToExplain {
    ToExplain {
        filled: Some(text.to_owned()),
        ..ToExplain::default()
    }
}

#[track_caller]
fn steps(explained: &Explained) -> Vec<String> {
    let plan = explained.plan().unwrap_or_else(|| panic!("{explained:?}"));
    plan.steps.iter().map(|step| step.words()).collect()
}

#[test]
fn mysql_tells_plans_and_executes_nothing() {
    let mysql = match RealMysql::start(&[]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped("mysql_tells_plans_and_executes_nothing", why),
    };
    let mut admin = mysql.root().connect().unwrap();
    admin
        .execute(
            "create database planned; create table planned.t (id int primary key, n int, key (n)); insert into \
             planned.t values (1, 0), (2, 1), (3, 2), (4, 3); analyze table planned.t",
        )
        .unwrap();
    let info = mysql.root().with_database("planned");
    let database = MysqlDatabase::new(info.clone(), Scope::Database);
    let stands_in = ToExplain {
        parameterized: Some("select n from t where id between ? and ? limit ?".to_owned()),
        ..ToExplain::default()
    };
    let told = database
        .control(&StopFlag::default())
        .unwrap()
        .explain(&[
            filled("select * from t where id = 3;"),
            filled("update t set n = n + 1 where id = 3"),
            filled("insert into t values (5000, 1)"),
            filled("select * from t order by id + n"),
            stands_in,
            filled("delete from t; delete from t"),
            filled("commit"),
            filled("with a as (select n, count(*) from t group by n) select * from a"),
        ])
        .unwrap();
    assert_eq!(steps(&told[0]), ["one row (const) using PRIMARY on t"]);
    assert_eq!(steps(&told[1]), ["update: rows (range) using PRIMARY on t"]);
    assert_eq!(steps(&told[2])[0], "insert on t");
    assert_eq!(steps(&told[3])[0], "ordering operation by filesort");
    let plan = told[4].plan().unwrap_or_else(|| panic!("{:?}", told[4]));
    assert_eq!(plan.asked_with, AskedWith::StandIns);
    // Of so few rows it may read them all.
    assert!(steps(&told[4])[0].ends_with(" on t"), "{:?}", told[4]);
    assert!(matches!(&told[5], Explained::Refused(_)), "{:?}", told[5]);
    assert_eq!(told[6], Explained::HasNone);
    assert!(steps(&told[7]).len() > 1, "{:?}", told[7]);
    let count = "select concat(count(*), ' ', sum(n)) from t";
    let mut client = info.connect().unwrap();
    assert_eq!(client.query_first::<String>(count).unwrap().unwrap(), "4 6");
}
