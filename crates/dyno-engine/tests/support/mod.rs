//! What the engine's tests share: a scripted server, a stopwatch for it, and a program of one statement.

pub mod scripted_server;
#[allow(dead_code, reason = "each test uses its own part")]
pub mod stopwatch;

use dyno_engine::{
    Action, Address, ClientEvent, Connected, Cpus, Endpoint, FailurePolicy, Load, Observer, OnBrokenScript, OnError,
    Pacing, Phase, Preparing, Program, ProgramError, Resume, Scripted, ThreadOptions, TransportChoice, WireDriver,
    Workload,
};
use dyno_record::{Interval, Recording};
use dyno_script::{Script, ScriptProgram, ScriptSet, Seeds, Symbols, Variables};
use dyno_wire::{PgConfig, PgSession, PgStatement, Protocol};
use scripted_server::ScriptedServer;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Executes the same statement without parameters, one per transaction.
#[derive(Clone)]
pub struct OneStatement;

impl Program for OneStatement {
    type State = ();

    fn statements(&self) -> Vec<String> {
        vec!["select 1".into()]
    }

    fn state(&self, _client: usize) {}

    fn next(&self, (): &mut (), resume: Resume<'_>) -> Result<Action, ProgramError> {
        Ok(match resume {
            Resume::Begin | Resume::Again => Action::execute(0),
            Resume::Failed(_) | Resume::Enter | Resume::Leave | Resume::Replied { .. } => Action::Fail,
            Resume::Done | Resume::Results(_) => Action::End,
        })
    }
}

impl Scripted for OneStatement {
    type Thread = ();

    fn thread(&self, _thread: usize) {}
}

/// Makes tests of functions that take a transport, or what can be made of one: a test for each of them.
#[allow(unused_macros, reason = "a bench shares this module and has no tests")]
macro_rules! over_each_transport {
    ($($test:ident),* $(,)?) => {
        $(mod $test {
            use dyno_engine::TransportChoice;

            #[test]
            fn auto() {
                super::$test(TransportChoice::Auto.into());
            }

            #[test]
            fn epoll() {
                super::$test(TransportChoice::Readiness.into());
            }

            #[test]
            fn io_uring() {
                super::$test(TransportChoice::IoUring.into());
            }
        })*
    };
}

/// The transport, or what is there in its place.
fn available(transport: TransportChoice) -> TransportChoice {
    transport.check().map_or_else(
        |error| {
            eprintln!("not tested: {error}");
            TransportChoice::Auto
        },
        |()| transport,
    )
}

/// A load of one workload on `server`.
pub fn load(
    transport: TransportChoice,
    server: &ScriptedServer,
    clients: usize,
    threads: usize,
    pacing: Pacing,
    phases: &[(&str, u64)],
) -> Load<WireDriver<PgSession>, OneStatement> {
    let config = Arc::new(PgConfig {
        user: "test".into(),
        database: "test".into(),
        ..PgConfig::default()
    });
    let driver = WireDriver {
        choice: dyno_engine::Choice::First,
        endpoints: vec![Endpoint {
            address: Address::Tcp(vec![server.address()]),
            tls: None,
            required_peer: None,
            connect_timeout: Duration::from_secs(10),
        }],
        session: Box::new(move |_, _| PgSession::new(Arc::clone(&config))),
        statements: vec![PgStatement::new(0, "select 1", 0, Protocol::Prepared).expect("a valid statement")],
        texts: OneStatement.statements(),
        preparing: Preparing::AtStart,
    };
    let workload = Workload {
        threads,
        pacing,
        ..Workload::new("one", clients, driver, OneStatement)
    };
    let phases = phases
        .iter()
        .map(|&(name, ms)| Phase::new(name, Duration::from_millis(ms)));
    Load {
        interval: Duration::from_millis(100),
        grace: Duration::from_secs(5),
        threads: ThreadOptions {
            transport: available(transport),
            cpus: Cpus::default(),
        },
        ..Load::new(vec![workload], phases.collect())
    }
}

/// A load of one workload of scripts with weights, which goes on until each client has had `transactions`. What the
/// protocol leaves open is as in pgbench: errors abort their client, statements are prepared on first use.
#[allow(dead_code, reason = "each test uses its own part")]
pub fn script_load(
    transport: TransportChoice,
    server: &ScriptedServer,
    protocol: Protocol,
    clients: usize,
    transactions: u64,
    scripts: &[(&str, u64)],
) -> Load<WireDriver<PgSession>, ScriptProgram> {
    seeded_load(transport, server, protocol, (clients, 1), transactions, scripts, 1)
}

/// The same with so many clients on so many threads, and other random numbers.
#[allow(dead_code, reason = "each test uses its own part")]
pub fn seeded_load(
    transport: TransportChoice,
    server: &ScriptedServer,
    protocol: Protocol,
    (clients, threads): (usize, usize),
    transactions: u64,
    scripts: &[(&str, u64)],
    seed: u64,
) -> Load<WireDriver<PgSession>, ScriptProgram> {
    let mut symbols = Symbols::new();
    let parsed = scripts.iter().map(|(text, weight)| {
        let script = Script::parse("test", text, &mut symbols).expect("a valid script");
        (Arc::new(script), *weight)
    });
    let scripts = parsed.collect();
    let program = ScriptProgram::new(ScriptSet {
        scripts,
        variables: Variables::new(&symbols),
        client_id: symbols.lookup("client_id"),
        seeds: Seeds::draw(seed, clients, threads, false),
        protocol,
    });
    let plain = load(transport, server, clients, 1, Pacing::Closed, &[]);
    let workload = plain.workloads.into_iter().next().expect("one workload");
    let driver = WireDriver {
        choice: dyno_engine::Choice::First,
        statements: program.encode::<PgSession>().expect("valid statements"),
        texts: program.statements(),
        preparing: Preparing::OnFirstUse,
        ..workload.driver
    };
    let workload = Workload {
        threads,
        transactions_per_client: Some(transactions),
        failures: FailurePolicy {
            on_error: OnError::AbortClient,
            on_broken_script: OnBrokenScript::AbortClient,
            ..FailurePolicy::default()
        },
        ..Workload::new("one", clients, driver, program)
    };
    Load {
        interval: Duration::from_millis(100),
        grace: Duration::MAX,
        include_connecting: true,
        record_finishing: true,
        threads: plain.threads,
        ..Load::new(vec![workload], vec![Phase::new("run", Duration::MAX)])
    }
}

/// Keeps every interval, and events as they are shown for debugging.
#[derive(Default)]
pub struct Keep {
    pub intervals: Vec<Interval>,
    pub connected: Option<Connected>,
    /// When it was connected: the first phase begins just after.
    pub connected_at: Option<Instant>,
    pub events: Vec<String>,
}

impl Keep {
    /// All recordings of one phase added up.
    pub fn total(&self, phase: usize) -> Recording {
        let mut sum = Recording::default();
        for interval in self.intervals.iter().filter(|interval| interval.phase == phase) {
            sum.add(&interval.recordings[0]);
        }
        sum
    }
}

impl Observer for Keep {
    fn connected(&mut self, connected: &Connected) {
        self.connected = Some(connected.clone());
        self.connected_at = Some(Instant::now());
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.intervals.push(interval.clone());
        ControlFlow::Continue(())
    }
    fn client_event(&mut self, event: &ClientEvent) {
        self.events.push(format!("{event:?}"));
    }
}
