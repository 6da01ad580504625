//! `dyno list` and `dyno show`: looking into the archive.

use crate::cli::{ListArguments, Listing, ShowArguments};
use crate::failure::Failure;
use crate::say;
use dyno_lab::archive::Archive;
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
    let campaign = match &arguments.campaign {
        Some(name) => archive.campaign(name).ok_or_else(|| {
            format!(
                "there is no campaign \"{name}\" in {}; dyno list shows what there is",
                archive.path().display()
            )
        })?,
        None => archive.campaigns()?.pop().ok_or_else(|| {
            format!(
                "there is no campaign in {}; make one with: dyno run pk-update",
                archive.path().display()
            )
        })?,
    };
    say::result(&report::campaign(&campaign));
    Ok(())
}
