//! Measures one shape of load against a responder.

use crate::process::Responder;
use dyno_engine::{Connected, DriveError, Ending, Load, Observer, Phase, Preparing, Stop, ThreadOptions, Workload};
use dyno_load::{Access, LoadError, LoadPlan, Ready, ScriptText, Scripts, Server, no_log};
use dyno_record::{Interval, LatencyHistogram, Point, Route, Shape};
use dyno_target::postgres::address::{ConnectionInfo, Host};
use dyno_wire::Protocol;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::{TimeVal, TimeValLike};
use std::io;
use std::net::Ipv4Addr;
use std::ops::ControlFlow;
use std::time::Duration;

/// What clients do: a look-up as pgbench's `-S` does it, so that a ceiling is one of work that people measure.
const SCRIPT: &str = "\\set aid random(1, 100000)\nselect abalance from pgbench_accounts where aid = :aid;\n";

/// Whom clients log in as, and where; the responder looks at neither.
const USER: &str = "dyno";

/// Until caches and branch predictors are used to it.
const WARMUP: Duration = Duration::from_millis(300);

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
    /// Its plan cannot be driven.
    #[error(transparent)]
    Load(#[from] LoadError),
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
    let plan = Load {
        threads,
        ..plan(shape, lasts, responder)
    };
    let mut meter = Meter::new(responder);
    let outcome = Ready::of(plan, &no_log)?.drive(&mut meter, stop)?;
    if let Some(ending) = outcome.ended_early {
        return Err(MeasureError::Ended(ending));
    }
    meter.point(shape)
}

fn plan(shape: Shape, lasts: Duration, responder: &Responder) -> LoadPlan {
    let port = responder.port();
    let host = match shape.route {
        Route::Unix => Host::Unix {
            directory: responder.folder().to_owned(),
            port,
        },
        Route::Tcp => Host::Tcp {
            name: Ipv4Addr::LOCALHOST.to_string(),
            address: None,
            port,
        },
    };
    let access = Access {
        server: Server::Postgres(Box::new(ConnectionInfo::local(host, USER, None, USER))),
        preparing: Preparing::AtStart,
    };
    let script = ScriptText {
        name: "ceiling".to_owned(),
        text: SCRIPT.as_bytes().to_vec(),
        weight: 1,
    };
    let scripts = Scripts {
        scripts: vec![script],
        lexis: Default::default(),
        variables: Vec::new(),
        seed: 1,
        protocol: Protocol::Prepared,
    };
    let workload = Workload {
        threads: shape.threads,
        ..Workload::new("ceiling", shape.clients, access, scripts.into())
    };
    let phases = vec![Phase::new("warmup", WARMUP), Phase::new("measure", lasts)];
    Load {
        // Once for each phase.
        interval: WARMUP.max(lasts),
        ..Load::new(vec![workload], phases)
    }
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
