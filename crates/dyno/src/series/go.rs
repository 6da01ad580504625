//! One experiment of a series after the other, whatever becomes of each.

use super::page;
use super::progress::Member;
use crate::announcer::Announcer;
use crate::cli::RunArguments;
use crate::failure::Failure;
use crate::live::LivePage;
use crate::{interrupt, report, say};
use dyno_archive::plan::OnFailure;
use dyno_archive::{Campaign, CampaignWriter, Series, SeriesParts, SeriesWriter};
use dyno_engine::Stop;
use dyno_lab::command::redacted;
use dyno_lab::run::{self, Emergency, Finished, Request, Resumption, RunError};
use dyno_report::series::{SeriesReport, line};
use jiff::Zoned;
use std::path::{Path, PathBuf};

/// What is to be done of an experiment.
pub enum Todo<'a> {
    /// Nothing: it is measured, or left out.
    Nothing,
    /// All of it.
    Begin(Box<Request<'a>>),
    /// What its campaign lacks, or all that was planned if there is none yet.
    Resume(Resumption<'a>),
}

/// Measures what is to be done, in order, and writes the page of all.
pub fn go(mut writer: SeriesWriter, todo: Vec<Todo<'_>>, arguments: &RunArguments) -> Result<(), Failure> {
    let archive = writer.series().archive().to_owned();
    let archive = archive.as_path();
    let stop = Stop::new();
    let emergency = Emergency::default();
    interrupt::handle(&stop, &emergency)?;
    let live = arguments.live.then(|| LivePage::open(archive)).transpose()?;
    let of = todo.len();
    let (mut failures, mut left) = (Vec::new(), 0);
    let mut given_up = false;
    for (number, todo) in todo.into_iter().enumerate() {
        if matches!(todo, Todo::Nothing) {
            continue;
        }
        if given_up || stop.requested() {
            left += 1;
            continue;
        }
        let Some((name, title)) = name_of(writer.series(), number) else {
            continue;
        };
        let shown = Member::new(format!("{}/{of} {name}", number + 1));
        let mut announcer = Announcer::start(shown)?;
        let ended = measure(&writer, number, todo, archive, &mut announcer, &stop, &emergency);
        announcer.close().close();
        let folder = ended.as_ref().ok().map(|finished| finished.campaign.clone());
        let failure = match ended {
            Ok(finished) => failure_of(&finished),
            Err(_) if stop.requested() => {
                left += 1;
                continue;
            }
            Err(error) => Some(error.to_string()),
        };
        let campaign = folder.and_then(Campaign::read);
        writer.update(number, |member| {
            member.failure.clone_from(&failure);
            if campaign.is_some() {
                member.planned = None;
            }
        })?;
        if let Some(campaign) = &campaign
            && let Err(why) = report::write_ended(campaign)
        {
            say::aside(&format!("note: {name} has no report of its own: {why}"));
        }
        let line = line(number + 1, of, &title, campaign.as_ref());
        match arguments.json {
            true => say::aside(&line),
            false => say::result(&line)?,
        }
        if let Some(why) = failure {
            given_up = arguments.on_failure.map(OnFailure::from) == Some(OnFailure::Stop);
            failures.push(format!("{name}: {why}"));
        }
    }
    if let Some(live) = live {
        live.close();
    }
    let series = writer.series().clone();
    drop(writer);
    end(&series, &failures, left, arguments.json)
}

/// The name and the title of a member.
fn name_of(series: &Series, number: usize) -> Option<(String, String)> {
    let member = series.record.members.get(number)?;
    Some((member.experiment.clone(), member.title.clone()))
}

/// Makes or continues a campaign.
fn measure(
    writer: &SeriesWriter,
    number: usize,
    todo: Todo<'_>,
    archive: &Path,
    progress: &mut Announcer<Member>,
    stop: &Stop,
    emergency: &Emergency,
) -> Result<Finished, RunError> {
    match todo {
        Todo::Begin(request) => run::run(&request, progress, stop, emergency),
        Todo::Resume(mut resumption) => {
            if resumption.campaign.is_none() {
                resumption.campaign = begun(writer.series(), number, archive)?;
            }
            run::resume(&resumption, progress, stop, emergency)
        }
        Todo::Nothing => Err(RunError::NothingPlanned),
    }
}

/// Makes the folder of a campaign as it was planned when the series began, so that it can be gone on with.
fn begun(series: &Series, number: usize, archive: &Path) -> Result<Option<String>, RunError> {
    let planned = series
        .record
        .members
        .get(number)
        .and_then(|member| member.planned.clone());
    let mut record = planned.ok_or(RunError::NothingPlanned)?;
    record.started = Zoned::now();
    // Earlier dynos archived here that of the series.
    record.label = None;
    record.series = Some(series.record.id.clone());
    let campaign = CampaignWriter::create(archive, &record)?;
    Ok(Some(campaign.path().to_string_lossy().into_owned()))
}

/// Why an experiment is not measured as it was to be.
fn failure_of(finished: &Finished) -> Option<String> {
    let Finished {
        planned,
        missing,
        faulty,
        failure,
        unrestored,
        ..
    } = finished;
    let why = failure.as_ref().map_or_else(String::new, |why| format!(": {why}"));
    match (missing, faulty) {
        (0, 0) if unrestored.is_empty() => None,
        (0, 0) => Some(format!("the settings of {} are not restored", unrestored.join(" and "))),
        (0, faulty) => Some(format!("{faulty} of {planned} runs do not count{why}")),
        (missing, _) => Some(format!("{missing} of {planned} runs are not complete{why}")),
    }
}

/// Says what is missing, and where the page is; or all that was measured, as JSON.
fn end(series: &Series, failures: &[String], left: usize, json: bool) -> Result<(), Failure> {
    if !failures.is_empty() || left > 0 {
        let of = series.record.members.len();
        if !failures.is_empty() {
            say::aside(&format!(
                "\n{} of {of} experiments are not measured as planned:",
                failures.len()
            ));
            failures.iter().for_each(|failure| say::aside(&format!("  {failure}")));
        }
        if left > 0 {
            say::aside(&format!("\n{left} of {of} experiments have not been measured."));
        }
        let folder = match series.archive() {
            usual if usual == Path::new("archive") => String::new(),
            other => format!(" --archive {}", redacted([other.to_string_lossy()])),
        };
        let name = redacted([series.folder()]);
        say::aside(&format!("To measure what is missing: dyno run --resume {name}{folder}"));
    }
    let page = written(series);
    match page {
        Ok(file) if json => say::aside(&format!("\nThe report is {}", file.display())),
        Ok(file) => say::result(&format!("\nThe report is {}", file.display()))?,
        Err(Failure::SetUp(why)) => say::aside(&format!(
            "note: there is no report: {why}; dyno report --output FILE writes it elsewhere"
        )),
        Err(other) => return Err(other),
    }
    if json {
        let report = SeriesReport::of(std::slice::from_ref(series))?;
        say::result(&serde_json::to_string_pretty(&report)?)?;
    }
    if failures.is_empty() && left == 0 {
        return Ok(());
    }
    let campaigns = series.campaigns(&SeriesParts::read(series.archive())?);
    match campaigns.iter().flatten().any(|campaign| !campaign.runs.is_empty()) {
        true => Err(Failure::PartWay(None)),
        false => Err(Failure::Said),
    }
}

fn written(series: &Series) -> Result<PathBuf, Failure> {
    let file = series.path.join("report.html");
    let page = page::html(std::slice::from_ref(series), &series.path)?;
    dyno_archive::replace(&file, page.as_bytes())?;
    Ok(file)
}
