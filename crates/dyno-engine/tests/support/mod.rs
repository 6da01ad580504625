//! What the engine's tests share: a scripted server and a program of one statement.

pub mod scripted_server;

use dyno_engine::{
    Action, Address, CaptureFault, Connected, Connecting, Endpoint, FailurePolicy, Interval, Load, Observer, Pacing,
    Phase, Preparing, Program, ProgramError, Workload,
};
use dyno_script::Debugged;
use dyno_wire::{CapturedResult, Parameters, PgConfig, PgSession, PgStatement, Protocol};
use scripted_server::ScriptedServer;
use std::ops::{ControlFlow, Range};
use std::sync::Arc;
use std::time::Duration;

/// Executes the same statement without parameters, one per transaction.
pub struct OneStatement;

impl Program for OneStatement {
    type State = bool;
    type Thread = ();

    fn statements(&self) -> Vec<String> {
        vec!["select 1".into()]
    }

    fn commands(&self) -> Vec<usize> {
        vec![1]
    }

    fn thread(&self, _thread: usize) {}

    fn state(&self, _client: usize) -> bool {
        false
    }

    fn choose(&self, _thread: &mut (), _sent: &mut bool) {}

    fn script(&self, _sent: &bool) -> usize {
        0
    }

    fn command(&self, _sent: &bool) -> usize {
        0
    }

    fn begin(&self, sent: &mut bool) {
        *sent = false;
    }

    fn restart(&self, sent: &mut bool) {
        *sent = false;
    }

    fn next(&self, sent: &mut bool, _each: bool) -> Result<Action, ProgramError> {
        if std::mem::replace(sent, true) {
            Ok(Action::End)
        } else {
            Ok(Action::Execute(0))
        }
    }

    fn pipeline(&self, _sent: &bool) -> Range<usize> {
        0..0
    }

    fn capture(&self, _sent: &mut bool, _statement: usize, _results: &[CapturedResult]) -> Result<(), CaptureFault> {
        Ok(())
    }

    fn failure(&self, _sent: &bool, reason: &str) -> ProgramError {
        unreachable!("{reason}")
    }

    fn debugged<'a>(&self, _sent: &'a bool) -> &'a [Debugged] {
        &[]
    }

    fn parameters<'a>(&'a self, _state: &'a bool, _statement: usize) -> impl Parameters + 'a {}

    fn write_text(&self, _state: &bool, _statement: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(b"select 1");
    }

    fn parameterized(&self, _statement: usize) -> &str {
        "select 1"
    }
}

/// A load of one workload on `server`.
pub fn load(
    server: &ScriptedServer,
    clients: usize,
    threads: usize,
    pacing: Pacing,
    phases: &[(&str, u64)],
) -> Load<PgSession, OneStatement> {
    let config = Arc::new(PgConfig {
        user: "test".into(),
        database: "test".into(),
        ..PgConfig::default()
    });
    Load {
        workloads: vec![Workload {
            name: "one".into(),
            clients,
            threads,
            pacing,
            program: OneStatement,
            statements: vec![PgStatement::new(0, "select 1", 0, Protocol::Prepared).expect("a valid statement")],
            protocol: Protocol::Prepared,
            endpoints: vec![Endpoint {
                address: Address::Tcp(vec![server.address()]),
                tls: None,
                connect_timeout: Duration::from_secs(10),
            }],
            throttle: (0..threads as u64).map(dyno_script::Random::new).collect(),
            session: Box::new(move |_, _| PgSession::new(Arc::clone(&config))),
            transactions_per_client: None,
            connecting: Connecting::Once,
            reconnect: false,
            preparing: Preparing::AtStart,
            failures: FailurePolicy::default(),
            latency_limit: None,
            time_commands: false,
            log: None,
        }],
        phases: phases
            .iter()
            .map(|&(name, ms)| Phase {
                name: name.into(),
                duration: Duration::from_millis(ms),
            })
            .collect(),
        interval: Duration::from_millis(100),
        grace: Duration::from_secs(5),
        include_connecting: false,
        record_finishing: false,
    }
}

/// Keeps every interval.
#[derive(Default)]
pub struct Keep {
    pub intervals: Vec<Interval>,
    pub connected: Option<Connected>,
}

impl Observer for Keep {
    fn connected(&mut self, connected: &Connected) {
        self.connected = Some(connected.clone());
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.intervals.push(interval.clone());
        ControlFlow::Continue(())
    }
}
