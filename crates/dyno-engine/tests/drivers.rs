//! One suite over the drivers there are, on a real PostgreSQL: sessions of our own over transports, and a library that
//! owns its socket and blocks.

#![allow(clippy::unwrap_used, clippy::panic, reason = "a test's helpers fail as tests do")]

#[path = "drivers/library.rs"]
mod library;

use dyno_engine::backend::Driver;
use dyno_engine::backend::blocking::BlockingDriver;
use dyno_engine::{
    Address, ClientEvent, Connected, Ending, Endpoint, FailurePolicy, Load, Observer, Outcome, Phase, Preparing,
    Program, Stop, WireDriver, Workload, drive,
};
use dyno_record::{Interval, Recording};
use dyno_script::{Script, ScriptProgram, ScriptSet, Seeds, Symbols, Variables};
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server};
use dyno_wire::{PgConfig, PgSession, Protocol};
use library::Postgres;
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};
use std::time::{Duration, Instant};

/// The server of this test binary.
static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let mut options = EmbeddedOptions::new(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home"));
    "tests-drivers".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    embedded.start(&[], &mut |_| ()).unwrap()
});

/// What a load came to.
struct Came {
    outcome: Outcome,
    recording: Recording,
    events: Vec<String>,
}

#[derive(Default)]
struct Keep {
    recording: Recording,
    events: Vec<String>,
}

impl Observer for Keep {
    fn connected(&mut self, _: &Connected) {}

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.recording.add(&interval.recordings[0]);
        ControlFlow::Continue(())
    }

    fn client_event(&mut self, event: &ClientEvent) {
        self.events.push(format!("{event:?}"));
    }
}

/// A load of one script.
struct Case {
    script: &'static str,
    clients: usize,
    /// For each client; `None`: for this long.
    transactions: Option<u64>,
    lasts: Duration,
}

impl Case {
    fn of(script: &'static str, clients: usize, transactions: u64) -> Self {
        Self {
            script,
            clients,
            transactions: Some(transactions),
            lasts: Duration::MAX,
        }
    }

    fn load<D: Driver>(&self, driver: impl FnOnce(&ScriptProgram) -> D) -> Load<D, ScriptProgram> {
        let mut symbols = Symbols::new();
        let script = Script::parse("test", self.script, &mut symbols).unwrap();
        let program = ScriptProgram::new(ScriptSet {
            scripts: vec![(Arc::new(script), 1)],
            variables: Variables::new(&symbols),
            client_id: symbols.lookup("client_id"),
            seeds: Seeds::draw(1, self.clients, 1, false),
            protocol: Protocol::Prepared,
        });
        let workload = Workload {
            transactions_per_client: self.transactions,
            failures: FailurePolicy {
                max_tries: Some(50),
                ..FailurePolicy::default()
            },
            ..Workload::new("one", self.clients, driver(&program), program)
        };
        Load {
            interval: Duration::from_millis(100),
            grace: Duration::from_millis(200),
            record_finishing: self.transactions.is_some(),
            ..Load::new(vec![workload], vec![Phase::new("run", self.lasts)])
        }
    }

    /// Runs it over each driver.
    fn each(&self, check: impl Fn(&str, Came)) {
        check("wire", run(&self.load(wire)));
        check("blocking", run(&self.load(blocking)));
    }
}

fn wire(program: &ScriptProgram) -> WireDriver<PgSession> {
    let config = Arc::new(PgConfig {
        user: "postgres".to_owned(),
        database: "postgres".to_owned(),
        ..PgConfig::default()
    });
    WireDriver {
        endpoints: vec![Endpoint {
            address: Address::Unix(library::socket(&SERVER)),
            tls: None,
            required_peer: None,
            connect_timeout: Duration::from_secs(30),
        }],
        session: Box::new(move |_, _| PgSession::new(Arc::clone(&config))),
        statements: program.encode::<PgSession>().unwrap(),
        texts: program.statements(),
        preparing: Preparing::OnFirstUse,
    }
}

fn blocking(program: &ScriptProgram) -> BlockingDriver<Postgres> {
    BlockingDriver::new(Postgres::new(&SERVER, program))
}

fn run<D: Driver>(load: &Load<D, ScriptProgram>) -> Came {
    let mut keep = Keep::default();
    let outcome = drive(load, &mut keep, &Stop::new()).unwrap();
    Came {
        outcome,
        recording: keep.recording,
        events: keep.events,
    }
}

fn execute(sql: &str) {
    SERVER
        .connection("postgres")
        .connect()
        .unwrap()
        .batch_execute(sql)
        .unwrap();
}

#[test]
fn transactions_are_executed_and_counted() {
    execute("drop table if exists counted; create table counted (n int)");
    Case::of("\\set n random(1, 9)\ninsert into counted values (:n);", 3, 7).each(|driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!(came.recording.transactions, 21, "{driver}");
        assert_eq!(came.recording.statements, 21, "{driver}");
        assert_eq!(came.recording.latency.count(), 21, "{driver}");
    });
    let mut client = SERVER.connection("postgres").connect().unwrap();
    let count: i64 = client
        .query_one("select count(*) from counted where n between 1 and 9", &[])
        .unwrap()
        .get(0);
    assert_eq!(count, 42);
}

#[test]
fn results_become_variables() {
    let script = "select 6 * 7 as answer \\gset\nselect 1 / (case when :answer = 42 then 1 else 0 end);";
    Case::of(script, 2, 3).each(|driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!((came.recording.transactions, came.recording.errors), (6, 0), "{driver}");
    });
}

#[test]
fn errors_roll_back_and_are_counted_by_code() {
    let script = "begin;\nselect 1 / (:client_id * 0);\nend;";
    Case::of(script, 2, 4).each(|driver, came| {
        assert_eq!((came.recording.transactions, came.recording.errors), (0, 8), "{driver}");
        let codes: Vec<_> = came
            .recording
            .errors_by_code
            .iter()
            .map(|error| error.code.to_string())
            .collect();
        assert_eq!(codes, ["22012"], "{driver}");
    });
}

#[test]
fn a_lost_connection_ends_its_client() {
    let script = "select pg_terminate_backend(pg_backend_pid());";
    Case::of(script, 1, 5).each(|driver, came| {
        assert!(
            matches!(came.outcome.ended_early, Some(Ending::ConnectionsLost(_))),
            "{driver}: {:?} {:?}",
            came.outcome,
            came.events
        );
        assert_eq!(came.recording.errors, 1, "{driver}");
    });
}

#[test]
fn what_is_executed_at_the_end_is_cancelled() {
    let case = Case {
        script: "select pg_sleep(600);",
        clients: 2,
        transactions: None,
        lasts: Duration::from_millis(300),
    };
    case.each(|driver, came| {
        assert_eq!(came.outcome.unfinished, [2], "{driver}");
    });
    let still = "select count(*) from pg_stat_activity where state = 'active' and query like 'select pg_sleep(600)%'";
    let begun = Instant::now();
    let mut client = SERVER.connection("postgres").connect().unwrap();
    while client.query_one(still, &[]).unwrap().get::<_, i64>(0) > 0 {
        assert!(begun.elapsed() < Duration::from_secs(20), "still executed");
        std::thread::sleep(Duration::from_millis(20));
    }
}
