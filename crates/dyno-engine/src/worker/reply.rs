//! What arrives: bytes become replies, and replies let clients go on.

use super::Clients;
use super::client::{Failure, Waiting};
use crate::program::Program;
use crate::remark::{AbortReason, Remark};
use crate::transport::Arrival;
use dyno_wire::{Event, Protocol, Reply, Session, WireError};
use std::io;

impl<S: Session, P: Program> Clients<'_, S, P> {
    pub(super) fn arrived(&mut self, index: usize, arrival: Arrival<'_>) {
        match arrival {
            Arrival::Closed(error) => self.lose(index, &error),
            Arrival::Bytes(mut bytes) => {
                while !bytes.is_empty() && self.clients[index].connected {
                    // Answers of the session itself, such as a refusal of COPY, go out with the round.
                    let start = self.outbox.bytes.len();
                    let client = &mut self.clients[index];
                    match client.session.receive(bytes, &mut self.outbox.bytes) {
                        Ok((used, event)) => {
                            if self.outbox.bytes.len() > start {
                                self.outbox.parts.push((index, start..self.outbox.bytes.len()));
                            }
                            bytes = &bytes[used..];
                            // What has come cannot be the reply to what is not sent: the server says more than it was asked for.
                            if client.unsent && (event != Event::NeedInput || client.session.is_replying()) {
                                let unasked = WireError::Unasked { database: S::DATABASE };
                                self.lose(index, &io::Error::other(unasked));
                            } else if let Event::Reply(reply) = event {
                                let now_ns = self.clock.now_ns();
                                self.roll(now_ns);
                                self.replied(index, reply, now_ns);
                            }
                        }
                        // A client that sleeps goes on for now: what else came means nothing.
                        Err(error) => return self.lose(index, &io::Error::other(error)),
                    }
                }
            }
        }
    }

    #[inline]
    fn replied(&mut self, index: usize, reply: Reply, now_ns: u64) {
        if reply.noticed {
            self.show_notices(index);
        }
        if self.workload.trace {
            self.trace_reply(index, reply);
        }
        match self.clients[index].waiting {
            Waiting::Reply(statement) if !reply.failed => {
                self.tally_statement(index, statement, now_ns);
                self.step(index, now_ns);
            }
            Waiting::Reply(statement) | Waiting::Results(statement) if reply.failed => {
                self.refused(index, statement, reply, now_ns);
            }
            Waiting::Results(statement) => self.captured(index, statement, now_ns),
            Waiting::Acceptance => self.accepted(index, reply, now_ns),
            Waiting::Pipeline => self.piped(index, reply, now_ns),
            Waiting::Wake if self.clients[index].outstanding > 0 => self.piped(index, reply, now_ns),
            Waiting::Rollback => self.rolled_back(index, reply, now_ns),
            // A reply that nobody asked for belongs to no transaction.
            _ => {}
        }
    }

    /// The results of a statement are there for the program to take.
    #[cold]
    fn captured(&mut self, index: usize, statement: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        let results = client.session.captured();
        match self.workload.program.capture(&mut client.program, statement, results) {
            Ok(()) => {
                // From here on it is like any other statement.
                client.waiting = Waiting::Reply(statement);
                self.tally_statement(index, statement, now_ns);
                self.step(index, now_ns);
            }
            Err(fault) => self.uncaptured(index, fault),
        }
    }

    /// A statement failed.
    #[cold]
    fn refused(&mut self, index: usize, statement: usize, reply: Reply, now_ns: u64) {
        let client = &mut self.clients[index];
        if client.introduced && reply.accepted == 0 {
            // It was refused before it could be executed. Doing that all the same shows what it means for the transaction.
            self.remark_unprepared(index, statement);
            if self.workload.trace {
                self.trace_executing(index, statement);
            }
            let statement_ns = self.clients[index].statement_ns;
            return self.execute(index, statement, statement_ns);
        }
        let Some(error) = client.session.error() else {
            return self.rest(index, now_ns);
        };
        let program = &self.workload.program;
        let query = match self.workload.protocol {
            Protocol::Simple => {
                let mut text = Vec::new();
                program.write_text(&client.program, statement, &mut text);
                Some(dyno_text::decode(&text).into_owned())
            }
            Protocol::Extended => Some(program.parameterized(statement).to_owned()),
            Protocol::Prepared => None,
        };
        let failure = Failure {
            error: error.clone(),
            completed: reply.completed,
            query,
            copy_refused: reply.copy_refused,
        };
        self.failed(index, Box::new(failure), now_ns);
    }

    #[cold]
    pub(super) fn show_notices(&mut self, index: usize) {
        let client = &mut self.clients[index];
        let number = client.number;
        for notice in client.session.take_notices() {
            self.remark(Remark::Notice {
                workload: self.number,
                client: number,
                notice: Box::new(notice),
            });
        }
    }

    fn uncaptured(&mut self, index: usize, fault: crate::CaptureFault) {
        match self.workload.failures.on_broken_script {
            crate::OnBrokenScript::EndLoad => {
                let client = &self.clients[index];
                let error = self.workload.program.failure(&client.program, &fault.to_string());
                self.broken(index, error);
            }
            crate::OnBrokenScript::AbortClient => self.abort(index, AbortReason::Capture(fault)),
        }
    }
}
