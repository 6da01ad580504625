//! The workloads that ask PostgreSQL.

use crate::case::What::Stdout;
use crate::case::{Case, case, compare_all, script};
use crate::server::Postgres;

/// Why what is said of a connection that cannot be made differs.
const LINE: &str = "libpq's messages end with an empty line";

const TABLE: &str = "create table sbtest1 (id serial primary key, k int not null default 0, \
                     c char(120) not null default '', pad char(60) not null default ''); \
                     create index k_1 on sbtest1 (k)";
const ROWS: &str = "insert into sbtest1 select i, i * 7 % 100, 'c' || i, 'pad' from generate_series(1, 100) i";

/// What is in the table, however the rows lie.
const CONTENT: &str = "select count(*), sum(k), md5(string_agg(id || c || pad, ',' order by id)) from sbtest1";

/// What tables there are, how they are made, and how many rows they have.
const TABLES: &str = "select table_name, column_name, data_type, is_nullable, column_default from \
                      information_schema.columns where table_schema = 'public' order by table_name, ordinal_position";

fn on(words: &str) -> Case {
    case(&format!("{words} --table-size=100 --rand-seed=3"))
        .before(TABLE)
        .before(ROWS)
}

#[test]
fn workloads_do_the_same() {
    let names = [
        "oltp_read_only",
        "oltp_read_write",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_delete",
        "select_random_points",
        "select_random_ranges",
    ];
    let mut cases = Vec::new();
    for name in names {
        cases.push(on(&format!("{name} run --events=3")).rows(CONTENT));
        cases.push(on(&format!("{name} run --events=2 --db-ps-mode=disable")).rows(CONTENT));
    }
    // No seed fixes unique numbers.
    cases.push(on("oltp_insert run --events=3 --auto-inc=off").rows("select count(*) from sbtest1"));
    cases.push(on("oltp_read_write run --time=2 --report-interval=1 --threads=2").timed());
    compare_all("workloads", &Postgres::start(), &cases);
}

#[test]
fn tables_are_made_and_dropped() {
    let made = |words: &str| case(&format!("{words} --table-size=20 --rand-seed=3")).rows(TABLES);
    let cases = [
        made("oltp_read_write prepare"),
        made("oltp_read_write prepare --tables=2"),
        made("oltp_read_write prepare --auto-inc=off"),
        made("oltp_read_write prepare --create-secondary=off"),
        made("bulk_insert prepare --threads=2"),
        on("oltp_read_write cleanup").rows(TABLES),
        on("oltp_read_write prewarm"),
    ];
    compare_all("tables", &Postgres::start(), &cases);
}

#[test]
fn faults() {
    let cases = [
        // Where a table is missing sysbench 1.0.20 dies of a wild pointer, so that is not compared.
        on("oltp_read_only run --events=1 --pgsql-db=nosuch").differs(Stdout, LINE),
        on("oltp_read_only run --events=1 --pgsql-host=127.0.0.1 --pgsql-port=1").differs(Stdout, LINE),
        on("oltp_read_only run --events=1 --pgsql-user=nosuch").differs(Stdout, LINE),
        script(
            "run --events=1",
            "function thread_init() con = sysbench.sql.driver():connect() end\nfunction event() con:query('selec') end",
        ),
        script(
            "run --events=1",
            "function thread_init() con = sysbench.sql.driver():connect() end\n\
             function event() print(con:query_row('select 1, null, 2.5')) end",
        ),
    ];
    compare_all("faults", &Postgres::start(), &cases);
}
