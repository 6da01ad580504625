//! What is said of a run at its end.
//!
//! The figures are of the measured phase only. Percentiles are read from the sum of all intervals' histograms,
//! never averaged; transactions that failed are counted apart and have no latency.

mod faulty;
mod warning;

pub use warning::{ENOUGH_INTERVALS, LONG_INTERVAL_S, OthersBusy, Scale, Warning, WarningKind};

use crate::plan::{Instances, Scripts, Span, Stage, Workload};
use dyno_record::MOST_STATEMENTS;
use hdrhistogram::Histogram;
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};

/// All figures of a run. Parts that were not observed are absent.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Summary {
    /// How long was measured, in seconds.
    pub measured_s: f64,
    /// One entry per workload, in the experiment's order.
    pub workloads: Vec<WorkloadSummary>,
    /// All workloads together, if there are several and none has a number of transactions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub total: Option<Total>,
    /// What the experiment derives from the figures, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<String, f64>,
    /// Each stage of the measured time, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageSummary>,
    /// How the connections came up.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub connection: Option<Connection>,
    /// Tables before and after the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tables: Vec<TableGrowth>,
    /// How busy the machine was that made the load.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub load_host: Option<HostCpu>,
    /// What the load cost dyno itself.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub client_cpu: Option<ClientCpu>,
    /// What watching the server and the host cost.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub sampling: Option<SamplingCost>,
    /// What to keep in mind when reading the figures.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub warnings: Vec<Warning>,
}

impl Summary {
    /// Whether closed loops go beside workloads that have a schedule. What a schedule asks for is nothing that the
    /// server decides: a sum over both says neither how fast it is nor how it was used.
    #[must_use]
    pub fn mixes_loops(&self) -> bool {
        let scheduled = |workload: &WorkloadSummary| workload.pacing.is_scheduled();
        self.workloads.iter().any(scheduled) && !self.workloads.iter().all(scheduled)
    }

    /// The latency of `workload`, which is one of these, over all of the time measured; `None` if no transaction
    /// completed, or if there were several stages: percentiles over different loads are of none, and each of
    /// [`stages`](Self::stages) has its own.
    #[must_use]
    pub fn latency_of(&self, workload: &WorkloadSummary) -> Option<Latency> {
        workload.latency.filter(|_| self.stages.is_empty())
    }

    /// Whether there are several workloads and one has a number of transactions: its rate is that of the time it took,
    /// and rates of different times do not add up.
    #[must_use]
    pub fn has_times_apart(&self) -> bool {
        let is_counted = |workload: &WorkloadSummary| workload.transactions_per_client.is_some();
        self.workloads.len() > 1 && self.workloads.iter().any(is_counted)
    }

    /// What a transaction takes at least of which none was finished, in seconds; of several workloads the least.
    #[must_use]
    pub fn longer_than_s(&self) -> Option<f64> {
        let known = self.workloads.iter().filter_map(WorkloadSummary::longer_than_s);
        known.reduce(f64::min)
    }

    /// The transactions per second that the server decides: of all workloads together, but where loops are
    /// [mixed](Self::mixes_loops) of the closed ones alone. `None` where they do not
    /// [add up](Self::has_times_apart), and where [nothing was finished](Self::longer_than_s) of a workload.
    #[must_use]
    pub fn tps(&self) -> Option<f64> {
        if self.has_times_apart() || self.longer_than_s().is_some() {
            return None;
        }
        let mixed = self.mixes_loops();
        let counts = |workload: &&WorkloadSummary| !(mixed && workload.pacing.is_scheduled());
        Some(self.workloads.iter().filter(counts).map(|workload| workload.tps).sum())
    }
}

/// What all workloads did together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Total {
    /// Transactions that completed without error.
    pub transactions: u64,
    /// The same per second, over the whole time measured.
    pub tps: f64,
    /// Statements per second, over the whole time measured.
    pub statements_per_s: f64,
    /// Transactions that ended with an error.
    pub errors: u64,
}

/// The figures of one stage of the measured time.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageSummary {
    /// Its name.
    pub name: String,
    /// When its first interval began, in seconds since the first phase began.
    pub start_s: f64,
    /// When its last interval ended.
    pub end_s: f64,
    /// One entry per workload that takes part, in the experiment's order. In archives of earlier dynos the others have
    /// a TPS of 0.
    pub workloads: Vec<StageWorkload>,
}

/// What a workload did in a stage.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct StageWorkload {
    /// Its name.
    pub name: String,
    /// Transactions per second over the whole stage.
    pub tps: f64,
    /// Open loop: transactions asked for per second, on average over the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub asked_per_s: Option<f64>,
    /// Coefficient of variation of the transactions per second in percent. Absent with fewer than two complete
    /// intervals, without transactions, and where the load itself changes during the stage.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub variation_percent: Option<f64>,
    /// Median latency in microseconds; absent if no transaction completed.
    pub p50_us: Option<f64>,
    /// 95th percentile of the latency in microseconds.
    pub p95_us: Option<f64>,
    /// 99th percentile of the latency in microseconds.
    pub p99_us: Option<f64>,
}

/// What it cost to read the counters of server and host while the load ran, all phases together.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct SamplingCost {
    /// How long the server had a query of the samplers to answer, in milliseconds per second. Queries of several
    /// samplers add up.
    pub server_ms_per_s: f64,
    /// CPU time of the samplers' threads in dyno, in microseconds per second.
    pub dyno_cpu_us_per_s: f64,
}

/// Who made a load, and how: what a summary needs to know beside the counts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadFacts {
    /// Unique name of letters, digits, `-` and `_`.
    pub name: String,
    /// Number of connections.
    pub clients: usize,
    /// Number of threads that shared them.
    pub threads: usize,
    /// What began a transaction.
    #[serde(flatten)]
    pub pacing: Pacing,
    /// How many transactions each client was to have; `None`: as many as fit into the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_client: Option<u64>,
    /// How long after the begin of the load its clients began, in seconds.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub start_delay_s: f64,
    /// What the stages in which it takes part ask of it; empty without stages.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<StageFacts>,
    /// Its scripts, if there are several.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptFacts>,
    /// The SQL of each statement of its scripts, in order; beyond the first 256, a word for all others together.
    pub statements: Vec<String>,
    /// The server that its clients connected to; `None`: the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The workload of the file that it is an instance of, if that ran on several servers of one name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Instances>,
}

fn is_zero(number: &f64) -> bool {
    *number == 0.0
}

/// What a stage asks of a workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StageFacts {
    /// The stage.
    pub name: String,
    /// Transactions asked for per second, over all clients; `None`: a closed loop.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate_per_s: Option<Span>,
    /// Whether the load changes while the stage lasts.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub ramp: bool,
}

/// One script of several.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ScriptFacts {
    /// What it is called.
    pub name: String,
    /// Its share of all weights is its share of the transactions.
    pub weight: u64,
}

impl WorkloadFacts {
    /// So many clients in a closed loop, and nothing else that is to be said of them.
    #[must_use]
    pub fn closed(name: &str, clients: usize, threads: usize) -> Self {
        Self {
            name: name.to_owned(),
            clients,
            threads,
            pacing: Pacing::Closed,
            transactions_per_client: None,
            start_delay_s: 0.0,
            stages: Vec::new(),
            scripts: Vec::new(),
            statements: Vec::new(),
            server: None,
            instances: None,
        }
    }

    /// What is to be kept of `workload`, whose scripts have these `statements`.
    #[must_use]
    pub fn new(workload: &Workload, statements: Vec<String>) -> Self {
        let scripts = match &workload.scripts {
            Scripts::One(_) | Scripts::Lua(_) => [].as_slice(),
            Scripts::Several { scripts } => scripts,
        };
        Self {
            name: workload.name.clone(),
            clients: workload.clients,
            threads: workload.threads,
            pacing: workload
                .rate_per_s
                .map_or(Pacing::Closed, |rate_per_s| Pacing::Open { rate_per_s }),
            transactions_per_client: workload.transactions_per_client,
            start_delay_s: workload.start_delay.as_secs_f64(),
            stages: Vec::new(),
            scripts: scripts
                .iter()
                .map(|weighted| ScriptFacts {
                    name: weighted.script.script_name.clone(),
                    weight: weighted.weight,
                })
                .collect(),
            statements: told_apart(statements),
            server: workload.server.clone(),
            instances: workload.instances.clone(),
        }
    }

    /// The same workload in an experiment with these stages.
    #[must_use]
    pub fn in_stages(mut self, stages: &[Stage]) -> Self {
        let steady = |span: &Span| span.from == span.to;
        let of_workload = match self.pacing {
            Pacing::Open { rate_per_s } => Some(Span::constant(rate_per_s)),
            Pacing::Closed | Pacing::Staged { .. } => None,
        };
        let takes_part = |stage: &&Stage| stage.workloads.is_empty() || stage.workloads.contains(&self.name);
        self.stages = stages
            .iter()
            .filter(takes_part)
            .map(|stage| StageFacts {
                name: stage.name.clone(),
                rate_per_s: stage.rate.or(of_workload),
                ramp: ![stage.rate, stage.clients].iter().flatten().all(steady),
            })
            .collect();
        let rates: Vec<f64> = self
            .stages
            .iter()
            .filter_map(|stage| stage.rate_per_s)
            .flat_map(|span| [span.from, span.to])
            .collect();
        let closed = self.stages.iter().any(|stage| stage.rate_per_s.is_none());
        let least_per_s = rates.iter().copied().min_by(f64::total_cmp);
        let most_per_s = rates.iter().copied().max_by(f64::total_cmp);
        self.pacing = match (least_per_s, most_per_s) {
            (Some(rate_per_s), Some(most_per_s)) if rate_per_s == most_per_s && !closed => Pacing::Open { rate_per_s },
            (Some(least_per_s), Some(most_per_s)) => Pacing::Staged {
                least_per_s,
                most_per_s,
                closed,
            },
            _ => self.pacing,
        };
        self
    }

    /// Whether it is active in the stage `name`.
    #[must_use]
    pub fn takes_part(&self, name: &str) -> bool {
        self.stages.is_empty() || self.stage(name).is_some()
    }

    /// What the stage `name` asks of it; `None` if it takes no part.
    #[must_use]
    pub fn stage(&self, name: &str) -> Option<&StageFacts> {
        self.stages.iter().find(|stage| stage.name == name)
    }
}

/// The statements whose latencies are kept one by one, with a word for the others, which are kept together.
fn told_apart(mut statements: Vec<String>) -> Vec<String> {
    if statements.len() > MOST_STATEMENTS {
        let others = statements.split_off(MOST_STATEMENTS).len();
        statements.push(format!("(the other {others} statements together)"));
    }
    statements
}

/// When a client begins its next transaction.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "loop", rename_all = "lowercase")]
pub enum Pacing {
    /// When the previous one is complete. Latency is what the server took, not what a user who arrives at any
    /// moment would wait.
    Closed,
    /// By a schedule. Latency counts from the scheduled instant.
    Open {
        /// Transactions asked for per second, over all clients.
        rate_per_s: f64,
    },
    /// By a schedule that differs between the stages of the measured time, or changes during one.
    Staged {
        /// The lowest rate of any stage, in transactions per second over all clients.
        least_per_s: f64,
        /// The highest.
        most_per_s: f64,
        /// Whether the loop is closed in some stages.
        #[serde(default, skip_serializing_if = "std::ops::Not::not")]
        closed: bool,
    },
}

impl Pacing {
    /// That of `workload` in an experiment with these stages.
    #[must_use]
    pub fn of(workload: &Workload, stages: &[Stage]) -> Self {
        WorkloadFacts::new(workload, Vec::new()).in_stages(stages).pacing
    }

    /// Whether transactions begin when the previous one is complete, at least in some stages.
    #[must_use]
    pub fn is_closed(self) -> bool {
        match self {
            Self::Closed => true,
            Self::Open { .. } => false,
            Self::Staged { closed, .. } => closed,
        }
    }

    /// Whether all transactions have a schedule.
    #[must_use]
    pub fn is_scheduled(self) -> bool {
        self.is_open() && !self.is_closed()
    }

    /// Whether transactions have a schedule, at least in some stages.
    #[must_use]
    pub fn is_open(self) -> bool {
        match self {
            Self::Closed => false,
            Self::Open { .. } | Self::Staged { .. } => true,
        }
    }
}

/// The figures of one workload.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct WorkloadSummary {
    /// Its name.
    pub name: String,
    /// Number of connections.
    pub clients: usize,
    /// Number of threads that shared them.
    pub threads: usize,
    /// Open or closed loop.
    #[serde(flatten)]
    pub pacing: Pacing,
    /// Transactions that completed without error.
    pub transactions: u64,
    /// Statements that completed without error.
    pub statements: u64,
    /// Transactions that ended with an error.
    pub errors: u64,
    /// Transactions that were still running when the run ended, and count nowhere else.
    #[serde(default)]
    pub unfinished: u64,
    /// How many transactions each client was to have; `None`: as many as fit into the time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_client: Option<u64>,
    /// What only transactions have that are counted, or that take longer than the time measured.
    #[serde(default, skip_serializing_if = "Completion::is_nothing")]
    pub completion: Completion,
    /// Transactions of an open loop that were not begun, because their turn was further back than the latency limit.
    #[serde(default)]
    pub skipped: u64,
    /// Transactions that completed, but took longer than the latency limit.
    #[serde(default)]
    pub late: u64,
    /// Transactions, completed or failed, that were begun more than once.
    #[serde(default)]
    pub retried: u64,
    /// How often they were begun again.
    #[serde(default)]
    pub retries: u64,
    /// Transactions per second over the whole time measured.
    pub tps: f64,
    /// Statements per second over the whole time measured.
    pub statements_per_s: f64,
    /// How the transactions per second differed between intervals; absent if no interval was complete.
    pub steadiness: Option<Steadiness>,
    /// How long transactions took; absent if none completed.
    pub latency: Option<Latency>,
    /// Open loop: how late transactions began; absent if none completed.
    pub lag: Option<Lag>,
    /// How long each statement took, in the script's order.
    pub statement_latencies: Vec<StatementSummary>,
    /// Errors by SQLSTATE, the most frequent first.
    pub errors_by_state: Vec<ErrorSummary>,
    /// Each script, if there are several. Absent in a summary that was made from the intervals of a run that was
    /// killed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub scripts: Vec<ScriptSummary>,
}

/// How work ended that is not bounded by the time measured.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Completion {
    /// With a number of transactions: how long it took until all were done, in seconds; absent if they were not. The
    /// TPS is over this time.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub took_s: Option<f64>,
    /// How many of the transactions were finished only after the time measured. They are in no interval. If there were
    /// no others, the TPS is the sum of the inverses of their times: what as many clients do that always execute such
    /// transactions.
    #[serde(default, skip_serializing_if = "is_none")]
    pub after_end: u64,
    /// For how long the unfinished transactions had been executed at least when they were given up, in seconds. They
    /// take longer than this.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub longer_than_s: Option<f64>,
}

impl Completion {
    fn is_nothing(&self) -> bool {
        *self == Self::default()
    }
}

fn is_none(number: &u64) -> bool {
    *number == 0
}

/// The figures of one script of several.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ScriptSummary {
    /// What it is called.
    pub name: String,
    /// Its share of all weights was to be its share of the transactions.
    pub weight: u64,
    /// Transactions that completed without error.
    pub transactions: u64,
    /// The same per second, over the whole time measured.
    pub tps: f64,
    /// Mean latency in microseconds; absent if none completed.
    pub latency_mean_us: Option<f64>,
    /// Standard deviation of the latency in microseconds; absent if none completed.
    pub latency_stddev_us: Option<f64>,
    /// 90th percentile of the latency in microseconds, without what the script slept; absent if none completed, and in
    /// summaries of earlier versions.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub response_p90_us: Option<f64>,
    /// Transactions that were not begun.
    pub skipped: u64,
    /// Transactions that were begun more than once.
    pub retried: u64,
    /// How often they were begun again.
    pub retries: u64,
    /// Transactions that ended with SQLSTATE 40001.
    pub serialization_failures: u64,
    /// Transactions that ended with SQLSTATE 40P01.
    pub deadlock_failures: u64,
    /// Transactions that ended with any other error.
    pub other_failures: u64,
}

impl WorkloadSummary {
    /// What its transactions take longer than, in seconds, if that is all that is known of them: none was finished.
    #[must_use]
    pub fn longer_than_s(&self) -> Option<f64> {
        self.completion.longer_than_s.filter(|_| self.transactions == 0)
    }

    /// Whether its TPS is the sum of the inverses of its transactions' times, see [`Completion::after_end`].
    #[must_use]
    pub fn tps_is_of_times(&self) -> bool {
        let completion = self.completion;
        completion.took_s.is_none() && completion.after_end > 0 && completion.after_end == self.transactions
    }

    /// The share of transactions that ended with an error, in percent.
    #[must_use]
    pub fn error_percent(&self) -> f64 {
        let all = self.transactions + self.errors;
        if all == 0 {
            0.0
        } else {
            self.errors as f64 * 100.0 / all as f64
        }
    }
}

/// Transactions per second over the intervals that were not cut short.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Steadiness {
    /// Number of intervals.
    pub intervals: u64,
    /// Transactions per second of the slowest.
    pub tps_min: f64,
    /// Transactions per second of the fastest.
    pub tps_max: f64,
    /// Coefficient of variation in percent: standard deviation over mean; of several stages each one's against its
    /// own mean. Absent with fewer than two intervals or no transactions, and where the load itself changes all the
    /// time.
    pub variation_percent: Option<f64>,
}

/// How long transactions took.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Latency {
    /// Mean in microseconds.
    pub mean_us: f64,
    /// Standard deviation in microseconds.
    pub stddev_us: f64,
    /// Minimum in microseconds.
    pub min_us: f64,
    /// Median in microseconds.
    pub p50_us: f64,
    /// 95th percentile in microseconds.
    pub p95_us: f64,
    /// 99th percentile in microseconds.
    pub p99_us: f64,
    /// 99.9th percentile in microseconds.
    pub p99_9_us: f64,
    /// Maximum in microseconds.
    pub max_us: f64,
}

impl Latency {
    /// The figures of a histogram of nanoseconds; `None` when it is empty.
    #[must_use]
    pub fn of(histogram: &Histogram<u64>) -> Option<Self> {
        let percentile_us = |percent| histogram.value_at_percentile(percent) as f64 / 1000.0;
        (!histogram.is_empty()).then(|| Self {
            mean_us: histogram.mean() / 1000.0,
            stddev_us: histogram.stdev() / 1000.0,
            min_us: histogram.min() as f64 / 1000.0,
            p50_us: percentile_us(50.0),
            p95_us: percentile_us(95.0),
            p99_us: percentile_us(99.0),
            p99_9_us: percentile_us(99.9),
            max_us: histogram.max() as f64 / 1000.0,
        })
    }
}

/// How long after their scheduled instants transactions began.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Lag {
    /// Mean in microseconds.
    pub mean_us: f64,
    /// Maximum in microseconds.
    pub max_us: f64,
}

/// How long one statement of a script took.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StatementSummary {
    /// Its text.
    pub sql: String,
    /// How often it completed without error.
    pub count: u64,
    /// Its latency; absent if it never completed.
    pub latency: Option<Latency>,
}

/// How often one SQLSTATE ended a transaction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct ErrorSummary {
    /// The five characters of the state.
    pub sqlstate: String,
    /// Number of transactions.
    pub count: u64,
    /// The message of the first.
    pub example: String,
}

/// How long it took to open, log in and prepare.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Connection {
    /// Number of connections.
    pub count: u64,
    /// Mean of one connection in microseconds.
    pub mean_us: f64,
    /// The slowest connection in microseconds.
    pub max_us: f64,
    /// From the first attempt to the last connection being ready, in microseconds.
    pub total_us: f64,
}

/// A table with its indexes before and after a run.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableGrowth {
    /// The table.
    pub table: String,
    /// Bytes of the table without its indexes, before the load began.
    pub table_before_bytes: u64,
    /// The same after the load had ended.
    pub table_after_bytes: u64,
    /// Bytes of its indexes before the load began.
    pub indexes_before_bytes: u64,
    /// The same after the load had ended.
    pub indexes_after_bytes: u64,
}

/// Shares of all CPU time of a machine, in percent; together 100.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct HostCpu {
    /// In user space.
    pub user_percent: f64,
    /// In the kernel.
    pub system_percent: f64,
    /// Idle while waiting for storage.
    pub iowait_percent: f64,
    /// Taken by other virtual machines.
    pub steal_percent: f64,
    /// Idle.
    pub idle_percent: f64,
}

/// dyno's own CPU time per transaction, errors included.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ClientCpu {
    /// In user space, in microseconds.
    pub user_us: f64,
    /// In the kernel, in microseconds.
    pub system_us: f64,
}
