//! What is counted while the load runs.
//!
//! A worker thread owns one [`Recording`] and writes to it without locks. At the end of every interval it hands the whole recording to the collector and
//! goes on with an empty one, so an event belongs to the interval in which it completed, to the nanosecond, whatever the collector is doing.

use crate::histogram::LatencyHistogram;
use dyno_wire::SqlState;

/// What one workload did in one interval: of one thread, or summed over its threads.
#[derive(Clone, Debug, Default)]
pub struct Recording {
    /// Transactions that completed without error.
    pub transactions: u64,
    /// SQL statements that completed without error, those of failed transactions included.
    pub statements: u64,
    /// Transactions that ended with an error.
    pub errors: u64,
    /// Errors by SQLSTATE; the counts add up to [`Recording::errors`].
    pub errors_by_state: Vec<ErrorCount>,
    /// Duration of completed transactions. In an open loop it counts from the scheduled instant.
    pub latency: LatencyHistogram,
    /// Open loop only: how long after its scheduled instant each completed transaction began.
    pub lag: LatencyHistogram,
    /// Duration of each statement of the workload that completed without error, by its index in the script.
    pub statement_latency: Vec<LatencyHistogram>,
}

/// How often one SQLSTATE ended a transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ErrorCount {
    /// The server's code, or one of dyno's own of class 08 when the connection was lost.
    pub state: SqlState,
    /// Number of transactions.
    pub count: u64,
    /// The message of the first such error.
    pub example: String,
}

impl Recording {
    /// An empty recording for a workload of `statements` statements.
    #[must_use]
    pub fn new(statements: usize) -> Self {
        Self {
            statement_latency: vec![LatencyHistogram::new(); statements],
            ..Self::default()
        }
    }

    /// Counts a transaction that ended with an error. `describe` is asked for the message only the first time.
    pub fn count_error(&mut self, state: SqlState, describe: impl FnOnce() -> String) {
        self.errors += 1;
        match self.errors_by_state.iter_mut().find(|known| known.state == state) {
            Some(known) => known.count += 1,
            None => self.errors_by_state.push(ErrorCount {
                state,
                count: 1,
                example: describe(),
            }),
        }
    }

    /// Adds everything `other` counted.
    pub fn add(&mut self, other: &Self) {
        self.transactions += other.transactions;
        self.statements += other.statements;
        self.errors += other.errors;
        for error in &other.errors_by_state {
            match self.errors_by_state.iter_mut().find(|known| known.state == error.state) {
                Some(known) => known.count += error.count,
                None => self.errors_by_state.push(error.clone()),
            }
        }
        self.latency.add(&other.latency);
        self.lag.add(&other.lag);
        self.statement_latency.resize_with(
            self.statement_latency.len().max(other.statement_latency.len()),
            LatencyHistogram::new,
        );
        for (sum, part) in self.statement_latency.iter_mut().zip(&other.statement_latency) {
            sum.add(part);
        }
    }

    /// Makes the recording empty again, keeping its memory.
    pub fn clear(&mut self) {
        self.transactions = 0;
        self.statements = 0;
        self.errors = 0;
        self.errors_by_state.clear();
        self.latency.clear();
        self.lag.clear();
        self.statement_latency.iter_mut().for_each(LatencyHistogram::clear);
    }
}
