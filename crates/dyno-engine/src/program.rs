//! What clients do: the seam between the engine and the languages that transactions are written in.
//!
//! A client asks its program for one [`Action`] after the other, and tells it what the last one brought. The engine
//! knows no language: statements are numbers to it, values are bytes that the program writes, and a program that
//! cannot go on says why in an error of its own.

use crate::client::pacing::Draws;
use dyno_wire::{CapturedResult, Parameters, Reply, ServerError};
use std::fmt;
use std::ops::Range;
use std::time::Duration;

/// The most statements that a client can come upon while it runs. Each takes memory here, and on the server if it is
/// prepared: MySQL has no more than 16,382 for all clients together unless it is told to.
pub const MOST_OWN: usize = 10_000;

/// A client's next act within its transaction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Action {
    /// Execute a statement with the values of [`Program::parameters`] and wait for its reply, unless a pipeline is
    /// open.
    Execute {
        /// The statement's number.
        statement: usize,
        /// Whether the program wants its results. Not within a pipeline.
        results: bool,
    },
    /// Send what [`Program::write_text`] writes and wait for the reply. Not within a pipeline.
    Query {
        /// The statement's number, under which it is counted.
        statement: usize,
        /// Whether the program wants its results.
        results: bool,
    },
    /// Prepare a statement of the client's own, with the text that [`Program::write_text`] writes. Not within a
    /// pipeline. It takes the next number, even if the server refuses it, and can be executed from then on, also over
    /// connections that the client gets later.
    Prepare {
        /// The statement's number.
        statement: usize,
        /// How many values an execution has: `$1` to `$parameters` in the text.
        parameters: usize,
    },
    /// Do nothing for this long.
    Sleep(Duration),
    /// Begin a pipeline: do not wait for replies from now on. These of its statements are made known to the server
    /// before.
    StartPipeline(Range<usize>),
    /// Let what the pipeline has executed so far fail or succeed by itself.
    SyncPipeline,
    /// End the pipeline and wait for all replies.
    EndPipeline,
    /// Let [`Scripted::call`] do something that blocks the thread.
    Call,
    /// A command was executed that wants nothing of the engine; only told to who asked for each.
    Meta,
    /// The transaction is complete.
    End,
    /// The transaction has failed with the error of [`Resume::Failed`]; no answer to anything else.
    Fail,
    /// What comes before a client's first transaction, or after its last, is done. Of
    /// [independent](Program::INDEPENDENT) programs alone, as all that follow.
    Ready,
    /// The client was made to come back by [`Program::interrupt`] and cannot go on: what it has begun stays unfinished.
    Abandon,
    /// The client has no more transactions.
    Finish {
        /// Whether the transaction under way is complete and counts.
        completed: bool,
    },
    /// What is executed from now on goes over the client's connection of this number. It had it before the load (0), or
    /// has asked for it.
    Use(usize),
    /// Give the client a connection of this number, in place of the one that it may have. Numbers begin with 0 and are
    /// below [`MOST_CONNECTIONS`].
    Connect(usize),
    /// Take leave of the server on the connection of this number and close it.
    Disconnect(usize),
}

/// The most connections that a client of an [independent](Program::INDEPENDENT) program has at a time.
pub const MOST_CONNECTIONS: usize = 8;

impl Action {
    /// Execute a statement whose results the program does not want.
    #[must_use]
    pub fn execute(statement: usize) -> Self {
        Self::Execute {
            statement,
            results: false,
        }
    }
}

/// What the last action brought.
#[derive(Clone, Copy, Debug)]
pub enum Resume<'a> {
    /// There was none: a transaction begins.
    Begin,
    /// The transaction begins once more after it failed, and is to do the same as before.
    Again,
    /// Nothing but its completion.
    Done,
    /// The results that the statement was to bring: one for each query that it was made of.
    Results(&'a [CapturedResult]),
    /// The server reported an error.
    Failed(&'a ServerError),
    /// The load is about to begin: the client may do what comes before its first transaction, until
    /// [`Action::Ready`]. To [independent](Program::INDEPENDENT) programs alone, as all that follow.
    Enter,
    /// The load is over: the client may do what comes after its last transaction, until [`Action::Ready`].
    Leave,
    /// What a statement brought.
    Replied {
        /// In numbers.
        reply: &'a Reply,
        /// The results, if it was to bring them: one for each query that it was made of.
        results: &'a [CapturedResult],
    },
}

/// What clients do, shared by all clients of a workload. Each client has a state of its own.
///
/// Statements are numbered: first those of [`Program::statements`], which all clients share, then those that the client
/// comes upon while it runs, in the order in which it does so. It may [prepare](Action::Prepare) them or send their
/// texts ([`Action::Query`]). Each is counted under the text that it has when it is used first, together with those of
/// the same text of other clients. None is given up before the load ends, so a client may have [`MOST_OWN`] of them;
/// the number of one that is sent as text can be used again for other texts.
pub trait Program: Send + Sync {
    /// One client's variables, random state and place in the program.
    type State: Send;

    /// Whether clients look after themselves, as scripts in a general language do. They are asked before their first
    /// transaction ([`Resume::Enter`]), for which the load waits, and after their last ([`Resume::Leave`]); they hear
    /// what statements brought ([`Resume::Replied`]), and of lost connections as of other errors; they may have several
    /// connections, connect again, leave transactions open, and finish when they like.
    const INDEPENDENT: bool = false;

    /// The statements that are known before the load begins, as a person wrote them.
    fn statements(&self) -> Vec<String>;

    /// The state of a new client, which counts from 0 within the workload.
    fn state(&self, client: usize) -> Self::State;

    /// Decides what comes next.
    ///
    /// # Errors
    /// The program cannot go on, for example because an expression divides by zero.
    fn next(&self, state: &mut Self::State, resume: Resume<'_>) -> Result<Action, ProgramError>;

    /// Makes clients come back, with [`Action::Abandon`], that do not come back from [`next`](Self::next) for this long
    /// from now on: nobody else of their thread goes on meanwhile, and the load is to end. Called from another thread
    /// than theirs, again and again until all threads have ended. A program whose clients decide quickly need not care.
    fn interrupt(&self, _patience: Duration) {}

    /// Whether a client that was to come back so does not, because it is in something that cannot be interrupted: then
    /// its thread may never end. Others that have not ended yet only need their time.
    fn is_held(&self) -> bool {
        false
    }

    /// The values for the execution of a statement; none if nothing else is said.
    fn parameters<'a>(&'a self, _state: &'a Self::State, _statement: usize) -> impl Parameters + 'a {}

    /// Appends the text of a statement as it is sent: as a person wrote it, if nothing else is said.
    fn write_text(&self, _state: &Self::State, statement: usize, out: &mut Vec<u8>) {
        if let Some(text) = self.statements().get(statement) {
            out.extend_from_slice(&dyno_text::encode(text));
        }
    }

    /// Appends the text under which a statement of the client's own is counted, when that is used first: the one that
    /// is sent, if nothing else is said.
    fn write_label(&self, state: &Self::State, statement: usize, out: &mut Vec<u8>) {
        self.write_text(state, statement, out);
    }
}

/// What the engine asks of a program beside, for front ends that speak of threads, scripts and their commands. All
/// programs that are driven have it. One that is a single script, and whose threads keep nothing, says only
/// `type Thread = ()` and an empty [`thread`](Scripted::thread).
pub trait Scripted: Program {
    /// What the clients of a thread share.
    type Thread: Send;

    /// The state of a new thread, which counts from 0 within the workload.
    fn thread(&self, thread: usize) -> Self::Thread;

    /// The random numbers of a thread's schedule in an open loop. A program without seeds of its own has the same in
    /// each run.
    fn schedule(&self, thread: usize) -> Draws {
        let mut random = fastrand::Rng::with_seed(thread as u64);
        Box::new(move || random.f64())
    }

    /// The number of commands of each script.
    fn commands(&self) -> Vec<usize> {
        vec![1]
    }

    /// Decides which script the client's next transaction executes. Comes before [`Resume::Begin`], when the client
    /// is free.
    fn choose(&self, _thread: &mut Self::Thread, _state: &mut Self::State) {}

    /// The script decided on.
    fn script(&self, _state: &Self::State) -> usize {
        0
    }

    /// The command that was executed last, as index into its script's.
    fn command(&self, _state: &Self::State) -> usize {
        0
    }

    /// Does what [`Action::Call`] asked for, while the other clients of the thread wait. Gives the output of
    /// another program that was used, if any was.
    ///
    /// # Errors
    /// It failed, or gave nothing that the program could use.
    fn call(&self, _state: &mut Self::State) -> Result<Option<Vec<u8>>, ProgramError> {
        Ok(None)
    }

    /// What the last call of [`Program::next`] wants to be shown; `None`: nothing.
    fn shown(&self, _state: &Self::State) -> Option<Vec<Shown>> {
        None
    }
}

/// Something that a script wants to be shown to a person.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shown {
    /// The command that shows it, as index into its script's.
    pub command: usize,
    /// What it shows.
    pub text: String,
}

/// A program uses statements of its clients' own in a way that nothing can come of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum Misuse {
    /// It leaves numbers out, or prepares one twice.
    #[error("statement {given} is new where {next} is the next number")]
    Number {
        /// The number that it gives.
        given: usize,
        /// The next number of the client.
        next: usize,
    },
    /// It has more of them than a client can have.
    #[error(
        "statement {0} is one more than the {MOST_OWN} that a client can prepare or name while it runs: use those \
         again, or send texts under a number that is taken"
    )]
    TooMany(usize),
    /// It executes what it did not prepare.
    #[error("statement {0} is executed but was not prepared")]
    Unprepared(usize),
    /// It wants more connections for a client than that can have.
    #[error("a client wants {} connections at a time; it can have {MOST_CONNECTIONS}", .0 + 1)]
    Connection(usize),
    /// It prepares a statement, or sends a text, within a pipeline.
    #[error("statement {0} is prepared or sent as text within a pipeline")]
    InPipeline(usize),
}

/// Why a program cannot go on, in an error of its language that says where.
#[derive(Debug)]
pub struct ProgramError(Box<dyn std::error::Error + Send + Sync>);

impl ProgramError {
    /// An error of the program's language.
    pub fn new(error: impl std::error::Error + Send + Sync + 'static) -> Self {
        Self(Box::new(error))
    }

    /// The error itself, if it is of this type.
    #[must_use]
    pub fn of<E: std::error::Error + 'static>(&self) -> Option<&E> {
        self.0.downcast_ref()
    }
}

impl fmt::Display for ProgramError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

impl std::error::Error for ProgramError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        self.0.source()
    }
}
