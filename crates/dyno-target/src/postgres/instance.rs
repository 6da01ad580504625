//! The embedded server of a campaign: up with the settings that the next run wants.

use super::data::template;
use super::database::PostgresDatabase;
use super::embedded::{self, EmbeddedOptions, Server};
use super::scope::Scope;
use super::settings::{plan_for, with_connections};
use crate::embedded::tell;
use crate::host::{SizeError, drop_pages, host_facts, resolve_size};
use crate::target::{
    Database, EMBEDDED, Embedded, Instance, KillSwitch, Mapped, Needs, Progress, Route, StopFlag, TargetError, Wanted,
};
use std::fmt;
use std::path::Path;
use std::time::Duration;

/// How long the processes of a server take to end after its connections.
const ENDING: Duration = Duration::from_millis(200);

/// A cluster that is held for a campaign.
pub(super) struct PostgresInstance {
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

impl fmt::Display for EmbeddedOptions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{EMBEDDED}:{}", self.version)
    }
}

impl Embedded for EmbeddedOptions {
    fn rehearse(&self, needs: Needs<'_>) -> Result<(), TargetError> {
        // Which release an installed server is shows when it is looked for.
        if let Some(release) = self.release()? {
            fit(needs, release)?;
        }
        Ok(())
    }

    fn hold(&self, switch: &KillSwitch, progress: &mut dyn Progress) -> Result<Box<dyn Instance>, TargetError> {
        Ok(Box::new(PostgresInstance {
            server: None,
            embedded: embedded::Embedded::prepare(self, &mut |event| tell(progress, &event))?,
            switch: switch.clone(),
            settings: Vec::new(),
        }))
    }
}

/// The settings for a server of `release`, and what had to be translated for it.
fn fit(needs: Needs<'_>, release: &str) -> Result<Mapped, TargetError> {
    let capacity = host_facts(None).capacity();
    let settings = needs.settings.iter();
    let settings: Vec<_> = settings
        .map(|(name, value)| Ok((name.clone(), resolve_size(value, capacity)?)))
        .collect::<Result<_, SizeError>>()?;
    let mut mapped = plan_for(&settings, version_number(release))?;
    with_connections(&mut mapped.settings, needs.clients)?;
    Ok(mapped)
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

impl PostgresInstance {
    /// Stops the server if it is up, and starts it with the same settings.
    pub(super) fn restart(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        self.stop(progress);
        self.start(progress)
    }

    fn start(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        let server = self
            .embedded
            .start(&self.settings, &mut |event| tell(progress, &event))?;
        let handle = server.handle();
        self.switch.arm(move || handle.stop_now());
        self.server = Some(server);
        progress.step(&format!("PostgreSQL {} is running", self.embedded.version()));
        Ok(())
    }

    /// The running server.
    pub(super) fn server(&self) -> Result<&Server, TargetError> {
        self.server.as_ref().ok_or_else(|| TargetError::other(NotRunning))
    }

    /// Where it keeps its data.
    pub(super) fn data_folder(&self) -> &Path {
        self.embedded.data_folder()
    }
}

impl Instance for PostgresInstance {
    fn bring(
        &mut self,
        needs: Needs<'_>,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
    ) -> Result<(), TargetError> {
        let wanted = fit(needs, self.embedded.version())?;
        notes.extend(wanted.notes);
        let does = self.settings == wanted.settings && !anew;
        let up = self.server.as_ref().is_some_and(|server| !server.has_exited());
        if does && up {
            return Ok(());
        }
        self.settings = wanted.settings;
        self.restart(progress)
    }

    fn prepare(
        &mut self,
        wanted: Wanted<'_>,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        template::prepare(self, wanted, anew, notes, progress, stop)
    }

    fn restart_cold(&mut self, progress: &mut dyn Progress) -> Result<String, TargetError> {
        self.stop(progress);
        progress.step("Emptying the page cache");
        let dropped = drop_pages(self.data_folder())?;
        self.start(progress)?;
        Ok(dropped.to_string())
    }

    fn database(&self, route: Option<Route>) -> Result<Box<dyn Database>, TargetError> {
        let server = self.server()?;
        let info = match route {
            Some(Route::Tcp) => server.connection_tcp(template::WORKING),
            Some(Route::Unix) | None => server.connection(template::WORKING),
        };
        let database = PostgresDatabase::new(info, Scope::Database);
        Ok(Box::new(database.on_own_server(self.data_folder(), server.log_path())))
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
        template::drop_working(self)
    }

    fn stop(&mut self, progress: &mut dyn Progress) {
        if let Some(server) = self.server.take() {
            if !server.has_exited() {
                progress.step("Stopping PostgreSQL");
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
