//! The databases whose runs are disturbed.

use super::mariadb::Mariadb;
use super::postgres::Postgres;
use super::provocation::Kind;
use super::slow_path::SlowPath;
use crate::Result;
use procfs::process::Process;
use serde::{Deserialize, Serialize};
use std::str::FromStr;
use std::time::Duration;

/// One of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Database {
    /// PostgreSQL.
    #[default]
    Postgres,
    /// MariaDB.
    Mariadb,
}

impl FromStr for Database {
    type Err = ();

    fn from_str(text: &str) -> std::result::Result<Self, ()> {
        match text {
            "postgres" => Ok(Self::Postgres),
            "mariadb" => Ok(Self::Mariadb),
            _ => Err(()),
        }
    }
}

impl Database {
    /// What dyno is told as its target.
    pub(super) fn target(self) -> &'static str {
        match self {
            Self::Postgres => "embedded",
            Self::Mariadb => "embedded:mariadb",
        }
    }

    /// What its server's program is called.
    pub(super) fn program(self) -> &'static str {
        match self {
            Self::Postgres => "postgres",
            Self::Mariadb => "mariadbd",
        }
    }

    /// Finds out how to connect to a server.
    pub(super) fn side(self, server: &Process) -> Result<Box<dyn Side>> {
        Ok(match self {
            Self::Postgres => Box::new(Postgres::of(server)?),
            Self::Mariadb => Box::new(Mariadb::of(server)?),
        })
    }
}

/// What a disturbance has at hand.
pub(super) struct Means<'a> {
    /// How long it is to last.
    pub lasts: Duration,
    /// Seconds since the load began.
    pub now_s: &'a dyn Fn() -> f64,
    /// Storage that can be made slow.
    pub slow_path: Option<&'a SlowPath>,
}

impl Means<'_> {
    /// Storage that can be made slow, which has to be there.
    pub(super) fn slow_path(&self) -> Result<&SlowPath> {
        self.slow_path
            .ok_or_else(|| "writing cannot be slowed down here".into())
    }

    /// Does nothing while it lasts, and gives when that began and ended.
    pub(super) fn hold(&self) -> (f64, f64) {
        let start_s = (self.now_s)();
        std::thread::sleep(self.lasts);
        (start_s, (self.now_s)())
    }
}

/// How a database is disturbed.
pub(super) trait Side {
    /// Makes everything that disturbances need.
    fn make_ready(&mut self) -> Result<()>;

    /// Whether there is something left to disturb it with in this way.
    fn has_room_for(&self, kind: Kind) -> bool;

    /// The processes of the load's sessions, where each has one.
    fn sessions(&self) -> Result<Vec<i32>>;

    /// Disturbs it in a way of its own. Nothing is left as it is then.
    fn provoke(&mut self, kind: Kind, means: &Means<'_>) -> Result<(f64, f64)>;
}
