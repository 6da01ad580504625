//! A server that is there already and not dyno's own: it is reserved, set only as far as it may be, and put back.

use super::{
    Data, Database, Executed, Mapped, Progress, Restored, Route, Saved, StopFlag, TargetError, Trial, Unset, Wanted,
};
use dyno_record::{Finding, Topic};
use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, SystemTime};

/// Something that campaigns left on a server for later ones. It can be made again.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnData {
    /// Its name there.
    pub name: String,
    /// What the server calls such a thing.
    pub what: &'static str,
    /// Its tables with their indexes.
    pub bytes: u64,
    /// When it was changed last, if that is known.
    pub changed: Option<SystemTime>,
    /// Whether another dyno uses it now, as far as that can be told. It is not removed then.
    pub in_use: bool,
}

/// A server that is not dyno's own. It is shown by its address, without passwords.
pub trait External: fmt::Display + fmt::Debug + Send + Sync {
    /// What is odd about its address, as sentences.
    fn warnings(&self) -> &[String] {
        &[]
    }

    /// Its address as it is shown, with one name for this machine: two by which the same server is meant are alike.
    fn address(&self) -> String {
        let local = ["@localhost:", "@[::1]:"].into_iter();
        local.fold(self.to_string(), |address, name| address.replace(name, "@127.0.0.1:"))
    }

    /// How clients connect to each of its hosts.
    fn routes(&self) -> Vec<Route>;

    /// Whether the server is on this machine.
    fn is_local(&self) -> bool;

    /// Refuses what cannot be done with a server of this kind: that others share it, or that a shell command restarts
    /// it.
    ///
    /// # Errors
    /// Which of the two, or no connection.
    fn check_terms(&self, _shared: bool, _restart_command: Option<&str>, _stop: &StopFlag) -> Result<(), TargetError> {
        Ok(())
    }

    /// The first of its hosts that takes sessions now.
    ///
    /// # Errors
    /// None does, or `stop` was raised.
    fn first_reachable(&self, stop: &StopFlag) -> Result<Arc<dyn External>, TargetError>;

    /// Looks at everything that decides whether a load can run on the server, and what its results will lack; changes
    /// nothing. The load is to have so many `clients`, if that is known. What goes wrong is a finding, too.
    fn examine(&self, _clients: Option<usize>, stop: &StopFlag) -> Vec<Finding> {
        vec![match self.first_reachable(stop) {
            Ok(server) => Finding::ok(Topic::Server, "server", format!("{server} lets this role in")),
            Err(error) => Finding::problem(Topic::Server, "server", error.to_string()),
        }]
    }

    /// What it executes in the database from now on, for so long or until `stop` is raised: the statements that took
    /// the most time first.
    ///
    /// # Errors
    /// It does not count statements, or does not answer.
    fn executed(&self, _lasts: Duration, _stop: &StopFlag) -> Result<Executed, TargetError> {
        Err(TargetError::other(
            "what this server executes cannot be captured: that is for PostgreSQL, MariaDB and MySQL",
        ))
    }

    /// Whether it can empty its cache while it runs, for data that is to be cold.
    fn empties_cache(&self) -> bool {
        false
    }

    /// Makes sure that it will do so for this role, as far as that can be seen; changes nothing.
    ///
    /// # Errors
    /// What the role lacks, or no connection.
    fn check_empties_cache(&self, _stop: &StopFlag) -> Result<(), TargetError> {
        Ok(())
    }

    /// A trial of what dyno does on servers of this kind; `None`: there is none, as dyno's own tests try real ones.
    fn trial(&self) -> Option<Box<dyn Trial>> {
        None
    }

    /// What tells a server from others, however it is reached and whatever it is called; `None` if it does not say.
    fn identity(&self, stop: &StopFlag) -> Option<String>;

    /// What earlier dynos called the server of this identity, if that was something else. It may be another one's, too.
    fn former_identity(&self, _identity: &str) -> Option<String> {
        None
    }

    /// Reserves the server, and the places of `experiments` that bring data; `shared`: whoever else may share it. As
    /// long as another dyno stands in the way, waits; `waiting` is told once of each that does.
    ///
    /// # Errors
    /// No connection, or `stop` was raised.
    fn lock(
        &self,
        shared: bool,
        experiments: &[String],
        stop: &StopFlag,
        waiting: &mut dyn FnMut(&str),
    ) -> Result<Box<dyn Lock>, TargetError>;

    /// Settings of which sizes are absolute, as this server knows them.
    ///
    /// # Errors
    /// A setting that it does not have, or no connection.
    fn fit(&self, settings: &[(String, String)], stop: &StopFlag) -> Result<Mapped, TargetError>;

    /// Makes sure that the server has connections for a load of this many clients. With `settings` that are to be given
    /// to it and say how many it allows, those count.
    ///
    /// # Errors
    /// It has not, or no connection.
    fn check_connections(
        &self,
        clients: usize,
        settings: &[(String, String)],
        stop: &StopFlag,
    ) -> Result<(), TargetError>;

    /// The locale of its database if that is not the one that is wanted.
    ///
    /// # Errors
    /// No connection.
    fn other_locale(&self, wanted: &str, stop: &StopFlag) -> Result<Option<String>, TargetError>;

    /// Refuses data whose loading would have to destroy something or could not be done, before anything is changed.
    ///
    /// # Errors
    /// It cannot be loaded, or no connection.
    fn check_data(&self, data: &Data, stop: &StopFlag) -> Result<(), TargetError>;

    /// Finds out how each setting can be set by this role, and what is there now. Changes nothing. `restart_command` is
    /// a shell command that restarts the server; without it nothing is touched that would need a restart.
    ///
    /// # Errors
    /// No connection, a setting that this version does not have, or a value that the server refuses.
    fn plan_change(
        &self,
        settings: &[(String, String)],
        restart_command: Option<&str>,
        stop: &StopFlag,
    ) -> Result<Box<dyn Change>, TargetError>;

    /// Puts back what a change found.
    ///
    /// # Errors
    /// The server does not follow, or does not answer.
    fn restore(&self, saved: &Saved, restart_command: Option<&str>) -> Result<Restored, TargetError>;

    /// Brings the experiment's data into its state. What is to be known of that is said in `notes`.
    ///
    /// # Errors
    /// The data cannot be made, or `stop` was raised.
    fn prepare(
        &self,
        wanted: Wanted<'_>,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Box<dyn Database>, TargetError>;

    /// Has a proxy forget the remote of an `experiment`, with its password and the foreign tables.
    ///
    /// # Errors
    /// Others use them, or there is no connection.
    fn unlink(&self, _experiment: &str, _stop: &StopFlag) -> Result<(), TargetError> {
        Ok(())
    }

    /// What campaigns left on the server.
    ///
    /// # Errors
    /// No connection, or this role may not look.
    fn own_data(&self, stop: &StopFlag) -> Result<Vec<OwnData>, TargetError>;

    /// Removes some of it, by its name, unless it is in use; gives by whom then. What stays of what came with it is
    /// said in `notes`.
    ///
    /// # Errors
    /// Something else needs it, no connection, or `stop` was raised.
    fn remove(&self, name: &str, notes: &mut Vec<String>, stop: &StopFlag) -> Result<Option<String>, TargetError>;
}

/// A change of settings that is planned.
pub trait Change {
    /// What the server will not run with, and why.
    fn unset(&self) -> &[Unset];

    /// Whether anything is to be changed, on the server or for connections alone.
    fn changes(&self) -> bool;

    /// What to put back later. Keep it in a file before [`apply`](Self::apply): then it can be put back even after a
    /// crash.
    fn saved(&self) -> &Saved;

    /// Makes the change, and waits until the server runs with it.
    ///
    /// # Errors
    /// The server refuses a value, does not follow, or does not restart. Nothing stays changed then, unless
    /// [`TargetError::is_undone`] denies it.
    fn apply(self: Box<Self>) -> Result<Applied, TargetError>;
}

/// A change that was made.
pub struct Applied {
    /// How to connect so that the settings hold.
    pub server: Arc<dyn External>,
    /// What the server does not run with, and why.
    pub unset: Vec<Unset>,
}

/// A server that is reserved, until this is dropped or the connection is lost.
pub trait Lock: Send + Sync {
    /// Whether it is held.
    fn is_held(&self) -> bool;

    /// Takes it again if it was lost, as after a restart of the server.
    ///
    /// # Errors
    /// No connection, or `stop` was raised.
    fn ensure(&self, stop: &StopFlag, waiting: &mut dyn FnMut(&str)) -> Result<(), TargetError>;

    /// Who else measures on the server at the moment, each in words.
    fn sharers(&self) -> Vec<String>;
}

/// How often a lock is asked whether it is still held.
const WATCH: Duration = Duration::from_millis(500);

/// Keeps an eye on locks while `work` goes on, and raises `ending`, which is to end it, when one of them is lost, or
/// soon after `stop` is raised; from then on nobody looks. Gives back what `work` does, and whether all were held to
/// the end.
pub fn while_held<T>(
    locks: &[&dyn Lock],
    stop: &AtomicBool,
    ending: &AtomicBool,
    work: impl FnOnce() -> T,
) -> (T, bool) {
    let (over, lost) = (AtomicBool::new(false), AtomicBool::new(false));
    let watch = || {
        while !over.load(Ordering::Relaxed) {
            let held = locks.iter().all(|lock| lock.is_held());
            if stop.load(Ordering::Relaxed) {
                // The question is cancelled then, which says nothing of the lock.
                ending.store(true, Ordering::Relaxed);
                return;
            }
            if !held {
                lost.store(true, Ordering::Relaxed);
                ending.store(true, Ordering::Relaxed);
                return;
            }
            std::thread::park_timeout(WATCH);
        }
    };
    let done = std::thread::scope(|scope| {
        // Without a thread to be had, a loss is seen when the work is done.
        let watcher = std::thread::Builder::new().spawn_scoped(scope, watch);
        let done = work();
        over.store(true, Ordering::Relaxed);
        match watcher {
            Ok(watcher) => watcher.thread().unpark(),
            Err(_) if stop.load(Ordering::Relaxed) => {}
            Err(_) => lost.store(!locks.iter().all(|lock| lock.is_held()), Ordering::Relaxed),
        }
        done
    });
    let held = !lost.load(Ordering::Relaxed);
    (done, held)
}
