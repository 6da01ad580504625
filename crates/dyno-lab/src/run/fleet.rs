//! A load that several hosts drive: agents started for a run, what each has of it, what is kept of each, and what is
//! said of them when it is over.

use super::host_counters::HostCounters;
use super::{Recorder, RunError};
use dyno_analysis::is_near_ceiling;
use dyno_archive::plan::{LoadHosts, OnLostHost, Resolved, WARMUP};
use dyno_archive::{ArchiveError, ClockComparison, HostGap, LoadHost, LoadHostWriter, LoadShare};
use dyno_engine::{ClientEvent, Connected, Cpus, Found, Observer, Outcome, Stop, ThreadOptions};
use dyno_fleet::protocol::{Hello, HostCeiling, Told};
use dyno_fleet::share::{Share, ShareError, check_hosts, share_out};
use dyno_fleet::start::{Cluster, Host, Place, Ray, hosts};
use dyno_fleet::{Fleet, FleetError, FleetObserver, Gap, HostOutcome, Patience};
use dyno_load::LoadPlan;
use dyno_record::{Interval, ListedInterval, Value};
use dyno_target::host::{boot_id, load_host_series};
use dyno_target::target::Environment;
use std::ops::ControlFlow;
use std::path::Path;
use std::time::Duration;

/// An agent's threads that are busy for this share of the time cannot do much more.
const BUSY_SHARE: f64 = 0.9;

/// A host of which less than this share is idle starves its agent.
const IDLE_SHARE: f64 = 0.1;

/// Threads that wait for a CPU for this share of the time are told.
const WAITED_SHARE: f64 = 0.1;

/// Longer stops by the agent's control group than this share of the time are told.
const THROTTLED_SHARE: f64 = 0.01;

/// The agents of a run, with nothing to do yet.
pub(super) struct Agents {
    fleet: Fleet,
    weights: Vec<f64>,
    on_lost: OnLostHost,
}

/// Agents that know what each has to do.
pub(super) struct Ready {
    fleet: Fleet,
    plan: LoadPlan,
    shares: Vec<Share>,
    on_lost: OnLostHost,
}

/// What came of a load that agents drove.
pub(super) struct Driven {
    pub outcome: Outcome,
    /// What is kept of each host.
    pub hosts: Vec<LoadHost>,
    /// For each workload how many events of scripts in Lua began again after an error which they ignore.
    pub restarted: Vec<u64>,
    /// What is to be kept in mind, as sentences.
    pub notes: Vec<String>,
    /// Why the run is not whole, if hosts were lost in it.
    pub loss: Option<String>,
}

/// Makes sure that the hosts of an experiment can drive it, as far as that can be seen without them.
pub(super) fn check(experiment: &Resolved) -> Result<(), FleetError> {
    let workloads = experiment.workloads.iter();
    let workloads = workloads.map(|workload| {
        let on = workload.load_hosts.as_slice();
        (workload.name.as_str(), workload.clients, on)
    });
    Ok(check_hosts(experiment.load_hosts.hosts.len(), workloads)?)
}

impl Agents {
    /// Starts the agents that the experiment asks for; `None` if it asks for none. `threads` says how they are to work.
    pub fn start(
        experiment: &Resolved,
        threads: &ThreadOptions,
        environment: Environment<'_>,
        stop: &Stop,
    ) -> Result<Option<Self>, RunError> {
        let LoadHosts {
            hosts: words,
            names,
            ray,
            listen,
            shares,
            on_lost_host,
        } = &experiment.load_hosts;
        if words.is_empty() {
            return Ok(None);
        }
        if threads.cpus != Cpus::default() {
            return Err(FleetError::Share(ShareError::Cpus).into());
        }
        let mut hosts = hosts(words.iter().map(String::as_str)).map_err(FleetError::Host)?;
        for (host, name) in hosts.iter_mut().zip(names) {
            host.name.clone_from(name);
        }
        let dyno = std::env::current_exe().map_err(RunError::Program)?;
        let ray = match ray {
            Some(address) if hosts.iter().any(|host| host.place == Place::Ray) => Some(Ray {
                cluster: Cluster::new(address, environment).map_err(FleetError::Ray)?,
                listen: *listen,
            }),
            _ => None,
        };
        let fleet = Fleet::start(&hosts, &dyno, ray.as_ref(), Patience::default(), stop)?;
        let weights = match shares.as_slice() {
            [] => fleet.hellos().map(|(_, hello)| hello.cores.max(1) as f64).collect(),
            shares => shares.to_vec(),
        };
        Ok(Some(Self {
            fleet,
            weights,
            on_lost: *on_lost_host,
        }))
    }

    /// The first of the hosts that are other machines than this one.
    pub fn elsewhere(&self) -> Option<&str> {
        let here = boot_id();
        let is_here = |theirs: &str| here.as_deref() == Some(theirs);
        let mut hosts = self.fleet.hellos();
        hosts.find_map(|(host, hello)| (!is_here(&hello.boot_id)).then_some(host.name.as_str()))
    }

    /// Shares the load out, whose workloads `experiment` has.
    pub fn share(self, experiment: &Resolved, mut plan: LoadPlan) -> Result<Ready, RunError> {
        let on: Vec<_> = experiment
            .workloads
            .iter()
            .map(|workload| workload.load_hosts.clone())
            .collect();
        let shares = share_out(&mut plan, &self.weights, &on).map_err(FleetError::Share)?;
        Ok(Ready {
            fleet: self.fleet,
            plan,
            shares,
            on_lost: self.on_lost,
        })
    }
}

impl Ready {
    /// Drives the load. `folder` is the run's, which gets a folder of each host; `told` is what agents tell beside.
    pub fn drive(
        self,
        experiment: &Resolved,
        recorder: &mut Recorder<'_>,
        folder: &Path,
        told: Told,
        stop: &Stop,
    ) -> Result<Driven, RunError> {
        let Self {
            fleet,
            plan,
            shares,
            on_lost,
        } = self;
        let on_lost = match on_lost {
            OnLostHost::Continue => dyno_fleet::OnLostHost::Continue,
            OnLostHost::End => dyno_fleet::OnLostHost::End,
        };
        let names: Vec<Host> = fleet.hellos().map(|(host, _)| host.clone()).collect();
        let hosts = fleet.hellos().zip(&shares);
        let hosts = hosts.map(|((host, hello), share)| entry(experiment, host, hello, share));
        recorder.driven_by(hosts.collect());
        let mut watched = Watched {
            recorder,
            records: names
                .iter()
                .map(|host| HostRecord::open(experiment, folder, host, told.counters))
                .collect::<Result<_, _>>()?,
            warmup: experiment.phases().iter().position(|phase| phase.name == WARMUP),
            problems: Vec::new(),
        };
        let (outcome, hosts) = fleet.drive(&plan, shares, on_lost, told, &mut watched, stop)?;
        let Watched { records, problems, .. } = watched;
        let measured_s = records.iter().map(|record| record.counters.measured_s());
        let measured_s = measured_s.fold(0.0, f64::max);
        let mut driven = Driven {
            loss: loss(&hosts, &outcome),
            outcome,
            hosts: Vec::new(),
            restarted: vec![0; experiment.workloads.len()],
            notes: problems,
        };
        for (host, record) in hosts.into_iter().zip(records) {
            driven.add(experiment, host, &record, measured_s);
        }
        Ok(driven)
    }
}

/// What to say of a load that lost hosts and went on.
fn loss(hosts: &[HostOutcome], outcome: &Outcome) -> Option<String> {
    let lost: Vec<_> = hosts
        .iter()
        .filter_map(|host| {
            let gap = host.gap.as_ref()?;
            Some(missing(&host.host.name, gap))
        })
        .collect();
    (outcome.ended_early.is_none() && !lost.is_empty()).then(|| lost.join("; "))
}

fn missing(name: &str, gap: &Gap) -> String {
    let from_s = gap.from.as_secs_f64();
    format!("load host {name} is missing from {from_s:.1} s on: {}", gap.reason)
}

impl Driven {
    fn add(&mut self, experiment: &Resolved, host: HostOutcome, record: &HostRecord, measured_s: f64) {
        let name = host.host.name.clone();
        let about = |text: &str| format!("Load host {name}: {text}");
        self.notes.extend(host.warnings.iter().map(|text| about(text)));
        for (sum, part) in self.restarted.iter_mut().zip(&host.restarted) {
            *sum = sum.saturating_add(*part);
        }
        // What limits a machine that the server shares is said of the machine.
        let is_elsewhere = boot_id().is_none_or(|here| here != host.hello.boot_id);
        let threads: usize = host.share.workloads.iter().map(|share| share.threads.len()).sum();
        let limit = record
            .limit(threads, is_elsewhere)
            .or_else(|| near_ceiling(record.statements as f64 / measured_s, host.ceiling?));
        if let Some(limit) = &limit {
            self.notes.push(format!("Load host {name} was the limit: {limit}."));
        }
        if let Some(waited) = record.waited_share(threads) {
            self.notes.push(about(&format!(
                "its threads waited for a CPU for {:.0} % of their time; latencies include this.",
                waited.min(1.0) * 100.0
            )));
        }
        let drift = Duration::from_nanos(host.clock.drift_ns());
        let uncertainty = Duration::from_nanos(host.clock.uncertainty_ns());
        if drift + uncertainty > experiment.interval / 10 {
            self.notes.push(about(&format!(
                "its clock and this one differ by up to {:.1} ms more than before the load, or cannot be compared more \
                 exactly; that is over a tenth of an interval, so what it did may count in the interval before or \
                 after.",
                (drift + uncertainty).as_secs_f64() * 1e3
            )));
        }
        if host.late.is_some_and(|late| late > experiment.interval / 10) {
            let late_ms = host.late.unwrap_or_default().as_secs_f64() * 1e3;
            self.notes
                .push(about(&format!("it began {late_ms:.1} ms later than the others.")));
        }
        self.hosts.push(LoadHost {
            transactions: Some(record.transactions),
            tps: Some(if measured_s > 0.0 {
                record.transactions as f64 / measured_s
            } else {
                0.0
            }),
            errors: Some(record.errors),
            late_us: host.late.map(|late| late.as_secs_f64() * 1e6),
            clock: Some(ClockComparison {
                time_of_day_us: host.time_of_day_ns.map(|ahead_ns| ahead_ns as f64 / 1e3),
                drift_us: drift.as_secs_f64() * 1e6,
                uncertainty_us: uncertainty.as_secs_f64() * 1e6,
            }),
            ceiling_per_s: host.ceiling.map(|ceiling| ceiling.statements_per_s),
            agent_cores: record.counters.agent_cores(),
            idle_percent: record.counters.idle_share().map(|share| share * 100.0),
            limit,
            gap: host.gap.map(|gap| HostGap {
                from_s: gap.from.as_secs_f64(),
                reason: gap.reason,
            }),
            ..entry(experiment, &host.host, &host.hello, &host.share)
        });
    }
}

/// Who a host is and what it has of the load, which is known before it has done anything.
fn entry(experiment: &Resolved, host: &Host, hello: &Hello, share: &Share) -> LoadHost {
    let shares = share.workloads.iter().zip(&experiment.workloads);
    LoadHost {
        name: host.name.clone(),
        place: host.place.word().to_owned(),
        hostname: hello.host.clone(),
        cores: hello.cores,
        shares: shares
            .map(|(share, workload)| LoadShare {
                workload: workload.name.clone(),
                first_client: share.clients.start,
                clients: share.clients.len(),
                threads: share.threads.len(),
                rate_per_s: share.rate_per_s,
            })
            .collect(),
        ..LoadHost::default()
    }
}

/// Why a host that executed so many statements per second limited the load, if it did nearly all that dyno can there.
fn near_ceiling(statements_per_s: f64, ceiling: HostCeiling) -> Option<String> {
    is_near_ceiling(statements_per_s, ceiling.statements_per_s).then(|| {
        format!(
            "it executed {statements_per_s:.0} statements per second, near the {:.0} that dyno does there at most \
             ({}); give it less of the load or add a host",
            ceiling.statements_per_s, ceiling.shape
        )
    })
}

/// What is kept of a host while the load runs.
struct HostRecord {
    name: String,
    writer: LoadHostWriter,
    transactions: u64,
    statements: u64,
    errors: u64,
    counters: HostCounters,
}

impl HostRecord {
    fn open(experiment: &Resolved, folder: &Path, host: &Host, sampling: bool) -> Result<Self, ArchiveError> {
        let series = load_host_series();
        let phases = experiment.phases().into_iter().map(|phase| phase.name).collect();
        let workloads = experiment
            .workloads
            .iter()
            .map(|workload| workload.name.clone())
            .collect();
        Ok(Self {
            name: host.name.clone(),
            writer: LoadHostWriter::create(folder, &host.name, phases, workloads, sampling.then_some(&series))?,
            transactions: 0,
            statements: 0,
            errors: 0,
            counters: HostCounters::new(&series),
        })
    }

    /// For which share of the time the threads waited for a CPU, if it is worth a word.
    fn waited_share(&self, threads: usize) -> Option<f64> {
        let share = self.counters.waiting_threads()? / threads.max(1) as f64;
        (share >= WAITED_SHARE).then_some(share)
    }

    /// Why this host limited the load, if it did.
    fn limit(&self, threads: usize, is_elsewhere: bool) -> Option<String> {
        let busy = self.counters.agent_cores().map(|cores| cores / threads.max(1) as f64);
        if let Some(busy) = busy.filter(|busy| *busy >= BUSY_SHARE) {
            return Some(format!(
                "its {threads} load threads were busy {:.0} % of the time; give the workloads more threads or add \
                 a host",
                busy.min(1.0) * 100.0
            ));
        }
        let throttled = self.counters.throttled_share();
        if let Some(share) = throttled.filter(|share| *share > THROTTLED_SHARE) {
            return Some(format!(
                "its control group held it back for {:.0} ms a second; raise its CPU quota",
                share * 1e3
            ));
        }
        let idle = self.counters.idle_share();
        let idle = idle.filter(|idle| is_elsewhere && *idle < IDLE_SHARE);
        let steal = self.counters.steal_share();
        idle.map(|idle| {
            let stolen = match steal > 0.05 {
                true => format!(", {:.0} % taken by other virtual machines", steal * 100.0),
                false => String::new(),
            };
            format!(
                "its CPUs were busy {:.0} % of the time{stolen}; give it less of the load or add a host",
                (1.0 - idle) * 100.0
            )
        })
    }
}

/// Tells the recorder of the whole, and keeps the parts.
struct Watched<'r, 'a> {
    recorder: &'r mut Recorder<'a>,
    records: Vec<HostRecord>,
    /// The phase that does not count.
    warmup: Option<usize>,
    problems: Vec<String>,
}

impl Watched<'_, '_> {
    fn keep(&mut self, kept: Result<(), ArchiveError>) {
        self.problems.extend(kept.err().map(|error| format!("{error}.")));
    }
}

impl Observer for Watched<'_, '_> {
    fn connected(&mut self, connected: &Connected) {
        self.recorder.connected(connected);
        let load_started = self.recorder.load_started();
        let records = self.records.iter_mut();
        records.for_each(|record| record.writer.begin(load_started));
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        self.recorder.interval(interval)
    }

    fn statement(&mut self, workload: usize, place: usize, found: Option<&Found>) {
        self.recorder.statement(workload, place, found);
    }

    fn client_event(&mut self, event: &ClientEvent) {
        self.recorder.client_event(event);
    }
}

impl FleetObserver for Watched<'_, '_> {
    fn host_interval(&mut self, host: usize, interval: &ListedInterval) {
        let is_measured = self.warmup != Some(interval.phase);
        let Some(record) = self.records.get_mut(host) else {
            return;
        };
        let end = interval.start + interval.duration;
        record.counters.interval(interval.start, end, is_measured);
        if is_measured {
            for recording in &interval.recordings {
                record.transactions += recording.transactions;
                record.statements += recording.statements;
                record.errors += recording.errors;
            }
        }
        let kept = record.writer.interval(interval);
        self.keep(kept);
    }

    fn host_sample(&mut self, host: usize, at: Duration, values: &[Option<f64>]) {
        let Some(record) = self.records.get_mut(host) else {
            return;
        };
        record.counters.sample(at, values);
        let values: Vec<Value> = values.iter().map(|value| Value::from(*value)).collect();
        let kept = record.writer.sample(at, &values);
        self.keep(kept);
    }

    fn host_lost(&mut self, host: usize, gap: &Gap) {
        let Some(record) = self.records.get(host) else {
            return;
        };
        self.recorder.tell_note(&format!("{}.", missing(&record.name, gap)));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::run::host_counters::tests::sample;

    fn record(samples: &[(u64, [f64; 6])]) -> HostRecord {
        let folder = tempfile::tempdir().unwrap();
        let experiment = Resolved::of_load("t".to_owned(), "t".to_owned(), Vec::new());
        let host = Host {
            name: "b".to_owned(),
            place: dyno_fleet::start::Place::Local,
        };
        let mut record = HostRecord::open(&experiment, folder.path(), &host, true).unwrap();
        let counters = &mut record.counters;
        counters.interval(Duration::from_secs(2), Duration::from_secs(4), true);
        for (at_s, values) in samples {
            counters.sample(Duration::from_secs(*at_s), &sample(*values));
        }
        record
    }

    #[test]
    fn a_host_near_its_ceiling_is_the_limit() {
        let ceiling = HostCeiling {
            statements_per_s: 100_000.0,
            shape: dyno_record::Shape {
                route: dyno_record::Route::Tcp,
                clients: 8,
                threads: 2,
            },
        };
        assert_eq!(
            near_ceiling(85_000.0, ceiling).unwrap(),
            "it executed 85000 statements per second, near the 100000 that dyno does there at most (tcp, 8 clients, \
             2 threads); give it less of the load or add a host"
        );
        assert_eq!(near_ceiling(70_000.0, ceiling), None);
        assert_eq!(near_ceiling(f64::NAN, ceiling), None);
    }

    #[test]
    fn the_host_that_limits_is_named_with_what_to_do() {
        // In the warm-up it was idle.
        let busy = record(&[
            (1, [0.0, 1.0, 0.0, 0.0, 0.0, 0.0]),
            (2, [10.0, 0.05, 0.01, 0.1, 0.0, 1.0]),
            (4, [13.9, 0.05, 0.01, 0.1, 0.0, 2.0]),
        ]);
        assert_eq!(
            busy.limit(2, false).unwrap(),
            "its 2 load threads were busy 98 % of the time; give the workloads more threads or add a host"
        );
        assert_eq!(
            busy.limit(8, true).unwrap(),
            "its CPUs were busy 94 % of the time, 10 % taken by other virtual machines; give it less of the load or \
             add a host"
        );
        assert_eq!((busy.waited_share(2), busy.waited_share(8)), (Some(0.25), None));
        // Here the server uses them as well.
        assert_eq!(busy.limit(8, false), None);
        let throttled = record(&[
            (2, [10.0, 0.5, 0.0, 0.0, 1.0, 0.0]),
            (4, [11.0, 0.5, 0.0, 0.0, 1.2, 0.0]),
        ]);
        assert_eq!(
            throttled.limit(4, true).unwrap(),
            "its control group held it back for 100 ms a second; raise its CPU quota"
        );
        assert_eq!(record(&[]).limit(1, true), None);
    }
}
