//! A sampler's connection to the server: opened anew when it was lost.

use crate::oracle::address::ConnectionInfo;
use crate::oracle::{Client, ClientError};
use crate::sampler::SampleError;

/// A connection.
pub(super) struct Link {
    info: ConnectionInfo,
    client: Option<Client>,
}

impl Link {
    /// Tries to connect at once, so that this is done when the load begins; if it fails, the first use will say so.
    pub(super) fn new(info: &ConnectionInfo) -> Self {
        Self {
            info: info.clone(),
            client: info.connect_to_sample().ok(),
        }
    }

    /// Does something on the connection, which is opened if need be.
    pub(super) fn with<R>(
        &mut self,
        work: impl FnOnce(&mut Client) -> Result<R, ClientError>,
    ) -> Result<R, SampleError> {
        let said = |error: ClientError| SampleError(error.to_string());
        let mut client = match self.client.take() {
            Some(client) => client,
            None => self.info.connect_to_sample().map_err(said)?,
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
}
