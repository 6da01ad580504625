//! What is counted while the load runs.
//!
//! A worker thread owns one [`Recording`] and writes to it without locks. At the end of every interval it hands the
//! whole recording to the collector and goes on with an empty one, so an event belongs to the interval in which it
//! completed, to the nanosecond, whatever the collector is doing.

use crate::error::{ErrorClass, ErrorCode};
use crate::histogram::{Latencies, LatencyHistogram, Sum};
use crate::sparse::{MOST_STATEMENTS, SparseHistogram};
use serde::{Deserialize, Serialize};

/// The most codes of errors that are counted each by itself. No database gives more than a few in a load; a server that
/// invents one after the other is not to fill the memory.
pub const MOST_CODES: usize = 100;

/// What one workload did in one interval: of one thread, or summed over its threads. `H` is the form of the histograms
/// of its transactions, `S` that of its statements'.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Recording<H = LatencyHistogram, S = SparseHistogram> {
    /// Transactions that completed without error.
    pub transactions: u64,
    /// SQL statements that completed without error, those of failed transactions included.
    pub statements: u64,
    /// Transactions that ended with an error.
    pub errors: u64,
    /// Errors by code; the counts add up to [`Recording::errors`]. Those beyond the first [`MOST_CODES`] codes are
    /// together under [`ErrorCode::OTHERS`].
    pub errors_by_code: Vec<ErrorCount>,
    /// Duration of completed transactions. In an open loop it counts from the scheduled instant.
    pub latency: H,
    /// Open loop only: how long after its scheduled instant each completed transaction began.
    pub lag: H,
    /// Duration of each statement of the workload that completed without error, by its index in the workload;
    /// statements in a pipeline have none. Those from [`MOST_STATEMENTS`] on share the last one.
    #[serde(
        bound(deserialize = "S: Deserialize<'de>"),
        deserialize_with = "crate::wire::statements"
    )]
    pub statement_latency: Vec<S>,
    /// Transactions that were not begun because their instant was further back than the latency limit.
    pub skipped: u64,
    /// Completed transactions that took longer than the latency limit.
    pub late: u64,
    /// Transactions, completed or failed, that were begun more than once.
    pub retried: u64,
    /// How often they were begun again.
    pub retries: u64,
    /// [`Recording::errors`] by kind.
    pub failures: FailureCounts,
    /// The exact duration of completed transactions.
    pub latency_sums: Sums,
    /// Open loop only: how long after its scheduled instant each completed transaction began, exactly.
    pub lag_sums: Sums,
    /// The same by script, if the program has several.
    #[serde(deserialize_with = "crate::wire::statements")]
    pub scripts: Vec<ScriptRecording>,
    /// The commands of each script, if they are timed.
    pub commands: Vec<Vec<CommandRecording>>,
}

/// What one script of several did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptRecording {
    /// Transactions that completed without error.
    pub transactions: u64,
    /// Their duration.
    pub latency_sums: Sums,
    /// Their duration without what the script slept: how long they had to wait for the server.
    pub response: SparseHistogram,
    /// Transactions that were not begun.
    pub skipped: u64,
    /// Transactions that were begun more than once.
    pub retried: u64,
    /// How often they were begun again.
    pub retries: u64,
    /// Transactions that ended with an error.
    pub failures: FailureCounts,
}

/// What one command of a script did.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct CommandRecording {
    /// Its duration whenever it completed without error.
    pub latency_sums: Sums,
    /// How often it ended its transaction with an error.
    pub failures: FailureCounts,
    /// How often its transaction was begun again because of it.
    pub retries: u64,
}

/// Failures by kind.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FailureCounts {
    /// Those of [`ErrorClass::Serialization`].
    pub serialization: u64,
    /// Those of [`ErrorClass::Deadlock`].
    pub deadlock: u64,
    /// Any other.
    pub other: u64,
}

impl FailureCounts {
    /// All of them.
    #[must_use]
    pub fn total(&self) -> u64 {
        self.serialization + self.deadlock + self.other
    }

    /// Counts one.
    pub fn count(&mut self, class: ErrorClass) {
        match class {
            ErrorClass::Serialization => self.serialization += 1,
            ErrorClass::Deadlock => self.deadlock += 1,
            _ => self.other += 1,
        }
    }

    /// Adds everything `other` counted.
    pub fn add(&mut self, other: &Self) {
        self.serialization += other.serialization;
        self.deadlock += other.deadlock;
        self.other += other.other;
    }
}

/// Durations summed exactly enough for a mean and a standard deviation, in microseconds. A histogram is precise to
/// three digits; pgbench's figures have six.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Sums {
    /// How many.
    pub count: u64,
    /// Their sum.
    pub sum_us: f64,
    /// The sum of their squares.
    pub sum_squares_us2: f64,
    /// The smallest; 0 if there is none.
    pub min_us: f64,
    /// The largest; 0 if there is none.
    pub max_us: f64,
}

impl Sums {
    /// Adds one duration.
    #[inline]
    pub fn record(&mut self, duration_ns: u64) {
        let us = duration_ns as f64 / 1e3;
        if self.count == 0 || us < self.min_us {
            self.min_us = us;
        }
        self.max_us = self.max_us.max(us);
        self.count += 1;
        self.sum_us += us;
        self.sum_squares_us2 += us * us;
    }

    /// Adds everything `other` summed up.
    pub fn add(&mut self, other: &Self) {
        if other.count == 0 {
            return;
        }
        if self.count == 0 || other.min_us < self.min_us {
            self.min_us = other.min_us;
        }
        self.max_us = self.max_us.max(other.max_us);
        self.count += other.count;
        self.sum_us += other.sum_us;
        self.sum_squares_us2 += other.sum_squares_us2;
    }

    /// The mean; 0 if there is none.
    #[must_use]
    pub fn mean_us(&self) -> f64 {
        if self.count == 0 {
            0.0
        } else {
            self.sum_us / self.count as f64
        }
    }

    /// The standard deviation of all of them; 0 if there is none.
    #[must_use]
    pub fn stddev_us(&self) -> f64 {
        let mean_us = self.mean_us();
        let variance = self.sum_squares_us2 / self.count.max(1) as f64 - mean_us * mean_us;
        variance.max(0.0).sqrt()
    }
}

impl ScriptRecording {
    /// Empty ones for so many scripts, with memory as that of statements.
    #[must_use]
    pub fn of_scripts(scripts: usize) -> Vec<Self> {
        let histograms = SparseHistogram::of_statements(scripts);
        let each = histograms.into_iter().map(|response| Self {
            response,
            ..Self::default()
        });
        let mut all: Vec<_> = each.collect();
        all.resize_with(scripts, Self::default);
        all
    }

    /// Makes it empty again, keeping its memory.
    fn clear(&mut self) {
        let mut response = std::mem::take(&mut self.response);
        response.clear();
        *self = Self {
            response,
            ..Self::default()
        };
    }

    /// Adds everything `other` counted.
    pub fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.latency_sums.add(&other.latency_sums);
        self.response.add(&other.response);
        self.skipped += other.skipped;
        self.retried += other.retried;
        self.retries += other.retries;
        self.failures.add(&other.failures);
    }
}

impl CommandRecording {
    /// Adds everything `other` counted.
    pub fn add(&mut self, other: &Self) {
        self.latency_sums.add(&other.latency_sums);
        self.failures.add(&other.failures);
        self.retries += other.retries;
    }
}

/// How often errors of one code ended a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorCount {
    /// The server's code, or one of [`ErrorCode`]'s own where there was no server to give one.
    pub code: ErrorCode,
    /// Number of transactions.
    pub count: u64,
    /// The message of the first such error.
    pub example: String,
}

/// Counts errors of a code among `errors`, of which there are never more than a few ([`MOST_CODES`]). `describe` is
/// asked for the message only the first time.
pub fn count_code(errors: &mut Vec<ErrorCount>, code: ErrorCode, count: u64, describe: impl FnOnce() -> String) {
    let is_known = errors.iter().any(|known| known.code == code);
    let code = match !is_known && errors.len() >= MOST_CODES {
        true => ErrorCode::OTHERS,
        false => code,
    };
    match errors.iter_mut().find(|known| known.code == code) {
        Some(known) => known.count += count,
        None => errors.push(ErrorCount {
            code,
            count,
            example: describe(),
        }),
    }
}

impl Default for Recording {
    fn default() -> Self {
        Self::empty()
    }
}

impl<H: Default, S> Recording<H, S> {
    fn empty() -> Self {
        Self {
            transactions: 0,
            statements: 0,
            errors: 0,
            errors_by_code: Vec::new(),
            latency: H::default(),
            lag: H::default(),
            statement_latency: Vec::new(),
            skipped: 0,
            late: 0,
            retried: 0,
            retries: 0,
            failures: FailureCounts::default(),
            latency_sums: Sums::default(),
            lag_sums: Sums::default(),
            scripts: Vec::new(),
            commands: Vec::new(),
        }
    }
}

impl Recording {
    /// An empty recording for a workload of `statements` statements.
    #[must_use]
    pub fn new(statements: usize) -> Self {
        Self {
            statement_latency: SparseHistogram::of_statements(statements),
            ..Self::default()
        }
    }

    /// Counts a transaction that ended with an error. `describe` is asked for the message only the first time.
    pub fn count_error(&mut self, class: ErrorClass, code: ErrorCode, describe: impl FnOnce() -> String) {
        self.errors += 1;
        self.failures.count(class);
        count_code(&mut self.errors_by_code, code, 1, describe);
    }

    /// Counts the duration of a statement, at its place in [`Recording::statement_latency`]. A place that is not there
    /// yet comes into being.
    #[inline]
    pub fn record_statement(&mut self, place: usize, duration_ns: u64) {
        let place = place.min(MOST_STATEMENTS);
        if place >= self.statement_latency.len() {
            self.make_room(place);
        }
        if let Some(latency) = self.statement_latency.get_mut(place) {
            latency.record(duration_ns);
        }
    }

    #[cold]
    fn make_room(&mut self, place: usize) {
        self.statement_latency.resize_with(place + 1, SparseHistogram::default);
    }

    /// Makes the recording empty again, keeping its memory.
    pub fn clear(&mut self) {
        self.transactions = 0;
        self.statements = 0;
        self.errors = 0;
        self.errors_by_code.clear();
        self.latency.clear();
        self.lag.clear();
        self.statement_latency.iter_mut().for_each(SparseHistogram::clear);
        self.skipped = 0;
        self.late = 0;
        self.retried = 0;
        self.retries = 0;
        self.failures = FailureCounts::default();
        self.latency_sums = Sums::default();
        self.lag_sums = Sums::default();
        self.scripts.iter_mut().for_each(ScriptRecording::clear);
        for commands in &mut self.commands {
            commands.fill(CommandRecording::default());
        }
    }
}

impl<H: Sum, S: Sum> Recording<H, S> {
    /// Adds everything `other` counted.
    pub fn add<G: Latencies, T: Latencies>(&mut self, other: &Recording<G, T>) {
        self.transactions += other.transactions;
        self.statements += other.statements;
        self.errors += other.errors;
        for error in &other.errors_by_code {
            count_code(&mut self.errors_by_code, error.code, error.count, || {
                error.example.clone()
            });
        }
        self.latency.add_all(&other.latency);
        self.lag.add_all(&other.lag);
        self.statement_latency.resize_with(
            self.statement_latency.len().max(other.statement_latency.len()),
            S::default,
        );
        for (sum, part) in self.statement_latency.iter_mut().zip(&other.statement_latency) {
            sum.add_all(part);
        }
        self.skipped += other.skipped;
        self.late += other.late;
        self.retried += other.retried;
        self.retries += other.retries;
        self.failures.add(&other.failures);
        self.latency_sums.add(&other.latency_sums);
        self.lag_sums.add(&other.lag_sums);
        grow(&mut self.scripts, other.scripts.len());
        for (sum, part) in self.scripts.iter_mut().zip(&other.scripts) {
            sum.add(part);
        }
        grow(&mut self.commands, other.commands.len());
        for (sums, parts) in self.commands.iter_mut().zip(&other.commands) {
            grow(sums, parts.len());
            for (sum, part) in sums.iter_mut().zip(parts) {
                sum.add(part);
            }
        }
    }
}

impl<S> Recording<SparseHistogram, S> {
    /// An empty recording with memory only for what occurs.
    #[must_use]
    pub fn sparse() -> Self {
        Self::empty()
    }

    /// The same with room for every latency of transactions.
    #[must_use]
    pub fn dense(self) -> Recording<LatencyHistogram, S> {
        Recording {
            transactions: self.transactions,
            statements: self.statements,
            errors: self.errors,
            errors_by_code: self.errors_by_code,
            latency: self.latency.dense(),
            lag: self.lag.dense(),
            statement_latency: self.statement_latency,
            skipped: self.skipped,
            late: self.late,
            retried: self.retried,
            retries: self.retries,
            failures: self.failures,
            latency_sums: self.latency_sums,
            lag_sums: self.lag_sums,
            scripts: self.scripts,
            commands: self.commands,
        }
    }
}

/// Makes `list` at least `length` long.
fn grow<T: Clone + Default>(list: &mut Vec<T>, length: usize) {
    list.resize(list.len().max(length), T::default());
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_without_end_take_no_memory_without_end() {
        let mut recording = Recording::default();
        for code in 0..300_u16 {
            recording.count_error(ErrorClass::Other, ErrorCode::from(code), || code.to_string());
        }
        let mut sum = Recording::default();
        sum.count_error(ErrorClass::Other, ErrorCode::new("first"), String::new);
        sum.add(&recording);
        for (recording, others, total) in [(recording, 200, 300), (sum, 201, 301)] {
            let codes = &recording.errors_by_code;
            assert_eq!(codes.len(), MOST_CODES + 1);
            assert_eq!(
                (codes[MOST_CODES].code, codes[MOST_CODES].count),
                (ErrorCode::OTHERS, others)
            );
            assert_eq!(codes.iter().map(|error| error.count).sum::<u64>(), total);
        }
    }
}
