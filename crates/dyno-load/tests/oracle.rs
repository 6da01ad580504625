//! A load through Oracle's protocol, on a stand-in that answers at once: what scripts say of transactions is what the
//! server is asked for, whatever moves the bytes.

#![allow(clippy::unwrap_used, reason = "a test's helpers fail as tests do")]

use dyno_engine::{ClientEvent, Connected, Load, Observer, Phase, Preparing, Stop, Workload};
use dyno_load::{Access, Ready, ScriptText, Scripts, Server, no_log};
use dyno_oracle_standin::{Counts, Instant, Options, Standin};
use dyno_record::{Interval, Recording};
use dyno_target::oracle::address::ConnectionInfo;
use dyno_wire::Protocol;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

const TRANSACTIONS: u64 = 50;

#[derive(Default)]
struct Sum(Recording);

impl Observer for Sum {
    fn connected(&mut self, _: &Connected) {}

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        interval.recordings.iter().for_each(|part| self.0.add(part));
        ControlFlow::Continue(())
    }

    fn client_event(&mut self, _: &ClientEvent) {}
}

/// What a script of so many clients has the server do.
fn drive(script: &str, clients: usize, protocol: Protocol, preparing: Preparing) -> Counts {
    let standin = Standin::start(Options::new(Arc::new(Instant::new()))).unwrap();
    let address = format!("oracle://bench:secret@{}/shop", standin.address());
    let info = ConnectionInfo::resolve(&address, &|_| None).unwrap();
    let scripts = Scripts {
        scripts: vec![ScriptText {
            name: "test".to_owned(),
            text: script.as_bytes().to_vec(),
            weight: 1,
        }],
        lexis: dyno_script::Lexis::default(),
        variables: Vec::new(),
        seed: 1,
        protocol,
    };
    let access = Access {
        server: Server::Oracle(Box::new(info)),
        preparing,
    };
    let workload = Workload {
        transactions_per_client: Some(TRANSACTIONS),
        ..Workload::new("w", clients, access, scripts.into())
    };
    let plan = Load {
        interval: Duration::from_millis(100),
        record_finishing: true,
        ..Load::new(vec![workload], vec![Phase::new("run", Duration::MAX)])
    };
    let mut sum = Sum::default();
    let outcome = Ready::of(plan, &no_log).unwrap().drive(&mut sum, &Stop::new());
    assert!(outcome.unwrap().ended_early.is_none());
    assert_eq!(sum.0.transactions, TRANSACTIONS * clients as u64);
    assert_eq!(standin.complaints(), [""; 0]);
    standin.counts()
}

#[test]
fn begin_costs_nothing_and_end_is_a_commit() {
    let script = "begin;\nupdate t set a = 1;\nselect 1 from dual;\nupdate t set a = 2;\nend;";
    for clients in [1, 3] {
        let all = TRANSACTIONS * clients as u64;
        for (protocol, parses) in [(Protocol::Prepared, 3 * clients as u64), (Protocol::Extended, 3 * all)] {
            let counts = drive(script, clients, protocol, Preparing::OnFirstUse);
            assert_eq!(
                (counts.parses, counts.executions),
                (parses, 3 * all),
                "{clients} {protocol}"
            );
            assert_eq!((counts.commits, counts.commits_with_execution), (all, 0));
            assert_eq!((counts.pings, counts.rollbacks), (0, 0));
        }
    }
}

#[test]
fn without_begin_each_change_is_committed_with_its_execution() {
    for preparing in [Preparing::AtStart, Preparing::OnFirstUse] {
        let counts = drive(
            "select 1 from dual;\ninsert into t values (1);",
            2,
            Protocol::Prepared,
            preparing,
        );
        let all = 2 * TRANSACTIONS;
        assert_eq!((counts.parses, counts.executions), (4, 2 * all));
        assert_eq!((counts.commits, counts.commits_with_execution), (all, all));
    }
}

#[test]
fn a_pipeline_is_executed_step_by_step() {
    let script = "\\startpipeline\nbegin;\nupdate t set a = 1;\nupdate t set a = 2;\nend;\n\\endpipeline";
    let counts = drive(script, 2, Protocol::Prepared, Preparing::OnFirstUse);
    let all = 2 * TRANSACTIONS;
    assert_eq!(
        (counts.executions, counts.commits, counts.commits_with_execution),
        (2 * all, all, 0)
    );
}
