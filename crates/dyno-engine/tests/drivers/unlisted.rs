//! Statements that clients come upon while they run, prepared or sent as texts.

use crate::case::{Case, blocking, wire};
use dyno_engine::{
    Action, Connecting, Ending, FailurePolicy, MOST_OWN, Misuse, OnError, Program, ProgramError, Resume, Scripted,
};
use dyno_wire::{Parameters, PgStatement, Protocol};

/// Lists one statement, and has each client do this once and then go on with the rest in each transaction.
struct Unlisted {
    once: Vec<Action>,
    then: Vec<Action>,
}

/// What a client has done.
#[derive(Default)]
struct Place {
    once: usize,
    then: usize,
}

struct FortyOne(usize);

impl Parameters for FortyOne {
    fn len(&self) -> usize {
        self.0
    }

    fn write(&self, _index: usize, out: &mut Vec<u8>) -> bool {
        out.extend_from_slice(b"41");
        true
    }
}

impl Program for Unlisted {
    type State = Place;

    fn statements(&self) -> Vec<String> {
        vec!["select 1".to_owned()]
    }

    fn state(&self, _client: usize) -> Place {
        Place::default()
    }

    fn next(&self, place: &mut Place, resume: Resume<'_>) -> Result<Action, ProgramError> {
        match resume {
            Resume::Begin | Resume::Again => place.then = 0,
            Resume::Failed(_) | Resume::Enter | Resume::Leave | Resume::Replied { .. } => return Ok(Action::Fail),
            Resume::Results(results) => assert_eq!(results[0].last_row(), [Some("42".to_owned())]),
            Resume::Done => {}
        }
        let (list, at) = match place.once < self.once.len() {
            true => (&self.once, &mut place.once),
            false => (&self.then, &mut place.then),
        };
        *at += 1;
        Ok(list.get(*at - 1).cloned().unwrap_or(Action::End))
    }

    fn parameters<'a>(&'a self, _place: &'a Place, statement: usize) -> impl Parameters + 'a {
        FortyOne(usize::from(matches!(statement, 1 | 3)))
    }

    fn write_text(&self, _place: &Place, statement: usize, out: &mut Vec<u8>) {
        out.extend_from_slice(match statement {
            0 => b"select 1",
            1 => b"select $1::int4 + 1",
            3 => b"select 1 / ($1::int4 - 41)",
            4 => b"select nonsense",
            _ => b"select 'a text'",
        });
    }
}

impl Scripted for Unlisted {
    type Thread = ();

    fn thread(&self, _thread: usize) {}
}

fn each(case: &Case, once: &[Action], then: &[Action], check: impl Fn(&str, crate::case::Came)) {
    let program = || Unlisted {
        once: once.to_vec(),
        then: then.to_vec(),
    };
    let statement = PgStatement::new(0, "select 1", 0, Protocol::Prepared).unwrap();
    let wire = case.load(program(), wire(vec![statement], program().statements()), None);
    check("wire", case.run(&wire));
    let blocking = case.load(program(), blocking(&program()), None);
    check("blocking", case.run(&blocking));
}

const PREPARE: Action = Action::Prepare {
    statement: 1,
    parameters: 1,
};
/// Its execution divides by zero.
const DIVIDE: Action = Action::Prepare {
    statement: 3,
    parameters: 1,
};
const EXECUTE: Action = Action::Execute {
    statement: 1,
    results: true,
};
const SEND: Action = Action::Query {
    statement: 2,
    results: false,
};

#[test]
fn they_are_executed_and_counted_by_text() {
    for connecting in [Connecting::Once, Connecting::EveryTransaction] {
        let case = Case {
            connecting,
            ..Case::of("", 3, 4)
        };
        each(
            &case,
            &[PREPARE],
            &[EXECUTE, SEND, Action::execute(0), EXECUTE],
            |driver, came| {
                assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
                assert_eq!(
                    (came.recording.transactions, came.recording.errors),
                    (12, 0),
                    "{driver}"
                );
                let latencies = came.recording.statement_latency.iter();
                let counts: Vec<_> = latencies.map(|latency| latency.count()).collect();
                assert_eq!(counts, [12, 24, 12], "{driver}");
                let text = |text: &str| Some(text.to_owned());
                let told = [(1, text("select $1::int4 + 1")), (2, text("select 'a text'"))];
                assert_eq!(came.unlisted, told, "{driver}");
            },
        );
    }
}

#[test]
fn one_that_the_server_refuses_is_an_error_of_its_transaction() {
    let refused = Action::Prepare {
        statement: 4,
        parameters: 0,
    };
    let once = [PREPARE, SEND, DIVIDE, Action::execute(0), Action::End, refused];
    each(&Case::of("", 2, 3), &once, &[EXECUTE], |driver, came| {
        assert!(came.outcome.ended_early.is_none(), "{driver}: {:?}", came.outcome);
        assert_eq!((came.recording.transactions, came.recording.errors), (4, 2), "{driver}");
        assert_eq!(came.recording.errors_by_code[0].code.as_str(), "42703", "{driver}");
    });
}

#[test]
fn a_program_that_misuses_them_is_told_so() {
    let execute = Action::execute;
    let cases: [(&[Action], Misuse); 5] = [
        (&[execute(1)], Misuse::Unprepared(1)),
        (&[PREPARE, SEND, execute(2)], Misuse::Unprepared(2)),
        (&[SEND], Misuse::Number { given: 2, next: 1 }),
        (&[PREPARE, PREPARE], Misuse::Number { given: 1, next: 2 }),
        (&[Action::StartPipeline(0..0), PREPARE], Misuse::InPipeline(1)),
    ];
    for (once, expected) in cases {
        each(&Case::of("", 1, 1), once, &[], |driver, came| {
            match came.outcome.ended_early {
                Some(Ending::Program(error)) => assert_eq!(error.of::<Misuse>(), Some(&expected), "{driver}"),
                other => panic!("{driver}, {expected:?}: {other:?}"),
            }
        });
    }
}

#[test]
fn one_that_was_prepared_is_not_executed_with_its_text() {
    let case = Case {
        failures: FailurePolicy {
            on_error: OnError::AbortClient,
            ..FailurePolicy::default()
        },
        ..Case::of("", 1, 1)
    };
    let once = [PREPARE, SEND, DIVIDE, Action::execute(3)];
    each(&case, &once, &[], |driver, came| {
        assert!(
            matches!(&came.events[..], [only] if only.contains("22012") && only.contains(" query: None")),
            "{driver}: {:?}",
            came.events
        );
    });
}

#[test]
fn a_client_can_have_only_so_many() {
    let named = |statement| Action::Query {
        statement,
        results: false,
    };
    let mut once = vec![PREPARE, SEND, DIVIDE, Action::execute(0), Action::End];
    // The first of these is refused, and counts all the same.
    once.extend((4..=MOST_OWN + 1).map(named));
    each(&Case::of("", 1, 3), &once, &[], |driver, came| {
        match came.outcome.ended_early {
            Some(Ending::Program(error)) => {
                assert_eq!(error.of::<Misuse>(), Some(&Misuse::TooMany(MOST_OWN + 1)), "{driver}");
            }
            other => panic!("{driver}: {other:?}"),
        }
    });
}
