//! `dyno list` and `dyno show`: looking into the archive.

use crate::cli::{ListArguments, Listing, ShowArguments};
use crate::failure::Failure;
use crate::say;
use dyno_lab::archive::{Archive, Campaign, Run};
use dyno_lab::experiment;
use dyno_report as report;

/// `dyno list`.
pub fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let text = match arguments.what {
        Listing::Experiments => {
            let names = experiment::builtin()
                .iter()
                .map(|builtin| experiment::find(builtin.name));
            report::experiments(&names.collect::<Result<Vec<_>, _>>()?)
        }
        Listing::Runs => {
            let archive = Archive::new(&arguments.archive.archive);
            let campaigns = archive.campaigns()?;
            if campaigns.is_empty() {
                format!(
                    "There is no campaign in {}. Make one with: dyno run pk-update",
                    archive.path().display()
                )
            } else {
                report::campaigns(&campaigns)
            }
        }
    };
    say::result(&text);
    Ok(())
}

/// `dyno show`.
pub fn show(arguments: &ShowArguments) -> Result<(), Failure> {
    let archive = Archive::new(&arguments.archive.archive);
    let campaign = campaign(&archive, arguments.campaign.as_deref())?;
    let text = match &arguments.run {
        None => report::campaign(&campaign),
        Some(wanted) => report::run(run(&campaign, wanted)?),
    };
    say::result(&text);
    Ok(())
}

/// The campaign of this name, or the newest.
pub fn campaign(archive: &Archive, name: Option<&str>) -> Result<Campaign, Failure> {
    let folder = archive.path().display();
    let found = match name {
        Some(name) => archive
            .campaign(name)
            .ok_or_else(|| format!("there is no campaign \"{name}\" in {folder}; dyno list shows what there is"))?,
        None => archive
            .campaigns()?
            .pop()
            .ok_or_else(|| format!("there is no campaign in {folder}; make one with: dyno run pk-update"))?,
    };
    Ok(found)
}

/// The run of `campaign` with this number, or in the folder of this name.
pub fn run<'a>(campaign: &'a Campaign, wanted: &str) -> Result<&'a Run, Failure> {
    let number = wanted.parse::<usize>().ok();
    let is_wanted = |run: &&Run| {
        let name = run.name();
        let own = name.split('-').next().and_then(|first| first.parse().ok());
        name == wanted || number.is_some_and(|number| own == Some(number))
    };
    let found = campaign.runs.iter().find(is_wanted).ok_or_else(|| {
        let name = campaign.name();
        format!("there is no run \"{wanted}\" in {name}; dyno show {name} shows which there are")
    })?;
    Ok(found)
}
