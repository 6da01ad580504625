//! A PostgreSQL connection's protocol state.

use std::sync::Arc;

use bytes::BytesMut;
use postgres_protocol::message::frontend;
use rustls::ClientConnection;

use super::capture::Capture;
use super::error_response::{self, FEATURE_NOT_SUPPORTED};
use super::framing::{Framing, Message};
use super::known::Known;
use super::parameter_status::ParameterStatus;
use super::start_up::{StartUp, backend_key, check_version};
use super::statement::write_length;
use super::{NAME, malformed};
use crate::tls::Words;
use crate::{
    BackendKey, Cancel, CapturedResult, Event, Parameters, PgConfig, PgStatement, Preparation, Protocol, Reply,
    ServerError, Session, TransactionStatus, WireError,
};

/// How many notices wait to be taken; further ones are dropped.
const MAX_NOTICES: usize = 16;

/// One connection to a PostgreSQL server, without the connection.
///
/// Replies are not stored: rows and whatever else nobody looks into are skipped by their length, however many reads
/// they span, and errors and notices are kept up to 16 KiB each. So a session takes less than a kilobyte, most of
/// it the settings the server reported. COPY from or to the client is refused: a script has no data to give, and no
/// use for any.
pub struct PgSession {
    pub(super) framing: Framing,
    status: TransactionStatus,
    /// Whether the statement under way uses the extended protocol; refusing COPY differs.
    extended: bool,
    /// Whether `error` belongs to the last reply, the one under way, or the connection's end.
    pub(super) error_stands: bool,
    /// Replies still to come.
    awaited: u32,
    /// Whether statements were sent whose reply is part of one that is not asked for yet.
    queued: bool,
    /// The reply under way.
    pub(super) reply: Reply,
    pub(super) error: Option<Box<ServerError>>,
    notices: Vec<ServerError>,
    /// What is kept of results, once asked for.
    pub(super) capture: Option<Box<Capture>>,
    pub(super) parameters: ParameterStatus,
    key: Option<BackendKey>,
    /// The statements that were made known to the server, whether it accepted them or not.
    known: Known,
    /// Whether the last of them was made known with its execution, whose reply is still to come.
    introducing: bool,
    /// Until the server is ready for the first time.
    pub(super) start_up: Option<Box<StartUp>>,
    /// Whether the session awaits the answer to the session kind's question.
    pub(super) asking: bool,
    pub(super) config: Arc<PgConfig>,
}

impl PgSession {
    /// A session that has sent and received nothing yet, without TLS.
    pub fn new(config: Arc<PgConfig>) -> Self {
        Self {
            framing: Framing::new(),
            status: TransactionStatus::Idle,
            extended: false,
            error_stands: false,
            awaited: 0,
            queued: false,
            reply: Reply::default(),
            error: None,
            notices: Vec::new(),
            capture: None,
            parameters: ParameterStatus::default(),
            key: None,
            known: Known::default(),
            introducing: false,
            start_up: Some(Box::default()),
            asking: false,
            config,
        }
    }

    /// What a [`cancel_request`](crate::cancel_request) needs; `None` until the start-up is finished, and from
    /// servers (or connection pools) that offer no cancelling.
    pub fn backend_key(&self) -> Option<BackendKey> {
        self.key
    }

    /// A setting the server reported, such as `server_version`, `TimeZone` or `in_hot_standby`.
    pub fn parameter(&self, name: &str) -> Option<&str> {
        self.parameters.get(name)
    }

    /// The server is ready for the next statement.
    #[inline]
    fn ready(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Event, WireError> {
        self.status = match body {
            b"I" => TransactionStatus::Idle,
            b"T" => TransactionStatus::Open,
            b"E" => TransactionStatus::Failed,
            _ => return Err(malformed("its transaction status is unknown")),
        };
        if self.start_up.is_some() {
            return self.started(out);
        }
        let Some(awaited) = self.awaited.checked_sub(1) else {
            return Err(WireError::Unasked { database: NAME });
        };
        self.awaited = awaited;
        self.error_stands = self.reply.failed;
        self.reply.accepted = self.framing.end_reply();
        self.framing.keep_rows(false);
        if self.introducing {
            self.introduced();
        }
        let reply = std::mem::take(&mut self.reply);
        if self.asking {
            return self.answered();
        }
        Ok(Event::Reply(reply))
    }

    /// The reply to an execution that made its statement known is complete.
    #[cold]
    fn introduced(&mut self) {
        self.introducing = false;
        self.reply.preparation = match (self.reply.failed, self.reply.accepted) {
            (true, 0) => Preparation::Refused,
            _ => Preparation::Accepted,
        };
    }

    /// Makes a statement known as part of what is sent next.
    #[cold]
    fn append_preparation(&mut self, statement: &PgStatement, out: &mut Vec<u8>) {
        // Without the Sync at its end.
        let message = statement.preparation();
        out.extend_from_slice(message.strip_suffix(SYNC).unwrap_or(message));
        self.known.insert(statement.index());
    }

    /// Whether what comes is a part of a reply, though none is awaited, however it is cut into reads.
    #[cold]
    fn is_unasked(&self, next: &Result<(usize, Option<Message<'_>>), WireError>) -> bool {
        let passed = matches!(next, Ok((_, Some(Message { rows: 1.., .. }))));
        !self.queued && (passed || self.is_replying())
    }

    /// Takes in a message that does not come with every reply.
    #[cold]
    fn rare(&mut self, tag: u8, body: &[u8], out: &mut Vec<u8>) -> Result<(), WireError> {
        match (tag, &mut self.start_up) {
            (b'I', None) => self.complete()?,
            (b'T', None) => self.kept().describe(body)?,
            (b'D', None) => {
                self.reply.rows += 1;
                self.kept().row(body)?;
            }
            (b'S', _) => self.parameters.report(body),
            (b'N', _) => self.keep_notice(body),
            (b'E', _) => return self.failed(body),
            (b'R', Some(start_up)) => start_up.authentication.receive(body, &self.config, out)?,
            (b'K', Some(_)) => self.key = Some(backend_key(body)?),
            (b'v', Some(_)) => check_version(body)?,
            (b'G', None) if self.awaited > 0 || self.queued => self.refuse_copy_in(out),
            (b'H', None) if self.awaited > 0 || self.queued => self.refuse_copy_out(),
            (tag, Some(_)) => {
                return Err(WireError::Unexpected {
                    database: NAME,
                    tag,
                    when: "during start-up",
                });
            }
            (tag, None) => {
                return Err(WireError::Unexpected {
                    database: NAME,
                    tag,
                    when: "after start-up",
                });
            }
        }
        Ok(())
    }

    /// A query is complete.
    #[inline]
    fn complete(&mut self) -> Result<(), WireError> {
        self.reply.completed += 1;
        match self.framing.keeps_rows() {
            true => self.kept().complete(),
            false => Ok(()),
        }
    }

    fn kept(&mut self) -> &mut Capture {
        self.capture.get_or_insert_default()
    }

    fn keep_notice(&mut self, body: &[u8]) {
        self.reply.noticed = true;
        if self.notices.len() < MAX_NOTICES {
            self.notices.push(error_response::parse(body));
        }
    }

    /// Notes an error, which ends the reply under way, or the connection.
    fn failed(&mut self, body: &[u8]) -> Result<(), WireError> {
        let error = error_response::parse(body);
        let ends_connection = error.fatal || self.start_up.is_some();
        if self.awaited == 0 && !self.queued && !ends_connection {
            // It can belong to no reply of ours.
            self.keep_notice(body);
            return Ok(());
        }
        self.reply.failed = true;
        self.error_stands = true;
        if ends_connection {
            self.error = Some(Box::new(error.clone()));
            return Err(WireError::Server(Box::new(error)));
        }
        self.error = Some(Box::new(error));
        Ok(())
    }

    /// Says that no data will come; the server then reports the COPY as failed.
    fn refuse_copy_in(&mut self, out: &mut Vec<u8>) {
        self.reply.copy_refused = true;
        let mut message = BytesMut::new();
        // Fails only for a text with a NUL byte.
        if frontend::copy_fail("a script has no data to send", &mut message).is_ok() {
            out.extend_from_slice(&message);
        }
        if self.extended {
            // The Syncs sent behind the statement were swallowed as part of the COPY; the server waits for others. Any
            // other message would have made it end the connection.
            for _ in 0..self.awaited {
                out.extend_from_slice(SYNC);
            }
        }
    }

    /// Marks the reply as failed; the data, already under way, is skipped.
    fn refuse_copy_out(&mut self) {
        self.reply.copy_refused = true;
        self.reply.failed = true;
        self.error_stands = true;
        self.error = Some(Box::new(ServerError {
            severity: "ERROR".into(),
            code: FEATURE_NOT_SUPPORTED,
            message: "COPY TO STDOUT is not supported in a script".into(),
            hint: Some("Select the rows, or copy to a file on the server.".into()),
            ..ServerError::default()
        }));
    }
}

/// Ends an extended query and asks for ReadyForQuery.
const SYNC: &[u8] = b"S\0\0\0\x04";
/// Says that the connection is about to be closed.
const TERMINATE: &[u8] = b"X\0\0\0\x04";

/// The number at the end of a command tag such as `INSERT 0 5`; 0 if it ends otherwise.
#[inline]
fn affected(tag: &[u8]) -> u64 {
    let Some((0, text)) = tag.split_last() else {
        return 0;
    };
    let (mut number, mut unit) = (0_u64, 1_u64);
    for &byte in text.iter().rev() {
        match byte {
            b'0'..=b'9' => {
                number = number.wrapping_add(unit.wrapping_mul(u64::from(byte - b'0')));
                unit = unit.wrapping_mul(10);
            }
            b' ' => return number,
            _ => break,
        }
    }
    0
}

/// Whether a command tag is that of something that returns rows, even if there were none.
#[inline]
fn is_query(tag: &[u8]) -> bool {
    let [b'S' | b'F' | b'E', ..] = tag else {
        return false;
    };
    [&b"SELECT "[..], b"SHOW\0", b"FETCH ", b"EXPLAIN\0"]
        .iter()
        .any(|query| tag.starts_with(query))
}

impl Session for PgSession {
    type Statement = PgStatement;

    const DATABASE: &'static str = NAME;
    const TLS_WORDS: Words = Words::Libpq;
    const LETS_IN_BY_ENCRYPTION: bool = true;

    fn start(&mut self, out: &mut Vec<u8>) -> Result<Event, WireError> {
        self.begin(out)?;
        Ok(Event::NeedInput)
    }

    fn encrypted(&mut self, tls: &ClientConnection, out: &mut Vec<u8>) -> Result<Event, WireError> {
        self.begin_encrypted(tls, out)?;
        Ok(Event::NeedInput)
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Event), WireError> {
        let mut at = 0;
        // Asked first, and true where a load spends its time: a reply is awaited.
        if self.awaited == 0
            && self.start_up.is_some()
            && let Some(opened) = self.open(input, out)?
        {
            return Ok(opened);
        }
        loop {
            let next = self.framing.next(&input[at..]);
            if self.awaited == 0 && self.is_unasked(&next) {
                return Err(WireError::Unasked { database: NAME });
            }
            let (length, message) = next?;
            at += length;
            let Some(Message { tag, body, rows }) = message else {
                return Ok((at, Event::NeedInput));
            };
            self.reply.rows += rows;
            match tag {
                b'C' => {
                    self.reply.affected = self.reply.affected.saturating_add(affected(&body));
                    self.reply.result_sets += u64::from(rows > 0 || is_query(&body));
                    self.complete()?;
                }
                b'Z' => return Ok((at, self.ready(&body, out)?)),
                _ => self.rare(tag, &body, out)?,
            }
        }
    }

    #[inline]
    fn knows(&self, statement: &PgStatement) -> bool {
        !statement.is_prepared() || self.known.contains(statement.index())
    }

    fn encode(index: usize, text: &str, parameter_count: usize, protocol: Protocol) -> Result<PgStatement, WireError> {
        PgStatement::new(index, text, parameter_count, protocol)
    }

    fn carries_text(statement: &PgStatement) -> bool {
        !statement.is_prepared()
    }

    fn is_introducing(&self) -> bool {
        self.introducing
    }

    fn prepare(&mut self, statement: &PgStatement, out: &mut Vec<u8>) -> bool {
        if self.knows(statement) {
            return false;
        }
        self.append_preparation(statement, out);
        self.extended = true;
        self.sync(out);
        true
    }

    fn queue(&mut self, statement: &PgStatement, parameters: &impl Parameters, out: &mut Vec<u8>) {
        if !self.knows(statement) {
            self.append_preparation(statement, out);
        }
        self.extended = true;
        self.queued = true;
        statement.write_execution(parameters, self.framing.keeps_rows(), out);
        if statement.is_extended() {
            out.truncate(out.len() - SYNC.len());
        }
    }

    fn sync(&mut self, out: &mut Vec<u8>) {
        self.awaited = self.awaited.saturating_add(1);
        self.queued = false;
        out.extend_from_slice(SYNC);
    }

    fn capture(&mut self) {
        self.kept().start();
        self.framing.keep_rows(true);
    }

    fn captured(&self) -> &[CapturedResult] {
        self.capture.as_ref().map_or(&[], |capture| &capture.results)
    }

    fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices)
    }

    #[inline]
    fn execute(&mut self, statement: &PgStatement, parameters: &impl Parameters, out: &mut Vec<u8>) {
        if !self.knows(statement) {
            self.append_preparation(statement, out);
            self.introducing = true;
        }
        self.awaited = self.awaited.saturating_add(1);
        self.extended = statement.is_extended();
        self.queued = false;
        statement.write_execution(parameters, self.framing.keeps_rows(), out);
    }

    #[inline]
    fn query(&mut self, write: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        self.awaited = self.awaited.saturating_add(1);
        self.extended = false;
        let start = out.len();
        out.extend_from_slice(b"Q\0\0\0\0");
        write(out);
        out.push(0);
        let length = out.len().saturating_sub(start + 1);
        write_length(out, start + 1, length);
    }

    fn terminate(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(TERMINATE);
    }

    fn is_replying(&self) -> bool {
        let reply = &self.reply;
        self.framing.in_reply() || reply.rows > 0 || reply.completed > 0 || reply.failed
    }

    fn in_transaction(&self) -> TransactionStatus {
        self.status
    }

    fn cancel(&self) -> Option<Cancel> {
        Some(Cancel::Message(super::cancel_request(&self.key?).to_vec()))
    }

    fn error(&self) -> Option<&ServerError> {
        self.error.as_deref().filter(|_| self.error_stands)
    }
}
