//! What is wrong with a command line, in pgbench's words.

use super::getopt::GetoptError;
use crate::scripts::ScriptsError;
use crate::scripts::builtin::{self, BuiltinError};
use dyno_engine::{CpusError, TransportChoiceError};
use dyno_target::target::text_without_secrets;

/// Why a command line cannot be followed.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the message of each says it")]
pub enum OptionError {
    #[error(transparent)]
    Getopt(#[from] GetoptError),
    #[error(transparent)]
    Scripts(#[from] ScriptsError),
    #[error(transparent)]
    Transport(#[from] TransportChoiceError),
    #[error(transparent)]
    Cpus(#[from] CpusError),
    #[error("invalid value \"{value}\" for option {option}")]
    NotANumber { option: &'static str, value: String },
    #[error("{option} must be in range {min}..{max}")]
    Range { option: &'static str, min: i64, max: i64 },
    #[error("need at least {needed} open files, but system limit is {limit}")]
    OpenFiles { needed: u64, limit: u64 },
    #[error("need at least {needed} open files, but couldn't raise the limit: {cause}")]
    RaiseOpenFiles { needed: u64, cause: String },
    #[error("invalid variable definition: \"{0}\"")]
    Definition(String),
    #[error("option: invalid variable name: \"{0}\"")]
    VariableName(String),
    #[error("no initialization steps specified")]
    NoSteps,
    #[error("unrecognized initialization step \"{0}\"")]
    UnknownStep(char),
    #[error("invalid latency limit: \"{0}\"")]
    LatencyLimit(String),
    #[error("invalid query mode (-M): \"{0}\"")]
    Protocol(String),
    #[error("invalid rate limit: \"{0}\"")]
    Rate(String),
    #[error("invalid sampling rate: \"{0}\"")]
    SamplingRate(String),
    #[error("unrecognized random seed option \"{value}\"")]
    Seed { value: String, origin: SeedOrigin },
    #[error("invalid partition method, expecting \"range\" or \"hash\", got: \"{0}\"")]
    PartitionMethod(String),
    #[error("invalid number of maximum tries: \"{0}\"")]
    MaxTries(String),
    #[error("total script weight must not be zero")]
    NoWeight,
    #[error("too many command-line arguments (first is \"{0}\")")]
    TooManyOperands(String),
    #[error("some of the specified options cannot be used in initialization (-i) mode")]
    NotWhenInitializing,
    #[error("--partition-method requires greater than zero --partitions")]
    MethodWithoutPartitions,
    #[error("some of the specified options cannot be used in benchmarking mode")]
    OnlyWhenInitializing,
    #[error("specify either a number of transactions (-t) or a duration (-T), not both")]
    TransactionsAndDuration,
    #[error("log sampling (--sampling-rate) is allowed only when logging transactions (-l)")]
    SamplingWithoutLog,
    #[error("log sampling (--sampling-rate) and aggregation (--aggregate-interval) cannot be used at the same time")]
    SamplingAndAggregation,
    #[error("log aggregation is allowed only when actually logging transactions")]
    AggregationWithoutLog,
    #[error("log file prefix (--log-prefix) is allowed only when logging transactions (-l)")]
    PrefixWithoutLog,
    #[error("number of seconds for aggregation ({interval}) must not be higher than test duration ({duration})")]
    AggregationTooLong { interval: i32, duration: i32 },
    #[error("duration ({duration}) must be a multiple of aggregation interval ({interval})")]
    AggregationNotFitting { interval: i32, duration: i32 },
    #[error("--progress-timestamp is allowed only under --progress")]
    TimestampWithoutProgress,
    #[error("an unlimited number of transaction tries can only be used with --latency-limit or a duration (-T)")]
    UnlimitedTries,
    #[error("could not look up effective user ID {uid}: user does not exist")]
    NoUser { uid: u32 },
    #[error("--archive takes a folder, not the address of a database")]
    ArchiveAddress,
    #[error("invalid report format: \"{0}\"")]
    ReportFormat(String),
    #[error("invalid percentiles: \"{0}\"")]
    Percentiles(String),
    #[error("a warm-up (--warmup) needs a duration (-T), not a number of transactions")]
    WarmupWithoutDuration,
    #[error("a warm-up (--warmup) cannot be used with -C/--connect")]
    WarmupReconnecting,
}

/// Where the random seed came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeedOrigin {
    /// `PGBENCH_RANDOM_SEED`.
    Environment,
    /// `--random-seed`.
    Option,
}

impl OptionError {
    /// Says it, and what else pgbench says of it. It may repeat one of the `words`.
    pub fn report(&self, called: &str, words: &[String]) {
        use crate::message;
        let text = text_without_secrets(&self.to_string(), words);
        match self {
            Self::Getopt(_) => message::raw(&format!("{called}: {text}\n")),
            Self::NoUser { .. } => message::info(&text),
            _ => message::error(&text),
        }
        match self {
            Self::Getopt(_) | Self::TooManyOperands(_) => message::hint("Try \"pgbench --help\" for more information."),
            Self::Scripts(ScriptsError::Builtin(BuiltinError::Unknown(_) | BuiltinError::Ambiguous { .. })) => {
                message::raw(&builtin::listing());
            }
            Self::OpenFiles { .. } | Self::RaiseOpenFiles { .. } => {
                message::hint("Use fewer clients (-c), or raise the limit on open files (ulimit -n).");
            }
            Self::UnknownStep(_) => message::detail("Allowed step characters are: \"dtgGvpf\"."),
            Self::Seed { origin, .. } => {
                message::detail("Expecting an unsigned integer, \"time\" or \"rand\".");
                message::error(match origin {
                    SeedOrigin::Environment => {
                        "error while setting random seed from PGBENCH_RANDOM_SEED environment variable"
                    }
                    SeedOrigin::Option => "error while setting random seed from --random-seed option",
                });
            }
            Self::ReportFormat(_) => message::detail("Give a version of pgbench, 9.3 to 19."),
            Self::Percentiles(_) => message::detail("Give numbers from 0 to 100, for example 50,95,99,99.9."),
            _ => {}
        }
    }
}
