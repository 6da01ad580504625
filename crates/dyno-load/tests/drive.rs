//! A plan that has travelled as bytes drives a load on a real server.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use dyno_engine::{
    ClientEvent, Connected, Load, NewLog, Observer, Outcome, Pacing, Phase, Preparing, Stop, TransactionLog, Workload,
};
use dyno_load::{
    Access, Given, LoadError, LoadPlan, LogError, LogPlan, LuaScript, Ready, ScriptText, Scripts, Server, Work,
    WorkloadPlan, from_bytes, no_log, to_bytes,
};
use dyno_lua::{IgnoredErrors, OptionValue, PreparedStatements, RandomSettings};
use dyno_record::{Interval, Recording};
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server as Process};
use dyno_target::{mysql, postgres};
use dyno_wire::Protocol;
use std::ops::ControlFlow;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The server of this test binary.
static SERVER: LazyLock<Process> = LazyLock::new(|| {
    let mut options = EmbeddedOptions::new(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home"));
    "tests-load".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    embedded.start(&[], &mut |_| ()).unwrap()
});

#[derive(Default)]
struct Keep(Vec<Recording>);

impl Observer for Keep {
    fn connected(&mut self, _: &Connected) {}

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.0.resize(interval.recordings.len(), Recording::default());
        for (sum, part) in self.0.iter_mut().zip(&interval.recordings) {
            sum.add(part);
        }
        ControlFlow::Continue(())
    }

    fn client_event(&mut self, _: &ClientEvent) {}
}

fn drive(plan: &LoadPlan) -> (Outcome, Vec<Recording>) {
    let plan = from_bytes(&to_bytes(plan).unwrap()).unwrap();
    let mut keep = Keep::default();
    let ready = Ready::of(plan, &no_log).unwrap();
    let outcome = ready.drive(&mut keep, &Stop::new()).unwrap();
    (outcome, keep.0)
}

fn scripts(texts: &[(&str, u64)], seed: u64) -> Scripts {
    let texts = texts.iter().map(|(text, weight)| ScriptText {
        name: "test".to_owned(),
        text: text.as_bytes().to_vec(),
        weight: *weight,
    });
    Scripts {
        scripts: texts.collect(),
        lexis: Default::default(),
        variables: vec![Given::new("rows", 1_000_000)],
        seed,
        protocol: Protocol::Prepared,
    }
}

fn workload(name: &str, clients: usize, scripts: Scripts) -> WorkloadPlan {
    let access = Access {
        server: Server::Postgres(Box::new(SERVER.connection("postgres"))),
        preparing: Preparing::AtStart,
    };
    Workload {
        transactions_per_client: Some(20),
        ..Workload::new(name, clients, access, scripts.into())
    }
}

fn load(workloads: Vec<WorkloadPlan>) -> LoadPlan {
    Load {
        interval: Duration::from_millis(100),
        record_finishing: true,
        ..Load::new(workloads, vec![Phase::new("run", Duration::MAX)])
    }
}

fn execute(sql: &str) {
    let mut client = SERVER.connection("postgres").connect().unwrap();
    client.batch_execute(sql).unwrap();
}

/// What the clients of a workload have drawn, client by client.
fn drawn(table: &str) -> Vec<(i32, i64)> {
    let mut client = SERVER.connection("postgres").connect().unwrap();
    let rows = client.query(&format!("select client, n from {table} order by 1, id"), &[]);
    rows.unwrap().iter().map(|row| (row.get(0), row.get(1))).collect()
}

#[test]
fn it_does_the_same_work_wherever_it_is_driven() {
    let mut rounds = Vec::new();
    for _ in 0..2 {
        let table = "(id serial, client int, n bigint)";
        execute(&format!(
            "drop table if exists a, b; create table a {table}; create table b {table}"
        ));
        let script =
            |table| format!("\\set n random(1, :rows)\ninsert into {table} (client, n) values (:client_id, :n);");
        let plan = load(vec![
            workload("a", 3, scripts(&[(&script("a"), 1)], 7)),
            Workload {
                threads: 2,
                pacing: Pacing::Open { rate_per_s: 500.0 },
                ..workload("b", 4, scripts(&[(&script("b"), 1), ("select 1;", 2)], 8))
            },
        ]);
        let (outcome, recordings) = drive(&plan);
        assert!(outcome.ended_early.is_none(), "{outcome:?}");
        assert_eq!(
            recordings
                .iter()
                .map(|recording| recording.transactions)
                .collect::<Vec<_>>(),
            [60, 80]
        );
        assert_eq!(recordings[1].lag.count(), 80);
        rounds.push((drawn("a"), drawn("b").len()));
    }
    assert_eq!(rounds[0].0.len(), 60);
    assert_eq!(rounds[0].0, rounds[1].0, "the same seed draws the same");
    assert!(
        (1..80).contains(&rounds[0].1),
        "scripts are chosen by weight: {rounds:?}"
    );
}

/// Counts transactions.
struct Count(Arc<AtomicU64>);

impl TransactionLog for Count {
    fn transaction(&mut self, _: &dyno_engine::LogEntry) {
        self.0.fetch_add(1, Ordering::Relaxed);
    }

    fn finish(&mut self) {}
}

#[test]
fn its_log_is_opened_by_whoever_drives_it() {
    let mut plan = load(vec![workload("a", 2, scripts(&[("select 1;", 1)], 1))]);
    plan.workloads[0].log = Some(LogPlan {
        prefix: "some/log".to_owned(),
        version: "18".to_owned(),
        sampling_rate: None,
        aggregate_s: None,
        failures_detailed: false,
        first_phase: 0,
    });
    let plan = from_bytes(&to_bytes(&plan).unwrap()).unwrap();
    let refused = Ready::of(plan.clone(), &no_log).err().unwrap().to_string();
    assert!(
        refused.starts_with("the log file some/log cannot be made: only dyno pgbench"),
        "{refused}"
    );
    let written = Arc::new(AtomicU64::new(0));
    let open = |workload: &WorkloadPlan, log: &LogPlan| -> Result<NewLog, LogError> {
        assert_eq!((workload.name.as_str(), log.prefix.as_str()), ("a", "some/log"));
        let written = Arc::clone(&written);
        Ok(Box::new(move |_| Box::new(Count(Arc::clone(&written)))))
    };
    let ready = Ready::of(plan, &open).unwrap();
    assert_eq!(ready.statements(), [["select 1;"]]);
    ready.drive(&mut Keep::default(), &Stop::new()).unwrap();
    assert_eq!(written.load(Ordering::Relaxed), 40);
}

#[test]
fn what_cannot_be_driven_says_why() {
    let of = |plan: LoadPlan| Ready::of(plan, &no_log).err();
    assert!(matches!(of(load(Vec::new())), Some(LoadError::Empty)));
    let host = |host: &str| {
        let info = postgres::address::ConnectionInfo::resolve(Some(&format!("postgres://u@{host}/d")), &|_| None);
        Server::Postgres(Box::new(info.unwrap()))
    };
    let other = mysql::address::ConnectionInfo::resolve("mysql://u@127.0.0.1/d", &|_| None).unwrap();
    let on = |name, server| {
        let access = Access {
            server,
            preparing: Preparing::AtStart,
        };
        Workload::new(name, 1, access, scripts(&[("select 1;", 1)], 1).into())
    };
    // Databases may differ.
    let mixed = vec![on("a", host("127.0.0.1")), on("b", Server::Mysql(Box::new(other)))];
    assert!(matches!(Ready::of(load(mixed), &no_log), Ok(Ready::Mixed(_))));
    let nowhere = vec![on("a", host("nowhere.invalid"))];
    assert!(matches!(of(load(nowhere)), Some(LoadError::Postgres(_))));
    let mut broken = on("a", host("127.0.0.1"));
    broken.program = scripts(&[("\\set", 1)], 1).into();
    assert!(matches!(of(load(vec![broken])), Some(LoadError::Script(_))));
}

fn lua(text: &str, options: &[(&str, f64)]) -> Work {
    let options = options.iter();
    let options = options.map(|(name, value)| ((*name).to_owned(), OptionValue::Number(*value)));
    Work::Lua(Box::new(LuaScript {
        name: "test.lua".to_owned(),
        text: text.as_bytes().to_vec(),
        folder: None,
        modules: vec![("half".to_owned(), b"return function(n) return n / 2 end".to_vec())],
        files: Vec::new(),
        options: options.collect(),
        globals: Vec::new(),
        is_safe: true,
        prepared: PreparedStatements::Auto,
        ignored: IgnoredErrors::Numbers(Vec::new()),
        random: RandomSettings {
            seed: 7,
            ..RandomSettings::default()
        },
    }))
}

#[test]
fn scripts_in_lua_are_driven_with_their_modules_and_options() {
    execute("drop table if exists c; create table c (id serial, client int, n bigint)");
    let script = "local half = require('half')
        function init() sysbench.sql.driver():connect():query('insert into c (client, n) values (-1, 0)') end
        function thread_init() con = sysbench.sql.driver():connect() end
        function event()
           local n = sysbench.rand.uniform(1, sysbench.opt.most)
           con:query(string.format('insert into c (client, n) values (%d, %d)', sysbench.tid, half(n)))
        end
        function done() sysbench.sql.driver():connect():query('insert into c (client, n) values (-2, 0)') end";
    let plan = load(vec![WorkloadPlan {
        program: lua(script, &[("most", 1000.0)]),
        ..workload("lua", 3, scripts(&[("select 1;", 1)], 1))
    }]);
    let (outcome, recordings) = drive(&plan);
    assert!(outcome.ended_early.is_none(), "{outcome:?}");
    assert_eq!(recordings[0].transactions, 60);
    let drawn = drawn("c");
    assert_eq!(drawn.len(), 62);
    assert!(drawn.iter().all(|(_, n)| (0..=500).contains(n)), "{drawn:?}");
    assert_eq!((drawn[0].0, drawn[1].0), (-2, -1));
    // One statement, whatever the numbers in it.
    assert_eq!(recordings[0].statement_latency.len(), 1);
}

#[test]
fn workloads_of_one_load_are_in_one_language() {
    let pgbench = || workload("a", 1, scripts(&[("select 1;", 1)], 1));
    let in_lua = || WorkloadPlan {
        program: lua("function event() end", &[]),
        ..Workload {
            name: "b".to_owned(),
            ..pgbench()
        }
    };
    for workloads in [vec![pgbench(), in_lua()], vec![in_lua(), pgbench()]] {
        assert!(matches!(
            Ready::of(load(workloads), &no_log).err(),
            Some(LoadError::Languages)
        ));
    }
    let eventless = WorkloadPlan {
        program: lua("function prepare() end", &[]),
        ..pgbench()
    };
    let error = Ready::of(load(vec![eventless]), &no_log).err();
    assert!(matches!(error, Some(LoadError::Lua(_))), "{error:?}");
}

#[test]
fn a_copy_in_a_pipeline_fails_and_is_not_waited_for() {
    execute("create table if not exists copied (i int)");
    let errors = |rest: &str| {
        let script = format!("\\startpipeline\ncopy copied from stdin;\n{rest}\\endpipeline");
        let plan = load(vec![Workload {
            transactions_per_client: Some(3),
            ..workload("a", 1, scripts(&[(&script, 1)], 1))
        }]);
        let (_, recordings) = drive(&plan);
        let errors = recordings[0].errors_by_code.iter();
        errors
            .map(|error| (error.code.to_string(), error.count))
            .collect::<Vec<_>>()
    };
    // The server waits for data until it is told that there is none.
    let refused = [("57014".to_owned(), 3)];
    assert_eq!(errors(""), refused);
    assert_eq!(errors("\\syncpipeline\n"), refused);
    // It gives the connection up when anything else comes.
    assert_eq!(errors("select 1;\n"), [("08P01".to_owned(), 1)]);
}
