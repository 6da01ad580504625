//! A sampler's connection to the server: opened anew when it was lost, and kept from disturbing anybody.

use crate::mysql::address::ConnectionInfo;
use crate::mysql::{Client, ClientError};
use crate::sampler::SampleError;
use std::collections::BTreeSet;
use std::sync::{Arc, Mutex, PoisonError};

/// Never waits long for a lock, whatever is going on in the server.
const SESSION: &str = "set session lock_wait_timeout = 1";

/// Never computes long, as each of the two servers has it.
const LIMITS: [&str; 2] = [
    "set session max_statement_time = 10",
    "set session max_execution_time = 10000",
];

/// The sessions of all samplers of a run, by the server's numbers for them. Clones are the same.
#[derive(Clone, Debug, Default)]
pub(super) struct OwnSessions(Arc<Mutex<BTreeSet<u64>>>);

impl OwnSessions {
    fn add(&self, id: u64) {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).insert(id);
    }

    /// As a list for a statement, which has at least one member.
    pub(super) fn listed(&self) -> String {
        let own = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let own = own.iter().map(u64::to_string).chain(["0".to_owned()]);
        own.collect::<Vec<_>>().join(", ")
    }
}

/// A connection.
pub(super) struct Link {
    info: ConnectionInfo,
    own: OwnSessions,
    client: Option<Client>,
}

impl Link {
    /// Tries to connect at once, so that this is done when the load begins; if it fails, the first use will say so. The
    /// connection has no database, so that it is not among those of the load's.
    pub(super) fn new(info: &ConnectionInfo, own: &OwnSessions) -> Self {
        let mut link = Self {
            info: info.with_database(""),
            own: own.clone(),
            client: None,
        };
        link.client = link.open().ok();
        link
    }

    /// Does something on the connection, which is opened if need be.
    pub(super) fn with<R>(
        &mut self,
        work: impl FnOnce(&mut Client) -> Result<R, ClientError>,
    ) -> Result<R, SampleError> {
        let said = |error: ClientError| SampleError(error.to_string());
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.open().map_err(said)?,
        };
        let done = work(&mut client);
        // What the server refuses it may do another time; a connection that was lost is.
        if !matches!(done, Err(ClientError::Lost(_))) {
            self.client = Some(client);
        }
        done.map_err(said)
    }

    /// What a query brings that the server may refuse, of which nothing is to be said again and again.
    pub(super) fn allowed<R>(
        &mut self,
        work: impl FnOnce(&mut Client) -> Result<R, ClientError>,
    ) -> Result<Option<R>, SampleError> {
        self.with(|client| match work(client) {
            Err(ClientError::Server(_)) => Ok(None),
            done => done.map(Some),
        })
    }

    fn open(&self) -> Result<Client, ClientError> {
        let mut client = self.info.connect_to_sample()?;
        for statement in [SESSION].into_iter().chain(LIMITS) {
            match client.execute(statement) {
                Ok(()) | Err(ClientError::Server(_)) => {}
                Err(lost) => return Err(lost),
            }
        }
        if let Some(id) = client.query_first("select connection_id()")? {
            self.own.add(id);
        }
        Ok(client)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_of_own_sessions_is_never_empty() {
        let own = OwnSessions::default();
        assert_eq!(own.listed(), "0");
        own.clone().add(7);
        assert_eq!(own.listed(), "7, 0");
    }
}
