//! The private MariaDB of a campaign: up with the settings that the next run wants.

use super::connect_until;
use super::data::{self, WORKING};
use super::database::MysqlDatabase;
use super::embedded::{self, EmbeddedOptions, Server};
use crate::embedded::tell;
use crate::host::{SizeError, drop_pages, host_facts, resolve_size};
use crate::target::{
    Database, EMBEDDED, Embedded, Instance, KillSwitch, Needs, Progress, Route, StopFlag, TargetError, Wanted,
};
use std::fmt;
use std::time::Duration;

/// How long the process of a server takes to end after its connections.
const ENDING: Duration = Duration::from_millis(200);

/// The setting that bounds connections.
const MAX_CONNECTIONS: &str = "max_connections";

/// Connections that are there beside those of the load: for the samplers and for what is asked before and after.
const BESIDE: usize = 10;

/// What the server allows unless told otherwise (MariaDB, "Server System Variables").
const USUAL_CONNECTIONS: usize = 151;

/// A cluster that is held for a campaign.
struct MariadbInstance {
    // Dropped in this order: first the server stops, then the cluster is free.
    server: Option<Server>,
    embedded: embedded::Embedded,
    switch: KillSwitch,
    /// What the server is started with.
    settings: Vec<(String, String)>,
}

/// There is no server that could be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the embedded server: it is not running")]
struct NotRunning;

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
        fit(needs).map(drop)
    }

    fn hold(&self, switch: &KillSwitch, progress: &mut dyn Progress) -> Result<Box<dyn Instance>, TargetError> {
        Ok(Box::new(MariadbInstance {
            server: None,
            embedded: embedded::Embedded::prepare(self, &mut |event| tell(progress, &event))?,
            switch: switch.clone(),
            settings: Vec::new(),
        }))
    }
}

/// The settings with absolute sizes, and with connections enough for the load.
fn fit(needs: Needs<'_>) -> Result<Vec<(String, String)>, TargetError> {
    let capacity = host_facts(None).capacity();
    let settings = needs.settings.iter();
    let mut settings: Vec<_> = settings
        .map(|(name, value)| Ok((name.clone(), bytes(&resolve_size(value, capacity)?))))
        .collect::<Result<_, SizeError>>()?;
    let needed = needs.clients + BESIDE;
    match settings.iter().find(|(name, _)| name == MAX_CONNECTIONS) {
        Some((_, value)) => {
            if let Some(allowed) = value.parse().ok().filter(|allowed| *allowed < needed) {
                return Err(TargetError::other(TooFewConnections {
                    allowed,
                    clients: needs.clients,
                }));
            }
        }
        None if needed > USUAL_CONNECTIONS => settings.push((MAX_CONNECTIONS.to_owned(), needed.to_string())),
        None => {}
    }
    Ok(settings)
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

impl MariadbInstance {
    fn start(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        let server = self
            .embedded
            .start(&self.settings, &mut |event| tell(progress, &event))?;
        let handle = server.handle();
        self.switch.arm(move || handle.stop_now());
        self.server = Some(server);
        progress.step(&format!("MariaDB {} is running", self.embedded.version()));
        Ok(())
    }

    fn server(&self) -> Result<&Server, TargetError> {
        self.server.as_ref().ok_or_else(|| TargetError::other(NotRunning))
    }
}

impl Instance for MariadbInstance {
    fn bring(
        &mut self,
        needs: Needs<'_>,
        anew: bool,
        _notes: &mut Vec<String>,
        progress: &mut dyn Progress,
    ) -> Result<(), TargetError> {
        let wanted = fit(needs)?;
        let does = self.settings == wanted && !anew;
        let up = self.server.as_ref().is_some_and(|server| !server.has_exited());
        if does && up {
            return Ok(());
        }
        self.settings = wanted;
        self.stop(progress);
        self.start(progress)
    }

    fn prepare(
        &mut self,
        wanted: Wanted<'_>,
        _anew: bool,
        _notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        let mut client = connect_until(&self.server()?.connection(""), stop)?;
        Ok(data::prepare(&mut client, wanted.data, stop, progress)?)
    }

    fn restart_cold(&mut self, progress: &mut dyn Progress) -> Result<String, TargetError> {
        self.stop(progress);
        progress.step("Emptying the page cache");
        let dropped = drop_pages(self.embedded.data_folder())?;
        self.start(progress)?;
        Ok(dropped.to_string())
    }

    fn database(&self, route: Option<Route>) -> Result<Box<dyn Database>, TargetError> {
        let server = self.server()?;
        let info = match route {
            Some(Route::Tcp) => server.connection_tcp(WORKING),
            Some(Route::Unix) | None => server.connection(WORKING),
        };
        Ok(Box::new(
            MysqlDatabase::new(info).on_own_server(self.embedded.data_folder()),
        ))
    }

    fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    fn post_mortem(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        std::thread::sleep(ENDING);
        server.has_exited().then(|| {
            format!(
                "the server ended during the measurement; its log is {}",
                server.log_path().display()
            )
        })
    }

    fn clear(&mut self) -> Result<(), TargetError> {
        // Data that a later run may use as it is stays; what workloads have changed is replaced before it is used.
        Ok(())
    }

    fn stop(&mut self, progress: &mut dyn Progress) {
        if let Some(server) = self.server.take() {
            if !server.has_exited() {
                progress.step("Stopping MariaDB");
            }
            server.stop();
            self.switch.disarm();
        }
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
        let fitted = |settings: &[(String, String)], clients| fit(Needs { settings, clients });
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
