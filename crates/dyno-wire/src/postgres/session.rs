//! A PostgreSQL connection's protocol state.

use std::sync::Arc;

use bytes::BytesMut;
use postgres_protocol::message::frontend;

use super::authentication::Authentication;
use super::capture::Capture;
use super::framing::{Framing, Message};
use super::parameter_status::ParameterStatus;
use super::statement::write_length;
use crate::{
    BackendKey, CapturedResult, Channel, Event, Parameters, PgConfig, PgStatement, Reply, ServerError, Session,
    SessionKind, SqlState, TransactionStatus, WireError,
};

/// How many notices wait to be taken; further ones are dropped.
const MAX_NOTICES: usize = 16;

/// One connection to a PostgreSQL server, without the connection.
///
/// Replies are not stored: rows and whatever else nobody looks into are skipped by their length, however many reads they
/// span, and errors and notices are kept up to 16 KiB each. So a session takes less than a kilobyte, most of it the settings the server
/// reported. COPY from or to the client is refused: a script has no data to give, and no use for any.
pub struct PgSession {
    framing: Framing,
    status: TransactionStatus,
    /// Whether the statement under way uses the extended protocol; refusing COPY differs.
    extended: bool,
    /// Whether `error` belongs to the last reply, the one under way, or the connection's end.
    error_stands: bool,
    /// Replies still to come.
    awaited: u32,
    /// Whether statements were sent whose reply is part of one that is not asked for yet.
    queued: bool,
    /// The reply under way.
    reply: Reply,
    error: Option<Box<ServerError>>,
    notices: Vec<ServerError>,
    /// What is kept of results, once asked for.
    capture: Option<Box<Capture>>,
    parameters: ParameterStatus,
    key: Option<BackendKey>,
    /// Until the server is ready for the first time.
    authentication: Option<Box<Authentication>>,
    /// Whether the session awaits the answer to the session kind's question.
    asking: bool,
    config: Arc<PgConfig>,
}

impl PgSession {
    /// A session that has sent and received nothing yet.
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
            authentication: Some(Box::default()),
            asking: false,
            config,
        }
    }

    /// Says that the conversation travels on TLS, so that the authentication can be bound to it. Call it before the first
    /// [`receive`](Session::receive); later it has no effect.
    pub fn travels_on(&mut self, channel: Channel) {
        if let Some(authentication) = &mut self.authentication {
            authentication.vetting.channel = channel;
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
            _ => return Err(WireError::Malformed("its transaction status is unknown")),
        };
        if self.authentication.is_some() {
            return self.started(out);
        }
        let Some(awaited) = self.awaited.checked_sub(1) else {
            return Err(WireError::Unasked);
        };
        self.awaited = awaited;
        self.error_stands = self.reply.failed;
        self.reply.accepted = self.framing.end_reply();
        self.framing.keep_rows(false);
        let reply = std::mem::take(&mut self.reply);
        if self.asking {
            return self.answered();
        }
        Ok(Event::Reply(reply))
    }

    /// The server is ready for the first time.
    #[cold]
    fn started(&mut self, out: &mut Vec<u8>) -> Result<Event, WireError> {
        if self
            .authentication
            .take_if(|authentication| authentication.is_done())
            .is_none()
        {
            return Err(WireError::Unexpected {
                tag: b'Z',
                when: "before authentication",
            });
        }
        self.parameters.shrink();
        self.reply = Reply::default();
        let reported = |name| self.parameters.get(name).map(|value| value == "on");
        let standby = reported("in_hot_standby");
        let yes = match self.config.session_kind {
            SessionKind::Any => None,
            SessionKind::Primary | SessionKind::Standby => standby,
            SessionKind::ReadWrite | SessionKind::ReadOnly => standby
                .zip(reported("default_transaction_read_only"))
                .map(|(standby, read_only)| standby || read_only),
        };
        match (yes, self.config.session_kind.question()) {
            (Some(yes), _) => self.judge(yes),
            (None, None) => Ok(Event::Started),
            (None, Some(question)) => {
                self.asking = true;
                self.capture();
                self.query(|sql| sql.extend_from_slice(question.as_bytes()), out);
                Ok(Event::NeedInput)
            }
        }
    }

    /// The server has answered the session kind's question.
    #[cold]
    fn answered(&mut self) -> Result<Event, WireError> {
        self.asking = false;
        if let Some(error) = self.error.take_if(|_| self.error_stands) {
            return Err(WireError::Server(error));
        }
        let capture = self.capture.take().unwrap_or_default();
        let value = capture.results.first().and_then(|result| result.last_row.first());
        let yes = value.is_some_and(|value| matches!(value.as_deref(), Some("on" | "t")));
        self.judge(yes)
    }

    fn judge(&self, yes: bool) -> Result<Event, WireError> {
        match self.config.session_kind.refusal(yes) {
            None => Ok(Event::Started),
            Some(why) => Err(WireError::SessionKind(why)),
        }
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
        match (tag, &mut self.authentication) {
            (b'I', None) => self.complete(),
            (b'T', None) => self.kept().describe(body)?,
            (b'D', None) => {
                self.reply.rows += 1;
                self.kept().row(body)?;
            }
            (b'S', _) => self.parameters.report(body),
            (b'N', _) => self.keep_notice(body),
            (b'E', _) => return self.failed(body),
            (b'R', Some(authentication)) => authentication.receive(body, &self.config, out)?,
            (b'K', Some(_)) => self.key = Some(backend_key(body)?),
            (b'v', Some(_)) => check_version(body)?,
            (b'G', None) if self.awaited > 0 => self.refuse_copy_in(out),
            (b'H', None) if self.awaited > 0 => self.refuse_copy_out(),
            (tag, Some(_)) => {
                return Err(WireError::Unexpected {
                    tag,
                    when: "during start-up",
                });
            }
            (tag, None) => {
                return Err(WireError::Unexpected {
                    tag,
                    when: "after start-up",
                });
            }
        }
        Ok(())
    }

    /// A query is complete.
    #[inline]
    fn complete(&mut self) {
        self.reply.completed += 1;
        if self.framing.keeps_rows() {
            self.kept().complete();
        }
    }

    fn kept(&mut self) -> &mut Capture {
        self.capture.get_or_insert_default()
    }

    fn keep_notice(&mut self, body: &[u8]) {
        self.reply.noticed = true;
        if self.notices.len() < MAX_NOTICES {
            self.notices.push(ServerError::parse(body));
        }
    }

    /// Notes an error, which ends the reply under way, or the connection.
    fn failed(&mut self, body: &[u8]) -> Result<(), WireError> {
        let error = ServerError::parse(body);
        let ends_connection = error.fatal || self.authentication.is_some();
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
            // The Sync sent with the statement was swallowed as part of the COPY; the server waits for another one.
            out.extend_from_slice(SYNC);
        }
    }

    /// Marks the reply as failed; the data, already under way, is skipped.
    fn refuse_copy_out(&mut self) {
        self.reply.copy_refused = true;
        self.reply.failed = true;
        self.error_stands = true;
        self.error = Some(Box::new(ServerError {
            severity: "ERROR".into(),
            sqlstate: SqlState::FEATURE_NOT_SUPPORTED,
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

/// Reads the body of a BackendKeyData message.
fn backend_key(body: &[u8]) -> Result<BackendKey, WireError> {
    let fields = body.split_first_chunk::<4>().and_then(|(process_id, rest)| {
        Some((
            i32::from_be_bytes(*process_id),
            i32::from_be_bytes(rest.try_into().ok()?),
        ))
    });
    let (process_id, secret) = fields.ok_or(WireError::Malformed("a backend key is not 8 bytes long"))?;
    Ok(BackendKey { process_id, secret })
}

/// Reads the body of a NegotiateProtocolVersion message, by which a server says that it knows less than was asked for.
/// Since 3.0 without protocol options is the least there is, any 3.x will do.
fn check_version(body: &[u8]) -> Result<(), WireError> {
    match *body {
        [0, 3, _, _, ..] => Ok(()),
        // The documentation promises the minor version alone; servers send the whole.
        [0, 0, _, _, ..] => Ok(()),
        [m0, m1, n0, n1, ..] => Err(WireError::ProtocolVersion {
            major: u16::from_be_bytes([m0, m1]),
            minor: u16::from_be_bytes([n0, n1]),
        }),
        _ => Err(WireError::Malformed("a protocol version is cut short")),
    }
}

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

impl Session for PgSession {
    type Statement = PgStatement;

    fn start(&mut self, out: &mut Vec<u8>) -> Result<(), WireError> {
        let config = &self.config;
        if config.user.is_empty() {
            return Err(WireError::Unsendable(
                "no user name was given: put one into the address or PGUSER".into(),
            ));
        }
        let named = [
            ("user", &config.user),
            ("database", &config.database),
            ("application_name", &config.application_name),
        ];
        let fixed = named
            .into_iter()
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| (name, value.as_str()));
        let others = config
            .runtime_parameters
            .iter()
            .map(|(name, value)| (name.as_str(), value.as_str()));
        let encoding = config
            .client_encoding
            .iter()
            .map(|name| ("client_encoding", name.as_str()));
        let mut message = BytesMut::new();
        frontend::startup_message(fixed.chain(encoding).chain(others), &mut message).map_err(|error| {
            WireError::Unsendable(format!("the user, database or a setting cannot be sent: {error}"))
        })?;
        out.extend_from_slice(&message);
        Ok(())
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Event), WireError> {
        let mut at = 0;
        loop {
            let next = self.framing.next(&input[at..]);
            if self.awaited == 0 && self.is_unasked(&next) {
                return Err(WireError::Unasked);
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
                    self.complete();
                }
                b'Z' => return Ok((at, self.ready(&body, out)?)),
                _ => self.rare(tag, &body, out)?,
            }
        }
    }

    fn prepare(&mut self, statement: &PgStatement, out: &mut Vec<u8>) -> bool {
        let message = statement.preparation();
        if message.is_empty() {
            return false;
        }
        self.awaited = self.awaited.saturating_add(1);
        self.extended = true;
        out.extend_from_slice(message);
        true
    }

    fn introduce(&mut self, statement: &PgStatement, out: &mut Vec<u8>) {
        // Without the Sync at its end.
        let message = statement.preparation();
        out.extend_from_slice(message.strip_suffix(SYNC).unwrap_or(message));
        self.queued |= !message.is_empty();
    }

    fn queue(&mut self, statement: &PgStatement, parameters: &impl Parameters, out: &mut Vec<u8>) {
        self.extended = true;
        self.queued = true;
        statement.write_execution(parameters, out);
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
        self.kept().results.clear();
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
        self.awaited = self.awaited.saturating_add(1);
        self.extended = statement.is_extended();
        self.queued = false;
        statement.write_execution(parameters, out);
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

    fn cancel(&self) -> Option<Vec<u8>> {
        Some(super::cancel_request(&self.key?).to_vec())
    }

    fn error(&self) -> Option<&ServerError> {
        self.error.as_deref().filter(|_| self.error_stands)
    }
}
