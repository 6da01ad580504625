//! Measures one shape of load against a responder.

use crate::process::Responder;
use dyno_engine::{
    Address, Connected, Connecting, DriveError, Ending, Endpoint, FailurePolicy, Load, Observer, Pacing, Phase,
    Preparing, Program, Stop, ThreadOptions, WireDriver, Workload, drive,
};
use dyno_record::{Interval, LatencyHistogram, Point, Route, Shape};
use dyno_script::{Script, ScriptError, ScriptProgram, ScriptSet, Seeds, Symbols, Variables};
use dyno_wire::{PgConfig, PgSession, Protocol, WireError};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// What clients do: a look-up as pgbench's `-S` does it, so that a ceiling is one of work that people measure.
const SCRIPT: &str = "\\set aid random(1, 100000)\nselect abalance from pgbench_accounts where aid = :aid;\n";

/// Until caches and branch predictors are used to it.
const WARMUP: Duration = Duration::from_millis(300);

/// How long connecting and logging in may take.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(30);

/// Why a ceiling could not be measured.
#[derive(Debug, thiserror::Error)]
pub enum MeasureError {
    /// The load could not begin.
    #[error(transparent)]
    Drive(#[from] DriveError),
    /// It ended before its time.
    #[error("the measurement ended early: {0}")]
    Ended(Ending),
    /// The responder does not answer.
    #[error("the responder: {0}")]
    Responder(#[from] io::Error),
    /// The script, which is our own.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// Its statement.
    #[error(transparent)]
    Statement(#[from] WireError),
}

/// Drives `responder` with a load of this shape and threads that work like this, for `lasts` after a short warm-up,
/// in this process.
///
/// # Errors
/// The load could not begin, or ended early.
pub fn measure(
    shape: Shape,
    threads: ThreadOptions,
    lasts: Duration,
    responder: &mut Responder,
    stop: &Stop,
) -> Result<Point, MeasureError> {
    let load = Load {
        threads,
        ..load(shape, lasts, responder)?
    };
    let mut meter = Meter::new(responder);
    let outcome = drive(&load, &mut meter, stop)?;
    if let Some(ending) = outcome.ended_early {
        return Err(MeasureError::Ended(ending));
    }
    meter.point(shape)
}

fn load(
    shape: Shape,
    lasts: Duration,
    responder: &Responder,
) -> Result<Load<WireDriver<PgSession>, ScriptProgram>, MeasureError> {
    let mut symbols = Symbols::new();
    let script = Script::parse("ceiling", SCRIPT, &mut symbols)?;
    let seeds = Seeds::draw(1, shape.clients, shape.threads, false);
    let program = ScriptProgram::new(ScriptSet {
        scripts: vec![(Arc::new(script), 1)],
        variables: Variables::new(&symbols),
        client_id: None,
        seeds,
        protocol: Protocol::Prepared,
    });
    let config = Arc::new(PgConfig {
        user: "dyno".to_owned(),
        ..PgConfig::default()
    });
    let workload = Workload {
        name: "ceiling".to_owned(),
        clients: shape.clients,
        threads: shape.threads,
        pacing: Pacing::Closed,
        start_delay: Duration::ZERO,
        stages_begin: Duration::ZERO,
        stages: Vec::new(),
        driver: WireDriver {
            endpoints: vec![Endpoint {
                address: match shape.route {
                    Route::Unix => Address::Unix(responder.socket()),
                    Route::Tcp => Address::Tcp(vec![SocketAddr::from((Ipv4Addr::LOCALHOST, responder.port()))]),
                },
                tls: None,
                required_peer: None,
                connect_timeout: CONNECT_TIMEOUT,
            }],
            session: Box::new(move |_, _| PgSession::new(Arc::clone(&config))),
            statements: program.encode::<PgSession>()?,
            texts: program.statements(),
            preparing: Preparing::AtStart,
        },
        program,
        transactions_per_client: None,
        connecting: Connecting::Once,
        reconnect: false,
        failures: FailurePolicy::default(),
        latency_limit: None,
        time_commands: false,
        trace: false,
        log: None,
    };
    let phase = |name: &str, duration| Phase {
        name: name.to_owned(),
        duration,
    };
    Ok(Load {
        workloads: vec![workload],
        phases: vec![phase("warmup", WARMUP), phase("measure", lasts)],
        // Once for each phase.
        interval: WARMUP.max(lasts),
        grace: Duration::from_secs(10),
        include_connecting: false,
        record_finishing: false,
        threads: ThreadOptions::default(),
    })
}

/// CPU time used so far.
#[derive(Clone, Copy, Default)]
struct Used {
    user: Duration,
    system: Duration,
    responder: Duration,
}

/// Reads the meters at the begin and at the end of what is measured.
struct Meter<'a> {
    responder: &'a mut Responder,
    begin: Used,
    end: Used,
    lasted: Duration,
    transport: String,
    latency: LatencyHistogram,
    failure: Option<io::Error>,
}

impl<'a> Meter<'a> {
    fn new(responder: &'a mut Responder) -> Self {
        Self {
            responder,
            begin: Used::default(),
            end: Used::default(),
            lasted: Duration::ZERO,
            transport: String::new(),
            latency: LatencyHistogram::new(),
            failure: None,
        }
    }

    fn read(&mut self) -> io::Result<Used> {
        let own = getrusage(UsageWho::RUSAGE_SELF)?;
        let duration = |time: TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
        Ok(Used {
            user: duration(own.user_time()),
            system: duration(own.system_time()),
            responder: self.responder.cpu()?,
        })
    }

    fn point(self, shape: Shape) -> Result<Point, MeasureError> {
        if let Some(error) = self.failure {
            return Err(error.into());
        }
        let transactions = self.latency.count().max(1) as f64;
        let per_transaction = |used: fn(&Used) -> Duration| {
            used(&self.end).saturating_sub(used(&self.begin)).as_secs_f64() * 1e6 / transactions
        };
        let (user_us, system_us) = (per_transaction(|used| used.user), per_transaction(|used| used.system));
        Ok(Point {
            shape,
            transport: self.transport,
            measured: jiff::Timestamp::now(),
            measured_s: self.lasted.as_secs_f64(),
            tps: transactions / self.lasted.as_secs_f64(),
            tps_per_core: 1e6 / (user_us + system_us),
            client_user_us: user_us,
            client_system_us: system_us,
            responder_us: per_transaction(|used| used.responder),
            p50_us: self.latency.percentile_ns(50.0) as f64 / 1e3,
            p99_us: self.latency.percentile_ns(99.0) as f64 / 1e3,
        })
    }
}

impl Observer for Meter<'_> {
    fn connected(&mut self, connected: &Connected) {
        let transports = connected.transports.iter().map(ToString::to_string);
        self.transport = transports.collect::<Vec<_>>().join(", ");
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        let used = match self.read() {
            Ok(used) => used,
            Err(error) => {
                self.failure = Some(error);
                return ControlFlow::Break(());
            }
        };
        if interval.phase == 0 {
            self.begin = used;
        } else {
            self.end = used;
            self.lasted += interval.duration;
            interval
                .recordings
                .iter()
                .for_each(|recording| self.latency.add(&recording.latency));
        }
        ControlFlow::Continue(())
    }
}
