//! Pipelines: statements that are sent without waiting for the replies to those before.
//!
//! As in pgbench, a pipeline's replies are looked at when it ends, and an error belongs to the command that ends it.

use super::Clients;
use super::state::{Failure, Waiting};
use crate::backend::{Backend, Driver};
use crate::client_event::{ClientEvent, Trace};
use crate::program::{Resume, Scripted};
use dyno_wire::Reply;
use std::ops::Range;

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// Begins a pipeline. Returns whether the client has to wait first.
    pub(super) fn start_pipeline(&mut self, index: usize, statements: Range<usize>, now_ns: u64) -> bool {
        let client = &mut self.clients[index];
        client.piping = true;
        client.statement_ns = now_ns;
        // Preparing within the pipeline would take a snapshot before the pipeline's own BEGIN could choose an
        // isolation level.
        for statement in statements {
            if self.backend.prepare(index, statement) {
                client.rare.accepting.push_back(statement);
            }
        }
        if client.rare.accepting.is_empty() {
            return false;
        }
        client.waiting = Waiting::Acceptance;
        true
    }

    /// The server has said whether it accepts the next of the pipeline's statements.
    #[cold]
    pub(super) fn accepted(&mut self, index: usize, reply: Reply, mut now_ns: u64) {
        let client = &mut self.clients[index];
        let statement = client.rare.accepting.pop_front();
        let waiting = !client.rare.accepting.is_empty();
        if let Some(statement) = statement.filter(|_| self.workload.trace) {
            self.trace(index, Trace::Preparing(statement));
        }
        if let (true, Some(statement)) = (reply.failed, statement) {
            self.tell_unprepared(index, statement);
        }
        if !waiting {
            self.command_done(index, &mut now_ns);
            self.step(index, Resume::Done, now_ns);
        }
    }

    /// Says that the server refuses a statement. Its execution will fail, and tell what that means for the client.
    pub(super) fn tell_unprepared(&self, index: usize, statement: usize) {
        let client = &self.clients[index];
        if let Some(error) = self.backend.error(index) {
            self.event(ClientEvent::Unprepared {
                workload: self.number,
                client: client.rare.number,
                error: Box::new(error.clone()),
                query: self.text(index, statement),
            });
        }
    }

    /// Executes a statement within the pipeline.
    pub(super) fn queue(&mut self, index: usize, statement: usize) {
        let program = &self.workload.program;
        let parameters = program.parameters(&self.clients[index].program, statement);
        self.backend.queue(index, statement, &parameters);
    }

    /// What the pipeline has executed so far fails or succeeds by itself.
    pub(super) fn sync_pipeline(&mut self, index: usize) {
        self.backend.sync(index);
        self.clients[index].rare.outstanding += 1;
    }

    /// Ends the pipeline and waits for its replies.
    pub(super) fn end_pipeline(&mut self, index: usize, now_ns: u64) {
        self.sync_pipeline(index);
        let client = &mut self.clients[index];
        client.piping = false;
        client.statement_ns = now_ns;
        client.waiting = Waiting::Pipeline;
    }

    /// A part of the pipeline is done.
    #[cold]
    pub(super) fn piped(&mut self, index: usize, reply: Reply, mut now_ns: u64) {
        if self.slice.is_some() {
            self.recording.statements += reply.completed;
        }
        let client = &mut self.clients[index];
        client.rare.outstanding = client.rare.outstanding.saturating_sub(1);
        if reply.failed
            && client.rare.failure.is_none()
            && let Some(error) = self.backend.error(index)
        {
            client.rare.failure = Some(Box::new(Failure {
                error: error.clone(),
                completed: 0,
                query: None,
                copy_refused: reply.copy_refused,
            }));
        }
        if client.waiting != Waiting::Pipeline || client.rare.outstanding > 0 {
            return;
        }
        match client.rare.failure.take() {
            Some(failure) => self.went_wrong(index, failure, now_ns),
            None => {
                self.command_done(index, &mut now_ns);
                self.step(index, Resume::Done, now_ns);
            }
        }
    }
}
