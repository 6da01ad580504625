//! What is tried with both clients: one list for both, so that each does the same.

/// What a client is asked for. Values stand for `$1` and so on; `{side}` in one is another digit for each client, as
/// both write into the same tables.
#[derive(Clone, Copy, Debug)]
pub(super) enum Step {
    /// Rows.
    Rows(&'static str, &'static [&'static str]),
    /// A change; outside of a transaction it is committed.
    Change(&'static str, &'static [&'static str]),
    /// A change with three values, executed once for so many rows of them.
    Array(&'static str, u64),
    /// Something that has no values and is parsed each time.
    Text(&'static str),
    Begin,
    Commit,
    Rollback,
}

/// Something that is tried.
#[derive(Clone, Copy, Debug)]
pub(super) struct Case {
    pub what: &'static str,
    pub steps: &'static [Step],
    /// How often the steps are done.
    pub times: u64,
    /// What dyno's session may cost at most, by the server's own counts.
    pub most: Most,
}

/// What something may cost at most. Whoever executes a statement first has the server look things up by statements of
/// its own, which it counts as the session's, too: so there is room for some.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Most {
    pub parses: Option<u64>,
    pub round_trips: Option<u64>,
}

const fn case(what: &'static str, steps: &'static [Step]) -> Case {
    Case {
        what,
        steps,
        times: 1,
        most: Most {
            parses: None,
            round_trips: None,
        },
    }
}

const fn often(what: &'static str, steps: &'static [Step], times: u64, parses: u64, round_trips: u64) -> Case {
    Case {
        what,
        steps,
        times,
        most: Most {
            parses: Some(parses),
            round_trips: Some(round_trips),
        },
    }
}

/// How many rows the table has that most of this is done to.
pub(super) const ROWS: u64 = 10_000;

/// The table, and one with a column of each type that dyno loads.
pub(super) const SETUP: &str = "\
    create table dyno_trial (id number(10), info varchar2(100), amount number(12,2), made timestamp(6));\n\
    create table dyno_trial_types (n number, v varchar2(4000), c char(5), d date, t timestamp(6), r raw(16), \
    b binary_double, f binary_float)";
pub(super) const FINISH: &str = "alter table dyno_trial add constraint dyno_trial_pk primary key (id)";
pub(super) const TABLE: &str = "dyno_trial";

/// How the table's rows are made.
pub(super) const COLUMNS: [(&str, &str); 4] = [
    ("id", "row"),
    ("info", "concat('info of row ', row)"),
    ("amount", "12.5"),
    ("made", "'2026-05-01 10:11:12.345'"),
];

use Step::{Array, Begin, Change, Commit, Rollback, Rows, Text};

const BY_KEY: &str = "select id, info, amount from dyno_trial where id = $1";
const UPDATE: &str = "update dyno_trial set amount = amount + 1 where id = $1";
const INSERT: &str = "insert into dyno_trial (id, info, amount) values ($1, $2, $3)";

/// What statements do.
pub(super) const STATEMENTS: &[Case] = &[
    case("select by key", &[Rows(BY_KEY, &["7"])]),
    often("select by key, 100 times", &[Rows(BY_KEY, &["8"])], 100, 10, 110),
    case("select by a key that is not there", &[Rows(BY_KEY, &["99999999"])]),
    often(
        "select by such a key, 100 times",
        &[Rows(BY_KEY, &["99999999"])],
        100,
        10,
        110,
    ),
    case(
        "1,000 rows in several fetches",
        &[Rows(
            "select id, info, made from dyno_trial where id between $1 and $2 order by id",
            &["1001", "2000"],
        )],
    ),
    case(
        "rows that repeat the row before, and NULLs",
        &[Rows(
            "select mod(id, 3), case when mod(id, 2) = 0 then info end, amount, 'same' from dyno_trial where id <= $1 \
             order by id",
            &["250"],
        )],
    ),
    case(
        "no rows of several columns",
        &[Rows("select * from dyno_trial where id < $1", &["0"])],
    ),
    case(
        "insert and commit",
        &[Change(INSERT, &["2000{side}", "of a client", "0.5"])],
    ),
    case("insert of a NULL", &[Change(INSERT, &["2001{side}", "", "0"])]),
    case("update and commit", &[Change(UPDATE, &["11{side}"])]),
    often(
        "update and commit, 100 times",
        &[Change(UPDATE, &["12{side}"])],
        100,
        10,
        110,
    ),
    often("an array of 100 rows", &[Array(INSERT, 100)], 1, 10, 10),
    case("update of no row", &[Change(UPDATE, &["88888888"])]),
    case(
        "delete and commit",
        &[Change("delete from dyno_trial where id = $1", &["2000{side}"])],
    ),
    case(
        "a transaction of three changes",
        &[
            Begin,
            Change(UPDATE, &["13{side}"]),
            Change(UPDATE, &["14{side}"]),
            Change(INSERT, &["2002{side}", "in a transaction", "1"]),
            Commit,
            Rows(
                "select amount from dyno_trial where id in ($1, $2) order by id",
                &["13{side}", "14{side}"],
            ),
        ],
    ),
    case(
        "a transaction that is rolled back",
        &[
            Begin,
            Change(UPDATE, &["15{side}"]),
            Rows("select amount from dyno_trial where id = $1", &["15{side}"]),
            Rollback,
            Rows("select amount from dyno_trial where id = $1", &["15{side}"]),
        ],
    ),
    case(
        "a row that is locked and let go",
        &[
            Rows("select id from dyno_trial where id = 31 for update nowait", &[]),
            Rollback,
        ],
    ),
    case(
        "a block of PL/SQL",
        &[Change(
            "begin update dyno_trial set amount = 3 where id = $1; end;",
            &["32"],
        )],
    ),
    // Nothing is made here that would not be noted as the trial's.
    case("a definition", &[Text("truncate table dyno_trial_types")]),
];

/// What types look like.
pub(super) const TYPES: &[Case] = &[
    case(
        "NUMBER",
        &[Rows(
            "select -12.75, 0, 0.001, 123456789012345678901234567890, -1, 100, 1/8 from dual",
            &[],
        )],
    ),
    case(
        "NUMBER that goes there and back",
        &[Rows("select cast($1 as number(20,4)) from dual", &["-1234.5678"])],
    ),
    case(
        "VARCHAR2",
        &[Rows(
            "select 'it''s \u{e4} \u{20ac}', rpad('x', 4000, 'x') from dual",
            &[],
        )],
    ),
    case(
        "VARCHAR2 that goes there and back",
        &[Rows("select $1 || '' from dual", &["it's \u{e4} \u{20ac}"])],
    ),
    case(
        "NVARCHAR2",
        &[Rows("select cast('\u{e4} \u{20ac}' as nvarchar2(10)) from dual", &[])],
    ),
    case("CHAR", &[Rows("select cast('x' as char(5)) from dual", &[])]),
    case(
        "DATE",
        &[Rows(
            "select date '2026-05-01', to_date('1999-12-31 23:59:58', 'YYYY-MM-DD HH24:MI:SS') from dual",
            &[],
        )],
    ),
    case(
        "TIMESTAMP",
        &[Rows("select timestamp '2026-05-01 10:11:12.345678' from dual", &[])],
    ),
    case(
        "TIMESTAMP WITH TIME ZONE",
        &[Rows("select timestamp '2026-05-01 10:11:12.5 +02:00' from dual", &[])],
    ),
    case(
        "TIMESTAMP WITH LOCAL TIME ZONE",
        &[Rows(
            "select cast(timestamp '2026-05-01 10:11:12.5' as timestamp with local time zone) from dual",
            &[],
        )],
    ),
    case(
        "INTERVAL DAY TO SECOND",
        &[Rows("select numtodsinterval(1.5, 'DAY') from dual", &[])],
    ),
    case(
        "INTERVAL YEAR TO MONTH",
        &[Rows("select numtoyminterval(14, 'MONTH') from dual", &[])],
    ),
    case("RAW", &[Rows("select hextoraw('00FF10') from dual", &[])]),
    case(
        "BINARY_DOUBLE",
        &[Rows("select cast(1.5 as binary_double) from dual", &[])],
    ),
    case(
        "BINARY_FLOAT",
        &[Rows("select cast(-0.25 as binary_float) from dual", &[])],
    ),
    case("ROWID", &[Rows("select rowid from dyno_trial where id = 1", &[])]),
    case("CLOB", &[Rows("select to_clob('x') from dual", &[])]),
    case("BOOLEAN (from 23ai on)", &[Rows("select true from dual", &[])]),
    case(
        "a row of all types that are loaded",
        &[
            Change(
                "insert into dyno_trial_types (n, v, c, d, t, b) values ($1, $2, 'c', date '2026-05-01', timestamp \
                 '2026-05-01 10:11:12.5', 1.5)",
                &["1{side}", "text"],
            ),
            Rows(
                "select v, c, d, t, r, b, f from dyno_trial_types where n = $1",
                &["1{side}"],
            ),
        ],
    ),
];

/// A row that a third session has changed and not committed, and what comes of it for both.
pub(super) const LOCKED: (&str, Case) = (
    "update dyno_trial set amount = 0 where id = 41",
    case(
        "ORA-00054: a row that another session has locked",
        &[
            Rows("select id from dyno_trial where id = 41 for update nowait", &[]),
            Rollback,
        ],
    ),
);

/// What the server refuses: both clients are to hear the same number, and go on.
pub(super) const ERRORS: &[Case] = &[
    case("ORA-00942: no such table", &[Text("select * from dyno_trial_nowhere")]),
    case(
        "ORA-00904: no such column",
        &[Rows("select nowhere from dyno_trial where id = $1", &["1"])],
    ),
    case("ORA-00936: nothing to select", &[Text("select from dual")]),
    case("ORA-00001: a key that is there", &[Change(INSERT, &["1", "x", "1"])]),
    case(
        "ORA-01400: a NULL where none may be",
        &[Change("insert into dyno_trial (info) values ($1)", &["x"])],
    ),
    case(
        "ORA-12899: a text too long",
        &[Text("update dyno_trial set info = rpad('x', 101, 'x') where id = 1")],
    ),
    case(
        "ORA-01438: a number too large",
        &[Text("update dyno_trial set amount = 12345678901234 where id = 1")],
    ),
    case("ORA-01722: no number", &[Rows("select to_number('x') from dual", &[])]),
    case("ORA-01476: by zero", &[Rows("select 1 / 0 from dual", &[])]),
    case(
        "ORA-06550: a block that does not compile",
        &[Text("begin no_such_procedure; end;")],
    ),
    case(
        "ORA-20001: an error of PL/SQL's own",
        &[Text("begin raise_application_error(-20001, 'dyno'); end;")],
    ),
    case("what comes behind errors", &[Rows(BY_KEY, &["9"])]),
];
