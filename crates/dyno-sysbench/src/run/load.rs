//! From options to what the engine drives, and where it drives it to.

use crate::connection::{Driver, mysql_target, pgsql_target};
use crate::message::Log;
use crate::options::Options;
use dyno_engine::{
    Choice, Connecting, Connector, DriveError, FailurePolicy, Load, Observer, OnBrokenScript, OnError, Outcome, Pacing,
    Phase, Preparing, Stop, WireDriver, Workload, drive,
};
use dyno_load::connect;
use dyno_lua::{LuaProgram, Server};
use dyno_wire::{MySession, PgSession, Session};
use std::sync::Arc;
use std::sync::atomic::AtomicUsize;
use std::time::Duration;

/// The name of the only workload.
pub const WORKLOAD: &str = "sysbench";

/// How often recordings are collected: what is told is told of whole seconds.
pub const INTERVAL: Duration = Duration::from_secs(1);

/// The servers that a script's connections go to.
pub enum Servers {
    /// MySQL's or MariaDB's.
    Mysql(Connector<MySession>),
    /// PostgreSQL's.
    Pgsql(Connector<PgSession>),
}

/// Looks the servers of the options up.
///
/// # Errors
/// They lead nowhere; what is to be said of it.
pub fn servers(options: &Options, log: &Log) -> Result<Servers, String> {
    let settings = &options.settings;
    let mode = settings.text("db-ps-mode");
    if !["auto", "disable"].contains(&mode) {
        return Err(format!("Invalid value for db-ps-mode: {mode}"));
    }
    let name = settings.text("db-driver");
    match Driver::of(name) {
        Some(Driver::Mysql) => {
            let target = mysql_target(settings).map_err(|error| error.to_string())?;
            Ok(Servers::Mysql(
                connect::mysql(&target).map_err(|error| error.to_string())?,
            ))
        }
        Some(Driver::Pgsql) => {
            let target = pgsql_target(settings, &crate::environment).map_err(|error| error.to_string())?;
            for warning in target.warnings() {
                log.warning(warning);
            }
            Ok(Servers::Pgsql(
                connect::postgres(&target).map_err(|error| error.libpq())?,
            ))
        }
        None => Err(format!("invalid database driver name: '{name}'")),
    }
}

impl Servers {
    /// For what is executed beside a load.
    #[must_use]
    pub fn for_commands(&self) -> Option<Arc<dyn Server>> {
        Some(match self {
            Self::Mysql(connector) => Arc::new(connector.clone()),
            Self::Pgsql(connector) => Arc::new(connector.clone()),
        })
    }

    /// Drives the program.
    ///
    /// # Errors
    /// The load could not begin.
    pub fn drive(
        &self,
        options: &Options,
        program: LuaProgram,
        observer: &mut dyn Observer,
        stop: &Stop,
    ) -> Result<Outcome, DriveError> {
        match self {
            Self::Mysql(connector) => drive(&load(options, driver(connector), program), observer, stop),
            Self::Pgsql(connector) => drive(&load(options, driver(connector), program), observer, stop),
        }
    }
}

/// Connections are dealt to the hosts in turn, and statements are the scripts' own.
fn driver<S: Session + 'static>(connector: &Connector<S>) -> WireDriver<S> {
    WireDriver {
        endpoints: connector.endpoints.clone(),
        choice: Choice::InTurn(AtomicUsize::new(0)),
        session: connector.sessions(),
        statements: Vec::new(),
        texts: Vec::new(),
        preparing: Preparing::OnFirstUse,
    }
}

/// How many threads share so many clients out among themselves.
#[must_use]
pub fn worker_threads(clients: usize) -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(clients)
}

/// What the options ask for.
fn load<D>(options: &Options, driver: D, program: LuaProgram) -> Load<D, LuaProgram> {
    let limits = &options.limits;
    let workload = Workload {
        threads: worker_threads(limits.threads),
        pacing: match limits.rate_per_s {
            Some(rate_per_s) => Pacing::Open { rate_per_s },
            None => Pacing::Closed,
        },
        connecting: Connecting::OnDemand,
        failures: FailurePolicy {
            on_error: OnError::AbortClient,
            on_broken_script: OnBrokenScript::EndLoad,
            ..FailurePolicy::default()
        },
        ..Workload::new(WORKLOAD, limits.threads, driver, program)
    };
    let seconds = Duration::from_secs;
    let warmup = (limits.warmup_s > 0).then(|| Phase::new("warmup", seconds(limits.warmup_s)));
    let measure = Phase::new("measure", limits.time_s.map_or(Duration::MAX, seconds));
    Load {
        interval: INTERVAL,
        // Without a forced shutdown nothing is given up, however long it takes.
        grace: limits.forced_shutdown_s.map_or(Duration::MAX, seconds),
        record_finishing: true,
        ..Load::new(vec![workload], warmup.into_iter().chain([measure]).collect())
    }
}
