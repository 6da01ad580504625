//! What was short while a load was too high, as far as samplers saw it.

use crate::recording::Recording;
use crate::series::{Signal, Window};
use crate::throughput::Throughput;
use dyno_archive::figures::decimal;
use dyno_archive::{Capacity, CapacityStep, Run};

/// CPUs that are busy for so large a share of the time are what is short.
const BUSY: f64 = 0.85;

/// The same of disks.
const DISK_BUSY: f64 = 0.8;

/// Waits are worth a word if so large a part of all clients waits, and so many times as many as at a load that holds.
const PART: f64 = 0.1;
const TIMES: f64 = 1.5;

/// What gave way at a load.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct GaveWay {
    /// What was short, in sentences, what explains most first. Empty if nothing was seen.
    pub short: Vec<String>,
    /// Whether the CPUs of this machine were busy; `None` if nobody looked.
    pub cpus_are_busy: Option<bool>,
}

/// What gave way at the lowest load that did not hold the limits, compared with the highest that did.
#[must_use]
pub fn gave_way(run: &Run, known: &Capacity) -> GaveWay {
    let last = |load: Option<f64>| known.steps.iter().rfind(|step| Some(step.load) == load);
    let Some(failed) = last(known.fails) else {
        return GaveWay::default();
    };
    let (throughput, _) = Throughput::read(run);
    let recording = Recording::read(run, &throughput, Vec::new());
    let held = last(known.holds).map(window);
    said(&recording, failed, held)
}

fn window(step: &CapacityStep) -> Window {
    Window {
        start_s: step.start_s,
        end_s: step.end_s,
    }
}

/// The sentences about a step that failed; `held` is the time of one that did not.
fn said(recording: &Recording, failed: &CapacityStep, held: Option<Window>) -> GaveWay {
    let inside = window(failed);
    let mean = |signal: &Option<Signal>, time: Option<Window>| signal.as_ref()?.series.mean_in(time?);
    let mut said = Vec::new();
    let busy = mean(&recording.idle_share, Some(inside)).map(|idle| 1.0 - idle);
    let cpus_are_busy = busy.map(|busy| busy >= BUSY);
    if let Some(busy) = busy.filter(|busy| *busy >= BUSY) {
        said.push(format!(
            "The CPUs of this machine were busy for {} % of the time.",
            percent(busy)
        ));
    }
    if let Some(busy) = mean(&recording.disk_busy_share, Some(inside)).filter(|busy| *busy >= DISK_BUSY) {
        said.push(format!("A disk was busy for {} % of the time.", percent(busy)));
    }
    let log = match recording.words.log_in_full.as_str() {
        "" => "the log of changes",
        log => log,
    };
    let mut waits: Vec<(f64, &str)> = [
        (&recording.lock_waits, "locks"),
        (&recording.log_waits, log),
        (&recording.room_waits, "room in the log of changes"),
        (
            &recording.memory_waits,
            "what other sessions used in the server's memory",
        ),
        (&recording.data_waits, "data files"),
        (&recording.standby_waits, "a standby"),
        (&recording.remote_waits, "another server"),
    ]
    .into_iter()
    .filter_map(|(signal, what)| {
        let waiting = mean(signal, Some(inside))?;
        let before = mean(signal, held).unwrap_or(0.0);
        (waiting >= PART * recording.clients && waiting >= TIMES * before).then_some((waiting, what))
    })
    .collect();
    waits.sort_by(|one, other| other.0.total_cmp(&one.0));
    said.extend(waits.into_iter().map(|(waiting, what)| {
        let (waiting, clients) = (decimal(waiting, 1), recording.clients);
        format!("On average {waiting} of {clients} sessions waited for {what}.")
    }));
    if failed.lag_us > failed.mean_us / 2.0 {
        said.push(format!(
            "All clients were busy: transactions waited {} ms for a free one, of {} ms that they took in all.",
            decimal(failed.lag_us / 1e3, 1),
            decimal(failed.mean_us / 1e3, 1)
        ));
    }
    GaveWay {
        short: said,
        cpus_are_busy,
    }
}

fn percent(share: f64) -> String {
    decimal(share * 100.0, 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::series::Series;
    use dyno_archive::StepVerdict;

    fn signal(inside: f64, outside: f64) -> Option<Signal> {
        let mut series = Series::default();
        for second in 0..40 {
            let window = Window {
                start_s: f64::from(second),
                end_s: f64::from(second + 1),
            };
            series.push(window, if second < 10 { inside } else { outside });
        }
        Signal::new(series, &[])
    }

    fn failed(lag_us: f64) -> CapacityStep {
        CapacityStep {
            load: 100.0,
            verdict: StepVerdict::Fails,
            broken: None,
            start_s: 0.0,
            end_s: 10.0,
            tps: 90.0,
            errors: 0.0,
            mean_us: 20_000.0,
            p50_us: 0.0,
            p95_us: 0.0,
            p99_us: 0.0,
            p999_us: 0.0,
            lag_us,
        }
    }

    #[test]
    fn what_is_short_is_told_what_explains_most_first() {
        let recording = Recording {
            clients: 8.0,
            idle_share: signal(0.03, 0.5),
            lock_waits: signal(5.0, 0.5),
            memory_waits: signal(1.0, 0.9),
            log_waits: signal(1.0, 0.1),
            ..Recording::default()
        };
        let held = Window {
            start_s: 20.0,
            end_s: 30.0,
        };
        let found = said(&recording, &failed(15_000.0), Some(held));
        assert_eq!(found.cpus_are_busy, Some(true));
        let said = found.short;
        assert_eq!(said.len(), 4, "{said:?}");
        assert_eq!(said[0], "The CPUs of this machine were busy for 97 % of the time.");
        assert_eq!(said[1], "On average 5.0 of 8 sessions waited for locks.");
        assert!(
            said[2].starts_with("On average 1.0 of 8 sessions waited for "),
            "{said:?}"
        );
        assert!(
            said[3].contains("waited 15.0 ms for a free one, of 20.0 ms"),
            "{said:?}"
        );
    }

    #[test]
    fn nothing_is_made_up() {
        assert_eq!(said(&Recording::default(), &failed(0.0), None), GaveWay::default());
    }
}
