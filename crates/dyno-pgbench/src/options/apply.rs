//! What each option does.

use super::error::SeedOrigin;
use super::number::{float_prefix, int_prefix, whole_int, whole_unsigned};
use super::table::Id;
use super::{Connection, Environment, OptionError, Options, Parser};
use crate::init::{InitOptions, PartitionMethod};
use crate::message;
use crate::scripts::Scripts;
use crate::version::Version;
use dyno_engine::ThreadOptions;
use dyno_target::target::holds_address;
use dyno_wire::Protocol;
use rustix::process::{Resource, Rlimit};
use std::time::{SystemTime, UNIX_EPOCH};

impl Parser {
    /// Nothing given yet but the environment.
    pub(super) fn new(command: String, environment: Environment) -> Result<Self, OptionError> {
        let seed = seed(environment("PGBENCH_RANDOM_SEED").as_deref(), SeedOrigin::Environment)?;
        Ok(Self {
            options: Options {
                command,
                connection: Connection::default(),
                debug: false,
                init: InitOptions::default(),
                no_vacuum: false,
                vacuum_all: false,
                scale: None,
                scripts: Scripts::default(),
                clients: 1,
                threads: 1,
                connect_each: false,
                definitions: Vec::new(),
                transactions: None,
                duration_s: None,
                protocol: Protocol::Simple,
                rate_per_s: None,
                latency_limit_us: None,
                max_tries: 1,
                continue_on_error: false,
                exit_on_abort: false,
                verbose_errors: false,
                seed,
                progress_s: None,
                progress_timestamp: false,
                per_command: false,
                failures_detailed: false,
                log: false,
                log_prefix: None,
                sampling_rate: None,
                aggregate_s: None,
                report_format: Version::NEWEST,
                percentiles: Vec::new(),
                warmup_s: None,
                json: None,
                archive: None,
                reconnect: false,
                threading: ThreadOptions::default(),
            },
            initialize: false,
            steps: None,
            partition_method: None,
            database: None,
            for_benchmark: false,
            for_init: false,
        })
    }

    /// Takes one option with its value.
    pub(super) fn apply(&mut self, id: Id, value: String) -> Result<(), OptionError> {
        match kind(id) {
            Kind::Benchmark => self.for_benchmark = true,
            Kind::Init => self.for_init = true,
            Kind::Both => {}
        }
        let options = &mut self.options;
        match id {
            Id::AggregateInterval => options.aggregate_s = Some(positive("--aggregate-interval", &value)?),
            Id::Archive => {
                if holds_address(&value) {
                    return Err(OptionError::ArchiveAddress);
                }
                let folder = if value.is_empty() { "archive" } else { &value };
                options.archive = Some(crate::path(folder));
            }
            Id::Builtin => options.scripts.add_builtin(&value)?,
            Id::Clients => {
                let clients = positive("-c/--client", &value)?.unsigned_abs();
                allow_open_files(u64::from(clients) + 3)?;
                options.clients = clients as usize;
            }
            Id::Connect => options.connect_each = true,
            Id::ContinueOnError => options.continue_on_error = true,
            Id::Cpus => options.threading.cpus = value.parse()?,
            Id::Database => self.database = Some(value),
            Id::Debug => options.debug = true,
            Id::Define => options.definitions.push(definition(&value)?),
            Id::ExitOnAbort => options.exit_on_abort = true,
            Id::FailuresDetailed => options.failures_detailed = true,
            Id::File => options.scripts.add_file(&value)?,
            Id::Fillfactor => {
                let percent = integer("-F/--fillfactor", &value, 10, 100)?;
                options.init.fillfactor = u8::try_from(percent).unwrap_or(100);
            }
            Id::ForeignKeys => options.init.foreign_keys = true,
            Id::Host => options.connection.host = some(value),
            Id::IndexTablespace => options.init.index_tablespace = Some(value),
            Id::Initialize => self.initialize = true,
            Id::InitSteps => {
                check_steps(&value)?;
                self.steps = Some(value);
            }
            Id::Jobs => options.threads = positive("-j/--jobs", &value)?.unsigned_abs() as usize,
            Id::Json => options.json = Some(crate::path(&value)),
            Id::LatencyLimit => {
                let limit_ms = above_zero(&value).ok_or(OptionError::LatencyLimit(value))?;
                // As in pgbench, less than a microsecond is no limit.
                options.latency_limit_us = Some((limit_ms * 1000.0) as u64).filter(|limit_us| *limit_us > 0);
            }
            Id::LoadJobs => options.init.load_jobs = positive("--load-jobs", &value)?.unsigned_abs() as usize,
            Id::Log => options.log = true,
            Id::LogPrefix => options.log_prefix = Some(value),
            Id::MaxTries => {
                options.max_tries = u32::try_from(int_prefix(&value)).map_err(|_| OptionError::MaxTries(value))?;
            }
            Id::NoVacuum => options.no_vacuum = true,
            Id::PartitionMethod => {
                self.partition_method = Some(match value.to_ascii_lowercase().as_str() {
                    "range" => PartitionMethod::Range,
                    "hash" => PartitionMethod::Hash,
                    _ => return Err(OptionError::PartitionMethod(value)),
                });
            }
            Id::Partitions => {
                let number = integer("--partitions", &value, 0, i32::MAX.into())?;
                options.init.partitions = number.unsigned_abs();
            }
            Id::Percentiles => options.percentiles = percentiles(&value)?,
            Id::Port => options.connection.port = some(value),
            Id::Progress => options.progress_s = Some(positive("-P/--progress", &value)?),
            Id::ProgressTimestamp => options.progress_timestamp = true,
            Id::Protocol => {
                options.protocol = match value.as_str() {
                    "simple" => Protocol::Simple,
                    "extended" => Protocol::Extended,
                    "prepared" => Protocol::Prepared,
                    _ => return Err(OptionError::Protocol(value)),
                };
            }
            Id::Quiet => options.init.quiet = true,
            Id::RandomSeed => options.seed = seed(Some(&value), SeedOrigin::Option)?,
            Id::Rate => options.rate_per_s = Some(above_zero(&value).ok_or(OptionError::Rate(value))?),
            Id::Reconnect => options.reconnect = true,
            Id::ReportFormat => {
                options.report_format = value.parse().map_err(|()| OptionError::ReportFormat(value))?;
            }
            Id::ReportPerCommand => options.per_command = true,
            Id::SamplingRate => {
                let rate = above_zero(&value).filter(|rate| *rate <= 1.0);
                options.sampling_rate = Some(rate.ok_or(OptionError::SamplingRate(value))?);
            }
            Id::Scale => options.scale = Some(positive("-s/--scale", &value)?),
            Id::SelectOnly => options.scripts.add_builtin("select-only")?,
            Id::ShowScript => {}
            Id::SimpleUpdate => options.scripts.add_builtin("simple-update")?,
            Id::Tablespace => options.init.tablespace = Some(value),
            Id::Time => options.duration_s = Some(positive("-T/--time", &value)?),
            Id::Transactions => options.transactions = Some(positive("-t/--transactions", &value)?),
            Id::UnloggedTables => options.init.unlogged = true,
            Id::User => options.connection.user = some(value),
            Id::VacuumAll => options.vacuum_all = true,
            Id::VerboseErrors => options.verbose_errors = true,
            Id::Transport => options.threading.transport = value.parse()?,
            Id::Warmup => options.warmup_s = Some(positive("--warmup", &value)?),
        }
        Ok(())
    }
}

/// An empty word counts as not given, as in libpq: wrappers write `-U "$DBUSER"`.
fn some(value: String) -> Option<String> {
    Some(value).filter(|value| !value.is_empty())
}

/// In which mode an option may be given.
enum Kind {
    Benchmark,
    Init,
    Both,
}

fn kind(id: Id) -> Kind {
    match id {
        Id::Database
        | Id::Debug
        | Id::Host
        | Id::Initialize
        | Id::NoVacuum
        | Id::Port
        | Id::ReportFormat
        | Id::Scale
        | Id::ShowScript
        | Id::User => Kind::Both,
        Id::Fillfactor
        | Id::ForeignKeys
        | Id::IndexTablespace
        | Id::InitSteps
        | Id::LoadJobs
        | Id::PartitionMethod
        | Id::Partitions
        | Id::Quiet
        | Id::Tablespace
        | Id::UnloggedTables => Kind::Init,
        _ => Kind::Benchmark,
    }
}

fn integer(option: &'static str, value: &str, min: i64, max: i64) -> Result<i32, OptionError> {
    let trimmed = value.trim_ascii();
    // As C reads it, nothing at all is 0.
    let number = if trimmed.is_empty() {
        Some(0)
    } else {
        whole_int(trimmed)
    };
    let Some(number) = number else {
        return Err(OptionError::NotANumber {
            option,
            value: value.to_owned(),
        });
    };
    i32::try_from(number)
        .ok()
        .filter(|number| (min..=max).contains(&i64::from(*number)))
        .ok_or(OptionError::Range { option, min, max })
}

fn positive(option: &'static str, value: &str) -> Result<i32, OptionError> {
    integer(option, value, 1, i32::MAX.into())
}

fn above_zero(value: &str) -> Option<f64> {
    Some(float_prefix(value)).filter(|number| *number > 0.0)
}

/// The seed that `text` stands for: the time unless it is given, and told if it is.
fn seed(text: Option<&str>, origin: SeedOrigin) -> Result<u64, OptionError> {
    let now_us = || {
        let since_epoch = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        since_epoch.as_micros() as u64
    };
    let seed = match text {
        None => return Ok(now_us()),
        Some("time") => now_us(),
        // The standard library's hasher is keyed by the system's random numbers.
        Some("rand") => std::hash::BuildHasher::hash_one(&std::hash::RandomState::new(), now_us()),
        Some(text) => whole_unsigned(text).ok_or_else(|| OptionError::Seed {
            value: text.to_owned(),
            origin,
        })?,
    };
    message::info(&format!("setting random seed to {seed}"));
    Ok(seed)
}

fn definition(text: &str) -> Result<(String, String), OptionError> {
    let (name, value) = text
        .split_once('=')
        .filter(|(name, value)| !name.is_empty() && !value.is_empty())
        .ok_or_else(|| OptionError::Definition(text.to_owned()))?;
    if !dyno_script::is_variable_name(name) {
        return Err(OptionError::VariableName(name.to_owned()));
    }
    Ok((name.to_owned(), value.to_owned()))
}

fn check_steps(steps: &str) -> Result<(), OptionError> {
    if steps.is_empty() {
        return Err(OptionError::NoSteps);
    }
    match steps.chars().find(|step| !"dtgGvpf ".contains(*step)) {
        Some(step) => Err(OptionError::UnknownStep(step)),
        None => Ok(()),
    }
}

fn percentiles(text: &str) -> Result<Vec<f64>, OptionError> {
    let each = text.split(',').map(|part| part.trim().parse::<f64>());
    let numbers: Result<Vec<f64>, _> = each.collect();
    numbers
        .ok()
        .filter(|numbers| numbers.iter().all(|number| (0.0..=100.0).contains(number)))
        .ok_or_else(|| OptionError::Percentiles(text.to_owned()))
}

/// Raises the limit on open files if so many clients need it.
fn allow_open_files(needed: u64) -> Result<(), OptionError> {
    let limits = rustix::process::getrlimit(Resource::Nofile);
    if let Some(limit) = limits.maximum.filter(|limit| *limit < needed) {
        return Err(OptionError::OpenFiles { needed, limit });
    }
    if limits.current.is_none_or(|current| current >= needed) {
        return Ok(());
    }
    let raised = Rlimit {
        current: Some(needed),
        maximum: limits.maximum,
    };
    rustix::process::setrlimit(Resource::Nofile, raised).map_err(|cause| OptionError::RaiseOpenFiles {
        needed,
        cause: crate::system_text(&cause.into()),
    })
}
