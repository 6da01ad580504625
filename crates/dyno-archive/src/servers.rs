//! What is kept of the servers beside the main one of a run: a folder of each in the run's folder `servers`.
//!
//! It has the files that the run's own folder has of the main server, in the same formats, and `server.json` with what
//! `run.json` has of that. So whoever can read a run can read each of its servers, shown [as a run](Run::servers) of
//! that server alone.

use crate::append::AppendFile;
use crate::reader::{folders, name_of};
use crate::run::event_lines;
use crate::summary::TableGrowth;
use crate::{ArchiveError, EVENTS_JSONL, EventRecord, FORMAT, Preparation, Run, RunRecord, read_json, replace_json};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use std::fs;
use std::path::{Path, PathBuf};

/// The folder in a run that has one for each further server.
const SERVERS: &str = "servers";
const SERVER_JSON: &str = "server.json";

/// What is known of a further server: the content of `server.json`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct ServerRecord {
    /// The format of the folder, see [`FORMAT`].
    pub format: u32,
    /// The database, without passwords.
    pub target: String,
    /// The server that it reaches through foreign tables, if it is a proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// The server whose changes it follows, if it is a replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_of: Option<String>,
    /// The server's version, settings and so on, as the target reports them.
    pub server: Value,
    /// How its data was made ready; absent for a replica, which has its primary's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub preparation: Option<Preparation>,
    /// Sizes and cumulative statistics of the tables before and after the load, as the target reports them.
    #[serde(default)]
    pub tables: Value,
    /// Tables before and after the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub growth: Vec<TableGrowth>,
}

/// Writes the folder of a further server while the run goes on.
#[derive(Debug)]
pub struct ServerWriter {
    path: PathBuf,
    record: ServerRecord,
    events: AppendFile,
    stopped: bool,
}

impl ServerWriter {
    /// Makes the folder of the server `name` in the folder of its run.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn create(run: &Path, name: &str, record: ServerRecord) -> Result<Self, ArchiveError> {
        let path = run.join(SERVERS).join(name);
        fs::create_dir_all(&path).map_err(ArchiveError::write(&path))?;
        let record = ServerRecord {
            format: FORMAT,
            ..record
        };
        replace_json(&path.join(SERVER_JSON), &record)?;
        Ok(Self {
            events: AppendFile::create(path.join(EVENTS_JSONL))?,
            path,
            record,
            stopped: false,
        })
    }

    /// The folder, for the samples of this server.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// What will be in `server.json`; it is written by [`Self::finish`].
    pub fn record_mut(&mut self) -> &mut ServerRecord {
        &mut self.record
    }

    /// Appends events.
    ///
    /// # Errors
    ///
    /// If they cannot be written. The error comes once; later events are then ignored.
    pub fn events(&mut self, events: &[EventRecord]) -> Result<(), ArchiveError> {
        if self.stopped || events.is_empty() {
            return Ok(());
        }
        let result = self.events.append(&event_lines(events));
        self.stopped = result.is_err();
        result
    }

    /// Writes `server.json` with all that is known.
    ///
    /// # Errors
    ///
    /// If it cannot be written.
    pub fn finish(self) -> Result<(), ArchiveError> {
        replace_json(&self.path.join(SERVER_JSON), &self.record)
    }
}

/// A server beside the main one, as a run shows it.
#[derive(Debug)]
pub struct ServerOfRun {
    /// What the experiment calls it.
    pub name: String,
    /// The server that it reaches through foreign tables, if it is a proxy.
    pub behind: Option<String>,
    /// The server whose changes it follows, if it is a replica.
    pub replica_of: Option<String>,
    /// The run as if this were its only server: its samples, events, description and tables are this one's. It has no
    /// intervals of its own.
    pub run: Run,
}

impl Run {
    /// The servers beside the main one, in the order of the experiment; none if it had no others, or if they cannot be
    /// read.
    #[must_use]
    pub fn servers(&self) -> Vec<ServerOfRun> {
        let Ok(record) = &self.record else { return Vec::new() };
        let found = folders(&self.path.join(SERVERS)).unwrap_or_default();
        let find = |name: &String| found.iter().find(|path| name_of(path) == *name);
        let paths = record.servers.iter().filter_map(find);
        paths
            .filter_map(|path| {
                let name = name_of(path);
                let server = read_json::<ServerRecord>(&path.join(SERVER_JSON)).ok()?;
                Some(ServerOfRun {
                    behind: server.behind.clone(),
                    replica_of: server.replica_of.clone(),
                    run: Self {
                        path: path.clone(),
                        state: self.state,
                        record: Ok(record.seen_by(&name, server)),
                    },
                    name,
                })
            })
            .collect()
    }
}

impl RunRecord {
    /// The record as if this `server` were the only one.
    fn seen_by(&self, name: &str, server: ServerRecord) -> Self {
        let mut seen = self.clone();
        seen.workloads
            .retain(|workload| workload.server.as_deref() == Some(name));
        seen.servers.clear();
        seen.analysis = None;
        (seen.target, seen.server, seen.tables) = (server.target, server.server, server.tables);
        seen.preparation = server.preparation;
        if let Some(summary) = &mut seen.summary {
            let names: Vec<_> = seen.workloads.iter().map(|workload| workload.name.as_str()).collect();
            summary
                .workloads
                .retain(|workload| names.contains(&workload.name.as_str()));
            summary.tables = server.growth;
            summary.warnings.clear();
        }
        seen
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{PlannedRun, Resolved};
    use crate::summary::{Summary, WorkloadFacts};
    use crate::{CampaignRecord, CampaignWriter, EventKind, RunState};

    #[test]
    fn a_further_server_is_read_as_a_run_of_its_own() {
        let archive = tempfile::tempdir().unwrap();
        let load = Resolved::of_load("t".to_owned(), "t".to_owned(), Vec::new());
        let planned = PlannedRun::repetition(1);
        let now = jiff::Zoned::now();
        let record = CampaignRecord::new(load.clone(), "dyno run".to_owned(), now, 1, vec![planned.clone()]);
        let campaign = CampaignWriter::create(archive.path(), &record).unwrap();
        let on = |name: &str, server: Option<&str>| WorkloadFacts {
            server: server.map(str::to_owned),
            ..WorkloadFacts::closed(name, 1, 1)
        };
        let facts = vec![on("a", None), on("b", Some("second"))];
        let record = RunRecord {
            servers: vec!["first".to_owned(), "second".to_owned()],
            ..RunRecord::new("here".to_owned(), String::new(), facts, &load.phases(), load.interval)
        };
        let run = campaign.run(&planned, record).unwrap();
        let there = ServerRecord {
            target: "there".to_owned(),
            behind: Some("first".to_owned()),
            ..ServerRecord::default()
        };
        let mut writer = ServerWriter::create(run.path(), "second", there).unwrap();
        let event = EventRecord {
            at_s: 1.0,
            kind: EventKind::Phase { phase: "p".to_owned() },
        };
        writer.events(std::slice::from_ref(&event)).unwrap();
        writer.record_mut().tables = serde_json::json!({ "after": 1 });
        writer.finish().unwrap();
        let run = run.finish(RunState::Complete, Summary::default()).unwrap();
        let [second] = &run.servers()[..] else { unreachable!() };
        assert_eq!(
            (second.name.as_str(), second.behind.as_deref()),
            ("second", Some("first"))
        );
        let seen = second.run.record.as_ref().unwrap();
        assert_eq!((seen.target.as_str(), &seen.tables["after"]), ("there", &1.into()));
        assert_eq!(seen.workloads.len(), 1);
        assert_eq!(second.run.events().unwrap().collect::<Vec<_>>(), [event]);
    }
}
