//! A load of a script on the embedded server, over each driver.

use crate::library::{self, Postgres};
use dyno_engine::backend::Driver;
use dyno_engine::backend::blocking::BlockingDriver;
use dyno_engine::{
    Address, ClientEvent, Connected, Connecting, Either, Endpoint, FailurePolicy, Found, Load, NewLog, Observer,
    Outcome, Pacing, Phase, Preparing, Program, Scripted, Stage, Stop, WireDriver, Workload, drive,
};
use dyno_record::{Interval, Recording};
use dyno_script::{Script, ScriptProgram, ScriptSet, Seeds, Symbols, Variables};
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server};
use dyno_wire::{MySession, PgConfig, PgSession, PgStatement, Protocol};
use std::ops::ControlFlow;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// The server of this test binary.
pub static SERVER: LazyLock<Server> = LazyLock::new(|| {
    let mut options = EmbeddedOptions::new(std::path::Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home"));
    "tests-drivers".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    embedded.start(&[], &mut |_| ()).unwrap()
});

/// Executes something beside the load.
pub fn execute(sql: &str) {
    let mut client = SERVER.connection("postgres").connect().unwrap();
    client.batch_execute(sql).unwrap();
}

/// The number that a query gives.
pub fn number(sql: &str) -> i64 {
    let mut client = SERVER.connection("postgres").connect().unwrap();
    client.query_one(sql, &[]).unwrap().get(0)
}

/// What a load came to.
pub struct Came {
    pub outcome: Outcome,
    pub recording: Recording,
    pub events: Vec<String>,
    /// The statements that were not listed, with their places.
    pub unlisted: Vec<(usize, Option<String>)>,
}

#[derive(Default)]
struct Keep {
    recording: Recording,
    events: Vec<String>,
    unlisted: Vec<(usize, Option<String>)>,
}

impl Observer for Keep {
    fn connected(&mut self, _: &Connected) {}

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.recording.add(&interval.recordings[0]);
        ControlFlow::Continue(())
    }

    fn statement(&mut self, _workload: usize, place: usize, found: Option<&Found>) {
        self.unlisted.push((place, found.map(|found| found.text.clone())));
    }

    fn client_event(&mut self, event: &ClientEvent) {
        self.events.push(format!("{event:?}"));
    }
}

/// A load of one script, and what is asked of it.
pub struct Case {
    pub script: &'static str,
    pub clients: usize,
    /// For each client; `None`: for as long as the phase lasts.
    pub transactions: Option<u64>,
    pub lasts: Duration,
    pub grace: Duration,
    pub record_finishing: bool,
    pub pacing: Pacing,
    pub stages: Vec<Stage>,
    pub connecting: Connecting,
    pub reconnect: bool,
    pub failures: FailurePolicy,
    pub latency_limit: Option<Duration>,
    pub time_commands: bool,
    /// When it is asked to stop, if it is.
    pub stops_after: Option<Duration>,
}

impl Case {
    /// So many transactions for each client.
    pub fn of(script: &'static str, clients: usize, transactions: u64) -> Self {
        Self {
            script,
            clients,
            transactions: Some(transactions),
            lasts: Duration::MAX,
            grace: Duration::from_millis(200),
            record_finishing: false,
            pacing: Pacing::Closed,
            stages: Vec::new(),
            connecting: Connecting::Once,
            reconnect: false,
            failures: FailurePolicy {
                max_tries: Some(50),
                ..FailurePolicy::default()
            },
            latency_limit: None,
            time_commands: false,
            stops_after: None,
        }
    }

    fn program(&self) -> ScriptProgram {
        let mut symbols = Symbols::new();
        let script = Script::parse("test", self.script, &mut symbols).unwrap();
        let program = ScriptProgram::new(ScriptSet {
            scripts: vec![(Arc::new(script), 1)],
            variables: Variables::new(&symbols),
            client_id: symbols.lookup("client_id"),
            seeds: Seeds::draw(1, self.clients, 1, false),
            protocol: Protocol::Prepared,
        });
        program.telling_each_command(self.time_commands)
    }

    /// A load of `program` under what is asked of this one.
    pub fn load<D: Driver, P: Scripted>(&self, program: P, driver: D, log: Option<NewLog>) -> Load<D, P> {
        let workload = Workload {
            pacing: self.pacing,
            stages: self.stages.clone(),
            transactions_per_client: self.transactions,
            connecting: self.connecting,
            reconnect: self.reconnect,
            failures: self.failures.clone(),
            latency_limit: self.latency_limit,
            time_commands: self.time_commands,
            log,
            ..Workload::new("one", self.clients, driver, program)
        };
        Load {
            interval: Duration::from_millis(100),
            grace: self.grace,
            record_finishing: self.record_finishing || self.transactions.is_some(),
            ..Load::new(vec![workload], vec![Phase::new("run", self.lasts)])
        }
    }

    /// Runs it over each driver.
    pub fn each(&self, check: impl Fn(&str, Came)) {
        self.each_logged(|| None, check);
    }

    /// The same with a log for each.
    pub fn each_logged(&self, log: impl Fn() -> Option<NewLog>, check: impl Fn(&str, Came)) {
        let program = self.program();
        let statements = program.encode::<PgSession>().unwrap();
        let own = || wire(statements.clone(), program.statements());
        check("wire", self.run(&self.load(program.clone(), own(), log())));
        let either = Either::<WireDriver<MySession>, _>::Second(own());
        check("either", self.run(&self.load(program.clone(), either, log())));
        let blocking = self.load(program.clone(), blocking(&program), log());
        check("blocking", self.run(&blocking));
    }

    /// Runs it over each driver, and then the same load once more.
    pub fn each_twice(&self, check: impl Fn(&str, Came, Came)) {
        let program = self.program();
        let statements = program.encode::<PgSession>().unwrap();
        let wire = self.load(program.clone(), wire(statements, program.statements()), None);
        check("wire", self.run(&wire), self.run(&wire));
        let blocking = self.load(program.clone(), blocking(&program), None);
        check("blocking", self.run(&blocking), self.run(&blocking));
    }

    /// Runs a load of it.
    pub fn run<D: Driver, P: Scripted>(&self, load: &Load<D, P>) -> Came {
        let (mut keep, stop) = (Keep::default(), Stop::new());
        let outcome = std::thread::scope(|scope| {
            if let Some(after) = self.stops_after {
                let stop = &stop;
                scope.spawn(move || {
                    std::thread::sleep(after);
                    stop.request();
                });
            }
            drive(load, &mut keep, &stop).unwrap()
        });
        Came {
            outcome,
            recording: keep.recording,
            events: keep.events,
            unlisted: keep.unlisted,
        }
    }
}

/// Sessions of our own, for a program of these statements.
pub fn wire(statements: Vec<PgStatement>, texts: Vec<String>) -> WireDriver<PgSession> {
    let config = Arc::new(PgConfig {
        user: "postgres".to_owned(),
        database: "postgres".to_owned(),
        ..PgConfig::default()
    });
    WireDriver {
        choice: dyno_engine::Choice::First,
        endpoints: vec![Endpoint {
            address: Address::Unix(library::socket(&SERVER)),
            tls: None,
            required_peer: None,
            connect_timeout: Duration::from_secs(30),
        }],
        session: Box::new(move |_, _| PgSession::new(Arc::clone(&config))),
        statements,
        texts,
        preparing: Preparing::OnFirstUse,
    }
}

/// The library that blocks, for a program.
pub fn blocking(program: &impl Program) -> BlockingDriver<Postgres> {
    BlockingDriver::new(Postgres::new(&SERVER, program))
}
