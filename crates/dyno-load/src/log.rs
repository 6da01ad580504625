//! The log of single transactions as plain data. Who writes it is for the front end to say: its form is pgbench's.

use crate::plan::WorkloadPlan;
use dyno_engine::NewLog;
use serde::{Deserialize, Serialize};
use std::io;

/// pgbench's log of single transactions, one file for each thread.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct LogPlan {
    /// What the names of the files begin with.
    pub prefix: String,
    /// The version of pgbench whose lines they have, such as `18` or `9.6`.
    pub version: String,
    /// The share of transactions that are logged, 0 to 1; `None`: all.
    pub sampling_rate: Option<f64>,
    /// Lines sum up so many seconds; `None`: a line for each transaction.
    pub aggregate_s: Option<u64>,
    /// Whether failures are told by their kind.
    pub failures_detailed: bool,
    /// The index of the first phase that is logged.
    pub first_phase: usize,
}

/// Opens the log of a workload.
pub type OpenLog<'a> = dyn Fn(&WorkloadPlan, &LogPlan) -> Result<NewLog, LogError> + 'a;

/// A file of a log that cannot be made.
#[derive(Debug, thiserror::Error)]
#[error("the log file {name} cannot be made: {cause}")]
pub struct LogError {
    /// Its name.
    pub name: String,
    /// Why.
    pub cause: io::Error,
}

/// For loads without a log: refuses to open one.
///
/// # Errors
/// Always.
pub fn no_log(_: &WorkloadPlan, log: &LogPlan) -> Result<NewLog, LogError> {
    Err(LogError {
        name: log.prefix.clone(),
        cause: io::Error::other("only dyno pgbench writes logs of single transactions"),
    })
}
