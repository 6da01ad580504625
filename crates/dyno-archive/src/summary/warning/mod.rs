//! What to keep in mind when reading a summary, each with what to do about it.

mod text;

use crate::earlier;
use crate::summary::{Lag, WorkloadSummary};
use dyno_record::Shape;
use serde::{Deserialize, Serialize};

/// Fewer intervals than this say little about steadiness.
pub const ENOUGH_INTERVALS: u64 = 10;

/// Intervals that last longer than this, in seconds, are better made shorter than waited for.
pub const LONG_INTERVAL_S: f64 = 1.5;

/// Processes that were neither dyno's nor the server's, and had most of a machine.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct OthersBusy {
    /// How many cores they kept busy, on average.
    pub cores: f64,
    /// How many the machine has.
    pub of_cores: f64,
    /// Which of them were busiest, if that is known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub busiest: Option<String>,
}

/// A reason to take figures with care. Its text says what was seen and what to do next.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
#[derive(strum::EnumDiscriminants)]
#[strum_discriminants(name(WarningKind), derive(strum::EnumIter), doc = "Which warning it is.")]
pub enum Warning {
    /// The run ended before its time.
    EndedEarly {
        /// Why.
        reason: String,
        /// Seconds measured.
        measured_s: f64,
        /// Seconds that were to be measured; `None`: as many as the transactions take.
        planned_s: Option<f64>,
    },
    /// Clients ended before their time.
    Aborted {
        /// The workload.
        workload: String,
        /// How many.
        aborted: u64,
        /// Of how many.
        clients: u64,
        /// When the first did, in seconds since the load began; absent in archives of earlier dynos.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        first_s: Option<f64>,
        /// Why the first did.
        reason: String,
    },
    /// A workload completed nothing.
    NoTransactions {
        /// Its name.
        workload: String,
    },
    /// Transactions of a workload failed.
    Errors {
        /// Its name.
        workload: String,
        /// The share of its transactions, in percent.
        percent: f64,
    },
    /// Transactions did not come to an end when the run did.
    Unfinished {
        /// The workload.
        workload: String,
        /// How many.
        count: u64,
        /// For how long the command of one of them had been under way, the longest, in seconds; absent in archives of
        /// earlier dynos.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waited_s: Option<f64>,
        /// If it was all of the workload's clients that waited: since when none had got an answer, in seconds.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        silent_s: Option<f64>,
    },
    /// Too few intervals to speak of steadiness.
    FewIntervals {
        /// How many were complete.
        intervals: u64,
        /// How long each lasts, in seconds; absent in archives of earlier dynos.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        interval_s: Option<f64>,
    },
    /// The throughput differed much between intervals.
    Unsteady {
        /// The workload.
        workload: String,
        /// The stage, if there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        /// Coefficient of variation in percent.
        variation_percent: f64,
    },
    /// An open loop did fewer transactions than were due.
    RateMissed {
        /// The workload.
        workload: String,
        /// The stage, if there are several.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stage: Option<String>,
        /// Transactions asked for per second, on average.
        asked_per_s: f64,
        /// Transactions begun per second.
        reached_per_s: f64,
        /// How many were not begun, because they would have missed the latency limit.
        #[serde(default)]
        skipped: u64,
    },
    /// An open loop began its transactions late.
    Late {
        /// The workload.
        workload: String,
        /// Mean lag in microseconds.
        mean_us: f64,
        /// How busy its clients were on average, in percent of their time; absent in archives of earlier dynos.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        busy_percent: Option<f64>,
    },
    /// The machine that makes the load had hardly any CPU time left.
    LoadHostBusy {
        /// CPU time that nobody used, waiting for storage included, in percent.
        idle_percent: f64,
        /// Whether the server runs on it as well.
        server_too: bool,
        /// What neither dyno nor the server used of it, if that was most of it.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        others: Option<OthersBusy>,
    },
    /// Other guests of the virtual machine's host took CPU time.
    Steal {
        /// Share in percent.
        percent: f64,
    },
    /// The server may lose transactions that it reported as done.
    NotDurable {
        /// The settings that allow it, as `name = value`.
        settings: Vec<String>,
    },
    /// The server has another value than the experiment asked for.
    SettingDiffers {
        /// The setting.
        name: String,
        /// What the experiment says.
        wanted: String,
        /// What the server says.
        actual: String,
    },
    /// There is no steady state that a mean would describe.
    NoSteadyState {
        /// What there is instead.
        reason: String,
    },
    /// The time measured spans few checkpoints.
    FewCheckpoints {
        /// How long was measured, in seconds.
        measured_s: f64,
        /// The time from one checkpoint to the next, in seconds.
        cycle_s: f64,
        /// The setting that it follows from.
        #[serde(default = "earlier::checkpoint_time")]
        setting: String,
    },
    /// dyno's threads had no time left.
    LoadGeneratorBusy {
        /// How much of their time they ran, in percent.
        busy_percent: f64,
        /// How many they were.
        threads: u64,
        /// Whether a workload had a schedule and did not keep it.
        open: bool,
    },
    /// dyno's threads were kept from running.
    Descheduled {
        /// How long they waited for a CPU, all together, in seconds.
        waited_s: f64,
        /// The share of their time, in percent.
        waited_percent: f64,
        /// How often a CPU was taken from one that still wanted it.
        switches: u64,
        /// How long the CPU limit of a container held them back, in seconds.
        throttled_s: f64,
        /// How long none of them ran at all, in seconds.
        stood_still_s: f64,
    },
    /// Reading the clock takes long.
    SlowClock {
        /// The kernel's clock source.
        source: String,
        /// How long a reading takes, in nanoseconds.
        read_ns: f64,
    },
    /// dyno did nearly all that it can do on this machine.
    NearCeiling {
        /// What it did, in statements per second.
        statements_per_s: f64,
        /// What it does against a server that answers at once.
        ceiling_per_s: f64,
        /// The load with which that was measured.
        shape: Shape,
    },
    /// The processors of the load's machine save power.
    PowerSaving {
        /// Their frequency governor.
        governor: String,
    },
    /// The load's machine moved memory to disk.
    Swapping {
        /// How much.
        bytes: u64,
        /// The settings by which the server takes more or less memory.
        #[serde(default = "earlier::memory_settings")]
        settings: Vec<String>,
    },
    /// Reading the server's counters took long.
    CostlySamples {
        /// How long the server answered, in milliseconds per second.
        ms_per_s: f64,
    },
    /// The data is about as large as a cache.
    NearCache {
        /// Size of the tables and indexes that the load used.
        data_bytes: u64,
        /// Which cache.
        cache: String,
        /// Its size.
        cache_bytes: u64,
    },
    /// There are more clients than rows in a table that they all update.
    FewRows {
        /// The table.
        table: String,
        /// Its rows.
        rows: u64,
        /// All clients.
        clients: u64,
        /// How many of them waited for a row at any time, on average.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        waiting: Option<f64>,
        /// How the number of rows is chosen.
        #[serde(default, skip_serializing_if = "Scale::is_none")]
        scale: Scale,
    },
    /// Somebody else held locks that the load wanted, most of the time.
    HeldUp {
        /// For how long sessions of the load waited, in seconds.
        waited_s: f64,
        /// How long was measured, in seconds.
        measured_s: f64,
        /// Who held the lock that they waited for longest.
        holder: String,
    },
    /// Too few runs of each cell to tell cells apart.
    FewRepetitions {
        /// How many the cell with the fewest has.
        repetitions: u64,
        /// How many could tell.
        enough: u64,
    },
    /// Something happened in all runs of a cell, and in none of another.
    OneSided {
        /// What happened, with its article.
        what: String,
        /// The cell that had it.
        with: String,
        /// The cell that had none.
        without: String,
    },
    /// Runs that are to be compared were made in different environments.
    EnvironmentDiffers {
        /// What differs.
        what: String,
        /// What it was in one run.
        one: String,
        /// What it was in another.
        other: String,
    },
    /// The server executed a statement in different ways in runs of one cell.
    PlansDiffer {
        /// The workload and the number of the statement.
        statement: String,
        /// A run.
        run: String,
        /// Another run of its cell.
        other: String,
        /// What the other one does otherwise, as a clause.
        change: String,
    },
    /// The archive could not take everything.
    ArchiveStopped {
        /// The error.
        error: String,
    },
    /// Anything else, already said in words.
    Note {
        /// What was seen and what to do.
        text: String,
    },
}

/// What decides how many rows a table has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scale {
    /// The experiment's parameter `scale`.
    Parameter,
    /// That of pgbench's own tables.
    Pgbench,
    /// Nothing that is called so.
    #[default]
    None,
}

impl Scale {
    fn is_none(&self) -> bool {
        *self == Self::None
    }
}

impl Warning {
    /// A schedule kept better than this does not distort latencies that people look at.
    const PUNCTUAL_US: f64 = 1_000.0;
    /// Nor does waiting that is a smaller share of the latency.
    const PUNCTUAL_SHARE: f64 = 0.1;

    /// What the figures of a workload give reason to warn of, however its load changed. Its intervals last `interval_s`
    /// seconds.
    #[must_use]
    pub fn of(workload: &WorkloadSummary, interval_s: f64) -> Vec<Self> {
        let name = || workload.name.clone();
        let mut warnings = Vec::new();
        if workload.transactions == 0 && workload.longer_than_s().is_none() {
            warnings.push(Self::NoTransactions { workload: name() });
        }
        if workload.errors > 0 {
            warnings.push(Self::Errors {
                workload: name(),
                percent: workload.error_percent(),
            });
        }
        if workload.unfinished > 0 {
            warnings.push(Self::Unfinished {
                workload: name(),
                count: workload.unfinished,
                waited_s: None,
                silent_s: None,
            });
        }
        let intervals = workload.steadiness.map_or(0, |steadiness| steadiness.intervals);
        // What is done when its work is done is judged by how long that took.
        if intervals < ENOUGH_INTERVALS && workload.completion.took_s.is_none() {
            warnings.push(Self::FewIntervals {
                intervals,
                interval_s: Some(interval_s),
            });
        }
        let latency_us = workload.latency.map_or(0.0, |latency| latency.mean_us);
        let late = |lag: &Lag| lag.mean_us > Self::PUNCTUAL_US.max(Self::PUNCTUAL_SHARE * latency_us);
        if let Some(lag) = workload.lag.filter(late) {
            warnings.push(Self::Late {
                workload: name(),
                mean_us: lag.mean_us,
                busy_percent: busy_percent(workload),
            });
        }
        warnings
    }
}

/// From here on random arrivals often find all clients busy.
const BUSY_PERCENT: f64 = 70.0;

/// How busy the clients were by Little's law: as many are, on average, as transactions come per second times the
/// seconds that each takes without its wait.
fn busy_percent(workload: &WorkloadSummary) -> Option<f64> {
    let (latency, lag) = (workload.latency?, workload.lag?);
    let service_s = (latency.mean_us - lag.mean_us).max(0.0) / 1e6;
    // What failed kept a client busy as well, and nothing says for how long.
    let all = (workload.transactions + workload.errors) as f64 / workload.transactions.max(1) as f64;
    let busy = workload.tps * all * service_s;
    (workload.clients > 0).then(|| (100.0 * busy / workload.clients as f64).min(100.0))
}

impl WarningKind {
    /// Those that only who makes the run can give. All others follow from what is archived.
    pub const WHILE_RUNNING: [Self; 7] = [
        Self::EndedEarly,
        Self::Unfinished,
        Self::LoadHostBusy,
        Self::Steal,
        Self::NotDurable,
        Self::SettingDiffers,
        Self::ArchiveStopped,
    ];
}
