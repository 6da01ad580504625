//! What a fleet is told, and tells.

use crate::clock::Comparison;
use crate::protocol::{Hello, HostCeiling};
use crate::share::{Share, ShareError};
use crate::start::{Host, HostError, RayError, StartError};
use dyno_engine::Observer;
use dyno_load::BytesError;
use dyno_record::ListedInterval;
use std::time::Duration;

/// What becomes of a load when one of its hosts is lost.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum OnLostHost {
    /// The others go on.
    #[default]
    Continue,
    /// It ends.
    End,
}

/// How long is waited for agents.
#[derive(Clone, Copy, Debug)]
pub struct Patience {
    /// For the first word of one.
    pub start: Duration,
    /// For any word of one. What is heard later than that is not waited for: the agent is lost.
    pub silence: Duration,
}

impl Default for Patience {
    fn default() -> Self {
        Self {
            start: Duration::from_secs(30),
            silence: Duration::from_secs(10),
        }
    }
}

/// Is told of the whole load, and of its hosts beside. All is told on the thread that drives the fleet.
pub trait FleetObserver: Observer {
    /// What a host did in an interval, which the whole is yet to be told of.
    fn host_interval(&mut self, host: usize, interval: &ListedInterval);
    /// The counters of a host, so long after the load began, in the columns of
    /// [`dyno_target::host::load_host_series`].
    fn host_sample(&mut self, host: usize, at: Duration, values: &[Option<f64>]);
    /// A host is missing from now on.
    fn host_lost(&mut self, host: usize, gap: &Gap);
}

/// A fleet that cannot drive a load.
#[derive(Debug, thiserror::Error)]
pub enum FleetError {
    /// A word names no host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The load cannot be shared out.
    #[error(transparent)]
    Share(#[from] ShareError),
    /// The plan cannot travel.
    #[error(transparent)]
    Bytes(#[from] BytesError),
    /// The plan is too large for a message.
    #[error(
        "the load takes {} MB to describe, more than load hosts can be sent: shorten its scripts, or let dyno drive it \
         (hosts = 0)",
        bytes / 1_000_000
    )]
    TooLarge {
        /// Its size.
        bytes: usize,
    },
    /// A Ray cluster cannot be used.
    #[error(transparent)]
    Ray(RayError),
    /// An agent cannot be started.
    #[error("load host {host}: {cause}")]
    Start {
        /// The host.
        host: String,
        /// Why.
        cause: StartError,
    },
    /// An agent was lost, or could not begin, before the load had begun.
    #[error("load host {host}: {reason}")]
    Failed {
        /// The host.
        host: String,
        /// Why.
        reason: String,
    },
    /// It was asked to end before the load had begun.
    #[error("stopped on request")]
    Stopped,
}

/// From when on a host is missing in a load.
#[derive(Clone, Debug, PartialEq)]
pub struct Gap {
    /// Up to there, since the load began, what it did is counted.
    pub from: Duration,
    /// Why.
    pub reason: String,
}

/// What is known of a host when the load is over.
#[derive(Clone, Debug)]
pub struct HostOutcome {
    /// The host.
    pub host: Host,
    /// What its agent said of it.
    pub hello: Hello,
    /// What it had of the load.
    pub share: Share,
    /// How long after the agreed instant it began, by its own clock; `None` if it never said.
    pub late: Option<Duration>,
    /// What dyno does at most there, as far as it was measured there.
    pub ceiling: Option<HostCeiling>,
    /// How its clock compares.
    pub clock: Comparison,
    /// How far its time of day was ahead of ours before the load, in nanoseconds.
    pub time_of_day_ns: Option<i64>,
    /// Since when it is missing, if it is.
    pub gap: Option<Gap>,
    /// What its agent wanted to be kept in mind, as sentences.
    pub warnings: Vec<String>,
    /// For each workload how many events of scripts in Lua began again after an error which they ignore; empty: not
    /// known.
    pub restarted: Vec<u64>,
}
