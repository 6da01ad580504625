//! What a client does next: the seam between the event loop and the script languages.

mod script;
mod shell;

pub use script::{ScriptProgram, ScriptSet, ScriptState, ScriptThread};

use crate::capture::CaptureFault;
use dyno_script::{Debugged, EvaluationError};
use dyno_wire::{CapturedResult, Parameters};
use std::ops::Range;
use std::time::Duration;

/// A client's next act within its transaction. Statements are counted over all scripts of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Execute the statement of this index and wait for its reply, unless a pipeline is open.
    Execute(usize),
    /// The same, and give the program its results.
    Capture(usize),
    /// Do nothing for this long.
    Sleep(Duration),
    /// Begin a pipeline: do not wait for replies from now on.
    StartPipeline,
    /// Let what the pipeline has executed so far fail or succeed by itself.
    SyncPipeline,
    /// End the pipeline and wait for all replies.
    EndPipeline,
    /// Let [`Program::shell`] run a command of the operating system.
    Shell,
    /// A meta command was executed; only told to who asked for each.
    Meta,
    /// The transaction is complete.
    End,
}

/// What clients do, shared by all clients of a workload. Each client has a state of its own.
pub trait Program: Send + Sync {
    /// One client's variables, random state and place in the program.
    type State: Send;

    /// What the clients of one thread share.
    type Thread: Send;

    /// The text of each statement of all scripts, for messages and reports.
    fn statements(&self) -> Vec<String>;

    /// The number of commands of each script.
    fn commands(&self) -> Vec<usize>;

    /// The state of a new thread, which counts from 0 within the workload.
    fn thread(&self, thread: usize) -> Self::Thread;

    /// The state of a new client; `client` counts from 0 within the workload.
    fn state(&self, client: usize) -> Self::State;

    /// Decides which script the client's next transaction executes.
    fn choose(&self, thread: &mut Self::Thread, state: &mut Self::State);

    /// The script decided on.
    fn script(&self, state: &Self::State) -> usize;

    /// The command that was executed last, as index into its script's.
    fn command(&self, state: &Self::State) -> usize;

    /// Begins the transaction, and remembers what [`Program::restart`] needs.
    fn begin(&self, state: &mut Self::State);

    /// Begins the same transaction again, with the same random numbers.
    fn restart(&self, state: &mut Self::State);

    /// Decides what comes next. With `each`, tells of every meta command.
    ///
    /// # Errors
    /// The program cannot go on, for example because an expression divides by zero.
    fn next(&self, state: &mut Self::State, each: bool) -> Result<Action, ProgramError>;

    /// Runs what [`Action::Shell`] asked for, and waits for it. Gives the output that was used, if any was wanted.
    ///
    /// # Errors
    /// It failed, or gave nothing that the program could use.
    fn shell(&self, state: &mut Self::State) -> Result<Option<Vec<u8>>, ProgramError>;

    /// The statements of the pipeline that has just been begun.
    fn pipeline(&self, state: &Self::State) -> Range<usize>;

    /// Takes the results that [`Action::Capture`] asked for.
    ///
    /// # Errors
    /// The results are not what the program needs.
    fn capture(
        &self,
        state: &mut Self::State,
        statement: usize,
        results: &[CapturedResult],
    ) -> Result<(), CaptureFault>;

    /// The error that the command executed last cannot be executed, for this reason.
    fn failure(&self, state: &Self::State, reason: &str) -> ProgramError;

    /// Values that the last call of [`Program::next`] wants to be shown.
    fn debugged<'a>(&self, state: &'a Self::State) -> &'a [Debugged];

    /// The parameters of `statement` for the extended and prepared protocols.
    fn parameters<'a>(&'a self, state: &'a Self::State, statement: usize) -> impl Parameters + 'a;

    /// Appends the text of `statement` with all values filled in, for the simple protocol.
    fn write_text(&self, state: &Self::State, statement: usize, out: &mut Vec<u8>);

    /// The text of `statement` with parameters, for the extended and prepared protocols.
    fn parameterized(&self, statement: usize) -> &str;
}

/// Why a program cannot go on; says where in the script.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProgramError(#[from] EvaluationError);

impl ProgramError {
    /// The error itself, which also knows pgbench's wording.
    #[must_use]
    pub fn evaluation(&self) -> &EvaluationError {
        &self.0
    }
}
