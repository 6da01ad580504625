//! A MariaDB or MySQL server that is not dyno's own: it is reserved, set as far as it may be, and put back.

use super::address::ConnectionInfo;
use super::data::{self, WORKING};
use super::database::{MysqlDatabase, route};
use super::error::cannot;
use super::examine::examine;
use super::executed::executed;
use super::lock::ServerLock;
use super::settings::{self, GlobalChange};
use super::variables::Variables;
use super::{Scope, connect_until, connections, foreign, own_data, persisted, reachable_until};
use crate::target::{
    Change, Data, Database, Executed, External, Lock, Mapped, OwnData, Progress, Restored, Route, Saved, StopFlag,
    TargetError, Wanted,
};
use dyno_record::Finding;
use std::sync::Arc;
use std::time::Duration;

/// What can be asked of other servers only.
#[derive(Debug, thiserror::Error)]
enum NotYet {
    #[error(
        "--share-server is for PostgreSQL only so far: on MariaDB and MySQL one campaign waits for the other; leave it \
         out for {server}"
    )]
    Sharing { server: String },
    #[error(
        "--restart-command is not for MariaDB, which keeps no settings for its next start (set persist is MySQL's); \
         leave it out for {server}, and set in its option file what takes effect when it starts"
    )]
    Restarting { server: String },
    #[error(
        "--restart-command changes nothing about {server}, which ignores what it keeps (persisted_globals_load = OFF); \
         leave it out, and set in its option file what takes effect when it starts"
    )]
    NotLoading { server: String },
}

impl External for ConnectionInfo {
    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn routes(&self) -> Vec<Route> {
        self.hosts().map(route).collect()
    }

    fn is_local(&self) -> bool {
        ConnectionInfo::is_local(self)
    }

    fn check_terms(&self, shared: bool, restart_command: Option<&str>, stop: &StopFlag) -> Result<(), TargetError> {
        let server = self.to_string();
        if shared {
            return Err(TargetError::other(NotYet::Sharing { server }));
        }
        if restart_command.is_some() {
            let variables = Variables::read(&mut connect_until(self, stop)?);
            let variables = variables.map_err(cannot("read the server's settings"))?;
            if !persisted::exists(&variables) {
                return Err(TargetError::other(NotYet::Restarting { server }));
            }
            if !persisted::keeps(&variables) {
                return Err(TargetError::other(NotYet::NotLoading { server }));
            }
        }
        Ok(())
    }

    fn first_reachable(&self, stop: &StopFlag) -> Result<Arc<dyn External>, TargetError> {
        Ok(Arc::new(reachable_until(self, stop)?))
    }

    fn examine(&self, clients: Option<usize>, stop: &StopFlag) -> Vec<Finding> {
        examine(self, clients, stop)
    }

    fn executed(&self, lasts: Duration, stop: &StopFlag) -> Result<Executed, TargetError> {
        executed(self, lasts, stop)
    }

    fn identity(&self, stop: &StopFlag) -> Option<String> {
        let mut client = connect_until(self, stop).ok()?;
        // MySQL has an identifier of its own; MariaDB has where it runs.
        let known: Option<String> = client.query_first("select @@server_uuid").ok().flatten();
        known.or_else(|| {
            client
                .query_first("select concat(@@hostname, ':', @@port, ':', @@datadir)")
                .ok()
                .flatten()
        })
    }

    fn former_identity(&self, identity: &str) -> Option<String> {
        // Without the port, by which servers in containers differ that share the rest.
        let (host, rest) = identity.split_once(':')?;
        let (_, data_folder) = rest.split_once(':')?;
        Some(format!("{host}:{data_folder}"))
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
        if let Some(wanted) = connections::wanted(settings) {
            return connections::check(wanted, clients, "raise it, or leave it out");
        }
        let allowed = connect_until(self, stop)?.query_first::<u64>("select @@max_connections");
        let allowed = allowed.map_err(cannot("read max_connections"))?;
        allowed.map_or(Ok(()), |allowed| {
            connections::check(allowed, clients, "raise it on the server")
        })
    }

    fn other_locale(&self, _wanted: &str, _stop: &StopFlag) -> Result<Option<String>, TargetError> {
        // What PostgreSQL calls a locale is a collation of each column here: data that asks for one is refused.
        Ok(None)
    }

    fn check_data(&self, data: &Data, stop: &StopFlag) -> Result<(), TargetError> {
        data::check(data)?;
        if data.is_some() {
            let mut client = connect_until(self, stop)?;
            data::check_on(&mut client, data)?;
            // No campaign has begun yet.
            let wanted = Wanted {
                data,
                all: &[],
                campaign: "",
            };
            foreign::check(&mut client, wanted)?;
        }
        Ok(())
    }

    fn plan_change(
        &self,
        settings: &[(String, String)],
        restart_command: Option<&str>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Change>, TargetError> {
        Ok(Box::new(GlobalChange::plan(self, settings, restart_command, stop)?))
    }

    fn restore(&self, saved: &Saved, restart_command: Option<&str>) -> Result<Restored, TargetError> {
        settings::restore(self, saved, restart_command)
    }

    fn prepare(
        &self,
        wanted: Wanted<'_>,
        _notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Box<dyn Database>, TargetError> {
        if !wanted.data.is_some() {
            return Ok(Box::new(MysqlDatabase::new(self.clone(), Scope::Nothing)));
        }
        let mut client = connect_until(self, stop)?;
        foreign::check(&mut client, wanted)?;
        let prepared = data::prepare(&mut client, wanted, stop, progress)?;
        let database = MysqlDatabase::new(self.with_database(WORKING), Scope::Database);
        Ok(Box::new(database.given_as(self).marked(prepared.used)))
    }

    fn own_data(&self, stop: &StopFlag) -> Result<Vec<OwnData>, TargetError> {
        own_data::list(self, stop)
    }

    fn remove(&self, _name: &str, _notes: &mut Vec<String>, stop: &StopFlag) -> Result<Option<String>, TargetError> {
        // There is one of it.
        own_data::remove(self, stop)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_earlier_dynos_called_a_server_is_known() {
        let info = ConnectionInfo::resolve("mysql://ann@h/d", &|_| None).expect("an address");
        let former = |identity: &str| info.former_identity(identity);
        assert_eq!(former("vm:3306:/var/lib/mysql/"), Some("vm:/var/lib/mysql/".to_owned()));
        // MySQL's own identifier was the same.
        assert_eq!(former("3e11fa47-71ca-11e1-9e33-c80aa9429562"), None);
    }
}
