//! Scripts in pgbench's language as a program.

use super::{Action, Program, ProgramError, shell};
use crate::capture::CaptureFault;
use dyno_script::{
    CaptureKind, Command, Cursor, Debugged, Random, Script, Step, Value, VariableId, Variables, is_variable_name,
};
use dyno_wire::{CapturedResult, Parameters, PgStatement, Protocol, WireError};
use std::ops::Range;
use std::sync::Arc;

/// What a [`ScriptProgram`] is made of.
#[derive(Clone, Debug)]
pub struct ScriptSet {
    /// The scripts with their weights: how often each is chosen, in proportion to the sum. They share one [`dyno_script::Symbols`]. At least 1.
    pub scripts: Vec<(Arc<Script>, u64)>,
    /// What is set before the first transaction.
    pub variables: Variables,
    /// The variable that is to hold each client's number.
    pub client_id: Option<VariableId>,
    /// One random state per client, for what its scripts draw.
    pub clients: Vec<Random>,
    /// One random state per thread, for the choice among several scripts.
    pub choose: Vec<Random>,
}

/// Scripts in pgbench's language as a [`Program`].
#[derive(Clone, Debug)]
pub struct ScriptProgram {
    parts: Vec<Part>,
    total_weight: u64,
    variables: Variables,
    client_id: Option<VariableId>,
    clients: Vec<Random>,
    choose: Vec<Random>,
}

#[derive(Clone, Debug)]
struct Part {
    script: Arc<Script>,
    weight: u64,
    /// The number of its first statement among those of all scripts.
    first_statement: usize,
    /// Whether it keeps results in variables.
    captures: bool,
}

/// One client's variables and place in its script.
#[derive(Clone, Debug)]
pub struct ScriptState {
    variables: Variables,
    random: Random,
    /// The random state at the transaction's begin.
    begun: Random,
    script: usize,
    cursor: Cursor,
}

/// The random state for the choice among several scripts.
#[derive(Clone, Debug)]
pub struct ScriptThread(Random);

impl ScriptProgram {
    /// The program that executes these scripts.
    #[must_use]
    pub fn new(set: ScriptSet) -> Self {
        let mut first_statement = 0;
        let mut parts = Vec::with_capacity(set.scripts.len());
        for (script, weight) in set.scripts {
            let statements = script.statements();
            let captured = |index| {
                script
                    .statement(index)
                    .is_some_and(|statement| statement.capture().is_some())
            };
            parts.push(Part {
                captures: (0..statements).any(captured),
                script,
                weight,
                first_statement,
            });
            first_statement += statements;
        }
        Self {
            total_weight: parts.iter().fold(0, |sum, part| sum.saturating_add(part.weight)),
            parts,
            variables: set.variables,
            client_id: set.client_id,
            clients: set.clients,
            choose: set.choose,
        }
    }

    /// Its statements in the form they travel in, as [`crate::Workload::statements`] wants them.
    ///
    /// # Errors
    /// A statement cannot be sent.
    pub fn encode(&self, protocol: Protocol) -> Result<Vec<PgStatement>, WireError> {
        let each = self.parts.iter().flat_map(|part| {
            (0..part.script.statements())
                .filter_map(|index| Some((part.first_statement + index, part.script.statement(index)?)))
        });
        each.map(|(index, statement)| {
            let encoded = match protocol {
                Protocol::Simple => PgStatement::new(index, statement.text(), 0, protocol),
                Protocol::Extended | Protocol::Prepared => {
                    let parameters = statement.parameters().len();
                    PgStatement::new(index, statement.parameterized(), parameters, protocol)
                }
            }?;
            Ok(if statement.capture().is_some() {
                encoded.described()
            } else {
                encoded
            })
        })
        .collect()
    }

    fn part(&self, state: &ScriptState) -> &Part {
        &self.parts[state.script]
    }

    /// The statement of this index among those of all scripts.
    fn statement(&self, index: usize) -> Option<&dyno_script::Statement> {
        let part = match self.parts.as_slice() {
            [only] => only,
            several => several.iter().rev().find(|part| part.first_statement <= index)?,
        };
        part.script.statement(index - part.first_statement)
    }
}

impl Program for ScriptProgram {
    type State = ScriptState;
    type Thread = ScriptThread;

    fn statements(&self) -> Vec<String> {
        let each = self.parts.iter().flat_map(|part| {
            (0..part.script.statements()).filter_map(|index| Some(part.script.statement(index)?.text().to_owned()))
        });
        each.collect()
    }

    fn commands(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.script.commands().len()).collect()
    }

    fn thread(&self, thread: usize) -> ScriptThread {
        let random = self.choose.get(thread).cloned();
        ScriptThread(random.unwrap_or_else(|| Random::new(thread as u64)))
    }

    fn state(&self, client: usize) -> ScriptState {
        let mut variables = self.variables.clone();
        if let Some(id) = self.client_id {
            variables.set(id, Value::Int(client as i64));
        }
        let random = self.clients.get(client).cloned();
        let random = random.unwrap_or_else(|| Random::new(client as u64));
        ScriptState {
            variables,
            begun: random.clone(),
            random,
            script: 0,
            cursor: Cursor::default(),
        }
    }

    #[inline]
    fn choose(&self, thread: &mut ScriptThread, state: &mut ScriptState) {
        if self.parts.len() > 1 {
            // A sum of weights beyond the range of a draw leaves out scripts at the end.
            let highest = i64::try_from(self.total_weight.saturating_sub(1)).unwrap_or(i64::MAX);
            let mut left = thread.0.uniform(0, highest).unsigned_abs();
            state.script = 0;
            for (index, part) in self.parts.iter().enumerate() {
                state.script = index;
                if left < part.weight {
                    break;
                }
                left -= part.weight;
            }
        }
    }

    #[inline]
    fn script(&self, state: &ScriptState) -> usize {
        state.script
    }

    #[inline]
    fn command(&self, state: &ScriptState) -> usize {
        state.cursor.command()
    }

    #[inline]
    fn begin(&self, state: &mut ScriptState) {
        state.begun = state.random.clone();
        state.cursor = Cursor::default();
    }

    fn restart(&self, state: &mut ScriptState) {
        state.random = state.begun.clone();
        state.cursor = Cursor::default();
    }

    #[inline]
    fn next(&self, state: &mut ScriptState, each: bool) -> Result<Action, ProgramError> {
        let part = &self.parts[state.script];
        let step = part
            .script
            .next(&mut state.cursor, &mut state.variables, &mut state.random, each)?;
        Ok(match step {
            Step::Statement(index) => {
                let number = part.first_statement + index;
                let captured = |statement: &dyno_script::Statement| statement.capture().is_some();
                if part.captures && part.script.statement(index).is_some_and(captured) {
                    Action::Capture(number)
                } else {
                    Action::Execute(number)
                }
            }
            Step::Sleep(duration) => Action::Sleep(duration),
            Step::StartPipeline => Action::StartPipeline,
            Step::SyncPipeline => Action::SyncPipeline,
            Step::EndPipeline => Action::EndPipeline,
            Step::Meta => Action::Meta,
            Step::End => Action::End,
            Step::Shell => Action::Shell,
        })
    }

    #[cold]
    fn shell(&self, state: &mut ScriptState) -> Result<Option<Vec<u8>>, ProgramError> {
        let script = &self.parts[state.script].script;
        let line = script.shell_line(&state.cursor, &state.variables)?;
        let (success, output) = shell::run(&line);
        script.shell_done(&state.cursor, &mut state.variables, success, &output)?;
        Ok(line.wants_output.then_some(output))
    }

    fn pipeline(&self, state: &ScriptState) -> Range<usize> {
        let part = self.part(state);
        let behind = part
            .script
            .commands()
            .get(state.cursor.command() + 1..)
            .unwrap_or_default();
        let within = behind
            .iter()
            .take_while(|command| !matches!(command, Command::EndPipeline(_)))
            .filter_map(|command| match command {
                Command::Statement(statement) => Some(part.first_statement + statement.index()),
                _ => None,
            });
        let (first, last) = within.fold((None, None), |(first, _), index| (first.or(Some(index)), Some(index)));
        match (first, last) {
            (Some(first), Some(last)) => first..last + 1,
            _ => 0..0,
        }
    }

    #[cold]
    fn capture(
        &self,
        state: &mut ScriptState,
        statement: usize,
        results: &[CapturedResult],
    ) -> Result<(), CaptureFault> {
        let Some(capture) = self.statement(statement).and_then(|statement| statement.capture()) else {
            return Ok(());
        };
        for (number, result) in results.iter().enumerate() {
            let query_number = number as u64;
            match capture.kind {
                CaptureKind::Last if number + 1 < results.len() => continue,
                CaptureKind::Last if result.rows != 1 => {
                    return Err(CaptureFault::RowCount {
                        query_number,
                        rows: result.rows,
                    });
                }
                CaptureKind::Last | CaptureKind::Each => {}
            }
            for (column, value) in result.columns.iter().zip(&result.last_row) {
                let name = format!("{}{column}", capture.prefix);
                if !is_variable_name(&name) {
                    return Err(CaptureFault::Name {
                        command: capture.kind.name(),
                        query_number,
                        name,
                    });
                }
                // libpq hands NULL out as an empty text, and so pgbench keeps it.
                state
                    .variables
                    .set_named(&name, Value::from(value.as_deref().unwrap_or_default()));
            }
        }
        Ok(())
    }

    #[cold]
    fn failure(&self, state: &ScriptState, reason: &str) -> ProgramError {
        self.part(state).script.failure(&state.cursor, reason).into()
    }

    #[inline]
    fn debugged<'a>(&self, state: &'a ScriptState) -> &'a [Debugged] {
        state.variables.debugged()
    }

    #[inline]
    fn parameters<'a>(&'a self, state: &'a ScriptState, statement: usize) -> impl Parameters + 'a {
        ScriptParameters {
            ids: self
                .statement(statement)
                .map_or(&[], |statement| statement.parameters()),
            variables: &state.variables,
        }
    }

    fn write_text(&self, state: &ScriptState, statement: usize, out: &mut Vec<u8>) {
        if let Some(statement) = self.statement(statement) {
            statement.write_simple(&state.variables, out);
        }
    }

    fn parameterized(&self, statement: usize) -> &str {
        self.statement(statement)
            .map_or("", |statement| statement.parameterized())
    }
}

/// The values of a statement's variables, written as the server is to get them.
struct ScriptParameters<'a> {
    ids: &'a [VariableId],
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
