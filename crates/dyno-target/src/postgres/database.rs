//! A PostgreSQL database that a run works on.

use super::Client;
use super::address::{ConnectionInfo, Host, Interruptible};
use super::cache::prewarm;
use super::error::AskError;
use super::facts::{ServerFacts, server_facts};
use super::foreign::link;
use super::load::settle;
use super::plans;
use super::rows;
use super::sampler::sampler_set;
use super::schema::{Mark, mark_of, set_mark};
use super::scope::Scope;
use super::settings::verify;
use super::sizes::{await_sessions_end, database_sizes};
use crate::patience::ANSWER;
use crate::stopping::unless_stopped;
use crate::target::{
    Asked, Control, Database, DatabaseSizes, Description, Difference, ForeignTables, Reach, Remote, Route, SamplerSet,
    StopFlag, TableSizes, TargetError, ToExplain,
};
use dyno_record::Explained;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;

/// A database, and what of it is the experiment's.
#[derive(Clone, Debug)]
pub struct PostgresDatabase {
    info: ConnectionInfo,
    scope: Scope,
    data_folder: Option<PathBuf>,
    log: Option<PathBuf>,
    used: Option<Used>,
}

/// What a schema is marked with once it is worked on.
#[derive(Clone, Debug)]
pub(super) struct Used {
    pub schema: String,
    pub state: String,
}

impl PostgresDatabase {
    /// The tables of `scope` at an address.
    #[must_use]
    pub fn new(info: ConnectionInfo, scope: Scope) -> Self {
        Self {
            info,
            scope,
            data_folder: None,
            log: None,
            used: None,
        }
    }

    /// The same on a server of dyno's own, which keeps its data and its log here.
    #[must_use]
    pub(super) fn on_own_server(mut self, data_folder: &Path, log: &Path) -> Self {
        self.data_folder = Some(data_folder.to_owned());
        self.log = Some(log.to_owned());
        self
    }

    /// The same, to be marked when it is worked on.
    #[must_use]
    pub(super) fn marked(mut self, used: Option<Used>) -> Self {
        self.used = used;
        self
    }
}

impl fmt::Display for PostgresDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.fmt(f)
    }
}

/// How clients connect to a host.
pub(super) fn route(host: &Host) -> Route {
    match host {
        Host::Unix { .. } => Route::Unix,
        Host::Tcp { .. } => Route::Tcp,
    }
}

impl Database for PostgresDatabase {
    fn reach(&self) -> Reach<'_> {
        Reach::Postgres(&self.info)
    }

    fn route(&self) -> Route {
        self.info.hosts().next().map_or(Route::Tcp, route)
    }

    fn is_local(&self) -> bool {
        self.info.is_local()
    }

    fn warnings(&self) -> &[String] {
        self.info.warnings()
    }

    fn data_folder(&self) -> Option<&Path> {
        self.data_folder.as_deref()
    }

    fn control(&self, stop: &StopFlag) -> Result<Box<dyn Control>, TargetError> {
        Ok(Box::new(PostgresControl {
            client: self.info.connect_to_ask(stop)?,
            scope: self.scope.clone(),
            info: self.info.clone(),
            stop: StopFlag::clone(stop),
        }))
    }

    fn samplers(&self, stop: &AtomicBool) -> Option<SamplerSet> {
        let this = self.clone();
        let find = move || sampler_set(&this.info, &this.scope, this.log.as_deref());
        unless_stopped(stop, find)
    }

    fn mark_used(&self, stop: &StopFlag) -> Result<(), TargetError> {
        let Some(Used { schema, state }) = &self.used else {
            return Ok(());
        };
        let mut client = self.info.connect_to_ask(stop)?;
        let extensions = mark_of(&mut client, schema)?.unwrap_or_default().extensions;
        Ok(set_mark(&mut client, schema, &Mark::now(state, extensions))?)
    }
}

/// A connection for what is asked beside the load.
struct PostgresControl {
    client: Interruptible,
    scope: Scope,
    /// How it was made.
    info: ConnectionInfo,
    stop: StopFlag,
}

impl PostgresControl {
    /// Has the server do what takes as long as it takes.
    fn work<R>(&mut self, work: impl FnOnce(&mut Client, &Scope) -> R) -> R {
        self.client.set_patience(None);
        let done = work(&mut self.client, &self.scope);
        self.client.set_patience(Some(ANSWER));
        done
    }
}

impl Control for PostgresControl {
    fn describe(&mut self) -> Result<Description, TargetError> {
        let facts = server_facts(&mut self.client)?;
        Ok(Description {
            not_durable: not_durable(&facts),
            facts: serde_json::to_value(facts).map_err(TargetError::other)?,
        })
    }

    fn differences(&mut self, wanted: &[(String, String)]) -> Result<Vec<Difference>, TargetError> {
        Ok(verify(&mut self.client, wanted)?)
    }

    fn settle(&mut self) -> Result<Vec<String>, TargetError> {
        Ok(self.work(settle)?)
    }

    fn warm(&mut self) -> Result<String, TargetError> {
        Ok(self.work(prewarm)?.to_string())
    }

    fn sizes(&mut self) -> Result<DatabaseSizes, TargetError> {
        Ok(database_sizes(&mut self.client, &self.scope)?)
    }

    fn await_sessions_end(&mut self) -> Result<(), TargetError> {
        Ok(await_sessions_end(&mut self.client)?)
    }

    fn explain(&mut self, statements: &[ToExplain]) -> Result<Vec<Explained>, TargetError> {
        plans::explain(&mut self.client, statements).map_err(|error| {
            let what = "ask how the server executes the statements";
            AskError::new(what, &error).into()
        })
    }

    fn rows(&mut self, statement: &str) -> Result<Asked, TargetError> {
        let asked = self.work(|client, _| rows::ask(client, statement));
        asked.map_err(|error| AskError::new("ask for rows", &error).into())
    }

    fn connect_again(&mut self) -> Result<(), TargetError> {
        self.client = self.info.connect_to_ask(&self.stop)?;
        Ok(())
    }

    fn link(&mut self, remote: Remote<'_>, foreign: &ForeignTables) -> Result<Vec<String>, TargetError> {
        Ok(self.work(|client, _| link(client, remote, foreign))?)
    }

    fn name_of(&self, table: &TableSizes) -> String {
        self.scope.name_of(&table.schema, &table.name)
    }
}

/// Settings that allow the server to lose what it reported as done.
pub(super) fn not_durable(server: &ServerFacts) -> Vec<String> {
    let off = |name: &&str| {
        let setting = server.settings.iter().find(|setting| setting.name == **name);
        setting.is_some_and(|setting| setting.value == "off")
    };
    let names = ["fsync", "full_page_writes", "synchronous_commit"];
    names
        .iter()
        .filter(|name| off(name))
        .map(|name| format!("{name} = off"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::facts::{LocaleFacts, ServerSetting};
    use dyno_record::ServerTraits;

    #[test]
    fn a_commit_that_does_not_wait_for_the_disk_is_not_durable() {
        let server = |synchronous_commit: &str| ServerFacts {
            version: String::new(),
            version_number: 180_000,
            settings: vec![ServerSetting {
                name: "synchronous_commit".to_owned(),
                value: synchronous_commit.to_owned(),
                source: "configuration file".to_owned(),
            }],
            data_folder: None,
            locale: LocaleFacts::default(),
            traits: ServerTraits::default(),
        };
        assert_eq!(not_durable(&server("off")), ["synchronous_commit = off"]);
        assert!(not_durable(&server("local")).is_empty());
    }
}
