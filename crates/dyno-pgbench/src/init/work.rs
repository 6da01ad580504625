//! One step at work: the connection, what is asked for, and where to report.

use super::error::{Stage, StepFailure};
use super::options::InitOptions;
use super::step::Step;
use dyno_target::postgres::load::{Loader, LoaderError, StopRequested};

/// What a step works with.
pub(super) struct Work<'a, 'b> {
    pub(super) loader: Loader<'a>,
    pub(super) options: &'b InitOptions,
    pub(super) stop: StopRequested<'a>,
    pub(super) out: &'b mut dyn FnMut(&str),
    /// The step under way.
    pub(super) step: Step,
}

impl<'a> Work<'a, '_> {
    /// Executes a statement; what the server remarks is reported.
    pub(super) fn execute(&mut self, statement: &str) -> Result<(), StepFailure> {
        self.rows_of(statement).map(drop)
    }

    /// Executes a query and gives the number of its rows.
    pub(super) fn rows_of(&mut self, statement: &str) -> Result<u64, StepFailure> {
        let executed = if (self.stop)() {
            Err(LoaderError::Stopped)
        } else {
            self.loader.execute(statement)
        };
        for notice in self.loader.take_notices() {
            (self.out)(&format!("{notice}\n"));
        }
        self.judge(executed, statement).map(|reply| reply.rows)
    }

    /// The connection and where to report, apart, for a COPY that reports while it goes on.
    pub(super) fn parts(&mut self) -> (&mut Loader<'a>, &mut dyn FnMut(&str)) {
        (&mut self.loader, self.out)
    }

    /// Says of what failed during which statement and step it did.
    pub(super) fn judge<T>(&self, outcome: Result<T, LoaderError>, statement: &str) -> Result<T, StepFailure> {
        self.judge_at(Stage::Executing, outcome, statement)
    }

    /// The same of a statement that had come this far.
    pub(super) fn judge_at<T>(
        &self,
        stage: Stage,
        outcome: Result<T, LoaderError>,
        statement: &str,
    ) -> Result<T, StepFailure> {
        outcome.map_err(|error| StepFailure {
            error,
            statement: statement.to_owned(),
            stage,
            step: self.step,
        })
    }
}
