//! An Oracle connection's protocol state.

mod answer;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;
use std::sync::Arc;

use answer::{Reset, Task};
use steps::{Known, Step};

use super::bind::Binds;
use super::kind::Kind;
use super::message::{End, Rows};
use super::packet::{self, Framing, Lengths, marker};
use super::request::{Plain, Requests};
use super::start_up::StartUp;
use super::{NAME, OraAgreed, OraConfig, OraStatement, POSTGRESQL};
use crate::results::Room;
use crate::tls::{self, SslMode, Words};
use crate::{
    Cancel, CapturedResult, Event, Listener, Parameters, Protocol, Redirect, Reply, ServerError, Session,
    TransactionStatus, WireError,
};

/// One connection to an Oracle server, without the connection.
///
/// Rows are passed over unless they are captured, and fetched until the result is complete, so many at a time as
/// [`OraConfig::rows_per_fetch`] says. A statement of the prepared protocol is parsed once for each connection and then
/// executed by its cursor, which is kept whatever its rows came to; cursors of other statements are closed with the
/// next request.
///
/// Oracle has no BEGIN and commits nothing of its own accord. Outside of BEGIN and COMMIT, which a session answers and
/// sends as calls, each statement is committed with its execution; a query that left a transaction open, such as SELECT
/// FOR UPDATE, is followed by a commit.
///
/// The statements of a pipeline are executed one after the other: Oracle's servers before 23ai take one request at a
/// time. Behind one that failed the others are executed all the same, and the reply tells the first error.
pub struct OraSession {
    lengths: Lengths,
    framing: Framing,
    /// A message of which a part has come.
    held: Vec<u8>,
    requests: Requests,
    reset: Reset,
    /// What is under way.
    task: Option<Task>,
    /// How the call under way ended, if it has.
    end: Option<End>,
    rows: Rows,
    /// The reply under way.
    reply: Reply,
    /// What waits for it.
    waiting: VecDeque<Step>,
    /// The reply to what was asked for last, if the server need not be asked.
    answered: Option<Reply>,
    /// What the server knows of statements, by their indexes.
    known: Vec<Known>,
    /// Room for a statement's values and its text.
    binds: Binds,
    text: Vec<u8>,
    /// Whether a script has begun a transaction.
    begun: bool,
    /// Whether the server has one open.
    is_open: bool,
    error: Option<Box<ServerError>>,
    /// Whether `error` belongs to the last reply, the one under way, or the connection's end.
    error_stands: bool,
    notices: Vec<ServerError>,
    captured: Vec<CapturedResult>,
    current: CapturedResult,
    room: Room,
    session_id: u32,
    serial_number: u32,
    version: Box<str>,
    agreed: Box<OraAgreed>,
    /// Until the server lets us in.
    start_up: Option<Box<StartUp>>,
    config: Arc<OraConfig>,
}

impl OraSession {
    /// A session that has sent and received nothing yet.
    pub fn new(config: Arc<OraConfig>) -> Self {
        Self {
            lengths: Lengths::default(),
            framing: Framing::default(),
            held: Vec::new(),
            requests: Requests::default(),
            reset: Reset::default(),
            task: None,
            end: None,
            rows: Rows::default(),
            reply: Reply::default(),
            waiting: VecDeque::new(),
            answered: None,
            known: Vec::new(),
            binds: Binds::default(),
            text: Vec::new(),
            begun: false,
            is_open: false,
            error: None,
            error_stands: false,
            notices: Vec::new(),
            captured: Vec::new(),
            current: CapturedResult::default(),
            room: Room::default(),
            session_id: 0,
            serial_number: 0,
            version: Box::default(),
            agreed: Box::default(),
            start_up: Some(Box::default()),
            config,
        }
    }

    /// The same session with TLS from the first byte (`tcps`), as strictly as this.
    #[must_use]
    pub fn asking_for_tls(mut self, mode: SslMode) -> Self {
        if let Some(start_up) = &mut self.start_up {
            start_up.asks_for_tls = Some(mode);
        }
        self
    }

    /// The server's version, such as `19.3.0.0.0`; empty until it has let us in.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// What the server and we agreed on; nothing until it has let us in.
    pub fn agreed(&self) -> &OraAgreed {
        &self.agreed
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
    const TLS_BEGINS_ANEW: bool = true;
    const HANGS_UP_ON_US: Option<&'static Listener> = Some(&Listener {
        question: tls::ssl_request,
        answers: b"SN",
        database: &POSTGRESQL,
    });

    fn start(&mut self, out: &mut Vec<u8>) -> Result<Event, WireError> {
        self.lengths = Lengths::default();
        self.framing = Framing::default();
        match &mut self.start_up {
            Some(start_up) => start_up.start(&self.config, out),
            None => Ok(Event::Started),
        }
    }

    fn encrypted(&mut self, tls: &rustls::ClientConnection, out: &mut Vec<u8>) -> Result<Event, WireError> {
        if let Some(start_up) = &mut self.start_up {
            let parts = tls.protocol_version().zip(tls.negotiated_cipher_suite());
            start_up.agreed.tls = parts.map(|(version, suite)| format!("{version:?} {:?}", suite.suite()));
            start_up.ask(&self.config, out)?;
        }
        Ok(Event::NeedInput)
    }

    fn redirection(&self) -> Option<&Redirect> {
        self.start_up.as_ref()?.redirection.as_ref()
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Event), WireError> {
        if let Some(start_up) = self.start_up.as_ref().filter(|_| !self.framing.in_packet()) {
            start_up.check_first(input)?;
        }
        let mut at = 0;
        loop {
            // Taken out, because the packet may be in it.
            let mut framing = std::mem::take(&mut self.framing);
            let next = framing.next(self.lengths, &input[at..]);
            let taken = next.and_then(|(length, packet)| {
                at += length;
                packet.map_or(Ok(Some(Event::NeedInput)), |packet| self.take_packet(packet, out))
            });
            self.framing = framing;
            if let Some(event) = taken? {
                return Ok((at, event));
            }
        }
    }

    #[inline]
    fn knows(&self, statement: &OraStatement) -> bool {
        !statement.is_kept() || self.known.get(statement.index()).is_some_and(Known::is_known)
    }

    fn is_introducing(&self) -> bool {
        self.task.as_ref().is_some_and(|task| task.introduces)
    }

    fn encode(index: usize, text: &str, parameter_count: usize, protocol: Protocol) -> Result<OraStatement, WireError> {
        OraStatement::new(index, text, parameter_count, protocol)
    }

    fn carries_text(statement: &OraStatement) -> bool {
        !statement.is_kept()
    }

    fn prepare(&mut self, statement: &OraStatement, out: &mut Vec<u8>) -> bool {
        let unknown = !self.knows(statement);
        if unknown {
            self.submit(Step::Parse(statement.clone()), out);
        }
        unknown
    }

    fn queue(&mut self, statement: &OraStatement, parameters: &impl Parameters, out: &mut Vec<u8>) {
        self.execute_statement(statement, parameters, true, out);
    }

    fn sync(&mut self, out: &mut Vec<u8>) {
        match self.is_idle() {
            // What belongs to it is answered, if there was anything.
            true => self.answered = Some(self.end_reply()),
            false => self.submit(Step::Sync, out),
        }
    }

    fn capture(&mut self) {
        self.captured.clear();
        self.current = CapturedResult::default();
        self.room = Room::default();
        self.rows.shown = true;
    }

    fn captured(&self) -> &[CapturedResult] {
        &self.captured
    }

    fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices)
    }

    #[inline]
    fn execute(&mut self, statement: &OraStatement, parameters: &impl Parameters, out: &mut Vec<u8>) {
        self.execute_statement(statement, parameters, false, out);
    }

    fn query(&mut self, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        let mut text = Vec::new();
        write(&mut text);
        let (kind, text) = Kind::of(&text);
        match (kind, self.is_idle()) {
            (Kind::Begin, true) => self.begin_here(),
            _ => {
                let text = text.to_vec();
                self.submit(Step::Text { kind, text }, out);
            }
        }
    }

    fn rollback(&mut self, out: &mut Vec<u8>) {
        self.submit(Step::Rollback, out);
    }

    fn answered(&mut self) -> Option<Reply> {
        self.answered.take()
    }

    fn terminate(&mut self, out: &mut Vec<u8>) {
        // In the middle of a response the server would take it for nonsense.
        if self.start_up.is_none() && self.is_idle() {
            self.requests.plain(Plain::LogOff, out);
        }
    }

    fn cancel(&self) -> Option<Cancel> {
        let mut message = Vec::new();
        packet::write_marker(&mut message, marker::INTERRUPT);
        self.task.as_ref().map(|_| Cancel::Break(message))
    }

    fn is_replying(&self) -> bool {
        let reply = &self.reply;
        let has_begun = self.framing.in_packet() || !self.held.is_empty() || self.end.is_some();
        has_begun || reply.rows > 0 || reply.completed > 0 || reply.accepted > 0 || reply.failed
    }

    fn in_transaction(&self) -> TransactionStatus {
        match self.begun || self.is_open {
            true => TransactionStatus::Open,
            false => TransactionStatus::Idle,
        }
    }

    fn error(&self) -> Option<&ServerError> {
        self.error.as_deref().filter(|_| self.error_stands)
    }
}
