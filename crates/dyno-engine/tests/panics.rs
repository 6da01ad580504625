//! What becomes of a load when one of its threads panics: nobody waits for it, and the caller is told.

mod support;

use dyno_engine::{
    Action, Driver, Ending, Load, Outcome, Pacing, Program, ProgramError, Resume, Scripted, Stop, TransportChoice,
    WireDriver, Workload, drive,
};
use dyno_wire::PgSession;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;
use support::scripted_server::{Behaviour, ScriptedServer};
use support::{Keep, OneStatement, load};

/// Executes one statement a transaction, but not for the client of this number: its thread panics after some.
struct PanicsFor(usize);

impl Program for PanicsFor {
    type State = (usize, u64);

    fn statements(&self) -> Vec<String> {
        OneStatement.statements()
    }

    fn state(&self, client: usize) -> (usize, u64) {
        (client, 0)
    }

    fn next(&self, (client, begun): &mut (usize, u64), resume: Resume<'_>) -> Result<Action, ProgramError> {
        *begun += u64::from(matches!(resume, Resume::Begin));
        assert!(*client != self.0 || *begun < 50, "a panic of the test");
        OneStatement.next(&mut (), resume)
    }
}

impl Scripted for PanicsFor {
    type Thread = ();

    fn thread(&self, _thread: usize) {}
}

/// Drives it, which is not to take much longer than the panic.
fn driven<D: Driver + 'static, P: Scripted + 'static>(load: Load<D, P>) -> (Outcome, Keep) {
    let (sender, driven) = mpsc::channel();
    std::thread::spawn(move || {
        let mut keep = Keep::default();
        let outcome = drive(&load, &mut keep, &Stop::new()).expect("no error but the panic");
        let _ = sender.send((outcome, keep));
    });
    driven.recv_timeout(Duration::from_secs(20)).expect("it ends")
}

/// An hour with a client on each of so many threads.
fn hour(threads: usize) -> Load<WireDriver<PgSession>, OneStatement> {
    let server = ScriptedServer::start(|_, _, _| Behaviour::Answer(Duration::from_millis(1)));
    let phases = [("measure", 3_600_000)];
    load(
        TransportChoice::Auto,
        &server,
        threads,
        threads,
        Pacing::Closed,
        &phases,
    )
}

#[test]
fn before_it_is_ready() {
    for threads in [1, 2, 3] {
        let mut load = hour(threads);
        let made = AtomicBool::new(false);
        let session = &mut load.workloads[0].driver.session;
        // The other clients' sessions can log in, or a thread could fail before it is known that this one panicked.
        let others = std::mem::replace(session, Box::new(|_, _| PgSession::new(Arc::default())));
        *session = Box::new(move |endpoint, tls| {
            assert!(made.swap(true, Ordering::Relaxed), "a panic of the test");
            others(endpoint, tls)
        });
        let (outcome, _) = driven(load);
        assert!(matches!(outcome.ended_early, Some(Ending::Panicked)), "{outcome:?}");
    }
}

#[test]
fn while_the_load_runs() {
    for threads in [1, 2, 3] {
        let plain = hour(threads);
        let workloads = plain.workloads.into_iter().map(|workload| Workload {
            threads,
            ..Workload::new("one", threads, workload.driver, PanicsFor(0))
        });
        let (outcome, keep) = driven(Load::new(workloads.collect(), plain.phases));
        assert!(matches!(outcome.ended_early, Some(Ending::Panicked)), "{outcome:?}");
        assert_eq!(
            keep.total(0).transactions > 0,
            threads > 1,
            "what the others recorded is told"
        );
    }
}
