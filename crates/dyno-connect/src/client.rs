//! A connection for what is asked beside a load: one statement after the other, each waited for.

use crate::opening::{Opening, log_in};
use crate::{ConnectError, Endpoint, Limit};
use dyno_wire::tls::SslMode;
use dyno_wire::{CapturedResult, Event, Reply, ResultTooLarge, ServerError, Session};
use std::time::Duration;

/// How long taking leave may take.
const GOODBYE: Duration = Duration::from_secs(1);

/// What was asked failed.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// The server refused a statement.
    #[error("{0}")]
    Refused(Box<ServerError>),
    /// The result is larger than is kept.
    #[error(transparent)]
    TooLarge(#[from] ResultTooLarge),
    /// The connection broke, or somebody asked to stop.
    #[error(transparent)]
    Lost(Box<ConnectError>),
}

/// A connection that is logged in. Each call waits for its answer.
pub struct Client<S: Session> {
    opening: Opening,
    session: S,
    out: Vec<u8>,
}

impl<S: Session> Client<S> {
    /// Connects to a server. `session` is as for [`log_in`]. A request to stop ends what is waited for later, too.
    ///
    /// # Errors
    /// As for [`log_in`].
    pub fn connect(
        endpoint: &Endpoint,
        session: impl Fn(Option<SslMode>) -> S,
        limit: Limit<'_>,
    ) -> Result<Self, ConnectError> {
        let (opening, session) = log_in(endpoint, session, limit)?;
        Ok(Self {
            opening,
            session,
            out: Vec::new(),
        })
    }

    /// Executes one or more statements, however long that takes. Results are dropped.
    ///
    /// # Errors
    /// The server refuses one, or the connection is lost.
    pub fn execute(&mut self, statements: &str) -> Result<Reply, ClientError> {
        self.session
            .query(|out| out.extend_from_slice(statements.as_bytes()), &mut self.out);
        loop {
            let told = self.opening.ask_at_leisure(&mut self.session, &mut self.out);
            let told = told.map_err(|error| ClientError::Lost(Box::new(error)))?;
            let Event::Reply(reply) = told else { continue };
            return match self.session.error() {
                Some(error) if reply.failed => Err(ClientError::Refused(Box::new(error.clone()))),
                _ => Ok(reply),
            };
        }
    }

    /// Executes statements and gives the result of the last one that has any.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute), or the result is too large.
    pub fn query(&mut self, statements: &str) -> Result<CapturedResult, ClientError> {
        self.session.capture();
        self.execute(statements)?;
        let mut results = self.session.captured().iter().rev();
        let result = results.find(|result| result.is_query).cloned().unwrap_or_default();
        result.all_rows()?;
        Ok(result)
    }
}

impl<S: Session> Drop for Client<S> {
    fn drop(&mut self) {
        // A courtesy: the server may have gone.
        self.session.terminate(&mut self.out);
        let _ = self.opening.tell(&self.out, GOODBYE);
    }
}
