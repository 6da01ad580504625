//! A MariaDB or MySQL server that is not dyno's own: it is reserved, set as far as it may be, and put back.

use super::address::ConnectionInfo;
use super::connect_until;
use super::data::{self, WORKING};
use super::database::{MysqlDatabase, route};
use super::lock::ServerLock;
use super::settings::{self, GlobalChange};
use crate::target::{
    Change, Data, Database, External, Lock, Mapped, Progress, Restored, Route, Saved, StopFlag, TargetError, Wanted,
};
use std::sync::Arc;

/// The server allows too few connections.
#[derive(Debug, thiserror::Error)]
#[error("the server allows {allowed} connections, too few for {clients} clients; raise max_connections there")]
struct TooFewConnections {
    allowed: u64,
    clients: usize,
}

impl External for ConnectionInfo {
    fn routes(&self) -> Vec<Route> {
        vec![route(&self.host)]
    }

    fn is_local(&self) -> bool {
        ConnectionInfo::is_local(self)
    }

    fn first_reachable(&self, stop: &StopFlag) -> Result<Arc<dyn External>, TargetError> {
        connect_until(self, stop)?;
        Ok(Arc::new(self.clone()))
    }

    fn identity(&self, stop: &StopFlag) -> Option<String> {
        let mut client = connect_until(self, stop).ok()?;
        // MySQL has an identifier of its own; MariaDB has where it runs.
        let known: Option<String> = client.query_first("select @@server_uuid").ok().flatten();
        known.or_else(|| {
            client
                .query_first("select concat(@@hostname, ':', @@datadir)")
                .ok()
                .flatten()
        })
    }

    fn lock(
        &self,
        _shared: bool,
        _experiments: &[String],
        stop: &StopFlag,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn Lock>, TargetError> {
        Ok(Box::new(ServerLock::take(self, stop, waiting)?))
    }

    fn fit(&self, settings: &[(String, String)], stop: &StopFlag) -> Result<Mapped, TargetError> {
        settings::fit(&mut connect_until(self, stop)?, settings)
    }

    fn check_connections(
        &self,
        clients: usize,
        settings: &[(String, String)],
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        let wanted = settings.iter().find(|(name, _)| name == "max_connections");
        let allowed: Option<u64> = match wanted.and_then(|(_, value)| value.parse().ok()) {
            Some(wanted) => Some(wanted),
            None => connect_until(self, stop)?.query_first("select @@max_connections")?,
        };
        match allowed.filter(|allowed| *allowed < clients as u64) {
            Some(allowed) => Err(TargetError::other(TooFewConnections { allowed, clients })),
            None => Ok(()),
        }
    }

    fn other_locale(&self, _wanted: &str, _stop: &StopFlag) -> Result<Option<String>, TargetError> {
        // What PostgreSQL calls a locale is a collation of each column here: data that asks for one is refused.
        Ok(None)
    }

    fn check_data(&self, data: &Data, _stop: &StopFlag) -> Result<(), TargetError> {
        // A database that is not dyno's is refused when the data is loaded, before anything is changed.
        Ok(data::check(data)?)
    }

    fn plan_change(
        &self,
        settings: &[(String, String)],
        _restart_command: Option<&str>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Change>, TargetError> {
        Ok(Box::new(GlobalChange::plan(self, settings, stop)?))
    }

    fn restore(&self, saved: &Saved, _restart_command: Option<&str>) -> Result<Restored, TargetError> {
        settings::restore(self, saved)
    }

    fn prepare(
        &self,
        wanted: Wanted<'_>,
        _notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Box<dyn Database>, TargetError> {
        if !wanted.data.is_some() {
            return Ok(Box::new(MysqlDatabase::new(self.clone())));
        }
        data::prepare(&mut connect_until(self, stop)?, wanted.data, stop, progress)?;
        Ok(Box::new(MysqlDatabase::new(self.with_database(WORKING))))
    }
}
