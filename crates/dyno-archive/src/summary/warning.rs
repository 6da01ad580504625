//! What to keep in mind when reading a summary, each with what to do about it.

use crate::figures::{count, counted, figure, percent};
use crate::summary::{Lag, WorkloadSummary};
use dyno_record::Shape;
use serde::{Deserialize, Serialize};
use std::fmt;

/// Fewer intervals than this say little about steadiness.
pub const ENOUGH_INTERVALS: u64 = 10;

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
    },
    /// Too few intervals to speak of steadiness.
    FewIntervals {
        /// How many were complete.
        intervals: u64,
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

    /// What the figures of a workload give reason to warn of, however its load changed.
    #[must_use]
    pub fn of(workload: &WorkloadSummary) -> Vec<Self> {
        let name = || workload.name.clone();
        let mut warnings = Vec::new();
        if workload.transactions == 0 {
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
            });
        }
        let intervals = workload.steadiness.map_or(0, |steadiness| steadiness.intervals);
        if intervals < ENOUGH_INTERVALS {
            warnings.push(Self::FewIntervals { intervals });
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

impl fmt::Display for Warning {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::EndedEarly {
                reason,
                measured_s,
                planned_s,
            } => {
                write!(f, "The run ended after {measured_s:.1} s")?;
                if let Some(planned_s) = planned_s {
                    write!(f, " of {planned_s:.1} s")?;
                }
                write!(
                    f,
                    ": {reason}. What was measured until then is kept; rerun for complete results."
                )
            }
            Self::Aborted {
                workload,
                aborted,
                clients,
                first_s,
                reason,
            } => {
                let clients = counted(*clients, "client");
                write!(f, "{aborted} of {clients} of \"{workload}\" ended early, the first")?;
                if let Some(first_s) = first_s {
                    write!(f, " after {first_s:.1} s")?;
                }
                write!(
                    f,
                    " with: {reason}. From then on the load was smaller than requested. Fix the cause and rerun."
                )
            }
            Self::NoTransactions { workload } => write!(
                f,
                "No transaction of \"{workload}\" completed. Check the errors; if there are none, measure longer."
            ),
            Self::Errors {
                workload,
                percent: share,
            } => write!(
                f,
                "{} of the transactions of \"{workload}\" failed and count neither in TPS nor in latency. The list of \
                 errors shows the first message of each kind.",
                percent(*share)
            ),
            Self::Unfinished { workload, count } => write!(
                f,
                "At the end {} of \"{workload}\" were still running and were not counted. Look for locks and stalls \
                 in the last intervals, or for transactions that take that long.",
                counted(*count, "transaction")
            ),
            Self::FewIntervals { intervals } => write!(
                f,
                "Only {}: too few to judge how steady the run is. Measure longer (--set measure=2m, or -T 120 with \
                 pgbench).",
                counted(*intervals, "complete interval")
            ),
            Self::Unsteady {
                workload,
                stage,
                variation_percent,
            } => write!(
                f,
                "The TPS of \"{workload}\" varies by {} between the intervals{}. Look for a trend or dips (dyno \
                 show); warm up or measure longer.",
                percent(*variation_percent),
                of_stage("of", stage.as_deref())
            ),
            Self::RateMissed {
                workload,
                stage,
                asked_per_s,
                reached_per_s,
                skipped: skipped @ 1..,
            } => write!(
                f,
                "\"{workload}\" achieved {} of the {} transactions/s requested{}: {} skipped, because they would have \
                 missed the latency limit. Latencies are of the others alone. Lower the rate, or find out what keeps \
                 the clients busy; more clients help only if the server has capacity left.",
                figure(*reached_per_s),
                figure(*asked_per_s),
                of_stage("in", stage.as_deref()),
                match skipped {
                    1 => "1 was".to_owned(),
                    _ => format!("{} were", count(*skipped)),
                }
            ),
            Self::RateMissed {
                workload,
                stage,
                asked_per_s,
                reached_per_s,
                skipped: 0,
            } => write!(
                f,
                "\"{workload}\" achieved {} of the {} transactions/s requested{}: a backlog grew, so latencies depend \
                 on how long the load lasts. Lower the rate, or find out what keeps the clients busy; more clients \
                 help only if the server has capacity left.",
                figure(*reached_per_s),
                figure(*asked_per_s),
                of_stage("in", stage.as_deref())
            ),
            Self::Late {
                workload,
                mean_us,
                busy_percent,
            } => {
                write!(
                    f,
                    "Transactions of \"{workload}\" began {} ms late on average",
                    figure(mean_us / 1000.0)
                )?;
                match busy_percent {
                    Some(BUSY_PERCENT..) => write!(
                        f,
                        ", because all clients were busy when they were due; latencies include this wait. Use more \
                         clients, or look for dips that made them queue."
                    ),
                    Some(busy) => write!(
                        f,
                        ", although the clients were busy for only {busy:.0} % of their time; latencies include this \
                         wait. Either dyno or its machine woke up late, or a dip made them queue for a while: look \
                         for dips (dyno show), and run dyno on a machine with cores to spare."
                    ),
                    None => write!(
                        f,
                        "; latencies include this wait. Look for dips that made the clients queue, use more clients, \
                         or run dyno on a machine with cores to spare."
                    ),
                }
            }
            Self::LoadHostBusy {
                idle_percent,
                server_too: false,
            } => write!(
                f,
                "The CPUs of the machine making the load were only {idle_percent:.0} % idle or waiting for storage: \
                 it may be the limit, not the server. Use a larger machine or fewer clients."
            ),
            Self::LoadHostBusy {
                idle_percent,
                server_too: true,
            } => write!(
                f,
                "Server and load shared a machine whose CPUs were only {idle_percent:.0} % idle or waiting for \
                 storage: they competed for them. For figures to publish, run dyno on another machine (--target URL)."
            ),
            Self::Steal { percent: share } => write!(
                f,
                "Other virtual machines on the same host took {} of the CPU time (steal). Repeat the run, or use a \
                 machine with dedicated cores.",
                percent(*share)
            ),
            Self::NotDurable { settings } => {
                // Without synchronous commits the data stays consistent.
                let harmless = |setting: &String| setting.starts_with("synchronous_commit");
                let damage = if settings.iter().all(harmless) {
                    ""
                } else {
                    ", or damage data"
                };
                write!(
                    f,
                    "A crash may lose transactions that were reported as committed{damage} ({}). Compare only with \
                     runs that allow this too.",
                    settings.join(", ")
                )
            }
            Self::SettingDiffers { name, wanted, actual } => write!(
                f,
                "The server runs with {name} = {actual}, although the experiment asks for {wanted}. Set it on the \
                 server, or read the figures with that in mind."
            ),
            Self::NoSteadyState { reason } => write!(
                f,
                "There is no steady state: {reason}. A mean says little about such a run; warm up longer, measure \
                 longer, or look for the cause."
            ),
            Self::FewCheckpoints { measured_s, cycle_s } => write!(
                f,
                "{measured_s:.0} s cover fewer than four checkpoint cycles of {cycle_s:.0} s: the mean depends on how \
                 many checkpoints fell into that time. Measure at least {:.0} s, or set checkpoint_timeout lower.",
                4.0 * cycle_s
            ),
            Self::LoadGeneratorBusy {
                busy_percent,
                threads,
                open,
            } => {
                write!(
                    f,
                    "dyno's {} were running for {busy_percent:.0} % of the time available to them: they may be the \
                     limit, not the server.",
                    counted(*threads, "thread")
                )?;
                if *open {
                    f.write_str(" The schedule was not met.")?;
                }
                f.write_str(" Give the workload more threads, or run dyno on a larger machine.")
            }
            Self::Descheduled {
                waited_s,
                waited_percent,
                switches,
                throttled_s,
                stood_still_s,
            } => {
                let mut kept = Vec::new();
                if *waited_s >= 0.05 {
                    let taken = counted(*switches, "time");
                    kept.push(format!(
                        "waited {waited_s:.1} s for a CPU ({waited_percent:.0} % of their time; preempted {taken})"
                    ));
                }
                if *throttled_s >= 0.05 {
                    kept.push(format!("were throttled for {throttled_s:.1} s by a CPU limit"));
                }
                if *stood_still_s >= 0.05 {
                    kept.push(format!("stood still for {stood_still_s:.1} s"));
                }
                let kept = match &kept[..] {
                    [] => "were kept from running".to_owned(),
                    [only] => only.clone(),
                    [first @ .., last] => format!("{} and {last}", first.join(", ")),
                };
                write!(
                    f,
                    "dyno's threads {kept}; latencies include this. Run dyno on a separate machine, bind its threads \
                     to free CPUs (--cpus), or raise the limit."
                )
            }
            Self::SlowClock { source, read_ns } => write!(
                f,
                "Reading the clock takes {} ns here (clock source {source}), several times for each transaction. Let \
                 the kernel use a faster source, such as tsc or kvm-clock.",
                figure(*read_ns)
            ),
            Self::NearCeiling {
                statements_per_s,
                ceiling_per_s,
                shape,
            } => write!(
                f,
                "dyno executed {} statements per second: {:.0} % of the {} that it can execute here against a server \
                 that answers at once (dyno ceiling: {shape}). It may be the limit, not the server. Give the workload \
                 more threads, or run dyno on a larger machine.",
                figure(*statements_per_s),
                statements_per_s / ceiling_per_s * 100.0,
                figure(*ceiling_per_s)
            ),
            Self::PowerSaving { governor } => write!(
                f,
                "The processors of dyno's machine save power (governor {governor}), so their speed depends on the \
                 load. Set the governor to performance."
            ),
            Self::Swapping { bytes } => write!(
                f,
                "The machine swapped {} MB of memory to disk during the run. Give the server less memory \
                 (shared_buffers, work_mem), or stop whatever else runs there.",
                count(bytes / 1_048_576)
            ),
            Self::CostlySamples { ms_per_s } => write!(
                f,
                "Reading the server's counters took {ms_per_s:.0} ms per second, which may have cost throughput. \
                 Compare with a run without sampling (--no-sampling)."
            ),
            Self::NearCache {
                data_bytes,
                cache,
                cache_bytes,
            } => write!(
                f,
                "The data that the load touched ({} MB) is about as large as {cache} ({} MB), so how much of it is \
                 cached depends on chance. Choose a size clearly below or clearly above.",
                count(data_bytes / 1_048_576),
                count(cache_bytes / 1_048_576)
            ),
            Self::FewRows {
                table,
                rows,
                clients,
                waiting,
                scale,
            } => {
                write!(
                    f,
                    "{} share the {} of {table} that they update",
                    counted(*clients, "client"),
                    counted(*rows, "row")
                )?;
                match waiting {
                    Some(waiting) => write!(f, ": on average {waiting:.1} of them waited for a row lock. ")?,
                    None => f.write_str(", and may wait for each other. ")?,
                }
                match scale {
                    Scale::Parameter => write!(f, "Use a scale of at least {clients} (--set scale={clients}).")?,
                    Scale::Pgbench => write!(
                        f,
                        "Load the tables with a scale of at least {clients} (-i -s {clients})."
                    )?,
                    Scale::None => {
                        f.write_str("Unless that is what you want to measure, spread the updates over more rows.")?
                    }
                }
                Ok(())
            }
            Self::FewRepetitions { repetitions, enough } => write!(
                f,
                "Some cells have only {}, so differences between cells may be chance. A test needs {enough} (--repeat \
                 {enough}).",
                counted(*repetitions, "complete run")
            ),
            Self::OneSided { what, with, without } => write!(
                f,
                "There was {what} in every run with {with}, and in none with {without}. Measure long enough for all \
                 runs to have some, or prevent it in all."
            ),
            Self::EnvironmentDiffers { what, one, other } => write!(
                f,
                "The runs differ in {what}, which is not a factor: \"{one}\" and \"{other}\". Compare only runs made \
                 in the same environment, or rerun the campaign."
            ),
            Self::ArchiveStopped { error } => write!(
                f,
                "The archive is incomplete: {error}. The summary still counts everything. Free some space, and rerun \
                 if you need every interval."
            ),
            Self::Note { text } => f.write_str(text),
        }
    }
}

/// Which stage something is said of, if there are several.
fn of_stage(preposition: &str, stage: Option<&str>) -> String {
    stage.map_or_else(String::new, |stage| format!(" {preposition} stage \"{stage}\""))
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_record::Route;

    #[test]
    fn numbers_have_the_digits_they_have_in_tables() {
        let errors = |percent| {
            let workload = "main".to_owned();
            Warning::Errors { workload, percent }.to_string()
        };
        assert!(errors(100.0).starts_with("100.0 % of"));
        assert!(errors(0.505).starts_with("0.5 % of"));
        assert!(errors(0.01).starts_with("<0.1 % of"));
        let near = Warning::NearCeiling {
            statements_per_s: 98_765.4,
            ceiling_per_s: 123_456.7,
            shape: Shape {
                route: Route::Tcp,
                clients: 8,
                threads: 2,
            },
        };
        assert!(
            near.to_string()
                .starts_with("dyno executed 98,765 statements per second: 80 % of the 123,457 that")
        );
        let clock = Warning::SlowClock {
            source: "acpi_pm".to_owned(),
            read_ns: 12_345.6,
        };
        assert!(clock.to_string().starts_with("Reading the clock takes 12,346 ns here"));
        let skipped = Warning::RateMissed {
            workload: "main".to_owned(),
            stage: None,
            asked_per_s: 12_345.6,
            reached_per_s: 1_165.2,
            skipped: 45_678,
        };
        let words = skipped.to_string();
        assert!(words.starts_with(
            "\"main\" achieved 1,165 of the 12,346 transactions/s requested: 45,678 were \
                                   skipped"
        ));
    }
}
