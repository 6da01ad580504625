//! A private server that dyno makes on demand.

use super::{Data, Database, Needs, Progress, Route, StopFlag, TargetError, Wanted};
use dyno_record::{Finding, Topic};
use std::any::Any;
use std::collections::BTreeMap;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// A private server as it is named; nothing of it is fetched or started. It is shown with its version, and with its
/// role unless it is the main one; two that are shown alike are the same.
pub trait Embedded: fmt::Display + fmt::Debug + Send + Sync {
    /// Looks at what can be seen without a server: whether it can be had, and set as the experiment asks.
    ///
    /// # Errors
    /// There is no such version, a setting that it does not have, or too few connections.
    fn rehearse(&self, needs: Needs<'_>) -> Result<(), TargetError>;

    /// Whether it is there, or what it takes to have it; nothing is fetched or started. The load is to have so many
    /// `clients`, if that is known.
    fn examine(&self, clients: Option<usize>) -> Finding {
        let needs = Needs {
            settings: &[],
            clients: clients.unwrap_or(0),
            followed: false,
        };
        let subject = self.to_string();
        match self.rehearse(needs).and_then(|()| self.look()) {
            Ok(found) => Finding::ok(Topic::Private, subject, found),
            Err(error) => Finding::problem(Topic::Private, subject, error.to_string()),
        }
    }

    /// Which of its programs are there, in words.
    ///
    /// # Errors
    /// It has to be installed, and is not.
    fn look(&self) -> Result<String, TargetError>;

    /// Its kind, and its version as far as that is named: one that is installed shows it only when it is looked for.
    fn release(&self) -> (&'static str, Option<&str>);

    /// Refuses data that it cannot load, as far as that can be seen without a server.
    ///
    /// # Errors
    /// What it cannot have.
    fn check_data(&self, _data: &Data) -> Result<(), TargetError> {
        Ok(())
    }

    /// The private server of the same version in this role of a campaign, such as `proxy`: one beside the main one,
    /// with data of its own, so that both can be up at once. Each dyno that wants the same role waits for its turn.
    ///
    /// # Errors
    /// The role's name cannot be that of a folder.
    fn in_role(&self, role: &str) -> Result<Box<dyn Embedded>, TargetError>;

    /// Fetches and initialises it if need be, and holds it for this campaign. `switch` is armed whenever it is up.
    ///
    /// # Errors
    /// It cannot be had.
    fn hold(&self, switch: &KillSwitch, progress: &mut dyn Progress) -> Result<Box<dyn Instance>, TargetError>;
}

/// A private server that is held for a campaign. Dropped, it stops and is free for others.
pub trait Instance: Any + Send {
    /// Brings the server up with what the experiment asks for. One that is up already does if it has the same settings,
    /// unless it is to be `anew`. What had to be translated for this version is said in `notes`.
    ///
    /// # Errors
    /// The settings do not fit this version, or the server does not start.
    fn bring(
        &mut self,
        needs: Needs<'_>,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
    ) -> Result<(), TargetError>;

    /// Brings the server up as a replica of `primary`, which is up and was brought to be followed: with all that one
    /// has, and only for reading. It follows when this returns; one that cannot follow any more is made anew, which is
    /// said to whoever waits. A replica that is up with the same settings and follows is left as it is.
    ///
    /// # Errors
    /// The primary is of another database or version or cannot be followed, the settings do not fit this version, the
    /// server does not start or does not follow, or `stop` was raised.
    fn bring_replica(
        &mut self,
        primary: &mut dyn Instance,
        needs: Needs<'_>,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<(), TargetError>;

    /// Waits until a replica has executed everything that its primary has done by now.
    ///
    /// # Errors
    /// It has not within `limit`, it does not follow, or `stop` was raised.
    fn await_caught_up(
        &mut self,
        primary: &mut dyn Instance,
        limit: Duration,
        stop: &StopFlag,
    ) -> Result<(), TargetError>;

    /// Brings the data that the run works on into its state. With `anew` a server that has just loaded data is
    /// restarted before the data is copied, so that such a run begins as the others do.
    ///
    /// # Errors
    /// The data cannot be made, or `stop` was raised.
    fn prepare(
        &mut self,
        wanted: Wanted<'_>,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<(), TargetError>;

    /// Restarts the server with none of its files in the page cache, as far as the system permits; gives what came of
    /// it, as a clause.
    ///
    /// # Errors
    /// The server does not start.
    fn restart_cold(&mut self, progress: &mut dyn Progress) -> Result<String, TargetError>;

    /// The database that the run works on, as the clients are to reach it.
    ///
    /// # Errors
    /// The server is not running.
    fn database(&self, route: Option<Route>) -> Result<Box<dyn Database>, TargetError>;

    /// What the server was started with.
    fn settings(&self) -> &[(String, String)];

    /// What to say of a run if the server ended during it. One that is about to end has so long for it.
    fn post_mortem(&self, patience: Duration) -> Option<String>;

    /// What to say of a run at whose end a server is not what it was brought as: it ended, it was stopped by a signal
    /// and stands still, or it is a replica that does not follow its primary any more, or does not answer. One that is
    /// about to follow again has a moment for it, unless `stop` is raised.
    fn lapse(&self, stop: &StopFlag) -> Option<String>;

    /// Removes what the last run worked on; what was loaded stays.
    ///
    /// # Errors
    /// The server does not answer.
    fn clear(&mut self) -> Result<(), TargetError>;

    /// Stops the server if it is up.
    fn stop(&mut self, progress: &mut dyn Progress);
}

/// Ends a server at once.
type End = Box<dyn Fn() + Send>;

/// Ends the private servers that are up at once, from anywhere: for a user who does not want to wait for an orderly
/// end. Clones speak of the same servers.
#[derive(Clone, Default)]
pub struct KillSwitch(Arc<Mutex<Ends>>);

/// How to end each server that is up, by the order in which they came up.
#[derive(Default)]
struct Ends {
    next: u64,
    of: BTreeMap<u64, End>,
}

/// A server is up; dropped, it is no more.
#[must_use = "the switch forgets the server when this is dropped"]
pub struct Armed {
    switch: KillSwitch,
    number: u64,
}

impl KillSwitch {
    /// One more server is up now, which `end` ends.
    pub fn arm(&self, end: impl Fn() + Send + 'static) -> Armed {
        let mut ends = self.ends();
        let number = ends.next;
        ends.next += 1;
        ends.of.insert(number, Box::new(end));
        drop(ends);
        Armed {
            switch: self.clone(),
            number,
        }
    }

    /// Kills the servers that are up. The next start of each recovers.
    pub fn stop_now(&self) {
        for end in self.ends().of.values() {
            end();
        }
    }

    fn ends(&self) -> MutexGuard<'_, Ends> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Armed {
    fn drop(&mut self) {
        self.switch.ends().of.remove(&self.number);
    }
}

impl fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KillSwitch")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::{AtomicU32, Ordering};

    #[test]
    fn a_switch_ends_all_servers_that_are_up() {
        let switch = KillSwitch::default();
        let ended = Arc::new(AtomicU32::new(0));
        let armed = [1, 10, 100].map(|amount| {
            let ended = Arc::clone(&ended);
            switch.clone().arm(move || {
                ended.fetch_add(amount, Ordering::Relaxed);
            })
        });
        let [_first, second, _third] = armed;
        drop(second);
        switch.stop_now();
        assert_eq!(ended.load(Ordering::Relaxed), 101);
    }
}
