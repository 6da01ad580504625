//! What arrives: bytes become replies, and replies let clients go on.

use super::Clients;
use super::state::{Asked, Failure, Waiting};
use crate::backend::{Backend, Driver};
use crate::client_event::ClientEvent;
use crate::program::{Resume, Scripted};
use dyno_wire::{Preparation, Reply};

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    #[inline]
    pub(super) fn take_reply(&mut self, index: usize, reply: Reply, now_ns: u64) {
        if P::INDEPENDENT && self.is_given_up() {
            return;
        }
        if reply.noticed {
            self.show_notices(index);
        }
        if self.workload.trace {
            self.trace_reply(index, reply);
        }
        match self.clients[index].waiting {
            Waiting::Reply(asked) if reply.failed => self.refused(index, asked, reply, now_ns),
            Waiting::Reply(asked) => {
                self.record_statement(index, asked.statement(), now_ns);
                if P::INDEPENDENT {
                    self.resume_with_reply(index, &reply, asked.results, now_ns);
                } else if asked.results {
                    self.resume_with_results(index, now_ns);
                } else {
                    self.step(index, Resume::Done, now_ns);
                }
            }
            Waiting::Definition => self.defined(index, reply, now_ns),
            Waiting::Acceptance => self.accepted(index, reply, now_ns),
            Waiting::Pipeline => self.piped(index, reply, now_ns),
            Waiting::Wake if self.clients[index].rare.outstanding > 0 => self.piped(index, reply, now_ns),
            Waiting::Rollback => self.rolled_back(index, reply, now_ns),
            // A reply that nobody asked for belongs to no transaction.
            _ => {}
        }
    }

    #[cold]
    fn resume_with_results(&mut self, index: usize, now_ns: u64) {
        let resume = Resume::Results(self.backend.results(index));
        let action = self.workload.program.next(&mut self.clients[index].program, resume);
        self.act(index, action, now_ns);
    }

    #[inline]
    fn resume_with_reply(&mut self, index: usize, reply: &Reply, results: bool, now_ns: u64) {
        let line = self.line(index);
        let results = if results { self.backend.results(line) } else { &[] };
        let resume = Resume::Replied { reply, results };
        let action = self.workload.program.next(&mut self.clients[index].program, resume);
        self.act(index, action, now_ns);
    }

    /// A statement failed.
    #[cold]
    fn refused(&mut self, index: usize, asked: Asked, reply: Reply, now_ns: u64) {
        if reply.preparation == Preparation::Refused {
            // It was refused before it could be executed. Doing that all the same shows what it means for the
            // transaction.
            self.tell_unprepared(index, asked.statement());
            if self.workload.trace {
                self.trace_executing(index, asked);
            }
            let statement_ns = self.clients[index].statement_ns;
            return self.execute(index, asked, statement_ns);
        }
        let Some(error) = self.backend.error(self.line(index)) else {
            return self.rest(index, now_ns);
        };
        let error = error.clone();
        let carries_text = asked.as_text || self.workload.driver.sends_text(asked.statement());
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
        let number = self.clients[index].rare.number;
        let line = self.line(index);
        for notice in self.backend.take_notices(line) {
            self.event(ClientEvent::Notice {
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

    /// The text under which a statement of the client's own is counted.
    pub(super) fn label(&self, index: usize, statement: usize) -> String {
        let mut text = Vec::new();
        let state = &self.clients[index].program;
        self.workload.program.write_label(state, statement, &mut text);
        dyno_text::decode(&text).into_owned()
    }
}
