//! What each server of a run recorded, and which of them may explain a dip.
//!
//! A server is asked by the workloads on it, and by those on the proxies in front of it. It explains only what these
//! lost: beside a server that stands still, what happens on another at the same time is chance.

use crate::causes::{Server, cause_of};
use crate::checkpoints;
use crate::recording::Recording;
use crate::series::{Signal, Window};
use crate::throughput::Throughput;
use dyno_archive::analysis::Dip;
use dyno_archive::plan::MAIN;
use dyno_archive::summary::WorkloadFacts;
use dyno_archive::{Run, ServerOfRun};
use std::collections::BTreeMap;

/// A server takes part in a dip of all workloads together if those that ask it lost this share of the dip's depth.
const TAKES_PART: f64 = 0.5;

/// The servers of a run, the main one first.
pub(super) struct Sides(Vec<Side>);

struct Side {
    name: String,
    /// The server that it reaches through foreign tables, if it is a proxy.
    behind: Option<String>,
    /// The workloads that ask it.
    asked_by: Vec<String>,
    recording: Recording,
}

impl Sides {
    /// Reads what `run` recorded of each server. Its `throughput` and dips are known already.
    pub fn read(run: &Run, throughput: &Throughput, dips: &[Window]) -> Self {
        let facts = run.record.as_ref().map_or(&[][..], |record| &record.workloads);
        let further = run.servers();
        let record = run.record.as_ref().ok();
        let main = record.and_then(|record| record.servers.first());
        let main = main.map_or(MAIN, String::as_str);
        let side = |name: &str, behind: Option<&String>, seen: &Run| {
            let ways = ways(main, &further);
            let asks = |workload: &&WorkloadFacts| {
                let asked = workload.server.as_deref().unwrap_or(main);
                chain(&ways, asked).any(|asked| asked == name)
            };
            let asking: Vec<_> = facts.iter().filter(asks).collect();
            let all = asking.len() == facts.len() || asking.is_empty();
            let own = match all {
                true => throughput.clone(),
                false => Throughput::of(run, &|workload| asking.iter().any(|facts| facts.name == workload)),
            };
            let mut recording = Recording::read(seen, &own, dips.to_vec());
            let asking = if all { facts.iter().collect() } else { asking };
            recording.clients = asking.iter().map(|facts| facts.clients as f64).sum();
            recording.losing_clients = recording.clients;
            recording.levels = throughput.levels();
            Side {
                name: name.to_owned(),
                behind: behind.cloned(),
                asked_by: asking.iter().map(|facts| facts.name.clone()).collect(),
                recording,
            }
        };
        let beside = further
            .iter()
            .map(|server| side(&server.name, server.behind.as_ref(), &server.run));
        Self([side(main, None, run)].into_iter().chain(beside).collect())
    }

    /// The main server, with which the machine is recorded.
    pub fn main(&self) -> &Recording {
        &self.0[0].recording
    }

    /// A dip of all workloads together, with its cause.
    pub fn dip(&self, window: Window, depth: f64) -> Dip {
        let takes_part = |side: &&Side| {
            let tps = Signal::new(side.recording.tps.clone(), &side.recording.dips);
            let left = tps.and_then(|tps| Some(tps.series.mean_in(window)? / tps.usual.median));
            left.is_none_or(|left| 1.0 - left >= TAKES_PART * depth)
        };
        let servers = match self.0.len() {
            1 => self.0.iter().collect(),
            _ => self.0.iter().filter(takes_part).collect(),
        };
        self.told(None, window, depth, self.main(), servers)
    }

    /// Dips of the workload `name` alone, each with its depth.
    pub fn dips_of(
        &self,
        name: &str,
        dips: impl Iterator<Item = (Window, f64)>,
        facts: &[WorkloadFacts],
        each: &BTreeMap<String, Throughput>,
    ) -> Vec<Dip> {
        let asked = |side: &&Side| side.asked_by.iter().any(|workload| workload == name);
        let seen = |side: &Side| Side {
            recording: side.recording.of_workload(name, facts, each),
            name: side.name.clone(),
            behind: side.behind.clone(),
            asked_by: Vec::new(),
        };
        let servers: Vec<Side> = self.0.iter().filter(asked).map(seen).collect();
        let machine = self.main().of_workload(name, facts, each);
        dips.map(|(window, depth)| self.told(Some(name), window, depth, &machine, servers.iter().collect()))
            .collect()
    }

    fn told(&self, workload: Option<&str>, window: Window, depth: f64, machine: &Recording, of: Vec<&Side>) -> Dip {
        let several = self.0.len() > 1;
        let servers: Vec<_> = of
            .into_iter()
            .map(|side| Server {
                name: several.then_some(side.name.as_str()),
                behind: side.behind.as_deref(),
                recording: &side.recording,
            })
            .collect();
        let (cause, evidence) = cause_of(machine, &servers, window);
        Dip {
            workload: workload.map(str::to_owned),
            start_s: window.start_s,
            end_s: window.end_s,
            depth_percent: depth * 100.0,
            cause,
            evidence,
        }
    }

    /// The sentences about what checkpoints do that hold for the run.
    pub fn findings(&self) -> Vec<String> {
        let several = self.0.len() > 1;
        let of = |side: &Side| {
            let about = if several {
                format!("server {}: ", side.name)
            } else {
                String::new()
            };
            let findings = checkpoints::findings(&side.recording).into_iter();
            findings
                .map(move |finding| format!("{about}{finding}"))
                .collect::<Vec<_>>()
        };
        self.0.iter().flat_map(of).collect()
    }
}

/// Each server's name with that of the one which it is a proxy of.
fn ways<'a>(main: &'a str, further: &'a [ServerOfRun]) -> Vec<(&'a str, Option<&'a str>)> {
    let further = further
        .iter()
        .map(|server| (server.name.as_str(), server.behind.as_deref()));
    std::iter::once((main, None)).chain(further).collect()
}

/// The server `first` and those that it asks in its turn. No more than there are, whatever an archive says.
pub(super) fn chain<'a>(ways: &[(&'a str, Option<&'a str>)], first: &'a str) -> impl Iterator<Item = &'a str> {
    let next = |name: &&'a str| ways.iter().find(|(of, _)| of == name).and_then(|(_, behind)| *behind);
    std::iter::successors(Some(first), next)
        .take(ways.len())
        .collect::<Vec<_>>()
        .into_iter()
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_archive::analysis::Cause;
    use dyno_archive::{RunRecord, RunState, ServerRecord};
    use std::fmt::Write as _;
    use std::fs;
    use std::time::Duration;

    /// The dips of two minutes of `writes` on the main server and `reads` on a replica, which stood still from second
    /// 60 to 64, when on the server whose folder is `blocked` a session held a lock.
    fn dips(blocked: &str) -> Vec<Dip> {
        let folder = tempfile::tempdir().unwrap();
        let replica = folder.path().join("servers/replica");
        fs::create_dir_all(&replica).unwrap();
        let mut rows = "phase,interval_start_s,interval_s,workload,transactions,statements,errors,retries,skipped,tps,\
             latency_mean_us,latency_min_us,latency_max_us,latency_p50_us,latency_p95_us,latency_p99_us,\
             latency_p99_9_us,lag_mean_us,lag_max_us,retried,late\n"
            .to_owned();
        for second in 0..120 {
            let reads = if (60..64).contains(&second) { 0 } else { 9_000 };
            for (workload, done) in [("writes", 5_000 + 20 * (second % 7)), ("reads", reads)] {
                writeln!(
                    rows,
                    "measure,{second},1,{workload},{done},{done},0,0,0,{done},,,,,,,,,,0,0"
                )
                .unwrap();
            }
        }
        fs::write(folder.path().join("intervals.csv"), rows).unwrap();
        let lock = "{\"at_s\":64.0,\"event\":\"blocked\",\"start_s\":60.0,\"end_s\":64.0,\"waiting\":8,\
             \"holder\":\"4711 psql\",\"relation\":\"tbl\"}\n";
        fs::write(folder.path().join(blocked).join("events.jsonl"), lock).unwrap();
        let server = ServerRecord {
            replica_of: Some("main".to_owned()),
            ..ServerRecord::default()
        };
        fs::write(replica.join("server.json"), serde_json::to_string(&server).unwrap()).unwrap();
        let reads = WorkloadFacts {
            server: Some("replica".to_owned()),
            ..WorkloadFacts::closed("reads", 8, 1)
        };
        let facts = vec![WorkloadFacts::closed("writes", 8, 1), reads];
        let record = RunRecord {
            servers: vec!["main".to_owned(), "replica".to_owned()],
            ..RunRecord::new(String::new(), String::new(), facts, &[], Duration::from_secs(1))
        };
        let run = Run {
            path: folder.path().to_owned(),
            record: Ok(record),
            state: RunState::Complete,
        };
        crate::analyse(&run).dips
    }

    #[test]
    fn a_dip_has_its_cause_on_the_server_that_had_it() {
        let [dip] = &dips("servers/replica")[..] else {
            unreachable!()
        };
        assert_eq!((dip.start_s, dip.end_s, dip.cause), (60.0, 64.0, Cause::Lock));
        assert!(dip.evidence[0].starts_with("on replica: "), "{dip:?}");
        let [dip] = &dips("")[..] else { unreachable!() };
        assert_eq!((dip.cause, dip.evidence.len()), (Cause::Unknown, 0), "{dip:?}");
    }

    #[test]
    fn a_chain_ends_also_where_an_archive_has_a_circle() {
        let ways = [("a", None), ("b", Some("a")), ("c", Some("b"))];
        assert_eq!(chain(&ways, "c").collect::<Vec<_>>(), ["c", "b", "a"]);
        assert_eq!(chain(&ways, "a").collect::<Vec<_>>(), ["a"]);
        assert_eq!(chain(&[("a", Some("b")), ("b", Some("a"))], "a").count(), 2);
    }
}
