//! `dyno report`: a campaign, one of its runs, or several campaigns as a document to be read or published.

use crate::cli::{ReportArguments, ReportFormat};
use crate::failure::Failure;
use crate::{look, say, series, written};
use dyno_analysis::comparison::Pool;
use dyno_archive::{Archive, Campaign, replace};
use dyno_report::document::{self, model::Detail, model::Document};
use dyno_report::{Picture, cells_csv, html, markdown, pictures};
use std::fs;
use std::path::{Path, PathBuf};

/// `dyno report`.
pub fn report(arguments: &ReportArguments) -> Result<(), Failure> {
    if let Some(serieses) = series::find(arguments)? {
        return series::report(&serieses, arguments);
    }
    let archive = Archive::new(&arguments.archive.archive);
    let (campaigns, baseline) = campaigns(&archive, arguments)?;
    look::apart(campaigns.iter().flatten())?;
    let document = || document_of(&campaigns, baseline, arguments);
    let default = default_folder(&campaigns, arguments)?;
    let output = Output::new(arguments, default);
    match arguments.format {
        ReportFormat::Html => output.write("html", html::page(&document()?)?.as_bytes()),
        ReportFormat::Json => output.write("json", &serde_json::to_vec_pretty(&document()?)?),
        ReportFormat::Csv => {
            let campaigns = campaigns.into_iter().flatten().collect();
            output.write("csv", &cells_csv(&only(campaigns, arguments)?)?)
        }
        ReportFormat::Md => output.write_paper(&document()?),
        ReportFormat::Svg => output.write_pictures(&pictures(&document()?)?),
    }
}

/// Writes the report of a campaign that has just ended into its folder. Where that is not possible nothing that was
/// measured is lost, so it is told and no failure.
pub fn of_ended(campaign: &Campaign) -> Option<PathBuf> {
    match write_ended(campaign) {
        Ok(file) => Some(file),
        Err(why) => {
            say::aside(&format!(
                "note: there is no report: {why}; dyno report --output FILE writes it elsewhere"
            ));
            None
        }
    }
}

/// Writes the report of a campaign that has just ended into its folder. Gives back the file, or why there is none.
pub fn write_ended(campaign: &Campaign) -> Result<PathBuf, String> {
    let file = file_of(campaign);
    let page = html::page(&document::of_campaign(campaign, Detail::Full)).map_err(|error| error.to_string())?;
    replace(&file, page.as_bytes()).map_err(|error| error.to_string())?;
    Ok(file)
}

/// Where the report of a campaign is written when it ends.
pub fn file_of(campaign: &Campaign) -> PathBuf {
    campaign.path.join("report.html")
}

/// The campaigns that were named, those that are taken together beside each other, and which are the baseline.
fn campaigns(archive: &Archive, arguments: &ReportArguments) -> Result<(Vec<Vec<Campaign>>, Option<usize>), Failure> {
    let named = arguments.campaigns.iter().map(|names| look::pooled(archive, names));
    let mut campaigns = named.collect::<Result<Vec<_>, _>>()?;
    let Some(baseline) = &arguments.baseline else {
        if campaigns.is_empty() {
            campaigns.push(vec![look::campaign(archive, None)?]);
        }
        return Ok((campaigns, None));
    };
    let baseline = look::pooled(archive, baseline)?;
    // By whatever names they were called.
    let folders = |pool: &[Campaign]| {
        pool.iter()
            .map(|campaign| campaign.path.canonicalize().ok())
            .collect::<Vec<_>>()
    };
    let place = campaigns.iter().position(|pool| folders(pool) == folders(&baseline));
    if place.is_none() {
        campaigns.insert(0, baseline);
    }
    Ok((campaigns, Some(place.unwrap_or(0))))
}

/// The campaigns, with nothing but the run that was asked for if one was.
fn only(mut campaigns: Vec<Campaign>, arguments: &ReportArguments) -> Result<Vec<Campaign>, Failure> {
    if let (Some(wanted), [campaign]) = (&arguments.run, &mut *campaigns) {
        let path = look::run(campaign, wanted)?.path.clone();
        campaign.runs.retain(|run| run.path == path);
    }
    Ok(campaigns)
}

fn document_of(
    campaigns: &[Vec<Campaign>],
    baseline: Option<usize>,
    arguments: &ReportArguments,
) -> Result<Document, Failure> {
    if let (Some(wanted), Some(campaign)) = (&arguments.run, alone(campaigns)) {
        return Ok(document::of_run(campaign, look::run(campaign, wanted)?, Detail::Full));
    }
    let pools: Vec<Pool<'_>> = campaigns.iter().map(Pool::from_iter).collect();
    Ok(document::of_pools(&pools, baseline))
}

/// The only campaign.
fn alone(campaigns: &[Vec<Campaign>]) -> Option<&Campaign> {
    let mut all = campaigns.iter().flatten();
    all.next().filter(|_| all.next().is_none())
}

/// Where a report lies unless it is told: in the folder of what it is about, or of several campaigns here.
fn default_folder(campaigns: &[Vec<Campaign>], arguments: &ReportArguments) -> Result<PathBuf, Failure> {
    match (alone(campaigns), &arguments.run) {
        (Some(campaign), Some(wanted)) => Ok(look::run(campaign, wanted)?.path.clone()),
        (Some(campaign), None) => Ok(campaign.path.clone()),
        (None, Some(_)) => Err(Failure::SetUp(
            "--run needs exactly one campaign; name only that one".to_owned(),
        )),
        (None, None) => Ok(PathBuf::from(".")),
    }
}

/// Where to write.
pub enum Output {
    /// To standard output.
    Standard,
    /// Into this file, or folder if there are several files.
    Path(PathBuf),
    /// Into a file or folder called `report` or `figures` in this folder.
    Folder(PathBuf),
}

impl Output {
    pub fn new(arguments: &ReportArguments, default: PathBuf) -> Self {
        match &arguments.output {
            Some(path) if path.as_os_str() == "-" => Self::Standard,
            Some(path) => Self::Path(path.clone()),
            None => Self::Folder(default),
        }
    }

    /// Writes a report of a single file.
    pub fn write(&self, ending: &str, bytes: &[u8]) -> Result<(), Failure> {
        match self.file(ending) {
            Some(file) => {
                write(&file, bytes)?;
                say::result(&format!("The report is {}", file.display()))
            }
            None => say::result(&String::from_utf8_lossy(bytes)),
        }
    }

    /// Writes a paper with its pictures in a folder beside it. On standard output there are no pictures, but tables.
    fn write_paper(&self, document: &Document) -> Result<(), Failure> {
        const PICTURES: &str = "figures";
        let Some(file) = self.file("md") else {
            return say::result(&markdown::paper(document, |_| None));
        };
        let pictures = pictures(document)?;
        write_all(&file.with_file_name(PICTURES), &pictures)?;
        let paper = markdown::paper(document, |id| Some(format!("{PICTURES}/{id}.svg")));
        write(&file, paper.as_bytes())?;
        say::result(&format!(
            "The report is {}, with {} charts in {PICTURES} beside it",
            file.display(),
            pictures.len()
        ))
    }

    fn write_pictures(&self, pictures: &[Picture]) -> Result<(), Failure> {
        let folder = match self {
            Self::Standard => {
                return Err(Failure::SetUp(
                    "svg writes several files; name a folder with --output FOLDER".to_owned(),
                ));
            }
            Self::Path(folder) => folder.clone(),
            Self::Folder(folder) => folder.join("figures"),
        };
        write_all(&folder, pictures)?;
        say::result(&format!("{} charts are in {}", pictures.len(), folder.display()))
    }

    pub fn file(&self, ending: &str) -> Option<PathBuf> {
        match self {
            Self::Standard => None,
            Self::Path(file) => Some(file.clone()),
            Self::Folder(folder) => Some(folder.join(format!("report.{ending}"))),
        }
    }
}

fn write_all(folder: &Path, pictures: &[Picture]) -> Result<(), Failure> {
    fs::create_dir_all(folder).map_err(|error| format!("cannot write {}: {error}", folder.display()))?;
    for picture in pictures {
        write(&folder.join(format!("{}.svg", picture.id)), picture.svg.as_bytes())?;
    }
    Ok(())
}

fn write(file: &Path, bytes: &[u8]) -> Result<(), Failure> {
    written::write(file, bytes).map_err(|error| format!("{error}; choose another place with --output PATH"))?;
    Ok(())
}
