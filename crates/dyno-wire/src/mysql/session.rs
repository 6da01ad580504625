//! A MySQL connection's protocol state.

mod pending;

use std::collections::VecDeque;
use std::sync::Arc;

use mysql_common::constants::{CapabilityFlags, Command as Com, StatusFlags};

use pending::{Command, Execution, Pending, Step};

use super::authentication::Plugin;
use super::capture::Capture;
use super::framing::{Expect, Framing, Kind, Packet};
use super::greeting::Greeting;
use super::local_data::LocalData;
use super::packet::{begin, finish, read_number};
use super::response::Ended;
use super::server_error;
use super::start_up::{Next, StartUp};
use super::{MyConfig, MyError, MyStatement, NAME, POSTGRESQL, malformed};
use crate::tls::{self, SslMode, Words};
use crate::{
    Cancel, CapturedResult, ErrorCode, Event, Listener, Parameters, Protocol, Reply, ServerError, Session,
    TransactionStatus, WireError,
};

/// How many notices wait to be taken; further ones are dropped.
const MAX_NOTICES: usize = 16;

/// One connection to a MySQL or MariaDB server, without the connection.
///
/// Replies are not stored: rows, columns and whatever else nobody looks into are skipped by their length, however many
/// reads they span, and errors are kept up to 16 KiB each. LOAD DATA LOCAL is refused: a script has no data to give.
/// Who loads data says so beforehand ([`to_load`](Self::to_load)) and gives each statement its content
/// ([`load`](Self::load)); files are never read.
///
/// A statement of a kind that the server does not prepare, such as MySQL's BEGIN, travels as text: at first once the
/// server has said so, and without being asked about from then on.
///
/// MySQL has no Sync message and skips nothing after an error: of a pipeline, statements behind one that failed are
/// executed all the same, and the reply tells the first error. A COM_PING marks the pipeline's end.
pub struct MySession {
    pub(super) framing: Framing,
    /// Whether rows end with an OK packet instead of an EOF packet.
    ends_with_ok: bool,
    /// Whether the server executes statements with many rows of values, for who agrees to that.
    pub(super) takes_rows: bool,
    /// Whether the execution under way sends its rows in binary form.
    binary: bool,
    /// Whether `error` belongs to the last reply, the one under way, or the connection's end.
    error_stands: bool,
    status: StatusFlags,
    /// Commands sent and commands answered, counted round and round.
    sent: u32,
    answered: u32,
    /// The reply under way.
    pub(super) reply: Reply,
    /// What the server knows of statements, by their indexes.
    known: Vec<Known>,
    /// Whether an execution makes its statement known, whose reply is still to come.
    introducing: bool,
    /// What waits for an id.
    pending: Option<Box<Pending>>,
    /// The commands, by number, whose answers are not just a reply.
    marks: VecDeque<(u32, Mark)>,
    error: Option<Box<ServerError>>,
    notices: Vec<ServerError>,
    /// What is kept of results, once asked for.
    capture: Option<Box<Capture>>,
    /// What the server may ask for.
    pub(super) content: Option<Box<LocalData>>,
    connection_id: u32,
    version: Box<str>,
    /// By which plug-in the server has let us in.
    plugin: Option<Plugin>,
    /// Until the server lets us in.
    pub(super) start_up: Option<Box<StartUp>>,
    config: Arc<MyConfig>,
}

/// What an answer is that is not just a reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mark {
    /// A part of one.
    Part,
    /// That to a COM_PING, which is no statement.
    Ping,
}

/// What the server knows of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Known {
    /// Nothing.
    Not,
    /// It was asked to prepare it and refused.
    Refused,
    /// It prepares no statement of this kind, and is sent its text instead.
    AsText,
    /// It has prepared it for one execution, and knows it no more.
    Closed,
    /// It executes it by this id.
    By([u8; 4]),
}

impl MySession {
    /// A session that has sent and received nothing yet.
    pub fn new(config: Arc<MyConfig>) -> Self {
        Self {
            framing: Framing::new(),
            ends_with_ok: false,
            takes_rows: false,
            binary: false,
            error_stands: false,
            status: StatusFlags::empty(),
            sent: 0,
            answered: 0,
            reply: Reply::default(),
            known: Vec::new(),
            introducing: false,
            pending: None,
            marks: VecDeque::new(),
            error: None,
            notices: Vec::new(),
            capture: None,
            content: None,
            connection_id: 0,
            version: Box::default(),
            plugin: None,
            start_up: Some(Box::default()),
            config,
        }
    }

    /// The same session with TLS, as strictly as this: without it if the server does not offer it, unless the mode
    /// insists. Whether [`SslMode::attempts`] has it so is for the caller to say.
    #[must_use]
    pub fn asking_for_tls(mut self, mode: SslMode) -> Self {
        if let Some(start_up) = &mut self.start_up {
            start_up.asks_for_tls = Some(mode);
        }
        self
    }

    /// The server's version, such as `8.4.3` or `10.11.6-MariaDB`; empty until it has greeted.
    pub fn server_version(&self) -> &str {
        &self.version
    }

    /// The plug-in by which the server has let us in, such as `caching_sha2_password`; empty before that.
    pub fn log_in_method(&self) -> &'static str {
        self.plugin.map_or("", Plugin::name)
    }

    /// The connection's number, as `SHOW PROCESSLIST` and `KILL` know it; 0 until the server has greeted.
    pub fn connection_id(&self) -> u32 {
        self.connection_id
    }

    /// Takes in a packet worth a look. Returns what it completes, if anything.
    #[inline]
    fn take(&mut self, packet: Packet<'_>, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let Packet { kind, body, rows } = packet;
        self.reply.rows += rows;
        match (kind, self.start_up.is_some()) {
            (Kind::End, _) => self.rows_ended(&body, rows, out),
            (Kind::Reply, false) => self.reply_begins(&body, out),
            _ => self.rare(kind, &body, out),
        }
    }

    /// A reply, or a further result in it, begins.
    #[inline]
    fn reply_begins(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        match body.first() {
            Some(0) if self.is_preparing() => self.prepared(body, out),
            Some(0) if self.is_marked(Mark::Ping) => {
                self.status = Ended::ok(body)?.status;
                Ok(self.answered(out))
            }
            Some(0) => {
                let ended = Ended::ok(body)?;
                self.reply.affected = self.reply.affected.saturating_add(ended.affected);
                if self.framing.keeps_rows() {
                    self.capture.get_or_insert_default().done()?;
                }
                Ok(self.result_ended(ended, out))
            }
            Some(0xFF) => self.failed(body, out),
            // It is not asked for, so a server that asks twice is no sound one.
            Some(0xFB) if self.reply.copy_refused => Err(MyError::AsksForFiles.into()),
            Some(0xFB) => {
                self.file_asked_for(out);
                Ok(None)
            }
            None | Some(0xFE) => Err(malformed("a reply begins with an unknown byte")),
            Some(_) => {
                self.columns_follow(body)?;
                Ok(None)
            }
        }
    }

    /// A result with rows begins.
    #[inline]
    fn columns_follow(&mut self, mut body: &[u8]) -> Result<(), WireError> {
        let columns = read_number(&mut body)
            .and_then(|count| u16::try_from(count).ok())
            .ok_or(malformed("the number of columns is impossible"))?;
        if self.is_preparing() {
            return Err(malformed("rows answer a preparation"));
        }
        self.framing
            .expect(Expect::Columns(u32::from(columns) + u32::from(!self.ends_with_ok)));
        if self.framing.keeps_rows() {
            self.capture.get_or_insert_default().begin();
        }
        Ok(())
    }

    /// The rows of a result have ended.
    #[inline]
    fn rows_ended(&mut self, body: &[u8], skipped: u64, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        if body.first() == Some(&0xFF) {
            return self.failed(body, out);
        }
        let ended = match self.ends_with_ok {
            true => Ended::ok(body)?,
            false => Ended::eof(body)?,
        };
        let rows = match self.framing.keeps_rows() {
            true => self.capture.get_or_insert_default().complete()?,
            false => skipped,
        };
        self.reply.affected = self.reply.affected.saturating_add(rows);
        self.reply.result_sets += 1;
        Ok(self.result_ended(ended, out))
    }

    /// A result is complete; others may follow in the same reply.
    #[inline]
    fn result_ended(&mut self, ended: Ended, out: &mut Vec<u8>) -> Option<Event> {
        self.reply.completed += 1;
        self.status = ended.status;
        if ended.warnings > 0 {
            self.warned(ended.warnings);
        }
        if ended.status.contains(StatusFlags::SERVER_MORE_RESULTS_EXISTS) {
            self.framing.expect(Expect::Reply);
            return None;
        }
        self.answered(out)
    }

    /// A command is answered.
    #[inline]
    fn answered(&mut self, out: &mut Vec<u8>) -> Option<Event> {
        let number = self.answered;
        let mark = self.marks.pop_front_if(|(marked, _)| *marked == number);
        self.answered = number.wrapping_add(1);
        if self.sent == self.answered {
            self.framing.expect(Expect::Nothing);
            if self.pending.is_some() {
                self.go_on(out);
            }
        } else {
            self.framing.begin_answer();
        }
        if mark == Some((number, Mark::Part)) {
            return None;
        }
        self.error_stands = self.reply.failed;
        self.introducing = false;
        self.framing.keep_rows(false);
        Some(Event::Reply(std::mem::take(&mut self.reply)))
    }

    /// Notes that a command was sent.
    #[inline]
    fn count(&mut self, mark: Option<Mark>) {
        if self.sent == self.answered {
            self.framing.begin_answer();
        }
        if let Some(mark) = mark {
            self.marks.push_back((self.sent, mark));
        }
        self.sent = self.sent.wrapping_add(1);
    }

    /// Whether the command whose answer is due has this mark.
    #[inline]
    fn is_marked(&self, mark: Mark) -> bool {
        self.marks.front() == Some(&(self.answered, mark))
    }

    #[inline]
    fn is_preparing(&self) -> bool {
        self.pending.as_ref().is_some_and(|pending| pending.preparing.is_some())
    }

    /// Appends one execution, or keeps it until the server has prepared its statement.
    #[inline]
    fn submit(&mut self, statement: &MyStatement, parameters: &impl Parameters, mark: Option<Mark>, out: &mut Vec<u8>) {
        self.binary = statement.protocol() != Protocol::Simple;
        if self.pending.is_none() {
            match (statement.protocol(), self.known.get(statement.index())) {
                (Protocol::Prepared, Some(&Known::By(id))) => {
                    statement.write_execution(id, parameters, out);
                    return self.count(mark);
                }
                (Protocol::Simple, _) | (_, Some(Known::AsText)) => {
                    self.binary = false;
                    statement.write_text(parameters, self.backslashes(), out);
                    return self.count(mark);
                }
                _ => {}
            }
        }
        let mut text = Vec::new();
        // What the server has once prepared need not travel as text.
        if self.known.get(statement.index()) != Some(&Known::Closed) {
            statement.write_text(parameters, self.backslashes(), &mut text);
        }
        let command = match statement.protocol() {
            Protocol::Simple => Command::Ready(text),
            protocol => {
                self.introducing |= mark.is_none() && !self.knows(statement);
                let mut packet = Vec::new();
                statement.write_execution([0; 4], parameters, &mut packet);
                let once = protocol == Protocol::Extended;
                Command::Execution(Execution {
                    index: statement.index(),
                    once,
                    preparation: statement.preparation().to_vec(),
                    packet,
                    text,
                })
            }
        };
        self.submit_later(Step { mark, command }, out);
    }

    /// The id by which the server executes a statement, if it has prepared it.
    pub(super) fn id_of(&self, statement: &MyStatement) -> Option<[u8; 4]> {
        match self.known.get(statement.index()) {
            Some(&Known::By(id)) => Some(id),
            _ => None,
        }
    }

    /// Notes that a command was appended while nothing waits, whose answer is just a reply.
    pub(super) fn sent_alone(&mut self) {
        self.binary = false;
        self.count(None);
    }

    /// Whether backslashes escape in strings.
    fn backslashes(&self) -> bool {
        !self.status.contains(StatusFlags::SERVER_STATUS_NO_BACKSLASH_ESCAPES)
    }

    /// Takes in a packet that does not come with every reply.
    #[cold]
    fn rare(&mut self, kind: Kind, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        match kind {
            Kind::Greeting => return self.greeted(body, out),
            Kind::Reply => return self.logging_in(body, out),
            Kind::Column => self.capture.get_or_insert_default().describe(body)?,
            Kind::Row => {
                self.reply.rows += 1;
                self.capture.get_or_insert_default().row(body, self.binary)?;
            }
            Kind::Prepared => return Ok(self.execute_prepared(out)),
            Kind::End => {}
            // A server that ends an idle connection may say so.
            Kind::Unasked if body.first() == Some(&0xFF) => return Err(self.lost(server_error::parse(body)?)),
            Kind::Unasked => return Err(WireError::Unasked { database: NAME }),
        }
        Ok(None)
    }

    #[cold]
    fn greeted(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        if body.first() == Some(&0xFF) {
            return Err(self.lost(server_error::parse_refusal(body)?));
        }
        let greeting = Greeting::parse(body)?;
        self.connection_id = greeting.connection_id;
        self.version = greeting.version.as_str().into();
        self.status = greeting.status;
        self.takes_rows = greeting.offers_rows;
        self.ends_with_ok = greeting.offered.contains(CapabilityFlags::CLIENT_DEPRECATE_EOF);
        let Some(start_up) = &mut self.start_up else {
            return Ok(None);
        };
        match start_up.greeted(&greeting, &self.config, &mut self.framing, out)? {
            Next::LogIn => Ok(None),
            Next::Encrypt => Ok(Some(Event::StartTls)),
        }
    }

    #[cold]
    fn logging_in(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let Some(start_up) = &mut self.start_up else {
            return Ok(None);
        };
        match body.first() {
            Some(0xFF) => Err(self.lost(server_error::parse_refusal(body)?)),
            Some(0) if start_up.is_logging_in() => {
                self.status = Ended::ok(body)?.status;
                self.plugin = start_up.plugin();
                self.start_up = None;
                self.framing.expect(Expect::Nothing);
                Ok(Some(Event::Started))
            }
            _ => {
                start_up.step(body, &self.config, &mut self.framing, out)?;
                Ok(None)
            }
        }
    }

    /// The server ends the connection, and says why.
    #[cold]
    fn lost(&mut self, mut error: ServerError) -> WireError {
        error.fatal = true;
        self.error_stands = true;
        self.error = Some(Box::new(error.clone()));
        WireError::Server(Box::new(error))
    }

    /// Notes an error, which ends the answer to a command, or the connection.
    #[cold]
    fn failed(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let error = server_error::parse(body)?;
        if error.fatal {
            return Err(self.lost(error));
        }
        if self.may_be_sent_as_text() && error.code == ErrorCode::from(server_error::NOT_PREPARED) {
            return Ok(self.send_as_text(out));
        }
        self.note_error(error);
        if let Some(content) = &mut self.content {
            content.is_offered = false;
        }
        // What could not be prepared is not executed.
        self.learn(Known::Refused);
        if let Some(pending) = &mut self.pending {
            pending.preparing = None;
        }
        Ok(self.answered(out))
    }

    /// Keeps the first error of a reply.
    pub(super) fn note_error(&mut self, error: ServerError) {
        if !self.reply.failed {
            self.error = Some(Box::new(error));
        }
        self.reply.failed = true;
        self.error_stands = true;
    }

    /// Notes that there are warnings; their texts would have to be asked for.
    #[cold]
    fn warned(&mut self, count: u16) {
        self.reply.noticed = true;
        if self.notices.len() < MAX_NOTICES {
            let plural = if count == 1 { "" } else { "s" };
            self.notices.push(ServerError {
                severity: "WARNING".into(),
                message: format!("the server has {count} warning{plural}, which SHOW WARNINGS shows"),
                ..ServerError::default()
            });
        }
    }
}

impl Session for MySession {
    type Statement = MyStatement;

    const DATABASE: &'static str = NAME;
    const TLS_WORDS: Words = Words::Mysql;
    const LETS_IN_BY_ENCRYPTION: bool = false;
    const WAITS_FOR_US: Option<&'static Listener> = Some(&Listener {
        question: tls::ssl_request,
        answers: b"SN",
        database: &POSTGRESQL,
    });

    fn start(&mut self, _out: &mut Vec<u8>) -> Result<Event, WireError> {
        if self.config.user.is_empty() {
            return Err(WireError::Unsendable(
                "no user name was given: put one into the address".into(),
            ));
        }
        // The server speaks first.
        Ok(Event::NeedInput)
    }

    fn encrypted(&mut self, _tls: &rustls::ClientConnection, out: &mut Vec<u8>) -> Result<Event, WireError> {
        if let Some(start_up) = &mut self.start_up {
            start_up.encrypted(&self.config, &mut self.framing, out)?;
        }
        Ok(Event::NeedInput)
    }

    #[inline]
    fn receive(&mut self, input: &[u8], out: &mut Vec<u8>) -> Result<(usize, Event), WireError> {
        let mut at = 0;
        loop {
            let (length, packet) = self.framing.next(&input[at..])?;
            at += length;
            let Some(packet) = packet else {
                return Ok((at, Event::NeedInput));
            };
            if let Some(event) = self.take(packet, out)? {
                return Ok((at, event));
            }
        }
    }

    #[inline]
    fn knows(&self, statement: &MyStatement) -> bool {
        let known = self.known.get(statement.index());
        !statement.is_prepared() || known.is_some_and(|&known| known != Known::Not)
    }

    fn is_introducing(&self) -> bool {
        self.introducing
    }

    fn encode(index: usize, text: &str, parameter_count: usize, protocol: Protocol) -> Result<MyStatement, WireError> {
        MyStatement::new(index, text, parameter_count, protocol)
    }

    fn carries_text(statement: &MyStatement) -> bool {
        !statement.is_prepared()
    }

    fn prepare(&mut self, statement: &MyStatement, out: &mut Vec<u8>) -> bool {
        let unknown = !self.knows(statement);
        if unknown {
            self.prepare_alone(statement, out);
        }
        unknown
    }

    fn queue(&mut self, statement: &MyStatement, parameters: &impl Parameters, out: &mut Vec<u8>) {
        self.submit(statement, parameters, Some(Mark::Part), out);
    }

    fn sync(&mut self, out: &mut Vec<u8>) {
        if self.pending.is_none() {
            out.extend_from_slice(PING);
            return self.count(Some(Mark::Ping));
        }
        self.send_later(PING.to_vec(), Some(Mark::Ping), out);
    }

    fn capture(&mut self) {
        self.capture.get_or_insert_default().start();
        self.framing.keep_rows(true);
    }

    fn captured(&self) -> &[CapturedResult] {
        self.capture.as_ref().map_or(&[], |capture| &capture.results)
    }

    fn take_notices(&mut self) -> Vec<ServerError> {
        std::mem::take(&mut self.notices)
    }

    #[inline]
    fn execute(&mut self, statement: &MyStatement, parameters: &impl Parameters, out: &mut Vec<u8>) {
        self.submit(statement, parameters, None, out);
    }

    #[inline]
    fn query(&mut self, sql: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
        self.binary = false;
        if self.pending.is_none() {
            write_query(sql, out);
            return self.count(None);
        }
        let mut packet = Vec::new();
        write_query(sql, &mut packet);
        self.send_later(packet, None, out);
    }

    fn terminate(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(QUIT);
    }

    fn is_replying(&self) -> bool {
        let reply = &self.reply;
        self.framing.in_reply() || reply.rows > 0 || reply.completed > 0 || reply.accepted > 0 || reply.failed
    }

    fn in_transaction(&self) -> TransactionStatus {
        match self.status.contains(StatusFlags::SERVER_STATUS_IN_TRANS) {
            true => TransactionStatus::Open,
            false => TransactionStatus::Idle,
        }
    }

    fn cancel(&self) -> Option<Cancel> {
        let number = self.connection_id;
        (number > 0).then(|| Cancel::Statement(format!("KILL QUERY {number}")))
    }

    fn error(&self) -> Option<&ServerError> {
        self.error.as_deref().filter(|_| self.error_stands)
    }
}

/// Asks for an OK packet. MySQL source documentation, "COM_PING".
const PING: &[u8] = b"\x01\0\0\0\x0e";
/// Says that the connection is about to be closed. MySQL source documentation, "COM_QUIT".
const QUIT: &[u8] = b"\x01\0\0\0\x01";

/// Appends a query whose text `sql` appends.
#[inline]
fn write_query(sql: impl FnOnce(&mut Vec<u8>), out: &mut Vec<u8>) {
    let start = begin(out);
    out.push(Com::COM_QUERY as u8);
    sql(out);
    finish(out, start, 0);
}
