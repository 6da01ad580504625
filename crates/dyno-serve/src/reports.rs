//! Reports as pages, made when they are asked for and kept until a file of their campaigns changes.

use crate::problem::Problem;
use dyno_lab::archive::{Archive, run_folders};
use dyno_report::{document, html};
use std::collections::hash_map::DefaultHasher;
use std::fs;
use std::hash::{Hash, Hasher};
use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};

/// How many reports are kept.
const KEPT: usize = 8;

/// What a report is to be about.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Asked {
    /// Campaigns, by name. They exist.
    pub campaigns: Vec<String>,
    /// One run of the only campaign.
    pub run: Option<String>,
    /// The campaign that the others are compared with.
    pub baseline: Option<String>,
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
        let stamp = stamp(archive, &asked.campaigns);
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
    let campaigns = asked.campaigns.iter().map(|name| {
        let campaign = archive.campaign(name);
        campaign.ok_or_else(|| Problem::missing(format!("The campaign {name} is gone.")))
    });
    let campaigns = campaigns.collect::<Result<Vec<_>, _>>()?;
    let document = match (campaigns.as_slice(), &asked.run) {
        ([campaign], Some(name)) => {
            let run = campaign.runs.iter().find(|run| run.name() == *name);
            let run = run.ok_or_else(|| Problem::missing(format!("The run {name} is gone.")))?;
            document::of_run(campaign, run)
        }
        ([campaign], None) => document::of_campaign(campaign),
        (several, _) => {
            let baseline = asked
                .campaigns
                .iter()
                .position(|name| Some(name) == asked.baseline.as_ref());
            document::of_campaigns(several, baseline)
        }
    };
    html::page(&document).map_err(|error| Problem::failed(error.to_string()))
}

/// A number that changes when a file of one of the campaigns does.
fn stamp(archive: &Archive, campaigns: &[String]) -> u64 {
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
        let stamp = || stamp(&archive, &["a".to_owned()]);
        let before = stamp();
        assert_eq!(stamp(), before);
        fs::write(run.join("intervals.csv"), "x").unwrap();
        let between = stamp();
        assert_ne!(between, before);
        fs::write(folder.path().join("a/campaign.json"), "{}").unwrap();
        assert_ne!(stamp(), between);
    }
}
