//! Scripts of the kinds that people publish, written for these tests: what they say, what the server is asked, and what
//! they leave in its tables.

use crate::case::What::Stdout;
use crate::case::{Case, Desk, case, compare_all};
use crate::server::{Mariadb, Postgres};

/// The scripts, by the names that they have on the command line.
const SCRIPTS: [(&str, &str); 11] = [
    ("orders.lua", include_str!("../scripts/orders.lua")),
    ("trail.lua", include_str!("../scripts/trail.lua")),
    ("sessions.lua", include_str!("../scripts/sessions.lua")),
    ("transfer.lua", include_str!("../scripts/transfer.lua")),
    ("validated.lua", include_str!("../scripts/validated.lua")),
    ("reports.lua", include_str!("../scripts/reports.lua")),
    ("walk.lua", include_str!("../scripts/walk.lua")),
    ("commands.lua", include_str!("../scripts/commands.lua")),
    ("oldstyle.lua", include_str!("../scripts/oldstyle.lua")),
    ("onreads.lua", include_str!("../scripts/onreads.lua")),
    ("queue.lua", include_str!("../scripts/queue.lua")),
];

const COUNTERS: &str = "create table counters (id int primary key, n int)";
const COUNTER: &str = "insert into counters values (1, 0)";
const THINGS: &str = "create table things (id int primary key, name varchar(12), seen int)";
const TRAIL: &str = "create table trail (step int, thing int)";
const ACCOUNTS: &str = "create table accounts (id int primary key, balance int not null)";
const OLD: &str = "create table old1 (id int primary key, k int not null, c char(20))";
const SHOP: &str = "create table customers1 (id int primary key, name char(20), orders int not null)";
const ORDERS: &str = "create table orders1 (id int, item int, customer int, price int, primary key (id, item))";

/// What fills the tables with ten rows each, or fifty, on the two databases.
struct Rows {
    things: &'static str,
    accounts: &'static str,
    old: &'static str,
    customers: &'static str,
    /// sysbench's table, and rows for it.
    sbtest: [&'static str; 2],
}

const MARIADB: Rows = Rows {
    things: "insert into things select seq, concat('thing ', seq), if(seq % 3 = 0, null, seq) from seq_1_to_10",
    accounts: "insert into accounts select seq, 100 from seq_1_to_10",
    old: "insert into old1 select seq, seq % 7, concat('row ', seq) from seq_1_to_50",
    customers: "insert into customers1 select seq, concat('customer ', seq), 0 from seq_1_to_10",
    sbtest: [
        "create table sbtest1 (id int not null auto_increment primary key, k int not null default 0, c char(120) not \
         null default '', pad char(60) not null default '', key k_1 (k))",
        "insert into sbtest1 select seq, seq * 7 % 100, concat('c', seq), 'pad' from seq_1_to_100",
    ],
};

const POSTGRES: Rows = Rows {
    things: "insert into things select i, 'thing ' || i, case when i % 3 = 0 then null else i end from \
             generate_series(1, 10) i",
    accounts: "insert into accounts select i, 100 from generate_series(1, 10) i",
    old: "insert into old1 select i, i % 7, 'row ' || i from generate_series(1, 50) i",
    customers: "insert into customers1 select i, 'customer ' || i, 0 from generate_series(1, 10) i",
    sbtest: [
        "create table sbtest1 (id serial primary key, k int not null default 0, c char(120) not null default '', pad \
         char(60) not null default ''); create index k_1 on sbtest1 (k)",
        "insert into sbtest1 select i, i * 7 % 100, 'c' || i, 'pad' from generate_series(1, 100) i",
    ],
};

/// A command line of one of the scripts, with a seed.
fn with(words: &str) -> Case {
    let (name, _) = words.split_once(' ').unwrap();
    let (file, text) = SCRIPTS.into_iter().find(|(script, _)| *script == name).unwrap();
    case(&format!("{words} --rand-seed=11")).file(file, text)
}

/// The same, and what the server is asked counts.
fn asked(words: &str) -> Case {
    with(words).logged()
}

/// What both databases are asked.
fn on_both(rows: &Rows) -> Vec<Case> {
    let shop = |case: Case| case.before(SHOP).before(ORDERS).before(rows.customers);
    let things = |case: Case| case.before(THINGS).before(rows.things);
    let counters = |case: Case| case.before(COUNTERS).before(COUNTER);
    let old = |case: Case| case.before(OLD).before(rows.old);
    let common = |case: Case| case.before(rows.sbtest[0]).before(rows.sbtest[1]);
    vec![
        asked("orders.lua prepare").rows("select concat_ws(' ', id, name, orders) from customers2 order by id"),
        asked("orders.lua prepare --shops=1 --customers=3")
            .rows("select concat_ws(' ', id, name, orders) from customers1 order by id"),
        shop(asked("orders.lua run --events=6 --shops=1"))
            .rows("select concat_ws(' ', id, item, customer, price) from orders1 order by id, item"),
        shop(asked("orders.lua run --events=2 --shops=1 --items=1 --customers=2")),
        shop(asked("orders.lua cleanup --shops=1")),
        things(asked("trail.lua run --events=4"))
            .before(TRAIL)
            .rows("select concat_ws(' ', step, thing) from trail order by step"),
        things(asked("trail.lua run --events=2 --db-ps-mode=disable"))
            .before(TRAIL)
            .rows("select concat_ws(' ', id, name, seen) from things order by id"),
        asked("sessions.lua run --events=3").before(COUNTERS),
        asked("sessions.lua run --events=2"),
        counters(asked("validated.lua run --events=5 --ratio=50")),
        counters(asked(
            "validated.lua run --events=2 --verbose-mode --label=loud --steps=look,look --factor=2.25",
        )),
        counters(asked("validated.lua run --events=1 --ratio=101")),
        counters(asked("validated.lua run --events=1 --label=")),
        counters(asked("validated.lua run --events=1 --factor=0")),
        counters(asked("validated.lua run --events=1 --nosuch=1")),
        counters(asked("validated.lua run --events=1 --ratio=many")),
        with("validated.lua help").help(),
        counters(asked("reports.lua run --events=4")),
        counters(with("reports.lua run --time=3 --report-interval=2")).timed(),
        things(asked("walk.lua run --events=1")).rows("select concat_ws(' ', id, seen) from things order by id"),
        things(asked("walk.lua run --events=2")),
        asked("commands.lua load")
            .before(COUNTERS)
            .rows("select concat_ws(' ', id, n) from counters order by id"),
        with("commands.lua load --threads=3 --rows=2")
            .before(COUNTERS)
            .rows("select concat_ws(' ', id, n) from counters order by id")
            .unsaid(),
        asked("commands.lua check").before(COUNTERS),
        counters(asked("commands.lua check")),
        with("commands.lua explain"),
        with("commands.lua help"),
        with("commands.lua nosuch"),
        asked("oldstyle.lua prepare").rows("select concat_ws(' ', id, k, c) from old1 order by id"),
        asked("oldstyle.lua prepare --oltp-table-size=7").rows("select concat_ws(' ', id, k, c) from old1 order by id"),
        old(asked("oldstyle.lua run --max-requests=5 --num-threads=1"))
            .rows("select concat_ws(' ', id, k, c) from old1 order by id"),
        old(asked(
            "oldstyle.lua run --max-requests=3 --oltp-skip-trx=on --oltp_table_size=9",
        )),
        old(asked("oldstyle.lua cleanup")),
        common(asked("onreads.lua run --events=2 --table-size=100"))
            .rows("select concat_ws(' ', id, c) from sbtest1 order by id"),
        common(asked(
            "onreads.lua run --events=2 --table-size=100 --skip-trx --hot-rows=1 --point-selects=2",
        )),
        with("onreads.lua help").help(),
        things(asked("queue.lua run --events=9")).rows("select concat_ws(' ', id, seen) from things order by id"),
        things(asked("queue.lua run --events=2")),
    ]
}

#[test]
fn on_mariadb() {
    let mut cases = on_both(&MARIADB);
    let accounts = |case: Case| case.before(ACCOUNTS).before(MARIADB.accounts);
    cases.extend([
        accounts(asked("transfer.lua run --events=6"))
            .rows("select concat_ws(' ', id, balance) from accounts order by id"),
        accounts(asked(
            "transfer.lua run --events=6 --accounts=2 --mysql-ignore-errors=1",
        ))
        .rows("select concat_ws(' ', id, balance) from accounts order by id")
        .differs(Stdout, "dyno reports what was measured before the error"),
        accounts(asked("transfer.lua run --events=6 --mysql-ignore-errors=all")),
    ]);
    compare_all("published, MariaDB", &Mariadb::start() as &dyn Desk, &cases);
}

#[test]
fn on_postgres() {
    compare_all(
        "published, PostgreSQL",
        &Postgres::start() as &dyn Desk,
        &on_both(&POSTGRES),
    );
}
