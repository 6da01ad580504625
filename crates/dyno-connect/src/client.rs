//! A connection for what is asked beside a load: one statement after the other, each waited for.

use crate::cancel::{CANCEL_PATIENCE, cancel};
use crate::opening::{Opening, log_in_first};
use crate::{Address, ConnectError, Endpoint, Limit};
use dyno_wire::tls::SslMode;
use dyno_wire::{Cancel, CapturedResult, Event, Reply, ResultTooLarge, ServerError, Session};
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
    /// The connection broke, the answer did not come in time, or somebody asked to stop. Nothing more is answered.
    #[error(transparent)]
    Lost(Box<ConnectError>),
}

/// Makes the sessions of connections, as for [`log_in`](crate::log_in).
type Sessions<S> = Box<dyn Fn(Option<SslMode>) -> S + Send>;

/// A connection that is logged in. Each call waits for its answer.
pub struct Client<S: Session> {
    opening: Opening,
    session: S,
    out: Vec<u8>,
    endpoint: Endpoint,
    sessions: Sessions<S>,
    patience: Option<Duration>,
    lost: bool,
}

impl<S: Session> Client<S> {
    /// Connects to a server. `sessions` is as for [`log_in`](crate::log_in). A request to stop ends what is waited for
    /// later, too, and the server is asked to give it up. One that is out of reach is [noticed](crate::notice_outage).
    ///
    /// # Errors
    /// As for [`log_in`](crate::log_in).
    pub fn connect(
        mut endpoint: Endpoint,
        sessions: impl Fn(Option<SslMode>) -> S + Send + 'static,
        limit: Limit<'_>,
    ) -> Result<Self, ConnectError> {
        let (opening, session) = log_in_first(&endpoint, &sessions, limit)?;
        opening.notice_outage()?;
        if let Some(peer) = opening.peer() {
            // Another address may be another server's, which gives the same numbers to the sessions of others.
            endpoint.address = Address::Tcp(vec![peer]);
        }
        Ok(Self {
            opening,
            session,
            out: Vec::new(),
            endpoint,
            sessions: Box::new(sessions),
            patience: None,
            lost: false,
        })
    }

    /// The server that it is connected to.
    pub fn endpoint(&self) -> &Endpoint {
        &self.endpoint
    }

    /// Its session: what the last answer held is there.
    pub fn session(&self) -> &S {
        &self.session
    }

    /// Waits this long for the answer to a statement from now on; with `None`, as at first, as long as it takes.
    pub fn set_patience(&mut self, patience: Option<Duration>) {
        self.patience = patience;
    }

    /// Executes one or more statements, for as long as the patience lasts. Results are dropped.
    ///
    /// # Errors
    /// The server refuses one, or the connection is lost.
    pub fn execute(&mut self, statements: &str) -> Result<Reply, ClientError> {
        self.ask(|session, out| session.query(|text| text.extend_from_slice(statements.as_bytes()), out))
    }

    /// Sends what `ask` has the session append, which is to have one reply, and waits for that.
    ///
    /// # Errors
    /// As for [`execute`](Self::execute).
    pub fn ask(&mut self, ask: impl FnOnce(&mut S, &mut Vec<u8>)) -> Result<Reply, ClientError> {
        if self.lost {
            return Err(ClientError::Lost(Box::new(self.opening.given_up())));
        }
        ask(&mut self.session, &mut self.out);
        match self.reply() {
            Ok(reply) => match self.session.error() {
                Some(error) if reply.failed => Err(ClientError::Refused(Box::new(error.clone()))),
                _ => Ok(reply),
            },
            Err(error) => {
                self.lost = true;
                // What was not sent is not executed.
                if matches!(error, ConnectError::Stopped) && self.out.is_empty() {
                    self.cancel();
                }
                Err(ClientError::Lost(Box::new(error)))
            }
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

    fn reply(&mut self) -> Result<Reply, ConnectError> {
        loop {
            let told = self.opening.ask_for(&mut self.session, &mut self.out, self.patience)?;
            if let Event::Reply(reply) = told {
                return Ok(reply);
            }
        }
    }

    /// Asks the server to give up what it is executing: closing the connection would not end that.
    fn cancel(&mut self) {
        // Who cannot be asked goes on until it notices that its client is gone.
        let _ = match self.session.cancel() {
            Some(Cancel::Statement(statement)) => cancel(&self.endpoint, &self.sessions, &[statement]),
            Some(Cancel::Break(message)) => self.opening.tell(&message, CANCEL_PATIENCE),
            Some(Cancel::Message(_)) | None => Ok(()),
        };
    }
}

impl<S: Session> Drop for Client<S> {
    fn drop(&mut self) {
        if self.lost {
            return;
        }
        // A courtesy: the server may have gone.
        self.session.terminate(&mut self.out);
        let _ = self.opening.tell(&self.out, GOODBYE);
    }
}
