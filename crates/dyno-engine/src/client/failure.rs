//! What becomes of transactions that fail, of clients that are aborted, and of those whose connection is lost.

use super::Clients;
use super::state::{Failure, Loss, Waiting};
use crate::backend::{Backend, Driver};
use crate::client_event::{AbortReason, ClientEvent, Doing, Trace};
use crate::load::{OnBrokenScript, OnError};
use crate::outcome::Ending;
use crate::program::{Action, Resume, Scripted};
use crate::report::Message;
use dyno_wire::{ErrorClass, ErrorCode, Reply, ServerError, TransactionStatus};
use std::io;
use std::sync::atomic::Ordering;

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// A statement ended with an error: lets the program decide what that means.
    pub(super) fn went_wrong(&mut self, index: usize, failure: Box<Failure>, now_ns: u64) {
        let program = &self.workload.program;
        let action = program.next(&mut self.clients[index].program, Resume::Failed(&failure.error));
        match action {
            Ok(Action::Fail) => self.failed(index, failure, now_ns),
            other => self.act(index, other, now_ns),
        }
    }

    /// A transaction failed: rolls it back, or aborts its client.
    fn failed(&mut self, index: usize, failure: Box<Failure>, now_ns: u64) {
        let policy = &self.workload.failures;
        let class = failure.error.class;
        let never_works = failure.copy_refused && policy.on_broken_script == OnBrokenScript::AbortClient;
        if never_works || policy.on_error == OnError::AbortClient && !class.is_retryable() {
            return self.abort(index, failure.abort_reason());
        }
        // Syntax errors and missing tables do not heal: a load that has never worked ends at once.
        let ends = policy.on_broken_script == OnBrokenScript::EndLoad && class == ErrorClass::Statement;
        if ends && !self.succeeded.load(Ordering::Relaxed) {
            self.record_failed(index, &failure.error, now_ns);
            return self.give_up(Ending::Statement {
                workload: self.workload.name.clone(),
                error: Box::new(failure.error),
            });
        }
        if policy.report_failures {
            self.report_failure(index, &failure);
        }
        let client = &mut self.clients[index];
        client.rare.failure = Some(failure);
        if self.backend.in_transaction(index) == TransactionStatus::Idle {
            return self.conclude(index, now_ns);
        }
        client.waiting = Waiting::Rollback;
        self.backend.rollback(index);
        if self.workload.trace {
            self.trace(index, Trace::Receiving);
        }
    }

    #[cold]
    pub(super) fn rolled_back(&mut self, index: usize, reply: Reply, now_ns: u64) {
        let error = self.backend.error(index);
        match error.filter(|_| reply.failed).cloned() {
            Some(error) if self.workload.failures.on_error == OnError::AbortClient => {
                self.abort(index, AbortReason::Rollback(Box::new(error)));
            }
            _ => self.conclude(index, now_ns),
        }
    }

    /// Decides what becomes of a transaction that failed and is rolled back.
    fn conclude(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        let Some(failure) = client.rare.failure.take() else {
            return self.rest(index, now_ns);
        };
        let policy = &self.workload.failures;
        let elapsed_ns = now_ns.saturating_sub(client.transaction_ns);
        let again = failure.error.class.is_retryable()
            && policy.max_tries.is_none_or(|most| client.tries < most)
            && elapsed_ns <= self.latency_limit_ns;
        if self.over {
            // Where intervals go on to what is finished after the end, what fails then is not counted, as in pgbench.
            if self.record_finishing {
                client.waiting = Waiting::Turn;
                return;
            }
            self.record_failed(index, &failure.error, now_ns);
            return self.rest(index, now_ns);
        }
        if policy.report_failures {
            let client = &self.clients[index];
            self.event(ClientEvent::Concluded {
                workload: self.number,
                client: client.rare.number,
                tries: client.tries,
                elapsed: std::time::Duration::from_nanos(elapsed_ns),
                again,
            });
        }
        if again {
            self.record_retry(index);
            let client = &mut self.clients[index];
            client.tries += 1;
            client.statement_ns = now_ns;
            self.step(index, Resume::Again, now_ns);
        } else {
            self.record_failed(index, &failure.error, now_ns);
            self.rest(index, now_ns);
        }
    }

    #[cold]
    fn report_failure(&self, index: usize, failure: &Failure) {
        let program = &self.workload.program;
        let client = &self.clients[index];
        self.event(ClientEvent::Failed {
            workload: self.number,
            client: client.rare.number,
            script: program.script(&client.program),
            command: program.command(&client.program),
            error: Box::new(failure.error.clone()),
            query: failure.query.clone(),
        });
    }

    /// Ends a client before its time.
    #[cold]
    pub(super) fn abort(&mut self, index: usize, why: AbortReason) {
        self.tell_end(index, why);
        self.summary.aborted += 1;
        self.part(index);
        self.retire(index);
        if self.workload.failures.abort_load {
            self.give_up(Ending::Aborted);
        }
    }

    /// Says that a client ends before its time.
    fn tell_end(&self, index: usize, why: AbortReason) {
        let program = &self.workload.program;
        let client = &self.clients[index];
        self.event(ClientEvent::Aborted {
            workload: self.number,
            client: client.rare.number,
            script: program.script(&client.program),
            command: program.command(&client.program),
            why,
        });
    }

    /// A client has nothing more to do.
    fn retire(&mut self, index: usize) {
        self.clients[index].waiting = Waiting::Never;
        self.idle.retain(|&other| other != index);
        self.runnable.retain(|&other| other != index);
        self.dismiss(self.clock.now_ns());
    }

    #[cold]
    pub(super) fn lose(&mut self, index: usize, cause: &io::Error) {
        if P::INDEPENDENT {
            return self.miss(index, cause);
        }
        let client = &mut self.clients[index];
        if !std::mem::take(&mut client.connected) {
            return;
        }
        self.show_notices(index);
        let client = &mut self.clients[index];
        let executing = client.waiting.is_running();
        let lost_before = client.rare.loss.is_some();
        let Loss { error, cause } = client.rare.loss.take().unwrap_or_else(|| Loss {
            // The server's last words, if any, say more than the closed socket. What was wrong with an earlier reply
            // has nothing to do with it.
            error: self.backend.error(index).filter(|error| error.fatal).cloned(),
            cause: cause.to_string(),
        });
        let doing = match client.waiting {
            Waiting::Rollback => Doing::RollingBack,
            Waiting::Acceptance | Waiting::Definition => Doing::Preparing,
            // What is lost later is lost while the statement is executed: making it known takes no time.
            _ if self.backend.is_introducing(index) && lost_before => Doing::Preparing,
            _ => Doing::Executing,
        };
        match client.waiting {
            Waiting::Finished | Waiting::Never => {}
            _ if self.workload.reconnect => {
                let now_ns = self.clock.now_ns();
                if executing && !self.over {
                    self.record_failed(index, &lost_error(error, &cause), now_ns);
                }
                self.replace(index, executing, now_ns, 0);
            }
            Waiting::Wake | Waiting::Turn if self.workload.failures.on_error == OnError::AbortClient => {
                // As in pgbench, a client notices when it wants something of the server.
                client.connected = true;
                client.rare.loss = Some(Loss { error, cause });
            }
            _ if self.workload.failures.on_error == OnError::AbortClient => {
                if self.workload.trace {
                    self.trace(index, Trace::Receiving);
                }
                let error = error.map(Box::new);
                self.abort(index, AbortReason::ConnectionLost { error, cause, doing });
            }
            _ => {
                let failed = lost_error(error.clone(), &cause);
                let now_ns = self.clock.now_ns();
                self.record_failed(index, &failed, now_ns);
                if !self.over {
                    let error = error.map(Box::new);
                    self.tell_end(index, AbortReason::ConnectionLost { error, cause, doing });
                }
                self.retire(index);
                self.tell(Message::Lost {
                    message: shown(&failed),
                });
            }
        }
    }

    /// A client that has no connection is to get one after a pause. A transaction that was under way is over.
    pub(super) fn replace(&mut self, index: usize, executing: bool, now_ns: u64, pause_ns: u64) {
        self.idle.retain(|&other| other != index);
        self.runnable.retain(|&other| other != index);
        let client = &mut self.clients[index];
        client.rare.lost_ns = now_ns;
        client.rare.failure = None;
        client.waiting = Waiting::Replacement;
        client.done += u64::from(executing);
        if client.done >= self.transactions {
            self.finish(index);
        } else {
            self.sleep(index, now_ns.saturating_add(pause_ns));
        }
    }
}

/// What ended the connection, as an error of the server.
pub(super) fn lost_error(error: Option<ServerError>, cause: &str) -> ServerError {
    error.unwrap_or_else(|| ServerError {
        class: ErrorClass::Lost,
        code: ErrorCode::CONNECTION_LOST,
        message: format!("connection lost: {cause}"),
        ..ServerError::default()
    })
}

/// An error as a person is to see it; what the server did not say itself has no severity.
pub(super) fn shown(error: &ServerError) -> String {
    if error.severity.is_empty() {
        error.message.clone()
    } else {
        error.to_string()
    }
}
