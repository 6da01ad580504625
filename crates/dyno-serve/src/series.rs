//! The series of an archive: which there are, and the page of each.

use crate::pages::in_address;
use crate::problem::Problem;
use dyno_archive::{Archive, ArchiveError, Series};
use dyno_report::series::{SeriesReport, page};
use serde::Serialize;

/// A series in the list of campaigns.
#[derive(Debug, Serialize)]
pub(crate) struct Listed {
    folder: String,
    name: String,
    when: String,
    experiments: usize,
}

/// All series, the newest first.
pub(crate) fn all(archive: &Archive) -> Result<Vec<Listed>, ArchiveError> {
    let listed = |series: Series| Listed {
        folder: series.folder(),
        when: series.record.started.strftime("%Y-%m-%d %H:%M").to_string(),
        experiments: series.record.members.len(),
        name: series.record.name,
    };
    Ok(Series::all(archive.path())?.into_iter().rev().map(listed).collect())
}

/// The page of the series in the folder `name`, or of the newest that is called so. A name never leads out of the
/// archive, because it is looked for among those that are there.
pub(crate) fn made(archive: &Archive, name: &str) -> Result<String, Problem> {
    let failed = |error: ArchiveError| Problem::failed(error.to_string());
    let all = Series::all(archive.path()).map_err(failed)?;
    let by_folder = all.iter().find(|series| series.folder() == name);
    let found = by_folder.or_else(|| all.iter().rfind(|series| series.record.name == name));
    let Some(series) = found else {
        let problem = Problem::missing(format!(
            "There is no series \"{name}\" in {}.",
            archive.path().display()
        ));
        let others = all.iter().rev().map(Series::folder);
        return Err(others.fold(problem, |problem, folder| {
            let address = format!("/series/{}", in_address(&folder));
            problem.or((folder, address))
        }));
    };
    let report = SeriesReport::of(std::slice::from_ref(series)).map_err(failed)?;
    let link = |campaign: &str| Some(format!("/campaigns/{}", in_address(campaign)));
    page(&report, &link).map_err(|error| Problem::failed(error.to_string()))
}
