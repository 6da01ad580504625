//! From options to what the engine drives.

use super::session_settings::SessionSettings;
use crate::options::Options;
use dyno_engine::{
    Connecting, FailurePolicy, Load, NewLog, OnBrokenScript, OnError, Pacing, Phase, Preparing, Program, WireDriver,
    Workload,
};
use dyno_lab::run::Connector;
use dyno_script::{Random, ScriptProgram, ScriptSet, Seeds, Value, Variables};
use dyno_target::postgres::address::{self, ConnectionInfo};
use dyno_wire::{PgSession, WireError};
use std::sync::Arc;
use std::time::Duration;

/// pgbench waits for the last transactions as long as they take; this is long enough to be the same.
const GRACE: Duration = Duration::from_secs(30 * 24 * 3600);

/// How often recordings are collected when nobody wants to see them, and when an archive does.
const QUIET_INTERVAL: Duration = Duration::from_secs(10);
const ARCHIVE_INTERVAL: Duration = Duration::from_secs(1);

/// What the load's only workload is called.
pub const WORKLOAD: &str = "pgbench";

/// Why there is no load.
#[derive(Debug, thiserror::Error)]
pub enum LoadError {
    /// No host can be connected to.
    #[error(transparent)]
    Address(#[from] address::ConnectError),
    /// A statement cannot be sent.
    #[error(transparent)]
    Statement(#[from] WireError),
}

/// All random states of the run.
pub fn seeds(options: &Options) -> Seeds {
    let default_seed_given = options.definitions.iter().any(|(name, _)| name == "default_seed");
    Seeds::draw(options.seed, options.clients, options.threads, default_seed_given)
}

/// The random states that decide which transactions are logged.
pub fn samples(seeds: &Seeds) -> Vec<Random> {
    seeds.threads.iter().map(|thread| thread.sample.clone()).collect()
}

/// The whole load. `scale` is what scripts find in their variable of this name.
///
/// # Errors
/// A host's name is unknown, TLS cannot be set up, or a statement is too large.
pub fn load(
    options: &Options,
    seeds: &Seeds,
    scale: i64,
    target: &ConnectionInfo,
    log: Option<NewLog>,
) -> Result<Load<WireDriver<PgSession>, ScriptProgram>, LoadError> {
    let program = program(options, seeds, scale);
    let settings = SessionSettings::of(&crate::environment);
    let connector = Connector::to(target)?.with(|config| settings.apply(config));
    let workload = Workload {
        name: WORKLOAD.to_owned(),
        clients: options.clients,
        threads: options.threads,
        pacing: match options.rate_per_s {
            None => Pacing::Closed,
            Some(rate_per_s) => Pacing::Open { rate_per_s },
        },
        start_delay: Duration::ZERO,
        stages_begin: Duration::ZERO,
        stages: Vec::new(),
        driver: WireDriver {
            endpoints: connector.endpoints(),
            session: connector.sessions(),
            statements: program.encode::<PgSession>()?,
            texts: program.statements(),
            preparing: Preparing::OnFirstUse,
        },
        program,
        transactions_per_client: options.transactions.map(|number| number.unsigned_abs().into()),
        connecting: if options.connect_each {
            Connecting::EveryTransaction
        } else {
            Connecting::Once
        },
        reconnect: options.reconnect,
        failures: FailurePolicy {
            max_tries: (options.max_tries != 0).then_some(options.max_tries),
            on_error: if options.continue_on_error {
                OnError::Count
            } else {
                OnError::AbortClient
            },
            on_broken_script: OnBrokenScript::AbortClient,
            abort_load: options.exit_on_abort,
            report_failures: options.verbose_errors,
        },
        latency_limit: options.latency_limit_us.map(Duration::from_micros),
        time_commands: options.per_command,
        trace: options.debug,
        log,
    };
    Ok(Load {
        workloads: vec![workload],
        phases: phases(options),
        interval: interval(options),
        grace: GRACE,
        // Progress, too, counts from then.
        include_connecting: true,
        record_finishing: true,
        threads: options.threading.clone(),
    })
}

/// How often recordings are collected.
pub fn interval(options: &Options) -> Duration {
    match options.progress_s {
        Some(seconds) => Duration::from_secs(seconds.unsigned_abs().into()),
        None if options.archive.is_some() => ARCHIVE_INTERVAL,
        None => QUIET_INTERVAL,
    }
}

fn phases(options: &Options) -> Vec<Phase> {
    let phase = |name: &str, seconds: Option<i32>| Phase {
        name: name.to_owned(),
        duration: seconds.map_or(Duration::MAX, |seconds| {
            Duration::from_secs(seconds.unsigned_abs().into())
        }),
    };
    let warmup = options.warmup_s.map(|seconds| phase("warmup", Some(seconds)));
    let measure = phase("measure", options.duration_s);
    warmup.into_iter().chain([measure]).collect()
}

fn program(options: &Options, seeds: &Seeds, scale: i64) -> ScriptProgram {
    let symbols = &options.scripts.symbols;
    let mut variables = Variables::new(symbols);
    let automatic = [
        ("scale", Some(scale)),
        ("random_seed", Some(options.seed.cast_signed())),
        ("default_seed", seeds.default_seed),
    ];
    let automatic = automatic
        .into_iter()
        .filter_map(|(name, value)| Some((name, Value::Int(value?))));
    let given = options
        .definitions
        .iter()
        .map(|(name, value)| (name.as_str(), Value::from(value.as_str())));
    for (name, value) in automatic.chain(given) {
        if let Some(id) = symbols.lookup(name) {
            variables.set(id, value);
        }
    }
    let client_id_given = options.definitions.iter().any(|(name, _)| name == "client_id");
    let chosen = options.scripts.list.iter();
    ScriptProgram::new(ScriptSet {
        scripts: chosen
            .map(|chosen| (Arc::clone(&chosen.script), chosen.weight.into()))
            .collect(),
        variables,
        client_id: symbols.lookup("client_id").filter(|_| !client_id_given),
        seeds: seeds.clone(),
        protocol: options.protocol,
    })
    .telling_each_command(options.per_command || options.debug)
}
