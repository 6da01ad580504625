//! A database that a run works on.

use super::{Asked, DatabaseSizes, Difference, ForeignTables, Remote, StopFlag, TableSizes, TargetError, ToExplain};
use crate::host::ServerProcesses;
use crate::sampler::Sampler;
use crate::{mysql, oracle, postgres};
use dyno_record::Explained;
use dyno_script::Lexis;
use std::fmt;
use std::path::Path;
use std::sync::atomic::AtomicBool;

/// How clients connect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Route {
    /// Over a unix socket.
    Unix,
    /// Over TCP.
    Tcp,
}

/// What the load's clients connect with: each protocol has its own.
#[derive(Clone, Copy, Debug)]
pub enum Reach<'a> {
    /// PostgreSQL's protocol.
    Postgres(&'a postgres::address::ConnectionInfo),
    /// MySQL's protocol.
    Mysql(&'a mysql::address::ConnectionInfo),
    /// Oracle's protocol.
    Oracle(&'a oracle::address::ConnectionInfo),
}

impl Reach<'_> {
    /// Whether the instant responder, against which dyno's own limit is measured, answers to this protocol.
    #[must_use]
    pub fn has_ceiling(self) -> bool {
        matches!(self, Self::Postgres(_))
    }
}

/// A database that a run works on. It is shown by its address, without passwords.
pub trait Database: fmt::Display + Send + Sync {
    /// What the load's clients connect with.
    fn reach(&self) -> Reach<'_>;

    /// How they connect.
    fn route(&self) -> Route;

    /// Whether the server is on this machine.
    fn is_local(&self) -> bool;

    /// What is odd about its address, as sentences.
    fn warnings(&self) -> &[String];

    /// Where the server keeps its data, if it is dyno's own on this machine.
    fn data_folder(&self) -> Option<&Path>;

    /// Opens a connection for what is asked beside the load; what it is asked is cancelled when `stop` is raised.
    ///
    /// # Errors
    /// No connection.
    fn control(&self, stop: &StopFlag) -> Result<Box<dyn Control>, TargetError>;

    /// Makes ready what is read while the load runs; `None` if `stop` is raised before it is.
    fn samplers(&self, stop: &AtomicBool) -> Option<SamplerSet>;

    /// By which rules the server reads the SQL of the load, where these are usually `usual`.
    ///
    /// # Errors
    /// The server does not answer.
    fn lexis(&self, usual: Lexis, _stop: &StopFlag) -> Result<Lexis, TargetError> {
        Ok(usual)
    }

    /// Notes that the data is about to be worked on, so that no other campaign takes it for fresh.
    ///
    /// # Errors
    /// The server refuses it, or does not answer.
    fn mark_used(&self, stop: &StopFlag) -> Result<(), TargetError>;
}

/// What is around a load: its samplers, and what is known beforehand not to be there.
#[derive(Default)]
pub struct SamplerSet {
    /// Each is to be read on a thread of its own.
    pub samplers: Vec<Box<dyn Sampler>>,
    /// What will be missing, as sentences with what to do about it.
    pub warnings: Vec<String>,
    /// Whose CPU time is not that of others.
    pub(crate) processes: ServerProcesses,
}

impl SamplerSet {
    /// Says that `other` is of another server of the same run: what either uses of the machine is not taken for that of
    /// strangers.
    pub fn stand_beside(&self, other: &Self) {
        self.processes.stand_beside(&other.processes);
        other.processes.stand_beside(&self.processes);
    }
}

/// A connection for what is asked of a database beside the load.
pub trait Control: Send {
    /// The server as it describes itself.
    ///
    /// # Errors
    /// The connection is broken.
    fn describe(&mut self) -> Result<Description, TargetError>;

    /// Settings with which the server does not run although they were `wanted`.
    ///
    /// # Errors
    /// The connection is broken.
    fn differences(&mut self, wanted: &[(String, String)]) -> Result<Vec<Difference>, TargetError>;

    /// Brings the database to rest: what the server would do sooner or later because of the loading is done now. Gives
    /// what could not be done, and what is odd about how the data is kept, as sentences.
    ///
    /// # Errors
    /// The connection is broken, or what it does fails.
    fn settle(&mut self) -> Result<Vec<String>, TargetError>;

    /// Reads the data into the cache; gives what came of it, as a clause.
    ///
    /// # Errors
    /// The connection is broken, or the server cannot do it.
    fn warm(&mut self) -> Result<String, TargetError>;

    /// Empties the cache, so that a load begins with nothing in it; gives what came of it, as a clause.
    ///
    /// # Errors
    /// The connection is broken, the role may not, or servers of this kind cannot do it while they run.
    fn empty_cache(&mut self) -> Result<String, TargetError> {
        Err(TargetError::other(
            "this server empties its cache only when it is restarted",
        ))
    }

    /// Reads the sizes of the experiment's tables, with what the server counted about each.
    ///
    /// # Errors
    /// The connection is broken, or a table is locked by somebody else.
    fn sizes(&mut self) -> Result<DatabaseSizes, TargetError>;

    /// Waits until the load's sessions have ended, but not long: what a session did is counted when it ends at the
    /// latest.
    ///
    /// # Errors
    /// The connection is broken.
    fn await_sessions_end(&mut self) -> Result<(), TargetError>;

    /// Asks how the server would execute each of some statements, in this order. None is executed, and the server takes
    /// a second at most for each. What it refuses is no error.
    ///
    /// # Errors
    /// The connection is broken.
    fn explain(&mut self, statements: &[ToExplain]) -> Result<Vec<Explained>, TargetError>;

    /// Asks for the rows of a single statement, in a transaction that only reads where the server has these. It takes
    /// as long as it takes. What the server refuses is no error.
    ///
    /// # Errors
    /// The connection is broken.
    fn rows(&mut self, statement: &str) -> Result<Asked, TargetError>;

    /// Opens a connection anew in place of one that is broken.
    ///
    /// # Errors
    /// No connection.
    fn connect_again(&mut self) -> Result<(), TargetError>;

    /// Makes the database a proxy: the tables of a remote server become tables of its own, in place of those of an
    /// earlier remote, and each is asked for a row. Gives what is to be known of it, as sentences.
    ///
    /// # Errors
    /// Databases of this kind cannot be proxies, it lacks what it takes, or it does not reach the remote or a table.
    fn link(&mut self, _remote: Remote<'_>, _foreign: &ForeignTables) -> Result<Vec<String>, TargetError> {
        Err(TargetError::other(
            "only PostgreSQL can be a proxy, which reaches the tables of another server as foreign tables",
        ))
    }

    /// The name by which a report knows a table.
    fn name_of(&self, table: &TableSizes) -> String;
}

/// What a result must be read with.
#[derive(Clone, Debug, PartialEq)]
pub struct Description {
    /// Version and settings, as they are archived.
    pub facts: serde_json::Value,
    /// Settings that allow the server to lose what it reported as done, such as `fsync = off`.
    pub not_durable: Vec<String>,
}
