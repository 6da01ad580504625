//! An Oracle server: it is reserved, set as far as it may be, and put back.

use super::address::ConnectionInfo;
use super::database::OracleDatabase;
use super::error::cannot;
use super::lock::{ServerLock, identity};
use super::parameters::Parameters;
use super::rights::refusable;
use super::settings::{self, SystemChange};
use super::trial::OracleTrial;
use super::{cache, connect_until, connections, data, examine, own_data, reachable_until};
use crate::target::{
    Change, Data, Database, External, Lock, Mapped, OwnData, Progress, Restored, Route, Saved, StopFlag, TargetError,
    Trial, Wanted,
};
use dyno_record::Finding;
use std::sync::Arc;

/// What can be asked of other servers only.
#[derive(Debug, thiserror::Error)]
enum NotYet {
    #[error(
        "--share-server is for PostgreSQL only so far: on Oracle one campaign waits for the other; leave it out for \
         {server}"
    )]
    Sharing { server: String },
}

impl External for ConnectionInfo {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn routes(&self) -> Vec<Route> {
        self.hosts().map(|_| Route::Tcp).collect()
    }

    fn is_local(&self) -> bool {
        ConnectionInfo::is_local(self)
    }

    fn check_terms(&self, shared: bool, _restart_command: Option<&str>, _stop: &StopFlag) -> Result<(), TargetError> {
        match shared {
            true => Err(TargetError::other(NotYet::Sharing {
                server: self.to_string(),
            })),
            false => Ok(()),
        }
    }

    fn first_reachable(&self, stop: &StopFlag) -> Result<Arc<dyn External>, TargetError> {
        Ok(Arc::new(reachable_until(self, stop)?))
    }

    fn empties_cache(&self) -> bool {
        true
    }

    fn check_empties_cache(&self, stop: &StopFlag) -> Result<(), TargetError> {
        cache::check(&mut connect_until(self, stop)?)
    }

    fn examine(&self, clients: Option<usize>, stop: &StopFlag) -> Vec<Finding> {
        examine::examine(self, clients, stop)
    }

    fn trial(&self) -> Option<Box<dyn Trial>> {
        Some(Box::new(OracleTrial::of(self)))
    }

    fn identity(&self, stop: &StopFlag) -> Option<String> {
        identity(&mut connect_until(self, stop).ok()?).ok().flatten()
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
        match settings.is_empty() {
            true => Ok(Mapped::default()),
            false => settings::fit(&mut connect_until(self, stop)?, settings),
        }
    }

    fn check_connections(
        &self,
        clients: usize,
        _settings: &[(String, String)],
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        let mut client = connect_until(self, stop)?;
        let limits = connections::limits(&mut client).map_err(cannot("read how many connections there may be"))?;
        connections::check(&limits.unwrap_or_default(), clients).map_err(TargetError::other)
    }

    fn other_locale(&self, _wanted: &str, _stop: &StopFlag) -> Result<Option<String>, TargetError> {
        // Data that asks for one is refused.
        Ok(None)
    }

    fn check_data(&self, data: &Data, stop: &StopFlag) -> Result<(), TargetError> {
        data::check(data)?;
        if data.is_some() {
            data::check_on(&mut connect_until(self, stop)?, data)?;
        }
        Ok(())
    }

    fn plan_change(
        &self,
        settings: &[(String, String)],
        restart_command: Option<&str>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Change>, TargetError> {
        Ok(Box::new(SystemChange::plan(self, settings, restart_command, stop)?))
    }

    fn restore(&self, saved: &Saved, restart_command: Option<&str>) -> Result<Restored, TargetError> {
        settings::restore(self, saved, restart_command)
    }

    fn prepare(
        &self,
        wanted: Wanted<'_>,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Box<dyn Database>, TargetError> {
        let mut client = connect_until(self, stop)?;
        if refusable(Parameters::read(&mut client))
            .map_err(TargetError::from)?
            .is_err()
        {
            notes.push(format!(
                "The server's parameters are not in the result, because this user may not read them; {}.",
                super::database::rights_to_see(&self.schema())
            ));
        }
        if !wanted.data.is_some() {
            return Ok(Box::new(OracleDatabase::new(self.clone(), false, None)));
        }
        let used = data::prepare(&mut client, wanted, stop, progress)?;
        Ok(Box::new(OracleDatabase::new(self.clone(), true, used)))
    }

    fn own_data(&self, stop: &StopFlag) -> Result<Vec<OwnData>, TargetError> {
        own_data::list(self, stop)
    }

    fn remove(&self, _name: &str, _notes: &mut Vec<String>, stop: &StopFlag) -> Result<Option<String>, TargetError> {
        // There is one of it.
        own_data::remove(self, stop)
    }
}
