//! An Oracle connection's protocol state.

use std::sync::Arc;

use super::{NAME, OraConfig};
use crate::tls::{SslMode, Words};
use crate::{Cancel, CapturedResult, Event, Parameters, Protocol, ServerError, Session, TransactionStatus, WireError};

/// One connection to an Oracle server, without the connection.
pub struct OraSession {
    config: Arc<OraConfig>,
    asks_for_tls: Option<SslMode>,
    error: Option<Box<ServerError>>,
    session_id: u32,
    serial_number: u32,
    version: Box<str>,
}

/// A statement in the form it travels in, made once and shared by all sessions that execute it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OraStatement {
    protocol: Protocol,
}

impl OraSession {
    /// A session that has sent and received nothing yet.
    pub fn new(config: Arc<OraConfig>) -> Self {
        Self {
            config,
            asks_for_tls: None,
            error: None,
            session_id: 0,
            serial_number: 0,
            version: Box::default(),
        }
    }

    /// The same session with TLS from the first byte (`tcps`), as strictly as this.
    #[must_use]
    pub fn asking_for_tls(mut self, mode: SslMode) -> Self {
        self.asks_for_tls = Some(mode);
        self
    }

    /// The server's version, such as `19.3.0.0.0`; empty until it has let us in.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// The session's number, `sid` in `v$session`; 0 until the server has let us in.
    pub fn session_id(&self) -> u32 {
        self.session_id
    }

    /// Tells the session from earlier ones of the same number: `serial#` in `v$session`.
    pub fn serial_number(&self) -> u32 {
        self.serial_number
    }
}

impl Session for OraSession {
    type Statement = OraStatement;

    const DATABASE: &'static str = NAME;
    const TLS_WORDS: Words = Words::Oracle;
    const LETS_IN_BY_ENCRYPTION: bool = false;

    fn start(&mut self, _out: &mut Vec<u8>) -> Result<Event, WireError> {
        Err(WireError::Unsendable(format!(
            "{} cannot be reached yet",
            self.config.host
        )))
    }

    fn encrypted(&mut self, _tls: &rustls::ClientConnection, _out: &mut Vec<u8>) -> Result<Event, WireError> {
        Ok(Event::NeedInput)
    }

    fn receive(&mut self, input: &[u8], _out: &mut Vec<u8>) -> Result<(usize, Event), WireError> {
        Ok((input.len(), Event::NeedInput))
    }

    fn knows(&self, _statement: &OraStatement) -> bool {
        true
    }

    fn encode(_index: usize, _text: &str, _count: usize, protocol: Protocol) -> Result<OraStatement, WireError> {
        Ok(OraStatement { protocol })
    }

    fn carries_text(statement: &OraStatement) -> bool {
        statement.protocol != Protocol::Prepared
    }

    fn prepare(&mut self, _statement: &OraStatement, _out: &mut Vec<u8>) -> bool {
        false
    }

    fn is_introducing(&self) -> bool {
        false
    }

    fn queue(&mut self, _statement: &OraStatement, _parameters: &impl Parameters, _out: &mut Vec<u8>) {}

    fn sync(&mut self, _out: &mut Vec<u8>) {}

    fn capture(&mut self) {}

    fn captured(&self) -> &[CapturedResult] {
        &[]
    }

    fn take_notices(&mut self) -> Vec<ServerError> {
        Vec::new()
    }

    fn execute(&mut self, _statement: &OraStatement, _parameters: &impl Parameters, _out: &mut Vec<u8>) {}

    fn query(&mut self, _write: impl FnOnce(&mut Vec<u8>), _out: &mut Vec<u8>) {}

    fn terminate(&mut self, _out: &mut Vec<u8>) {}

    fn cancel(&self) -> Option<Cancel> {
        None
    }

    fn is_replying(&self) -> bool {
        false
    }

    fn in_transaction(&self) -> TransactionStatus {
        TransactionStatus::Idle
    }

    fn error(&self) -> Option<&ServerError> {
        self.error.as_deref()
    }
}
