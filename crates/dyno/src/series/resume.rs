//! `dyno run --resume` of a series: what its campaigns lack, and those that have not begun.

use super::go::{Todo, go};
use crate::cli::RunArguments;
use crate::failure::Failure;
use dyno_archive::{Archive, Campaign, Series, SeriesParts, SeriesWriter};
use dyno_lab::run::Resumption;
use dyno_target::target::Environment;
use std::path::Path;

/// The series that is to be gone on with: the one of this name, or the newest that lacks something, unless a campaign
/// of none is newer.
pub fn to_resume(archive: &Path, name: Option<&str>) -> Result<Option<Series>, Failure> {
    if let Some(name) = name {
        return Ok(Series::find(archive, name));
    }
    let all = Series::all(archive)?;
    if all.is_empty() {
        return Ok(None);
    }
    let parts = SeriesParts::read(archive)?;
    let is_unfinished = |series: &Series| {
        let campaigns = series.campaigns(&parts);
        let members = series.record.members.iter().zip(&campaigns);
        members
            .filter(|(member, _)| member.left_out.is_none())
            .any(|(_, campaign)| campaign.as_ref().is_none_or(lacks))
    };
    let Some(series) = all.into_iter().rev().find(is_unfinished) else {
        return Ok(None);
    };
    let campaigns = Archive::new(archive).campaigns()?;
    let is_newer = |campaign: &Campaign| {
        let record = campaign.record.as_ref().ok();
        record.is_some_and(|record| record.series.is_none() && record.started > series.record.started)
    };
    let newer = campaigns.iter().any(|campaign| is_newer(campaign) && lacks(campaign));
    Ok(Some(series).filter(|_| !newer))
}

/// Whether runs of the campaign are to be made.
fn lacks(campaign: &Campaign) -> bool {
    let runs = campaign.record.as_ref().map_or(&[][..], |record| &record.runs);
    runs.iter().any(|planned| !campaign.has(planned))
}

/// Goes on with `series`.
pub fn resume(series: Series, arguments: &RunArguments, environment: Environment<'_>) -> Result<(), Failure> {
    let archive = series.archive().to_owned();
    let campaigns = series.campaigns(&SeriesParts::read(&archive)?);
    let todo = series.record.members.iter().zip(campaigns).map(|(member, campaign)| {
        let is_whole = campaign.as_ref().is_some_and(|campaign| !lacks(campaign));
        if is_whole || member.left_out.is_some() {
            return Todo::Nothing;
        }
        Todo::Resume(Resumption {
            campaign: campaign.map(|campaign| campaign.path.to_string_lossy().into_owned()),
            archive: archive.clone(),
            target: arguments.target.clone(),
            on_failure: arguments.on_failure.map(Into::into),
            restart_command: arguments.restart_command.clone(),
            environment,
        })
    });
    let todo = todo.collect();
    go(SeriesWriter::resume(series)?, todo, arguments)
}
