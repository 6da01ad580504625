//! Data on a private MariaDB: loaded, sized, and seen in the server's counters.

use crate::support::{home, quiet};
use dyno_record::{Event, Meaning, Series, Value};
use dyno_target::mysql::Scope;
use dyno_target::mysql::address::ConnectionInfo;
use dyno_target::mysql::data::{WORKING, prepare};
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions};
use dyno_target::mysql::facts::server_facts;
use dyno_target::mysql::load::{LoadError, fill_table, run};
use dyno_target::mysql::sampler::sampler_set;
use dyno_target::mysql::sizes::database_sizes;
use dyno_target::sampler::{Moment, Sampler, Sink};
use dyno_target::target::{
    Data, Embedded as _, Fill, KillSwitch, Needs, Progress, Reach, RowSource, Sql, State, StopFlag, Wanted,
};
use std::collections::BTreeMap;
use std::fs;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// The last row, by the names of its columns, and these by what they mean.
#[derive(Default)]
struct Last(BTreeMap<String, f64>, BTreeMap<Meaning, String>);

impl Sink for Last {
    fn row(&mut self, _: Moment, series: &Series, values: &[Value]) {
        assert_eq!(series.file, "server.csv");
        self.1 = series.meanings.clone();
        let named = series.columns.iter().cloned().zip(values);
        self.0 = named
            .filter_map(|(name, value)| match value {
                Value::Number(number) => Some((name, *number)),
                _ => None,
            })
            .collect();
    }

    fn event(&mut self, _: Event) {}

    fn warn(&mut self, text: String) {
        panic!("{text}");
    }
}

/// The one that reads the server's counters.
fn counters(info: &ConnectionInfo) -> Box<dyn Sampler> {
    let mut samplers = sampler_set(info, false, None).samplers.into_iter();
    samplers
        .find(|sampler| sampler.subject() == "the server's counters")
        .unwrap()
}

fn sample(sampler: &mut dyn Sampler) -> Last {
    let moment = Moment {
        at: Duration::from_secs(1),
        late: Duration::ZERO,
    };
    let mut last = Last::default();
    sampler.sample(moment, &mut last).unwrap();
    last
}

fn sql(text: &str) -> Sql {
    Sql {
        text: text.to_owned(),
        name: "the set-up".to_owned(),
    }
}

#[test]
fn data_is_loaded_and_counted() {
    let mut options = EmbeddedOptions::new(home());
    "tests-mariadb-data".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    let risky = [("innodb_flush_log_at_trx_commit".to_owned(), "2".to_owned())];
    let server = embedded.start(&risky, &mut quiet).unwrap();
    let mut client = server.connection("").connect().unwrap();
    client.execute("create or replace database data").unwrap();
    let info = server.connection("data");
    let mut client = info.connect().unwrap();

    let facts = server_facts(&mut client).unwrap();
    assert!(facts.version.starts_with("11.4.5-MariaDB"), "{}", facts.version);
    assert_eq!(facts.not_durable, ["innodb_flush_log_at_trx_commit = 2"]);
    let set = |name: &str| facts.settings.iter().find(|setting| setting.name == name);
    let flush = set("innodb_flush_log_at_trx_commit").unwrap();
    assert_eq!((flush.value.as_str(), flush.source.as_str()), ("2", "command-line"));
    // What has its default is not among them.
    assert_eq!((set("innodb_doublewrite"), set("max_connections")), (None, None));

    let mut sampler = counters(&info);
    let Last(before, _) = sample(&mut *sampler);
    run(
        &mut client,
        &sql("create table t (id int, info text); create table u (i int primary key);"),
    )
    .unwrap();
    let fill = Fill {
        table: "t".to_owned(),
        rows: 120_001,
        columns: vec![
            ("id".to_owned(), "row".to_owned()),
            ("info".to_owned(), "concat('row ', row)".to_owned()),
        ],
        source: RowSource::Server,
    };
    let mut told = Vec::new();
    fill_table(&mut client, &fill, &AtomicBool::new(false), &mut |rows| told.push(rows)).unwrap();
    assert_eq!(told, [50_000, 100_000, 120_001]);
    run(
        &mut client,
        &sql("alter table t add primary key (id);\nanalyze table t"),
    )
    .unwrap();
    let found = "select count(*), cast(sum(id) as signed), max(info) from t";
    let (rows, sum, last): (u64, u64, String) = client.query_first(found).unwrap().unwrap();
    assert_eq!(
        (rows, sum, last.as_str()),
        (120_001, 120_001 * 120_002 / 2, "row 99999")
    );

    client.execute("begin; insert into u values (1), (2); commit").unwrap();
    // A session runs a moment longer than the answer takes.
    std::thread::sleep(Duration::from_millis(100));
    let Last(after, meanings) = sample(&mut *sampler);
    let growth = |name: &str| after[name] - before[name];
    assert_eq!(growth("Com_insert"), 1.0);
    assert_eq!(growth("Com_commit"), 1.0);
    assert!(
        growth("Innodb_os_log_written") > 4e6,
        "{}",
        growth("Innodb_os_log_written")
    );
    assert!(growth("Innodb_buffer_pool_read_requests") > 0.0);
    assert_eq!(meanings[&Meaning::LogBytes], "Innodb_os_log_written");
    for (meaning, column) in &meanings {
        assert!(
            after.contains_key(column),
            "the server does not count {meaning:?} as {column}"
        );
    }
    assert!(growth("Innodb_data_fsyncs") > 0.0);
    assert!(after["Threads_connected"] >= 2.0);
    assert_eq!(after["Threads_running"], 0.0, "the sampler's own session is left out");
    assert!(after["Innodb_checkpoint_max_age"] > after["Innodb_checkpoint_age"]);
    let missing: Vec<_> = before.keys().filter(|name| !after.contains_key(*name)).collect();
    assert_eq!(missing.len(), 0, "{missing:?}");
    assert!(after.len() >= 37, "{after:?}");

    let sizes = database_sizes(&mut client, Scope::Database).unwrap();
    let names: Vec<_> = sizes
        .tables
        .iter()
        .map(|table| (table.schema.as_str(), table.name.as_str()))
        .collect();
    assert_eq!(names, [("data", "t"), ("data", "u")]);
    let table = &sizes.tables[0];
    assert!((2_000_000..20_000_000).contains(&table.table_bytes), "{table:?}");
    assert!(
        table
            .rows_estimate
            .is_some_and(|rows| (100_000.0..140_000.0).contains(&rows)),
        "{table:?}"
    );
    assert!(sizes.database_bytes >= table.table_bytes);
    // They are those of the files, whatever the statistics still say; those of an odd name and of partitions, too.
    run(
        &mut client,
        &sql(
            "create table `odd #é` (id int, k int, info text, key k (k)) stats_auto_recalc = 0 \
              partition by hash (id) partitions 2; analyze table `odd #é`; \
              insert into `odd #é` select id, id, repeat(info, 20) from t where id <= 30000",
        ),
    )
    .unwrap();
    let sizes = database_sizes(&mut client, Scope::Database).unwrap();
    let odd = &sizes.tables[0];
    assert_eq!(odd.name, "odd #é");
    let folder = fs::read_dir(server.data_folder().join("data")).unwrap();
    let name = |file: &fs::DirEntry| file.file_name().to_string_lossy().into_owned();
    let files = folder
        .map(Result::unwrap)
        .filter(|file| name(file).starts_with("odd@") && name(file).ends_with(".ibd"));
    let on_disk = files.map(|file| file.metadata().unwrap().len()).sum::<u64>();
    let bytes = u64::try_from(odd.table_bytes + odd.index_bytes).unwrap();
    assert_eq!(bytes, on_disk, "{odd:?}");
    assert!(odd.index_bytes > 0 && bytes > 4_000_000, "{odd:?}");
    let nothing = database_sizes(&mut client, Scope::Nothing).unwrap();
    assert_eq!((nothing.database_bytes, nothing.tables), (0, vec![]));

    let stopped = fill_table(&mut client, &fill, &AtomicBool::new(true), &mut |_| ());
    assert!(matches!(stopped, Err(LoadError::Stopped)));
    let error = run(&mut client, &sql("do 1;\n\ncreate table t (i int);"))
        .unwrap_err()
        .to_string();
    assert_eq!(error, "the set-up, line 3: ERROR 1050: Table 't' already exists");

    // A sampler that lost its connection connects anew by itself.
    client
        .execute(
            "select concat('kill ', id) into @kill from information_schema.processlist where id <> \
                    connection_id() and user = 'root' limit 1",
        )
        .unwrap();
    client.execute("execute immediate @kill").unwrap();
    let moment = Moment {
        at: Duration::ZERO,
        late: Duration::ZERO,
    };
    assert!(sampler.sample(moment, &mut Last::default()).is_err());
    assert!(!sample(&mut *sampler).0.is_empty());
}

/// Keeps the steps that it is told.
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

/// What a campaign asks for.
fn wanted<'a>(data: &'a Data, campaign: &'a str) -> Wanted<'a> {
    Wanted {
        data,
        all: &[],
        campaign,
    }
}

#[test]
fn a_run_finds_the_data_that_it_asks_for() {
    let mut options = EmbeddedOptions::new(home());
    "tests-mariadb-run".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut quiet).unwrap();
    let server = embedded.start(&[], &mut quiet).unwrap();
    let mut client = server.connection("").connect().unwrap();
    client.execute(&format!("drop database if exists {WORKING}")).unwrap();
    let column = ("id".to_owned(), "row".to_owned());
    let mut data = Data {
        experiment: "pk-select".to_owned(),
        setup: sql("create table tbl (id int, info text)"),
        fill: vec![Fill {
            table: "tbl".to_owned(),
            rows: 10,
            columns: vec![column],
            source: RowSource::Server,
        }],
        finish: sql("alter table tbl add primary key (id)"),
        tablespaces: Vec::new(),
        maker: None,
        definition: "ten rows".to_owned(),
        locale: None,
        read_only: true,
        state: State::Copy,
        linked: false,
    };
    let mut bring = |data: &Data, campaign: &str| {
        let mut steps = Steps::default();
        let prepared = prepare(&mut client, wanted(data, campaign), &AtomicBool::new(false), &mut steps).unwrap();
        assert_eq!(prepared.used.is_some(), !data.read_only);
        assert_eq!(prepared.is_new, steps.0.len() > 1);
        let rows: u64 = client.query_first("select count(*) from tbl").unwrap().unwrap();
        if let Some(used) = prepared.used {
            used.mark(&mut client).unwrap();
            client.execute("delete from tbl where id = 1").unwrap();
        }
        (steps.0.len(), rows)
    };
    assert_eq!(bring(&data, "a"), (3, 10));
    assert_eq!(bring(&data, "b"), (1, 10), "data that nobody has changed is used again");
    data.state = State::Reload;
    assert_eq!(bring(&data, "b"), (3, 10), "unless it is to be loaded anew");
    (data.read_only, data.state) = (false, State::Copy);
    assert_eq!(bring(&data, "b"), (1, 10), "by those that change it as well");
    assert_eq!(bring(&data, "b"), (3, 10), "but not once they have");
    data.read_only = true;
    assert_eq!(bring(&data, "b"), (3, 10), "nor by those that only read");
    (data.read_only, data.state) = (false, State::Keep);
    assert_eq!(bring(&data, "b"), (1, 10));
    assert_eq!(bring(&data, "b"), (1, 9), "unless it is to be kept");
    assert_eq!(bring(&data, "c"), (3, 10), "of which others know nothing");
    data.definition = "ten other rows".to_owned();
    assert_eq!(bring(&data, "c"), (3, 10), "data of another definition is other data");

    data.finish = sql("alter table tbl add column id int");
    data.definition = "it fails".to_owned();
    let mut again = || {
        let mut steps = Steps::default();
        prepare(&mut client, wanted(&data, "c"), &AtomicBool::new(false), &mut steps)
            .unwrap_err()
            .to_string()
    };
    assert!(
        again().starts_with("the set-up, line 1: ERROR 1060"),
        "what failed is not taken for whole"
    );
    assert!(again().starts_with("the set-up, line 1: ERROR 1060"));
    server
        .connection("")
        .connect()
        .unwrap()
        .execute(&format!("create or replace database {WORKING}"))
        .unwrap();
    assert!(again().contains("without dyno's mark, which is left alone"));
}

#[test]
fn a_run_on_a_private_server_begins_with_written_pages_and_an_empty_buffer_pool() {
    let mut options = EmbeddedOptions::new(home());
    "tests-mariadb-begin".clone_into(&mut options.cluster);
    let mut steps = Steps::default();
    let mut instance = options.hold(&KillSwitch::default(), &mut steps).unwrap();
    let column = |name: &str, sql: &str| (name.to_owned(), sql.to_owned());
    let data = Data {
        experiment: "begin".to_owned(),
        setup: sql("create table tbl (id int primary key, info text)"),
        fill: vec![Fill {
            table: "tbl".to_owned(),
            rows: 200_000,
            columns: vec![column("id", "row"), column("info", "repeat('x', 200)")],
            source: RowSource::Server,
        }],
        finish: sql(""),
        tablespaces: Vec::new(),
        maker: None,
        definition: "many rows".to_owned(),
        locale: None,
        read_only: true,
        state: State::Reload,
        linked: false,
    };
    let needs = Needs {
        settings: &[],
        clients: 1,
        followed: false,
    };
    instance.bring(needs, false, &mut Vec::new(), &mut steps).unwrap();
    let mut begin = |data: &Data| {
        let mut steps = Steps::default();
        let (stop, notes) = (StopFlag::default(), &mut Vec::new());
        instance
            .prepare(wanted(data, "a"), false, notes, &mut steps, &stop)
            .unwrap();
        let database = instance.database(None).unwrap();
        let Reach::Mysql(info) = database.reach() else {
            panic!("another database")
        };
        let status = "select cast(variable_value as signed) from information_schema.global_status \
                      where variable_name in ('INNODB_BUFFER_POOL_PAGES_DATA', \
                      'INNODB_BUFFER_POOL_PAGES_DIRTY', 'INNODB_CHECKPOINT_AGE') \
                      order by variable_name";
        let found: Vec<u64> = info.connect().unwrap().query(status).unwrap();
        (steps.0, found)
    };
    let (steps, found) = begin(&data);
    assert_eq!(
        steps.last().unwrap(),
        "MariaDB 11.4.5 is running as tests-mariadb-begin",
        "{steps:?}"
    );
    let [pages, dirty, age] = found[..] else {
        panic!("{found:?}")
    };
    // The table alone has more than 2,500 pages.
    assert!(pages < 1000 && dirty < 500 && age < 1_000_000, "{found:?}");
    // Data that is there already was not loaded since the server started.
    let kept = Data {
        state: State::Copy,
        linked: false,
        ..data
    };
    assert_eq!(begin(&kept).0, ["Using the data that is loaded"]);
}
