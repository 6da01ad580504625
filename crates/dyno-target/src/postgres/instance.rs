//! The private PostgreSQL of a campaign.

use super::Client;
use super::data::template;
use super::database::PostgresDatabase;
use super::embedded::{self, EmbeddedOptions, Installation, POSTGRESQL, Server};
use super::scope::Scope;
use super::settings::{plan_for, with_connections};
use crate::embedded::cluster::role_of;
use crate::embedded::instance::{Held, Measured, fit};
use crate::embedded::place::Place;
use crate::embedded::{check_name, tell};
use crate::target::{
    Database, EMBEDDED, Embedded, Instance, KillSwitch, Mapped, Needs, Progress, Route, StopFlag, TargetError, Wanted,
};
use std::fmt;
use std::path::Path;

/// A cluster that is held for a campaign.
pub(super) type PostgresInstance = Held<Installation>;

impl fmt::Display for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{EMBEDDED}:{}{}", self.version, role_of(&self.cluster))
    }
}

impl Embedded for EmbeddedOptions {
    fn rehearse(&self, needs: Needs<'_>) -> Result<(), TargetError> {
        // Which release an installed server is shows when it is looked for.
        if let Some(release) = self.release()? {
            fit::<Installation>(needs, release)?;
        }
        Ok(())
    }

    fn look(&self) -> Result<String, TargetError> {
        Ok(EmbeddedOptions::look(self)?)
    }

    fn release(&self) -> (&'static str, Option<&str>) {
        (POSTGRESQL.name, EmbeddedOptions::release(self).ok().flatten())
    }

    fn in_role(&self, role: &str) -> Result<Box<dyn Embedded>, TargetError> {
        check_name("name of a server's role", role)?;
        let mut options = self.clone();
        role.clone_into(&mut options.cluster);
        Ok(Box::new(options))
    }

    fn hold(&self, switch: &KillSwitch, progress: &mut dyn Progress) -> Result<Box<dyn Instance>, TargetError> {
        let embedded = embedded::Embedded::prepare(self, &mut |event| tell(progress, &event))?;
        Ok(Box::new(PostgresInstance::new(embedded, switch)))
    }
}

impl Measured for Installation {
    /// Nothing: each run gets a copy.
    type Prepared = ();

    fn fit(settings: Vec<(String, String)>, clients: usize, release: &str) -> Result<Mapped, TargetError> {
        let mut mapped = plan_for(&settings, version_number(release))?;
        with_connections(&mut mapped.settings, clients)?;
        Ok(mapped)
    }

    fn prepare(
        held: &mut PostgresInstance,
        wanted: Wanted<'_>,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        template::prepare(held, wanted, anew, notes, progress, stop)
    }

    fn database(server: &Server, _prepared: &(), route: Option<Route>) -> Box<dyn Database> {
        let info = match route {
            Some(Route::Tcp) => server.connection_tcp(template::WORKING),
            Some(Route::Unix) | None => server.connection(template::WORKING),
        };
        let database = PostgresDatabase::new(info, Scope::Database);
        Box::new(database.on_own_server(server.data_folder(), server.log_path()))
    }

    fn copy(
        primary: &mut PostgresInstance,
        place: &Place,
        fresh: &Path,
        _progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Client, TargetError> {
        embedded::copy(primary.server()?, place, fresh, stop)
    }

    fn clear(held: &PostgresInstance) -> Result<(), TargetError> {
        template::drop_working(held)
    }
}

/// A release as the server numbers it: 18.6.0 is 180006, 9.6.24 is 90624. What is left out counts as 0.
fn version_number(release: &str) -> u32 {
    let mut parts = release.split('.').map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0_u32).min(9_999);
    match (next(), next(), next()) {
        (major @ 10.., minor, _) => major * 10_000 + minor,
        (major, minor, patch) => major * 10_000 + minor * 100 + patch,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_releases_as_the_server_does() {
        for (release, number) in [
            ("18.6.0", 180_006),
            ("9.6.24", 90_624),
            ("16", 160_000),
            ("9.6", 90_600),
            ("", 0),
        ] {
            assert_eq!(version_number(release), number, "{release}");
        }
    }
}
