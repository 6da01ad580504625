//! The keeping of one run: what is there before the load, what happens meanwhile, what came of it.
//!
//! It does not matter who plans and drives the load. A campaign of experiments records each run, and so
//! does `dyno pgbench --archive`; both leave the same folder behind.

use super::beside::{Around, Beside, ask_remotes, describe};
use super::conclusion::{conclude, finish};
use super::plans::Plans;
use super::questions::{self, Questions};
use super::recorder::{Recorded, Recorder, told_together};
use super::sampling::Sampling;
use super::threads;
use super::{Progress, RunError, ceiling, settings};
use dyno_analysis::progress::FinishedRun;
use dyno_analysis::summary::{SummaryBuilder, metrics};
use dyno_archive::plan::PlannedRun;
use dyno_archive::plan::{ErrorLimit, Resolved, When, Workload};
use dyno_archive::summary::{TableGrowth, Warning, WorkloadFacts};
use dyno_archive::{ArchiveError, CampaignRecord, CampaignWriter, LoadHost, Preparation, RunRecord, RunState};
use dyno_engine::{Outcome, Stop, ThreadOptions};
use dyno_record::MOST_STATEMENTS;
use dyno_script::Example;
use dyno_target::host::host_facts;
use dyno_target::target::{Control, Database, DatabaseSizes, Passwords, Route, TableSizes, TargetError};
use jiff::Zoned;
use std::iter;
use std::path::{Path, PathBuf};

/// What is about to be driven, as far as it is to be kept.
pub struct Entry<'a> {
    /// What is to be done. Names, clients and phases of the load are the same, and in the same order.
    pub experiment: &'a Resolved,
    /// The SQL of each statement, for each workload, in the order of its program.
    pub statements: Vec<Vec<String>>,
    /// What each of them looks like when it is sent, by which the server is asked how it executes them before and after
    /// the load; `None`: it is not asked.
    pub examples: Option<Vec<Vec<Example>>>,
    /// The settings that the server is to run with, sizes absolute.
    pub settings: &'a [(String, String)],
    /// The database; of several servers the main one's.
    pub database: &'a dyn Database,
    /// The servers beside that.
    pub beside: Vec<Beside<'a>>,
    /// The command line as it may be archived; see [`crate::command::redacted`].
    pub command: &'a str,
    /// With how many errors the run still counts.
    pub max_errors: ErrorLimit,
    /// Whether counters are read while the load runs, and plans of statements around it.
    pub sampling: bool,
    /// How the load's threads work.
    pub threads: &'a ThreadOptions,
    /// How the data was made ready, if dyno did it.
    pub preparation: Option<Preparation>,
    /// What is to be kept in mind already, as sentences.
    pub notes: Vec<String>,
    /// What no answer of a server may show.
    pub passwords: Passwords,
    /// What ends waiting for the server before and after the load.
    pub stop: &'a Stop,
}

/// Keeps one run. It is opened when the data is ready, watches the load, and is closed when the load is over.
pub struct RunRecording<'a> {
    /// The campaign, if it is of this run alone.
    campaign: Option<CampaignWriter>,
    recorder: Recorder<'a>,
    folder: PathBuf,
    planned: PlannedRun,
    planned_s: Option<f64>,
    experiment: Resolved,
    control: Box<dyn Control>,
    sizes_before: Result<DatabaseSizes, TargetError>,
    plans: Option<Plans>,
    questions: Questions,
    beside: Vec<Around>,
    warnings: Vec<Warning>,
    notes: Vec<String>,
    server_too: bool,
    /// How the clients connect, if the ceiling is measured in their protocol.
    ceiling_route: Option<Route>,
    /// The hosts that drove the load, if it was not this process.
    load_hosts: Vec<LoadHost>,
}

impl<'a> RunRecording<'a> {
    /// Opens the recording of a load that is a campaign of its own, whose folder is made in `archive`. `seed` is what
    /// all random numbers follow from.
    ///
    /// # Errors
    /// The server does not answer, or the archive cannot be written. Then nothing is left in it.
    pub fn open_alone(
        archive: &Path,
        entry: Entry<'_>,
        seed: u64,
        progress: &'a mut dyn Progress,
    ) -> Result<Self, RunError> {
        let planned = PlannedRun::repetition(1);
        let record = CampaignRecord::new(
            entry.experiment.clone(),
            entry.command.to_owned(),
            Zoned::now(),
            seed,
            vec![planned.clone()],
        );
        let record = threads::kept(record, entry.threads);
        let campaign = CampaignWriter::create(archive, &record)?;
        match Self::open(&campaign, &planned, entry, progress) {
            Ok(recording) => Ok(Self {
                campaign: Some(campaign),
                ..recording
            }),
            Err(error) => {
                campaign.discard();
                Err(error)
            }
        }
    }

    /// Opens the recording of a run of `campaign`: describes the server and this machine, and makes the run's folder.
    ///
    /// # Errors
    /// The server does not answer, or was not waited for any more, or the archive cannot be written.
    pub fn open(
        campaign: &CampaignWriter,
        planned: &PlannedRun,
        mut entry: Entry<'_>,
        progress: &'a mut dyn Progress,
    ) -> Result<Self, RunError> {
        let Entry {
            experiment, database, ..
        } = entry;
        let mut control = database.control(&entry.stop.flag())?;
        let server = control.describe()?;
        let host = host_facts(database.data_folder());
        let mut warnings: Vec<_> = settings::durability(&server).into_iter().collect();
        warnings.append(&mut settings::differing(control.differences(entry.settings)?));
        let mut questions = Questions::of(&entry)?;
        let answers = questions.ask(When::Before, progress);
        if answers.are_stopped {
            return Err(RunError::Stopped);
        }
        let sizes_before = control.sizes();
        // What samplers count begins after this.
        let examples = entry.examples.take().filter(|_| entry.sampling);
        let on_main = |workload: &Workload| workload.server.is_none();
        let plans = examples.as_deref();
        let plans = plans.map(|examples| Plans::before(&mut *control, &entry, examples, on_main));
        let plans = plans.transpose()?;
        let sampling = match entry.sampling {
            true => Sampling::prepare(database, entry.stop).ok_or(RunError::Stopped)?,
            false => Sampling::default(),
        };
        let beside = entry.beside.iter();
        let beside = beside.map(|beside| describe(beside, &entry, examples.as_deref()));
        let mut beside = beside.collect::<Result<Vec<_>, _>>()?;
        let mut around: Vec<_> = beside.iter_mut().map(|one| &mut one.around).collect();
        ask_remotes(&mut around, &mut *control, false)?;
        Sampling::stand_together(iter::once(&sampling).chain(beside.iter().map(|one| &one.sampling)));

        let together: Vec<_> = experiment
            .workloads
            .iter()
            .zip(&entry.statements)
            .filter(|(_, statements)| statements.len() > MOST_STATEMENTS)
            .map(|(workload, statements)| told_together(&workload.name, Some(statements.len())))
            .collect();
        let workloads = experiment.workloads.iter().zip(entry.statements);
        let facts: Vec<_> = workloads
            .map(|(workload, statements)| WorkloadFacts::new(workload, statements).in_stages(&experiment.stages))
            .collect();
        let builder = SummaryBuilder::new(&facts, experiment.interval);
        let mut record = RunRecord::new(
            database.to_string(),
            entry.command.to_owned(),
            facts,
            &experiment.phases(),
            experiment.interval,
        );
        record.cell = planned.cell.clone();
        record.max_errors_percent = entry.max_errors;
        (record.number, record.repetition) = (planned.number, planned.repetition);
        record.server = server.facts;
        if !beside.is_empty() {
            record.servers = experiment.server_names().map(str::to_owned).collect();
        }
        record.host = serde_json::to_value(&host).unwrap_or_default();
        let sizes = sizes_before.as_ref().ok();
        record.preparation = entry
            .preparation
            .map(|preparation| with_sizes(preparation, sizes, &*control));
        let mut writer = campaign.run(planned, record)?;
        let folder = writer.path().to_owned();
        let mut notes = database.warnings().to_vec();
        notes.extend(answers.keep(writer.record_mut(), &folder));
        let all = plans
            .iter()
            .chain(beside.iter().filter_map(|one| one.around.plans.as_ref()));
        notes.extend(Plans::write(all, &folder).err().map(|error| plans_lost(&error)));
        notes.extend(entry.notes);
        notes.extend_from_slice(sampling.warnings());
        notes.extend(together);
        let (mut around, mut watched) = (Vec::new(), Vec::new());
        for mut one in beside {
            notes.append(&mut one.notes);
            let (one, watching) = one.open(&folder)?;
            around.push(one);
            watched.push(watching);
        }
        Ok(Self {
            campaign: None,
            recorder: Recorder::new(writer, builder, progress, sampling, watched),
            beside: around,
            folder,
            planned: planned.clone(),
            planned_s: experiment.measure.map(|duration| duration.as_secs_f64()),
            experiment: experiment.clone(),
            control,
            sizes_before,
            plans,
            questions,
            warnings,
            notes,
            server_too: database.is_local(),
            ceiling_route: database.reach().has_ceiling().then(|| database.route()),
            load_hosts: Vec::new(),
        })
    }

    /// Keeps a part of the load: the workloads behind the first `before`.
    pub(super) fn of_part(&mut self, before: usize) {
        self.recorder.of_part(before);
    }

    /// What is to see everything that the load has to say, from the calls of its own thread.
    pub fn observer(&mut self) -> &mut Recorder<'a> {
        &mut self.recorder
    }

    /// The run's folder.
    pub(super) fn folder(&self) -> &Path {
        &self.folder
    }

    /// Keeps what is known of the hosts that drove the load, which this process did not.
    pub(super) fn driven_by(&mut self, hosts: Vec<LoadHost>) {
        self.load_hosts = hosts;
    }

    /// Keeps in mind one more thing that was noticed.
    pub fn note(&mut self, note: String) {
        self.notes.push(note);
    }

    /// Tells whoever watches what a server is asked next.
    pub fn asks(&mut self, text: &str) {
        self.recorder.asks(text);
    }

    /// The load could not begin, for this `reason`: there is nothing to keep. A campaign of this run alone is removed.
    pub fn abandon(self, reason: &str) {
        let Recorded {
            summary, mut writer, ..
        } = self.recorder.finish(&[]);
        writer.record_mut().failure = Some(reason.to_owned());
        // If that cannot be written either, the folder reads as a run that was killed before it measured.
        let _ = writer.finish(RunState::Failed, summary);
        if let Some(campaign) = self.campaign {
            campaign.discard();
        }
    }

    /// Sums up the load, which is over. `reason` is what to say instead of how it ended, if the caller knows better:
    /// the run is not complete then.
    #[must_use]
    pub fn close(self, outcome: &Outcome, reason: Option<String>) -> FinishedRun {
        self.close_when(outcome, reason, Vec::new)
    }

    /// The same of a run whose servers are looked at once more when they are `settled`, which gives what is to be kept
    /// in mind, as sentences. Nothing is sampled any more by then.
    pub(super) fn close_when(
        mut self,
        outcome: &Outcome,
        reason: Option<String>,
        settled: impl FnOnce() -> Vec<String>,
    ) -> FinishedRun {
        let come_upon = self.recorder.come_upon().to_vec();
        let Recorded {
            mut summary,
            mut writer,
            beside: mut writers,
            progress,
        } = self.recorder.finish(&outcome.last);
        // What is known may have come to light only when the load was over.
        let is_spoilt = reason.is_some();
        let failure = conclude(&mut summary, outcome, self.planned_s, reason);
        let mut state = match (&outcome.ended_early, outcome.aborted.iter().sum()) {
            (None, 0_u64) if !is_spoilt => RunState::Complete,
            _ => RunState::Incomplete,
        };
        // Whoever ends a run early does not want to wait, and a server that did it may be gone or stand still.
        if outcome.ended_early.is_none() && !is_spoilt {
            self.notes.extend(settled());
            let before = self.sizes_before;
            let after = self.control.await_sessions_end();
            let after = after.and_then(|()| self.control.sizes());
            match before.and_then(|before| Ok((before, after?))) {
                Ok((before, after)) => {
                    summary.tables = growth(&before, &after, &*self.control);
                    writer.record_mut().tables = serde_json::to_value(Tables { before, after }).unwrap_or_default();
                }
                Err(error) => self.notes.push(error.to_string()),
            }
            let names = writer.record_mut().workloads.iter();
            let names: Vec<_> = names.map(|facts| facts.name.clone()).collect();
            if let Some(plans) = &mut self.plans
                && let Err(error) = plans.after(&mut *self.control, &names, &come_upon)
            {
                self.notes.push(error.to_string());
            }
            let mut around: Vec<_> = self.beside.iter_mut().collect();
            if let Err(error) = ask_remotes(&mut around, &mut *self.control, true) {
                self.notes.push(format!(
                    "Servers behind proxies were not asked for plans again: {error}."
                ));
            }
            let beside = self.beside.into_iter().zip(&mut writers);
            let beside = beside.filter_map(|(one, writer)| one.look_again(writer, &names, &come_upon, &mut self.notes));
            let all: Vec<_> = beside.collect();
            let written = Plans::write(self.plans.iter().chain(&all), &self.folder);
            self.notes.extend(written.err().map(|error| plans_lost(&error)));
            let answers = self.questions.ask(When::After, progress);
            if answers.are_stopped {
                state = RunState::Incomplete;
                self.notes.push(UNASKED.to_owned());
            }
            self.notes.extend(answers.keep(writer.record_mut(), &self.folder));
        } else {
            // That the run ended early is said elsewhere.
            self.questions.left_open().keep(writer.record_mut(), &self.folder);
        }
        let kept = writers.into_iter().filter_map(|writer| writer.finish().err());
        self.notes.extend(kept.map(|error| format!("{error}.")));
        self.notes.extend(self.plans.as_ref().and_then(Plans::denied));
        if !self.load_hosts.is_empty() {
            // What this process used, and could do, says nothing of agents.
            summary.client_cpu = None;
            self.ceiling_route = None;
        }
        writer.record_mut().load_hosts = self.load_hosts;
        let ceiling = self
            .ceiling_route
            .map_or(Ok(None), |route| ceiling::known(route, writer.record_mut()));
        match ceiling {
            Ok(point) => writer.record_mut().ceiling = point,
            Err(error) => self
                .notes
                .push(format!("The ceiling of this machine could not be read: {error}.")),
        }
        let (metrics, missing) = metrics::evaluate(&self.experiment, &summary);
        summary.metrics = metrics;
        if state == RunState::Complete {
            let judged = questions::metrics_judged(&self.experiment, &summary.metrics);
            writer.record_mut().checks.extend(judged);
        }
        self.notes.extend(missing);
        summary.warnings.append(&mut self.warnings);
        summary
            .warnings
            .extend(self.notes.into_iter().map(|text| Warning::Note { text }));
        settings::host_warnings(&mut summary, self.server_too);
        writer.record_mut().failure.clone_from(&failure);
        let kept = finish(writer, state, &mut summary, progress);
        FinishedRun {
            folder: self.folder,
            planned: self.planned,
            state: kept.state,
            summary: Some(summary),
            analysis: kept.analysis,
            failure: failure.or(kept.failure),
        }
    }
}

/// What to say of a load that took its time, and of which it is not known whether it passes its checks.
const UNASKED: &str = "The run was stopped after the load, before all checks and outputs had been answered: dyno run \
                       --resume makes it again.";

/// The same with the size of each table that was filled, as it is before the load.
fn with_sizes(mut preparation: Preparation, sizes: Option<&DatabaseSizes>, control: &dyn Control) -> Preparation {
    let tables = sizes.map_or(&[][..], |sizes| &sizes.tables);
    for step in &mut preparation.steps {
        let is_filled = |table: &&TableSizes| step.table.as_deref() == Some(&control.name_of(table));
        let bytes = tables.iter().find(is_filled).map(|table| table.table_bytes);
        step.bytes = bytes.and_then(|bytes| u64::try_from(bytes).ok());
    }
    preparation
}

/// What to say of plans that cannot be archived.
fn plans_lost(error: &ArchiveError) -> String {
    format!("The plans of statements are not kept: {error}.")
}

/// The tables before and after a run, with what the server counted about each.
#[derive(serde::Serialize)]
pub(super) struct Tables {
    pub before: DatabaseSizes,
    pub after: DatabaseSizes,
}

/// Sizes before and after of every table that is there after the run.
pub(super) fn growth(before: &DatabaseSizes, after: &DatabaseSizes, control: &dyn Control) -> Vec<TableGrowth> {
    let bytes = |number: i64| u64::try_from(number).unwrap_or(0);
    let each = after.tables.iter().map(|table| {
        let earlier = before
            .tables
            .iter()
            .find(|other| (&other.schema, &other.name) == (&table.schema, &table.name));
        TableGrowth {
            table: control.name_of(table),
            table_before_bytes: earlier.map_or(0, |table| bytes(table.table_bytes)),
            table_after_bytes: bytes(table.table_bytes),
            indexes_before_bytes: earlier.map_or(0, |table| bytes(table.index_bytes)),
            indexes_after_bytes: bytes(table.index_bytes),
        }
    });
    each.collect()
}
