//! Intervals as bytes: how a load host tells the one that keeps them what its part of a load did.
//!
//! The form is postcard's; histograms are strings of bytes in it, see [`crate::classes`]. Bytes may come from anybody
//! who reaches a port, so what is read is bounded by what the load can be: its phases and workloads, the classes of a
//! histogram, and counts that may be added without end.

use crate::interval::Interval;
use crate::recording::{CommandRecording, FailureCounts, Recording, ScriptRecording, Sums};
use crate::sparse::MOST_STATEMENTS;
use serde::de::{DeserializeOwned, Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use std::fmt;
use std::marker::PhantomData;
use std::time::Duration;

/// No count that comes from another process is as large. So many of them can be added that nobody could send as many.
pub const MOST_COUNTED: u64 = 1 << 48;

/// No interval takes more bytes: one of hundreds of statements and commands takes a hundredth of it.
const MOST_BYTES: usize = 32 << 20;

/// Why bytes are no interval.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum IntervalError {
    /// They are more than an interval can take.
    #[error("an interval of a load does not take {0} bytes")]
    TooLong(usize),
    /// They do not follow the format.
    #[error("these bytes are not an interval of a load: {0}")]
    Unreadable(postcard::Error),
    /// It is of another load.
    #[error("this interval is not of this load, which has {phases} phases and {workloads} workloads")]
    OtherLoad {
        /// The load's phases.
        phases: usize,
        /// The load's workloads.
        workloads: usize,
    },
    /// It says what cannot be.
    #[error("this interval of a load cannot be: {0}")]
    Implausible(&'static str),
    /// Something follows it.
    #[error("{0} bytes follow the interval of a load")]
    Trailing(usize),
}

/// What an interval has beside its recordings.
#[derive(Serialize, Deserialize)]
struct Head {
    phase: usize,
    start: Duration,
    duration: Duration,
    first_thread_whole: bool,
    recordings: usize,
}

impl<H: Serialize + DeserializeOwned, S: Serialize + DeserializeOwned> Interval<H, S> {
    /// The interval as bytes.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let head = Head {
            phase: self.phase,
            start: self.start,
            duration: self.duration,
            first_thread_whole: self.first_thread_whole,
            recordings: self.recordings.len(),
        };
        // Nothing in it can be refused.
        let mut bytes = postcard::to_allocvec(&head).unwrap_or_default();
        for recording in &self.recordings {
            bytes = postcard::to_extend(recording, bytes).unwrap_or_default();
        }
        bytes
    }

    /// The interval that became these bytes, of a load of so many phases and workloads.
    ///
    /// # Errors
    /// They are none, or it cannot be of this load.
    pub fn from_bytes(bytes: &[u8], phases: usize, workloads: usize) -> Result<Self, IntervalError> {
        if bytes.len() > MOST_BYTES {
            return Err(IntervalError::TooLong(bytes.len()));
        }
        let (head, mut rest) = postcard::take_from_bytes::<Head>(bytes).map_err(IntervalError::Unreadable)?;
        if head.phase >= phases || head.recordings != workloads {
            return Err(IntervalError::OtherLoad { phases, workloads });
        }
        let end = head.start.checked_add(head.duration);
        if end.is_none_or(|end| u64::try_from(end.as_nanos()).is_err()) {
            return Err(IntervalError::Implausible("its end is too late"));
        }
        let mut recordings = Vec::new();
        for _ in 0..workloads {
            let recording;
            (recording, rest) = postcard::take_from_bytes(rest).map_err(IntervalError::Unreadable)?;
            check(&recording)?;
            recordings.push(recording);
        }
        if !rest.is_empty() {
            return Err(IntervalError::Trailing(rest.len()));
        }
        Ok(Self {
            phase: head.phase,
            start: head.start,
            duration: head.duration,
            first_thread_whole: head.first_thread_whole,
            recordings,
        })
    }
}

/// Refuses what no thread could have recorded. Histograms are checked as they are read.
fn check<H, S>(recording: &Recording<H, S>) -> Result<(), IntervalError> {
    let Recording {
        transactions,
        statements,
        errors,
        errors_by_code,
        latency: _,
        lag: _,
        statement_latency: _,
        skipped,
        late,
        retried,
        retries,
        failures,
        latency_sums,
        lag_sums,
        scripts,
        commands,
    } = recording;
    let own = [transactions, statements, errors, skipped, late, retried, retries];
    let own = own.into_iter().chain(errors_by_code.iter().map(|error| &error.count));
    let sums = [latency_sums, lag_sums].map(of_sums).into_iter().flatten();
    let scripts = scripts.iter().flat_map(of_script);
    let commands = commands.iter().flatten().flat_map(of_command);
    let mut counts = own
        .copied()
        .chain(of_failures(failures))
        .chain(sums)
        .chain(scripts)
        .chain(commands);
    match counts.any(|count| count >= MOST_COUNTED) {
        true => Err(IntervalError::Implausible("a count is too large")),
        false => Ok(()),
    }
}

fn of_failures(failures: &FailureCounts) -> [u64; 3] {
    [failures.serialization, failures.deadlock, failures.other]
}

fn of_sums(sums: &Sums) -> [u64; 1] {
    [sums.count]
}

fn of_script(script: &ScriptRecording) -> impl Iterator<Item = u64> {
    [script.transactions, script.skipped, script.retried, script.retries]
        .into_iter()
        .chain(of_sums(&script.latency_sums))
        .chain(of_failures(&script.failures))
}

fn of_command(command: &CommandRecording) -> impl Iterator<Item = u64> {
    [command.retries]
        .into_iter()
        .chain(of_sums(&command.latency_sums))
        .chain(of_failures(&command.failures))
}

/// Reads what has a histogram each: statements, no more than a recording has, or scripts, of which nobody mixes more.
pub(crate) fn statements<'de, D: Deserializer<'de>, S: Deserialize<'de>>(deserializer: D) -> Result<Vec<S>, D::Error> {
    struct Statements<S>(PhantomData<S>);

    impl<'de, S: Deserialize<'de>> Visitor<'de> for Statements<S> {
        type Value = Vec<S>;

        fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            write!(f, "at most {} histograms", MOST_STATEMENTS + 1)
        }

        fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Self::Value, A::Error> {
            let mut statements = Vec::new();
            while let Some(statement) = list.next_element()? {
                if statements.len() > MOST_STATEMENTS {
                    return Err(A::Error::invalid_length(statements.len() + 1, &self));
                }
                statements.push(statement);
            }
            Ok(statements)
        }
    }

    deserializer.deserialize_seq(Statements(PhantomData))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::{ErrorClass, ErrorCode};
    use crate::histogram::LatencyHistogram;
    use crate::interval::ListedInterval;
    use crate::sparse::SparseHistogram;
    use proptest::collection::vec;
    use proptest::prelude::*;

    fn durations() -> impl Strategy<Value = Vec<u64>> {
        vec(prop_oneof![0..1_000_000_u64, any::<u64>()], 0..50)
    }

    fn histogram() -> impl Strategy<Value = LatencyHistogram> {
        durations().prop_map(|durations| {
            let mut histogram = LatencyHistogram::new();
            durations
                .into_iter()
                .for_each(|duration_ns| histogram.record(duration_ns));
            histogram
        })
    }

    fn statement() -> impl Strategy<Value = SparseHistogram> {
        durations().prop_map(|durations| {
            let mut histogram = SparseHistogram::default();
            durations
                .into_iter()
                .for_each(|duration_ns| histogram.record(duration_ns));
            histogram
        })
    }

    fn sums() -> impl Strategy<Value = Sums> {
        durations().prop_map(|durations| {
            let mut sums = Sums::default();
            durations.into_iter().for_each(|duration_ns| sums.record(duration_ns));
            sums
        })
    }

    fn failures() -> impl Strategy<Value = FailureCounts> {
        (count(), count(), count()).prop_map(|(serialization, deadlock, other)| FailureCounts {
            serialization,
            deadlock,
            other,
        })
    }

    fn count() -> impl Strategy<Value = u64> {
        prop_oneof![0..1000_u64, 0..MOST_COUNTED]
    }

    fn script() -> impl Strategy<Value = ScriptRecording> {
        (count(), sums(), statement(), count(), count(), count(), failures()).prop_map(
            |(transactions, latency_sums, response, skipped, retried, retries, failures)| ScriptRecording {
                transactions,
                latency_sums,
                response,
                skipped,
                retried,
                retries,
                failures,
            },
        )
    }

    fn command() -> impl Strategy<Value = CommandRecording> {
        (sums(), failures(), count()).prop_map(|(latency_sums, failures, retries)| CommandRecording {
            latency_sums,
            failures,
            retries,
        })
    }

    fn recording() -> impl Strategy<Value = Recording> {
        let counts = (count(), count(), count(), count(), count(), count());
        let histograms = (histogram(), histogram(), vec(statement(), 0..5));
        let errors = vec((".*", ".*"), 0..4);
        let parts = (vec(script(), 0..3), vec(vec(command(), 0..3), 0..3));
        (counts, histograms, errors, (failures(), sums(), sums()), parts).prop_map(
            |(counts, histograms, errors, (failures, latency_sums, lag_sums), (scripts, commands))| {
                let (transactions, statements, skipped, late, retried, retries) = counts;
                let (latency, lag, statement_latency) = histograms;
                let mut recording = Recording {
                    transactions,
                    statements,
                    latency,
                    lag,
                    statement_latency,
                    skipped,
                    late,
                    retried,
                    retries,
                    latency_sums,
                    lag_sums,
                    scripts,
                    commands,
                    ..Recording::default()
                };
                for (code, example) in errors {
                    recording.count_error(ErrorClass::Other, ErrorCode::new(&code), || example);
                }
                recording.failures = failures;
                recording
            },
        )
    }

    fn interval() -> impl Strategy<Value = Interval> {
        let times = (0..1_000_000_u64, 0..1_000_000_u64);
        (0..3_usize, times, any::<bool>(), vec(recording(), 0..3)).prop_map(
            |(phase, (start_ms, lasts_ms), first_thread_whole, recordings)| Interval {
                phase,
                start: Duration::from_millis(start_ms),
                duration: Duration::from_millis(lasts_ms),
                first_thread_whole,
                recordings,
            },
        )
    }

    proptest! {
        #[test]
        fn an_interval_comes_back_as_it_was(interval in interval()) {
            let bytes = interval.to_bytes();
            let workloads = interval.recordings.len();
            let listed = ListedInterval::from_bytes(&bytes, 3, workloads).unwrap();
            prop_assert_eq!(listed.to_bytes(), bytes.clone());
            for (listed, recording) in listed.recordings.iter().zip(&interval.recordings) {
                let mut sum = Recording::default();
                sum.add(listed);
                prop_assert_eq!(&sum, recording);
            }
            prop_assert_eq!(Interval::from_bytes(&bytes, 3, workloads).unwrap(), interval);
        }

        #[test]
        fn bytes_of_anybody_are_read_or_refused(bytes in vec(any::<u8>(), 0..500), workloads in 0..3_usize) {
            let _ = ListedInterval::from_bytes(&bytes, 2, workloads);
        }

        #[test]
        fn a_damaged_interval_is_read_or_refused(interval in interval(), at: prop::sample::Index, byte: u8, cut: bool) {
            let workloads = interval.recordings.len();
            let mut bytes = interval.to_bytes();
            let at = at.index(bytes.len());
            bytes[at] = byte;
            if cut {
                bytes.truncate(at);
                prop_assert!(ListedInterval::from_bytes(&bytes, 3, workloads).is_err());
            } else if let Ok(read) = ListedInterval::from_bytes(&bytes, 3, workloads) {
                // Whatever it says now can be worked with.
                let mut sum = Recording::default();
                (0..2).for_each(|_| read.recordings.iter().for_each(|part| sum.add(part)));
            }
        }
    }

    fn of(recordings: Vec<Recording>) -> Interval {
        Interval {
            phase: 0,
            start: Duration::ZERO,
            duration: Duration::from_secs(1),
            first_thread_whole: true,
            recordings,
        }
    }

    #[test]
    fn what_was_not_recorded_takes_no_room() {
        let mut recording = Recording::new(200);
        let empty = of(vec![recording.clone()]).to_bytes().len();
        assert!(empty < 320, "{empty} bytes");
        for latency_us in 0..10_000 {
            recording.latency.record(latency_us * 1000);
        }
        let classes = recording.latency.inner().iter_recorded().count();
        let full = of(vec![recording]).to_bytes().len();
        assert!(full - empty <= 3 * classes, "{full} bytes for {classes} classes");
    }

    #[test]
    fn what_cannot_be_is_refused() {
        let read = |interval: &Interval| ListedInterval::from_bytes(&interval.to_bytes(), 1, 1).err();
        let sound = of(vec![Recording::default()]);
        assert_eq!(read(&sound), None);
        let other = IntervalError::OtherLoad {
            phases: 1,
            workloads: 1,
        };
        assert_eq!(read(&of(Vec::new())), Some(other.clone()));
        let later = Interval {
            phase: 1,
            ..sound.clone()
        };
        assert_eq!(read(&later), Some(other));
        let endless = Interval {
            start: Duration::MAX,
            ..sound.clone()
        };
        assert_eq!(read(&endless), Some(IntervalError::Implausible("its end is too late")));
        let mut bytes = sound.to_bytes();
        bytes.push(0);
        assert_eq!(
            ListedInterval::from_bytes(&bytes, 1, 1).err(),
            Some(IntervalError::Trailing(1))
        );
        let too_large = Some(IntervalError::Implausible("a count is too large"));
        let many = Recording {
            commands: vec![vec![CommandRecording {
                retries: MOST_COUNTED,
                ..CommandRecording::default()
            }]],
            ..Recording::default()
        };
        assert_eq!(read(&of(vec![many])), too_large);
        let statements = Recording {
            statement_latency: vec![SparseHistogram::default(); MOST_STATEMENTS + 2],
            ..Recording::default()
        };
        assert!(matches!(
            read(&of(vec![statements])),
            Some(IntervalError::Unreadable(_))
        ));
        let most = Recording {
            statement_latency: vec![SparseHistogram::default(); MOST_STATEMENTS + 1],
            ..Recording::default()
        };
        assert_eq!(read(&of(vec![most])), None);
        let long = vec![0; MOST_BYTES + 1];
        assert_eq!(
            ListedInterval::from_bytes(&long, 1, 1).err(),
            Some(IntervalError::TooLong(long.len()))
        );
        let mut counted = Recording::default();
        counted.lag.record_n(1000, MOST_COUNTED);
        assert!(matches!(read(&of(vec![counted])), Some(IntervalError::Unreadable(_))));
    }
}
