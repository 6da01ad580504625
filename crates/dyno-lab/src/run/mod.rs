//! A campaign from its first step to its last: bring each target up, prepare data, drive the load, keep and sum up
//! what happened.
//!
//! [`run`] makes all runs of a plan, and [`resume`] those that an interrupted campaign lacks. A run that fails is
//! kept as such, and the others are made all the same.

mod begun_again;
mod beside;
mod both;
pub mod capacity;
#[cfg(test)]
mod cases;
mod ceiling;
mod cell;
mod conclusion;
mod data;
mod embedded;
mod emergency;
mod error;
mod external;
mod fleet;
mod host_counters;
mod lately;
mod loaded;
mod plans;
mod preflight;
mod progress;
mod questions;
mod ready;
mod recorder;
pub(crate) mod recording;
mod reserved;
mod restore;
mod runner;
mod sampling;
pub mod screen;
mod servers;
pub(crate) mod settings;
mod stand;
mod statements;
mod steps;
mod target;
mod threads;
pub mod turns;
mod workload;

pub use begun_again::begun_again;
pub use beside::Beside;
pub use both::Both;
pub use emergency::Emergency;
pub use error::RunError;
pub use progress::Progress;
pub use recorder::Recorder;
pub use recording::{Entry, RunRecording};
pub use stand::{StandRequest, Standing, stand};
pub use statements::{Tried, Untried, try_statements};

pub use dyno_target::target::{EMBEDDED, Environment, TargetError};

use crate::command::is_redacted;
use crate::experiment::address;
use crate::run::restore::Restore;
use dyno_archive::plan::{OnFailure, Plan};
use dyno_archive::{Archive, Campaign, CampaignRecord, CampaignWriter, check_writable};
use dyno_engine::{Stop, ThreadOptions};
use dyno_target::target::word_without_secrets;
use external::Left;
use jiff::Zoned;
pub(crate) use preflight::OTHER_DESCRIPTORS;
use reserved::Reserved;
use runner::{CampaignRunner, Lending};
use std::borrow::Cow;
use std::path::{Path, PathBuf};

/// What to do, with nothing left open.
pub struct Request<'a> {
    /// The runs.
    pub plan: Plan,
    /// What the user calls it.
    pub label: Option<String>,
    /// The series that it is a part of, by its id.
    pub series: Option<String>,
    /// The database to measure, whatever the experiment says: `embedded`, `embedded:VERSION`, a URI or a conninfo
    /// string. `None`: as the experiment says.
    pub target: Option<String>,
    /// The folder that gets the campaign's folder.
    pub archive: PathBuf,
    /// The command line as it may be archived; see [`crate::command::redacted`].
    pub command: String,
    /// A shell command that restarts a server which is not dyno's own.
    pub restart_command: Option<String>,
    /// Whether such a server keeps its settings.
    pub leave_settings: bool,
    /// Whether other dynos that share such a server, too, may measure at the same time. Then it keeps its settings.
    pub share_server: bool,
    /// Whether counters are read while the load runs.
    pub sampling: bool,
    /// How the load's threads work.
    pub threads: ThreadOptions,
    /// Looks up variables that addresses and folders depend on.
    pub environment: Environment<'a>,
}

/// Which campaign to go on with.
pub struct Resumption<'a> {
    /// Its folder, by name or path; `None`: the newest that lacks a run.
    pub campaign: Option<String>,
    /// The folder of campaigns.
    pub archive: PathBuf,
    /// The address of the database again, with the password, which the archive does not hold.
    pub target: Option<String>,
    /// What to do after a run that fails, if not what was said when the campaign began.
    pub on_failure: Option<OnFailure>,
    /// A shell command that restarts a server which is not dyno's own, if not what was said when the campaign began.
    pub restart_command: Option<String>,
    /// Looks up variables that addresses and folders depend on.
    pub environment: Environment<'a>,
}

/// A campaign that has ended, for now.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Finished {
    /// Its folder.
    pub campaign: PathBuf,
    /// How many runs it has.
    pub planned: usize,
    /// How many of them are not over.
    pub missing: usize,
    /// How many do not count, because too many of their transactions failed or of their clients ended before their
    /// time.
    pub faulty: usize,
    /// What ended it before its time, or the only run; `None` if nothing did, or if that was asked for.
    pub failure: Option<String>,
    /// Whether `failure` is no more than that the archive could not take all of a run, which took its whole time.
    pub only_archive: bool,
    /// The servers whose settings it has changed and could not put back, as was said.
    pub unrestored: Vec<String>,
}

/// Runs a campaign. A run that fails is recorded and the next one made, unless the plan says to stop. A campaign of
/// one run that could not begin leaves nothing behind, unless a server's settings are still to be put back.
///
/// # Errors
/// Nothing could be measured at all, or the archive cannot be written any more.
pub fn run(
    request: &Request<'_>,
    progress: &mut dyn Progress,
    stop: &Stop,
    emergency: &Emergency,
) -> Result<Finished, RunError> {
    request.threads.transport.check()?;
    let (plan, record) = recorded(request)?;
    let driven = driven(&plan)?;
    preflight::descriptors(&driven)?;
    let servers = preflight::servers(&driven, request.environment, stop)?;
    let restart_command = request.restart_command.as_deref();
    preflight::terms(&servers, request.share_server, restart_command, stop)?;
    check_writable(&request.archive)?;
    let reserved = Reserved::take(&driven, &servers, request.share_server, stop, progress)?;
    let kept = kept(request.environment);
    let left = Left {
        resumed: None,
        archive: &request.archive,
        kept: kept.as_deref(),
    };
    // Who shares a server does not change it.
    let leftovers = match request.share_server {
        true => left.look(&servers, stop)?,
        false => left.put_back(&servers, restart_command, progress, stop)?,
    };
    preflight::check(
        &driven,
        &servers,
        record.leave_settings,
        restart_command,
        progress,
        stop,
    )?;
    if stop.requested() {
        return Err(RunError::Stopped);
    }
    let mut campaign = CampaignWriter::create(&request.archive, &record)?;
    let lent = Lending {
        restart_command,
        kept: kept.as_deref(),
        reserved,
        leftovers,
        environment: request.environment,
    };
    let ended = CampaignRunner::new(&campaign, &record, &plan, &servers, lent, stop, emergency).go(progress);
    // What is to be put back on a server must not be forgotten.
    if ended.is_err() && plan.runs.len() == 1 && Restore::left_by(campaign.path()).is_empty() {
        campaign.discard();
        return ended;
    }
    settle(&mut campaign, &record, ended)
}

/// What is to be archived of a campaign that has not begun, so that it can be begun by [`resume`].
///
/// # Errors
/// Nothing is planned, or what is cannot be done as asked for.
pub fn record(request: &Request<'_>) -> Result<CampaignRecord, RunError> {
    Ok(recorded(request)?.1)
}

/// What is to be done on the database that is asked for, and what is archived of it.
fn recorded(request: &Request<'_>) -> Result<(Plan, CampaignRecord), RunError> {
    let mut plan = request.plan.clone();
    if let Some(target) = &request.target {
        if plan.factors.iter().any(|factor| factor.name == target::FACTOR) {
            return Err(RunError::TargetVaries);
        }
        for cell in &mut plan.cells {
            cell.experiment.target = Some(address(target.clone()));
        }
    }
    let record = CampaignRecord::of(&plan, request.command.clone(), Zoned::now()).ok_or(RunError::NothingPlanned)?;
    let record = CampaignRecord {
        label: request.label.clone(),
        series: request.series.clone(),
        target: target::names(plan.cells.iter().map(|cell| &cell.experiment)),
        sampling: request.sampling,
        leave_settings: request.leave_settings || request.share_server,
        share_server: request.share_server,
        restart_command: request.restart_command.as_deref().map(word_without_secrets),
        ..threads::kept(record, &request.threads)
    };
    Ok((plan, record))
}

/// Ends a campaign, of which runs that were planned need not be made if what was asked is known without.
fn settle(
    campaign: &mut CampaignWriter,
    record: &CampaignRecord,
    ended: Result<Finished, RunError>,
) -> Result<Finished, RunError> {
    let finished = ended?;
    if finished.planned < record.runs.len() {
        let mut record = record.clone();
        record.runs.truncate(finished.planned);
        campaign.replan(&record)?;
    }
    Ok(finished)
}

/// Looks at everything about a plan that can be seen without a server, as a campaign does first of all; `target`
/// takes the place of what the plan names.
///
/// # Errors
/// What is wrong with the first cell that cannot be measured.
pub fn rehearse(plan: &Plan, target: Option<&str>, environment: Environment<'_>) -> Result<(), RunError> {
    let mut plan = plan.clone();
    for cell in &mut plan.cells {
        if let Some(target) = target {
            cell.experiment.target = Some(address(target.to_owned()));
        }
    }
    let stop = Stop::new();
    let driven = driven(&plan)?;
    preflight::rehearse(&driven, &preflight::servers(&driven, environment, &stop)?, &stop)
}

/// The plan of what is driven at once: of cells that are measured in turn, one that has them together.
fn driven(plan: &Plan) -> Result<Cow<'_, Plan>, RunError> {
    Ok(match (&plan.turns, plan.screen) {
        (None, _) => Cow::Borrowed(plan),
        (Some(turns), _) if turns.is_by_runs() => Cow::Borrowed(plan),
        (Some(_), None) => Cow::Owned(turns::one(plan)?),
        (Some(_), Some(_)) => Cow::Owned(screen::driven(plan)?),
    })
}

/// Makes the runs that a campaign lacks: those that were not made, were interrupted or failed. Nothing is planned
/// anew. What earlier attempts left is kept in the campaign's folder `earlier`.
///
/// # Errors
/// There is no such campaign, another dyno works on it, or it cannot go on.
pub fn resume(
    resumption: &Resumption<'_>,
    progress: &mut dyn Progress,
    stop: &Stop,
    emergency: &Emergency,
) -> Result<Finished, RunError> {
    let path = find(resumption)?;
    let mut campaign = CampaignWriter::resume(path.clone())?;
    // Read when it is locked: until then another dyno may have worked on it.
    let found = Campaign::read(path.clone()).ok_or_else(|| RunError::NoCampaign {
        name: path.display().to_string(),
        archive: resumption.archive.clone(),
    })?;
    let record = found.record.as_ref().map_err(|_| RunError::NotResumable {
        campaign: path.clone(),
        reason: "its campaign.json cannot be read; dyno show says why",
    })?;
    threads::of(record).transport.check()?;
    let mut plan = record.plan();
    plan.on_failure = resumption.on_failure.unwrap_or(plan.on_failure);
    if plan.cells.is_empty() {
        return Err(RunError::NotResumable {
            campaign: path,
            reason: "it was not made by dyno run, or was made by an earlier version",
        });
    }
    let restart_command = match (&resumption.restart_command, &record.restart_command) {
        (None, Some(kept)) if is_redacted(kept) => return Err(RunError::RestartCommandHidden { shown: kept.clone() }),
        (given, kept) => given.as_deref().or(kept.as_deref()),
    };
    if let Some(target) = &resumption.target {
        preflight::give_again(&mut plan, target, resumption.environment, stop)?;
    }
    let driven = driven(&plan)?;
    preflight::descriptors(&driven)?;
    let servers = preflight::servers(&driven, resumption.environment, stop)?;
    preflight::terms(&servers, record.share_server, restart_command, stop)?;
    preflight::check_same(&driven, &servers, &found.runs)?;
    let reserved = Reserved::take(&driven, &servers, record.share_server, stop, progress)?;
    let kept = kept(resumption.environment);
    let left = Left {
        resumed: Some(&path),
        archive: &resumption.archive,
        kept: kept.as_deref(),
    };
    let leftovers = match record.share_server {
        true => left.look(&servers, stop)?,
        false => left.put_back(&servers, restart_command, progress, stop)?,
    };
    let missing = plan.runs.iter().any(|planned| !found.has(planned));
    if missing {
        check_secrets(&plan)?;
        preflight::check(
            &driven,
            &servers,
            record.leave_settings,
            restart_command,
            progress,
            stop,
        )?;
    }
    let lent = Lending {
        restart_command,
        kept: kept.as_deref(),
        reserved,
        leftovers,
        environment: resumption.environment,
    };
    let ended = CampaignRunner::new(&campaign, record, &plan, &servers, lent, stop, emergency).go(progress);
    settle(&mut campaign, record, ended)
}

/// Makes sure that all values of an archived plan are known: secrets are never archived.
fn check_secrets(plan: &Plan) -> Result<(), RunError> {
    let mut names: Vec<_> = plan.cells.iter().flat_map(|cell| cell.experiment.hidden()).collect();
    names.sort_unstable();
    names.dedup();
    match names.is_empty() {
        true => Ok(()),
        false => Err(RunError::SecretsHidden {
            names: names.into_iter().map(str::to_owned).collect(),
        }),
    }
}

/// The folder that knows what is to be put back on servers that are not dyno's own; `None` if there is no home folder.
fn kept(environment: Environment<'_>) -> Option<PathBuf> {
    let home = dyno_target::embedded::home_folder(environment).ok()?;
    Some(kept_in(&home))
}

/// The same in this home folder.
fn kept_in(home: &Path) -> PathBuf {
    home.join("settings")
}

/// What campaigns that were killed, or could not do it, have left to be put back on servers that are not dyno's own, as
/// the folder `home` knows: a sentence for each, of the server of this identity or of all.
#[must_use]
pub fn pending_restores(home: &Path, server: Option<&str>) -> Vec<String> {
    let all = Restore::all_kept(&kept_in(home)).into_iter();
    let its = all.filter(|restore| server.is_none() || restore.server.as_deref() == server);
    its.map(|restore| restore.is_pending()).collect()
}

/// The folder of the campaign to go on with.
fn find(resumption: &Resumption<'_>) -> Result<PathBuf, RunError> {
    let archive = Archive::new(&resumption.archive);
    if let Some(name) = &resumption.campaign {
        let found = archive.campaign(name).ok_or_else(|| RunError::NoCampaign {
            name: name.clone(),
            archive: resumption.archive.clone(),
        })?;
        return Ok(found.path);
    }
    let lacks = |campaign: &Campaign| {
        let planned = campaign
            .record
            .as_ref()
            .map_or(&[][..], |record| match record.cells[..] {
                [] => &[],
                _ => &record.runs,
            });
        let unfinished = planned.iter().any(|planned| !campaign.has(planned));
        // Settings that it could not put back any more are something to go on with, too.
        unfinished || !campaign.is_under_way() && !Restore::left_by(&campaign.path).is_empty()
    };
    let newest = archive.campaigns()?.into_iter().rev().find(lacks);
    newest
        .map(|campaign| campaign.path)
        .ok_or_else(|| RunError::NothingToResume {
            archive: resumption.archive.clone(),
        })
}
