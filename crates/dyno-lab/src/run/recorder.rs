//! What happens to every interval of a running load: archived, summed up, and told to whoever watches.

use super::beside::Watched;
use super::lately::Lately;
use super::progress::Progress;
use super::sampling::{Running, Sampling};
use dyno_analysis::summary::SummaryBuilder;
use dyno_archive::plan::{Stage, WARMUP};
use dyno_archive::summary::{ClientCpu, Connection, HostCpu, Summary, Warning};
use dyno_archive::{Capacity, EventKind, EventRecord, LoadHost, PhaseRecord, RunWriter, ServerWriter};
use dyno_engine::{ClientEvent, Connected, Found, LastTransactions, Observer, TransportKind};
use dyno_record::{Interval, LatencyHistogram, MOST_STATEMENTS};
use dyno_target::host::{CpuMeter, CpuShares};
use jiff::Timestamp;
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use std::ops::ControlFlow;
use std::time::{Duration, Instant};

/// Observes one run.
pub struct Recorder<'a> {
    writer: RunWriter,
    builder: SummaryBuilder,
    progress: &'a mut dyn Progress,
    phases: Vec<String>,
    planned: Option<Duration>,
    sampling: Option<Sampling>,
    sampler: Option<Running>,
    /// The servers beside the main one.
    beside: Vec<Watched>,
    connection: Option<Connection>,
    begun: Option<Instant>,
    cpu: Cpu,
    host: CpuMeter,
    load_host: Option<HostCpu>,
    /// What whoever watches was not told yet.
    lately: Option<Lately>,
    /// The statements that clients came upon, each with the number of its workload.
    come_upon: Vec<(usize, Found)>,
    warnings: Vec<Warning>,
    /// The load's workloads before its own, if it keeps a part of the load.
    before: Option<usize>,
    /// What each workload was to do in each step, if the load is found step by step while it runs.
    steps: Option<Vec<Vec<Stage>>>,
}

/// What a recorder leaves.
pub(super) struct Recorded<'a> {
    /// What was measured, with what only the recorder knows filled in.
    pub summary: Summary,
    /// What is needed to archive it.
    pub writer: RunWriter,
    /// The same of the servers beside the main one.
    pub beside: Vec<ServerWriter>,
    pub progress: &'a mut dyn Progress,
}

/// dyno's own CPU time at the begin and at the end of what was measured, user and system.
#[derive(Default)]
struct Cpu {
    begin: (Duration, Duration),
    end: (Duration, Duration),
}

impl<'a> Recorder<'a> {
    pub(super) fn new(
        mut writer: RunWriter,
        builder: SummaryBuilder,
        progress: &'a mut dyn Progress,
        sampling: Sampling,
        beside: Vec<Watched>,
    ) -> Self {
        let phases = &writer.record_mut().phases;
        let planned_s: Option<f64> = phases.iter().map(|phase| phase.planned_s).sum();
        Self {
            planned: planned_s.and_then(|planned_s| Duration::try_from_secs_f64(planned_s).ok()),
            phases: phases.iter().map(|phase| phase.name.clone()).collect(),
            writer,
            builder,
            progress,
            sampling: Some(sampling),
            sampler: None,
            beside,
            connection: None,
            begun: None,
            cpu: Cpu::default(),
            host: CpuMeter::new(),
            load_host: None,
            lately: None,
            come_upon: Vec::new(),
            warnings: Vec::new(),
            before: None,
            steps: None,
        }
    }

    /// Keeps a part of the load, which has its turns: the workloads behind the first `before`. What belongs to the
    /// process as a whole is not told then.
    pub(super) fn of_part(&mut self, before: usize) {
        self.before = Some(before);
        self.writer.record_mut().in_turns = true;
    }

    /// What is measured is steps, each of which is told when it begins. How the load goes on is not told then, because
    /// whoever chooses them has more to tell.
    pub(super) fn keep_steps(&mut self) {
        let record = self.writer.record_mut();
        record.phases.retain(|phase| phase.name == WARMUP);
        self.phases.retain(|phase| phase == WARMUP);
        self.steps = Some(vec![Vec::new(); record.workloads.len()]);
    }

    /// A step begins in which each workload does what its stage says, all of the same name. Gives the index of its
    /// phase.
    pub(super) fn begin_step(&mut self, stages: &[Stage]) -> usize {
        let Some(steps) = &mut self.steps else { return 0 };
        let record = self.writer.record_mut();
        let each = record.workloads.iter_mut().zip(steps).zip(stages).enumerate();
        for (workload, ((facts, steps), stage)) in each {
            steps.push(stage.clone());
            *facts = facts.clone().in_stages(steps);
            self.builder.in_stages(workload, facts);
        }
        let name = stages.first().map_or("", |stage| &stage.name);
        record.phases.push(PhaseRecord {
            name: name.to_owned(),
            planned_s: None,
            start_s: None,
            end_s: None,
        });
        self.phases.push(name.to_owned());
        self.phases.len() - 1
    }

    /// Tells whoever watches what is known of the highest load that holds limits.
    pub(super) fn tell_capacity(&mut self, known: &Capacity, left: Duration) {
        self.progress.capacity(known, left);
    }

    /// The statements that clients came upon so far, in this order, each with the number of its workload.
    pub(super) fn come_upon(&self) -> &[(usize, Found)] {
        &self.come_upon
    }

    /// Tells whoever watches what a server is asked next.
    pub(super) fn asks(&mut self, text: &str) {
        self.progress.asks(text);
    }

    /// When the first phase began, if it has.
    pub(super) fn load_started(&self) -> Option<Timestamp> {
        self.writer.load_started()
    }

    /// Keeps who is to drive the load, before it begins: so it is known of a run that was killed, too.
    pub(super) fn driven_by(&mut self, hosts: Vec<LoadHost>) {
        self.writer.record_mut().load_hosts = hosts;
    }

    /// Tells whoever watches something to know that ends nothing.
    pub(super) fn tell_note(&mut self, text: &str) {
        self.progress.note(text);
    }

    /// Ends the recording of a load whose workloads ended like this.
    pub(super) fn finish(mut self, last: &[LastTransactions]) -> Recorded<'a> {
        self.tell();
        for (workload, last) in last.iter().enumerate() {
            self.builder
                .end(workload, last.done, &last.finished, &last.failed, last.open_for);
        }
        let mut beside = Vec::new();
        for watched in std::mem::take(&mut self.beside) {
            let (writer, warnings) = watched.finish();
            beside.push(writer);
            let notes = warnings.into_iter().map(|text| Warning::Note { text });
            self.warnings.extend(notes);
        }
        let sampled = self.sampler.take().map(Running::finish).unwrap_or_default();
        self.warnings
            .extend(sampled.warnings.into_iter().map(|text| Warning::Note { text }));
        self.keep_events(&sampled.events);
        self.read_host();
        let mut summary = self.builder.build();
        let transactions: u64 = summary
            .workloads
            .iter()
            .map(|workload| workload.transactions + workload.errors)
            .sum();
        if transactions > 0 && self.before.is_none() {
            let per_transaction =
                |end: Duration, begin: Duration| end.saturating_sub(begin).as_secs_f64() * 1e6 / transactions as f64;
            summary.client_cpu = Some(ClientCpu {
                user_us: per_transaction(self.cpu.end.0, self.cpu.begin.0),
                system_us: per_transaction(self.cpu.end.1, self.cpu.begin.1),
            });
        }
        summary.connection = self.connection;
        summary.sampling = sampled.cost;
        summary.load_host = self.load_host;
        summary.warnings.append(&mut self.warnings);
        Recorded {
            summary,
            writer: self.writer,
            beside,
            progress: self.progress,
        }
    }

    fn keep_events(&mut self, events: &[EventRecord]) {
        for event in events {
            if let Err(error) = self.writer.event(event) {
                self.archive_failed(&error);
            }
        }
    }

    /// The host's CPU shares since the measured phase began, unless they were read already.
    fn read_host(&mut self) {
        if self.load_host.is_some() {
            return;
        }
        self.load_host = self.host.read().map(|shares: CpuShares| HostCpu {
            user_percent: shares.user * 100.0,
            system_percent: shares.system * 100.0,
            iowait_percent: shares.iowait * 100.0,
            steal_percent: shares.steal * 100.0,
            idle_percent: shares.idle * 100.0,
        });
    }

    /// The measured phase begins at the earliest now.
    fn mark_begin(&mut self) {
        self.cpu.begin = own_cpu();
        self.host = CpuMeter::new();
    }

    /// Tells what the load did since that was last told.
    fn tell(&mut self) {
        let Some(lately) = self.lately.take() else { return };
        if self
            .steps
            .as_ref()
            .is_some_and(|steps| steps.iter().any(|steps| !steps.is_empty()))
        {
            return;
        }
        let phase = self.phases.get(lately.phase()).map(String::as_str).unwrap_or_default();
        let names = self
            .writer
            .record_mut()
            .workloads
            .iter()
            .map(|facts| facts.name.as_str());
        let live = lately.live(phase, names, self.planned);
        self.progress.live(&live);
    }

    fn archive_failed(&mut self, error: &dyno_archive::ArchiveError) {
        self.progress.note(&format!(
            "{error}. The run continues, and its summary will count everything."
        ));
        self.warnings.push(Warning::ArchiveStopped {
            error: error.to_string(),
        });
    }
}

/// Says of a workload of `all` statements, or of more than can be told, that not each has latencies of its own.
pub(super) fn told_together(workload: &str, all: Option<usize>) -> String {
    let has = match all {
        Some(all) => format!("has {all} statements"),
        None => format!("executes more than {MOST_STATEMENTS} different statements"),
    };
    format!(
        "\"{workload}\" {has}: the latencies of the first {MOST_STATEMENTS} are recorded separately, those of the \
         others together."
    )
}

/// This process's CPU time, user and system.
fn own_cpu() -> (Duration, Duration) {
    let Ok(usage) = getrusage(UsageWho::RUSAGE_SELF) else {
        return (Duration::ZERO, Duration::ZERO);
    };
    let duration = |time: nix::sys::time::TimeVal| Duration::from_micros(time.num_microseconds().unsigned_abs());
    (duration(usage.user_time()), duration(usage.system_time()))
}

impl Observer for Recorder<'_> {
    fn connected(&mut self, connected: &Connected) {
        let mut times = LatencyHistogram::new();
        connected.connect_time.iter().for_each(|workload| times.add(workload));
        // There are none yet if each transaction has its own.
        // The middle of the histogram's last step, so that the only one there is takes as long as the mean.
        let max_ns = times.inner().median_equivalent(times.max_ns());
        self.connection = (times.count() > 0).then(|| Connection {
            count: times.count(),
            mean_us: times.mean_ns() / 1e3,
            max_us: max_ns as f64 / 1e3,
            total_us: connected.total.as_secs_f64() * 1e6,
        });
        let transports = connected.transports.iter().map(ToString::to_string);
        self.writer.record_mut().transport = Some(transports.collect::<Vec<_>>().join(", "));
        if let Some(fallback) = &connected.fallback {
            self.warnings.push(Warning::Note {
                text: format!("The load used {} because {fallback}.", TransportKind::Readiness),
            });
        }
        if let Err(error) = self.writer.begin() {
            self.archive_failed(&error);
        }
        // The first phase begins when this returns.
        let load_started = self.writer.load_started();
        let sampling = self.sampling.take();
        self.sampler = sampling.map(|sampling| sampling.start(self.writer.path(), load_started));
        let beside = self.beside.iter_mut();
        beside.for_each(|watched| watched.start(load_started));
        self.begun = Some(Instant::now());
        self.mark_begin();
    }

    fn interval(&mut self, interval: &Interval) -> ControlFlow<()> {
        if let Err(error) = self.writer.interval(interval) {
            self.archive_failed(&error);
        }
        let noticed = self.sampler.as_ref().map(Running::events).unwrap_or_default();
        self.keep_events(&noticed);
        for place in 0..self.beside.len() {
            if let Err(error) = self.beside[place].keep_events() {
                self.archive_failed(&error);
            }
        }
        let phase = self.phases.get(interval.phase).map(String::as_str).unwrap_or_default();
        if phase == WARMUP {
            self.mark_begin();
        } else {
            self.builder.interval(phase, interval);
            self.cpu.end = own_cpu();
            if self
                .planned
                .is_some_and(|planned| interval.start + interval.duration >= planned)
            {
                self.read_host();
            }
        }
        if self
            .lately
            .as_ref()
            .is_some_and(|lately| lately.phase() != interval.phase)
        {
            self.tell();
        }
        let lately = self.lately.get_or_insert_default();
        lately.add(interval);
        if lately.is_enough() {
            self.tell();
        }
        ControlFlow::Continue(())
    }

    fn statement(&mut self, workload: usize, place: usize, found: Option<&Found>) {
        let Some(facts) = self.writer.record_mut().workloads.get_mut(workload) else {
            return;
        };
        if found.is_none() {
            self.warnings.push(Warning::Note {
                text: told_together(&facts.name, None),
            });
        }
        // Those that share the last place may share it with some that were known before.
        if place >= facts.statements.len() {
            let text = found.map_or("(all other statements together)", |found| &found.text);
            facts.statements.push(text.to_owned());
            self.builder.come_upon(workload, text);
            self.come_upon.extend(found.map(|found| (workload, found.clone())));
        }
    }

    fn client_event(&mut self, event: &ClientEvent) {
        let at_s = self.begun.map_or(0.0, |begun| begun.elapsed().as_secs_f64());
        let workloads = &self.writer.record_mut().workloads;
        let before = self.before.unwrap_or_default();
        let own = |index: usize| index.checked_sub(before).filter(|own| *own < workloads.len());
        let workload = |own: usize| workloads.get(own).map(|facts| facts.name.clone()).unwrap_or_default();
        let kind = match event {
            ClientEvent::Aborted {
                workload: index,
                client,
                why,
                ..
            } => {
                let Some(own) = own(*index) else { return };
                let reason = why.to_string();
                self.builder.ended(own, at_s, &reason);
                EventKind::Aborted {
                    workload: workload(own),
                    client: *client,
                    reason,
                }
            }
            ClientEvent::Reconnected {
                workload: index,
                client,
                after,
                ..
            } => {
                let Some(own) = own(*index) else { return };
                EventKind::Reconnected {
                    workload: workload(own),
                    client: *client,
                    after_s: after.as_secs_f64(),
                }
            }
            _ => return,
        };
        if let Err(error) = self.writer.event(&EventRecord { at_s, kind }) {
            self.archive_failed(&error);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use dyno_analysis::progress::Live;
    use dyno_analysis::summary::summary_of;
    use dyno_archive::plan::{Driver, PlannedRun, Protocol, Resolved, Scripts, Workload};
    use dyno_archive::summary::WorkloadFacts;
    use dyno_archive::{Archive, CampaignRecord, CampaignWriter, RunRecord, RunState};
    use dyno_engine::AbortReason;
    use dyno_record::{LatencyHistogram, Recording};
    use dyno_target::postgres::PostgresDatabase;
    use dyno_target::postgres::address::ConnectionInfo;
    use dyno_target::postgres::scope::Scope;

    #[derive(Default)]
    struct Errors(Vec<u64>);

    impl Progress for Errors {
        fn note(&mut self, text: &str) {
            panic!("{text}");
        }

        fn live(&mut self, live: &Live) {
            self.0.push(live.errors);
        }
    }

    fn load() -> Resolved {
        let workload = Workload {
            name: "pgbench".to_owned(),
            clients: 2,
            threads: 1,
            protocol: Protocol::Simple,
            driver: Driver::default(),
            rate_per_s: None,
            transactions_per_client: Some(5),
            start_delay: Duration::ZERO,
            server: None,
            instances: None,
            load_hosts: Vec::new(),
            scripts: Scripts::new([("a.sql".to_owned(), "select 1;".to_owned(), 1)]),
        };
        Resolved::of_load("pgbench".to_owned(), "a.sql".to_owned(), vec![workload])
    }

    #[test]
    fn a_load_that_lasts_as_long_as_its_transactions_is_kept_with_what_happens_to_its_clients() {
        let folder = tempfile::tempdir().unwrap();
        let load = load();
        let plan = PlannedRun::repetition(1);
        let now = jiff::Zoned::now();
        let record = CampaignRecord::new(load.clone(), "dyno pgbench".to_owned(), now, 1, vec![plan.clone()]);
        let campaign = CampaignWriter::create(folder.path(), &record).unwrap();
        let facts = vec![WorkloadFacts::new(&load.workloads[0], vec!["select 1".to_owned()])];
        let builder = SummaryBuilder::new(&facts, load.interval);
        let record = RunRecord::new(
            "nowhere".to_owned(),
            "dyno pgbench".to_owned(),
            facts,
            &load.phases(),
            load.interval,
        );
        let writer = campaign.run(&plan, record).unwrap();
        // Nobody listens there: the server is not sampled, which is no reason to stop.
        let nowhere = format!("host={} user=nobody", folder.path().display());
        let nowhere = ConnectionInfo::resolve(Some(&nowhere), &|_| None).unwrap();
        let sampling = Sampling::prepare(
            &PostgresDatabase::new(nowhere, Scope::Nothing),
            &dyno_engine::Stop::new(),
        )
        .unwrap();
        assert_eq!(sampling.warnings().len(), 1);

        let mut errors = Errors::default();
        let mut recorder = Recorder::new(writer, builder, &mut errors, sampling, Vec::new());
        recorder.connected(&Connected {
            connect_time: vec![LatencyHistogram::new()],
            total: Duration::ZERO,
            transports: [TransportKind::Readiness].into(),
            fallback: Some("the kernel is too old".to_owned()),
        });
        let (workload, client) = (0, 1);
        recorder.client_event(&ClientEvent::Reconnected {
            workload,
            client,
            endpoint: 0,
            after: Duration::from_millis(1_500),
        });
        recorder.client_event(&ClientEvent::Aborted {
            workload,
            client,
            script: 0,
            command: 0,
            why: AbortReason::OpenTransaction,
        });
        let found = Found {
            text: "select ?".to_owned(),
            example: "select 2".to_owned(),
        };
        recorder.statement(workload, 1, Some(&found));
        recorder.statement(workload, MOST_STATEMENTS, None);
        let mut recording = Recording::new(1);
        recording.record_statement(1, 5_000);
        recording.transactions = 10;
        recording.errors = 2;
        let interval = Interval {
            phase: 0,
            start: Duration::ZERO,
            duration: Duration::from_millis(300),
            first_thread_whole: true,
            recordings: vec![recording],
        };
        // As if there were a warm-up: its errors are not of what is measured.
        recorder.phases = vec!["measure".to_owned(), WARMUP.to_owned()];
        let warmup = Interval {
            phase: 1,
            ..interval.clone()
        };
        for interval in [&warmup, &warmup, &interval] {
            assert!(recorder.interval(interval).is_continue());
        }
        let Recorded { summary, writer, .. } = recorder.finish(&[]);
        writer.finish(RunState::Complete, summary).unwrap();
        // Each phase is told of to its end, although none lasted for a second.
        assert_eq!(errors.0, [4, 2]);

        let run = Archive::new(folder.path())
            .campaigns()
            .unwrap()
            .remove(0)
            .runs
            .remove(0);
        let record = run.record.as_ref().unwrap();
        assert_eq!((record.phases[0].planned_s, record.phases[0].end_s), (None, Some(0.3)));
        let workload = &summary_of(&run).unwrap().workloads[0];
        assert_eq!((workload.transactions, workload.transactions_per_client), (10, Some(5)));
        let statements: Vec<_> = workload
            .statement_latencies
            .iter()
            .map(|one| (one.sql.as_str(), one.count))
            .collect();
        assert_eq!(statements[..2], [("select 1", 0), ("select ?", 1)]);
        assert_eq!(record.workloads[0].statements[1], "select ?");
        let warnings = summary_of(&run).unwrap().warnings;
        let together = Warning::Note {
            text: told_together("pgbench", None),
        };
        assert!(together.to_string().contains("256"));
        assert!(warnings.contains(&together));
        let aborted = |warning: &&Warning| {
            matches!(
                warning,
                Warning::Aborted {
                    aborted: 1,
                    clients: 2,
                    ..
                }
            )
        };
        let said = warnings.iter().find(aborted).unwrap().to_string();
        assert!(
            said.contains(" s with: the script ended inside a transaction. "),
            "{said}"
        );
        assert_eq!(record.transport.as_deref(), Some("epoll"));
        let fallback = Warning::Note {
            text: "The load used epoll because the kernel is too old.".to_owned(),
        };
        assert!(summary_of(&run).unwrap().warnings.contains(&fallback));
        let happened: Vec<_> = run.events().unwrap().map(|event| event.kind).collect();
        let name = || "pgbench".to_owned();
        assert_eq!(
            happened[..2],
            [
                EventKind::Reconnected {
                    workload: name(),
                    client,
                    after_s: 1.5
                },
                EventKind::Aborted {
                    workload: name(),
                    client,
                    reason: "the script ended inside a transaction".to_owned()
                },
            ]
        );
    }
}
