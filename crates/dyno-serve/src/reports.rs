//! Reports as pages, made when they are asked for and kept until a file of their campaigns changes.

use crate::problem::Problem;
use dyno_analysis::comparison::compare;
use dyno_archive::{Archive, Campaign, run_folders};
use dyno_report::document::model::Detail;
use dyno_report::{document, html};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How many reports are kept.
const KEPT: usize = 8;

/// What a report is to be about. All campaigns are named, and exist.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Asked {
    /// A campaign, or several side by side.
    Campaigns {
        /// Which.
        campaigns: Vec<String>,
        /// That of them which the others are compared with.
        baseline: Option<String>,
    },
    /// One run of a campaign.
    Run {
        /// Which campaign.
        campaign: String,
        /// The name of the run's folder.
        run: String,
    },
    /// A campaign judged against another, as `dyno compare` does it.
    Comparison {
        /// The other.
        baseline: String,
        /// The one that is judged.
        candidate: String,
    },
}

impl Asked {
    fn campaigns(&self) -> Vec<&str> {
        match self {
            Self::Campaigns { campaigns, .. } => campaigns.iter().map(String::as_str).collect(),
            Self::Run { campaign, .. } => vec![campaign],
            Self::Comparison { baseline, candidate } => vec![baseline, candidate],
        }
    }
}

/// The reports that were made last.
#[derive(Debug, Default)]
pub(crate) struct Reports {
    /// The one asked for last is the last.
    made: Mutex<Vec<Made>>,
}

#[derive(Debug)]
struct Made {
    asked: Asked,
    stamp: u64,
    page: Arc<str>,
}

impl Reports {
    /// The report as HTML.
    pub(crate) fn page(&self, archive: &Archive, asked: &Asked) -> Result<Arc<str>, Problem> {
        let mut made = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        let stamp = stamp(archive, &asked.campaigns());
        let known = made.iter().position(|report| report.asked == *asked);
        let page = match known.map(|index| made.remove(index)) {
            Some(report) if report.stamp == stamp => report.page,
            _ => make(archive, asked)?.into(),
        };
        if made.len() >= KEPT {
            made.remove(0);
        }
        made.push(Made {
            asked: asked.clone(),
            stamp,
            page: Arc::clone(&page),
        });
        Ok(page)
    }
}

fn make(archive: &Archive, asked: &Asked) -> Result<String, Problem> {
    let read = |name: &str| {
        let campaign = archive.campaign(name);
        campaign.ok_or_else(|| Problem::missing(format!("The campaign {name} no longer exists.")))
    };
    let document = match asked {
        Asked::Campaigns { campaigns, baseline } => {
            let read: Vec<Campaign> = campaigns.iter().map(|name| read(name)).collect::<Result<_, _>>()?;
            let baseline = campaigns.iter().position(|name| Some(name) == baseline.as_ref());
            document::of_campaigns(&read, baseline)
        }
        Asked::Run { campaign, run: name } => {
            let campaign = read(campaign)?;
            let run = campaign.runs.iter().find(|run| run.name() == *name);
            let run = run.ok_or_else(|| Problem::missing(format!("The run {name} no longer exists.")))?;
            document::of_run(&campaign, run, Detail::Full)
        }
        Asked::Comparison { baseline, candidate } => {
            let (baseline, candidate) = (read(baseline)?, read(candidate)?);
            document::of_comparison(&baseline, &candidate, &compare(&baseline, &candidate))
        }
    };
    html::page(&document).map_err(|error| Problem::failed(error.to_string()))
}

/// A number that changes when a file of one of the campaigns does.
fn stamp(archive: &Archive, campaigns: &[&str]) -> u64 {
    let mut hasher = DefaultHasher::new();
    for name in campaigns {
        let path = archive.path().join(name);
        stamp_files(&path, &mut hasher);
        for run in run_folders(&path) {
            stamp_files(&run, &mut hasher);
        }
    }
    hasher.finish()
}

fn stamp_files(folder: &Path, hasher: &mut DefaultHasher) {
    let files = fs::read_dir(folder).into_iter().flatten().flatten();
    let stamps = files.filter_map(|file| {
        let metadata = file.metadata().ok()?;
        Some((file.file_name(), metadata.len(), metadata.modified().ok()))
    });
    let mut stamps: Vec<_> = stamps.collect();
    stamps.sort();
    stamps.hash(hasher);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_changed_file_of_a_run_changes_the_stamp() {
        let folder = tempfile::tempdir().unwrap();
        let archive = Archive::new(folder.path());
        let run = folder.path().join("a/001-rep1");
        fs::create_dir_all(&run).unwrap();
        fs::write(run.join("run.json"), "{}").unwrap();
        let stamp = || stamp(&archive, &["a"]);
        let before = stamp();
        assert_eq!(stamp(), before);
        fs::write(run.join("intervals.csv"), "x").unwrap();
        let between = stamp();
        assert_ne!(between, before);
        fs::write(folder.path().join("a/campaign.json"), "{}").unwrap();
        assert_ne!(stamp(), between);
    }
}
