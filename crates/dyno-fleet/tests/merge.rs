//! What several hosts record of a load is, merged, exactly what one process would have recorded of it: every field of
//! every recording, whatever the order in which intervals come.

use dyno_fleet::Merge;
use dyno_record::{
    CommandRecording, ErrorClass, ErrorCode, FailureCounts, Interval, Latencies, Recording, ScriptRecording, Sums,
};
use proptest::prelude::*;
use std::collections::BTreeMap;
use std::time::Duration;

const WORKLOADS: usize = 2;
/// The first two are of one phase, the others of another.
const INTERVALS: usize = 3;
const STATEMENTS: usize = 3;
/// Commands of each script.
const COMMANDS: [usize; 2] = [2, 3];
const PERCENTS: [f64; 7] = [1.0, 25.0, 50.0, 90.0, 95.0, 99.9, 100.0];

/// What became of a transaction.
#[derive(Clone, Debug)]
enum Outcome {
    Completed {
        latency_ns: u64,
        lag_ns: Option<u64>,
        late: bool,
    },
    Failed {
        class: ErrorClass,
        code: u16,
    },
    Skipped,
}

/// A transaction, and what its statements and commands took.
#[derive(Clone, Debug)]
struct Transaction {
    outcome: Outcome,
    script: usize,
    tries: u64,
    statements_ns: Vec<(usize, u64)>,
    commands_ns: Vec<(usize, u64)>,
}

/// A transaction with the host, the interval and the workload in which it was recorded.
type Placed = (prop::sample::Index, usize, usize, Transaction);

fn duration_ns() -> impl Strategy<Value = u64> {
    prop_oneof![
        1 => 0..200_u64,
        8 => 1_000..50_000_000_u64,
        2 => 0..7_200_000_000_000_u64,
        1 => any::<u64>(),
    ]
}

fn transaction() -> impl Strategy<Value = Transaction> {
    let class = prop::sample::select(vec![
        ErrorClass::Serialization,
        ErrorClass::Deadlock,
        ErrorClass::LockTimeout,
        ErrorClass::Lost,
        ErrorClass::Other,
    ]);
    let outcome = prop_oneof![
        6 => (duration_ns(), prop::option::of(duration_ns()), any::<bool>())
            .prop_map(|(latency_ns, lag_ns, late)| Outcome::Completed { latency_ns, lag_ns, late }),
        2 => (class, 0..6_u16).prop_map(|(class, code)| Outcome::Failed { class, code }),
        1 => Just(Outcome::Skipped),
    ];
    let statements = prop::collection::vec((0..STATEMENTS + 1, duration_ns()), 0..4);
    let commands = prop::collection::vec((any::<usize>(), duration_ns()), 0..3);
    (outcome, 0..COMMANDS.len(), 1..4_u64, statements, commands).prop_map(
        |(outcome, script, tries, statements_ns, commands_ns)| Transaction {
            outcome,
            script,
            tries,
            statements_ns,
            commands_ns,
        },
    )
}

fn placed() -> impl Strategy<Value = Vec<Placed>> {
    let one = (any::<prop::sample::Index>(), 0..INTERVALS, 0..WORKLOADS, transaction());
    prop::collection::vec(one, 0..120)
}

fn empty() -> Recording {
    let mut recording = Recording::new(STATEMENTS);
    recording.scripts = vec![ScriptRecording::default(); COMMANDS.len()];
    recording.commands = COMMANDS
        .map(|commands| vec![CommandRecording::default(); commands])
        .to_vec();
    recording
}

/// Counts a transaction, as a thread of a load does.
fn record(recording: &mut Recording, transaction: &Transaction) {
    for (place, duration_ns) in &transaction.statements_ns {
        recording.statements += 1;
        recording.record_statement(*place, *duration_ns);
    }
    let commands = COMMANDS[transaction.script];
    for (command, duration_ns) in &transaction.commands_ns {
        let command = &mut recording.commands[transaction.script][command % commands];
        command.latency_sums.record(*duration_ns);
        command.retries += transaction.tries - 1;
    }
    let script = transaction.script;
    match &transaction.outcome {
        Outcome::Completed {
            latency_ns,
            lag_ns,
            late,
        } => {
            recording.transactions += 1;
            recording.latency.record(*latency_ns);
            recording.latency_sums.record(*latency_ns);
            if let Some(lag_ns) = lag_ns {
                recording.lag.record(*lag_ns);
                recording.lag_sums.record(*lag_ns);
            }
            recording.late += u64::from(*late);
            recording.scripts[script].transactions += 1;
            recording.scripts[script].latency_sums.record(*latency_ns);
        }
        Outcome::Failed { class, code } => {
            recording.count_error(*class, ErrorCode::from(*code), || format!("error {code}"));
            recording.scripts[script].failures.count(*class);
            recording.commands[script][0].failures.count(*class);
        }
        Outcome::Skipped => {
            recording.skipped += 1;
            recording.scripts[script].skipped += 1;
            return;
        }
    }
    if transaction.tries > 1 {
        recording.retried += 1;
        recording.retries += transaction.tries - 1;
        recording.scripts[script].retried += 1;
        recording.scripts[script].retries += transaction.tries - 1;
    }
}

/// The interval of this place in which those transactions were recorded that `is_ours` takes.
fn interval(place: usize, placed: &[Placed], is_ours: impl Fn(&prop::sample::Index) -> bool) -> Interval {
    let mut recordings = vec![empty(); WORKLOADS];
    for (host, at, workload, transaction) in placed {
        if *at == place && is_ours(host) {
            record(&mut recordings[*workload], transaction);
        }
    }
    Interval {
        phase: usize::from(place >= 2),
        start: Duration::from_millis(10 * place as u64),
        duration: Duration::from_millis(10),
        first_thread_whole: true,
        recordings,
    }
}

/// Everything of a sum that does not depend on the order of its parts, exactly; the rest but for rounding.
fn same_sums(merged: &Sums, one: &Sums) -> Result<(), TestCaseError> {
    let exact = |sums: &Sums| (sums.count, sums.min_us.to_bits(), sums.max_us.to_bits());
    prop_assert_eq!(exact(merged), exact(one));
    let close = |merged: f64, one: f64| (merged - one).abs() <= one.abs() * 1e-12;
    prop_assert!(close(merged.sum_us, one.sum_us), "{merged:?} {one:?}");
    prop_assert!(close(merged.sum_squares_us2, one.sum_squares_us2), "{merged:?} {one:?}");
    Ok(())
}

/// The same counts in each class, and the same figures.
fn same_histogram<H: Latencies + PartialEq + std::fmt::Debug>(merged: &H, one: &H) -> Result<(), TestCaseError> {
    prop_assert_eq!(merged.figures(PERCENTS), one.figures(PERCENTS));
    prop_assert_eq!(merged, one);
    Ok(())
}

/// Compares all fields: one that is added has to be named here.
fn same(merged: &Recording, one: &Recording) -> Result<(), TestCaseError> {
    let Recording {
        transactions,
        statements,
        errors,
        errors_by_code,
        latency,
        lag,
        statement_latency,
        skipped,
        late,
        retried,
        retries,
        failures,
        latency_sums,
        lag_sums,
        scripts,
        commands,
    } = merged;
    let counts = [transactions, statements, errors, skipped, late, retried, retries].map(|count| *count);
    let expected = [
        one.transactions,
        one.statements,
        one.errors,
        one.skipped,
        one.late,
        one.retried,
        one.retries,
    ];
    prop_assert_eq!(counts, expected);
    prop_assert_eq!(failures, &one.failures);
    // Which code was met first depends on whom one asks.
    let by_code = |recording: &Recording| -> BTreeMap<_, _> {
        let errors = recording.errors_by_code.iter();
        errors
            .map(|error| (error.code, (error.count, error.example.clone())))
            .collect()
    };
    prop_assert_eq!(errors_by_code.len(), one.errors_by_code.len());
    prop_assert_eq!(by_code(merged), by_code(one));
    same_histogram(latency, &one.latency)?;
    same_histogram(lag, &one.lag)?;
    prop_assert_eq!(statement_latency.len(), one.statement_latency.len());
    for (merged, one) in statement_latency.iter().zip(&one.statement_latency) {
        same_histogram(merged, one)?;
    }
    same_sums(latency_sums, &one.latency_sums)?;
    same_sums(lag_sums, &one.lag_sums)?;
    prop_assert_eq!(scripts.len(), one.scripts.len());
    for (merged, one) in scripts.iter().zip(&one.scripts) {
        let ScriptRecording {
            transactions,
            latency_sums,
            response,
            skipped,
            retried,
            retries,
            failures,
        } = merged;
        same_histogram(response, &one.response)?;
        let counts = (*transactions, *skipped, *retried, *retries, *failures);
        let expected: (_, _, _, _, FailureCounts) =
            (one.transactions, one.skipped, one.retried, one.retries, one.failures);
        prop_assert_eq!(counts, expected);
        same_sums(latency_sums, &one.latency_sums)?;
    }
    prop_assert_eq!(commands.iter().map(Vec::len).collect::<Vec<_>>(), COMMANDS.to_vec());
    for (merged, one) in commands.iter().flatten().zip(one.commands.iter().flatten()) {
        let CommandRecording {
            latency_sums,
            failures,
            retries,
        } = merged;
        prop_assert_eq!((failures, retries), (&one.failures, &one.retries));
        same_sums(latency_sums, &one.latency_sums)?;
    }
    Ok(())
}

proptest! {
    #[test]
    fn the_sum_is_what_one_process_would_have_recorded(
        hosts in 1..6_usize,
        placed in placed(),
        order in prop::collection::vec(any::<prop::sample::Index>(), 15),
    ) {
        let mut merge = Merge::new(WORKLOADS, hosts);
        let (mut next, mut told) = (vec![0; hosts], Vec::new());
        let mut order = order.into_iter();
        while next.iter().any(|next| *next < INTERVALS) {
            let open: Vec<_> = (0..hosts).filter(|host| next[*host] < INTERVALS).collect();
            let host = order.next().map_or(open[0], |index| open[index.index(open.len())]);
            // On the way the interval is bytes.
            let bytes = interval(next[host], &placed, |index| index.index(hosts) == host).to_bytes();
            prop_assert!(merge.add(host, &Interval::from_bytes(&bytes, 2, WORKLOADS).unwrap()));
            next[host] += 1;
            if next[host] == INTERVALS {
                merge.leave(host);
            }
            told.extend(std::iter::from_fn(|| merge.pop()));
        }
        prop_assert_eq!((told.len(), merge.waiting()), (INTERVALS, 0));
        for (place, merged) in told.iter().enumerate() {
            let one = interval(place, &placed, |_| true);
            prop_assert_eq!(
                (merged.phase, merged.start, merged.duration, merged.first_thread_whole),
                (one.phase, one.start, one.duration, true)
            );
            for (merged, one) in merged.recordings.iter().zip(&one.recordings) {
                same(merged, one)?;
            }
        }
        // And so is the sum of all intervals.
        let all = |intervals: &mut dyn Iterator<Item = Interval>| {
            let mut sum = empty();
            intervals.for_each(|interval| interval.recordings.iter().for_each(|part| sum.add(part)));
            sum
        };
        let one = all(&mut (0..INTERVALS).map(|place| interval(place, &placed, |_| true)));
        same(&all(&mut told.into_iter()), &one)?;
    }
}
