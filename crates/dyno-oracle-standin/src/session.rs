//! A session: one request after the other, each answered before the next is read.

use crate::auth::Challenge;
use crate::codec::{Flaw, Writer};
use crate::counters::{Counters, Registry};
use crate::cursor::Cursors;
use crate::executor::{Executor, OracleError};
use crate::handshake;
use crate::link::{Link, Packet, kind};
use crate::options::{Misbehaviour, Moment, Options};
use crate::reply::{self, End};
use crate::request::{Call, Request, Terms, read_request};
use std::io;
use std::sync::Arc;

/// In a DATA packet's flags: it is the last of this connection.
const LAST_PACKET: u8 = 0x40;
/// The message that ends a response, if that was agreed.
const END_OF_RESPONSE: u8 = 0x1d;
/// The beginning of a reply with a piece that says it has two gigabytes.
const HUGE_PIECE: [u8; 7] = [0x10, 0xfe, 4, 0x7f, 0xff, 0xff, 0xff];

/// Why a session ended.
pub(crate) enum Ended {
    /// As it should.
    Over,
    /// With the connection, which is the client's right.
    Gone,
    /// The client sent what no client should.
    Wrong(String),
}

impl From<io::Error> for Ended {
    fn from(error: io::Error) -> Self {
        match error.kind() {
            io::ErrorKind::InvalidData => Self::Wrong(error.to_string()),
            _ => Self::Gone,
        }
    }
}

/// A session.
pub(crate) struct Session {
    pub(crate) link: Link,
    pub(crate) options: Arc<Options>,
    pub(crate) counters: Arc<Counters>,
    /// Those of all sessions.
    pub(crate) all_counters: Arc<Registry>,
    pub(crate) number: u32,
    pub(crate) terms: Terms,
    pub(crate) cursors: Cursors,
    pub(crate) executor: Option<Box<dyn Executor>>,
    pub(crate) challenge: Option<Challenge>,
    /// The number of the request, which its reply repeats.
    pub(crate) sequence: u8,
    pub(crate) executions: u64,
    pub(crate) fetches: u64,
    /// Whether the connection ends with the next reply.
    pub(crate) leaving: bool,
}

impl Session {
    /// A session with its own counters, beside those of all.
    pub(crate) fn new(
        link: Link,
        options: Arc<Options>,
        (counters, all_counters): (Arc<Counters>, Arc<Registry>),
        number: u32,
    ) -> Self {
        let terms = Terms {
            field_version: options.profile.field_version(),
            lengths: true,
            end_of_response: false,
        };
        Self {
            link,
            options,
            counters,
            all_counters,
            number,
            terms,
            cursors: Cursors::default(),
            executor: None,
            challenge: None,
            sequence: 0,
            executions: 0,
            fetches: 0,
            leaving: false,
        }
    }

    /// Serves the client until it leaves.
    pub(crate) fn serve(&mut self) -> Ended {
        match self.serve_all() {
            Err(ended) => ended,
            Ok(()) => Ended::Over,
        }
    }

    fn serve_all(&mut self) -> Result<(), Ended> {
        let accepted = handshake::accept(&mut self.link, &self.options)?;
        self.terms.end_of_response = accepted.end_of_response;
        while !self.leaving {
            let request = self.request()?;
            let mut writer = Writer::new();
            let is_negotiation = matches!(request, Request::Protocol | Request::Types);
            if !self.answer(request, &mut writer)? {
                // Broken off: the client asks for the reply once it has reset.
                continue;
            }
            self.send(writer, self.terms.end_of_response && !is_negotiation)?;
        }
        Ok(())
    }

    /// The next request. Markers on the way are answered.
    fn request(&mut self) -> Result<Request, Ended> {
        let mut message = Vec::new();
        loop {
            let packet = self.link.packet()?;
            match packet.kind {
                kind::MARKER => {
                    self.answer_marker(&packet)?;
                    message.clear();
                }
                kind::DATA => {
                    let [_, flags, rest @ ..] = &packet.body[..] else {
                        return Err(Ended::Wrong("a DATA packet without flags".to_owned()));
                    };
                    if flags & LAST_PACKET != 0 {
                        return Err(Ended::Over);
                    }
                    message.extend_from_slice(rest);
                    let mut terms = self.terms;
                    match read_request(&message, &mut terms, &self.cursors) {
                        Ok(request) => {
                            self.terms = terms;
                            return Ok(request);
                        }
                        Err(Flaw::Short) => {}
                        Err(Flaw::Wrong(what)) => return Err(Ended::Wrong(what)),
                    }
                }
                other => return Err(Ended::Wrong(format!("a packet of kind {other}"))),
            }
        }
    }

    /// A break is answered with a reset; the client's own reset with that, and with what became of the statement.
    fn answer_marker(&mut self, packet: &Packet) -> Result<(), Ended> {
        if is_break(packet) {
            return self.break_off();
        }
        self.link.send_marker(2)?;
        let mut writer = Writer::new();
        let error = OracleError::new(1013, "user requested cancel of current operation");
        self.end(Some(&error)).write(&mut writer, self.terms);
        self.send(writer, self.terms.end_of_response)
    }

    pub(crate) fn break_off(&mut self) -> Result<(), Ended> {
        Counters::one(&self.counters.breaks);
        Ok(self.link.send_marker(1)?)
    }

    /// The end of a reply, with what always belongs to it.
    pub(crate) fn end<'a>(&self, error: Option<&'a OracleError>) -> End<'a> {
        End {
            in_transaction: self.in_transaction(),
            sequence: self.sequence,
            error,
            ..End::default()
        }
    }

    fn unasked_errors(&self) -> Vec<u8> {
        let mut writer = Writer::new();
        let end = End {
            batch: &[(0, OracleError::new(1, "unique constraint violated"))],
            ..self.end(None)
        };
        end.write(&mut writer, self.terms);
        writer.into_bytes()
    }

    pub(crate) fn in_transaction(&self) -> bool {
        self.executor.as_ref().is_some_and(|executor| executor.in_transaction())
    }

    fn send(&mut self, writer: Writer, end_of_response: bool) -> Result<(), Ended> {
        let mut message = writer.into_bytes();
        if self.link.misbehaviour == Some(Misbehaviour::UnaskedErrors) {
            message = self.unasked_errors();
        }
        if end_of_response {
            message.push(END_OF_RESPONSE);
        }
        if self.link.misbehaviour == Some(Misbehaviour::HugePiece) {
            message.splice(.., HUGE_PIECE);
        }
        self.link.send_message(&message, end_of_response)?;
        Counters::one(&self.counters.round_trips);
        Ok(())
    }

    /// Writes the answer. Not, if the client broke it off.
    fn answer(&mut self, request: Request, writer: &mut Writer) -> Result<bool, Ended> {
        match request {
            Request::Protocol => {
                self.link.misbehaviour = self.options.fault(Moment::Negotiate);
                reply::protocol(writer, self.options.profile, self.terms.end_of_response);
            }
            Request::Types => reply::types(writer),
            Request::Fast(call) => {
                reply::protocol(writer, self.options.profile, self.terms.end_of_response);
                reply::types(writer);
                return self.answer_call(call, writer);
            }
            Request::Call { before, sequence, call } => {
                Counters::add(&self.counters.closed_cursors, before.closed.len());
                for cursor in before.closed {
                    self.cursors.close(cursor);
                }
                if let (Some(module), Some(executor)) = (before.module, &mut self.executor) {
                    executor.name_module(&module);
                }
                self.sequence = sequence;
                return self.answer_call(call, writer);
            }
        }
        Ok(true)
    }

    fn answer_call(&mut self, call: Call, writer: &mut Writer) -> Result<bool, Ended> {
        match call {
            Call::LogIn(log_in) => self.log_in(&log_in, writer)?,
            Call::Execute(execute) => return self.execute(execute, writer),
            Call::Again {
                cursor,
                fetch,
                commit,
                rows,
            } => return self.execute_again(cursor, fetch, commit, &rows, writer),
            Call::Fetch { cursor, rows } => self.fetch(cursor, rows, writer),
            Call::Commit => {
                Counters::one(&self.counters.commits);
                return self.settle(|executor| executor.commit(), writer);
            }
            Call::RollBack => {
                Counters::one(&self.counters.rollbacks);
                return self.settle(|executor| executor.roll_back(), writer);
            }
            Call::Ping => {
                Counters::one(&self.counters.pings);
                reply::status(writer, self.in_transaction());
            }
            Call::LogOff => {
                Counters::one(&self.counters.logoffs);
                return self.settle(|executor| executor.roll_back(), writer);
            }
        }
        Ok(true)
    }

    /// Ends the transaction.
    fn settle(
        &mut self,
        end: impl FnOnce(&mut dyn Executor) -> Result<(), OracleError> + Send,
        writer: &mut Writer,
    ) -> Result<bool, Ended> {
        match self.perform(end)? {
            None => return Ok(false),
            Some(Ok(())) => reply::status(writer, self.in_transaction()),
            Some(Err(error)) => self.end(Some(&error)).write(writer, self.terms),
        }
        Ok(true)
    }
}

/// Whether a marker breaks; else it resets.
pub(crate) fn is_break(packet: &Packet) -> bool {
    matches!(packet.body.get(2), Some(1 | 3))
}
