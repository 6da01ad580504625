//! `dyno list` and `dyno show`: looking into the archive.

use crate::cli::{ListArguments, Listing, ShowArguments};
use crate::failure::Failure;
use crate::{page, say};
use dyno_archive::{Archive, Campaign, Run, Series};
use dyno_lab::experiment::{self, ExperimentError};
use dyno_report as report;
use dyno_report::plot::Screen;
use std::collections::HashSet;

/// `dyno list`.
pub fn list(arguments: &ListArguments) -> Result<(), Failure> {
    let asks = [
        arguments.experiment.is_some(),
        arguments.target.is_some(),
        arguments.since.is_some(),
        arguments.json,
    ];
    let text = match arguments.what {
        Listing::Experiments | Listing::Series if asks.contains(&true) => {
            return Err(
                "--experiment, --target, --since and --json are for campaigns: dyno list"
                    .to_owned()
                    .into(),
            );
        }
        Listing::Runs if arguments.json => {
            return Err(
                "--json has an object for each campaign: leave out runs, or use dyno export --format json"
                    .to_owned()
                    .into(),
            );
        }
        Listing::Series => {
            let archive = &arguments.archive.archive;
            match Series::all(archive)?.as_slice() {
                [] => format!(
                    "There is no series in {}. Create one with: dyno run htap",
                    archive.display()
                ),
                all => report::series::list(all),
            }
        }
        Listing::Experiments => {
            let listed = experiment::builtin().iter().map(|builtin| {
                let experiment = experiment::find(builtin.name)?;
                Ok(report::Listed {
                    name: experiment.name().to_owned(),
                    title: experiment.title().to_owned(),
                    databases: experiment.servers().join(", "),
                    question: experiment.question().to_owned(),
                    series: builtin.series,
                })
            });
            report::experiments(&listed.collect::<Result<Vec<_>, ExperimentError>>()?)
        }
        Listing::Campaigns | Listing::Runs => {
            let archive = Archive::new(&arguments.archive.archive);
            let filter = report::Filter {
                experiment: arguments.experiment.clone(),
                target: arguments.target.clone(),
                since: arguments.since,
            };
            let mut campaigns = archive.campaigns()?;
            let is_empty = campaigns.is_empty();
            campaigns.retain(|campaign| filter.keeps(campaign));
            let folder = archive.path().display();
            match arguments.what {
                _ if arguments.json => {
                    let listed: Vec<_> = campaigns.iter().map(report::ListedCampaign::of).collect();
                    serde_json::to_string_pretty(&listed).map_err(|error| error.to_string())?
                }
                _ if is_empty => format!("There is no campaign in {folder}. Create one with: dyno run pk-update"),
                _ if campaigns.is_empty() => format!("There is no such campaign in {folder}; see dyno list"),
                Listing::Runs => report::runs(&campaigns, page::of_lists()),
                _ => report::campaigns(&campaigns, page::of_lists()),
            }
        }
    };
    say::result(&text)
}

/// `dyno show`.
pub fn show(arguments: &ShowArguments) -> Result<(), Failure> {
    let archive = Archive::new(&arguments.archive.archive);
    let campaign = campaign(&archive, arguments.campaign.as_deref())?;
    let run = arguments
        .run
        .as_deref()
        .map(|wanted| run(&campaign, wanted))
        .transpose()?;
    let page = page::of_results();
    let text = match (run, arguments.plot) {
        (run, false) if arguments.plans => report::plans(&campaign, run, page),
        (None, false) => report::campaign(&campaign, arguments.all, page) + &where_report_is(&campaign),
        (Some(run), false) => report::run(&campaign, run, page),
        (None, true) => report::plot::campaign(&campaign, screen())?,
        (Some(run), true) => report::plot::run(run, screen())?,
    };
    say::result(&text)
}

/// Where the report of `campaign` is, if it has one.
fn where_report_is(campaign: &Campaign) -> String {
    let file = crate::report::file_of(campaign);
    match file.is_file() {
        true => format!("The report is {}", file.display()),
        false => String::new(),
    }
}

/// What standard output is shown on: a terminal as wide as it is, else a page of 80 columns.
fn screen() -> Screen {
    let columns = console::Term::stdout()
        .size_checked()
        .map_or(80, |(_, columns)| usize::from(columns));
    // The first that is set wins, as in every program; a terminal of which nothing is known is one of today.
    let locale = ["LC_ALL", "LC_CTYPE", "LANG"]
        .iter()
        .find_map(|name| std::env::var(name).ok().filter(|value| !value.is_empty()));
    Screen {
        width: columns,
        unicode: !matches!(locale.as_deref(), Some("C" | "POSIX")),
    }
}

/// The campaign of this name, or the newest.
pub fn campaign(archive: &Archive, name: Option<&str>) -> Result<Campaign, Failure> {
    let folder = archive.path().display();
    let found = match name {
        Some(name) => {
            let (found, others) = archive.find(name).ok_or_else(|| no_campaign(archive, name))?;
            if others > 0 {
                say::aside(&format!(
                    "note: {} campaigns begin with \"{name}\"; this is the newest, {}",
                    others + 1,
                    found.name()
                ));
            }
            found
        }
        None => archive
            .campaigns()?
            .pop()
            .ok_or_else(|| format!("there is no campaign in {folder}; create one with: dyno run pk-update"))?,
    };
    Ok(found)
}

/// Why there is no campaign of this name.
fn no_campaign(archive: &Archive, name: &str) -> String {
    match Series::find(archive.path(), name) {
        Some(series) => format!(
            "{name} is a series of {} experiments, each with a campaign of its own: dyno report {name} writes the page \
             of all, and dyno list names the campaigns",
            series.record.members.len()
        ),
        None => format!(
            "there is no campaign \"{name}\" in {}; see dyno list",
            archive.path().display()
        ),
    }
}

/// The campaigns of these names, with commas between them, whose runs are taken together.
pub fn pooled(archive: &Archive, names: &str) -> Result<Vec<Campaign>, Failure> {
    // A path may have a comma in it.
    if let Some(only) = archive.campaign(names) {
        return Ok(vec![only]);
    }
    let campaigns: Result<Vec<Campaign>, Failure> = names
        .split(',')
        .map(|name| campaign(archive, Some(name.trim())))
        .collect();
    let campaigns = campaigns?;
    apart(campaigns.iter())?;
    Ok(campaigns)
}

/// Makes sure that none of these campaigns is named twice.
pub fn apart<'a>(campaigns: impl Iterator<Item = &'a Campaign>) -> Result<(), Failure> {
    let mut folders = HashSet::new();
    for campaign in campaigns {
        if !folders.insert(campaign.path.canonicalize()?) {
            let name = campaign.name();
            return Err(format!("{name} is named twice and cannot be compared with itself; name two campaigns").into());
        }
    }
    Ok(())
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
        format!("there is no run \"{wanted}\" in {name}; see dyno show {name}")
    })?;
    Ok(found)
}
