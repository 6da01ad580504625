//! What the server says: packets, the messages in them, and what comes of a response that is complete.

use super::OraSession;
use super::steps::{State, Step};
use crate::oracle::authentication::Pairs;
use crate::oracle::column::{Column, Wanted};
use crate::oracle::kind::Kind;
use crate::oracle::message::{self, End, Message};
use crate::oracle::packet::{self, END_OF_FILE, Packet, kind, marker};
use crate::oracle::reader::{Reader, Unread};
use crate::oracle::request::Plain;
use crate::oracle::server_error::{self, NO_DATA};
use crate::oracle::{NAME, OraError, malformed};
use crate::{CapturedResult, ErrorClass, Event, Preparation, ServerError, WireError};

/// How many notices wait to be taken; further ones are dropped.
const MAX_NOTICES: usize = 16;

/// The longest message that is kept until it is whole, in bytes.
const LONGEST_HELD: usize = 32 << 20;

/// A reply has more results, or more columns, than any that is asked for.
const TOO_MANY: WireError = malformed("a reply has more results or columns than are kept");

/// What the server is doing for us.
#[derive(Debug)]
pub(super) struct Task {
    pub(super) doing: Doing,
    pub(super) kind: Kind,
    pub(super) place: Place,
    /// The cursor it is executed by; 0: the server has not said yet.
    pub(super) cursor: u32,
    /// Whether its text is parsed.
    pub(super) parses: bool,
    /// Whether that makes it known.
    pub(super) introduces: bool,
    /// Whether its reply is a part of a pipeline's.
    pub(super) part: bool,
    /// How many rows others of the reply have brought.
    pub(super) rows_before: u64,
    /// Whether the server has to be told in what form its columns are wanted.
    pub(super) wanted: Wanted,
}

/// Which request of a task is under way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Doing {
    /// It is parsed alone.
    Parse,
    /// It is executed.
    Execute,
    /// More rows are fetched: this many had come before.
    Fetch(u64),
    /// Whatever it left open is committed or rolled back.
    Settle,
    /// A call that is no statement.
    Call,
}

/// Whose cursor it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// That of a statement which is kept.
    Kept(usize),
    /// One that is closed behind it.
    Once,
}

/// Where the exchange of markers stands that follows a break.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) enum Reset {
    /// There was none.
    #[default]
    None,
    /// We have reset, and what comes before the server does is none of our concern.
    Awaited,
    /// Both have reset: what comes next is understood.
    Done,
}

impl OraSession {
    /// Takes in a packet. Returns what it completes, if anything.
    #[inline]
    pub(super) fn take_packet(&mut self, packet: Packet<'_>, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let accepted = self.start_up.as_ref().is_none_or(|start_up| start_up.is_accepted());
        match packet.kind {
            kind::DATA if accepted => self.take_data(packet.body, out),
            kind::MARKER if accepted => self.take_marker(packet.body, out),
            // What may be wrong with the server in general.
            kind::CONTROL if accepted => Ok(None),
            _ => self.take_other(packet, out),
        }
    }

    #[cold]
    fn take_other(&mut self, packet: Packet<'_>, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let Some(start_up) = &mut self.start_up else {
            return Err(WireError::Unexpected {
                database: NAME,
                tag: packet.kind,
                when: "in place of a reply",
            });
        };
        let head = (packet.kind, packet.flags);
        let event = start_up.packet(
            head,
            packet.body,
            &self.config,
            &mut self.requests,
            &mut self.lengths,
            out,
        )?;
        Ok((event != Event::NeedInput).then_some(event))
    }

    #[inline]
    fn take_data(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let Some((flags, data)) = body.split_first_chunk::<2>() else {
            return Err(malformed("a packet with data is cut short"));
        };
        if u16::from_be_bytes(*flags) & END_OF_FILE != 0 {
            return Err(self.lost(server_error::of(3113, b"ORA-03113: the server ended the connection")));
        }
        if self.reset == Reset::Awaited {
            return Ok(None);
        }
        if self.held.is_empty() {
            let (used, event) = self.take_messages(data, out)?;
            self.held.extend_from_slice(&data[used..]);
            return Ok(event);
        }
        if self.held.len() + data.len() > LONGEST_HELD {
            return Err(OraError::TooLong(LONGEST_HELD >> 20).into());
        }
        let mut held = std::mem::take(&mut self.held);
        held.extend_from_slice(data);
        let (used, event) = self.take_messages(&held, out)?;
        held.drain(..used);
        self.held = held;
        Ok(event)
    }

    /// Takes in whole messages. Gives how many bytes they took, and what they complete.
    #[inline]
    fn take_messages(&mut self, data: &[u8], out: &mut Vec<u8>) -> Result<(usize, Option<Event>), WireError> {
        let mut reader = Reader::new(data);
        while reader.left() > 0 {
            let start = reader;
            let logs_in = self.start_up.as_ref().is_some_and(|start_up| start_up.logs_in());
            match message::read(&mut reader, self.requests.abilities, logs_in, &mut self.rows) {
                Ok(message) => {
                    if self.take_message(message, out)? {
                        // Whatever is behind the end of a response is none of another one.
                        return Ok((data.len(), self.response_ended(out)?));
                    }
                }
                Err(Unread::Short) => return Ok((data.len() - start.left(), None)),
                Err(Unread::Malformed(what)) => return Err(malformed(what)),
            }
        }
        Ok((data.len(), None))
    }

    /// Takes in a message. Gives whether a response ends with it.
    #[inline]
    fn take_message(&mut self, message: Message, out: &mut Vec<u8>) -> Result<bool, WireError> {
        let marks_end = self.requests.abilities.marks_end;
        match message {
            Message::Row(row) => {
                self.reply.rows += 1;
                if let Some(row) = row {
                    self.begin_described()?;
                    self.current.push(row, &mut self.room);
                }
                Ok(false)
            }
            Message::End(end) => {
                self.is_open = end.in_transaction;
                self.end = Some(end);
                Ok(!marks_end)
            }
            Message::Status { in_transaction } => {
                self.is_open = in_transaction;
                self.end = Some(End::default());
                Ok(!marks_end)
            }
            Message::EndOfResponse => Ok(self.end.is_some()),
            Message::Nothing => Ok(false),
            other => self.take_rare(other, out),
        }
    }

    #[cold]
    fn take_rare(&mut self, message: Message, out: &mut Vec<u8>) -> Result<bool, WireError> {
        match message {
            Message::Warning(number, text) => {
                self.reply.noticed = true;
                if self.notices.len() < MAX_NOTICES {
                    self.notices.push(ServerError {
                        severity: "WARNING".into(),
                        ..server_error::of(number, &text)
                    });
                }
            }
            other if self.start_up.is_some() => {
                if let Some(start_up) = &mut self.start_up {
                    start_up.message(other, &self.config, &mut self.requests, out)?;
                }
            }
            Message::Columns(mut columns) => {
                for (now, before) in columns.iter_mut().zip(&self.rows.columns) {
                    now.take_after(before);
                }
                if let Some(task) = &mut self.task {
                    task.wanted = Wanted::of(&columns);
                }
                if self.rows.shown {
                    self.begin_result(&columns)?;
                }
                self.rows.is_unpassable = columns.iter().any(|column| !column.is_passable());
                self.rows.columns = columns;
            }
            Message::GivenBack(count) => self.rows.given_back = count,
            Message::Unpassable => {
                let unknown = self.rows.columns.iter().find(|column| !column.is_passable());
                return Err(WireError::Oracle(OraError::NotFetched {
                    name: unknown.map_or_else(String::new, |column| column.name.to_string()),
                    kind: unknown.map_or_else(String::new, |column| column.type_name().into_owned()),
                }));
            }
            Message::Flush => self.requests.flush(out),
            _ => return Err(malformed("a message of the log-in comes after it")),
        }
        Ok(false)
    }

    /// A break is under way on the server's side, or its end.
    #[cold]
    fn take_marker(&mut self, body: &[u8], out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let &[_, _, what, ..] = body else {
            return Err(malformed("a marker is cut short"));
        };
        self.reset = match (self.reset, what) {
            (Reset::None, _) => {
                packet::write_marker(out, marker::RESET);
                self.held.clear();
                self.end = None;
                self.rows.begin();
                match what {
                    marker::RESET => Reset::Done,
                    _ => Reset::Awaited,
                }
            }
            (Reset::Awaited, marker::RESET) => Reset::Done,
            (reset, _) => reset,
        };
        Ok(None)
    }

    /// The server ends the connection, and says why.
    #[cold]
    fn lost(&mut self, mut error: ServerError) -> WireError {
        error.fatal = true;
        self.error_stands = true;
        self.error = Some(Box::new(error.clone()));
        WireError::Server(Box::new(error))
    }

    /// Keeps the first error of a reply.
    #[cold]
    fn note(&mut self, error: ServerError) {
        if !self.reply.failed {
            self.error = Some(Box::new(error));
        }
        self.reply.failed = true;
        self.error_stands = true;
    }

    /// A response is complete.
    #[inline]
    fn response_ended(&mut self, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let end = self.end.take().unwrap_or_default();
        let was_reset = std::mem::take(&mut self.reset) == Reset::Done;
        if self.start_up.is_some() {
            return self.started(&end, out);
        }
        let Some(mut task) = self.task.take() else {
            // What a break brings that came too late to break anything.
            return match was_reset {
                true => Ok(None),
                false => Err(WireError::Unasked { database: NAME }),
            };
        };
        match task.doing {
            Doing::Execute => self.executed(task, &end, out),
            Doing::Fetch(before) => self.fetched(task, before, &end, out),
            Doing::Parse => {
                self.learn(&task, &end);
                self.fail_by(&end)?;
                self.give_back(&mut task);
                Ok(self.finish(&task, out))
            }
            Doing::Call => {
                self.begun = match task.kind {
                    Kind::Begin => true,
                    Kind::Commit | Kind::Rollback => false,
                    _ => self.begun,
                };
                // A call that only has the server answer is no statement.
                if !self.fail_by(&end)? && task.kind != Kind::Other {
                    self.reply.completed += 1;
                }
                Ok(self.finish(&task, out))
            }
            Doing::Settle => {
                self.fail_by(&end)?;
                Ok(self.finish(&task, out))
            }
        }
    }

    /// An execution is over, or has at least begun to give rows.
    #[inline]
    fn executed(&mut self, mut task: Task, end: &End, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        if end.cursor > 0 && (task.place == Place::Once || task.cursor == 0) {
            task.cursor = end.cursor;
        }
        self.learn(&task, end);
        let failed = end.code != NO_DATA && self.fail_by(end)?;
        if failed {
            return self.settle(task, out);
        }
        if task.kind != Kind::Query {
            if task.kind == Kind::Change {
                self.reply.affected = self.reply.affected.saturating_add(end.rows);
            }
            self.begun |= task.kind == Kind::SetTransaction;
            self.reply.completed += 1;
            if self.rows.shown {
                self.room.for_result().ok_or(TOO_MANY)?;
                self.captured.push(CapturedResult::default());
            }
            return self.settle(task, out);
        }
        if self.rows.shown {
            self.begin_described()?;
        }
        if let Some(column) = self.unshown() {
            self.note(column);
            return self.settle(task, out);
        }
        if task.wanted == Wanted::Untold && end.code != NO_DATA {
            return Ok(self.tell_forms(task, out));
        }
        self.go_on(task, end, out)
    }

    /// Tells the server in what form the columns are wanted, and fetches the first rows.
    #[cold]
    fn tell_forms(&mut self, mut task: Task, out: &mut Vec<u8>) -> Option<Event> {
        self.rows.columns.iter_mut().for_each(Column::take_form);
        let rows = self.config.rows_per_fetch.max(1);
        self.requests.define(task.cursor, &self.rows.columns, rows, out);
        task.wanted = Wanted::Told;
        // Its text is accepted, whatever becomes of its rows.
        task.parses = false;
        task.doing = Doing::Fetch(self.reply.rows);
        self.rows.begin();
        self.task = Some(task);
        None
    }

    /// More rows have come.
    fn fetched(&mut self, task: Task, before: u64, end: &End, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        let failed = end.code != NO_DATA && self.fail_by(end)?;
        if failed {
            self.learn(&task, end);
            return self.settle(task, out);
        }
        if end.code != NO_DATA && self.reply.rows == before {
            return Err(malformed("a result has neither rows nor an end"));
        }
        self.go_on(task, end, out)
    }

    /// Fetches on, unless all rows have come.
    #[inline]
    fn go_on(&mut self, mut task: Task, end: &End, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        if end.code != NO_DATA {
            self.requests.fetch(task.cursor, self.config.rows_per_fetch.max(1), out);
            task.parses = false;
            task.doing = Doing::Fetch(self.reply.rows);
            self.rows.begin();
            self.task = Some(task);
            return Ok(None);
        }
        let rows = self.reply.rows.saturating_sub(task.rows_before);
        self.reply.affected = self.reply.affected.saturating_add(rows);
        self.reply.completed += 1;
        self.reply.result_sets += 1;
        if self.rows.shown {
            self.room.for_result().ok_or(TOO_MANY)?;
            self.captured.push(std::mem::take(&mut self.current));
        }
        self.settle(task, out)
    }

    /// A statement is over: whatever it left open ends with it, unless a script has begun a transaction.
    #[inline]
    fn settle(&mut self, mut task: Task, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        if self.is_open && !self.begun {
            let plain = match self.reply.failed {
                true => Plain::Rollback,
                false => Plain::Commit,
            };
            self.give_back(&mut task);
            self.requests.plain(plain, out);
            task.doing = Doing::Settle;
            self.task = Some(task);
            return Ok(None);
        }
        self.give_back(&mut task);
        Ok(self.finish(&task, out))
    }

    /// Puts what is known of a statement back to where it belongs.
    #[inline]
    fn give_back(&mut self, task: &mut Task) {
        match task.place {
            Place::Once => {
                self.requests.close(std::mem::take(&mut task.cursor));
                self.rows.forget();
            }
            Place::Kept(index) => {
                if let Some(known) = self.known.get_mut(index) {
                    known.columns = std::mem::take(&mut self.rows.columns);
                    known.wanted = task.wanted;
                    known.is_unpassable = self.rows.is_unpassable;
                }
            }
        }
    }

    /// Notes what the server thinks of a statement that it was to parse, or that it can no longer execute.
    #[inline]
    fn learn(&mut self, task: &Task, end: &End) {
        if let Place::Kept(index) = task.place {
            match end.code {
                0 | NO_DATA if !task.parses => {
                    if let Some(known) = self.known.get_mut(index) {
                        known.announced = true;
                    }
                }
                _ => self.learn_more(task, index, end),
            }
        } else if task.parses && end.code == 0 {
            self.reply.accepted += 1;
        }
    }

    #[cold]
    fn learn_more(&mut self, task: &Task, index: usize, end: &End) {
        let Some(known) = self.known.get_mut(index) else {
            return;
        };
        let failed = !matches!(end.code, 0 | NO_DATA);
        // Types that it was told with an execution that failed it may not have taken in.
        known.announced = !failed && task.doing != Doing::Parse;
        if !task.parses {
            // It knows the cursor no more, or its columns are others: the text is parsed anew next time.
            if matches!(end.code, 932 | 1001 | 1002 | 1003 | 1007) {
                self.requests.close(task.cursor);
                known.state = State::Not;
                known.columns.clear();
            }
            return;
        }
        let refused = failed && server_error::of(end.code, b"").class == ErrorClass::Statement;
        match refused || end.cursor == 0 {
            true => {
                self.requests.close(end.cursor);
                known.state = State::Refused;
            }
            false => {
                known.state = State::By(end.cursor);
                self.reply.accepted += 1;
            }
        }
        if task.introduces {
            self.reply.preparation = match known.state {
                State::By(_) => Preparation::Accepted,
                State::Not | State::Refused => Preparation::Refused,
            };
        }
    }

    /// Notes the error by which a call ended, if it did. Gives whether it did.
    #[inline]
    fn fail_by(&mut self, end: &End) -> Result<bool, WireError> {
        match end.code {
            0 => Ok(false),
            _ => self.fail(end).map(|()| true),
        }
    }

    #[cold]
    fn fail(&mut self, end: &End) -> Result<(), WireError> {
        let mut error = server_error::of(end.code, &end.text);
        error.position = end.position.map(|position| position.saturating_add(1));
        if error.fatal {
            return Err(self.lost(error));
        }
        self.note(error);
        Ok(())
    }

    /// Why rows cannot be shown, or not even fetched.
    #[inline]
    fn unshown(&self) -> Option<ServerError> {
        match (self.rows.is_unpassable, self.rows.shown) {
            (false, false) => None,
            (true, _) => self.refused_column(Column::is_passable, "which is not known here"),
            (false, true) => self.refused_column(Column::is_shown, "whose values are passed over and cannot be shown"),
        }
    }

    /// The first column that is not so, as an error.
    #[cold]
    fn refused_column(&self, is_fine: fn(&Column) -> bool, which: &str) -> Option<ServerError> {
        let column = self.rows.columns.iter().find(|column| !is_fine(column))?;
        Some(server_error::of_ours(
            format!(
                "the column \"{}\" is of type {}, {which}",
                column.name,
                column.type_name()
            ),
            "select something of it that is text or a number, such as to_char of it, or leave it out",
        ))
    }

    /// A result into which somebody looks begins.
    fn begin_result(&mut self, columns: &[Column]) -> Result<(), WireError> {
        self.current = CapturedResult {
            is_query: true,
            ..CapturedResult::default()
        };
        for column in columns {
            self.room.for_column(&column.name).ok_or(TOO_MANY)?;
            self.current.columns.push(column.name.to_string());
        }
        Ok(())
    }

    /// The same of one that was described at an earlier execution.
    fn begin_described(&mut self) -> Result<(), WireError> {
        if self.current.is_query {
            return Ok(());
        }
        let columns = std::mem::take(&mut self.rows.columns);
        let begun = self.begin_result(&columns);
        self.rows.columns = columns;
        begun
    }

    /// What was asked for is answered: appends what is asked for next.
    #[inline]
    fn finish(&mut self, task: &Task, out: &mut Vec<u8>) -> Option<Event> {
        if task.part {
            match self.waiting.pop_front() {
                Some(Step::Sync) => {}
                Some(step) => {
                    self.begin(step, out);
                    return None;
                }
                None => return None,
            }
        }
        let reply = self.end_reply();
        if let Some(step) = self.waiting.pop_front() {
            self.begin(step, out);
        }
        Some(Event::Reply(reply))
    }

    /// A response to the log-in is complete.
    #[cold]
    fn started(&mut self, end: &End, out: &mut Vec<u8>) -> Result<Option<Event>, WireError> {
        if end.code > 0 {
            return Err(self.lost(server_error::of_refusal(end.code, &end.text)));
        }
        let Some(start_up) = &mut self.start_up else {
            return Ok(None);
        };
        let Some(said) = start_up.ended(&self.config, &mut self.requests, out)? else {
            return Ok(None);
        };
        *self.agreed = std::mem::take(&mut start_up.agreed);
        self.start_up = None;
        self.session_id = said.number("AUTH_SESSION_ID").unwrap_or(0);
        self.serial_number = said.number("AUTH_SERIAL_NUM").unwrap_or(0);
        self.version = version(&said, self.requests.abilities.field_version).into();
        Ok(Some(Event::Started))
    }
}

/// The server's version: its parts are packed in another way from 18 on.
fn version(said: &Pairs, field_version: u8) -> String {
    const PACKED_ANEW: u8 = 11;
    let Some(number) = said.number("AUTH_VERSION_NO") else {
        return String::new();
    };
    let part = |shift: u32, mask: u32| number >> shift & mask;
    let parts = match field_version >= PACKED_ANEW {
        true => [
            part(24, 0xFF),
            part(16, 0xFF),
            part(12, 0xF),
            part(4, 0xFF),
            part(0, 0xF),
        ],
        false => [part(24, 0xFF), part(20, 0xF), part(12, 0xF), part(8, 0xF), part(0, 0xF)],
    };
    parts.map(|part| part.to_string()).join(".")
}
