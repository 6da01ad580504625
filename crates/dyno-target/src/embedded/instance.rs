//! The private server of a campaign: up with the settings that the next run wants.

use super::cluster::{Embedded, role_of};
use super::place::Place;
use super::replica::{ReplicaError, Replicates};
use super::server::Server;
use super::{EmbeddedError, tell};
use crate::host::{ProcessStat, SizeError, drop_pages, host_facts, resolve_size};
use crate::target::{
    Armed, Database, Instance, KillSwitch, Mapped, Needs, Progress, Route, StopFlag, TargetError, Wanted,
};
use std::any::Any;
use std::fs;
use std::path::Path;
use std::time::Duration;

/// The state of a process that somebody has stopped (`proc_pid_stat(5)`).
const STOPPED: char = 'T';

/// What each database does in its own way for a campaign that holds its private server.
pub(crate) trait Measured: Replicates {
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

    /// Copies the data folder of a server to `fresh`, for the replica that has `place`, unless `stop` is raised.
    fn copy(
        primary: &mut Held<Self>,
        place: &Place,
        fresh: &Path,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Self::Copied, TargetError>
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
    pub(super) settings: Vec<(String, String)>,
    /// What dyno adds to them, so that it can follow another server or be followed.
    pub(super) own: Vec<(String, String)>,
    /// Of the data that was prepared last.
    pub(super) prepared: P::Prepared,
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
            own: Vec::new(),
            prepared: P::Prepared::default(),
        }
    }

    /// Stops the server if it is up, and starts it with the same settings.
    pub fn restart(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        self.stop(progress);
        self.start(progress)
    }

    /// The name of its cluster.
    pub(super) fn name(&self) -> String {
        self.embedded.name()
    }

    /// The release of its programs.
    pub(super) fn release(&self) -> &str {
        self.embedded.version()
    }

    pub(super) fn place(&self) -> &Place {
        self.embedded.place()
    }

    /// The same while no server is up.
    pub(super) fn place_at_rest(&mut self) -> Result<&mut Place, TargetError> {
        Ok(self.embedded.at_rest()?.1)
    }

    pub(super) fn is_up(&self) -> bool {
        self.server.as_ref().is_some_and(|server| !server.has_exited())
    }

    /// Those of the experiment and, where it leaves them open, dyno's own.
    fn all_settings(&self) -> Vec<(String, String)> {
        self.settings.iter().chain(&self.own).cloned().collect()
    }

    /// Makes a replica a server of its own again, without data.
    fn renew(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        self.stop(progress);
        let (programs, place) = self.embedded.at_rest()?;
        // It is gone when it is looked for, so that nothing half done is found.
        place.replace(&P::beside(&place.data), |_, fresh| {
            fs::create_dir(fresh).map_err(EmbeddedError::file("create", fresh))
        })?;
        fs::remove_dir(&place.data).map_err(EmbeddedError::file("remove", &place.data))?;
        Ok(programs.initialise(place, &mut |event| tell(progress, &event))?)
    }

    pub(crate) fn start(&mut self, progress: &mut dyn Progress) -> Result<(), TargetError> {
        if !self.place().is_replica() && !P::keeps_record(&self.all_settings()) {
            self.place().unmark_followed();
            P::forget_record(self.place());
        }
        let server = self
            .embedded
            .start(&self.all_settings(), &mut |event| tell(progress, &event))?;
        let handle = server.handle();
        self.armed = Some(self.switch.arm(move || handle.stop_now()));
        self.server = Some(server);
        let role = role_of(&self.name());
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
        let own = if needs.followed {
            P::followed(&wanted.settings)
        } else {
            Vec::new()
        };
        let is_replica = self.place().is_replica();
        let does = self.settings == wanted.settings && self.own == own && !anew && !is_replica;
        if does && self.is_up() {
            return Ok(());
        }
        if is_replica {
            self.renew(progress)?;
        }
        (self.settings, self.own) = (wanted.settings, own);
        self.restart(progress)
    }

    fn bring_replica(
        &mut self,
        primary: &mut dyn Instance,
        needs: Needs<'_>,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        let primary: &mut dyn Any = primary;
        let primary = primary.downcast_mut::<Self>().ok_or(ReplicaError::Unlike)?;
        let wanted = fit::<P>(needs, self.release())?;
        notes.extend(wanted.notes);
        self.bring_as_replica(primary, wanted.settings, progress, stop)
    }

    fn await_caught_up(
        &mut self,
        primary: &mut dyn Instance,
        limit: Duration,
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        let primary: &dyn Any = primary;
        let primary = primary.downcast_ref::<Self>().ok_or(ReplicaError::Unlike)?;
        self.await_position(primary, limit, stop)
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

    fn post_mortem(&self, patience: Duration) -> Option<String> {
        let server = self.server.as_ref()?;
        if !server.has_exited() {
            std::thread::sleep(patience);
        }
        server.has_exited().then(|| {
            format!(
                "the server ended during the measurement; its log is {}",
                server.log_path().display()
            )
        })
    }

    fn lapse(&self, stop: &StopFlag) -> Option<String> {
        let server = self.server.as_ref()?;
        if server.has_exited() {
            return self.post_mortem(Duration::ZERO);
        }
        if ProcessStat::read(server.pid()).is_some_and(|process| process.state == STOPPED) {
            let log = server.log_path().display();
            return Some(format!(
                "the server was stopped by a signal and stands still; its log is {log}"
            ));
        }
        self.place().is_replica().then(|| self.why_strayed(stop))?
    }

    fn clear(&mut self) -> Result<(), TargetError> {
        // What a replica has is its primary's.
        match self.place().is_replica() {
            true => Ok(()),
            false => P::clear(self),
        }
    }

    fn stop(&mut self, progress: &mut dyn Progress) {
        if let Some(server) = self.server.take() {
            if !server.has_exited() {
                progress.step(&format!("Stopping {}", P::PRODUCT.name));
            }
            if let Some(why) = server.stop() {
                progress.note(&format!(
                    "The {} {} was ended at once, so its next start recovers: {why}; its log is {}.",
                    P::PRODUCT.name,
                    self.name(),
                    self.place().log.display()
                ));
            }
            self.armed = None;
        }
    }
}
