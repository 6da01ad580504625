//! The private MariaDB of a campaign.

use super::connect_until;
use super::data::{self, WORKING};
use super::database::MysqlDatabase;
use super::embedded::{self, EmbeddedOptions, Installation, Server};
use crate::embedded::instance::{Held, Measured, fit};
use crate::embedded::tell;
use crate::target::{
    Database, EMBEDDED, Embedded, Instance, KillSwitch, Mapped, Needs, Progress, Route, StopFlag, TargetError, Wanted,
};
use std::fmt;

/// The setting that bounds connections.
const MAX_CONNECTIONS: &str = "max_connections";

/// Connections that are there beside those of the load: for the samplers and for what is asked before and after.
const BESIDE: usize = 10;

/// What the server allows unless told otherwise (MariaDB, "Server System Variables").
const USUAL_CONNECTIONS: usize = 151;

/// The experiment's own limit is too low for its load.
#[derive(Debug, thiserror::Error)]
#[error(
    "max_connections is {allowed}, too few for {clients} clients and {BESIDE} connections beside them; raise it, or \
     leave it out"
)]
struct TooFewConnections {
    allowed: usize,
    clients: usize,
}

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
    fn fit(settings: Vec<(String, String)>, clients: usize, _release: &str) -> Result<Mapped, TargetError> {
        let settings = settings.into_iter().map(|(name, value)| (name, bytes(&value)));
        let mut settings: Vec<_> = settings.collect();
        let needed = clients + BESIDE;
        match settings.iter().find(|(name, _)| name == MAX_CONNECTIONS) {
            Some((_, value)) => {
                if let Some(allowed) = value.parse().ok().filter(|allowed| *allowed < needed) {
                    return Err(TargetError::other(TooFewConnections { allowed, clients }));
                }
            }
            None if needed > USUAL_CONNECTIONS => settings.push((MAX_CONNECTIONS.to_owned(), needed.to_string())),
            None => {}
        }
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
    ) -> Result<(), TargetError> {
        let mut client = connect_until(&held.server()?.connection(""), stop)?;
        Ok(data::prepare(&mut client, wanted.data, stop, progress)?)
    }

    fn database(server: &Server, route: Option<Route>) -> Box<dyn Database> {
        let info = match route {
            Some(Route::Tcp) => server.connection_tcp(WORKING),
            Some(Route::Unix) | None => server.connection(WORKING),
        };
        Box::new(MysqlDatabase::new(info).on_own_server(server.data_folder()))
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

    #[test]
    fn a_load_gets_the_connections_that_it_needs() {
        let fitted = |settings: &[(String, String)], clients| {
            let fitted = Installation::fit(settings.to_vec(), clients, "11.4.5");
            fitted.map(|mapped| mapped.settings)
        };
        assert_eq!(fitted(&[], 8).unwrap(), []);
        assert_eq!(
            fitted(&[], 300).unwrap(),
            [(MAX_CONNECTIONS.to_owned(), "310".to_owned())]
        );
        let low = [(MAX_CONNECTIONS.to_owned(), "50".to_owned())];
        let error = fitted(&low, 64).unwrap_err().to_string();
        assert!(
            error.contains("max_connections is 50") && error.contains("64 clients"),
            "{error}"
        );
    }
}
