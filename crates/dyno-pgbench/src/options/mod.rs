//! The command line: what may be given, what it means, and what is wrong with it.
//!
//! Words are taken from left to right and the first fault ends it, as in pgbench, so that a wrapper sees the same
//! complaint. Scripts are read as they are named; the faults that concern several options come after the last word.

mod apply;
mod check;
mod error;
mod getopt;
mod help;
mod number;
mod table;

pub use error::OptionError;
pub use help::{help, version};
pub(crate) use number::whole_int;

use crate::init::{InitOptions, PartitionMethod};
use crate::scripts::Scripts;
use crate::scripts::builtin::{self, Builtin};
use crate::version::Version;
use dyno_engine::ThreadOptions;
use dyno_wire::Protocol;
use getopt::{Element, Getopt};
use std::path::PathBuf;
use table::Id;

/// What the command line asks for.
#[derive(Debug)]
pub enum Request {
    /// `--help`.
    Help,
    /// `--version`.
    Version,
    /// `-b list`.
    ListBuiltins,
    /// `--show-script`.
    ShowScript(Builtin),
    /// `-i`.
    Initialize(Box<Options>),
    /// Anything else.
    Run(Box<Options>),
}

/// Everything that can be said, with pgbench's defaults.
#[derive(Debug)]
pub struct Options {
    /// The command line, without passwords.
    pub command: String,
    /// Where the database is.
    pub connection: Connection,
    /// `--debug`.
    pub debug: bool,
    /// `-i` with what belongs to it.
    pub init: InitOptions,
    /// `-n`.
    pub no_vacuum: bool,
    /// `-v`.
    pub vacuum_all: bool,
    /// `-s`, if given.
    pub scale: Option<i32>,
    /// What is executed.
    pub scripts: Scripts,
    /// `-c`.
    pub clients: usize,
    /// `-j`, at most `clients`.
    pub threads: usize,
    /// `-C`.
    pub connect_each: bool,
    /// `-D`, in order; the last of a name holds.
    pub definitions: Vec<(String, String)>,
    /// `-t`; the default where neither it nor `-T` is given.
    pub transactions: Option<i32>,
    /// `-T`, in seconds.
    pub duration_s: Option<i32>,
    /// `-M`.
    pub protocol: Protocol,
    /// `-R`, in transactions per second over all clients.
    pub rate_per_s: Option<f64>,
    /// `-L`, in microseconds.
    pub latency_limit_us: Option<u64>,
    /// `--max-tries`; 0: no limit.
    pub max_tries: u32,
    /// `--continue-on-error`.
    pub continue_on_error: bool,
    /// `--exit-on-abort`.
    pub exit_on_abort: bool,
    /// `--verbose-errors`.
    pub verbose_errors: bool,
    /// The seed of all random numbers.
    pub seed: u64,
    /// `-P`, in seconds.
    pub progress_s: Option<i32>,
    /// `--progress-timestamp`.
    pub progress_timestamp: bool,
    /// `-r`.
    pub per_command: bool,
    /// `--failures-detailed`.
    pub failures_detailed: bool,
    /// `-l`.
    pub log: bool,
    /// `--log-prefix`.
    pub log_prefix: Option<String>,
    /// `--sampling-rate`, above 0 to 1.
    pub sampling_rate: Option<f64>,
    /// `--aggregate-interval`, in seconds.
    pub aggregate_s: Option<i32>,
    /// dyno's `--report-format`.
    pub report_format: Version,
    /// dyno's `--percentiles`, 0 to 100.
    pub percentiles: Vec<f64>,
    /// dyno's `--warmup`, in seconds.
    pub warmup_s: Option<i32>,
    /// dyno's `--json`.
    pub json: Option<PathBuf>,
    /// dyno's `--archive`.
    pub archive: Option<PathBuf>,
    /// dyno's `--reconnect`.
    pub reconnect: bool,
    /// dyno's `--transport` and `--cpus`.
    pub threading: ThreadOptions,
}

/// Where the database is, as far as the command line says it.
#[derive(Clone, Debug, Default)]
pub struct Connection {
    /// `-h`.
    pub host: Option<String>,
    /// `-p`.
    pub port: Option<String>,
    /// `-U`.
    pub user: Option<String>,
    /// A name, a conninfo string or a URI.
    pub database: String,
}

/// Looks an environment variable up; tests give their own.
pub type Environment<'a> = &'a dyn Fn(&str) -> Option<String>;

/// What has been seen so far of the command line.
struct Parser {
    options: Options,
    initialize: bool,
    steps: Option<String>,
    partition_method: Option<PartitionMethod>,
    database: Option<String>,
    /// Some option that only a benchmark can have was given, or only an initialization.
    for_benchmark: bool,
    for_init: bool,
}

/// Understands the words after the program's name.
///
/// # Errors
/// The first fault.
pub fn parse(words: Vec<String>, environment: Environment) -> Result<Request, OptionError> {
    // Wrappers may always put dyno's own option first.
    let mut others = words.iter().filter(|word| !word.starts_with("--report-format="));
    match others.next().map(String::as_str) {
        Some("--help" | "-?") => return Ok(Request::Help),
        Some("--version" | "-V") => return Ok(Request::Version),
        _ => {}
    }
    let command = dyno_lab::command::redacted(std::iter::once("pgbench").chain(words.iter().map(String::as_str)));
    let mut parser = Parser::new(command, environment)?;
    let mut operands = Vec::new();
    for element in Getopt::new(words) {
        match element? {
            Element::Operand(word) => operands.push(word),
            // These two end it at once; they are left out of `apply`, which only collects.
            Element::Option(Id::Builtin, Some(name)) if name == "list" => return Ok(Request::ListBuiltins),
            Element::Option(Id::ShowScript, Some(name)) => {
                let script = builtin::find(&name).map_err(|error| OptionError::Scripts(error.into()))?;
                return Ok(Request::ShowScript(script));
            }
            Element::Option(id, value) => parser.apply(id, value.unwrap_or_default())?,
        }
    }
    parser.finish(operands, environment)
}

#[cfg(test)]
mod tests;
