//! What to keep in mind when reading a run, as far as only its recording tells.

use crate::recording::Recording;
use crate::series::Window;
use crate::{descheduled, limits};
use dyno_archive::analysis::{Analysis, Steady};
use dyno_archive::summary::{Scale, Warning};
use dyno_archive::{Run, RunRecord};
use dyno_record::{Blocked, Meaning};
use serde_json::Value;

/// From this many seconds on a measurement means to be steady; a shorter one is a look.
const MEANT_STEADY_S: f64 = 120.0;

/// A mean hides less if it is over at least this many checkpoints.
const ENOUGH_CYCLES: f64 = 4.0;

/// A clock that is read without a system call takes a tenth of this; one that is read from a device, several times
/// as much.
const SLOW_CLOCK_NS: f64 = 250.0;

/// Queries that keep the server for longer than this in each second may be felt.
const COSTLY_MS_PER_S: f64 = 100.0;

/// Fewer clients than this share that wait for a row at any time cost little.
const LEAST_WAITING: f64 = 0.1;

/// Data within this factor of a cache is neither clearly within it nor clearly beyond.
const NEAR: f64 = 1.25;

/// The warnings that `analysis` and the recording of `run` give reason for. Only of some, a steady state may be
/// expected.
pub(super) fn warnings(run: &Run, recording: &Recording, analysis: &Analysis, may_be_steady: bool) -> Vec<Warning> {
    let Ok(record) = &run.record else {
        return Vec::new();
    };
    let measured_s = recording.measured.length_s();
    let mut warnings = Vec::new();
    warnings.extend(no_steady_state(&analysis.steady, measured_s).filter(|_| may_be_steady));
    warnings.extend(few_checkpoints(record, recording, measured_s));
    warnings.extend(limits::warnings(record, recording));
    // With load hosts, the threads of this process drive nothing.
    if record.load_hosts.is_empty() {
        warnings.extend(descheduled::warning(run, recording));
    }
    warnings.extend(slow_clock(record));
    warnings.extend(governor(record));
    warnings.extend(swapping(run, recording));
    warnings.extend(costly_samples(run, record, recording));
    warnings.extend(near_cache(record));
    warnings.extend(few_rows(run, record, recording));
    warnings.extend(held_up(recording));
    warnings
}

/// A lock that another session holds most of the time makes no dip: it is all there is.
fn held_up(recording: &Recording) -> Option<Warning> {
    const MOST_OF_THE_TIME: f64 = 0.5;
    let measured_s = recording.measured.length_s();
    let foreign = recording.blocked.iter().filter(|blocked| blocked.holder.is_some());
    let waits: Vec<(f64, &Blocked)> = foreign.map(|blocked| (waited_s(blocked, recording), blocked)).collect();
    let waited_s: f64 = waits.iter().map(|(waited_s, _)| waited_s).sum();
    let longest = waits.iter().max_by(|one, other| one.0.total_cmp(&other.0))?;
    (waited_s >= MOST_OF_THE_TIME * measured_s).then(|| Warning::HeldUp {
        waited_s: waited_s.min(measured_s),
        measured_s,
        holder: longest.1.holder.clone().unwrap_or_default(),
    })
}

/// For how long of the time measured all clients together can have waited, in seconds.
fn waited_s(blocked: &Blocked, recording: &Recording) -> f64 {
    let window = Window {
        start_s: blocked.start_s,
        end_s: blocked.end_s,
    };
    window.overlap_s(recording.measured) * (blocked.waiting as f64 / recording.clients.max(1.0)).min(1.0)
}

fn no_steady_state(steady: &Steady, measured_s: f64) -> Option<Warning> {
    (!steady.found && measured_s >= MEANT_STEADY_S).then(|| Warning::NoSteadyState {
        reason: steady.reason.clone(),
    })
}

/// A load that writes should be measured over several checkpoints; one that is only looked at for a moment, for
/// less than a cycle, need not.
fn few_checkpoints(record: &RunRecord, recording: &Recording, measured_s: f64) -> Option<Warning> {
    const WRITES_BYTES_PER_S: f64 = 100_000.0;
    let writes = recording.log_bytes.as_ref()?.usual.median > WRITES_BYTES_PER_S;
    let server = record.traits();
    let timeout_s = server.checkpoint_every_s?;
    // Where the amount of log brings them about, they come more often.
    let starts: Vec<f64> = recording
        .checkpoints
        .iter()
        .map(|checkpoint| checkpoint.start_s)
        .collect();
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let cycle_s = dyno_stats::median(&gaps).map_or(timeout_s, |gap| gap.min(timeout_s));
    (writes && catches_few(measured_s, cycle_s)).then_some(Warning::FewCheckpoints {
        measured_s,
        cycle_s,
        setting: server.settings.checkpoint_time,
    })
}

fn catches_few(measured_s: f64, cycle_s: f64) -> bool {
    measured_s >= MEANT_STEADY_S.min(cycle_s) && measured_s < ENOUGH_CYCLES * cycle_s
}

fn governor(record: &RunRecord) -> Option<Warning> {
    let governor = record.host.get("governor")?.as_str()?;
    (governor == "powersave").then(|| Warning::PowerSaving {
        governor: governor.to_owned(),
    })
}

/// How much the counter of this meaning in `host.csv` grew while was measured.
pub(super) fn growth(run: &Run, recording: &Recording, counter: Meaning) -> Option<f64> {
    let samples = run.host_samples(|meaning| meaning == counter);
    let values = samples.column(counter)?;
    risen(
        samples.at_s.iter().copied().zip(values.iter().copied()),
        recording.measured,
    )
}

/// How far a counter rose in `window`, from its values and their times.
fn risen(counter: impl Iterator<Item = (f64, f64)>, window: Window) -> Option<f64> {
    let within = (window.start_s)..=(window.end_s + 1.0);
    let mut within = counter.filter(|(at_s, value)| value.is_finite() && within.contains(at_s));
    let (_, first) = within.next()?;
    // In earlier archives the counters of dyno's threads fall when threads end, which is before the last sample.
    Some(within.map(|(_, value)| value).fold(first, f64::max) - first)
}

fn slow_clock(record: &RunRecord) -> Option<Warning> {
    let read_ns = record.host.get("clock_read_ns")?.as_f64()?;
    (read_ns >= SLOW_CLOCK_NS).then(|| Warning::SlowClock {
        source: record
            .host
            .get("clock_source")
            .and_then(Value::as_str)
            .unwrap_or("unknown")
            .to_owned(),
        read_ns,
    })
}

fn swapping(run: &Run, recording: &Recording) -> Option<Warning> {
    let bytes = growth(run, recording, Meaning::SwapOutBytes)?;
    const NOTABLE_BYTES: f64 = 1_048_576.0;
    (bytes >= NOTABLE_BYTES).then(|| Warning::Swapping {
        bytes: bytes as u64,
        settings: run.traits().settings.memory,
    })
}

fn costly_samples(run: &Run, record: &RunRecord, recording: &Recording) -> Option<Warning> {
    let cost = record.summary.as_ref()?.sampling?;
    // On a busy machine an answer mostly waits for its turn, which takes nothing from anybody.
    let used_s = growth(run, recording, Meaning::ServerCpuS);
    let used = used_s.map(|used_s| used_s * 1e3 / recording.measured.length_s().max(f64::MIN_POSITIVE));
    let ms_per_s = cost.server_ms_per_s.min(used.unwrap_or(f64::INFINITY));
    (ms_per_s > COSTLY_MS_PER_S).then_some(Warning::CostlySamples { ms_per_s })
}

/// How much of the tables the load can have read or written: of each, with its indexes, at most a page of the table
/// and one of an index for each row. None where the server does not say what was done to its tables.
fn touched_bytes(record: &RunRecord, page_bytes: u64) -> Option<f64> {
    let tables = record.tables.get("after")?.get("tables")?.as_array()?;
    let bytes = tables.iter().map(|table| {
        let size = |name| table.get(name).and_then(Value::as_f64);
        let [rows, _] = record.rows_worked_on(table)?;
        Some((size("table_bytes")? + size("index_bytes")?).min(2.0 * page_bytes as f64 * rows))
    });
    bytes.sum()
}

/// Data about as large as a cache is partly in it, and how much depends on chance.
fn near_cache(record: &RunRecord) -> Option<Warning> {
    let server = record.traits();
    let data_bytes = touched_bytes(record, server.page_bytes?).filter(|bytes| *bytes > 0.0)?;
    let own = server.cache_bytes.map(|bytes| bytes as f64);
    // The page cache of the server's machine, if that is this one.
    let local = record
        .host
        .get("data_filesystem")
        .is_some_and(|filesystem| !filesystem.is_null());
    let memory = record
        .host
        .get("memory_bytes")
        .and_then(Value::as_f64)
        .filter(|bytes| local && *bytes > 0.0);
    let caches = [(server.settings.cache.as_str(), own), ("main memory", memory)];
    caches.into_iter().find_map(|(cache, size)| {
        let cache_bytes = size?;
        (data_bytes > cache_bytes / NEAR && data_bytes < cache_bytes * NEAR).then(|| Warning::NearCache {
            data_bytes: data_bytes as u64,
            cache: cache.to_owned(),
            cache_bytes: cache_bytes as u64,
        })
    })
}

/// Clients that update fewer rows than they are wait for each other, not for the server: if the waits say so.
fn few_rows(run: &Run, record: &RunRecord, recording: &Recording) -> Option<Warning> {
    let clients: usize = record.workloads.iter().map(|workload| workload.clients).sum();
    let waiting = recording.row_waits.mean_in(recording.measured)?;
    if waiting < LEAST_WAITING * clients as f64 {
        return None;
    }
    let after = record.tables.get("after")?.get("tables")?.as_array()?;
    let few = after.iter().filter_map(|table| {
        let before = record.table_before(table).unwrap_or(table);
        let rows = before.get("rows_estimate")?.as_f64()?;
        let [_, updated] = record.rows_worked_on(table)?;
        let name = table.get("name")?.as_str()?;
        (rows >= 1.0 && rows < clients as f64 && updated > 100.0 * rows).then(|| (name.to_owned(), rows))
    });
    let (table, rows) = few.min_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(Warning::FewRows {
        scale: scale_of(run, &table),
        table,
        rows: rows as u64,
        clients: clients as u64,
        waiting: Some(waiting),
    })
}

/// How the number of rows of `table` is chosen, if by a scale.
fn scale_of(run: &Run, table: &str) -> Scale {
    const SCALE: &str = "scale";
    let of_experiment = run
        .experiment()
        .is_ok_and(|experiment| experiment.parameters.contains_key(SCALE));
    if of_experiment {
        Scale::Parameter
    } else if table.starts_with("pgbench_") {
        Scale::Pgbench
    } else {
        Scale::None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::RunRecord;
    use dyno_archive::summary::WorkloadFacts;
    use std::time::Duration;

    fn record() -> RunRecord {
        let facts = WorkloadFacts::closed("main", 8, 2);
        RunRecord::new(String::new(), String::new(), vec![facts], &[], Duration::from_secs(1))
    }

    #[test]
    fn a_counter_that_falls_at_the_end_has_risen() {
        let window = Window {
            start_s: 1.0,
            end_s: 3.0,
        };
        let counter = [
            (0.0, 1.0),
            (1.0, 2.0),
            (2.0, f64::NAN),
            (3.0, 12.0),
            (3.9, 0.5),
            (5.0, 40.0),
        ];
        assert_eq!(risen(counter.into_iter(), window), Some(10.0));
        assert_eq!(risen([(0.0, 1.0)].into_iter(), window), None);
    }

    #[test]
    fn a_clock_that_is_slow_to_read() {
        let mut record = record();
        record.host = serde_json::json!({ "clock_source": "hpet", "clock_read_ns": 1_400 });
        let warning = slow_clock(&record).unwrap().to_string();
        let expected = "Reading the clock takes 1,400 ns here (clock source hpet)";
        assert!(warning.starts_with(expected), "{warning}");
        record.host = serde_json::json!({ "clock_source": "tsc", "clock_read_ns": 24 });
        assert_eq!(slow_clock(&record), None);
    }

    #[test]
    fn short_measurements_are_not_blamed_for_being_short() {
        let steady = Steady::default();
        assert_eq!(no_steady_state(&steady, 20.0), None);
        assert!(no_steady_state(&steady, 600.0).is_some());
    }

    #[test]
    fn three_checkpoint_cycles_are_few_and_a_look_is_not_blamed() {
        assert!(catches_few(95.0, 30.0));
        assert!(!catches_few(125.0, 30.0));
        assert!(!catches_few(20.0, 300.0));
        assert!(catches_few(200.0, 300.0));
    }
}
