//! A statement by key as each of several programs executes it: dyno, sysbench, mariadb-slap, and the bare loop.

use crate::{BareLoop, Client, Cost, Result, Server, Slap, run_experiment, run_sysbench};
use dyno_wire::Protocol;
use std::fmt::{self, Display};
use std::path::Path;

/// The statement, the same in all programs but [`Slap`], which says what it does instead.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PointStatement {
    /// Selects a text of 119 bytes.
    Select,
    /// Adds one to an indexed number. (sysbench's other update writes a text of random digits, which takes sysbench
    /// itself longer to draw than to send.)
    Update,
}

impl PointStatement {
    /// Both.
    pub const ALL: [Self; 2] = [Self::Select, Self::Update];

    /// Its text up to the id.
    #[must_use]
    pub fn begin(self) -> &'static str {
        match self {
            Self::Select => "SELECT c FROM sbtest1 WHERE id = ",
            Self::Update => "UPDATE sbtest1 SET k = k + 1 WHERE id = ",
        }
    }

    /// sysbench's name of it.
    #[must_use]
    pub fn sysbench(self) -> &'static str {
        match self {
            Self::Select => "oltp_point_select",
            Self::Update => "oltp_update_index",
        }
    }

    /// The experiment that does it.
    #[must_use]
    pub fn experiment(self) -> &'static str {
        match self {
            Self::Select => "point-select.toml",
            Self::Update => "point-update.toml",
        }
    }
}

impl Display for PointStatement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Select => "select",
            Self::Update => "update",
        })
    }
}

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Peer {
    /// `dyno run`.
    Dyno,
    /// sysbench, a thread for each connection.
    Sysbench,
    /// mariadb-slap, a thread for each connection.
    Slap,
    /// The cheapest bare loop.
    Loop,
    /// The bare loop over readiness.
    Epoll,
}

impl Peer {
    /// All of them.
    pub const ALL: [Self; 5] = [Self::Dyno, Self::Sysbench, Self::Slap, Self::Loop, Self::Epoll];

    /// Its name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Dyno => "dyno",
            Self::Sysbench => "sysbench",
            Self::Slap => "mariadb-slap",
            Self::Loop => "loop",
            Self::Epoll => "epoll",
        }
    }

    /// Those named in a list with commas.
    ///
    /// # Errors
    /// One is unknown.
    pub fn of_list(names: &str) -> Result<Vec<Self>> {
        let find = |name: &str| Self::ALL.into_iter().find(|peer| peer.name() == name);
        let names = names.split(',');
        let found = names.map(|name| find(name).ok_or_else(|| format!("there is no program \"{name}\"").into()));
        found.collect()
    }
}

/// What is executed, how, and where.
#[derive(Clone, Copy)]
pub struct Case<'a> {
    /// What the server is called.
    pub name: &'a str,
    /// The server.
    pub server: &'a dyn Server,
    /// Connections and path.
    pub client: Client,
    /// The statement.
    pub statement: PointStatement,
    /// Prepared once per connection, or with the id written into its text.
    pub protocol: Protocol,
}

impl Display for Case<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (path, connections) = (self.client.path(), self.client.clients);
        write!(
            f,
            "{}-{path}-{connections}-{}-{}",
            self.name,
            self.statement,
            self.protocol_name()
        )
    }
}

impl Case<'_> {
    /// How the statement travels.
    #[must_use]
    pub fn protocol_name(&self) -> &'static str {
        match self.protocol {
            Protocol::Simple => "text",
            other => other.name(),
        }
    }

    /// Whether `peer` can do it.
    #[must_use]
    pub fn is_for(&self, peer: Peer) -> bool {
        peer != Peer::Slap || self.protocol == Protocol::Simple && self.server.slap_options(false).is_some()
    }

    /// Has `peer` do it. About `expected_tps` transactions a second, mariadb-slap is told how many that makes.
    ///
    /// # Errors
    /// It cannot be run, or its report cannot be read.
    pub fn run(&self, peer: Peer, dyno: &Path, slap: Option<&Slap>, rows: u64, expected_tps: f64) -> Result<Cost> {
        let Self { server, client, .. } = *self;
        let bare = |by: BareLoop| by.run(server, client, &format!("{}$1", self.statement.begin()), self.protocol);
        match peer {
            Peer::Dyno => {
                let protocol = format!("protocol={}", self.protocol);
                let words = ["--no-sampling", "--set", &protocol];
                run_experiment(dyno, server, client, self.statement.experiment(), &words)
            }
            Peer::Sysbench => run_sysbench(server, client, self.statement, self.protocol, rows),
            Peer::Slap => {
                let slap = slap.ok_or("there is no mariadb-slap")?;
                slap.run(server, client, self.statement, rows, expected_tps)
            }
            Peer::Loop => bare(BareLoop::cheapest(client.clients)),
            Peer::Epoll => bare(BareLoop::Epoll),
        }
    }
}
