//! A run that is made up, interval by interval.

use crate::disturbances::Disturbances;
use crate::recordings::Recordings;
use crate::samples::Samples;
use crate::{Error, facts};
use dyno_analysis::analyse;
use dyno_analysis::summary::SummaryBuilder;
use dyno_archive::plan::{Phase, PlannedRun, Resolved};
use dyno_archive::summary::WorkloadFacts;
use dyno_archive::{CampaignWriter, Run, RunRecord, RunState, RunWriter};
use dyno_record::{Interval, Recording};
use std::time::Duration;

/// How fast a workload goes.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Pace {
    /// Transactions per second when nothing disturbs it, above zero.
    pub tps: f64,
    /// How far intervals differ from that: relative standard deviation.
    pub spread: f64,
    /// With what message one transaction in a thousand fails; empty: none does.
    pub error: String,
}

/// A run under way.
pub struct MadeRun {
    writer: RunWriter,
    builder: SummaryBuilder,
    phases: Vec<Phase>,
    interval: Duration,
    now: Duration,
    workloads: Vec<(WorkloadFacts, Pace)>,
    disturbances: Disturbances,
    recordings: Recordings,
    samples: Samples,
    random: fastrand::Rng,
}

impl MadeRun {
    pub(crate) fn begin(
        campaign: &CampaignWriter,
        run: &PlannedRun,
        experiment: &Resolved,
        pace: impl Fn(&str) -> Pace,
    ) -> Result<Self, Error> {
        let phases = experiment.phases();
        let total = experiment.duration().ok_or("it must be known how long the run takes")?;
        let workloads: Vec<_> = experiment
            .workloads
            .iter()
            .map(|workload| (facts::workload(workload), pace(&workload.name)))
            .collect();
        let all: Vec<WorkloadFacts> = workloads.iter().map(|(facts, _)| facts.clone()).collect();
        let builder = SummaryBuilder::new(&all, experiment.interval);
        let command = "dyno run".to_owned();
        let mut record = RunRecord::new(facts::TARGET.to_owned(), command, all, &phases, experiment.interval);
        record.number = run.number;
        record.cell.clone_from(&run.cell);
        record.repetition = run.repetition;
        record.server = facts::server(&experiment.settings);
        record.host = facts::host();
        let mut writer = campaign.run(run, record)?;
        writer.begin()?;
        let mut random = fastrand::Rng::with_seed(run.number as u64);
        let table = experiment.data.fill.first().map_or("tbl", |fill| fill.table.as_str());
        Ok(Self {
            builder,
            phases,
            interval: experiment.interval,
            now: Duration::ZERO,
            disturbances: Disturbances::new(total.as_secs_f64(), &format!("public.{table}"), &experiment.title),
            recordings: Recordings::new(&mut random),
            samples: Samples::create(&writer)?,
            workloads,
            writer,
            random,
        })
    }

    /// Appends what happened in the next interval. Gives back whether there was one.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn step(&mut self) -> Result<bool, Error> {
        let Some((phase, end)) = self.phase() else {
            return Ok(false);
        };
        let start = self.now;
        let duration = self.interval.min(end - start);
        let (start_s, duration_s) = (start.as_secs_f64(), duration.as_secs_f64());
        let share = self.disturbances.share_left(start_s + duration_s / 2.0);
        let recordings: Vec<Recording> = self
            .workloads
            .iter()
            .map(|(facts, pace)| {
                let statements = facts.statements.len();
                self.recordings
                    .make(pace, facts.clients, statements, duration_s, share, &mut self.random)
            })
            .collect();
        let transactions = recordings.iter().map(|recording| recording.transactions).sum();
        let interval = Interval {
            phase,
            start,
            duration,
            first_thread_whole: true,
            recordings,
        };
        if let Some(phase) = self.phases.get(phase).filter(|phase| phase.measured) {
            self.builder.interval(&phase.name, &interval);
        }
        self.now += duration;
        let clients = self.workloads.iter().map(|(facts, _)| facts.clients).sum();
        self.samples
            .row(self.now, transactions, clients, &self.disturbances, &mut self.random)?;
        for event in self.disturbances.ended(start_s, self.now.as_secs_f64()) {
            self.writer.event(&event)?;
        }
        self.writer.interval(&interval)?;
        Ok(true)
    }

    /// How far it has come.
    #[must_use]
    pub fn now(&self) -> Duration {
        self.now
    }

    /// Ends the run, with its summary and analysis.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(mut self, state: RunState) -> Result<Run, Error> {
        let statements = self.workloads.iter().flat_map(|(facts, _)| facts.statements.iter());
        self.samples.statements(self.now, statements)?;
        let mut run = self.writer.finish(state, self.builder.build())?;
        let analysis = analyse(&run);
        run.analysed(analysis)?;
        Ok(run)
    }

    /// The phase that goes on now, and when it ends.
    fn phase(&self) -> Option<(usize, Duration)> {
        let mut end = Duration::ZERO;
        self.phases.iter().enumerate().find_map(|(index, phase)| {
            end += phase.duration?;
            (self.now < end).then_some((index, end))
        })
    }
}
