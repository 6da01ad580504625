//! A private server that dyno makes on demand.

use super::{Data, Database, Needs, Progress, Route, StopFlag, TargetError, Wanted};
use std::fmt;
use std::sync::{Arc, Mutex, PoisonError};

/// A private server as it is named; nothing of it is fetched or started. It is shown with its version; two that are
/// shown alike are the same.
pub trait Embedded: fmt::Display + fmt::Debug + Send + Sync {
    /// Looks at what can be seen without a server: whether it can be had, and set as the experiment asks.
    ///
    /// # Errors
    /// There is no such version, a setting that it does not have, or too few connections.
    fn rehearse(&self, needs: Needs<'_>) -> Result<(), TargetError>;

    /// Refuses data that it cannot load, as far as that can be seen without a server.
    ///
    /// # Errors
    /// What it cannot have.
    fn check_data(&self, _data: &Data) -> Result<(), TargetError> {
        Ok(())
    }

    /// Fetches and initialises it if need be, and holds it for this campaign. `switch` is armed whenever it is up.
    ///
    /// # Errors
    /// It cannot be had.
    fn hold(&self, switch: &KillSwitch, progress: &mut dyn Progress) -> Result<Box<dyn Instance>, TargetError>;
}

/// A private server that is held for a campaign. Dropped, it stops and is free for others.
pub trait Instance: Send {
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

    /// What to say of a run whose connections were lost, if that is because the server ended.
    fn post_mortem(&self) -> Option<String>;

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

/// Ends the embedded server that is up at once, from anywhere: for a user who does not want to wait for an orderly end.
/// Clones speak of the same server.
#[derive(Clone, Default)]
pub struct KillSwitch(Arc<Mutex<Option<End>>>);

impl KillSwitch {
    /// A server is up now, which `end` ends.
    pub fn arm(&self, end: impl Fn() + Send + 'static) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(end));
    }

    /// No server is up any more.
    pub fn disarm(&self) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = None;
    }

    /// Kills the server if there is one. Its next start recovers.
    pub fn stop_now(&self) {
        if let Some(end) = &*self.0.lock().unwrap_or_else(PoisonError::into_inner) {
            end();
        }
    }
}

impl fmt::Debug for KillSwitch {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("KillSwitch")
    }
}
