//! What a script is run with: everything that the command line decides.

use crate::fill::Filler;
use crate::random::RandomSettings;
use crate::voice::Voice;
use dyno_connect::Stop;
use serde::{Deserialize, Serialize};
use std::fmt;
use std::str::FromStr;
use std::sync::Arc;

/// Which sysbench is imitated, where they differ.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Version {
    /// 0.5, whose scripts know nothing but globals.
    V0_5,
    /// 1.0.20.
    #[default]
    V1_0,
    /// 1.1.
    V1_1,
}

impl Version {
    /// What `sysbench.version` says.
    #[must_use]
    pub fn number(self) -> &'static str {
        match self {
            Self::V0_5 => "0.5",
            Self::V1_0 => "1.0.20",
            Self::V1_1 => "1.1.0",
        }
    }
}

impl fmt::Display for Version {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::V0_5 => "0.5",
            Self::V1_0 => "1.0",
            Self::V1_1 => "1.1",
        })
    }
}

impl FromStr for Version {
    type Err = ();

    fn from_str(text: &str) -> Result<Self, ()> {
        let all = [Self::V0_5, Self::V1_0, Self::V1_1];
        all.into_iter()
            .find(|version| text == version.to_string() || text == version.number())
            .ok_or(())
    }
}

/// The database driver that a script is told of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dialect {
    /// `mysql`: MySQL and MariaDB.
    Mysql,
    /// `pgsql`: PostgreSQL.
    Postgres,
}

impl Dialect {
    /// The driver's name, as `--db-driver` and `drv:name()` have it.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Mysql => "mysql",
            Self::Postgres => "pgsql",
        }
    }
}

/// `--db-ps-mode`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum PreparedStatements {
    /// The server prepares what it can, and the rest is sent as text with the values filled in.
    #[default]
    Auto,
    /// Nothing is prepared: texts with the values filled in.
    Disable,
}

/// Which errors of the server restart the event instead of ending the client.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub enum IgnoredErrors {
    /// Every error (`--mysql-ignore-errors=all`).
    All,
    /// Errors with one of these numbers. PostgreSQL's have none; there, serialization failures and deadlocks (40001 and
    /// 40P01) and duplicate keys (23505) are ignored, whatever stands here.
    Numbers(Vec<u32>),
}

impl Default for IgnoredErrors {
    /// Those of sysbench: a deadlock, a row that has changed since it was read, and a lock that takes too long.
    fn default() -> Self {
        Self::Numbers(vec![1213, 1020, 1205])
    }
}

/// The value of an option, as it is in `sysbench.opt`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub enum OptionValue {
    /// `true` or `false`.
    Bool(bool),
    /// A number.
    Number(f64),
    /// A text.
    Text(String),
    /// Several texts, as a table from 1 on.
    List(Vec<String>),
}

/// What a script is run with.
#[derive(Clone)]
pub struct Settings {
    /// `sysbench.opt`, general options such as `threads` included. Names with underscores, as in Lua. What stands in
    /// here goes before the default that the script declares; one that has no value is left out.
    pub options: Vec<(String, OptionValue)>,
    /// Globals that are set beside, with these names. If a script declares no options, sysbench makes globals of all
    /// options, its own general ones such as `num_threads` included.
    pub globals: Vec<(String, OptionValue)>,
    /// `sysbench.cmdline.argv`: the words of the command line, the first being the program.
    pub argv: Vec<String>,
    /// `sysbench.cmdline.command`; `None`: none was given.
    pub command: Option<String>,
    /// The driver of `sysbench.sql.driver()` and the global `db_driver`.
    pub dialect: Dialect,
    /// Number of clients, `sysbench.opt.threads` and `num_threads`.
    pub threads: usize,
    /// How random numbers are drawn.
    pub random: RandomSettings,
    /// Which sysbench is imitated.
    pub version: Version,
    /// Whether the script comes from elsewhere: it has no FFI, `io`, `os` (but for clock, date, difftime and time),
    /// `debug`, and loads no libraries and no files.
    pub safe: bool,
    /// Whether statements are prepared.
    pub prepared: PreparedStatements,
    /// Which errors restart an event.
    pub ignored: IgnoredErrors,
    /// How many events all clients have together; 0: as many as fit.
    pub events: u64,
    /// Whether statements are counted apart by what they are: see [`told_apart`](crate::told_apart). That takes a look
    /// at each text. Otherwise all texts of a client are counted together.
    pub tells_statements: bool,
    /// Who hears what the script prints and what is to be said of it.
    pub voice: Arc<dyn Voice>,
    /// When this asks to stop, what a script does outside of a load ends, whether it waits for the server or not.
    pub stop: Stop,
    /// Who fills tables for commands; `None`: scripts insert all rows themselves.
    pub filler: Option<Arc<dyn Filler>>,
}

impl Settings {
    /// Settings of one client that runs nothing in particular, with sysbench's defaults.
    #[must_use]
    pub fn new(dialect: Dialect, voice: Arc<dyn Voice>) -> Self {
        Self {
            options: Vec::new(),
            globals: Vec::new(),
            argv: Vec::new(),
            command: None,
            dialect,
            threads: 1,
            random: RandomSettings::default(),
            version: Version::default(),
            safe: false,
            prepared: PreparedStatements::default(),
            ignored: IgnoredErrors::default(),
            events: 0,
            tells_statements: false,
            voice,
            stop: Stop::new(),
            filler: None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_are_known_by_line_and_by_number() {
        assert_eq!("0.5".parse(), Ok(Version::V0_5));
        assert_eq!("1.0".parse(), Ok(Version::V1_0));
        assert_eq!("1.0.20".parse(), Ok(Version::V1_0));
        assert_eq!("1.1".parse(), Ok(Version::V1_1));
        assert_eq!("1.2".parse::<Version>(), Err(()));
    }
}
