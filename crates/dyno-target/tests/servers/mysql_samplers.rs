//! What the samplers notice on a real MySQL.

use crate::support::real_mysql::{RealMysql, skipped};
use crate::support::watch::{Row, Told, watch};
use crate::support::watched::{seconds, under_load};
use dyno_record::{Event, Meaning, Value, WaitKind};
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::sampler::sampler_set;

#[test]
fn samplers_see_what_a_real_mysql_does() {
    let mysql = match RealMysql::start(&["--performance-schema=ON"]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped("samplers_see_what_a_real_mysql_does", why),
    };
    let mut admin = mysql.root().connect().unwrap();
    let set_up = "create database watched; create table watched.t (id int primary key, n int); insert into watched.t \
                  values (1, 0), (2, 0), (3, 0), (4, 0)";
    admin.execute(set_up).unwrap();
    let info = mysql.root().with_database("watched");
    every_source_has_rows(&info);
    locks_have_kinds_and_holders(&mysql, &info);
}

fn every_source_has_rows(info: &ConnectionInfo) {
    let told = watch(sampler_set(info, true, None), || under_load(info, || seconds(2.5)));
    assert_eq!(told.warnings, [""; 0]);
    let meanings = &told.meanings["server.csv"];
    let (_, row) = told.rows["server.csv"].last().unwrap();
    let number = |meaning: Meaning| {
        let column = meanings
            .get(&meaning)
            .unwrap_or_else(|| panic!("{meaning:?}: {meanings:?}"));
        match row[column] {
            Value::Number(number) => number,
            _ => panic!("{column}: {row:?}"),
        }
    };
    for meaning in [
        Meaning::PagesDirty,
        Meaning::PagesRead,
        Meaning::PagesWritten,
        Meaning::SessionsActive,
        Meaning::SessionsIdleInTransaction,
        Meaning::SessionsWaitingForLocks,
        Meaning::TransactionsToPurge,
    ] {
        number(meaning);
    }
    assert!(number(Meaning::LogBytes) > 0.0);
    // The size of the log is that of all its files.
    let limit = number(Meaning::LogSinceCheckpointLimitBytes);
    assert!(limit >= (8_u32 << 20).into(), "{limit}");
    assert!(number(Meaning::LogSinceCheckpointBytes) < limit);

    let of_table = |(_, row): &&Row| row["table"] == Value::from("watched.t");
    let (_, table) = told.rows["tables.csv"].iter().rfind(of_table).unwrap();
    assert!(
        matches!(table["file_bytes"], Value::Number(bytes) if bytes > 10_000.0),
        "{table:?}"
    );
    let (_, statement) = &told.rows["statements.csv"][0];
    assert!(
        matches!(&statement["query"], Value::Text(query) if query.to_lowercase().starts_with("update")),
        "{statement:?}"
    );
    assert!(
        matches!(statement["count_star"], Value::Number(calls) if calls > 10.0),
        "{statement:?}"
    );
}

fn waited(told: &Told, class: &str, kind: WaitKind) -> bool {
    told.rows["waits.csv"].iter().any(|(_, row)| {
        row["backend"] == Value::from("client")
            && row["wait_event_type"] == Value::from(class)
            && row["kind"] == Value::from(kind.name())
    })
}

fn locks_have_kinds_and_holders(mysql: &RealMysql, info: &ConnectionInfo) {
    for (lock, name, class, kind) in [
        (
            "start transaction; update watched.t set n = 0",
            "row lock",
            "Row lock",
            WaitKind::Row,
        ),
        (
            "flush tables with read lock",
            "global read lock",
            "Global read lock",
            WaitKind::Lock,
        ),
    ] {
        let told = watch(sampler_set(info, true, None), || {
            under_load(info, || {
                seconds(1.0);
                let mut holder = mysql.root().connect().unwrap();
                holder.execute(lock).unwrap();
                seconds(2.0);
                drop(holder);
                seconds(0.5);
            });
        });
        let blocked = told.events.iter().filter_map(|event| match event {
            Event::Blocked(blocked) => Some(blocked),
            _ => None,
        });
        let longest = blocked.max_by(|one, other| (one.end_s - one.start_s).total_cmp(&(other.end_s - other.start_s)));
        let longest = longest.unwrap_or_else(|| panic!("{lock}: {:?} {:?}", told.events, told.warnings));
        assert_eq!(longest.lock.as_deref(), Some(name), "{longest:?}");
        let holder = longest.holder.as_deref().unwrap();
        assert!(holder.contains("(root@localhost), asleep"), "{lock}: {holder}");
        assert!(waited(&told, class, kind), "{lock}: {:?}", told.rows["waits.csv"]);
    }
}
