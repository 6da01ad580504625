//! Oracle as a database under test, on a stand-in: its data, settings, plans, samplers, and what it refuses.

use crate::support::stand_in::{StandIn, start, start_as};
use crate::support::watch::watch;
use dyno_oracle_standin::{Account, Listener};
use dyno_record::{Explained, Meaning};
use dyno_target::oracle::address::ConnectionInfo;
use dyno_target::target::{
    Asked, Control, Data, Database, External, Fill, Progress, RowSource, Sql, State, StopFlag, TargetError, ToExplain,
    Wanted,
};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

/// What was done, step by step.
#[derive(Default)]
struct Steps(Vec<String>);

impl Progress for Steps {
    fn step(&mut self, text: &str) {
        self.0.push(text.to_owned());
    }

    fn note(&mut self, text: &str) {
        panic!("{text}");
    }
}

fn sql(text: &str) -> Sql {
    Sql {
        text: text.to_owned(),
        name: "the set-up".to_owned(),
    }
}

/// A table of so many rows, that dyno makes.
fn data(rows: u64) -> Data {
    let columns = [
        ("id", "row"),
        ("info", "concat('row ', row)"),
        ("at", "'2026-05-01 10:11:12.345'"),
    ];
    Data {
        experiment: "guest".to_owned(),
        setup: sql("-- its table\ncreate table tbl (id number(10), info varchar2(40), at timestamp);"),
        fill: vec![Fill {
            table: "tbl".to_owned(),
            rows,
            columns: columns.map(|(name, made)| (name.to_owned(), made.to_owned())).to_vec(),
            source: RowSource::Seed(1),
        }],
        finish: sql("alter table tbl add constraint tbl_pk primary key (id)"),
        tablespaces: Vec::new(),
        maker: None,
        definition: rows.to_string(),
        locale: None,
        read_only: false,
        state: State::Copy,
        linked: false,
    }
}

fn prepared(info: &ConnectionInfo, data: &Data) -> Result<(Box<dyn Database>, Vec<String>), TargetError> {
    let wanted = Wanted {
        data,
        all: &[],
        campaign: "a",
    };
    let mut steps = Steps::default();
    let database = info.prepare(wanted, &mut Vec::new(), &mut steps, &StopFlag::default())?;
    Ok((database, steps.0))
}

fn control(database: &dyn Database) -> Box<dyn Control> {
    database.control(&StopFlag::default()).unwrap()
}

fn count(info: &ConnectionInfo, table: &str) -> u64 {
    let mut client = info.connect().unwrap();
    client
        .query_first(&format!("select count(*) from {table}"))
        .unwrap()
        .unwrap()
}

fn refused<T>(result: Result<T, TargetError>) -> String {
    match result {
        Ok(_) => panic!("it was not refused"),
        Err(error) => error.to_string(),
    }
}

#[test]
fn data_is_loaded_once_used_again_and_only_its_own_is_removed() {
    let StandIn { info, standin, .. } = &start("oracle_data", true);
    let stop = StopFlag::default();
    let lock = info.lock(false, &[], &stop, &mut |_| panic!("nobody has it")).unwrap();
    info.connect()
        .unwrap()
        .execute("create table mine (id number)")
        .unwrap();
    let (database, steps) = prepared(info, &data(2_500)).unwrap();
    assert_eq!(steps, ["Creating the schema", "Loading tbl", "Finishing the schema"]);
    assert_eq!(count(info, "tbl"), 2_500);
    let first = info
        .connect()
        .unwrap()
        .query_first::<(u64, String, String)>("select id, info, at from tbl where id = 7");
    let expected = (7, "row 7".to_owned(), "2026-05-01 10:11:12.345000000".to_owned());
    assert_eq!(first.unwrap(), Some(expected));
    // Sent as arrays, the statement is no more often parsed than there are connections.
    assert!(standin.counts().parses < 400, "{:?}", standin.counts());

    assert_eq!(
        prepared(info, &data(2_500)).unwrap().1,
        ["Using the data that is loaded"]
    );
    database.mark_used(&stop).unwrap();
    let (_, steps) = prepared(info, &data(2_500)).unwrap();
    assert_eq!(steps.len(), 3, "{steps:?}");
    prepared(info, &data(10)).unwrap();
    assert_eq!(count(info, "tbl"), 10);
    assert!(lock.is_held());
    drop(lock);

    let left = info.own_data(&stop).unwrap();
    let [own] = &left[..] else { panic!("{left:?}") };
    assert_eq!((own.name.as_str(), own.in_use), ("BENCH.DYNO_RUN", false));
    assert!(own.bytes > 0);
    assert_eq!(info.remove(&own.name, &mut Vec::new(), &stop).unwrap(), None);
    assert_eq!(info.own_data(&stop).unwrap(), []);
    assert_eq!(count(info, "mine"), 0);
    let gone = info.connect().unwrap().query_first::<u64>("select count(*) from tbl");
    assert!(gone.unwrap_err().to_string().starts_with("ORA-00942"));
}

#[test]
fn what_is_not_dynos_is_left_and_said() {
    let StandIn { info, .. } = &start("oracle_mine", true);
    let mut client = info.connect().unwrap();
    client.execute("create table tbl (id number)").unwrap();
    let said = refused(prepared(info, &data(1)));
    assert!(said.starts_with("the set-up, line 2: ORA-00955"), "{said}");
    assert!(said.ends_with("or measure as another user"), "{said}");
    let unmade = Data {
        setup: sql("create table other (id number)"),
        ..data(1)
    };
    let said = refused(prepared(info, &unmade));
    assert!(
        said.contains("the table tbl, which is not of this experiment"),
        "{said}"
    );
    let stop = StopFlag::default();
    info.remove("BENCH.DYNO_RUN", &mut Vec::new(), &stop).unwrap();
    assert_eq!(count(info, "tbl"), 0);
    client.execute("create table dyno_run (id number)").unwrap();
    let said = refused(prepared(info, &data(1)));
    assert!(said.contains("a table dyno_run without dyno's mark"), "{said}");
    assert_eq!(info.own_data(&stop).unwrap(), []);
    let postgres_only = Data {
        tablespaces: vec!["fast".to_owned()],
        ..data(1)
    };
    assert!(refused(info.check_data(&postgres_only, &stop)).contains("tablespaces = [] under [oracle.data]"));
}

#[test]
fn what_was_made_just_before_a_kill_is_known() {
    let StandIn { info, .. } = &start("oracle_cut_off", true);
    prepared(info, &data(1)).unwrap();
    let mut client = info.connect().unwrap();
    // As a kill leaves it between a statement and the note of what it made.
    client
        .execute("insert into dyno_run (kind, note) values ('begun', 'create table bench.late(id number)')")
        .unwrap();
    client.execute("create table late (id number)").unwrap();
    client.execute("create table bench_mine (id number)").unwrap();
    let stop = StopFlag::default();
    info.remove("BENCH.DYNO_RUN", &mut Vec::new(), &stop).unwrap();
    let gone = client.query_first::<u64>("select count(*) from late");
    assert!(gone.unwrap_err().to_string().starts_with("ORA-00942"));
    assert_eq!(count(info, "bench_mine"), 0);
    // What is refused made nothing: a table that somebody makes after that is not dyno's.
    let broken = Data {
        setup: sql("create table early (id nonsense);"),
        ..data(1)
    };
    refused(prepared(info, &broken));
    client.execute("create table early (id number)").unwrap();
    info.remove("BENCH.DYNO_RUN", &mut Vec::new(), &stop).unwrap();
    assert_eq!(count(info, "early"), 0);
}

#[test]
fn a_database_is_reserved_once() {
    let StandIn { info, standin, .. } = &start("oracle_lock", true);
    let stop = StopFlag::default();
    let lock = info.lock(false, &[], &stop, &mut |_| panic!("nobody has it")).unwrap();
    // This process has it already, by whatever address.
    let other = format!("oracle://bench:secret@{}/other", standin.address());
    let other = ConnectionInfo::resolve(&other, &|_| None).unwrap();
    let same = info.lock(false, &[], &stop, &mut |_| panic!("it is ours")).unwrap();
    assert!(lock.is_held() && same.is_held());
    // Somebody else's session finds the row locked.
    let busy = other
        .connect()
        .unwrap()
        .query_first::<String>("select note from dyno_run where kind = 'lock' for update nowait");
    assert!(busy.unwrap_err().to_string().starts_with("ORA-00054"));
    drop((lock, same));
    let said = refused(info.check_terms(true, None, &stop));
    assert!(said.contains("--share-server is for PostgreSQL only"), "{said}");
}

#[test]
fn a_database_tells_of_itself() {
    let StandIn { info, .. } = &start("oracle_control", true);
    let (database, _) = prepared(info, &data(500)).unwrap();
    let mut control = control(&*database);
    let facts = control.describe().unwrap().facts;
    assert!(
        facts["version"].as_str().unwrap().starts_with("Oracle Database 19c"),
        "{facts}"
    );
    assert_eq!(facts["traits"]["product"], "Oracle");
    assert_eq!(facts["traits"]["page_bytes"], 8192);
    assert_eq!(control.settle().unwrap(), [] as [String; 0]);
    assert_eq!(
        control.warm().unwrap(),
        "1 table was read into the cache before the load"
    );
    let sizes = control.sizes().unwrap();
    let [table] = &sizes.tables[..] else {
        panic!("{sizes:?}")
    };
    assert_eq!((table.schema.as_str(), table.name.as_str()), ("bench", "tbl"));
    assert!(table.table_bytes > 0 && table.index_bytes > 0, "{table:?}");
    assert_eq!(table.rows_estimate, Some(500.0));
    let rows = control
        .rows("select id, info from tbl where id < 3 order by id")
        .unwrap();
    let Asked::Rows(rows) = rows else { panic!("{rows:?}") };
    assert_eq!(rows.columns, ["id", "info"]);
    assert_eq!(rows.rows[1], [Some("2".to_owned()), Some("row 2".to_owned())]);
    for (text, why) in [
        ("delete from tbl", "it has to begin with select or with"),
        ("select * from nowhere", "ORA-00942"),
    ] {
        let asked = control.rows(text).unwrap();
        assert!(
            matches!(&asked, Asked::Refused(said) if said.contains(why)),
            "{asked:?}"
        );
    }
    let asked = |parameterized: &str| ToExplain {
        parameterized: Some(parameterized.to_owned()),
        ..ToExplain::default()
    };
    let plans = control
        .explain(&[asked("select * from tbl where id = $1;"), asked("commit")])
        .unwrap();
    let [Explained::Plan(plan), Explained::HasNone] = &plans[..] else {
        panic!("{plans:?}")
    };
    assert_eq!(plan.steps.last().unwrap().words(), "table access full on tbl");
    control.await_sessions_end().unwrap();
}

#[test]
fn the_cache_is_emptied_and_pools_are_told() {
    let StandIn { info, behind, .. } = &start("oracle_cache", true);
    let stop = StopFlag::default();
    assert!(info.empties_cache());
    info.check_empties_cache(&stop).unwrap();
    let (database, _) = prepared(
        info,
        &Data {
            finish: sql("alter table tbl add constraint tbl_pk primary key (id);
                 alter table tbl storage (buffer_pool keep);
                 alter index tbl_pk storage (buffer_pool keep);"),
            ..data(10)
        },
    )
    .unwrap();
    let mut control = control(&*database);
    let said = "In the buffer pool KEEP, which has no memory of its own (db_keep_cache_size = 0), so that they are \
                with all others: indexes of tbl, table tbl.";
    assert_eq!(control.settle().unwrap(), [said]);
    let mut behind = behind.connect().unwrap();
    let mut set = |name: &str, value: &str| {
        let update = "update sysviews.parameters set value = $2 where name = $1";
        behind.execute(update, &[&name, &value]).unwrap();
    };
    set("db_keep_cache_size", "1048576");
    assert_eq!(
        control.settle().unwrap(),
        ["In the buffer pool KEEP: indexes of tbl, table tbl."]
    );
    let emptied = control.empty_cache().unwrap();
    assert!(emptied.ends_with("may still have its blocks in memory"), "{emptied}");
    set("filesystemio_options", "SETALL");
    assert_eq!(
        control.empty_cache().unwrap(),
        "the buffer cache was emptied before the load"
    );
    let flushed = behind.query_one("select string_agg(what, ' ') from sysviews.flushed", &[]);
    assert_eq!(flushed.unwrap().get::<_, String>(0), "buffer_cache buffer_cache");
}

#[test]
fn parameters_are_changed_and_put_back() {
    let StandIn { info, .. } = &start("oracle_settings", true);
    let stop = StopFlag::default();
    let value = |name: &str| {
        let query = format!("select value from v$parameter where name = '{name}'");
        let found: Option<Option<String>> = info.connect().unwrap().query_first(&query).unwrap();
        found.flatten().unwrap_or_default()
    };
    let wanted = |wanted: &[(&str, &str)]| {
        let wanted = wanted
            .iter()
            .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
        wanted.collect::<Vec<_>>()
    };
    let unknown = refused(info.fit(&wanted(&[("undo_retentio", "60")]), &stop).map(drop));
    assert!(unknown.ends_with("did you mean undo_retention?"), "{unknown}");
    let settings = wanted(&[
        ("UNDO_RETENTION", "60"),
        ("commit_wait", "NOWAIT"),
        ("db_cache_size", "512MB"),
        ("processes", "500"),
        ("open_cursors", "300"),
    ]);
    let fitted = info.fit(&settings, &stop).unwrap().settings;
    let change = info.plan_change(&fitted, None, &stop).unwrap();
    let [unset] = change.unset() else {
        panic!("{:?}", change.unset())
    };
    assert_eq!((unset.name.as_str(), unset.found.as_str()), ("processes", "300"));
    assert!(unset.reason.ends_with("set it in the root"), "{}", unset.reason);
    let saved = change.saved().clone();
    assert_eq!(saved.settings.len(), 3, "{saved:?}");
    change.apply().unwrap();
    let all = ["undo_retention", "commit_wait", "db_cache_size"];
    assert_eq!(all.map(value), ["60", "NOWAIT", "536870912"]);
    let (database, _) = prepared(info, &data(1)).unwrap();
    assert_eq!(control(&*database).differences(&fitted[..3]).unwrap(), []);
    assert_eq!(
        control(&*database).describe().unwrap().not_durable,
        ["commit_wait = NOWAIT"]
    );
    // What somebody else has changed since stays.
    info.connect()
        .unwrap()
        .execute("alter system set undo_retention = 77 scope = memory")
        .unwrap();
    let restored = info.restore(&saved, None).unwrap();
    assert_eq!(restored.others, ["undo_retention"]);
    assert_eq!(all.map(value), ["77", "", "0"]);
}

#[test]
fn an_ordinary_user_measures_and_learns_what_to_grant() {
    let StandIn { info, .. } = &start("oracle_ordinary", false);
    let stop = StopFlag::default();
    let settings = [("undo_retention".to_owned(), "60".to_owned())];
    let fitted = info.fit(&settings, &stop).unwrap().settings;
    let change = info.plan_change(&fitted, None, &stop).unwrap();
    assert!(!change.changes());
    assert!(change.unset()[0].reason.ends_with("grant select_catalog_role to BENCH"));
    info.check_connections(1_000, &[], &stop).unwrap();
    let (database, _) = prepared(info, &data(10)).unwrap();
    for denied in [
        refused(info.check_empties_cache(&stop)),
        refused(control(&*database).empty_cache()),
    ] {
        assert!(
            denied.contains("as an administrator, execute: grant alter system to BENCH, or choose"),
            "{denied}"
        );
    }
    let said = control(&*database).settle().unwrap();
    assert!(
        said[0].ends_with("as an administrator, execute: grant alter system to BENCH."),
        "{said:?}"
    );
    let set = database.samplers(&stop).unwrap();
    assert!(
        set.warnings[0].contains("grant select_catalog_role to BENCH"),
        "{:?}",
        set.warnings
    );
    let told = watch(set, || std::thread::sleep(Duration::from_millis(1_200)));
    assert!(told.rows.contains_key("host.csv") && !told.rows.contains_key("server.csv"));
}

#[test]
fn counters_waits_and_log_switches_are_sampled() {
    let StandIn { info, behind, .. } = &start("oracle_samplers", true);
    let (database, _) = prepared(info, &data(10)).unwrap();
    let set = database.samplers(&StopFlag::default()).unwrap();
    assert_eq!(set.warnings, [] as [String; 0]);
    let mut behind = behind.connect().unwrap();
    let told = watch(set, || {
        std::thread::sleep(Duration::from_millis(1_500));
        behind
            .batch_execute("update sysviews.\"v$log\" set \"sequence#\" = 43 where status = 'CURRENT'")
            .unwrap();
        std::thread::sleep(Duration::from_millis(1_700));
    });
    let meanings = &told.meanings["server.csv"];
    for meaning in [
        Meaning::LogBytes,
        Meaning::LogSinceCheckpointBytes,
        Meaning::LogSinceCheckpointLimitBytes,
        Meaning::PagesRead,
        Meaning::PagesWritten,
        Meaning::SessionsActive,
        Meaning::SessionsWaitingForLocks,
        Meaning::ServerCpuS,
    ] {
        let column = meanings
            .get(&meaning)
            .unwrap_or_else(|| panic!("{meaning:?}: {meanings:?}"));
        let (_, row) = &told.rows["server.csv"][0];
        assert!(
            matches!(row[column], dyno_record::Value::Number(_)),
            "{column}: {row:?}"
        );
    }
    assert!(told.rows.contains_key("waits.csv") && told.rows.contains_key("tables.csv"));
    let said: Vec<String> = told.events.iter().map(|event| format!("{event:?}")).collect();
    assert!(
        said.iter()
            .any(|event| event.contains("group number 43 is written now")),
        "{said:?}"
    );
}

/// What is said of a stand-in like this.
fn said_of(database: &str, set: impl FnOnce(&mut dyno_oracle_standin::Options)) -> String {
    let stand_in = start_as(database, true, set);
    stand_in.info.connect().unwrap_err().to_string()
}

#[test]
fn who_is_not_let_in_learns_why_and_what_to_do() {
    for (set, expected) in [
        (
            Box::new(|options: &mut dyno_oracle_standin::Options| options.password = "other".to_owned())
                as Box<dyn FnOnce(&mut dyno_oracle_standin::Options)>,
            "check the user and the password",
        ),
        (Box::new(|options| options.account = Account::Locked), "account unlock"),
        (
            Box::new(|options| options.account = Account::Expired),
            "give it a new password",
        ),
        (
            Box::new(|options| options.listener = Listener::Refuses(12514)),
            "`lsnrctl services` on the server lists",
        ),
        (
            Box::new(|options| options.listener = Listener::Refuses(12520)),
            "raise `processes`",
        ),
    ] {
        let said = said_of("oracle_refused", set);
        assert!(
            said.starts_with("cannot connect to oracle://bench@127.0.0.1:"),
            "{said}"
        );
        assert!(said.contains(expected), "{said}");
        assert!(!said.contains("secret"), "{said}");
    }
}

#[test]
fn a_request_to_stop_ends_what_is_waited_for() {
    // A listener that accepts and says nothing.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let address = format!("oracle://ann:secret@{}/shop", listener.local_addr().unwrap());
    let info = ConnectionInfo::resolve(&address, &|_| None).unwrap();
    let stop = StopFlag::default();
    let raise = Arc::clone(&stop);
    std::thread::spawn(move || {
        std::thread::sleep(Duration::from_millis(200));
        raise.store(true, Ordering::Relaxed);
    });
    let begun = std::time::Instant::now();
    refused(info.first_reachable(&stop).map(drop));
    assert!(begun.elapsed() < Duration::from_secs(5), "{:?}", begun.elapsed());
    let nobody = ConnectionInfo::resolve("oracle://ann@127.0.0.1:1/shop", &|_| None).unwrap();
    let said = nobody.connect().unwrap_err().to_string();
    assert!(
        said.contains("no password is given for ann") && said.contains("DYNO_ORACLE_PASSWORD"),
        "{said}"
    );
}
