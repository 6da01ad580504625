//! The figures of a run as tables.

use super::latency::OVER_STAGES;
use super::model::{Block, Table, Value};
use super::parts::table;
use super::table::{exactly, ms, number, text, value, words};
use crate::analysis::other_dips;
use crate::figures::{one_line, rate};
use crate::growth::largest;
use dyno_archive::analysis::{Analysis, Dip};
use dyno_archive::summary::{Latency, Pacing, Summary, WorkloadSummary};

/// More dips than this are not read; the deepest are shown.
const MOST_DIPS: usize = 30;

/// All tables of a summary.
pub(super) fn tables(summary: &Summary) -> Vec<Block> {
    let all = [
        throughput(summary),
        latency(summary),
        metrics(summary),
        stages(summary),
        scripts(summary),
        errors(summary),
    ];
    all.into_iter().filter_map(table).collect()
}

fn throughput(summary: &Summary) -> Table {
    let mut rows: Vec<Vec<Value>> = summary.workloads.iter().map(throughput_row).collect();
    rows.extend(summary.total.filter(|_| !summary.mixes_loops()).map(|total| {
        let mut row = vec![Value::Nothing(()); 12];
        (row[0], row[4], row[5]) = (words("all"), exactly(total.transactions), value(total.tps));
        (row[9], row[10]) = (value(total.statements_per_s), exactly(total.errors));
        row
    }));
    Table {
        caption: "Throughput in the measured time".to_owned(),
        columns: vec![
            text("workload"),
            text("loop"),
            number("clients", ""),
            number("threads", ""),
            number("transactions", ""),
            number("mean", "TPS"),
            number("least", "TPS"),
            number("greatest", "TPS"),
            number("variation", "%"),
            number("statements", "1/s"),
            number("errors", ""),
            number("errors", "%"),
        ],
        rows,
    }
}

fn throughput_row(workload: &WorkloadSummary) -> Vec<Value> {
    let steadiness = workload.steadiness;
    vec![
        words(workload.name.as_str()),
        words(pacing(workload.pacing)),
        exactly(workload.clients as u64),
        exactly(workload.threads as u64),
        exactly(workload.transactions),
        value(workload.tps),
        value(steadiness.map(|steadiness| steadiness.tps_min)),
        value(steadiness.map(|steadiness| steadiness.tps_max)),
        value(steadiness.and_then(|steadiness| steadiness.variation_percent)),
        value(workload.statements_per_s),
        exactly(workload.errors),
        value(workload.error_percent()),
    ]
}

/// What begins a transaction, as briefly as a table takes it.
pub(super) fn pacing(pacing: Pacing) -> String {
    match pacing {
        Pacing::Closed => "closed".to_owned(),
        Pacing::Open { rate_per_s } => format!("open, {} per s", rate(rate_per_s)),
        Pacing::Staged {
            least_per_s,
            most_per_s,
            closed,
        } => {
            let open = format!("open, {} to {} per s by stages", rate(least_per_s), rate(most_per_s));
            if closed { format!("closed; {open}") } else { open }
        }
    }
}

/// The columns of latencies, in the order of [`latencies`].
pub(super) const LATENCY_COLUMNS: [&str; 8] = ["mean", "stddev", "min", "p50", "p95", "p99", "p99.9", "max"];

/// The values of [`LATENCY_COLUMNS`].
pub(super) fn latencies(latency: Option<&Latency>) -> [Value; 8] {
    let Some(latency) = latency else {
        return [const { Value::Nothing(()) }; 8];
    };
    let Latency {
        mean_us,
        stddev_us,
        min_us,
        p50_us,
        p95_us,
        p99_us,
        p99_9_us,
        max_us,
    } = *latency;
    [mean_us, stddev_us, min_us, p50_us, p95_us, p99_us, p99_9_us, max_us].map(ms)
}

fn latency(summary: &Summary) -> Table {
    let lag = summary.workloads.iter().any(|workload| workload.lag.is_some());
    let columns = LATENCY_COLUMNS.map(|name| number(name, "ms"));
    let mut columns: Vec<_> = std::iter::once(text("workload")).chain(columns).collect();
    if lag {
        columns.extend([number("mean lag", "ms"), number("maximum lag", "ms")]);
    }
    let rows = summary.workloads.iter().map(|workload| {
        let mut row = vec![words(workload.name.as_str())];
        row.extend(latencies(workload.latency.as_ref()));
        if lag {
            row.extend([
                ms(workload.lag.map(|lag| lag.mean_us)),
                ms(workload.lag.map(|lag| lag.max_us)),
            ]);
        }
        row
    });
    Table {
        caption: if summary.stages.is_empty() {
            "Latency of transactions in the measured time".to_owned()
        } else {
            format!("Latency of transactions in the measured time,{OVER_STAGES}; each stage has its own below")
        },
        columns,
        rows: rows.collect(),
    }
}

fn metrics(summary: &Summary) -> Table {
    let rows = summary
        .metrics
        .iter()
        .map(|(name, metric)| vec![words(one_line(name)), value(*metric)]);
    Table {
        caption: "Metrics of the experiment".to_owned(),
        columns: vec![text("metric"), number("value", "")],
        rows: rows.collect(),
    }
}

fn stages(summary: &Summary) -> Table {
    let rows = summary.stages.iter().flat_map(|stage| {
        stage.workloads.iter().map(move |workload| {
            let latencies = [workload.p50_us, workload.p95_us, workload.p99_us];
            [
                words(one_line(&stage.name)),
                words(workload.name.as_str()),
                value(stage.start_s),
                value(stage.end_s - stage.start_s),
                value(workload.tps),
                value(workload.asked_per_s),
                value(workload.variation_percent),
            ]
            .into_iter()
            .chain(latencies.map(ms))
            .collect()
        })
    });
    Table {
        caption: "Stages of the measured time".to_owned(),
        columns: vec![
            text("stage"),
            text("workload"),
            number("begins", "s"),
            number("lasts", "s"),
            number("throughput", "TPS"),
            number("asked", "TPS"),
            number("variation", "%"),
            number("p50", "ms"),
            number("p95", "ms"),
            number("p99", "ms"),
        ],
        rows: rows.collect(),
    }
}

fn scripts(summary: &Summary) -> Table {
    let rows = summary.workloads.iter().flat_map(|workload| {
        workload.scripts.iter().map(move |script| {
            let failed = script.serialization_failures + script.deadlock_failures + script.other_failures;
            vec![
                words(workload.name.as_str()),
                words(one_line(&script.name)),
                exactly(script.weight),
                exactly(script.transactions),
                value(script.tps),
                ms(script.latency_mean_us),
                ms(script.latency_stddev_us),
                exactly(failed),
                exactly(script.retried),
                exactly(script.skipped),
            ]
        })
    });
    Table {
        caption: "Scripts of a mix".to_owned(),
        columns: vec![
            text("workload"),
            text("script"),
            number("weight", ""),
            number("transactions", ""),
            number("throughput", "TPS"),
            number("mean latency", "ms"),
            number("stddev", "ms"),
            number("failed", ""),
            number("retried", ""),
            number("skipped", ""),
        ],
        rows: rows.collect(),
    }
}

fn errors(summary: &Summary) -> Table {
    let rows = summary.workloads.iter().flat_map(|workload| {
        let all = (workload.transactions + workload.errors).max(1) as f64;
        workload.errors_by_state.iter().map(move |error| {
            vec![
                words(workload.name.as_str()),
                words(one_line(&error.sqlstate)),
                exactly(error.count),
                value(error.count as f64 * 100.0 / all),
                words(one_line(&error.example)),
            ]
        })
    });
    Table {
        caption: "Errors".to_owned(),
        columns: vec![
            text("workload"),
            text("SQLSTATE"),
            number("transactions", ""),
            number("share", "%"),
            text("first message"),
        ],
        rows: rows.collect(),
    }
}

/// The deepest dips with what was seen, in order of time.
pub(super) fn dips(analysis: &Analysis) -> Table {
    let mut dips: Vec<&Dip> = analysis.dips.iter().collect();
    dips.sort_by(|one, other| other.depth_percent.total_cmp(&one.depth_percent));
    let left_out = dips.len().saturating_sub(MOST_DIPS);
    dips.truncate(MOST_DIPS);
    dips.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    let rows = dips.into_iter().map(|dip| {
        let seen: Vec<String> = dip.evidence.iter().map(|words| one_line(words)).collect();
        vec![
            value(dip.start_s),
            value(dip.end_s - dip.start_s),
            value(dip.depth_percent),
            words(dip.cause.to_string()),
            words(seen.join("; ")),
        ]
    });
    let more = other_dips(left_out).map_or_else(String::new, |others| format!("; {others}"));
    Table {
        caption: format!("Dips of the throughput{more}"),
        columns: vec![
            number("begins", "s"),
            number("lasts", "s"),
            number("depth", "%"),
            text("cause"),
            text("seen at the time"),
        ],
        rows: rows.collect(),
    }
}

/// Tables and indexes before and after the load.
pub(super) fn growth(summary: &Summary) -> Table {
    // As PostgreSQL counts.
    const MB: f64 = 1_048_576.0;
    let rows = largest(&summary.tables).into_iter().map(|growth| {
        let sizes = [
            growth.table_before_bytes,
            growth.table_after_bytes,
            growth.indexes_before_bytes,
            growth.indexes_after_bytes,
        ];
        let sizes = sizes.map(|bytes| value(bytes as f64 / MB));
        std::iter::once(words(one_line(&growth.table))).chain(sizes).collect()
    });
    Table {
        caption: "Tables before and after the load".to_owned(),
        columns: vec![
            text("table"),
            number("before", "MB"),
            number("after", "MB"),
            number("indexes before", "MB"),
            number("indexes after", "MB"),
        ],
        rows: rows.collect(),
    }
}
