//! The private MariaDB of a campaign.

use super::data::{self, Used, WORKING};
use super::database::MysqlDatabase;
use super::embedded::{self, EmbeddedOptions, Installation, Server};
use super::{Scope, connect_until, connections};
use crate::embedded::instance::{Held, Measured, fit};
use crate::embedded::tell;
use crate::target::{
    Database, EMBEDDED, Embedded, Instance, KillSwitch, Mapped, Needs, Progress, Route, StopFlag, TargetError, Wanted,
};
use std::fmt;

impl fmt::Display for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{EMBEDDED}:mariadb:{}", self.version)
    }
}

impl Embedded for EmbeddedOptions {
    fn rehearse(&self, needs: Needs<'_>) -> Result<(), TargetError> {
        self.check()?;
        fit::<Installation>(needs, &self.version).map(drop)
    }

    fn hold(&self, switch: &KillSwitch, progress: &mut dyn Progress) -> Result<Box<dyn Instance>, TargetError> {
        let embedded = embedded::Embedded::prepare(self, &mut |event| tell(progress, &event))?;
        Ok(Box::new(Held::new(embedded, switch)))
    }
}

impl Measured for Installation {
    /// How to mark the data before a load that may change it begins.
    type Prepared = Option<Used>;

    fn fit(settings: Vec<(String, String)>, clients: usize, _release: &str) -> Result<Mapped, TargetError> {
        let settings = settings.into_iter().map(|(name, value)| (name, bytes(&value)));
        let mut settings: Vec<_> = settings.collect();
        connections::provide(&mut settings, clients)?;
        Ok(Mapped {
            settings,
            notes: Vec::new(),
        })
    }

    fn prepare(
        held: &mut Held<Self>,
        wanted: Wanted<'_>,
        _anew: bool,
        _notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Option<Used>, TargetError> {
        let mut client = connect_until(&held.server()?.connection(""), stop)?;
        Ok(data::prepare(&mut client, wanted, stop, progress)?)
    }

    fn database(server: &Server, used: &Option<Used>, route: Option<Route>) -> Box<dyn Database> {
        let info = match route {
            Some(Route::Tcp) => server.connection_tcp(WORKING),
            Some(Route::Unix) | None => server.connection(WORKING),
        };
        let database = MysqlDatabase::new(info, Scope::Database).on_own_server(server.data_folder());
        Box::new(database.marked(used.clone()))
    }

    fn clear(_held: &Held<Self>) -> Result<(), TargetError> {
        // Data that a later run may use as it is stays; what workloads have changed is replaced before it is used.
        Ok(())
    }
}

/// A size as MariaDB reads it: `8GB` is `8G` there. What is no size stays as it is.
fn bytes(value: &str) -> String {
    let units = ["kB", "KB", "MB", "GB", "TB"];
    let unit = units.iter().find_map(|unit| Some((value.strip_suffix(unit)?, unit)));
    match unit {
        Some((number, unit)) if number.trim().bytes().all(|digit| digit.is_ascii_digit()) && !number.is_empty() => {
            format!("{}{}", number.trim(), unit[..1].to_ascii_uppercase())
        }
        _ => value.to_owned(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_written_as_the_server_reads_them() {
        for (given, read) in [
            ("8GB", "8G"),
            ("128kB", "128K"),
            ("64 MB", "64M"),
            ("on", "on"),
            ("4G", "4G"),
            ("GB", "GB"),
        ] {
            assert_eq!(bytes(given), read);
        }
    }
}
