//! The texts of warnings: what was seen, and what to do next.

use super::{BUSY_PERCENT, ENOUGH_INTERVALS, LONG_INTERVAL_S, Scale, Warning};
use crate::figures::{count, counted, figure, percent};
use std::fmt;

/// Seconds from which on it is said how long threads were kept from running by something.
const NOTABLE_S: f64 = 0.05;

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
            Self::Unfinished {
                workload,
                count,
                waited_s,
                silent_s,
            } => {
                let transactions = counted(*count, "transaction");
                let were = if *count == 1 { "was" } else { "were" };
                write!(
                    f,
                    "At the end {transactions} of \"{workload}\" {were} still running and {were} not counted"
                )?;
                match (silent_s, waited_s) {
                    (Some(silent_s), _) => write!(
                        f,
                        "; none of its clients had got an answer for {silent_s:.1} s. Find out whether the server \
                         stood still, the network was cut, or transactions take that long."
                    ),
                    (None, waited_s) => {
                        if let Some(waited_s) = waited_s {
                            write!(f, "; one had waited for an answer for {waited_s:.1} s")?;
                        }
                        f.write_str(
                            ". Look for locks and stalls in the last intervals, or for transactions that take that \
                             long.",
                        )
                    }
                }
            }
            Self::FewIntervals { intervals, interval_s } => {
                let intervals = counted(*intervals, "complete interval");
                match interval_s.filter(|interval_s| *interval_s > LONG_INTERVAL_S) {
                    Some(interval_s) => write!(
                        f,
                        "Only {intervals} of {interval_s} s: too few to judge how steady the run is. Make them shorter \
                         (--set interval=1s, or -P 1 with pgbench), or measure for {} s or longer.",
                        interval_s * ENOUGH_INTERVALS as f64
                    ),
                    None => write!(
                        f,
                        "Only {intervals}: too few to judge how steady the run is. Measure longer (--set measure=2m, \
                         or -T 120 with pgbench)."
                    ),
                }
            }
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
                others: Some(others),
                ..
            } => {
                let busiest = others.busiest.as_deref();
                let busiest = busiest.map_or_else(String::new, |name| format!(", {name} most of all"));
                write!(
                    f,
                    "Other processes than dyno's and the server's kept {:.1} of {:.0} cores of the load's machine busy \
                     while was measured{busiest}, and only {idle_percent:.0} % were idle or waiting for storage: the \
                     figures say as much of them. End them, or use another machine.",
                    others.cores, others.of_cores
                )
            }
            Self::LoadHostBusy {
                idle_percent,
                server_too: false,
                ..
            } => write!(
                f,
                "The CPUs of the machine making the load were only {idle_percent:.0} % idle or waiting for storage: \
                 it may be the limit, not the server. Use a larger machine or fewer clients."
            ),
            Self::LoadHostBusy {
                idle_percent,
                server_too: true,
                ..
            } => write!(
                f,
                "Server and load shared a machine whose CPUs were only {idle_percent:.0} % idle or waiting for \
                 storage: they competed for them, with all else that ran there. For figures to publish, run dyno on \
                 another machine (--target URL)."
            ),
            Self::Steal { percent: share } => write!(
                f,
                "Other virtual machines on the same host took {} of the CPU time (steal). Repeat the run, or use a \
                 machine with dedicated cores.",
                percent(*share)
            ),
            Self::NotDurable { settings } => {
                // Where commits alone do not wait for the disk, the data stays consistent.
                let of_commits = ["synchronous_commit", "innodb_flush_log_at_trx_commit", "sync_binlog"];
                let harmless = |setting: &String| of_commits.iter().any(|name| setting.starts_with(name));
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
                "No steady state was found: {reason}. A mean says little about such a run; warm up longer, measure \
                 longer, or look for the cause."
            ),
            Self::FewCheckpoints {
                measured_s,
                cycle_s,
                setting,
            } => write!(
                f,
                "{measured_s:.0} s cover fewer than four checkpoint cycles of {cycle_s:.0} s: the mean depends on how \
                 many checkpoints fell into that time. Measure at least {:.0} s, or set {setting} lower.",
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
                if *waited_s >= NOTABLE_S {
                    let taken = counted(*switches, "time");
                    kept.push(format!(
                        "waited {waited_s:.1} s for a CPU ({waited_percent:.0} % of their time; preempted {taken})"
                    ));
                }
                if *throttled_s >= NOTABLE_S {
                    kept.push(format!("were throttled for {throttled_s:.1} s by a CPU limit"));
                }
                if *stood_still_s >= NOTABLE_S {
                    kept.push(format!("stood still for {stood_still_s:.1} s"));
                }
                let kept = match &kept[..] {
                    [] => "were kept from running".to_owned(),
                    [only] => only.clone(),
                    [first @ .., last] => format!("{} and {last}", first.join(", ")),
                };
                let remedy = if *throttled_s >= NOTABLE_S {
                    ", bind its threads to free CPUs (--cpus), or raise the limit."
                } else {
                    ", or bind its threads to free CPUs (--cpus)."
                };
                write!(
                    f,
                    "dyno's threads {kept}; latencies include this. Run dyno on a separate machine{remedy}"
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
            Self::Swapping { bytes, settings } => write!(
                f,
                "The machine swapped {} MB of memory to disk during the run. Give the server less memory \
                 ({}), or stop whatever else runs there.",
                count(bytes / 1_048_576),
                settings.join(", ")
            ),
            Self::CostlySamples { ms_per_s } => write!(
                f,
                "Reading the server's counters took up to {ms_per_s:.0} ms per second, which may have cost \
                 throughput. Compare with a run without sampling (--no-sampling)."
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
            Self::HeldUp {
                waited_s,
                measured_s,
                holder,
            } => write!(
                f,
                "Sessions of the load waited {waited_s:.1} s of the {measured_s:.1} s measured for locks that another \
                 session held: {holder}. Figures are those of this wait; end it, or measure without it."
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
            Self::PlansDiffer {
                statement,
                run,
                other,
                change,
            } => write!(
                f,
                "The plan of {statement} differs between runs of one cell ({other} against {run}: {change}). Their \
                 figures are of different work: look for what makes the server plan otherwise, such as its statistics, \
                 and rerun if they are to be taken together."
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
    use dyno_record::{Route, Shape};

    #[test]
    fn few_long_intervals_are_to_be_made_shorter() {
        let few = |interval_s| Warning::FewIntervals {
            intervals: 4,
            interval_s,
        };
        let said = few(Some(30.0)).to_string();
        assert!(said.starts_with("Only 4 complete intervals of 30 s: "), "{said}");
        assert!(
            said.contains("interval=1s") && said.contains("300 s or longer"),
            "{said}"
        );
        // Two minutes have four of them again.
        assert!(!said.contains("measure=2m"), "{said}");
        for short in [None, Some(1.0), Some(0.1)] {
            let said = few(short).to_string();
            assert!(said.contains("measure=2m") && !said.contains("interval="), "{said}");
        }
    }

    #[test]
    fn only_what_can_damage_data_is_said_to() {
        let damages = |setting: &str| {
            let settings = vec![setting.to_owned()];
            Warning::NotDurable { settings }.to_string().contains("damage data")
        };
        for setting in ["fsync = off", "full_page_writes = off", "innodb_doublewrite = OFF"] {
            assert!(damages(setting), "{setting}");
        }
        for setting in [
            "synchronous_commit = off",
            "innodb_flush_log_at_trx_commit = 2",
            "sync_binlog = 0",
        ] {
            assert!(!damages(setting), "{setting}");
        }
    }

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

    #[test]
    fn a_limit_is_named_only_if_there_was_one() {
        let held = |throttled_s| {
            let held = Warning::Descheduled {
                waited_s: 8.2,
                waited_percent: 20.4,
                switches: 10_081,
                throttled_s,
                stood_still_s: 0.0,
            };
            held.to_string()
        };
        assert_eq!(
            held(0.0),
            "dyno's threads waited 8.2 s for a CPU (20 % of their time; preempted 10,081 times); latencies include \
             this. Run dyno on a separate machine, or bind its threads to free CPUs (--cpus)."
        );
        assert!(held(1.0).ends_with("bind its threads to free CPUs (--cpus), or raise the limit."));
    }
}
