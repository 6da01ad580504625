//! The report as JSON, for programs: everything the text says and more. Names end in their units and stay as they are.

use super::{Report, ScriptReport, attempted, protocol_name};
use crate::version::Version;
use dyno_record::{CommandRecording, FailureCounts, ScriptRecording, Sums};
use serde_json::{Map, Value, json};

/// Raised when a name changes its meaning or goes away.
const FORMAT: u32 = 1;

impl Report {
    /// The report as a JSON object.
    pub fn json(&self) -> Value {
        let asked = &self.conditions;
        let total = &self.total;
        let measured_s = self.measured.as_secs_f64();
        let percentiles: Map<String, Value> = self
            .percentiles
            .iter()
            .map(|(percentile, latency_us)| (format!("p{percentile}"), json!(latency_us / 1000.0)))
            .collect();
        let errors = self
            .errors
            .iter()
            .map(|(state, count, example)| json!({ "sqlstate": state, "count": count, "example": example }));
        json!({
            "format": FORMAT,
            "pgbench_version": Version::NEWEST.to_string(),
            "dyno_version": env!("CARGO_PKG_VERSION"),
            "server_version": self.server_version,
            "incomplete": self.incomplete,
            "conditions": {
                "scale": asked.scale,
                "partition_method": asked.partitions.map(|(method, _)| method),
                "partitions": asked.partitions.map(|(_, number)| number),
                "protocol": protocol_name(asked.protocol),
                "clients": asked.clients,
                "threads": asked.threads,
                "max_tries": asked.max_tries,
                "transactions_per_client": asked.transactions,
                "duration_s": asked.duration_s,
                "rate_per_s": asked.rate_per_s,
                "latency_limit_ms": asked.latency_limit_us.map(|limit| limit as f64 / 1000.0),
                "connection_per_transaction": asked.connect_each,
                "random_seed": asked.seed,
            },
            "measured_s": measured_s,
            "initial_connection_ms": (!asked.connect_each).then_some(self.connecting.as_secs_f64() * 1e3),
            "connections": self.connections,
            "connection_total_ms": asked.connect_each.then_some(self.reconnecting.as_secs_f64() * 1e3),
            "tps": finite(total.transactions as f64 / measured_s),
            "total": counts(total),
            "late": asked.latency_limit_us.map(|_| self.late),
            "lag_ms": asked.rate_per_s.map(|_| sums(&self.lag)),
            "latency_percentiles_ms": percentiles,
            "errors": errors.collect::<Vec<_>>(),
            "scripts": self.scripts.iter().map(|each| script(each, measured_s)).collect::<Vec<_>>(),
        })
    }
}

fn script(script: &ScriptReport, measured_s: f64) -> Value {
    json!({
        "name": script.description,
        "weight": script.weight,
        "tps": finite(script.counts.transactions as f64 / measured_s),
        "total": counts(&script.counts),
        "commands": script.commands.iter().map(|(text, recording)| command(text, recording)).collect::<Vec<_>>(),
    })
}

fn command(text: &str, command: &CommandRecording) -> Value {
    json!({
        "text": text,
        "latency_ms": sums(&command.latency_sums),
        "failures": failures(&command.failures),
        "retries": command.retries,
    })
}

fn counts(counts: &ScriptRecording) -> Value {
    json!({
        "attempted": attempted(counts),
        "transactions": counts.transactions,
        "failures": failures(&counts.failures),
        "skipped": counts.skipped,
        "retried": counts.retried,
        "retries": counts.retries,
        "latency_ms": sums(&counts.latency_sums),
    })
}

fn failures(failures: &FailureCounts) -> Value {
    json!({
        "serialization": failures.serialization,
        "deadlock": failures.deadlock,
        "other": failures.other,
    })
}

/// Durations in milliseconds; null where there is none.
fn sums(sums: &Sums) -> Value {
    if sums.count == 0 {
        return Value::Null;
    }
    json!({
        "count": sums.count,
        "mean": sums.mean_us() / 1000.0,
        "stddev": sums.stddev_us() / 1000.0,
        "min": sums.min_us / 1000.0,
        "max": sums.max_us / 1000.0,
    })
}

/// JSON knows no infinity.
fn finite(number: f64) -> Option<f64> {
    Some(number).filter(|number| number.is_finite())
}
