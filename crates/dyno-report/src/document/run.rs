//! The sections about one run.

use super::latency::{OVER_STAGES, loop_words, percentile_curves};
use super::model::{Block, Section};
use super::parts::{figure, in_answer, in_full, list, paragraph, section, table};
use super::recorded::Recorded;
use super::table::with_details;
use super::{load_hosts, metrics, plans, results, servers, statements};
use crate::campaign::latencies::percentile_words;
use crate::completion::figure_words;
use crate::figures::{counted, decimal, duration, one_line, percent, sentence};
use dyno_archive::analysis::Analysis;
use dyno_archive::plan::{MAIN, Resolved};
use dyno_archive::summary::{Summary, Warning};
use dyno_archive::{RunState, ServerOfRun};
use std::time::Duration;

/// Everything about a run, for a document that is about it alone.
pub(super) fn sections(recorded: &Recorded, experiment: Option<&Resolved>) -> Vec<Section> {
    let metrics = |experiment| {
        metrics::figure(
            "metrics",
            recorded.grid,
            experiment,
            &recorded.throughput,
            &recorded.annotations,
        )
    };
    let mut over_time = over_time(recorded, "run");
    over_time.extend(figure(experiment.and_then(metrics)));
    let mut distribution = percentiles(recorded);
    let maps = recorded.latency.heat_maps("run-heat", &recorded.annotations);
    distribution.extend(maps.into_iter().map(Block::Figure));
    let further = recorded.run.servers();
    let of_main = further.is_empty().then_some("The server".to_owned());
    let of_main = of_main.unwrap_or_else(|| servers::title(main_server(recorded)));
    let mut sections = vec![
        in_answer(in_full(section("over-time", "Over time", over_time))),
        in_answer(section("results", "Results", results(recorded, &further))),
        load_hosts::section_of(recorded, recorded.samples.is_some()),
        in_full(section("distribution", "Distribution of latency", distribution)),
        statements(recorded),
        in_full(section("server", of_main, server(recorded))),
    ];
    sections.extend(servers::sections(recorded, &further));
    sections.push(in_full(section("machine", "The load's machine", machine(recorded))));
    sections.retain(|section| !section.blocks.is_empty() || !section.sections.is_empty());
    sections
}

/// The name of a run, and how it ended if it is not complete.
pub(super) fn name(recorded: &Recorded) -> String {
    match recorded.run.state {
        RunState::Complete => recorded.name.clone(),
        state => format!("{} ({state})", recorded.name),
    }
}

/// A run among others, folded: its load over time. `number` tells it from the others.
pub(super) fn folded(recorded: &Recorded, number: usize) -> Section {
    let mut blocks = vec![paragraph(in_words(recorded))];
    blocks.extend(over_time(recorded, &format!("run-{number}")));
    let dips = recorded.analysis.as_ref().map(results::dips);
    blocks.extend(dips.and_then(table));
    let of_servers = servers::tables(recorded, &recorded.run.servers());
    blocks.extend(of_servers.into_iter().filter_map(table));
    Section {
        folded: true,
        ..section(format!("run-{number}"), recorded.name.clone(), blocks)
    }
}

/// How a run ended, and its figures in a sentence.
fn in_words(recorded: &Recorded) -> String {
    let state = state_words(recorded);
    let figures = match &recorded.summary {
        Ok(summary) => figures_in_words(summary),
        Err(error) => format!("There are no figures: {}", one_line(error)),
    };
    let steady = recorded
        .analysis
        .as_ref()
        .map_or_else(String::new, |analysis| steady_words(&analysis.steady));
    [state, figures, steady]
        .into_iter()
        .filter(|words| !words.is_empty())
        .collect::<Vec<_>>()
        .join(" ")
}

/// What is to be said of a run that is not complete.
pub(super) fn state_words(recorded: &Recorded) -> String {
    let reason = recorded
        .run
        .record
        .as_ref()
        .ok()
        .and_then(|record| record.failure.as_deref());
    let because = reason.map_or_else(String::new, |reason| format!(": {}", one_line(reason)));
    match recorded.run.state {
        RunState::Complete => String::new(),
        RunState::Running => "The run is in progress; these are its figures so far.".to_owned(),
        RunState::Incomplete if lacks_only_archive(recorded) => {
            "The run took its whole time, but not all of it could be archived.".to_owned()
        }
        RunState::Incomplete if has_no_last_word(recorded) => {
            "The run ended early, or its end could not be archived. This is what was recorded until then.".to_owned()
        }
        RunState::Incomplete if took_its_time(recorded) => {
            sentence(&format!("The run took its whole time, but does not count{because}"))
        }
        RunState::Incomplete => {
            let ended = sentence(&format!("The run ended early{because}"));
            format!("{ended} This is what was measured until then.")
        }
        RunState::Faulty => sentence(&format!("This run does not count{because}")),
        RunState::Failed => sentence(&format!("The run failed{because}")),
    }
}

/// Whether nothing but its archive keeps a run from being complete.
fn lacks_only_archive(recorded: &Recorded) -> bool {
    let warnings = recorded.summary.iter().flat_map(|summary| &summary.warnings);
    let has = |wanted: fn(&Warning) -> bool| warnings.clone().any(wanted);
    has(|warning| matches!(warning, Warning::ArchiveStopped { .. }))
        && !has(|warning| matches!(warning, Warning::EndedEarly { .. } | Warning::Aborted { .. }))
}

/// Whether a run is incomplete for another reason than that it, or a part of it, ended early.
fn took_its_time(recorded: &Recorded) -> bool {
    let early = |warning: &Warning| matches!(warning, Warning::EndedEarly { .. } | Warning::Aborted { .. });
    let summary = recorded.summary.as_ref();
    summary.is_ok_and(|summary| !summary.warnings.iter().any(early))
}

/// Whether the archive does not say how a run ended.
fn has_no_last_word(recorded: &Recorded) -> bool {
    let record = recorded.run.record.as_ref();
    record.is_ok_and(|record| record.state == RunState::Running)
}

fn figures_in_words(summary: &Summary) -> String {
    let of = |workload: &dyno_archive::summary::WorkloadSummary| {
        let latency = percentile_words(summary, workload).map_or_else(String::new, |words| format!(", {words}"));
        let errors = if workload.errors > 0 {
            format!(", {} errors", percent(workload.error_percent()))
        } else {
            String::new()
        };
        format!("{}: {}{latency}{errors}.", workload.name, figure_words(workload))
    };
    summary.workloads.iter().map(of).collect::<Vec<_>>().join(" ")
}

/// Whether a run was steady.
pub(super) fn steady_words(steady: &dyno_archive::analysis::Steady) -> String {
    let reason = one_line(&steady.reason);
    match (steady.found, steady.from_s) {
        (true, Some(from_s)) => format!("Steady from {from_s:.0} s on: {reason}."),
        (true, None) => format!("Steady: {reason}."),
        (false, _) if reason.is_empty() => String::new(),
        (false, _) => format!("No steady state was found: {reason}."),
    }
}

/// The name of the main one of several servers.
fn main_server<'a>(recorded: &'a Recorded) -> &'a str {
    let record = recorded.run.record.as_ref();
    let first = record.ok().and_then(|record| record.servers.first());
    first.map_or(MAIN, String::as_str)
}

fn results(recorded: &Recorded, further: &[ServerOfRun]) -> Vec<Block> {
    let mut blocks = match &recorded.summary {
        Ok(summary) => results::blocks(summary, &recorded.server.words, servers::tables(recorded, further)),
        Err(error) => vec![paragraph(format!("There are no figures: {}", one_line(error)))],
    };
    if let Some(analysis) = &recorded.analysis {
        blocks.extend(table(results::dips(analysis)));
        let findings = analysis.findings.iter().map(|finding| one_line(finding));
        blocks.extend(list(dips_in_all(analysis).into_iter().chain(findings).collect()));
    }
    blocks
}

/// How long all dips lasted together, and how far they are apart; `None` if there are none.
fn dips_in_all(analysis: &Analysis) -> Option<String> {
    // Those of two workloads may be at the same time.
    let (mut lost_s, mut until_s) = (0.0, f64::MIN);
    for dip in &analysis.dips {
        lost_s += (dip.end_s - dip.start_s.max(until_s)).max(0.0);
        until_s = until_s.max(dip.end_s);
    }
    let every = analysis.dip_period_s.map_or_else(String::new, |period_s| {
        let period = Duration::try_from_secs_f64(period_s).unwrap_or_default();
        format!(", one every {}", duration(period))
    });
    let dips = counted(analysis.dips.len() as u64, "dip");
    (!analysis.dips.is_empty()).then(|| format!("{dips} of {} s in all{every}.", decimal(lost_s, 0)))
}

/// The figures of the load over time.
fn over_time(recorded: &Recorded, prefix: &str) -> Vec<Block> {
    let annotations = &recorded.annotations;
    let mut blocks = Vec::new();
    blocks.extend(figure(
        recorded.throughput.figure(&format!("{prefix}-throughput"), annotations),
    ));
    blocks.extend(figure(
        recorded.latency.figure(&format!("{prefix}-latency"), annotations),
    ));
    if blocks.is_empty() {
        blocks.push(paragraph(
            "No complete interval was recorded, so there is nothing to show over time.",
        ));
    }
    blocks
}

fn percentiles(recorded: &Recorded) -> Vec<Block> {
    let counts = recorded
        .latency
        .measured()
        .map(|(name, counts)| (name.to_owned(), false, vec![counts]));
    let facts = recorded
        .run
        .record
        .as_ref()
        .map_or(&[][..], |record| record.workloads.as_slice());
    let closed = facts.iter().any(|workload| workload.pacing.is_closed());
    let open = facts.iter().any(|workload| workload.pacing.is_open());
    let staged = facts.iter().any(|workload| workload.stages.len() > 1);
    let over = if staged { OVER_STAGES } else { "" };
    figure(percentile_curves(
        "percentiles",
        &format!("{}{over}", recorded.name),
        loop_words(closed, open),
        counts,
    ))
    .into_iter()
    .collect()
}

fn statements(recorded: &Recorded) -> Section {
    let of_clients = recorded.summary.as_ref().ok().map(statements::of_clients);
    let of_clients = of_clients.map(|table| with_details(table, &["stddev", "min", "p50", "p99.9"]));
    let of_server = table(statements::of_server(recorded.run, &recorded.server.words)).map(|block| {
        let section = section("statements-server", "Counted by the server", vec![block]);
        in_full(section)
    });
    Section {
        sections: of_server.into_iter().chain(plans::section_of(recorded.run)).collect(),
        ..section(
            "statements",
            "Statements",
            of_clients.and_then(table).into_iter().collect(),
        )
    }
}

fn server(recorded: &Recorded) -> Vec<Block> {
    let Some(sampled) = &recorded.samples else {
        return Vec::new();
    };
    let annotations = &recorded.annotations;
    let mut blocks = Vec::new();
    blocks.extend(figure(sampled.waits.figure("waits", annotations)));
    blocks.extend(sampled.waits.table().and_then(table));
    blocks.extend(figure(sampled.log.figure("wal", annotations)));
    blocks.extend(table(super::happened::checkpoints(
        recorded.run,
        &recorded.server.words,
    )));
    blocks.extend(table(super::happened::others(recorded.run)));
    blocks.extend(figure(sampled.sessions.figure("sessions", annotations)));
    blocks.extend(figure(sampled.lag.figure("lag", annotations)));
    blocks
}

fn machine(recorded: &Recorded) -> Vec<Block> {
    let Some(sampled) = &recorded.samples else {
        return Vec::new();
    };
    let annotations = &recorded.annotations;
    let figures = [
        sampled.cpu.figure("cpu", annotations),
        sampled.storage.figure("storage", annotations),
    ];
    figures.into_iter().filter_map(figure).collect()
}
