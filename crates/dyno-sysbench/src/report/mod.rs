//! What is said of a run: lines while it goes on, and the report at its end, in the form of any version of sysbench.

mod histogram;
mod text;

pub use histogram::histogram;

use crate::version::Version;

/// What happened in a stretch of a run: what sysbench hands to a script's report hooks, too.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Stat {
    /// Clients that are at work.
    pub threads_running: u64,
    /// Events that were completed.
    pub events: u64,
    /// Queries that brought rows.
    pub reads: u64,
    /// Queries that changed rows.
    pub writes: u64,
    /// Other queries.
    pub other: u64,
    /// Errors after which the event began anew.
    pub errors: u64,
    /// Connections that were made anew.
    pub reconnects: u64,
    /// From the start to the end of the stretch.
    pub time_total_s: f64,
    /// How long the stretch is.
    pub time_interval_s: f64,
    /// The percentile that was asked for.
    pub latency_pct_s: f64,
    /// The shortest event.
    pub latency_min_s: f64,
    /// The longest one.
    pub latency_max_s: f64,
    /// The mean.
    pub latency_avg_s: f64,
    /// All of them together.
    pub latency_sum_s: f64,
    /// Events that are due and were not begun.
    pub queue_length: u64,
    /// Events that are under way.
    pub concurrency: u64,
}

impl Stat {
    /// How many queries there were.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.reads + self.writes + self.other
    }

    /// A number per second of the stretch.
    fn per_s(&self, number: u64) -> f64 {
        match self.time_interval_s > 0.0 {
            true => number as f64 / self.time_interval_s,
            false => 0.0,
        }
    }
}

/// How a run is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Manner {
    /// Whose texts.
    pub version: Version,
    /// The percentile, 1 to 100; `None`: none.
    pub percentile: Option<u8>,
    /// Whether events are begun at a rate.
    pub has_rate: bool,
    /// Whether the script uses a database.
    pub has_database: bool,
}

/// A mean and a deviation over the clients.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Spread {
    /// The mean.
    pub mean: f64,
    /// The standard deviation of all of them.
    pub deviation: f64,
}

impl Spread {
    /// Of so many values.
    pub fn of(values: impl Iterator<Item = f64> + Clone) -> Self {
        let number = values.clone().count();
        if number == 0 {
            return Self::default();
        }
        let mean = values.clone().sum::<f64>() / number as f64;
        let variance = values.map(|value| (value - mean).powi(2)).sum::<f64>() / number as f64;
        Self {
            mean,
            deviation: variance.sqrt(),
        }
    }
}

/// How evenly the clients worked.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Fairness {
    /// Events of a client.
    pub events: Spread,
    /// Seconds that a client's events took.
    pub busy_s: Spread,
}

impl Fairness {
    /// Of clients that had so many events, which took so many nanoseconds.
    pub fn of(clients: impl Iterator<Item = (u64, u64)> + Clone) -> Self {
        Self {
            events: Spread::of(clients.clone().map(|(events, _)| events as f64)),
            busy_s: Spread::of(clients.map(|(_, busy_ns)| busy_ns as f64 / 1e9)),
        }
    }
}

#[cfg(test)]
mod tests;
