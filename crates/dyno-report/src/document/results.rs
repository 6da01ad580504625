//! The figures of a run as tables.

use super::cell_table::BELOW;
use super::latency::OVER_STAGES;
use super::model::{Block, Table, Value};
use super::parts::{self, paragraph};
use super::table::{self, exactly, facts, ms, number, text, value, with_details, words};
use crate::completion::end_words;
use crate::figures::{count, counted, decimal, figure, one_line, percent, rate, time};
use crate::growth::largest;
use dyno_archive::analysis::{Analysis, Dip};
use dyno_archive::summary::{Latency, Pacing, ScriptSummary, Summary, WorkloadSummary};
use dyno_record::Words;

/// More dips than this are not read; the deepest are shown.
const MOST_DIPS: usize = 20;

/// All that a summary says, in the words of its database: each workload in a sentence, then the tables, and those
/// `by_server` behind that of throughput.
pub(super) fn blocks(summary: &Summary, of_server: &Words, by_server: Vec<Table>) -> Vec<Block> {
    let loads = summary.workloads.iter();
    let loads = loads.map(|workload| paragraph(load(summary, workload)));
    // The sentences say of what load the throughput is, and the errors have a table.
    let first = with_details(
        throughput(summary),
        &["loop", "clients", "threads", "transactions", "errors"],
    );
    let tables = [
        with_details(latency(summary), &["min"]),
        metrics(summary),
        stages(summary),
        scripts(summary),
        errors(summary, &of_server.error_code),
        setbacks(summary),
        growth(summary),
        costs(summary),
    ];
    let tables = std::iter::once(first).chain(by_server).chain(tables);
    loads.chain(tables.filter_map(parts::table)).collect()
}

/// Who made the load, and for how long.
fn load(summary: &Summary, workload: &WorkloadSummary) -> String {
    let each = workload.transactions_per_client.map_or_else(String::new, |each| {
        format!(", {} per client", counted(each, "transaction"))
    });
    let end = end_words(workload);
    let end = if end.is_empty() {
        end
    } else {
        format!(". {}", end.trim_end_matches('.'))
    };
    format!(
        "{}: {} in {} s, {}, {}, {}{each}{end}",
        workload.name,
        counted(workload.transactions, "transaction"),
        decimal(workload.completion.took_s.unwrap_or(summary.measured_s), 1),
        counted(workload.clients as u64, "client"),
        counted(workload.threads as u64, "thread"),
        crate::figures::pacing(workload.pacing),
    )
}

fn throughput(summary: &Summary) -> Table {
    let mut rows: Vec<Vec<Value>> = summary.workloads.iter().map(throughput_row).collect();
    rows.extend(
        summary
            .total
            .filter(|_| summary.tps().is_some() && !summary.mixes_loops())
            .map(|total| {
                let mut row = vec![Value::Nothing(()); 13];
                (row[0], row[4], row[5]) = (words("all"), exactly(total.transactions), value(total.tps));
                (row[10], row[11]) = (value(total.statements_per_s), exactly(total.errors));
                row
            }),
    );
    Table {
        caption: "Throughput".to_owned(),
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
            number("intervals", ""),
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
        steadiness.map_or(Value::Nothing(()), |steadiness| exactly(steadiness.intervals)),
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
    let columns = LATENCY_COLUMNS.map(table::latency);
    let mut columns: Vec<_> = std::iter::once(text("workload")).chain(columns).collect();
    if lag {
        columns.extend(["mean lag", "maximum lag"].map(table::latency));
    }
    let known = |workload: &&WorkloadSummary| workload.latency.is_some() || workload.lag.is_some();
    let rows = summary.workloads.iter().filter(known).map(|workload| {
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
            "Transaction latency".to_owned()
        } else {
            format!("Transaction latency{OVER_STAGES}")
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
        caption: "Stages, each with its own latency".to_owned(),
        columns: vec![
            text("stage"),
            text("workload"),
            number("begins", "s"),
            number("lasts", "s"),
            number("throughput", "TPS"),
            number("asked", "TPS"),
            number("variation", "%"),
            table::latency("p50"),
            table::latency("p95"),
            table::latency("p99"),
        ],
        rows: rows.collect(),
    }
}

/// What is counted of a workload and of its scripts.
type Counted = (&'static str, fn(&ScriptSummary) -> u64);

const COUNTED: [Counted; 3] = [
    ("failed", |script| {
        script.serialization_failures + script.deadlock_failures + script.other_failures
    }),
    ("retried", |script| script.retried),
    ("skipped", |script| script.skipped),
];

/// Each workload that is a mix, and below it its scripts.
fn scripts(summary: &Summary) -> Table {
    let mixes = || {
        let workloads = summary.workloads.iter();
        workloads.filter(|workload| !workload.scripts.is_empty())
    };
    let all = || mixes().flat_map(|workload| &workload.scripts);
    let never = COUNTED
        .iter()
        .filter(|(_, count)| all().all(|script| count(script) == 0));
    let details: Vec<&str> = never.map(|(name, _)| *name).chain(["stddev"]).collect();
    let rows = mixes().flat_map(|workload| {
        let latency = workload.latency.as_ref();
        let whole = [
            words(workload.name.as_str()),
            Value::Nothing(()),
            exactly(workload.transactions),
            value(workload.tps),
            ms(latency.map(|latency| latency.mean_us)),
            ms(latency.map(|latency| latency.stddev_us)),
            Value::Nothing(()),
        ];
        let counts = COUNTED.map(|(_, count)| exactly(workload.scripts.iter().map(count).sum()));
        let scripts = workload.scripts.iter().map(|script| {
            let figures = [
                words(format!("{BELOW}{}", one_line(&script.name))),
                exactly(script.weight),
                exactly(script.transactions),
                value(script.tps),
                ms(script.latency_mean_us),
                ms(script.latency_stddev_us),
                ms(script.response_p90_us),
            ];
            let counts = COUNTED.map(|(_, count)| exactly(count(script)));
            figures.into_iter().chain(counts).collect()
        });
        std::iter::once(whole.into_iter().chain(counts).collect()).chain(scripts)
    });
    let mut columns = vec![
        text("workload"),
        number("weight", ""),
        number("transactions", ""),
        number("throughput", "TPS"),
    ];
    columns.extend(["mean latency", "stddev", "p90 response"].map(table::latency));
    columns.extend(COUNTED.map(|(name, _)| number(name, "")));
    let table = Table {
        caption: "Scripts of a mix".to_owned(),
        columns,
        rows: rows.collect(),
    };
    with_details(table, &details)
}

fn errors(summary: &Summary, code: &str) -> Table {
    if summary.workloads.iter().all(|workload| workload.errors == 0) {
        return facts("", [("errors", "none".to_owned())]);
    }
    let rows = summary.workloads.iter().flat_map(|workload| {
        let states = workload.errors_by_state.iter();
        states.map(move |error| {
            vec![
                words(workload.name.as_str()),
                exactly(error.count),
                value(share(error.count, workload.transactions + workload.errors)),
                words(one_line(&error.sqlstate)),
                words(one_line(&error.example)),
            ]
        })
    });
    Table {
        caption: "Errors".to_owned(),
        columns: vec![
            text("workload"),
            number("transactions", ""),
            number("share", "%"),
            text(if code.is_empty() { "code" } else { code }),
            text("first message"),
        ],
        rows: rows.collect(),
    }
}

/// `part` of `all` in percent; `None` of nothing.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 * 100.0 / all as f64)
}

/// What else became of transactions, if anything did.
fn setbacks(summary: &Summary) -> Table {
    let several = summary.workloads.len() > 1;
    let of_workload = |workload: &WorkloadSummary| {
        let WorkloadSummary {
            transactions,
            errors,
            skipped,
            late,
            retried,
            retries,
            unfinished,
            ..
        } = *workload;
        let of = |part: u64, all: u64| format!("{} ({})", counted(part, "transaction"), percent(share(part, all)));
        let begun = transactions + errors;
        let again = format!("{}, restarted {}", of(retried, begun), counted(retries, "time"));
        let behind = format!("{}, too far behind schedule to start", of(skipped, begun + skipped));
        let slow = format!("{}, slower than the latency limit", of(late, transactions));
        let open = counted(unfinished, "transaction");
        let named = |what: &str| match several {
            true => format!("{what}, {}", workload.name),
            false => what.to_owned(),
        };
        let rows = [
            ("retried", retried, again),
            ("skipped", skipped, behind),
            ("late", late, slow),
            ("unfinished", unfinished, open),
        ];
        rows.into_iter()
            .filter(|(_, number, _)| *number > 0)
            .map(|(what, _, words)| (named(what), words))
            .collect::<Vec<_>>()
    };
    facts("", summary.workloads.iter().flat_map(of_workload))
}

/// What connecting took, how busy the machine was, and what dyno itself cost.
fn costs(summary: &Summary) -> Table {
    let connections = summary.connection.map(|connection| {
        format!(
            "{} in {}; {} each on average, {} at most",
            count(connection.count),
            time(connection.total_us),
            time(connection.mean_us),
            time(connection.max_us)
        )
    });
    let host = summary.load_host.map(|cpu| {
        format!(
            "{} user, {} system, {} iowait, {} steal, {} idle",
            percent(cpu.user_percent),
            percent(cpu.system_percent),
            percent(cpu.iowait_percent),
            percent(cpu.steal_percent),
            percent(cpu.idle_percent)
        )
    });
    let completed = summary.workloads.iter().any(|workload| workload.transactions > 0);
    let failed = summary.workloads.iter().any(|workload| workload.errors > 0);
    let own = summary.client_cpu.filter(|_| completed || failed).map(|cpu| {
        let of = match (completed, failed) {
            (true, true) => "transaction, including failed ones",
            (true, false) => "transaction",
            (false, _) => "failed transaction",
        };
        let (user, system) = (figure(cpu.user_us), figure(cpu.system_us));
        format!("{user} µs user, {system} µs system per {of}")
    });
    let sampling = summary.sampling.map(|cost| {
        format!(
            "{} ms of server time and {} ms of dyno's CPU time per second",
            figure(cost.server_ms_per_s),
            figure(cost.dyno_cpu_us_per_s / 1e3)
        )
    });
    let costs = [
        ("connections", connections),
        ("load host CPU", host),
        ("dyno's own CPU", own),
        ("sampling", sampling),
    ];
    facts("", costs.map(|(what, words)| (what, words.unwrap_or_default())))
}

/// The deepest dips with what was seen, in order of time.
pub(super) fn dips(analysis: &Analysis) -> Table {
    let mut dips: Vec<&Dip> = analysis.dips.iter().collect();
    dips.sort_by(|one, other| other.depth_percent.total_cmp(&one.depth_percent));
    let left_out = dips.len().saturating_sub(MOST_DIPS);
    dips.truncate(MOST_DIPS);
    dips.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    // Of which throughput is only a question where one of them is of a workload alone.
    let of_workloads = dips.iter().any(|dip| dip.workload.is_some());
    let rows = dips.into_iter().map(|dip| {
        let seen: Vec<String> = dip.evidence.iter().map(|words| one_line(words)).collect();
        let of = of_workloads.then(|| words(dip.workload.as_deref().map_or_else(|| "all".to_owned(), one_line)));
        let known = [
            value(dip.start_s),
            value(dip.end_s - dip.start_s),
            value(dip.depth_percent),
            words(dip.cause.to_string()),
            words(seen.join("; ")),
        ];
        of.into_iter().chain(known).collect()
    });
    let more = match left_out {
        0 => String::new(),
        1 => "; run.json has the other dip, which is no deeper".to_owned(),
        _ => format!("; run.json has the other {left_out} dips, which are no deeper"),
    };
    Table {
        caption: format!("Dips of the throughput{more}"),
        columns: of_workloads
            .then(|| text("workload"))
            .into_iter()
            .chain([
                number("begins", "s"),
                number("lasts", "s"),
                number("depth", "%"),
                text("cause"),
                text("seen at the time"),
            ])
            .collect(),
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
