//! What `prepare` of the workloads that come with dyno leaves: rows of the same kind as sysbench's, however they got
//! there.

use crate::case::{Case, Desk, case, compare_all};
use crate::own::Folder;
use crate::server::{Mariadb, Postgres};

/// Kinds of rows, from which the seed is taken out: how many there are, how they are numbered and go on being numbered,
/// whether texts have their form, and how `k` is distributed. No limit is near what any distribution gives.
macro_rules! kind {
    ($table:literal, $matches:literal, $next:literal) => {
        concat!(
            "select concat_ws(' ', count(*), min(id), max(id), count(distinct id), count(distinct c), ",
            "sum(case when rtrim(c) ",
            $matches,
            " '^([0-9]{11}-){9}[0-9]{11}$' then 1 else 0 end), sum(case when rtrim(pad) ",
            $matches,
            " '^([0-9]{11}-){4}[0-9]{11}$' then 1 else 0 end), min(k) >= 1, max(k) <= 1000, ",
            "avg(case when k between 490 and 510 then 1.0 else 0 end) > 0.6, ",
            "avg(case when k <= 10 then 1.0 else 0 end) > 0.4, ",
            "avg(case when k between 400 and 600 then 1.0 else 0 end) > 0.6, ",
            $next,
            ") from ",
            $table
        )
    };
}

const MARIADB: &str = kind!(
    "sbtest1",
    "regexp",
    "(select auto_increment from information_schema.tables where table_schema = 'sbtest' and table_name = 'sbtest1')"
);
const MARIADB_THIRD: &str = kind!("sbtest3", "regexp", "1");
const POSTGRES: &str = kind!("sbtest1", "~", "(select max(last_value) from pg_sequences)");
const POSTGRES_THIRD: &str = kind!("sbtest3", "~", "(select max(last_value) from pg_sequences)");

/// The same on both databases; the queries tell of the first table, and of the third one.
fn on_both(first: &'static str, third: &'static str) -> Vec<Case> {
    let made = |words: &str| case(&format!("oltp_read_write prepare --table-size=1000 {words}")).rows(first);
    vec![
        made(""),
        made("--rand-type=uniform"),
        made("--rand-type=gaussian"),
        made("--rand-type=pareto --rand-seed=5"),
        made("--auto-inc=off"),
        made("--create-secondary=off"),
        made("--threads=4"),
        made("--threads=3 --auto-inc=off"),
        // Which client says what first is up to them.
        made("--threads=2 --tables=3").rows(third).unsaid(),
        made("--threads=7 --tables=3").rows(third).unsaid(),
        made("--threads=4 --tables=4").unsaid(),
    ]
}

#[test]
fn rows_are_of_the_same_kind_on_mariadb() {
    let mut cases = on_both(MARIADB, MARIADB_THIRD);
    let made = |words: &str| case(&format!("oltp_insert prepare --table-size=1000 {words}")).rows(MARIADB);
    cases.extend([
        made("--secondary"),
        made("--secondary --threads=2"),
        made("--mysql-storage-engine=myisam"),
        made("--mysql-storage-engine=myisam --threads=3"),
        case("oltp_insert prepare --table-size=1000 --auto-inc=off").rows("select count(*) from sbtest1"),
    ]);
    compare_all("rows, MariaDB", &Mariadb::start(), &cases);
}

#[test]
fn rows_are_of_the_same_kind_on_postgres() {
    compare_all(
        "rows, PostgreSQL",
        &Postgres::start(),
        &on_both(POSTGRES, POSTGRES_THIRD),
    );
}

/// Prepares on this server, and gives what it was asked.
fn asked(server: &dyn Desk, folder: &Folder, words: &[&str]) -> String {
    server.reset(&[]);
    let options = server.options();
    let words: Vec<&str> = options
        .iter()
        .map(String::as_str)
        .chain(words.iter().copied())
        .collect();
    folder.prints(&words);
    server.seen(true, None)
}

#[test]
fn rows_come_by_the_shortest_way() {
    let (mariadb, folder) = (Mariadb::start(), Folder::new());
    let prepare = |words: &str| {
        let words: Vec<&str> = words.split(' ').collect();
        asked(&mariadb, &folder, &words)
    };
    let loaded = "insert into sbtest1 (id, k, c, pad) values (?, ?, ?, ?)";
    // Whoever has put something else in the place of what makes the values gets that.
    let by_script = "INSERT INTO sbtest1(k, c, pad) VALUES(";
    for (words, way) in [
        ("oltp_read_only prepare --table-size=100", loaded),
        ("oltp prepare --oltp-table-size=100", loaded),
        ("oltp_read_only prepare --table-size=9000 --threads=4", loaded),
        ("mine.lua prepare --table-size=100", by_script),
    ] {
        folder.file(
            "mine.lua",
            "require('oltp_common')\nfunction get_c_value() return 'mine' end\nfunction event() end",
        );
        let log = prepare(words);
        for each in [loaded, by_script] {
            assert_eq!(log.contains(each), each == way, "{words}\n{log}");
        }
    }
    assert_eq!(mariadb.seen(false, Some("select distinct c from sbtest1")), "mine");
}

#[test]
fn a_table_that_cannot_be_filled_is_said_to_be_so() {
    let (mariadb, folder) = (Mariadb::start(), Folder::new());
    mariadb.reset(&[]);
    let options = mariadb.options();
    let mut words: Vec<&str> = options.iter().map(String::as_str).collect();
    words.extend([
        "oltp_read_only",
        "prepare",
        "--table-size=100",
        "--create-table-options=partition by range (id) (partition few values less than (50))",
    ]);
    let output = folder.sysbench(&words);
    assert_eq!(output.status.code(), Some(1), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("Inserting 100 records into 'sbtest1'\nFATAL: mysql_drv_query() returned error 1526 ("),
        "{text}"
    );
    assert!(
        text.contains("function failed: ") && text.contains("SQL error, errno = 1526, state = "),
        "{text}"
    );
    assert!(!text.contains("secondary index"), "{text}");
}

#[test]
fn rows_can_be_added_to_what_was_prepared() {
    let folder = Folder::new();
    let servers: [(Box<dyn Desk>, &str); 2] = [
        (
            Box::new(Mariadb::start()),
            "select concat(count(*), ' ', max(id)) from sbtest1",
        ),
        (
            Box::new(Postgres::start()),
            "select count(*) || ' ' || max(id) as seen from sbtest1",
        ),
    ];
    for (server, query) in servers {
        asked(
            &*server,
            &folder,
            &["oltp_insert", "prepare", "--table-size=500", "--threads=3"],
        );
        let options = server.options();
        let run = ["oltp_insert", "run", "--table-size=500", "--events=20", "--threads=2"];
        let words: Vec<&str> = options.iter().map(String::as_str).chain(run).collect();
        folder.prints(&words);
        assert!(server.seen(false, Some(query)).contains("520 520"));
    }
}
