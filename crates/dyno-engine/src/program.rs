//! What a client does next: the seam between the event loop and the script languages.

use dyno_script::{Cursor, EvaluationError, Random, Script, Step, Variables};
use dyno_wire::Parameters;
use std::sync::Arc;
use std::time::Duration;

/// A client's next act within its transaction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Action {
    /// Execute the statement of this index and wait for its reply.
    Execute(usize),
    /// Do nothing for this long.
    Sleep(Duration),
    /// The transaction is complete.
    End,
}

/// What clients do, shared by all clients of a workload. Each client has a state of its own.
pub trait Program: Send + Sync {
    /// One client's variables, random state and place in the program.
    type State: Send;

    /// The text of each statement, for messages and reports.
    fn statements(&self) -> Vec<String>;

    /// The state of a new client; `client` counts from 0 within the workload.
    fn state(&self, client: usize) -> Self::State;

    /// Goes back to the begin of the transaction.
    fn begin(&self, state: &mut Self::State);

    /// Decides what comes next.
    ///
    /// # Errors
    /// The program cannot go on, for example because an expression divides by zero.
    fn next(&self, state: &mut Self::State) -> Result<Action, ProgramError>;

    /// The parameters of `statement` for the extended and prepared protocols.
    fn parameters<'a>(&'a self, state: &'a Self::State, statement: usize) -> impl Parameters + 'a;

    /// Appends the text of `statement` with all values filled in, for the simple protocol.
    fn write_text(&self, state: &Self::State, statement: usize, out: &mut Vec<u8>);
}

/// Why a program cannot go on; says where in the script.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct ProgramError(#[from] EvaluationError);

/// A script in pgbench's language as a [`Program`].
#[derive(Clone, Debug)]
pub struct ScriptProgram {
    script: Arc<Script>,
    variables: Variables,
    /// The name under which a client finds its own number, if the script uses it.
    client_id: Option<dyno_script::VariableId>,
    random: Vec<Random>,
}

/// One client's place in its script.
#[derive(Clone, Debug)]
pub struct ScriptState {
    variables: Variables,
    random: Random,
    cursor: Cursor,
}

impl ScriptProgram {
    /// `variables` holds what is set before the first transaction; `random` one state per client; `client_id` the variable that is to hold each
    /// client's number.
    #[must_use]
    pub fn new(
        script: Arc<Script>,
        variables: Variables,
        client_id: Option<dyno_script::VariableId>,
        random: Vec<Random>,
    ) -> Self {
        Self {
            script,
            variables,
            client_id,
            random,
        }
    }
}

impl Program for ScriptProgram {
    type State = ScriptState;

    fn statements(&self) -> Vec<String> {
        (0..self.script.statements())
            .filter_map(|index| Some(self.script.statement(index)?.text().to_owned()))
            .collect()
    }

    fn state(&self, client: usize) -> ScriptState {
        let mut variables = self.variables.clone();
        if let Some(id) = self.client_id {
            variables.set(id, dyno_script::Value::Int(client as i64));
        }
        ScriptState {
            variables,
            random: self
                .random
                .get(client)
                .cloned()
                .unwrap_or_else(|| Random::new(client as u64)),
            cursor: Cursor::default(),
        }
    }

    #[inline]
    fn begin(&self, state: &mut ScriptState) {
        state.cursor = Cursor::default();
    }

    #[inline]
    fn next(&self, state: &mut ScriptState) -> Result<Action, ProgramError> {
        let step = self
            .script
            .next(&mut state.cursor, &mut state.variables, &mut state.random, false)?;
        match step {
            Step::Statement(index) => Ok(Action::Execute(index)),
            Step::Sleep(duration) => Ok(Action::Sleep(duration)),
            Step::End => Ok(Action::End),
            Step::Shell | Step::StartPipeline | Step::SyncPipeline | Step::EndPipeline | Step::Meta => Err(self
                .script
                .failure(&state.cursor, "this command cannot be used here yet")
                .into()),
        }
    }

    #[inline]
    fn parameters<'a>(&'a self, state: &'a ScriptState, statement: usize) -> impl Parameters + 'a {
        ScriptParameters {
            ids: self
                .script
                .statement(statement)
                .map_or(&[], |statement| statement.parameters()),
            variables: &state.variables,
        }
    }

    fn write_text(&self, state: &ScriptState, statement: usize, out: &mut Vec<u8>) {
        if let Some(statement) = self.script.statement(statement) {
            statement.write_simple(&state.variables, out);
        }
    }
}

/// The values of a statement's variables, written as the server is to get them.
struct ScriptParameters<'a> {
    ids: &'a [dyno_script::VariableId],
    variables: &'a Variables,
}

impl Parameters for ScriptParameters<'_> {
    #[inline]
    fn len(&self) -> usize {
        self.ids.len()
    }

    #[inline]
    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        self.variables.write_text(self.ids[index], out)
    }
}
