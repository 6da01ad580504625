//! Clients go on: to their next transaction, and within it from one command to the next.

use super::Clients;
use super::stage::Pace;
use super::state::{Asked, Waiting};
use crate::backend::{Backend, Driver};
use crate::client_event::{AbortReason, ClientEvent};
use crate::clock::duration_ns;
use crate::load::{Connecting, OnBrokenScript};
use crate::outcome::Ending;
use crate::program::{Action, ProgramError, Resume, Scripted, Shown};
use dyno_wire::TransactionStatus;
use std::cmp::Reverse;
use std::sync::atomic::Ordering;

/// So many transactions are skipped without a look at the clock.
const SKIPPED_AT_ONCE: usize = 10_000;

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// Lets every client act whose time has come.
    pub(super) fn start_due(&mut self, now_ns: u64) {
        if self.steering.is_some_and(|steering| steering.changes() != self.heeded) {
            self.heed_steering();
        }
        if now_ns >= self.change_ns {
            self.follow_course(now_ns);
        }
        self.wake_due(now_ns);
        if !self.over {
            self.start_scheduled(now_ns);
        }
        for _ in 0..self.runnable.len() {
            let Some(index) = self.runnable.pop_front() else { break };
            if !self.over {
                self.begin(index, now_ns, now_ns);
            }
        }
    }

    /// Wakes the clients whose sleep is over.
    pub(super) fn wake_due(&mut self, now_ns: u64) {
        while let Some(Reverse((wake_ns, index))) = self.sleeping.peek().copied() {
            if wake_ns > now_ns {
                break;
            }
            self.sleeping.pop();
            // A client that lost its connection in its sleep has other things to do.
            let client = &mut self.clients[index];
            if client.rare.wake_ns == wake_ns {
                client.rare.wake_ns = u64::MAX;
                self.wake(index, now_ns);
            }
        }
    }

    /// A client does nothing until then.
    pub(super) fn sleep(&mut self, index: usize, wake_ns: u64) {
        self.clients[index].rare.wake_ns = wake_ns;
        self.sleeping.push(Reverse((wake_ns, index)));
    }

    fn wake(&mut self, index: usize, mut now_ns: u64) {
        if P::INDEPENDENT && self.is_given_up() {
            return;
        }
        match self.clients[index].waiting {
            Waiting::Wake => {
                let client = &mut self.clients[index];
                client.rare.asleep_ns += now_ns.saturating_sub(client.statement_ns);
                self.command_done(index, &mut now_ns);
                self.step(index, Resume::Done, now_ns);
            }
            Waiting::Replacement => self.connecting.push_back(index),
            _ => {}
        }
    }

    /// Begins the transactions that are due in an open loop, and skips those that were too late when their client
    /// was free for them. As in pgbench, a client takes its instant when it is free: one that is woken late for it
    /// begins late, and does not skip it.
    fn start_scheduled(&mut self, now_ns: u64) {
        let mut skipped = 0;
        // A client that does not come back may see to the end of the load meanwhile.
        while !self.over
            && let Some(&index) = self.idle.front()
        {
            let due_ns = self.schedule.next_ns();
            if due_ns > now_ns || skipped == SKIPPED_AT_ONCE {
                break;
            }
            self.schedule.advance();
            if due_ns < self.clients[index].free_ns.saturating_sub(self.latency_limit_ns) {
                skipped += 1;
                self.skip(index, now_ns);
            } else {
                self.idle.pop_front();
                self.begin(index, due_ns, now_ns);
            }
        }
        if self.pace == Pace::Arrears && self.schedule.next_ns() > now_ns {
            self.keep_pace(Pace::Completion);
        }
    }

    /// A transaction is too late to be begun: it counts for the client that would have had it.
    fn skip(&mut self, index: usize, now_ns: u64) {
        self.record_skipped(index, now_ns);
        self.clients[index].done += 1;
        if self.clients[index].done >= self.transactions {
            self.idle.pop_front();
            self.finish(index);
        }
    }

    /// Begins a client's transaction, which counts from `from_ns`.
    pub(super) fn begin(&mut self, index: usize, from_ns: u64, now_ns: u64) {
        let client = &mut self.clients[index];
        client.transaction_ns = from_ns;
        if self.detailed {
            client.rare.asleep_ns = 0;
        }
        client.scheduled = self.pace != Pace::Completion;
        if client.connected {
            self.enter(index, now_ns);
        } else {
            client.waiting = Waiting::Connection;
            self.connecting.push_back(index);
        }
    }

    /// A transaction begins in earnest: the client has a connection.
    #[inline]
    pub(super) fn enter(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        client.lag_ns = now_ns.saturating_sub(client.transaction_ns);
        client.statement_ns = now_ns;
        client.tries = 1;
        self.step(index, Resume::Begin, now_ns);
    }

    /// Goes on with a client's transaction up to where it has to wait, or its end.
    #[inline]
    pub(super) fn step(&mut self, index: usize, resume: Resume<'_>, now_ns: u64) {
        let program = &self.workload.program;
        let action = program.next(&mut self.clients[index].program, resume);
        self.act(index, action, now_ns);
    }

    /// Does what the program wants, and what it wants after that.
    #[inline]
    pub(super) fn act(&mut self, index: usize, mut action: Result<Action, ProgramError>, mut now_ns: u64) {
        loop {
            // What such a program has done by itself may have taken any time, which belongs to the transaction.
            if P::INDEPENDENT {
                now_ns = self.clock.now_ns();
                self.roll(now_ns);
            }
            let program = &self.workload.program;
            if self.workload.trace {
                self.trace_action(index, &action);
            }
            if let Some(shown) = program.shown(&self.clients[index].program) {
                self.show(index, shown);
            }
            if let Ok(Action::Execute { statement, .. } | Action::Query { statement, .. }) = action
                && statement >= self.listed
                && let Err(error) = self.check_own(index, statement, matches!(action, Ok(Action::Query { .. })))
            {
                return self.broken(index, error);
            }
            let client = &mut self.clients[index];
            match action {
                Ok(Action::Execute { statement, .. }) if client.piping => {
                    client.statement_ns = now_ns;
                    self.queue(index, statement);
                }
                Ok(Action::Execute { statement, results }) => {
                    return self.execute(index, Asked::new(statement, false, results), now_ns);
                }
                Ok(Action::Prepare { statement, parameters }) => {
                    client.statement_ns = now_ns;
                    if let Err(error) = self.define(index, statement, parameters) {
                        self.broken(index, error);
                    }
                    return;
                }
                Ok(Action::Query { statement, results }) => {
                    return self.execute(index, Asked::new(statement, true, results), now_ns);
                }
                Ok(Action::Sleep(duration)) => {
                    client.waiting = Waiting::Wake;
                    client.statement_ns = now_ns;
                    return self.sleep(index, now_ns.saturating_add(duration_ns(duration)));
                }
                Ok(Action::StartPipeline(statements)) => {
                    if self.start_pipeline(index, statements, now_ns) {
                        return;
                    }
                }
                Ok(Action::SyncPipeline) => self.sync_pipeline(index),
                Ok(Action::EndPipeline) => return self.end_pipeline(index, now_ns),
                Ok(Action::Call) => match program.call(&mut client.program) {
                    Ok(Some(output)) if self.workload.trace => self.trace_output(index, &output),
                    Ok(_) => {}
                    Err(error) => return self.broken(index, error),
                },
                Ok(Action::Meta) => {}
                Ok(Action::End) => return self.complete(index, now_ns),
                // Nothing has failed: it is over all the same.
                Ok(Action::Fail) => return self.rest(index, now_ns),
                Ok(Action::Ready) => return self.ready(index),
                Ok(Action::Abandon) => return self.abandon(index),
                Ok(Action::Finish { completed }) => {
                    if completed {
                        self.record_completed(index, now_ns);
                        self.succeeded.store(true, Ordering::Relaxed);
                    }
                    self.clients[index].done += 1;
                    return self.finish(index);
                }
                Ok(Action::Connect(connection)) => return self.join(index, connection),
                Ok(Action::Use(connection)) => client.rare.connection = connection,
                Ok(Action::Disconnect(connection)) => self.leave(index, connection),
                Err(error) => return self.broken(index, error),
            }
            // A command that had not to wait is done.
            self.command_done(index, &mut now_ns);
            action = self
                .workload
                .program
                .next(&mut self.clients[index].program, Resume::Done);
        }
    }

    /// Executes a statement whose reply is waited for.
    #[inline]
    pub(super) fn execute(&mut self, index: usize, asked: Asked, now_ns: u64) {
        let line = self.line(index);
        let client = &mut self.clients[index];
        client.waiting = Waiting::Reply(asked);
        client.statement_ns = now_ns;
        let program = &self.workload.program;
        let statement = asked.statement();
        if asked.as_text {
            let write = |text: &mut Vec<u8>| program.write_text(&client.program, statement, text);
            self.backend.query(line, write, asked.results);
        } else {
            let parameters = program.parameters(&client.program, statement);
            self.backend.execute(line, statement, &parameters, asked.results);
        }
    }

    #[inline]
    fn complete(&mut self, index: usize, now_ns: u64) {
        if !P::INDEPENDENT && self.backend.in_transaction(index) != TransactionStatus::Idle {
            return self.left_open(index, now_ns);
        }
        self.record_completed(index, now_ns);
        // Written once: what threads only read, each keeps in its cache.
        if !self.succeeded.load(Ordering::Relaxed) {
            self.succeeded.store(true, Ordering::Relaxed);
        }
        self.rest(index, now_ns);
    }

    /// The script has ended inside a transaction.
    #[cold]
    fn left_open(&mut self, index: usize, now_ns: u64) {
        match self.workload.failures.on_broken_script {
            OnBrokenScript::EndLoad => self.give_up(Ending::OpenTransaction {
                workload: self.workload.name.clone(),
            }),
            OnBrokenScript::AbortClient => {
                self.record_completed(index, now_ns);
                self.abort(index, AbortReason::OpenTransaction);
            }
        }
    }

    /// A client's transaction is over: on to the next one.
    #[inline]
    pub(super) fn rest(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        client.done += 1;
        if client.done >= self.transactions {
            return self.finish(index);
        }
        // A script without statements never waits for the server: let the others have their turn.
        let at_once = matches!(
            client.waiting,
            Waiting::Reply(_) | Waiting::Pipeline | Waiting::Rollback
        );
        client.waiting = Waiting::Turn;
        if self.over {
            return;
        }
        self.choose(index);
        if self.workload.connecting == Connecting::EveryTransaction {
            self.part(index);
            self.line_up(index, now_ns);
        } else if at_once && index < self.at_once {
            self.begin(index, now_ns, now_ns);
        } else {
            self.line_up(index, now_ns);
        }
    }

    /// Decides on the script of a client's next transaction.
    #[inline]
    pub(super) fn choose(&mut self, index: usize) {
        let client = &mut self.clients[index];
        self.workload.program.choose(&mut self.thread, &mut client.program);
        if self.workload.trace {
            self.trace_script(index);
        }
    }

    /// A client waits for its next transaction from `free_ns` on, or rests if it is not active.
    pub(super) fn line_up(&mut self, index: usize, free_ns: u64) {
        let client = &mut self.clients[index];
        client.waiting = Waiting::Turn;
        client.free_ns = free_ns;
        if index >= self.active {
            return;
        }
        match self.pace {
            Pace::Completion => self.runnable.push_back(index),
            Pace::Schedule | Pace::Arrears => self.idle.push_back(index),
        }
    }

    /// A client has had its transactions.
    pub(super) fn finish(&mut self, index: usize) {
        self.clients[index].waiting = Waiting::Finished;
        let now_ns = self.clock.now_ns();
        self.dismiss(now_ns);
        self.summary.done += 1;
        self.summary.done_ns = now_ns;
        // After a stop others are not given what they have left.
        self.summary.complete |= !self.over || self.working == 0;
        if self.workload.connecting == Connecting::EveryTransaction {
            self.part(index);
        }
    }

    /// A script cannot go on.
    #[cold]
    pub(super) fn broken(&mut self, index: usize, error: ProgramError) {
        match self.workload.failures.on_broken_script {
            OnBrokenScript::EndLoad => self.give_up(Ending::Program(error)),
            OnBrokenScript::AbortClient => self.abort(index, AbortReason::Program(error)),
        }
    }

    #[cold]
    fn show(&mut self, index: usize, shown: Vec<Shown>) {
        let client = &self.clients[index];
        self.event_and_wait(ClientEvent::Shown {
            workload: self.number,
            client: client.rare.number,
            script: self.workload.program.script(&client.program),
            shown,
        });
    }
}
