//! Follows a campaign: from run to run, and in each run from interval to interval.

use super::change::Change;
use super::run::RunFollower;
use super::status::{State, Status, which_run};
use dyno_archive::{Archive, CampaignRecord, is_running, is_under_way, run_folders};
use dyno_report::document::model::Figure;
use serde::Serialize;
use std::path::{Path, PathBuf};

/// What is known of a campaign, kept up to date by [`Follower::look`].
pub(super) struct Follower {
    archive: Archive,
    name: String,
    path: PathBuf,
    /// What it set out to do, once it was looked at.
    record: Option<CampaignRecord>,
    run: Option<RunFollower>,
    status: Status,
    looked: bool,
}

/// What a look has brought.
#[derive(Debug)]
pub(super) enum News {
    /// Nothing.
    None,
    /// Another run: everything is new.
    Anew,
    /// What is new in the run.
    Update(Box<Update>),
    /// The campaign is over.
    Ended,
}

/// All that is known, for somebody who knows nothing.
#[derive(Debug, Serialize)]
pub(super) struct Snapshot<'a> {
    status: &'a Status,
    figures: &'a [Figure],
}

/// What is new since the last update or snapshot.
#[derive(Debug, Serialize)]
pub(super) struct Update {
    status: Status,
    changes: Vec<Change>,
}

impl Follower {
    /// Will follow the campaign `name` of the archive. Nothing is read yet.
    pub(super) fn new(archive: &Path, name: &str) -> Self {
        Self {
            archive: Archive::new(archive),
            name: name.to_owned(),
            path: archive.join(name),
            record: None,
            run: None,
            status: Status::default(),
            looked: false,
        }
    }

    /// Whether no dyno works on it any more.
    pub(super) fn ended(&self) -> bool {
        self.status.state == State::Ended
    }

    /// Everything that is known; if nothing was read yet, after a first look.
    pub(super) fn snapshot(&mut self) -> Snapshot<'_> {
        if !self.looked {
            self.look();
        }
        Snapshot {
            status: &self.status,
            figures: self.run.as_ref().map_or(&[], RunFollower::figures),
        }
    }

    /// Looks what has happened since the last look.
    pub(super) fn look(&mut self) -> News {
        if self.ended() {
            return News::None;
        }
        if !self.looked {
            self.looked = true;
            self.record = self
                .archive
                .campaign(&self.name)
                .and_then(|campaign| campaign.record.ok());
        }
        // Asked before the files are read: what was written until the end is read, too.
        let under_way = is_under_way(&self.path);
        let running = run_folders(&self.path).into_iter().rev().find(|path| is_running(path));
        let another = running
            .clone()
            .filter(|path| self.run.as_ref().is_none_or(|run| run.path() != path));
        let changes = if let Some(path) = another {
            self.run = RunFollower::new(path);
            None
        } else if let Some(run) = &mut self.run {
            run.look()
        } else {
            Some(Vec::new())
        };
        let status = self.describe(under_way, running.is_some());
        let same = self.status == status;
        self.status = status;
        match changes {
            _ if !under_way => News::Ended,
            None => News::Anew,
            Some(changes) if changes.is_empty() && same => News::None,
            Some(changes) => News::Update(Box::new(Update {
                status: self.status.clone(),
                changes,
            })),
        }
    }

    fn describe(&self, under_way: bool, running: bool) -> Status {
        let mut status = self.run.as_ref().map(RunFollower::status).unwrap_or_default();
        (status.state, status.what) = match (under_way, &self.run) {
            (false, _) => (State::Ended, "This campaign has ended.".to_owned()),
            (true, Some(run)) if running => (State::Running, which_run(self.record.as_ref(), run.record())),
            (true, _) => (State::Preparing, self.preparing()),
        };
        status
    }

    fn preparing(&self) -> String {
        let made = run_folders(&self.path).len();
        match self.record.as_ref().map_or(1, |record| record.runs.len()) {
            1 if made == 0 => "The run is being prepared.".to_owned(),
            1 => "The run has ended and is being summarised.".to_owned(),
            planned => format!("No load is running. Started so far: {made} of {planned} runs."),
        }
    }
}
