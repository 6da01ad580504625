//! What to keep in mind when reading a run, as far as only its recording tells.

use super::recording::Recording;
use super::{Analysis, Steady, descheduled, limits};
use crate::archive::{Run, RunRecord};
use crate::summary::Warning;
use serde_json::Value;

/// From this many seconds on a measurement means to be steady; a shorter one is a look.
const MEANT_STEADY_S: f64 = 120.0;

/// A mean hides less if it is over at least this many checkpoints.
const ENOUGH_CYCLES: f64 = 4.0;

/// A clock that is read without a system call takes a tenth of this; one that is read from a device, several times as much.
const SLOW_CLOCK_NS: f64 = 250.0;

/// Queries that keep the server for longer than this in each second may be felt.
const COSTLY_MS_PER_S: f64 = 100.0;

/// Data within this factor of a cache is neither clearly within it nor clearly beyond.
const NEAR: f64 = 1.25;

/// The warnings that `analysis` and the recording of `run` give reason for. A steady state is only expected of `one_load`, the same all the time.
pub(super) fn warnings(run: &Run, recording: &Recording, analysis: &Analysis, one_load: bool) -> Vec<Warning> {
    let Ok(record) = &run.record else {
        return Vec::new();
    };
    let measured_s = recording.measured.length_s();
    let mut warnings = Vec::new();
    warnings.extend(no_steady_state(&analysis.steady, measured_s).filter(|_| one_load));
    warnings.extend(few_checkpoints(record, recording, measured_s));
    warnings.extend(limits::warnings(record, recording));
    warnings.extend(descheduled::warning(run, recording));
    warnings.extend(slow_clock(record));
    warnings.extend(governor(record));
    warnings.extend(swapping(run, recording));
    warnings.extend(costly_samples(record));
    warnings.extend(near_cache(record));
    warnings.extend(few_rows(record));
    warnings
}

fn no_steady_state(steady: &Steady, measured_s: f64) -> Option<Warning> {
    (!steady.found && measured_s >= MEANT_STEADY_S).then(|| {
        Warning::NoSteadyState {
            reason: steady.reason.clone(),
        }
    })
}

/// A load that writes should be measured over several checkpoints; one that is only looked at for a moment, for less than a cycle, need not.
fn few_checkpoints(record: &RunRecord, recording: &Recording, measured_s: f64) -> Option<Warning> {
    const WRITES_BYTES_PER_S: f64 = 100_000.0;
    let writes = recording.wal_bytes.as_ref()?.usual.median > WRITES_BYTES_PER_S;
    let timeout_s = setting(record, "checkpoint_timeout").map_or(Some(300.0), |text| seconds(&text))?;
    // Where the amount of WAL brings them about, they come more often.
    let starts: Vec<f64> = recording
        .checkpoints
        .iter()
        .map(|checkpoint| checkpoint.start_s)
        .collect();
    let gaps: Vec<f64> = starts.windows(2).map(|pair| pair[1] - pair[0]).collect();
    let cycle_s = dyno_stats::median(&gaps).map_or(timeout_s, |gap| gap.min(timeout_s));
    (writes && catches_few(measured_s, cycle_s)).then_some(Warning::FewCheckpoints { measured_s, cycle_s })
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

/// How much the counter `column` of `host.csv` grew while was measured.
pub(super) fn growth(run: &Run, recording: &Recording, column: &str) -> Option<f64> {
    let samples = run.host_samples(|name| name == column);
    let values = samples.column(column)?;
    let within = samples.at_s.iter().zip(values).filter(|(at_s, value)| {
        value.is_finite() && (recording.measured.start_s..=recording.measured.end_s + 1.0).contains(*at_s)
    });
    let within: Vec<f64> = within.map(|(_, value)| *value).collect();
    Some(within.last()? - within.first()?)
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
    let bytes = growth(run, recording, "swap_out_bytes")?;
    const NOTABLE_BYTES: f64 = 1_048_576.0;
    (bytes >= NOTABLE_BYTES).then_some(Warning::Swapping { bytes: bytes as u64 })
}

fn costly_samples(record: &RunRecord) -> Option<Warning> {
    let cost = record.summary.as_ref()?.sampling?;
    (cost.server_ms_per_s > COSTLY_MS_PER_S).then_some(Warning::CostlySamples {
        ms_per_s: cost.server_ms_per_s,
    })
}

/// Data about as large as a cache is partly in it, and how much depends on chance.
fn near_cache(record: &RunRecord) -> Option<Warning> {
    let data_bytes = record.tables.get("before")?.get("database_bytes")?.as_f64()?;
    let shared = setting(record, "shared_buffers").map_or(Some(128.0 * 1_048_576.0), |text| bytes(&text));
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
    let caches = [("shared_buffers", shared), ("main memory", memory)];
    caches.into_iter().find_map(|(cache, size)| {
        let cache_bytes = size?;
        (data_bytes > cache_bytes / NEAR && data_bytes < cache_bytes * NEAR).then(|| Warning::NearCache {
            data_bytes: data_bytes as u64,
            cache: cache.to_owned(),
            cache_bytes: cache_bytes as u64,
        })
    })
}

/// Clients that update fewer rows than they are wait for each other, not for the server.
fn few_rows(record: &RunRecord) -> Option<Warning> {
    let clients: usize = record.workloads.iter().map(|workload| workload.clients).sum();
    let after = record.tables.get("after")?.get("tables")?.as_array()?;
    let before = record
        .tables
        .get("before")
        .and_then(|before| before.get("tables"))
        .and_then(Value::as_array);
    let updates = |table: &Value| {
        table
            .get("statistics")
            .and_then(|row| row.get("n_tup_upd"))
            .and_then(Value::as_f64)
            .unwrap_or(0.0)
    };
    let few = after.iter().filter_map(|table| {
        let earlier = before
            .into_iter()
            .flatten()
            .find(|other| other.get("schema") == table.get("schema") && other.get("name") == table.get("name"));
        let rows = earlier.unwrap_or(table).get("rows_estimate")?.as_f64()?;
        let updated = updates(table) - earlier.map_or(0.0, updates);
        (rows >= 1.0 && rows < clients as f64 && updated > 100.0 * rows).then(|| {
            (table.get("name")?.as_str(), rows)
                .0
                .map(|name| (name.to_owned(), rows))
        })?
    });
    let (table, rows) = few.min_by(|one, other| one.1.total_cmp(&other.1))?;
    Some(Warning::FewRows {
        table,
        rows: rows as u64,
        clients: clients as u64,
    })
}

/// A setting of the server that is not at its default.
fn setting(record: &RunRecord, name: &str) -> Option<String> {
    let settings = record.server.get("settings")?.as_array()?;
    let found = settings
        .iter()
        .find(|setting| setting.get("name").and_then(Value::as_str) == Some(name))?;
    Some(found.get("value")?.as_str()?.to_owned())
}

/// A time as PostgreSQL shows it, such as `5min`.
fn seconds(text: &str) -> Option<f64> {
    with_unit(
        text,
        &[
            ("ms", 0.001),
            ("min", 60.0),
            ("s", 1.0),
            ("h", 3_600.0),
            ("d", 86_400.0),
        ],
    )
}

/// A size as PostgreSQL shows it, such as `128MB`.
fn bytes(text: &str) -> Option<f64> {
    let kilo = 1024.0_f64;
    with_unit(
        text,
        &[
            ("kB", kilo),
            ("MB", kilo.powi(2)),
            ("GB", kilo.powi(3)),
            ("TB", kilo.powi(4)),
        ],
    )
}

fn with_unit(text: &str, units: &[(&str, f64)]) -> Option<f64> {
    units
        .iter()
        .find_map(|(unit, factor)| Some(text.strip_suffix(unit)?.trim().parse::<f64>().ok()? * factor))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::archive::RunRecord;
    use crate::summary::{Pacing, WorkloadFacts};
    use std::time::Duration;

    fn record() -> RunRecord {
        let facts = WorkloadFacts {
            name: "main".to_owned(),
            clients: 8,
            threads: 2,
            pacing: Pacing::Closed,
            transactions_per_client: None,
            start_delay_s: 0.0,
            stages: Vec::new(),
            scripts: Vec::new(),
            statements: Vec::new(),
        };
        RunRecord::new(String::new(), String::new(), vec![facts], &[], Duration::from_secs(1))
    }

    #[test]
    fn times_and_sizes_as_the_server_shows_them() {
        assert_eq!(
            (seconds("5min"), seconds("30s"), seconds("250ms")),
            (Some(300.0), Some(30.0), Some(0.25))
        );
        assert_eq!(
            (bytes("128MB"), bytes("16kB"), bytes("on")),
            (Some(134_217_728.0), Some(16_384.0), None)
        );
    }

    #[test]
    fn data_about_as_large_as_its_cache() {
        let mut record = record();
        record.server = serde_json::json!({ "settings": [{ "name": "shared_buffers", "value": "1GB" }] });
        record.tables = serde_json::json!({ "before": { "database_bytes": 1_100_000_000_u64 } });
        let expected = Warning::NearCache {
            data_bytes: 1_100_000_000,
            cache: "shared_buffers".to_owned(),
            cache_bytes: 1_073_741_824,
        };
        assert_eq!(near_cache(&record), Some(expected));
        record.tables = serde_json::json!({ "before": { "database_bytes": 100_000_000_u64 } });
        assert_eq!(near_cache(&record), None);
    }

    #[test]
    fn a_clock_that_is_slow_to_read() {
        let mut record = record();
        record.host = serde_json::json!({ "clock_source": "hpet", "clock_read_ns": 1_400 });
        let warning = slow_clock(&record).unwrap().to_string();
        let expected = "Reading the clock takes 1400 ns here (clock source hpet)";
        assert!(warning.starts_with(expected), "{warning}");
        record.host = serde_json::json!({ "clock_source": "tsc", "clock_read_ns": 24 });
        assert_eq!(slow_clock(&record), None);
    }

    #[test]
    fn more_clients_than_rows_to_update() {
        let mut record = record();
        let table = |rows: u64, updates: u64| {
            serde_json::json!({ "tables": [{
                "schema": "public", "name": "pgbench_branches", "rows_estimate": rows, "statistics": { "n_tup_upd": updates },
            }] })
        };
        record.tables = serde_json::json!({ "before": table(2, 10), "after": table(2, 50_000) });
        let expected = Warning::FewRows {
            table: "pgbench_branches".to_owned(),
            rows: 2,
            clients: 8,
        };
        assert_eq!(few_rows(&record), Some(expected));
        // Read only, or enough rows.
        record.tables = serde_json::json!({ "before": table(2, 10), "after": table(2, 10) });
        assert_eq!(few_rows(&record), None);
        record.tables = serde_json::json!({ "before": table(8, 10), "after": table(8, 50_000) });
        assert_eq!(few_rows(&record), None);
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
