//! An Oracle database that a run works on: the schema of the user who connects.

use super::address::ConnectionInfo;
use super::client::BESIDE;
use super::data::Used;
use super::error::cannot;
use super::facts::server_facts;
use super::parameters::Parameters;
use super::rights::{grant, refusable, remedy};
use super::sampler::sampler_set;
use super::sizes::{database_sizes, table_names};
use super::{Client, cache, connect_until, plans, rows};
use crate::stopping::unless_stopped;
use crate::target::{
    Asked, Control, Database, DatabaseSizes, Description, Difference, Reach, Route, SamplerSet, StopFlag, TableSizes,
    TargetError, ToExplain,
};
use crate::values::{as_wanted, same_value};
use dyno_record::Explained;
use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// How long the sessions of a load may take to end before the counters are read all the same.
const PATIENCE: Duration = Duration::from_secs(5);

/// How often they are looked for.
const LOOK: Duration = Duration::from_millis(50);

/// A database, and whether there is data of the experiment's in it.
#[derive(Clone, Debug)]
pub struct OracleDatabase {
    info: ConnectionInfo,
    has_data: bool,
    used: Option<Used>,
}

impl OracleDatabase {
    /// What the user of an address sees; with data of dyno's if it `has_data`, to be marked when it is worked on.
    #[must_use]
    pub(super) fn new(info: ConnectionInfo, has_data: bool, used: Option<Used>) -> Self {
        Self { info, has_data, used }
    }
}

impl fmt::Display for OracleDatabase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.info.fmt(f)
    }
}

impl Database for OracleDatabase {
    fn reach(&self) -> Reach<'_> {
        Reach::Oracle(&self.info)
    }

    fn route(&self) -> Route {
        Route::Tcp
    }

    fn is_local(&self) -> bool {
        self.info.is_local()
    }

    fn warnings(&self) -> &[String] {
        &self.info.warnings
    }

    fn data_folder(&self) -> Option<&Path> {
        None
    }

    fn control(&self, stop: &StopFlag) -> Result<Box<dyn Control>, TargetError> {
        Ok(Box::new(OracleControl {
            client: connect_until(&self.info, stop)?,
            has_data: self.has_data,
        }))
    }

    fn samplers(&self, stop: &AtomicBool) -> Option<SamplerSet> {
        let this = self.clone();
        let find = move || sampler_set(&this.info, this.has_data);
        unless_stopped(stop, find)
    }

    fn mark_used(&self, stop: &StopFlag) -> Result<(), TargetError> {
        match &self.used {
            Some(used) => Ok(used.mark(&mut connect_until(&self.info, stop)?)?),
            None => Ok(()),
        }
    }
}

/// A connection for what is asked beside the load.
struct OracleControl {
    client: Client,
    has_data: bool,
}

impl OracleControl {
    fn names(&mut self) -> Result<Vec<String>, TargetError> {
        match self.has_data {
            true => table_names(&mut self.client).map_err(cannot("read the names of the tables")),
            false => Ok(Vec::new()),
        }
    }
}

impl Control for OracleControl {
    fn connect_again(&mut self) -> Result<(), TargetError> {
        self.client = connect_until(self.client.info(), &self.client.stop())?;
        Ok(())
    }

    fn describe(&mut self) -> Result<Description, TargetError> {
        let facts = server_facts(&mut self.client).map_err(cannot("read the server's settings"))?;
        Ok(Description {
            not_durable: facts.not_durable.clone(),
            facts: serde_json::to_value(facts).map_err(TargetError::other)?,
        })
    }

    fn differences(&mut self, wanted: &[(String, String)]) -> Result<Vec<Difference>, TargetError> {
        if wanted.is_empty() {
            return Ok(Vec::new());
        }
        // Who may not look has been told.
        let parameters = refusable(Parameters::read(&mut self.client))?;
        let Ok(parameters) = parameters else {
            return Ok(Vec::new());
        };
        let each = wanted.iter().filter_map(|(name, wanted)| {
            let found = parameters.value(&name.to_lowercase());
            let same = found.is_some_and(|found| same_value(found, wanted));
            (!same).then(|| Difference {
                name: name.clone(),
                wanted: wanted.clone(),
                found: found.map(|found| as_wanted(found, wanted)),
            })
        });
        Ok(each.collect())
    }

    fn settle(&mut self) -> Result<Vec<String>, TargetError> {
        let names = self.names()?;
        if names.is_empty() {
            return Ok(Vec::new());
        }
        for name in &names {
            let gather = format!("begin dbms_stats.gather_table_stats(user, '{name}'); end;");
            self.client
                .work(&gather)
                .map_err(cannot(format!("analyze the table {name}")))?;
        }
        let user = self.client.info().schema();
        let written = refusable(self.client.work("alter system checkpoint"))?;
        let unwritten = written.err().map(|error| {
            let remedy = remedy(&error, "alter system", &user).unwrap_or_else(|| error.to_string());
            format!(
                "What loading changed may be written during the measurement, because this user may not make the \
                 server write it before; {remedy}."
            )
        });
        let pools = cache::pools(&mut self.client).map_err(cannot("read which buffer pools the tables are in"))?;
        Ok(unwritten.into_iter().chain(pools).collect())
    }

    fn empty_cache(&mut self) -> Result<String, TargetError> {
        cache::empty(&mut self.client)
    }

    fn warm(&mut self) -> Result<String, TargetError> {
        let names = self.names()?;
        for name in &names {
            // With the hint a large table is kept in the cache, too.
            let query = format!("select /*+ full(t) cache(t) */ count(*) from {name} t");
            let read = self.client.answer(&query, &[], 1, None);
            read.map_err(cannot(format!("read the table {name}")))?;
        }
        let read = match names.len() {
            1 => "1 table was".to_owned(),
            number => format!("{number} tables were"),
        };
        Ok(format!("{read} read into the cache before the load"))
    }

    fn sizes(&mut self) -> Result<DatabaseSizes, TargetError> {
        match self.has_data {
            true => database_sizes(&mut self.client).map_err(cannot("read the sizes of the tables")),
            false => Ok(DatabaseSizes {
                database_bytes: 0,
                tables: Vec::new(),
            }),
        }
    }

    fn await_sessions_end(&mut self) -> Result<(), TargetError> {
        // 12.1 has all columns that are read here.
        let query = format!(
            "select count(*) from v$session where username = sys_context('userenv', 'session_user') and type = 'USER' \
             and nvl(module, '-') <> '{BESIDE}'"
        );
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            match refusable(self.client.query_first::<u64>(&query)).map_err(TargetError::from)? {
                Ok(Some(others)) if others > 0 => std::thread::sleep(LOOK),
                // None, or this user may not look.
                _ => break,
            }
        }
        Ok(())
    }

    fn explain(&mut self, statements: &[ToExplain]) -> Result<Vec<Explained>, TargetError> {
        plans::explain(&mut self.client, statements).map_err(cannot("ask how the server executes the statements"))
    }

    fn rows(&mut self, statement: &str) -> Result<Asked, TargetError> {
        rows::ask(&mut self.client, statement).map_err(cannot("ask for rows"))
    }

    fn name_of(&self, table: &TableSizes) -> String {
        table.name.clone()
    }
}

/// What an administrator gives a user who is to measure, as one clause.
pub(super) fn rights_to_see(user: &str) -> String {
    grant("select_catalog_role", user)
}
