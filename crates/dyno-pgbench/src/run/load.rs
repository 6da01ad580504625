//! From options to the plan of a load.

use super::session_settings::session_settings;
use crate::options::Options;
use dyno_engine::{Connecting, FailurePolicy, Load, OnBrokenScript, OnError, Pacing, Phase, Preparing, Workload};
use dyno_load::{Access, Given, LoadPlan, LogPlan, ScriptText, Scripts, Server};
use dyno_script::Lexis;
use dyno_target::postgres::address::ConnectionInfo;
use std::iter;
use std::time::Duration;

/// pgbench waits for the last transactions as long as they take; this is long enough to be the same.
const GRACE: Duration = Duration::from_secs(30 * 24 * 3600);

/// How often recordings are collected when nobody wants to see them, and when an archive does.
const QUIET_INTERVAL: Duration = Duration::from_secs(10);
const ARCHIVE_INTERVAL: Duration = Duration::from_secs(1);

/// What the load's only workload is called.
pub const WORKLOAD: &str = "pgbench";

/// The whole load. `scale` is what scripts find in their variable of this name.
pub fn plan(options: &Options, scale: i64, target: &ConnectionInfo) -> LoadPlan {
    let settings = session_settings(&crate::environment);
    let access = Access {
        server: Server::Postgres(Box::new(target.clone().with_parameters(settings))),
        preparing: Preparing::OnFirstUse,
    };
    let workload = Workload {
        threads: options.threads,
        pacing: match options.rate_per_s {
            None => Pacing::Closed,
            Some(rate_per_s) => Pacing::Open { rate_per_s },
        },
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
        log: log(options),
        ..Workload::new(WORKLOAD, options.clients, access, scripts(options, scale).into())
    };
    Load {
        interval: interval(options),
        grace: GRACE,
        // Progress, too, counts from then.
        include_connecting: true,
        record_finishing: true,
        threads: options.threading.clone(),
        ..Load::new(vec![workload], phases(options))
    }
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
    let duration = |seconds: i32| Duration::from_secs(seconds.unsigned_abs().into());
    let warmup = options.warmup_s.map(|seconds| Phase::new("warmup", duration(seconds)));
    let measure = Phase::new("measure", options.duration_s.map_or(Duration::MAX, duration));
    warmup.into_iter().chain([measure]).collect()
}

fn scripts(options: &Options, scale: i64) -> Scripts {
    let given = options.definitions.iter();
    let given = given.map(|(name, value)| Given::new(name, value.as_str()));
    let scripts = options.scripts.list.iter().map(|chosen| ScriptText {
        name: chosen.description.clone(),
        text: dyno_text::encode(&chosen.text).into_owned(),
        weight: chosen.weight.into(),
    });
    Scripts {
        scripts: scripts.collect(),
        lexis: Lexis::Psql,
        variables: iter::once(Given::new("scale", scale)).chain(given).collect(),
        seed: options.seed,
        protocol: options.protocol,
    }
}

fn log(options: &Options) -> Option<LogPlan> {
    options.log.then(|| LogPlan {
        prefix: options.log_prefix.clone().unwrap_or_else(|| "pgbench_log".to_owned()),
        version: options.report_format.to_string(),
        sampling_rate: options.sampling_rate,
        aggregate_s: options.aggregate_s.map(|seconds| seconds.unsigned_abs().into()),
        failures_detailed: options.failures_detailed,
        first_phase: usize::from(options.warmup_s.is_some()),
    })
}
