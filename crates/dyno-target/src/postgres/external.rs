//! A PostgreSQL server that is not dyno's own.

use super::address::ConnectionInfo;
use super::data;
use super::database::route;
use super::examine::examine;
use super::executed::executed;
use super::facts::{server_facts, server_identity};
use super::foreign;
use super::lock::{Holder, ServerLock};
use super::own_data;
use super::settings::{self, MAX_CONNECTIONS, check_connections, plan_for_server};
use crate::target::{
    Applied, Change, Data, Database, Executed, External, Lock, Mapped, OwnData, Progress, Restored, Route, Saved,
    StopFlag, TargetError, Unset, Wanted,
};
use dyno_record::Finding;
use std::sync::Arc;
use std::time::Duration;

impl External for ConnectionInfo {
    fn warnings(&self) -> &[String] {
        ConnectionInfo::warnings(self)
    }

    fn routes(&self) -> Vec<Route> {
        self.hosts().map(route).collect()
    }

    fn is_local(&self) -> bool {
        ConnectionInfo::is_local(self)
    }

    fn first_reachable(&self, stop: &StopFlag) -> Result<Arc<dyn External>, TargetError> {
        Ok(Arc::new(self.first_reachable_until(stop)?))
    }

    fn examine(&self, clients: Option<usize>, stop: &StopFlag) -> Vec<Finding> {
        examine(self, clients, stop)
    }

    fn executed(&self, lasts: Duration, stop: &StopFlag) -> Result<Executed, TargetError> {
        executed(self, lasts, stop)
    }

    fn identity(&self, stop: &StopFlag) -> Option<String> {
        server_identity(&mut *self.connect_to_ask(stop).ok()?)
    }

    fn lock(
        &self,
        shared: bool,
        experiments: &[String],
        stop: &StopFlag,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn Lock>, TargetError> {
        let reachable = self.first_reachable_until(stop)?;
        let schemas = experiments.iter().map(|name| data::schema_of(name)).collect();
        let mut waiting = |holder: &Holder| waiting(&holder.to_string());
        Ok(Box::new(ServerLock::take(
            &reachable,
            shared,
            schemas,
            stop,
            &mut waiting,
        )?))
    }

    fn fit(&self, settings: &[(String, String)], stop: &StopFlag) -> Result<Mapped, TargetError> {
        Ok(plan_for_server(&mut *self.connect_to_ask(stop)?, settings)?)
    }

    fn check_connections(
        &self,
        clients: usize,
        settings: &[(String, String)],
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        if settings.iter().any(|(name, _)| name == MAX_CONNECTIONS) {
            return Ok(());
        }
        Ok(check_connections(&mut *self.connect_to_ask(stop)?, clients)??)
    }

    fn other_locale(&self, wanted: &str, stop: &StopFlag) -> Result<Option<String>, TargetError> {
        let found = server_facts(&mut *self.connect_to_ask(stop)?)?.locale;
        Ok((!found.is(wanted)).then(|| found.to_string()))
    }

    fn check_data(&self, data: &Data, stop: &StopFlag) -> Result<(), TargetError> {
        data::schema::check(&mut *self.connect_to_ask(stop)?, data)
    }

    fn plan_change(
        &self,
        settings: &[(String, String)],
        restart_command: Option<&str>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Change>, TargetError> {
        Ok(Box::new(settings::Change::plan(self, settings, restart_command, stop)?))
    }

    fn restore(&self, saved: &Saved, restart_command: Option<&str>) -> Result<Restored, TargetError> {
        Ok(settings::restore(self, saved, restart_command)?)
    }

    fn prepare(
        &self,
        wanted: Wanted<'_>,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Box<dyn Database>, TargetError> {
        let database = data::schema::prepare(self, wanted, notes, progress, stop)?;
        Ok(Box::new(database))
    }

    fn unlink(&self, experiment: &str, stop: &StopFlag) -> Result<(), TargetError> {
        let schema = data::schema_of(experiment);
        Ok(foreign::unlink(&mut *self.connect_to_ask(stop)?, &schema)?)
    }

    fn own_data(&self, stop: &StopFlag) -> Result<Vec<OwnData>, TargetError> {
        own_data::list(self, stop)
    }

    fn remove(&self, name: &str, notes: &mut Vec<String>, stop: &StopFlag) -> Result<Option<String>, TargetError> {
        own_data::remove(self, name, notes, stop)
    }
}

impl Change for settings::Change {
    fn unset(&self) -> &[Unset] {
        settings::Change::unset(self)
    }

    fn changes(&self) -> bool {
        settings::Change::changes(self)
    }

    fn saved(&self) -> &Saved {
        settings::Change::saved(self)
    }

    fn apply(self: Box<Self>) -> Result<Applied, TargetError> {
        let applied = settings::Change::apply(*self)?;
        Ok(Applied {
            server: Arc::new(applied.info),
            unset: applied.unset,
        })
    }
}

impl Lock for ServerLock {
    fn is_held(&self) -> bool {
        ServerLock::is_held(self)
    }

    fn ensure(&self, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<(), TargetError> {
        let mut waiting = |holder: &Holder| waiting(&holder.to_string());
        Ok(ServerLock::ensure(self, stop, &mut waiting)?)
    }

    fn sharers(&self) -> Vec<String> {
        ServerLock::sharers(self).iter().map(Holder::to_string).collect()
    }
}
