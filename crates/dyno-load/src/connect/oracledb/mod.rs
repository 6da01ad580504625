//! Oracle's own crate in the place of dyno's sessions: for what those cannot, such as a wallet whose key is encrypted,
//! and as a second client to hold them against.
//!
//! It is the slower way. The crate owns its socket, blocks, and cannot be told to give up, so each client has two
//! threads: that of the engine, which waits, and one that its connection lives on ([`link`]). It has no commit with an
//! execution, does not say whether a transaction is open, and has selects parsed far more often than dyno's sessions do
//! ([`session`]).

mod error;
mod link;
mod session;
mod value;

use dyno_engine::backend::blocking::Library;
use dyno_engine::{ConnectError, Limit};
use dyno_target::oracle::ClientError;
use dyno_target::oracle::address::ConnectionInfo;
use dyno_wire::OraStatement;
use link::Link;
use oracledb::Config;
use std::sync::Arc;
use std::time::Duration;

/// How many statements the crate keeps beside those of the scripts: what it asks of its own accord.
const OTHER_STATEMENTS: usize = 8;

/// The connections of a workload that go through Oracle's crate.
pub struct Crate {
    /// The address of each host, without a password, and what to connect to it with.
    hosts: Vec<(String, Config)>,
    connect_timeout: Duration,
    statements: Arc<[OraStatement]>,
}

impl Crate {
    /// Connections to this server that execute these statements.
    ///
    /// # Errors
    /// The crate cannot do what the address asks for.
    pub fn new(info: &ConnectionInfo, statements: Vec<OraStatement>) -> Result<Self, ClientError> {
        let kept = statements.iter().filter(|statement| statement.is_kept()).count();
        let hosts = info.hosts().map(|host| {
            let one = info.narrowed(host);
            let config = one.of_crate()?.set_stmtcachesize(kept + OTHER_STATEMENTS);
            Ok((one.to_string(), config))
        });
        Ok(Self {
            hosts: hosts.collect::<Result<_, ClientError>>()?,
            connect_timeout: info.connect_timeout,
            statements: statements.into(),
        })
    }
}

impl Library for Crate {
    type Connection = Link;

    fn connect_timeout(&self) -> Duration {
        self.connect_timeout
    }

    fn connect(&self, _workload: &str, limit: Limit<'_>) -> Result<Link, ConnectError> {
        let mut errors = Vec::new();
        for (address, config) in &self.hosts {
            let statements = Arc::clone(&self.statements);
            match Link::open(address, config.clone(), statements, self.connect_timeout, limit) {
                Ok(link) => return Ok(link),
                Err(error) => {
                    let is_last = !error.is_elsewhere_better();
                    errors.push(error);
                    if is_last {
                        break;
                    }
                }
            }
        }
        Err(ConnectError::of_all(errors))
    }

    fn address(&self) -> String {
        let addresses: Vec<_> = self.hosts.iter().map(|(address, _)| address.as_str()).collect();
        addresses.join(", ")
    }
}
