//! A summary made from what a run left behind, when it had no time to write its own.

use super::{Counts, SummaryBuilder, metrics};
use dyno_archive::plan::WARMUP;
use dyno_archive::summary::{Summary, Warning, WorkloadFacts};
use dyno_archive::{ArchiveError, EventKind, IntervalRow, LOG_TOLERANCE_S, Run, RunRecord};
use std::time::Duration;

/// The summary in `run.json`, or one made from the intervals if that has none.
///
/// # Errors
///
/// If the intervals cannot be read, or it is not known what ran.
pub fn summary_of(run: &Run) -> Result<Summary, ArchiveError> {
    match &run.record {
        Ok(RunRecord {
            summary: Some(summary), ..
        }) => Ok(summary.clone()),
        _ => rebuilt(run),
    }
}

/// The summary of the measured intervals in a run's folder.
fn rebuilt(run: &Run) -> Result<Summary, ArchiveError> {
    let (workloads, interval_s) = facts(run)?;
    let position = |name: &str| workloads.iter().position(|facts| facts.name == name);
    let interval = Duration::try_from_secs_f64(interval_s).unwrap_or_default();
    let mut builder = SummaryBuilder::new(&workloads, interval);

    // The log of latencies knows no phases, so they are told by time.
    let mut measured: Option<(f64, f64)> = None;
    let mut counted_s = f64::NEG_INFINITY;
    for row in run.intervals()?.filter(|row| row.phase != WARMUP) {
        let (start_s, end_s) = (row.interval_start_s, row.interval_start_s + row.interval_s);
        if start_s > counted_s {
            // The first row of its interval; each further workload has one too.
            builder.time(&row.phase, start_s, row.interval_s);
            counted_s = start_s;
        }
        measured = Some((measured.map_or(start_s, |(first_s, _)| first_s), end_s));
        if let Some(workload) = position(&row.workload) {
            let lag = row.lag();
            let IntervalRow {
                transactions,
                statements,
                errors,
                skipped,
                late,
                retried,
                retries,
                ..
            } = row;
            builder.counts(
                workload,
                row.interval_s,
                Counts {
                    transactions,
                    statements,
                    errors,
                    skipped,
                    late,
                    retried,
                    retries,
                },
                lag,
            );
        }
    }
    let Some((start_s, end_s)) = measured else {
        return Ok(builder.build());
    };

    let began_in_time = |at_s: f64| (start_s - LOG_TOLERANCE_S..end_s - LOG_TOLERANCE_S).contains(&at_s);
    run.all_latencies(|line| {
        if let Some(workload) = position(&line.workload).filter(|_| began_in_time(line.start_s)) {
            match line.statement {
                None => builder.latency(line.start_s, workload, |sum| line.add_to(sum)),
                Some(statement) => builder.statement(workload, statement, |sum| line.add_to_sparse(sum)),
            }
        }
    });
    if let Ok(events) = run.events() {
        for event in events {
            match event.kind {
                EventKind::Errors {
                    phase,
                    workload,
                    sqlstate,
                    count,
                    example,
                } if phase != WARMUP && event.at_s <= end_s + LOG_TOLERANCE_S => {
                    if let Some(workload) = position(&workload) {
                        builder.error(workload, &sqlstate, count, &example);
                    }
                }
                EventKind::Aborted { workload, reason, .. } => {
                    if let Some(workload) = position(&workload) {
                        builder.ended(workload, event.at_s, &reason);
                    }
                }
                _ => {}
            }
        }
    }
    let mut summary = builder.build();
    // Without the plan nobody knows of any metrics.
    if let Ok(experiment) = run.experiment() {
        let (values, missing) = metrics::evaluate(&experiment, &summary);
        summary.metrics = values;
        let notes = missing.into_iter().map(|text| Warning::Note { text });
        summary.warnings.extend(notes);
    }
    Ok(summary)
}

/// What ran, and how long a complete interval lasts in seconds: from `run.json`, or if that is damaged from the
/// campaign's plan.
fn facts(run: &Run) -> Result<(Vec<WorkloadFacts>, f64), ArchiveError> {
    if let Ok(record) = &run.record {
        return Ok((record.workloads.clone(), record.interval_s));
    }
    let experiment = run.experiment()?;
    // Only the scripts' parser could say which statements these were.
    let workloads = experiment
        .workloads
        .iter()
        .map(|workload| WorkloadFacts::new(workload, Vec::new()).in_stages(&experiment.stages));
    Ok((workloads.collect(), experiment.interval.as_secs_f64()))
}
