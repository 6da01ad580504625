//! `dyno report` of a series, or of several side by side.

use crate::cli::{ReportArguments, ReportFormat};
use crate::failure::Failure;
use crate::report::Output;
use dyno_archive::{Campaign, Series, SeriesParts};
use dyno_report::cells_csv;
use dyno_report::series::{SeriesReport, markdown, page};
use std::path::{Path, PathBuf};

/// The series that are named, if the first name is that of one.
///
/// # Errors
/// Others are none.
pub fn find(arguments: &ReportArguments) -> Result<Option<Vec<Series>>, Failure> {
    let archive = &arguments.archive.archive;
    let mut found = Vec::new();
    for name in &arguments.campaigns {
        match Series::find(archive, name) {
            Some(series) => found.push(series),
            None if found.is_empty() => return Ok(None),
            None => {
                return Err(Failure::SetUp(format!(
                    "{name} is no series in {}; a report is of series or of campaigns, not of both",
                    archive.display()
                )));
            }
        }
    }
    Ok(Some(found).filter(|found| !found.is_empty()))
}

/// Writes the page of some series, at least one.
pub fn report(serieses: &[Series], arguments: &ReportArguments) -> Result<(), Failure> {
    if arguments.run.is_some() || arguments.baseline.is_some() {
        return Err(
            "--run and --baseline are for campaigns; on the page of a series any column can be compared with"
                .to_owned()
                .into(),
        );
    }
    let default = match serieses {
        [series] => series.path.clone(),
        _ => PathBuf::from("."),
    };
    let output = Output::new(arguments, default);
    match arguments.format {
        ReportFormat::Html => {
            let file = output.file("html");
            let folder = file.as_ref().and_then(|file| file.parent()).unwrap_or(Path::new("."));
            output.write("html", html(serieses, folder)?.as_bytes())
        }
        ReportFormat::Md => output.write("md", markdown(&SeriesReport::of(serieses)?).as_bytes()),
        ReportFormat::Json => output.write("json", &serde_json::to_vec_pretty(&SeriesReport::of(serieses)?)?),
        ReportFormat::Csv => output.write("csv", &cells_csv(&campaigns(serieses)?)?),
        ReportFormat::Svg => Err("a series has no charts; choose --format html or md".to_owned().into()),
    }
}

/// The page, which is to lie in `folder`: from there its links lead to the reports of its campaigns, if they have any.
pub fn html(serieses: &[Series], folder: &Path) -> Result<String, Failure> {
    let whole = |path: &Path| path.canonicalize().ok();
    let is_beside = |series: &Series| whole(folder).is_some_and(|folder| whole(&series.path) == Some(folder));
    let link = |campaign: &str| {
        let report = |series: &Series| series.archive().join(campaign).join("report.html");
        let series = serieses.iter().find(|series| report(series).is_file())?;
        // An archive may be moved, and so may what leads from one of its folders to another.
        match is_beside(series) {
            true => Some(format!("../{}/report.html", in_address(campaign))),
            false => Some(in_address(&whole(&report(series))?.to_string_lossy())),
        }
    };
    Ok(page(&SeriesReport::of(serieses)?, &link)?)
}

/// A path as a browser takes it: what would end the path in an address is written out.
fn in_address(path: &str) -> String {
    path.replace('%', "%25").replace('#', "%23").replace('?', "%3f")
}

fn campaigns(serieses: &[Series]) -> Result<Vec<Campaign>, Failure> {
    let mut campaigns = Vec::new();
    for series in serieses {
        let parts = SeriesParts::read(series.archive())?;
        campaigns.extend(series.campaigns(&parts).into_iter().flatten());
    }
    Ok(campaigns)
}
