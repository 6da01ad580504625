//! What arrives: bytes become replies, and replies let clients go on.

use super::Clients;
use super::client::{Asked, Failure, Waiting};
use crate::program::{Resume, Scripted};
use crate::remark::Remark;
use crate::transport::Arrival;
use dyno_wire::{Event, Protocol, Reply, Session, WireError};
use std::io;

impl<S: Session, P: Scripted> Clients<'_, S, P> {
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
            Waiting::Reply(asked) if reply.failed => self.refused(index, asked, reply, now_ns),
            Waiting::Reply(asked) => {
                self.tally_statement(index, asked.statement(), now_ns);
                if asked.results {
                    self.resume_with_results(index, now_ns);
                } else {
                    self.step(index, Resume::Done, now_ns);
                }
            }
            Waiting::Acceptance => self.accepted(index, reply, now_ns),
            Waiting::Pipeline => self.piped(index, reply, now_ns),
            Waiting::Wake if self.clients[index].outstanding > 0 => self.piped(index, reply, now_ns),
            Waiting::Rollback => self.rolled_back(index, reply, now_ns),
            // A reply that nobody asked for belongs to no transaction.
            _ => {}
        }
    }

    #[cold]
    fn resume_with_results(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        let resume = Resume::Results(client.session.captured());
        let action = self.workload.program.next(&mut client.program, resume);
        self.act(index, action, now_ns);
    }

    /// A statement failed.
    #[cold]
    fn refused(&mut self, index: usize, asked: Asked, reply: Reply, now_ns: u64) {
        let client = &mut self.clients[index];
        if client.introduced && reply.accepted == 0 {
            // It was refused before it could be executed. Doing that all the same shows what it means for the transaction.
            self.remark_unprepared(index, asked.statement());
            if self.workload.trace {
                self.trace_executing(index, asked);
            }
            let statement_ns = self.clients[index].statement_ns;
            return self.execute(index, asked, statement_ns);
        }
        let Some(error) = client.session.error() else {
            return self.rest(index, now_ns);
        };
        let error = error.clone();
        let carries_text = asked.as_text || self.workload.protocol != Protocol::Prepared;
        let failure = Failure {
            error,
            completed: reply.completed,
            query: carries_text.then(|| self.text(index, asked.statement())),
            copy_refused: reply.copy_refused,
        };
        self.went_wrong(index, Box::new(failure), now_ns);
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

    /// The text of a statement, as it is sent.
    pub(super) fn text(&self, index: usize, statement: usize) -> String {
        let mut text = Vec::new();
        let state = &self.clients[index].program;
        self.workload.program.write_text(state, statement, &mut text);
        dyno_text::decode(&text).into_owned()
    }
}
