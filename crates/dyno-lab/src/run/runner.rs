//! Runs a campaign: run after run, whatever becomes of each.

use super::cell::Bench;
use super::embedded::EmbeddedServers;
use super::external::{ExternalServers, Leftover};
use super::loaded::Loaded;
use super::reserved::Reserved;
use super::screen;
use super::servers::CellServers;
use super::threads;
use super::turns;
use super::{Emergency, Finished, Progress, RunError};
use dyno_analysis::progress::{FinishedRun, Upcoming};
use dyno_archive::plan::PlannedRun;
use dyno_archive::plan::Resolved;
use dyno_archive::plan::{OnFailure, Plan};
use dyno_archive::summary::WorkloadFacts;
use dyno_archive::{Block, Campaign, CampaignRecord, CampaignWriter, RunRecord, RunState, Turns, Versus, Way};
use dyno_engine::Stop;
use dyno_target::target::Environment;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long preparing and closing a run takes, as long as none has shown it.
const USUAL_OVERHEAD: Duration = Duration::from_secs(5);

/// How many cores this machine has.
fn cores() -> usize {
    std::thread::available_parallelism().map_or(1, usize::from)
}

/// How servers that are not dyno's own are used.
pub(super) struct Lending<'a> {
    /// A shell command that restarts them.
    pub restart_command: Option<&'a str>,
    /// The folder that knows what is to be put back.
    pub kept: Option<&'a Path>,
    /// Their locks.
    pub reserved: Reserved,
    /// What campaigns before have left on them.
    pub leftovers: Vec<Leftover>,
    /// Looks up variables that load hosts depend on.
    pub environment: Environment<'a>,
}

/// A campaign under way.
pub(super) struct CampaignRunner<'a> {
    plan: &'a Plan,
    cells: &'a [CellServers<'a>],
    bench: Bench<'a>,
    /// What the runs made so far took beyond their phases.
    overhead: Duration,
    made: u32,
    /// How many runs of the plan are needed, the first ones; it turns out to be fewer than planned where they end with
    /// an answer.
    needed: usize,
    /// See [`Finished::only_archive`].
    only_archive: bool,
}

impl<'a> CampaignRunner<'a> {
    pub(super) fn new(
        campaign: &'a CampaignWriter,
        record: &'a CampaignRecord,
        plan: &'a Plan,
        cells: &'a [CellServers<'a>],
        lending: Lending<'a>,
        stop: &'a Stop,
        emergency: &'a Emergency,
    ) -> Self {
        let path = campaign.path();
        let name = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        Self {
            plan,
            cells,
            bench: Bench {
                campaign,
                name,
                all: cells
                    .iter()
                    .flat_map(CellServers::all)
                    .map(|server| &*server.experiment)
                    .collect(),
                several: plan.runs.len() > 1,
                seed: plan.seed,
                command: &record.command,
                max_errors: plan.max_errors,
                capacity: plan.capacity.as_ref(),
                sampling: record.sampling,
                threads: threads::of(record),
                environment: lending.environment,
                embedded: EmbeddedServers::new(emergency),
                external: ExternalServers::new(
                    path,
                    lending.restart_command,
                    lending.kept,
                    record.leave_settings,
                    lending.leftovers,
                    emergency,
                ),
                reserved: lending.reserved,
                loaded: Loaded::default(),
                stop,
            },
            overhead: Duration::ZERO,
            made: 0,
            needed: plan.runs.len(),
            only_archive: false,
        }
    }

    /// Makes the runs of the plan that are not over.
    pub(super) fn go(mut self, progress: &mut dyn Progress) -> Result<Finished, RunError> {
        let ended = match (&self.plan.turns, self.plan.screen) {
            (None, _) => self.runs(&self.missing(), progress),
            (
                Some(Turns {
                    way: Way::ByRuns { why, at_most },
                    ..
                }),
                _,
            ) => self.by_runs(why, *at_most, progress),
            (Some(turns), None) => self.in_turns(turns, progress),
            (Some(turns), Some(_)) => self.pairs(turns, progress),
        };
        let missing = self.missing().len();
        let faulty = self.faulty();
        self.bench.leave(missing == 0, progress);
        let failure = match ended {
            Err(cause) if self.made > 0 => Some(cause.to_string()),
            ended => ended?,
        };
        Ok(Finished {
            campaign: self.bench.campaign.path().to_owned(),
            planned: self.needed,
            missing,
            faulty,
            failure,
            only_archive: self.only_archive,
            unrestored: self.bench.external.unrestored(),
        })
    }

    /// The runs of the plan that are not over, as the archive says.
    fn missing(&self) -> Vec<&'a PlannedRun> {
        let campaign = Campaign::read(self.bench.campaign.path().to_owned());
        let has = |planned: &PlannedRun| campaign.as_ref().is_some_and(|campaign| campaign.has(planned));
        let needed = self.plan.runs.iter().take(self.needed);
        needed.filter(|planned| !has(planned)).collect()
    }

    /// How many runs do not count for their errors, also of earlier attempts at the campaign.
    fn faulty(&self) -> usize {
        let campaign = Campaign::read(self.bench.campaign.path().to_owned());
        let runs = campaign.iter().flat_map(|campaign| &campaign.runs);
        runs.filter(|run| run.state == RunState::Faulty).count()
    }

    /// Makes these runs, which are missing. Gives back what ended that before its time, unless that was asked for.
    fn runs(&mut self, missing: &[&PlannedRun], progress: &mut dyn Progress) -> Result<Option<String>, RunError> {
        for (index, planned) in missing.iter().enumerate() {
            if self.bench.stop.requested() {
                break;
            }
            let Some((experiment, servers)) = self.cell(planned) else {
                continue;
            };
            progress.begins(&self.upcoming(planned, experiment, &missing[index + 1..]));
            self.bench.campaign.set_aside(planned)?;
            let begun = Instant::now();
            let Some(run) = self.make(planned, experiment, servers, progress)? else {
                break;
            };
            self.overhead += begun
                .elapsed()
                .saturating_sub(experiment.duration().unwrap_or_default());
            self.made += 1;
            progress.finished(&run);
            if self.bench.reserved.is_lost() {
                return Ok(Some(RunError::Unreserved.to_string()));
            }
            let failed = run.state != RunState::Complete;
            let last = self.plan.on_failure == OnFailure::Stop || !self.bench.several;
            if failed && last {
                self.only_archive = run.failure.is_some() && run.failure.as_deref() == run.archive_error();
                return Ok(run.failure);
            }
        }
        Ok(None)
    }

    /// Makes the runs of cells that cannot be up at once, block after block, until it is known which does more, or
    /// until they took `at_most`.
    fn by_runs(
        &mut self,
        why: &str,
        at_most: Duration,
        progress: &mut dyn Progress,
    ) -> Result<Option<String>, RunError> {
        let mut notes = vec![format!(
            "The variants were not up at the same time, because {why}. Each was measured in runs of its own, one after \
             the other, in an order that was drawn; that takes longer to decide."
        )];
        notes.extend(turns::notes(self.plan, cores(), self.bench.stop));
        notes.iter().for_each(|note| progress.note(note));
        let folder = self.bench.campaign.path();
        let begun = Instant::now();
        let mut blocks_made = 0;
        let mut told = turns::OfRuns::new(progress);
        for (block, runs) in self.plan.runs.chunks(turns::block_of(self.plan)).enumerate() {
            let missing = self.missing();
            let missing: Vec<_> = missing.into_iter().filter(|run| runs.contains(run)).collect();
            if !missing.is_empty() {
                if let Some(failure) = self.runs(&missing, &mut told)? {
                    return Ok(Some(failure));
                }
                blocks_made += 1;
            }
            if self.bench.stop.requested() {
                break;
            }
            let Some(campaign) = Campaign::read(folder.to_owned()) else {
                break;
            };
            let (mut versus, blocks) = turns::known_of_runs(self.plan, &campaign);
            versus.notes.extend(notes.iter().cloned());
            versus.write(folder, &blocks)?;
            let took = begun.elapsed();
            told.versus(&versus, took, at_most);
            let next = took.checked_div(blocks_made).unwrap_or_default();
            if versus.is_decided() || took.saturating_add(next) > at_most {
                self.needed = (block + 1) * turns::block_of(self.plan);
                break;
            }
        }
        Ok(None)
    }

    /// Makes the runs of all cells, which are measured in turn: all, or none.
    fn in_turns(&mut self, turns: &Turns, progress: &mut dyn Progress) -> Result<Option<String>, RunError> {
        let Some(servers) = self.cells.first() else {
            return Err(RunError::NothingPlanned);
        };
        if self.missing().is_empty() || self.bench.stop.requested() {
            return Ok(None);
        }
        for planned in &self.plan.runs {
            self.bench.campaign.set_aside(planned)?;
        }
        let notes = turns::notes(self.plan, cores(), self.bench.stop);
        notes.iter().for_each(|note| progress.note(note));
        let folder = self.bench.campaign.path();
        let mut keep = |mut versus: Versus, blocks: &[Block]| {
            versus.notes.splice(0..0, notes.iter().cloned());
            versus.write(folder, blocks)
        };
        let runs = self
            .bench
            .in_turns(self.plan, turns, servers, Versus::is_decided, &mut keep, progress)?;
        self.made += u32::try_from(runs.len()).unwrap_or(u32::MAX);
        let failed = runs.iter().find(|run| run.state != RunState::Complete);
        Ok(failed.and_then(|run| run.failure.clone()))
    }

    /// Makes the pairs of a screening that are missing, each in turn. Without one of them nothing can be said, so the
    /// first that fails is the last.
    fn pairs(&mut self, turns: &Turns, progress: &mut dyn Progress) -> Result<Option<String>, RunError> {
        let folder = self.bench.campaign.path();
        let mut kept = screen::Kept::of(self.plan, folder);
        let missing = self.missing();
        for (number, servers) in self.cells.iter().enumerate() {
            let pair = screen::pair(self.plan, number);
            if kept.has(number) && !missing.iter().any(|run| pair.runs.contains(run)) {
                continue;
            }
            if self.bench.stop.requested() {
                break;
            }
            for planned in &pair.runs {
                self.bench.campaign.set_aside(planned)?;
            }
            let mut told = screen::OfPair {
                to: &mut *progress,
                number: number + 1,
                of: self.cells.len(),
            };
            told.step(&format!("Pair {} of {}", told.number, told.of));
            let mut keep = |versus: Versus, blocks: &[Block]| kept.keep(number, &versus, blocks);
            // That it is known which of a pair does more answers nothing.
            let answered = |_: &Versus| false;
            let runs = match self
                .bench
                .in_turns(&pair, turns, servers, answered, &mut keep, &mut told)
            {
                Err(_) if self.bench.stop.requested() && self.made > 0 => break,
                made => made?,
            };
            self.made += 2;
            if let Some(failed) = runs.iter().find(|run| run.state != RunState::Complete) {
                // It may have all its blocks, such as one with too many errors, but counts for nothing.
                kept.forget(number)?;
                return Ok(failed.failure.clone());
            }
        }
        Ok(None)
    }

    /// Makes one run; `None` if stopping was asked for before anything was measured. What goes wrong with it is
    /// recorded; an error is what would go wrong with every other run as well.
    fn make(
        &mut self,
        planned: &PlannedRun,
        experiment: &Resolved,
        servers: &CellServers<'_>,
        progress: &mut dyn Progress,
    ) -> Result<Option<FinishedRun>, RunError> {
        let cause = match self.bench.run(planned, experiment, servers, progress) {
            Ok(run) => return Ok(Some(run)),
            Err(cause) => cause,
        };
        match cause {
            RunError::Archive(_) => Err(cause),
            // There is nothing else to be made, and nothing to keep.
            _ if !self.bench.several => Err(cause),
            _ if self.bench.stop.requested() => Ok(None),
            _ => Ok(Some(self.record(planned, experiment, servers, &cause)?)),
        }
    }

    /// Keeps a run that could not begin.
    fn record(
        &self,
        planned: &PlannedRun,
        experiment: &Resolved,
        servers: &CellServers<'_>,
        cause: &RunError,
    ) -> Result<FinishedRun, RunError> {
        let workloads = experiment.workloads.iter();
        let record = RunRecord::new(
            servers.main.target.to_string(),
            self.bench.command.to_owned(),
            workloads
                .map(|workload| WorkloadFacts::new(workload, Vec::new()).in_stages(&experiment.stages))
                .collect(),
            &experiment.phases(),
            experiment.interval,
        );
        let record = RunRecord {
            state: RunState::Failed,
            number: planned.number,
            cell: planned.cell.clone(),
            repetition: planned.repetition,
            failure: Some(cause.to_string()),
            ..record
        };
        let folder = self.bench.campaign.failed(planned, &record)?;
        Ok(FinishedRun {
            folder,
            planned: planned.clone(),
            state: record.state,
            summary: None,
            analysis: None,
            failure: record.failure,
        })
    }

    /// What a run measures, and where.
    fn cell(&self, planned: &PlannedRun) -> Option<(&'a Resolved, &'a CellServers<'a>)> {
        let mut cells = self.plan.cells.iter().zip(self.cells);
        let (cell, servers) = cells.find(|(cell, _)| cell.levels == planned.cell)?;
        Some((&cell.experiment, servers))
    }

    fn upcoming(&self, planned: &PlannedRun, experiment: &Resolved, later: &[&PlannedRun]) -> Upcoming {
        let overhead = self.overhead.checked_div(self.made).unwrap_or(USUAL_OVERHEAD);
        let lasts = |experiment: &Resolved| Some(experiment.duration()?.saturating_add(overhead));
        let afterwards = later.iter().filter_map(|planned| self.cell(planned));
        let afterwards = afterwards.map(|(experiment, _)| lasts(experiment));
        Upcoming {
            planned: planned.clone(),
            of: self.plan.runs.len(),
            lasts: lasts(experiment),
            afterwards: afterwards.sum::<Option<Duration>>(),
        }
    }
}
