//! A private server as a replica of another one: its data folder is a copy of that one's, and whatever changes there
//! arrives.
//!
//! Copies are made of files, because no other program of the servers is among those that are fetched. A token in both
//! data folders says which copy is of which server; where a server ran for a time without keeping record of its
//! changes, its token is gone and its copies are made anew.

use super::EmbeddedError;
use super::cluster::Programs;
use super::instance::{Held, Measured};
use super::place::{Place, random_text};
use super::server::Server;
use crate::host::check_room;
use crate::kept::bytes_below;
use crate::target::{Instance as _, Part, Progress, StopFlag, TargetError};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// The file in a data folder whose content its copies share.
const TOKEN: &str = "dyno_followed";

/// The file in the data folder of a replica: what has become of the copy.
const REPLICA: &str = "dyno_replica";

/// The copy has been made, but has not followed yet: it may not be whole.
const COPIED: &str = "copied";

/// It has followed, so that it is whole and may go on.
const FOLLOWING: &str = "following";

/// How long a replica may take to follow once it is up.
const LIMIT: Duration = Duration::from_secs(60);

/// How long one may take to go on that does not follow at this very moment.
const MOMENT: Duration = Duration::from_secs(5);

const POLL: Duration = Duration::from_millis(50);

/// What each database does in its own way to follow another server.
pub(crate) trait Replicates: Programs + Sized {
    /// What is to be kept from when a copy was begun until it follows.
    type Copied;

    /// The settings, beside these, that a server needs for others to follow it.
    fn followed(settings: &[(String, String)]) -> Vec<(String, String)>;

    /// Whether a server with these settings keeps record of all its changes for others.
    fn keeps_record(settings: &[(String, String)]) -> bool;

    /// Removes what a server kept for others, who cannot follow it any more.
    fn forget_record(place: &Place);

    /// The folders beside a data folder that belong to it.
    fn beside(data: &Path) -> Vec<PathBuf>;

    /// The settings, beside these, of a replica in this role that follows `primary`.
    ///
    /// # Errors
    /// That one cannot be followed.
    fn following(
        primary: &Server<Self>,
        role: &str,
        settings: &[(String, String)],
    ) -> Result<Vec<(String, String)>, TargetError>;

    /// Has a replica that is up follow `primary`, for the first time if it has just been `copied`.
    fn follow(replica: &Server<Self>, primary: &Server<Self>, copied: Option<&Self::Copied>)
    -> Result<(), TargetError>;

    /// Whether a replica follows.
    fn state(replica: &Server<Self>) -> Result<State, TargetError>;

    /// How far the changes of a server go.
    fn position(primary: &Server<Self>) -> Result<String, TargetError>;

    /// Whether a replica has executed all changes up to there. May wait for a second.
    fn has(replica: &Server<Self>, position: &str) -> Result<bool, TargetError>;
}

/// Tells of what happens within a part what does not end that.
struct Within<'a>(&'a mut dyn Progress);

impl Progress for Within<'_> {
    fn note(&mut self, text: &str) {
        self.0.note(text);
    }
}

/// Whether a replica follows.
pub(crate) enum State {
    /// It does.
    Follows,
    /// Not yet, or not now; what there is to say of it.
    Tries(String),
    /// It never will again, for this reason.
    Lost(String),
}

/// A server cannot be the replica of another.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ReplicaError {
    #[error("a replica must be of the same database and version as the server that it follows")]
    Unlike,
    #[error("{0} is a replica itself; replicas follow a server that is none")]
    OfReplica(String),
    #[error("{primary} cannot be followed: {reason}")]
    Primary { primary: String, reason: String },
    #[error("{replica} does not follow its primary: {said}; its log is {log}")]
    DoesNotFollow { replica: String, said: String, log: String },
    #[error("{replica} has not caught up with its primary within {limit_s:.0} s: {said}; its log is {log}")]
    Behind {
        replica: String,
        limit_s: f64,
        said: String,
        log: String,
    },
    #[error("stopped while waiting for a replica")]
    Stopped,
}

impl From<ReplicaError> for TargetError {
    fn from(error: ReplicaError) -> Self {
        match error {
            ReplicaError::Stopped => Self::Stopped(Box::new(error)),
            error => Self::other(error),
        }
    }
}

impl Place {
    /// Whether the data folder is a replica's.
    pub(crate) fn is_replica(&self) -> bool {
        is_replica(&self.data)
    }

    /// Whether it is a whole copy of the data folder of `primary`, with nothing missed since.
    fn is_copy_of(&self, primary: &Self) -> bool {
        let token = |place: &Self| {
            fs::read_to_string(place.data.join(TOKEN))
                .ok()
                .filter(|token| !token.is_empty())
        };
        let follows = fs::read_to_string(self.data.join(REPLICA)).is_ok_and(|state| state == FOLLOWING);
        follows && token(self).is_some_and(|own| Some(own) == token(primary))
    }

    /// Gives the data folder a token unless it has one.
    fn mark_followed(&self) -> Result<(), EmbeddedError> {
        let path = self.data.join(TOKEN);
        if path.exists() {
            return Ok(());
        }
        let token = random_text().map_err(EmbeddedError::file("mark", &self.data))?;
        self.write_mark(&path, &token)
    }

    fn mark_replica(&self, data: &Path, state: &str) -> Result<(), EmbeddedError> {
        self.write_mark(&data.join(REPLICA), state)
    }

    fn write_mark(&self, path: &Path, text: &str) -> Result<(), EmbeddedError> {
        fs::write(path, text).map_err(EmbeddedError::file("write", path))?;
        self.user.hand_over(path)
    }

    /// Has all copies of the data folder be made anew.
    pub(super) fn unmark_followed(&self) {
        // Without a token there is nothing to remove.
        let _ = fs::remove_file(self.data.join(TOKEN));
    }
}

/// Whether a data folder is a replica's.
pub(crate) fn is_replica(data: &Path) -> bool {
    data.join(REPLICA).exists()
}

/// What a server is called in sentences, such as "the MariaDB replica-2".
fn called<P: Measured>(held: &Held<P>) -> String {
    format!("the {} {}", P::PRODUCT.name, held.name())
}

impl<P: Measured> Held<P> {
    /// As [`Instance::bring_replica`](crate::target::Instance::bring_replica).
    pub(super) fn bring_as_replica(
        &mut self,
        primary: &mut Self,
        settings: Vec<(String, String)>,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<(), TargetError> {
        if primary.release() != self.release() {
            return Err(ReplicaError::Unlike.into());
        }
        if primary.place().is_replica() {
            return Err(ReplicaError::OfReplica(called(primary)).into());
        }
        let own = P::following(primary.server()?, &self.name(), &settings)?;
        let is_copy = self.place().is_copy_of(primary.place());
        let same = self.settings == settings && self.own == own;
        if is_copy && same && self.is_up() && matches!(P::state(self.server()?), Ok(State::Follows)) {
            return Ok(());
        }
        self.stop(progress);
        (self.settings, self.own) = (settings, own);
        // Nothing is prepared on a replica.
        self.prepared = P::Prepared::default();
        if is_copy {
            match self.go_on(primary, progress, stop)? {
                None => return Ok(()),
                Some(reason) => progress.note(&format!("{} is made anew: {reason}", capitalised(&called(self)))),
            }
            self.stop(progress);
        }
        let copied = self.copy(primary, progress, stop)?;
        // What the primary is asked for may depend on where it listens by now.
        self.own = P::following(primary.server()?, &self.name(), &self.settings)?;
        self.start_within(Part::Follow(&called(self)), progress)?;
        P::follow(self.server()?, primary.server()?, Some(&copied))?;
        match self.await_following(stop)? {
            None => Ok(self.place().mark_replica(&self.place().data, FOLLOWING)?),
            Some(said) => Err(self.does_not_follow(said)),
        }
    }

    /// Has a replica that was made before follow again; else says why it cannot.
    fn go_on(
        &mut self,
        primary: &Self,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<Option<String>, TargetError> {
        match self.start_within(Part::Follow(&called(self)), progress) {
            Err(TargetError::Other(error)) => match error.downcast_ref() {
                Some(EmbeddedError::Start { status, .. }) => return Ok(Some(format!("it did not start ({status})"))),
                _ => return Err(TargetError::Other(error)),
            },
            started => started?,
        }
        if let State::Lost(reason) = P::state(self.server()?)? {
            return Ok(Some(reason));
        }
        P::follow(self.server()?, primary.server()?, None)?;
        self.await_following(stop)
    }

    /// Starts the server as a part of what makes it ready.
    fn start_within(&mut self, part: Part<'_>, progress: &mut dyn Progress) -> Result<(), TargetError> {
        progress.part(part);
        self.start(&mut Within(progress))
    }

    /// Waits until the replica follows; gives why it does not, if it is lost or does not for too long.
    fn await_following(&self, stop: &StopFlag) -> Result<Option<String>, TargetError> {
        let begun = Instant::now();
        loop {
            if !self.is_up() {
                return Ok(Some("its server ended".to_owned()));
            }
            let said = match P::state(self.server()?)? {
                State::Follows => return Ok(None),
                State::Lost(reason) => return Ok(Some(reason)),
                State::Tries(said) => said,
            };
            if stop.load(Ordering::Relaxed) {
                return Err(ReplicaError::Stopped.into());
            }
            if begun.elapsed() > LIMIT {
                return Ok(Some(said));
            }
            std::thread::sleep(POLL);
        }
    }

    /// As [`Instance::lapse`](crate::target::Instance::lapse), of a replica that is not stopped.
    pub(super) fn why_strayed(&self, stop: &StopFlag) -> Option<String> {
        let begun = Instant::now();
        loop {
            let said = match P::state(self.server().ok()?) {
                Ok(State::Follows) => return None,
                Ok(State::Lost(reason)) => return Some(self.does_not_follow(reason).to_string()),
                Ok(State::Tries(said)) => said,
                Err(error) => error.to_string(),
            };
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            if begun.elapsed() > MOMENT {
                return Some(self.does_not_follow(said).to_string());
            }
            std::thread::sleep(POLL);
        }
    }

    fn does_not_follow(&self, said: String) -> TargetError {
        let error = ReplicaError::DoesNotFollow {
            replica: called(self),
            said,
            log: self.place().log.display().to_string(),
        };
        error.into()
    }

    /// Replaces the data folder by a copy of the primary's.
    fn copy(
        &mut self,
        primary: &mut Self,
        progress: &mut dyn Progress,
        stop: &StopFlag,
    ) -> Result<P::Copied, TargetError> {
        progress.part(Part::Replica(&called(self)));
        primary.place().mark_followed()?;
        check_room(&self.place().folder, bytes_below(&primary.place().folder))?;
        let password = primary.place().password.clone();
        let place = self.place_at_rest()?;
        let beside = P::beside(&place.data);
        let copied: Result<_, TargetError> = place.replace(&beside, |place, fresh| {
            let copied = P::copy(primary, place, fresh, progress, stop)?;
            place.mark_replica(fresh, COPIED)?;
            Ok(copied)
        });
        let copied = copied.map_err(|error| match stop.load(Ordering::Relaxed) {
            true => ReplicaError::Stopped.into(),
            false => error,
        })?;
        // The copy has the primary's accounts.
        place.set_password(password)?;
        Ok(copied)
    }

    /// As [`Instance::await_caught_up`](crate::target::Instance::await_caught_up).
    pub(super) fn await_position(&self, primary: &Self, limit: Duration, stop: &StopFlag) -> Result<(), TargetError> {
        let position = P::position(primary.server()?)?;
        let begun = Instant::now();
        while !P::has(self.server()?, &position)? {
            if stop.load(Ordering::Relaxed) {
                return Err(ReplicaError::Stopped.into());
            }
            let said = match P::state(self.server()?)? {
                State::Follows => "it follows, but is slower than that".to_owned(),
                State::Tries(said) => said,
                State::Lost(reason) => return Err(self.does_not_follow(reason)),
            };
            if begun.elapsed() > limit {
                let error = ReplicaError::Behind {
                    replica: called(self),
                    limit_s: limit.as_secs_f64(),
                    said,
                    log: self.place().log.display().to_string(),
                };
                return Err(error.into());
            }
            std::thread::sleep(POLL);
        }
        Ok(())
    }
}

fn capitalised(text: &str) -> String {
    let mut characters = text.chars();
    let first = characters.next().map(|first| first.to_ascii_uppercase());
    first.into_iter().chain(characters).collect()
}
