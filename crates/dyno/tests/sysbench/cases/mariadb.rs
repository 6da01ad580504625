//! The workloads and scripts that ask MariaDB.

use crate::case::What::{Code, Server, Stdout};
use crate::case::{Case, case, compare_all, script};
use crate::server::Mariadb;

/// Why what is said of a connection that cannot be made differs.
const CLIENT: &str = "dyno has the words of MySQL's client library, sysbench here is linked with MariaDB's";

const TABLE: &str = "create table sbtest1 (id int not null auto_increment primary key, k int not null default 0, \
                     c char(120) not null default '', pad char(60) not null default '', key k_1 (k))";
const ROWS: &str = "insert into sbtest1 select seq, seq * 7 % 100, concat('c', seq), 'pad' from seq_1_to_100";
const SECOND: &str = "create table sbtest2 as select * from sbtest1";

/// What tables there are, how they are made, and how many rows they have.
const TABLES: &str = "select concat_ws(' ', table_name, column_name, column_type, is_nullable, column_default, \
                      extra, column_key) from information_schema.columns where table_schema = 'sbtest' order by \
                      table_name, ordinal_position";

/// A workload on a table that is there.
fn on(words: &str) -> Case {
    case(&format!("{words} --table-size=100 --rand-seed=3"))
        .before(TABLE)
        .before(ROWS)
}

/// The same for one client, so that the seed fixes what it asks.
fn fixed(words: &str) -> Case {
    on(words).logged()
}

#[test]
fn workloads_ask_the_same() {
    let names = [
        "oltp_read_only",
        "oltp_read_write",
        "oltp_write_only",
        "oltp_point_select",
        "oltp_update_index",
        "oltp_update_non_index",
        "oltp_insert",
        "oltp_delete",
        "select_random_points",
        "select_random_ranges",
    ];
    let mut cases = Vec::new();
    for name in names {
        cases.push(fixed(&format!("{name} run --events=3")));
        cases.push(fixed(&format!("{name} run --events=2 --db-ps-mode=disable")));
        cases.push(on(&format!("{name} run --events=8 --threads=2")).timed());
    }
    compare_all("workloads", &Mariadb::start(), &cases);
}

#[test]
fn options_of_workloads() {
    let cases = [
        fixed("oltp_read_only run --events=2 --skip-trx"),
        fixed("oltp_read_only run --events=2 --range-selects=off"),
        fixed("oltp_read_only run --events=2 --point-selects=2 --simple-ranges=0 --sum-ranges=2"),
        fixed("oltp_read_only run --events=2 --order-ranges=0 --distinct-ranges=3 --range-size=5"),
        fixed("oltp_read_write run --events=2 --tables=2").before(SECOND),
        fixed("oltp_read_write run --events=2 --skip-trx --delete-inserts=2 --index-updates=0"),
        fixed("oltp_write_only run --events=2 --non-index-updates=3 --skip_trx=on"),
        fixed("oltp_point_select run --events=2 --point-selects=5"),
        // No seed fixes unique numbers.
        on("oltp_insert run --events=2 --auto-inc=off"),
        fixed("select_random_points run --events=2 --random-points=3"),
        fixed("select_random_ranges run --events=2 --number-of-ranges=2 --delta=9"),
        fixed("oltp_read_only run --events=1 --rand-type=uniform"),
        fixed("oltp_read_only run --events=1 --rand-type=gaussian"),
        fixed("oltp_read_only run --events=1 --rand-type=pareto"),
    ];
    compare_all("workload options", &Mariadb::start(), &cases);
}

#[test]
fn tables_are_made_and_dropped() {
    let made = |words: &str| case(&format!("{words} --table-size=20 --rand-seed=3")).rows(TABLES);
    let cases = [
        made("oltp_read_write prepare"),
        made("oltp_read_write prepare --tables=3"),
        made("oltp_read_write prepare --tables=3 --threads=2").unsaid(),
        made("oltp_read_write prepare --auto-inc=off"),
        made("oltp_read_write prepare --secondary"),
        made("oltp_read_write prepare --create-secondary=off"),
        made("oltp_read_write prepare --mysql-storage-engine=myisam"),
        made("oltp_read_write prepare --table-size=0"),
        made("oltp_insert prepare"),
        made("select_random_points prepare"),
        made("select_random_ranges prepare"),
        made("bulk_insert prepare"),
        made("bulk_insert prepare --threads=2"),
        on("oltp_read_write prewarm").logged(),
        on("oltp_read_write cleanup").logged().rows(TABLES),
        on("oltp_read_write cleanup --tables=2").rows(TABLES),
        on("select_random_points cleanup").logged().rows(TABLES),
        on("select_random_points cleanup --tables=2").rows(TABLES),
        on("select_random_ranges cleanup --tables=2").rows(TABLES),
        case("bulk_insert cleanup").rows(TABLES),
        on("oltp_read_write prepare"),
    ];
    compare_all("tables", &Mariadb::start(), &cases);
}

#[test]
fn the_database_is_not_as_expected() {
    let cases = [
        case("oltp_read_only run --events=1"),
        // How many clients say it before the run ends is up to the clock.
        case("oltp_read_only run --events=1 --threads=2").unsaid(),
        case("oltp_read_write prewarm"),
        case("oltp_insert run --events=1 --rand-seed=3"),
        on("oltp_read_only run --events=1 --mysql-db=nosuch"),
        on("oltp_read_only run --events=1 --mysql-user=nosuch"),
        on("oltp_read_only run --events=1 --mysql-password=wrong"),
        on("oltp_read_only run --events=1 --mysql-socket=/nosuch/sock").differs(Stdout, CLIENT),
        on("oltp_read_only run --events=1 --mysql-host=127.0.0.1 --mysql-port=1"),
        on("oltp_read_only run --events=1 --threads=2 --mysql-password=wrong").unsaid(),
        on("oltp_read_only prepare --mysql-password=wrong"),
        on("oltp_read_only run --events=1 --db-driver=nosuch").differs(Stdout, "dyno says it before the run"),
        on("oltp_read_only run --events=1 --db-ps-mode=nosuch").differs(Stdout, "dyno says it before the run"),
        on("oltp_read_only run --events=1 --mysql-ignore-errors=x"),
    ];
    compare_all("faults", &Mariadb::start(), &cases);
}

#[test]
fn runs_that_last() {
    let cases = [
        on("oltp_read_only run --time=2 --report-interval=1 --threads=2").timed(),
        on("oltp_read_write run --time=2 --report-interval=1").timed(),
        on("oltp_point_select run --time=2 --report-interval=1 --rate=50 --threads=2").timed(),
        on("oltp_point_select run --time=3 --report-checkpoints=1").timed(),
        on("oltp_read_only run --events=20 --histogram").bars(),
        on("oltp_read_only run --events=20 --percentile=50").timed(),
        on("oltp_read_only run --events=20 --percentile=0").timed(),
        on("oltp_read_only run --events=5 --debug").timed(),
        on("bulk_insert run --events=100")
            .before("drop table sbtest1")
            .before("create table sbtest1 (id integer not null, k integer default '0' not null, primary key (id))"),
    ];
    compare_all("runs", &Mariadb::start(), &cases);
}

/// A script that asks these queries once.
fn asking(body: &str) -> Case {
    let text = format!(
        "function thread_init() drv = sysbench.sql.driver() con = drv:connect() end\nfunction event()\n{body}\nend\n\
         function thread_done() con:disconnect() end\n"
    );
    script("run --events=1 --rand-seed=3", &text)
        .before(TABLE)
        .before(ROWS)
        .logged()
}

#[test]
fn what_scripts_ask() {
    let cases = [
        asking("con:query('select 1')"),
        asking("print(con:query_row('select c, id from sbtest1 where id = 5'))"),
        asking("print(con:query_row('select c from sbtest1 where id = 500'))"),
        asking(
            "local r = con:query('select id, c from sbtest1 where id < 4 order by id') print(r.nrows, r.nfields)\n\
                for i = 1, r.nrows do print(unpack(r:fetch_row(), 1, r.nfields)) end",
        ),
        asking("local r = con:query('select null, 1.5, now() is null') print(unpack(r:fetch_row(), 1, 3))"),
        asking(
            "local s = con:prepare('select c from sbtest1 where id = ?') local p = \
                s:bind_create(sysbench.sql.type.INT)\n\
                s:bind_param(p) for i = 1, 3 do p:set(i) local r = s:execute() print(r.nrows) r:free() end s:close()",
        ),
        asking(
            "local s = con:prepare('update sbtest1 set c = ? where id = ?')\n\
                local c = s:bind_create(sysbench.sql.type.CHAR, 20) local i = s:bind_create(sysbench.sql.type.INT)\n\
                s:bind_param(c, i) c:set('abc') i:set(4) s:execute() c:set_rand_str('##-@@') s:execute()",
        )
        .rows("select c from sbtest1 where id = 4"),
        asking(
            "con:bulk_insert_init('insert into sbtest1 (k, c) values') for i = 1, 5 do\n\
                con:bulk_insert_next(string.format(\"(%d, 'x')\", i)) end con:bulk_insert_done()",
        )
        .rows("select concat(count(*)) from sbtest1"),
        asking(
            "con:query('update sbtest1 set k = k where id = 5') con:query('update sbtest1 set k = k + 1 where \
                id < 4')",
        )
        .differs(Stdout, "dyno counts rows that were found, also if they did not change"),
        asking("con:query('begin') con:query('delete from sbtest1') con:query('rollback')")
            .rows("select concat(count(*)) from sbtest1"),
        asking("con:query('selec')"),
        asking("con:query('select * from nosuch')"),
        asking("print(pcall(con.query, con, 'select * from nosuch'))").differs(
            Stdout,
            "the text of the error \
            object",
        ),
        asking("local s = con:prepare('select * from nosuch')"),
        asking("n = (n or 0) + 1 if n < 3 then error({errcode = sysbench.error.RESTART_EVENT}) end"),
        asking("n = (n or 0) + 1 if n < 3 then con:query(\"signal sqlstate '40001' set mysql_errno = 1213\") end"),
        asking("con:query(\"signal sqlstate '40001' set mysql_errno = 1205\")")
            .differs(Code, "sysbench restarts without end, until its time is over"),
        asking("db_query = db_query print(type(db_query))"),
    ];
    compare_all("scripts", &Mariadb::start(), &cases[..16]);
}

#[test]
fn scripts_of_0_5() {
    let old = |words: &str, body: &str| {
        let text =
            format!("function thread_init(thread_id) db_connect() end\nfunction event(thread_id)\n{body}\nend\n");
        script(
            &format!("run --max-requests=2 --max-time=10 --rand-seed=3 {words}"),
            &text,
        )
        .before(TABLE)
        .before(ROWS)
        .logged()
    };
    let cases = [
        old("", "db_query('select c from sbtest1 where id = ' .. sb_rand(1, 100))"),
        old(
            "",
            "db_query('begin') db_query('update sbtest1 set k = k + 1 where id = 3') db_query('commit')",
        ),
        old(
            "--oltp-table-size=7",
            "db_query('select c from sbtest1 where id = ' .. oltp_table_size)",
        ),
        old(
            "--oltp_table_size=7",
            "db_query('select c from sbtest1 where id = ' .. oltp_table_size)",
        ),
        old(
            "",
            "db_bulk_insert_init('insert into sbtest1 (k) values') db_bulk_insert_next('(1)') db_bulk_insert_done()",
        ),
        old(
            "",
            "local s = db_prepare('select c from sbtest1 where id = ?') local p = {{}}\n\
                 db_query('select 1')",
        )
        .differs(Server, "dyno prepares a statement when it is executed first"),
        old("", "print(db_driver, num_threads, thread_id)"),
        old("", "db_query('nonsense')").differs(Stdout, "dyno says what the server said"),
    ];
    compare_all("old scripts", &Mariadb::start(), &cases);
}
