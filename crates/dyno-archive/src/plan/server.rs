//! Servers beside the main one of an experiment.
//!
//! What an experiment says of its only server stands in [`Resolved`] itself, and so does what it says of the main one
//! of several. Each further server has a name and says the same of itself. Whoever works on one server at a time is
//! shown the experiment as that server [sees it](Resolved::seen_by).

use super::{Address, Data, Path, Resolved};
use indexmap::IndexMap;
use serde::{Deserialize, Serialize};
use std::borrow::Cow;

/// What the main server is called unless the file names it.
pub const MAIN: &str = "main";

/// A server beside the main one.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct FurtherServer {
    /// As [`Resolved::target`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Address>,
    /// As [`Resolved::path`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// As [`Resolved::locale`].
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// As [`Resolved::settings`].
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub settings: IndexMap<String, String>,
    /// What is in its database before the run.
    #[serde(default)]
    pub data: Data,
    /// The server that it reaches through foreign tables, if it is a proxy.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub behind: Option<String>,
    /// What of that server is to be seen.
    #[serde(default, skip_serializing_if = "Foreign::is_empty")]
    pub foreign: Foreign,
    /// The server whose changes it follows, if it is a replica.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub replica_of: Option<String>,
}

/// What a proxy shows of the server behind it.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Foreign {
    /// The tables.
    #[serde(default)]
    pub tables: Vec<String>,
    /// Options of whatever reaches them, by name.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub options: IndexMap<String, String>,
}

impl Foreign {
    /// Whether nothing is to be seen.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.tables.is_empty() && self.options.is_empty()
    }
}

/// The workload of the file that one of its instances belongs to: it runs once on each of several servers of one name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Instances {
    /// The name of the workload in the file.
    pub of: String,
    /// Whether the sum of what they do means something.
    #[serde(default, skip_serializing_if = "std::ops::Not::not")]
    pub sum: bool,
}

impl Resolved {
    /// What the main server is called.
    #[must_use]
    pub fn main_server(&self) -> &str {
        self.server_name.as_deref().unwrap_or(MAIN)
    }

    /// The names of all servers: the main one, then the further ones in the order of the file.
    pub fn server_names(&self) -> impl Iterator<Item = &str> {
        std::iter::once(self.main_server()).chain(self.servers.keys().map(String::as_str))
    }

    /// What is said of this server if it is a further one.
    #[must_use]
    pub fn further(&self, server: &str) -> Option<&FurtherServer> {
        self.servers.get(server)
    }

    /// The name of the server that a workload runs on.
    #[must_use]
    pub fn server_of<'a>(&'a self, workload: &'a super::Workload) -> &'a str {
        workload.server.as_deref().unwrap_or(self.main_server())
    }

    /// The experiment as if `server` were its only one: with its database, data and settings, and the workloads that
    /// run there.
    #[must_use]
    pub fn seen_by(&self, server: &str) -> Cow<'_, Self> {
        if self.servers.is_empty() {
            return Cow::Borrowed(self);
        }
        let mut seen = self.clone();
        seen.servers.clear();
        seen.workloads.retain(|workload| self.server_of(workload) == server);
        if let Some(further) = self.servers.get(server) {
            let FurtherServer {
                target,
                path,
                locale,
                settings,
                data,
                ..
            } = further.clone();
            (seen.target, seen.path, seen.locale) = (target, path, locale);
            (seen.settings, seen.data) = (settings, data);
        }
        Cow::Owned(seen)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plan::{Driver, Protocol, Scripts, Workload};
    use std::time::Duration;

    fn workload(name: &str, server: Option<&str>) -> Workload {
        Workload {
            name: name.to_owned(),
            clients: 1,
            threads: 1,
            protocol: Protocol::default(),
            driver: Driver::default(),
            rate_per_s: None,
            transactions_per_client: None,
            start_delay: Duration::ZERO,
            scripts: Scripts::new([("a".to_owned(), "select 1;".to_owned(), 1)]),
            server: server.map(str::to_owned),
            instances: None,
            load_hosts: Vec::new(),
        }
    }

    #[test]
    fn each_server_sees_what_is_its_own() {
        let workloads = vec![workload("a", None), workload("b", Some("second"))];
        let mut experiment = Resolved::of_load("t".to_owned(), "t".to_owned(), workloads);
        // Alone, a server sees everything as it is.
        assert_eq!(*experiment.seen_by(MAIN), experiment);
        experiment.server_name = Some("first".to_owned());
        experiment.settings = IndexMap::from([("a".to_owned(), "1".to_owned())]);
        let second = FurtherServer {
            settings: IndexMap::from([("b".to_owned(), "2".to_owned())]),
            ..FurtherServer::default()
        };
        experiment.servers = IndexMap::from([("second".to_owned(), second)]);
        assert_eq!(experiment.server_names().collect::<Vec<_>>(), ["first", "second"]);
        for (server, workload, setting) in [("first", "a", "a"), ("second", "b", "b")] {
            let seen = experiment.seen_by(server);
            let names: Vec<_> = seen.workloads.iter().map(|workload| workload.name.as_str()).collect();
            assert_eq!(names, [workload]);
            assert!(
                seen.settings.contains_key(setting) && seen.settings.len() == 1,
                "{seen:?}"
            );
        }
        let text = serde_json::to_string(&experiment).unwrap();
        assert_eq!(serde_json::from_str::<Resolved>(&text).unwrap(), experiment);
    }
}
