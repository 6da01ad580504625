//! What a run shows of each of several servers: what was done on it, what that cost it, and its own samples.

use super::annotations::Annotations;
use super::around;
use super::environment;
use super::happened::{checkpoints, others};
use super::lineup;
use super::model::{Section, Table, Value};
use super::parts::{figure, in_full, paragraph, section, table};
use super::recorded::{Recorded, Sampled};
use super::results::growth;
use super::table::{number, text, value, with_details, without_empty_columns, words};
use super::waits::Waits;
use crate::figures::one_line;
use dyno_analysis::summary::sums;
use dyno_archive::plan::{MAIN, WARMUP};
use dyno_archive::summary::WorkloadSummary;
use dyno_archive::{Run, RunRecord, Samples, ServerOfRun};
use dyno_record::Meaning;
use dyno_stats::Running;

/// The tables over all servers; none if there is only one.
pub(super) fn tables(recorded: &Recorded, servers: &[ServerOfRun]) -> Vec<Table> {
    let Some(record) = recorded.run.record.as_ref().ok().filter(|_| !servers.is_empty()) else {
        return Vec::new();
    };
    let throughput = recorded.summary.as_ref().ok();
    let throughput = throughput.map(|summary| by_server(record, &summary.workloads));
    throughput
        .into_iter()
        .chain([work(recorded.run, record, servers)])
        .collect()
}

/// The server of a workload.
fn server_of<'a>(record: &'a RunRecord, workload: &str) -> &'a str {
    let facts = record.workloads.iter().find(|facts| facts.name == workload);
    let server = facts.and_then(|facts| facts.server.as_deref());
    server.unwrap_or_else(|| main(record))
}

/// The name of the main server.
fn main(record: &RunRecord) -> &str {
    record.servers.first().map_or(MAIN, String::as_str)
}

/// What each workload did on its server, in the order of the servers, and the sums that mean something.
fn by_server(record: &RunRecord, workloads: &[WorkloadSummary]) -> Table {
    let row = |server: &str, workload: &str, [tps, statements_per_s, errors]: [f64; 3]| {
        vec![
            words(server),
            words(workload),
            value(tps),
            value(statements_per_s),
            value(errors),
        ]
    };
    let figures = |workload: &WorkloadSummary| [workload.tps, workload.statements_per_s, workload.errors as f64];
    let mut rows: Vec<Vec<Value>> = Vec::new();
    for server in &record.servers {
        let its = workloads
            .iter()
            .filter(|workload| server_of(record, &workload.name) == server);
        rows.extend(its.map(|workload| row(server, &workload.name, figures(workload))));
    }
    let sums = sums(&record.workloads, workloads);
    rows.extend(sums.iter().map(|sum| row("all", &sum.name, figures(sum))));
    let table = Table {
        caption: "Throughput by server".to_owned(),
        columns: vec![
            text("server"),
            text("workload"),
            number("mean", "TPS"),
            number("statements", "1/s"),
            number("errors", ""),
        ],
        rows,
    };
    with_details(table, &["errors"])
}

/// What each server is, and the CPU time that its processes took in the measured time, if they are on this machine.
fn work(run: &Run, record: &RunRecord, servers: &[ServerOfRun]) -> Table {
    let measured = measured(record);
    let row = |name: &str, target: &str, what: String, run: &Run, lag: Option<Samples>| {
        let ended_s = measured.and_then(|time_s| sampled_until(run, time_s));
        let cpu_s = measured.and_then(|time_s| server_cpu_s(run, time_s));
        let lasts_s = measured.map(|(start_s, end_s)| end_s - start_s);
        let cores = cpu_s.zip(lasts_s).map(|(cpu_s, lasts_s)| cpu_s / lasts_s);
        let behind = [Meaning::StandbyLagS, Meaning::OwnLagBytes]
            .map(|meaning| mean_and_most(lag.as_ref()?, meaning, measured?));
        let [lag_s, lag_bytes] = behind.map(|figures| [figures.map(|(mean, _)| mean), figures.map(|(_, most)| most)]);
        vec![
            words(name),
            words(what),
            words(one_line(target)),
            value(cpu_s),
            value(cores),
            value(lag_s[0]),
            value(lag_s[1]),
            value(lag_bytes[0].map(f64::round)),
            value(lag_bytes[1].map(f64::round)),
            value(ended_s),
        ]
    };
    let rows = std::iter::once(row(main(record), &record.target, String::new(), run, None));
    let rows = rows.chain(servers.iter().map(|server| {
        let target = server.run.record.as_ref().map_or("", |record| record.target.as_str());
        let lag = lag_of(server, run, servers);
        row(&server.name, target, what_of(server), &server.run, lag)
    }));
    let rows: Vec<_> = rows.collect();
    let behind = match servers.iter().any(|server| server.replica_of.is_some()) {
        true => ", and how far replicas were behind",
        false => "",
    };
    let table = Table {
        caption: format!("Servers, with the CPU time of their processes while it was measured{behind}"),
        columns: vec![
            text("server"),
            text("is"),
            text("database"),
            number("CPU time", "s"),
            number("CPU", "cores"),
            number("lag, mean", "s"),
            number("lag, most", "s"),
            number("lag, mean", "bytes"),
            number("lag, most", "bytes"),
            number("sampled until", "s"),
        ],
        rows,
    };
    without_empty_columns(with_details(table, &["database"]))
}

/// How far a replica was behind its primary, if that is known.
fn lag_of(server: &ServerOfRun, run: &Run, servers: &[ServerOfRun]) -> Option<Samples> {
    let primary = server.replica_of.as_ref()?;
    let further = servers.iter().find(|other| other.name == *primary);
    dyno_analysis::lag(&server.run, further.map_or(run, |further| &further.run))
}

/// The last sample of a server, if it did not answer to the end of the measured time.
fn sampled_until(run: &Run, (_, end_s): (f64, f64)) -> Option<f64> {
    let samples = run.server_samples(|meaning| meaning == Meaning::SampleMs);
    let last_s = *samples.at_s.last()?;
    (last_s + MISSED_S < end_s).then_some(last_s)
}

/// The mean of what was sampled in the measured time, and the greatest value.
fn mean_and_most(samples: &Samples, meaning: Meaning, (start_s, end_s): (f64, f64)) -> Option<(f64, f64)> {
    let all = samples.at_s.iter().zip(samples.column(meaning)?);
    let within = all.filter(|(at_s, value)| value.is_finite() && (start_s..=end_s + LATE_S).contains(*at_s));
    let mut values = Running::new();
    within.for_each(|(_, value)| values.add(*value));
    values.mean().zip(values.max())
}

/// What a server is to another one.
fn what_of(server: &ServerOfRun) -> String {
    lineup::relation(server.behind.as_ref(), server.replica_of.as_ref())
}

/// When the measured time began and ended.
fn measured(record: &RunRecord) -> Option<(f64, f64)> {
    let phases = || record.phases.iter().filter(|phase| phase.name != WARMUP);
    let start_s = phases().find_map(|phase| phase.start_s)?;
    let end_s = phases().filter_map(|phase| phase.end_s).next_back()?;
    (end_s > start_s).then_some((start_s, end_s))
}

/// The last sample of a measured time is taken this much after its end at most.
const LATE_S: f64 = 0.5;

/// Samples are a second apart; so many seconds without any are not by chance.
const MISSED_S: f64 = 2.5;

/// The CPU time that the processes of the server of `run` took between two instants: what was sampled, put in
/// proportion, as samples are not taken just then. If they are not on this machine, it is what the server counts
/// itself; `None` if it does not.
fn server_cpu_s(run: &Run, measured: (f64, f64)) -> Option<f64> {
    let is_it = |meaning| meaning == Meaning::ServerCpuS;
    used_s(&run.host_samples(is_it), measured).or_else(|| used_s(&run.server_samples(is_it), measured))
}

fn used_s(samples: &Samples, (start_s, end_s): (f64, f64)) -> Option<f64> {
    let used_s = samples.column(Meaning::ServerCpuS)?;
    let all = samples.at_s.iter().zip(used_s).filter(|(_, used_s)| used_s.is_finite());
    let within: Vec<_> = all
        .filter(|(at_s, _)| (start_s..=end_s + LATE_S).contains(*at_s))
        .collect();
    let ((first_s, first), (last_s, last)) = (within.first()?, within.last()?);
    let lasts_s = *last_s - *first_s;
    (lasts_s > 0.0).then(|| (*last - *first) / lasts_s * (end_s - start_s))
}

/// A section for each server beside the main one.
pub(super) fn sections(recorded: &Recorded, servers: &[ServerOfRun]) -> Vec<Section> {
    let each = servers.iter().zip(2..);
    each.map(|(server, number)| of_server(recorded, servers, server, number))
        .collect()
}

fn of_server(recorded: &Recorded, servers: &[ServerOfRun], server: &ServerOfRun, number: usize) -> Section {
    let id = format!("server-{number}");
    let traits = server.run.traits();
    let Ok(record) = &server.run.record else {
        return section(id, title(&server.name), Vec::new());
    };
    let what = what_of(server);
    let target = one_line(&record.target);
    let what = if what.is_empty() { "database".to_owned() } else { what };
    let mut blocks = vec![paragraph(format!("{what}: {target}"))];
    blocks.extend(around::preparation(&server.run));
    blocks.extend(record.summary.as_ref().map(growth).and_then(table));
    let sampled = match &recorded.samples {
        Some(_) => {
            let lag = lag_of(server, recorded.run, servers);
            Some(Sampled::read(&server.run, recorded.grid, &traits.words, lag.as_ref()))
        }
        None => None,
    };
    let waits = match &sampled {
        Some(sampled) => sampled.waits.table(),
        None => {
            let mut waits = Waits::new(recorded.grid);
            server.run.waits().for_each(|row| waits.push(&row));
            waits.table()
        }
    };
    blocks.extend(waits.and_then(table));
    blocks.extend(table(checkpoints(&server.run, &traits.words)));
    blocks.extend(table(others(&server.run)));
    let mut chapters = Vec::new();
    if let Some(sampled) = sampled {
        let mut annotations = Annotations::new(recorded.run.name(), record.interval_s, recorded.grid.end_s());
        annotations.set_phases(&record.phases);
        server
            .run
            .events()
            .into_iter()
            .flatten()
            .for_each(|event| annotations.push(&event));
        let figures = [
            sampled.waits.figure(&format!("{id}-waits"), &annotations),
            sampled.log.figure(&format!("{id}-wal"), &annotations),
            sampled.sessions.figure(&format!("{id}-sessions"), &annotations),
            sampled.lag.figure(&format!("{id}-lag"), &annotations),
        ];
        let figures = figures.into_iter().filter_map(figure).collect();
        chapters.push(section(format!("{id}-over-time"), "Over time", figures));
    }
    let settings = table(environment::settings(&[record])).into_iter().collect();
    chapters.push(section(format!("{id}-settings"), "Settings", settings));
    chapters.retain(|chapter| !chapter.blocks.is_empty());
    Section {
        sections: chapters.into_iter().map(in_full).collect(),
        ..section(id, title(&server.name), blocks)
    }
}

/// The title of the section about a server.
pub(super) fn title(name: &str) -> String {
    format!("Server {name}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::plan::Instances;
    use dyno_archive::summary::WorkloadFacts;

    #[test]
    fn each_workload_stands_at_its_server_and_sums_where_they_mean_something() {
        let facts = |name: &str, server: Option<&str>, sum: Option<bool>| WorkloadFacts {
            server: server.map(str::to_owned),
            instances: sum.map(|sum| Instances {
                of: name.split('-').next().unwrap_or_default().to_owned(),
                sum,
            }),
            ..WorkloadFacts::closed(name, 1, 1)
        };
        let workloads = vec![
            facts("read-1", Some("proxy-1"), Some(true)),
            facts("ping-1", Some("proxy-1"), Some(false)),
            facts("read-2", Some("proxy-2"), Some(true)),
            facts("write", None, None),
        ];
        let summaries = workloads.iter().zip([10.0, 1.0, 20.0, 5.0]);
        let summaries = summaries.map(|(facts, tps)| WorkloadSummary {
            name: facts.name.clone(),
            tps,
            ..crate::fixture::update().workloads.remove(0)
        });
        let summaries: Vec<_> = summaries.collect();
        let record = RunRecord {
            servers: ["remote", "proxy-1", "proxy-2"].map(str::to_owned).into(),
            ..RunRecord::new(String::new(), String::new(), workloads, &[], Default::default())
        };
        let rows = by_server(&record, &summaries).rows.into_iter();
        let said: Vec<_> = rows.map(|row| row[..3].to_vec()).collect();
        let row = |server: &str, workload: &str, tps: f64| vec![words(server), words(workload), value(tps)];
        assert_eq!(
            said,
            [
                row("remote", "write", 5.0),
                row("proxy-1", "read-1", 10.0),
                row("proxy-1", "ping-1", 1.0),
                row("proxy-2", "read-2", 20.0),
                row("all", "read (sum)", 30.0),
            ]
        );
    }
}
