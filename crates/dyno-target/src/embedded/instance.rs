//! The private server of a campaign: up with the settings that the next run wants.

use super::cluster::{Embedded, Programs};
use super::server::Server;
use super::tell;
use crate::host::{SizeError, drop_pages, host_facts, resolve_size};
use crate::target::{
    Armed, Database, Instance, KillSwitch, Mapped, Needs, Progress, Route, StopFlag, TargetError, Wanted,
};
use std::time::Duration;

/// How long the processes of a server take to end after its connections.
const ENDING: Duration = Duration::from_millis(200);

/// What each database does in its own way for a campaign that holds its private server.
pub(crate) trait Measured: Programs {
    /// What is to be known of data that was prepared.
    type Prepared: Default + Send;

    /// The settings for a server of this release, whose sizes are absolute by now, with connections enough for the
    /// load.
    fn fit(settings: Vec<(String, String)>, clients: usize, release: &str) -> Result<Mapped, TargetError>;

    /// As [`Instance::prepare`].
    fn prepare(
        held: &mut Held<Self>,
        wanted: Wanted<'_>,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Self::Prepared, TargetError>
    where
        Self: Sized;

    /// The database that the run works on, with what is known of its data.
    fn database(server: &Server<Self>, prepared: &Self::Prepared, route: Option<Route>) -> Box<dyn Database>
    where
        Self: Sized;

    /// As [`Instance::clear`].
    fn clear(held: &Held<Self>) -> Result<(), TargetError>
    where
        Self: Sized;
}

/// A cluster that is held for a campaign.
pub(crate) struct Held<P: Measured> {
    // Dropped in this order: first the server stops, which the switch may hurry, then the cluster is free.
    server: Option<Server<P>>,
    armed: Option<Armed>,
    embedded: Embedded<P>,
    switch: KillSwitch,
    /// What the server is started with.
    settings: Vec<(String, String)>,
    /// Of the data that was prepared last.
    prepared: P::Prepared,
}

/// There is no server that could be used.
#[derive(Debug, thiserror::Error)]
#[error("cannot use the embedded server: it is not running")]
struct NotRunning;

/// What the experiment needs, for a server of this release.
pub(crate) fn fit<P: Measured>(needs: Needs<'_>, release: &str) -> Result<Mapped, TargetError> {
    let capacity = host_facts(None).capacity();
    let settings = needs.settings.iter();
    let settings = settings
        .map(|(name, value)| Ok((name.clone(), resolve_size(value, capacity)?)))
        .collect::<Result<_, SizeError>>()?;
    P::fit(settings, needs.clients, release)
}

impl<P: Measured> Held<P> {
    /// Not started yet.
    pub fn new(embedded: Embedded<P>, switch: &KillSwitch) -> Self {
        Self {
            server: None,
            armed: None,
            embedded,
            switch: switch.clone(),
            settings: Vec::new(),
            prepared: P::Prepared::default(),
        }
    }

    /// Stops the server if it is up, and starts it with the same settings.
    pub fn restart(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        self.stop(progress);
        self.start(progress)
    }

    fn start(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        let server = self
            .embedded
            .start(&self.settings, &mut |event| tell(progress, &event))?;
        let handle = server.handle();
        self.armed = Some(self.switch.arm(move || handle.stop_now()));
        self.server = Some(server);
        let role = self.embedded.role();
        progress.step(&format!(
            "{} {} is running{role}",
            P::PRODUCT.name,
            self.embedded.version()
        ));
        Ok(())
    }

    /// The running server.
    pub fn server(&self) -> Result<&Server<P>, TargetError> {
        self.server.as_ref().ok_or_else(|| TargetError::other(NotRunning))
    }
}

impl<P: Measured> Instance for Held<P> {
    fn bring(
        &mut self,
        needs: Needs<'_>,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
    ) -> Result<(), TargetError> {
        let wanted = fit::<P>(needs, self.embedded.version())?;
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
        self.prepared = P::prepare(self, wanted, anew, notes, progress, stop)?;
        Ok(())
    }

    fn restart_cold(&mut self, progress: &mut dyn Progress) -> Result<String, TargetError> {
        self.stop(progress);
        progress.step("Emptying the page cache");
        let dropped = drop_pages(self.embedded.data_folder())?;
        self.start(progress)?;
        Ok(dropped.to_string())
    }

    fn database(&self, route: Option<Route>) -> Result<Box<dyn Database>, TargetError> {
        Ok(P::database(self.server()?, &self.prepared, route))
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
        P::clear(self)
    }

    fn stop(&mut self, progress: &mut dyn Progress) {
        if let Some(server) = self.server.take() {
            if !server.has_exited() {
                progress.step(&format!("Stopping {}", P::PRODUCT.name));
            }
            server.stop();
            self.armed = None;
        }
    }
}
