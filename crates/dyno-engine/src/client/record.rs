//! What is counted of statements and transactions, and told to the log.

use super::Clients;
use super::failure::shown;
use crate::backend::{Backend, Driver};
use crate::load::Workload;
use crate::log::{LogEntry, LoggedOutcome};
use crate::program::Scripted;
use dyno_record::{CommandRecording, ErrorClass, Recording, ScriptRecording, count_code};
use dyno_wire::ServerError;
use std::time::Duration;

/// An empty recording for a workload.
pub(crate) fn recording<D: Driver, P: Scripted>(workload: &Workload<D, P>) -> Recording {
    let mut recording = Recording::new(workload.program.statements().len());
    let commands = workload.program.commands();
    if commands.len() > 1 {
        recording.scripts = ScriptRecording::of_scripts(commands.len());
    }
    if workload.time_commands {
        let each = commands
            .into_iter()
            .map(|count| vec![CommandRecording::default(); count]);
        recording.commands = each.collect();
    }
    recording
}

impl<D: Driver, P: Scripted, B: Backend<Connection = D::Connection>> Clients<'_, D, P, B> {
    /// A statement completed without error.
    #[inline]
    pub(super) fn record_statement(&mut self, index: usize, statement: usize, now_ns: u64) {
        if self.slice.is_some() {
            self.recording.statements += 1;
            let place = self.place(index, statement);
            let duration_ns = now_ns.saturating_sub(self.clients[index].statement_ns);
            self.recording.record_statement(place, duration_ns);
        }
        if self.workload.time_commands {
            self.record_command(index, now_ns);
        }
    }

    /// A command that is not a statement is done. Moves on to the instant after it, if commands are timed.
    #[inline]
    pub(super) fn command_done(&mut self, index: usize, now_ns: &mut u64) {
        if self.workload.time_commands {
            *now_ns = self.clock.now_ns();
            self.record_command(index, *now_ns);
        }
    }

    /// Records the time of the command executed last, and begins that of the next one.
    fn record_command(&mut self, index: usize, now_ns: u64) {
        let client = &mut self.clients[index];
        let duration_ns = now_ns.saturating_sub(client.statement_ns);
        client.statement_ns = now_ns;
        if self.slice.is_some()
            && let Some(command) = self.command(index)
        {
            command.latency_sums.record(duration_ns);
        }
    }

    /// The recording of the command that a client executed last, if commands are timed.
    fn command(&mut self, index: usize) -> Option<&mut CommandRecording> {
        let program = &self.workload.program;
        let state = &self.clients[index].program;
        let script = self.recording.commands.get_mut(program.script(state))?;
        script.get_mut(program.command(state))
    }

    /// The recording of the script that a client executes, if there are several.
    fn script(&mut self, index: usize) -> Option<&mut ScriptRecording> {
        let script = self.workload.program.script(&self.clients[index].program);
        self.recording.scripts.get_mut(script)
    }

    /// A transaction completed without error.
    #[inline]
    pub(super) fn record_completed(&mut self, index: usize, now_ns: u64) {
        let client = &self.clients[index];
        let latency_ns = now_ns.saturating_sub(client.transaction_ns);
        if self.slice.is_none() {
            return self.summary.last.finished.push(Duration::from_nanos(latency_ns));
        }
        self.recording.transactions += 1;
        self.recording.latency.record(latency_ns);
        self.recording.latency_sums.record(latency_ns);
        if client.scheduled {
            self.recording.lag.record(client.lag_ns);
            self.recording.lag_sums.record(client.lag_ns);
        }
        if self.detailed {
            self.detail_completed(index, now_ns, latency_ns);
        }
    }

    fn detail_completed(&mut self, index: usize, now_ns: u64, latency_ns: u64) {
        let client = &self.clients[index];
        let (tries, lag_ns) = (client.tries, if client.scheduled { client.lag_ns } else { 0 });
        let asleep_ns = client.rare.asleep_ns;
        self.recording.late += u64::from(latency_ns > self.latency_limit_ns);
        self.record_tries(index, tries);
        if let Some(script) = self.script(index) {
            script.transactions += 1;
            script.latency_sums.record(latency_ns);
            script.response.record(latency_ns.saturating_sub(asleep_ns));
        }
        self.write_log(index, LoggedOutcome::Done { latency_ns }, now_ns, lag_ns);
    }

    /// Counts what it took beyond the first try, whatever the end.
    fn record_tries(&mut self, index: usize, tries: u32) {
        if tries > 1 {
            let retries = u64::from(tries - 1);
            self.recording.retried += 1;
            self.recording.retries += retries;
            if let Some(script) = self.script(index) {
                script.retried += 1;
                script.retries += retries;
            }
        }
    }

    /// A transaction is tried again because of the command executed last.
    pub(super) fn record_retry(&mut self, index: usize) {
        if self.slice.is_some()
            && let Some(command) = self.command(index)
        {
            command.retries += 1;
        }
    }

    /// A transaction ended with an error.
    #[cold]
    pub(super) fn record_failed(&mut self, index: usize, error: &ServerError, now_ns: u64) {
        if self.slice.is_none() {
            return self.keep_failed(index, error);
        }
        let class = error.class;
        self.recording.count_error(class, error.code, || shown(error));
        let tries = self.clients[index].tries;
        self.record_tries(index, tries);
        if let Some(script) = self.script(index) {
            script.failures.count(class);
        }
        if let Some(command) = self.command(index) {
            command.failures.count(class);
        }
        let outcome = match class {
            ErrorClass::Serialization => LoggedOutcome::Serialization,
            ErrorClass::Deadlock => LoggedOutcome::Deadlock,
            _ => LoggedOutcome::Other,
        };
        self.write_log(index, outcome, now_ns, 0);
    }

    /// A transaction ended with an error after the end.
    fn keep_failed(&mut self, index: usize, error: &ServerError) {
        // A connection may be lost by whoever has nothing under way.
        if !self.clients[index].waiting.is_running() {
            return;
        }
        count_code(&mut self.summary.last.failed, error.code, 1, || shown(error));
    }

    /// A transaction was too late to be begun.
    #[cold]
    pub(super) fn record_skipped(&mut self, index: usize, now_ns: u64) {
        if self.slice.is_none() {
            return;
        }
        self.recording.skipped += 1;
        if let Some(script) = self.script(index) {
            script.skipped += 1;
        }
        self.clients[index].tries = 1;
        self.write_log(index, LoggedOutcome::Skipped, now_ns, 0);
    }

    fn write_log(&mut self, index: usize, outcome: LoggedOutcome, at_ns: u64, lag_ns: u64) {
        if let (Some(log), Some(slice)) = (&mut self.log, self.slice) {
            let client = &self.clients[index];
            log.transaction(&LogEntry {
                client: client.rare.number,
                number: client.done + 1,
                script: self.workload.program.script(&client.program),
                outcome,
                at_ns,
                lag_ns,
                retries: client.tries - 1,
                phase: slice.phase,
            });
        }
    }
}
