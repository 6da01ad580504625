//! A MariaDB or MySQL database that a run works on.

use super::address::{ConnectionInfo, Host};
use super::data::Used;
use super::error::cannot;
use super::facts::server_facts;
use super::plans;
use super::rights::remedy;
use super::rows;
use super::sampler::{replication, sampler_set};
use super::settings::taken;
use super::sizes::{database_sizes, files};
use super::variables::{Variables, canonical};
use super::{Client, ClientError, Scope, connect_until, lock};
use crate::stopping::unless_stopped;
use crate::target::{
    Asked, Control, Database, DatabaseSizes, Description, Difference, Reach, Route, SamplerSet, StopFlag, TableSizes,
    TargetError, ToExplain,
};
use crate::values::{as_wanted, same_value};
use dyno_record::Explained;
use dyno_script::Lexis;
use std::fmt;
use std::path::{Path, PathBuf};
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long the sessions of a load may take to end before the counters are read all the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often they are looked for.
const LOOK: Duration = Duration::from_millis(20);

/// A statement that the engine of a table has no use for: only InnoDB keeps changed pages back (MariaDB, "MariaDB Error
/// Codes").
const NOT_OF_THIS_ENGINE: u16 = 1031;

/// A database, and what of it is the experiment's.
#[derive(Clone, Debug)]
pub struct MysqlDatabase {
    info: ConnectionInfo,
    /// Its address as it was given.
    shown: String,
    scope: Scope,
    data_folder: Option<PathBuf>,
    log: Option<PathBuf>,
    used: Option<Used>,
}

impl MysqlDatabase {
    /// The tables of `scope` at an address.
    #[must_use]
    pub fn new(info: ConnectionInfo, scope: Scope) -> Self {
        Self {
            shown: info.to_string(),
            info,
            scope,
            data_folder: None,
            log: None,
            used: None,
        }
    }

    /// The same on a server of dyno's own, which keeps its data here and writes its log there.
    #[must_use]
    pub(super) fn on_own_server(mut self, data_folder: &Path, log: &Path) -> Self {
        self.data_folder = Some(data_folder.to_owned());
        self.log = Some(log.to_owned());
        self
    }

    /// The same, shown by the address that somebody gave for it.
    #[must_use]
    pub(super) fn given_as(mut self, address: &ConnectionInfo) -> Self {
        self.shown = address.to_string();
        self
    }

    /// The same, to be marked when it is worked on.
    #[must_use]
    pub(super) fn marked(mut self, used: Option<Used>) -> Self {
        self.used = used;
        self
    }
}

impl fmt::Display for MysqlDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.shown)
    }
}

/// How clients connect to a host.
pub(super) fn route(host: &Host) -> Route {
    match host {
        Host::Unix(_) => Route::Unix,
        Host::Tcp { .. } => Route::Tcp,
    }
}

impl Database for MysqlDatabase {
    fn reach(&self) -> Reach<'_> {
        Reach::Mysql(&self.info)
    }

    fn route(&self) -> Route {
        route(&self.info.host)
    }

    fn is_local(&self) -> bool {
        self.info.is_local()
    }

    fn warnings(&self) -> &[String] {
        &self.info.warnings
    }

    fn data_folder(&self) -> Option<&Path> {
        self.data_folder.as_deref()
    }

    fn control(&self, stop: &StopFlag) -> Result<Box<dyn Control>, TargetError> {
        Ok(Box::new(MysqlControl {
            client: connect_until(&self.info, stop)?,
            scope: self.scope,
            prepared: 0,
        }))
    }

    fn samplers(&self, stop: &AtomicBool) -> Option<SamplerSet> {
        let this = self.clone();
        let find = move || sampler_set(&this.info, this.scope == Scope::Database, this.log.as_deref());
        unless_stopped(stop, find)
    }

    fn lexis(&self, _usual: Lexis, stop: &StopFlag) -> Result<Lexis, TargetError> {
        let mut client = connect_until(&self.info, stop)?;
        let mode: Option<String> = client
            .query_first("select @@sql_mode")
            .map_err(cannot("read the server's SQL mode"))?;
        Ok(match mode.is_some_and(|mode| mode.contains("NO_BACKSLASH_ESCAPES")) {
            true => Lexis::MysqlNoEscapes,
            false => Lexis::Mysql,
        })
    }

    fn mark_used(&self, stop: &StopFlag) -> Result<(), TargetError> {
        match &self.used {
            Some(used) => Ok(used.mark(&mut connect_until(&self.info, stop)?)?),
            None => Ok(()),
        }
    }
}

/// A connection for what is asked beside the load.
struct MysqlControl {
    client: Client,
    scope: Scope,
    /// How many statements were prepared.
    prepared: usize,
}

impl MysqlControl {
    fn tables(&mut self) -> Result<Vec<TableSizes>, TargetError> {
        Ok(self.sizes()?.tables)
    }

    /// Has the server write what is changed of these tables in memory, which otherwise it would do while the load runs.
    /// Gives what to say if it does not.
    fn write_pages(&mut self, tables: &[TableSizes]) -> Result<Option<String>, ClientError> {
        for table in tables {
            // This is to make the files fit to be copied; afterwards they are the server's again.
            let write = format!("flush tables {} for export; unlock tables", quoted(&table.name));
            match self.client.work(&write) {
                Ok(()) => {}
                Err(ClientError::Server(error)) if error.code == NOT_OF_THIS_ENGINE => {}
                Err(error @ ClientError::Server(_)) => {
                    let remedy = remedy(&mut self.client, &error, "reload on *.*");
                    let remedy = remedy.map_or_else(String::new, |remedy| format!("; {remedy}"));
                    return Ok(Some(format!(
                        "What loading changed of {} may be written during the measurement, because the server refuses \
                         to write it before ({error}){remedy}.",
                        table.name
                    )));
                }
                Err(lost) => return Err(lost),
            }
        }
        Ok(None)
    }

    /// What to say if this role may not know how large files are.
    fn unknown_sizes(&mut self) -> Result<Option<String>, ClientError> {
        match files(&mut self.client) {
            Err(error @ ClientError::Server(_)) => {
                let remedy = remedy(&mut self.client, &error, "process on *.*");
                Ok(remedy.map(|remedy| {
                    format!(
                        "The sizes of tables are those of the server's statistics, which it renews now and then, \
                         because this role may not read those of the files; {remedy}."
                    )
                }))
            }
            files => files.map(|_| None),
        }
    }
}

impl MysqlControl {
    /// Whether the server follows another one and takes nothing from others.
    fn is_replica(&mut self) -> Result<bool, TargetError> {
        let client = &mut self.client;
        let follows = match client.query_first::<u8>("select @@global.read_only") {
            Ok(Some(1)) => replication::source(client).map(|source| source.is_some()),
            answer => answer.map(|_| false),
        };
        follows.map_err(cannot("ask the server whether it is a replica"))
    }
}

impl Control for MysqlControl {
    fn describe(&mut self) -> Result<Description, TargetError> {
        let facts = server_facts(&mut self.client).map_err(cannot("read the server's settings"))?;
        Ok(Description {
            not_durable: facts.not_durable.clone(),
            facts: serde_json::to_value(facts).map_err(TargetError::other)?,
        })
    }

    fn differences(&mut self, wanted: &[(String, String)]) -> Result<Vec<Difference>, TargetError> {
        let variables = Variables::read(&mut self.client).map_err(cannot("read the server's settings"))?;
        let each = wanted.iter().filter_map(|(name, wanted)| {
            let canonical = canonical(name);
            let found = variables.get(&canonical);
            let same = found.is_some_and(|found| same_value(found, &taken(&canonical, wanted, &variables)));
            (!same).then(|| Difference {
                name: name.clone(),
                wanted: wanted.clone(),
                found: found.map(|found| as_wanted(found, wanted)),
            })
        });
        Ok(each.collect())
    }

    fn settle(&mut self) -> Result<Vec<String>, TargetError> {
        if self.is_replica()? {
            // All that is its primary's to do.
            return Ok(Vec::new());
        }
        let tables = self.tables()?;
        for table in &tables {
            let name = &table.name;
            let analyzed = self.client.work(&format!("analyze table {}", quoted(name)));
            analyzed.map_err(cannot(format!("analyze the table {name}")))?;
        }
        if tables.is_empty() {
            return Ok(Vec::new());
        }
        let said = [self.write_pages(&tables)?, self.unknown_sizes()?];
        Ok(said.into_iter().flatten().collect())
    }

    fn warm(&mut self) -> Result<String, TargetError> {
        let tables = self.tables()?;
        for table in &tables {
            // The primary key is the table.
            let name = quoted(&table.name);
            self.client
                .work(&format!("select count(*) from {name} force index (primary)"))
                // One without a primary key has only itself.
                .or_else(|_| self.client.work(&format!("select count(*) from {name}")))
                .map_err(cannot(format!("read the table {}", table.name)))?;
        }
        let read = match tables.len() {
            1 => "1 table was".to_owned(),
            number => format!("{number} tables were"),
        };
        // Among what is told of a load, this would seem to be something that it did.
        Ok(format!("{read} read into the cache before the load"))
    }

    fn sizes(&mut self) -> Result<DatabaseSizes, TargetError> {
        database_sizes(&mut self.client, self.scope).map_err(cannot("read the sizes of the tables"))
    }

    fn await_sessions_end(&mut self) -> Result<(), TargetError> {
        let query = format!(
            "select count(*) from information_schema.processlist where db = database() and id <> connection_id() and \
             id <> coalesce(is_used_lock('{}'), 0)",
            lock::NAME
        );
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let others: Result<Option<u64>, _> = self.client.query_first(&query);
            let others = others.map_err(cannot("find out whether the load's sessions have ended"))?;
            // Samplers have no database.
            if others.unwrap_or(0) == 0 {
                break;
            }
            std::thread::sleep(LOOK);
        }
        Ok(())
    }

    fn explain(&mut self, statements: &[ToExplain]) -> Result<Vec<Explained>, TargetError> {
        plans::explain(&mut self.client, &mut self.prepared, statements)
            .map_err(cannot("ask how the server executes the statements"))
    }

    fn rows(&mut self, statement: &str) -> Result<Asked, TargetError> {
        self.prepared += 1;
        rows::ask(&mut self.client, self.prepared, statement).map_err(cannot("ask for rows"))
    }

    fn connect_again(&mut self) -> Result<(), TargetError> {
        self.client = connect_until(self.client.info(), &self.client.stop())?;
        Ok(())
    }

    fn name_of(&self, table: &TableSizes) -> String {
        table.name.clone()
    }
}

/// A name as SQL takes it.
fn quoted(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
