//! The tables at the end of a run.

use crate::figures::{bytes, count, counted, decimal, figure, ms, one_line, pacing, percent, rate, time};
use crate::growth::largest;
use crate::heaviest::heaviest;
use crate::table::{facts, paragraph, table};
use dyno_archive::summary::{Latency, ScriptSummary, Summary, WorkloadSummary};

/// All of a summary as text.
#[must_use]
pub fn summary(summary: &Summary) -> String {
    let mut sections = vec![
        workloads(summary),
        throughput(summary),
        latency(summary),
        stages(summary),
        scripts(summary),
        statements(summary),
    ];
    sections.extend([errors(summary), turns(summary)]);
    sections.extend([tables(summary), costs(summary), warnings(summary)]);
    sections.retain(|section| !section.is_empty());
    sections.join("\n")
}

/// Who made the load, and for how long.
fn workloads(summary: &Summary) -> String {
    let lines = summary.workloads.iter().map(|workload| {
        let pacing = pacing(workload.pacing);
        let each = workload.transactions_per_client.map_or_else(String::new, |each| {
            format!(", {} per client", counted(each, "transaction"))
        });
        let what = format!(
            "{} in {} s, {}, {}, {pacing}{each}",
            counted(workload.transactions, "transaction"),
            decimal(summary.measured_s, 1),
            counted(workload.clients as u64, "client"),
            counted(workload.threads as u64, "thread"),
        );
        paragraph(&format!("{}: ", workload.name), &what)
    });
    lines.collect()
}

/// `what`, after the workload's name where that is needed to tell several apart.
fn label(summary: &Summary, workload: &WorkloadSummary, what: &str) -> String {
    if summary.workloads.len() == 1 {
        what.to_owned()
    } else {
        format!("{}: {what}", workload.name)
    }
}

fn throughput(summary: &Summary) -> String {
    let rows = summary.workloads.iter().flat_map(|workload| {
        let steadiness = workload.steadiness;
        [
            vec![
                label(summary, workload, "transactions/s"),
                rate(workload.tps),
                rate(steadiness.map(|steadiness| steadiness.tps_min)),
                rate(steadiness.map(|steadiness| steadiness.tps_max)),
                percent(steadiness.and_then(|steadiness| steadiness.variation_percent)),
                count(steadiness.map_or(0, |steadiness| steadiness.intervals)),
            ],
            vec![
                label(summary, workload, "statements/s"),
                rate(workload.statements_per_s),
                String::new(),
                String::new(),
                String::new(),
                String::new(),
            ],
        ]
    });
    let total = summary.total.filter(|_| !summary.mixes_loops());
    let total = total.iter().flat_map(|total| {
        let row = |what: &str, figure: f64| {
            let mut row = vec![String::new(); 6];
            (row[0], row[1]) = (what.to_owned(), rate(figure));
            row
        };
        [
            row("all: transactions/s", total.tps),
            row("all: statements/s", total.statements_per_s),
        ]
    });
    let metrics = summary.metrics.iter().map(|(name, value)| {
        let mut row = vec![String::new(); 6];
        (row[0], row[1]) = (one_line(name), rate(*value));
        row
    });
    table(
        &["throughput", "average", "min", "max", "variation", "intervals"],
        &[0],
        rows.chain(total).chain(metrics),
    )
}

/// What each workload did in each stage.
fn stages(summary: &Summary) -> String {
    let mut workloads = summary.stages.iter().flat_map(|stage| &stage.workloads);
    let paced = workloads.any(|workload| workload.asked_per_s.is_some());
    let rows: Vec<_> = summary
        .stages
        .iter()
        .flat_map(|stage| {
            // Which of several workloads took part is part of what a stage is.
            stage.workloads.iter().map(move |workload| {
                let what = if stage.workloads.len() == 1 {
                    stage.name.clone()
                } else {
                    format!("{}: {}", stage.name, workload.name)
                };
                let mut row = vec![
                    one_line(&what),
                    decimal(stage.start_s, 0),
                    decimal(stage.end_s - stage.start_s, 0),
                    rate(workload.tps),
                ];
                if paced {
                    row.push(rate(workload.asked_per_s));
                }
                row.push(percent(workload.variation_percent));
                let latencies = [workload.p50_us, workload.p95_us, workload.p99_us];
                row.extend(latencies.map(ms));
                row
            })
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut header = vec!["stage", "at (s)", "lasts (s)", "TPS"];
    if paced {
        header.push("asked");
    }
    header.extend(["variation", "p50 (ms)", "p95", "p99"]);
    table(&header, &[0], rows)
}

fn latency(summary: &Summary) -> String {
    let rows = summary.workloads.iter().flat_map(|workload| {
        let mut rows = Vec::new();
        if let Some(latency) = &workload.latency {
            let Latency {
                mean_us,
                stddev_us,
                min_us: _,
                p50_us,
                p95_us,
                p99_us,
                p99_9_us,
                max_us,
            } = *latency;
            let mut row = vec![label(summary, workload, "transaction")];
            row.extend([mean_us, stddev_us, p50_us, p95_us, p99_us, p99_9_us, max_us].map(ms));
            rows.push(row);
        }
        if let Some(lag) = &workload.lag {
            let mut row = vec![String::new(); 8];
            row[0] = label(summary, workload, "behind schedule");
            row[1] = ms(lag.mean_us);
            row[7] = ms(lag.max_us);
            rows.push(row);
        }
        rows
    });
    let rows: Vec<_> = rows.collect();
    if rows.is_empty() {
        return String::new();
    }
    // Each stage has its own below.
    let name = if summary.stages.is_empty() {
        "latency (ms)"
    } else {
        "latency over all stages (ms)"
    };
    table(
        &[name, "mean", "stddev", "p50", "p95", "p99", "p99.9", "max"],
        &[0],
        rows,
    )
}

/// The figures of each script, where a workload has several.
fn scripts(summary: &Summary) -> String {
    let scripts = || {
        summary.workloads.iter().flat_map(|workload| {
            let scripts = workload.scripts.iter();
            scripts.map(move |script| (workload, script))
        })
    };
    let failed =
        |script: &ScriptSummary| script.serialization_failures + script.deadlock_failures + script.other_failures;
    // What never happened needs no column.
    type Column = (&'static str, fn(&ScriptSummary) -> u64);
    let columns: [Column; 3] = [
        ("failed", failed),
        ("retried", |script| script.retried),
        ("skipped", |script| script.skipped),
    ];
    let columns: Vec<_> = columns
        .into_iter()
        .filter(|(_, value)| scripts().any(|(_, script)| value(script) > 0))
        .collect();
    let rows: Vec<_> = scripts()
        .map(|(workload, script)| {
            let mut row = vec![count(script.transactions), count(script.weight), rate(script.tps)];
            let latencies = [script.latency_mean_us, script.latency_stddev_us];
            row.extend(latencies.map(ms));
            row.extend(columns.iter().map(|(_, value)| count(value(script))));
            row.push(label(summary, workload, &one_line(&script.name)));
            row
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut header = vec!["transactions", "weight", "TPS", "mean (ms)", "stddev"];
    header.extend(columns.iter().map(|(name, _)| *name));
    header.push("script");
    table(&header, &[header.len() - 1], rows)
}

/// `part` of `all` in percent; `None` of nothing.
fn share(part: u64, all: u64) -> Option<f64> {
    (all > 0).then(|| part as f64 * 100.0 / all as f64)
}

fn statements(summary: &Summary) -> String {
    let (statements, note) = heaviest(summary);
    let rows: Vec<_> = statements
        .iter()
        .map(|(workload, _, statement)| {
            let mut row = match &statement.latency {
                Some(Latency {
                    mean_us,
                    p95_us,
                    p99_us,
                    max_us,
                    ..
                }) => [mean_us, p95_us, p99_us, max_us].map(|time_us| ms(*time_us)).to_vec(),
                None => vec!["-".to_owned(); 4],
            };
            row.insert(0, count(statement.count));
            row.push(label(summary, workload, &one_line(&statement.sql)));
            row
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    let mut text = table(&["statements", "mean (ms)", "p95", "p99", "max", "SQL"], &[5], rows);
    if !summary.stages.is_empty() {
        text.push_str("  (over all stages)\n");
    }
    if let Some(note) = note {
        text.push_str(&format!("  ({note})\n"));
    }
    text
}

fn errors(summary: &Summary) -> String {
    if summary.workloads.iter().all(|workload| workload.errors == 0) {
        return facts([("errors", "none".to_owned())]);
    }
    let total = |workload: &WorkloadSummary| {
        vec![
            count(workload.errors),
            percent(workload.error_percent()),
            label(summary, workload, "all"),
            String::new(),
        ]
    };
    let rows = summary
        .workloads
        .iter()
        .filter(|workload| workload.errors > 0)
        .flat_map(|workload| {
            let of_all = |count: u64| share(count, workload.transactions + workload.errors);
            let states = workload.errors_by_state.iter().map(move |error| {
                let state = one_line(&error.sqlstate);
                vec![
                    count(error.count),
                    percent(of_all(error.count)),
                    state,
                    one_line(&error.example),
                ]
            });
            std::iter::once(total(workload)).chain(states)
        });
    table(&["errors", "share", "SQLSTATE", "first message"], &[2, 3], rows)
}

/// What else became of transactions, if anything did.
fn turns(summary: &Summary) -> String {
    let rows = summary.workloads.iter().flat_map(|workload| {
        let WorkloadSummary {
            transactions,
            errors,
            skipped,
            late,
            retried,
            retries,
            ..
        } = *workload;
        let of = |part: u64, all: u64| format!("{} ({})", counted(part, "transaction"), percent(share(part, all)));
        let begun = transactions + errors;
        let again = format!("{}, restarted {}", of(retried, begun), counted(retries, "time"));
        let behind = format!("{}, too far behind schedule to start", of(skipped, begun + skipped));
        let slow = format!("{}, slower than the latency limit", of(late, transactions));
        let rows = [
            ("retried", retried, again),
            ("skipped", skipped, behind),
            ("late", late, slow),
        ];
        rows.into_iter()
            .filter(|(_, number, _)| *number > 0)
            .map(|(name, _, text)| vec![label(summary, workload, name), text])
    });
    table(&[], &[0, 1], rows)
}

fn tables(summary: &Summary) -> String {
    let rows: Vec<_> = largest(&summary.tables)
        .iter()
        .map(|table| {
            vec![
                one_line(&table.table),
                bytes(table.table_before_bytes),
                bytes(table.table_after_bytes),
                bytes(table.indexes_before_bytes),
                bytes(table.indexes_after_bytes),
            ]
        })
        .collect();
    if rows.is_empty() {
        return String::new();
    }
    table(
        &["size", "table before", "after", "indexes before", "after"],
        &[0],
        rows,
    )
}

/// What connecting took, how busy the machine was, and what dyno itself cost.
fn costs(summary: &Summary) -> String {
    let connection = summary.connection.map(|connection| {
        let text = format!(
            "{} in {}; {} each on average, {} at most",
            count(connection.count),
            time(connection.total_us),
            time(connection.mean_us),
            time(connection.max_us)
        );
        ("connections", text)
    });
    let host = summary.load_host.map(|cpu| {
        let text = format!(
            "{} user, {} system, {} iowait, {} steal, {} idle",
            percent(cpu.user_percent),
            percent(cpu.system_percent),
            percent(cpu.iowait_percent),
            percent(cpu.steal_percent),
            percent(cpu.idle_percent)
        );
        ("load host CPU", text)
    });
    let completed = summary.workloads.iter().any(|workload| workload.transactions > 0);
    let failed = summary.workloads.iter().any(|workload| workload.errors > 0);
    let client = summary.client_cpu.filter(|_| completed || failed).map(|cpu| {
        let of = match (completed, failed) {
            (true, true) => "transaction, including failed ones",
            (true, false) => "transaction",
            (false, _) => "failed transaction",
        };
        let text = format!(
            "{} µs user, {} µs system per {of}",
            figure(cpu.user_us),
            figure(cpu.system_us)
        );
        ("dyno's own CPU", text)
    });
    let sampling = summary.sampling.map(|cost| {
        let text = format!(
            "{} ms of server time and {} ms of dyno's CPU time per second",
            figure(cost.server_ms_per_s),
            figure(cost.dyno_cpu_us_per_s / 1e3)
        );
        ("sampling", text)
    });
    let unfinished: u64 = summary.workloads.iter().map(|workload| workload.unfinished).sum();
    let unfinished = (unfinished > 0).then(|| ("unfinished", counted(unfinished, "transaction")));
    facts([connection, host, client, sampling, unfinished].into_iter().flatten())
}

fn warnings(summary: &Summary) -> String {
    if summary.warnings.is_empty() {
        return String::new();
    }
    let warnings = summary
        .warnings
        .iter()
        .map(|warning| paragraph("  - ", &one_line(&warning.to_string())));
    std::iter::once("Keep in mind:\n".to_owned()).chain(warnings).collect()
}

#[cfg(test)]
mod tests;
