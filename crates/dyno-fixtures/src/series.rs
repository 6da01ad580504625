//! A series that is made up: experiments of any number, each a campaign.

use crate::{Error, Fixture, Pace};
use dyno_archive::plan::PlannedRun;
use dyno_archive::{SeriesMember, SeriesRecord, SeriesWriter};
use std::path::{Path, PathBuf};

/// Makes a series in `archive` that is called `name` and began at `started`, of experiments that are given by their
/// names and texts. Gives back its folder.
///
/// # Errors
///
/// See [`Error`].
pub fn series(
    archive: &Path,
    name: &str,
    started: &str,
    experiments: &[(String, String)],
    pace: impl Fn(&PlannedRun, &str) -> Pace,
) -> Result<PathBuf, Error> {
    let record = SeriesRecord::new(
        name.to_owned(),
        format!("dyno run {name}"),
        started.parse()?,
        Vec::new(),
    );
    let writer = SeriesWriter::create(archive, record)?;
    let mut record = writer.series().record.clone();
    let folder = writer.series().path.clone();
    drop(writer);
    for (name, text) in experiments {
        let fixture = Fixture::begin_part(archive, name, text, started, Some(record.id.clone()))?;
        let experiment = fixture.plan.cells.first().map(|cell| &cell.experiment);
        record.members.push(SeriesMember {
            experiment: name.clone(),
            title: experiment
                .map(|experiment| experiment.title.clone())
                .unwrap_or_default(),
            group: experiment
                .map(|experiment| experiment.group.clone())
                .unwrap_or_default(),
            left_out: None,
            failure: None,
            planned: None,
        });
        fixture.complete(&pace)?;
    }
    dyno_archive::replace_json(&folder.join("series.json"), &record)?;
    Ok(folder)
}
