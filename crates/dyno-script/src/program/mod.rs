//! Scripts in pgbench's language as what clients of the engine do.

mod capture;
mod examples;
mod fault;
mod shell;

pub use capture::CaptureFault;
pub use examples::Example;
pub use fault::ScriptFault;

use crate::{
    CaptureKind, Command, Cursor, Random, Script, Seeds, Statement, Step, Value, VariableId, Variables,
    is_variable_name,
};
use dyno_engine::{Action, Draws, Program, ProgramError, Resume, Scripted, Shown};
use dyno_wire::{CapturedResult, Parameters, Protocol, Session, WireError};
use std::ops::Range;
use std::sync::Arc;

/// What a [`ScriptProgram`] is made of.
#[derive(Clone, Debug)]
pub struct ScriptSet {
    /// The scripts with their weights: how often each is chosen, in proportion to the sum. They share one
    /// [`Symbols`](crate::Symbols). At least 1.
    pub scripts: Vec<(Arc<Script>, u64)>,
    /// What is set before the first transaction.
    pub variables: Variables,
    /// The variable that is to hold each client's number.
    pub client_id: Option<VariableId>,
    /// The random states of clients and threads.
    pub seeds: Seeds,
    /// How statements are sent.
    pub protocol: Protocol,
}

/// Scripts in pgbench's language as a [`Program`].
#[derive(Clone, Debug)]
pub struct ScriptProgram {
    parts: Vec<Part>,
    total_weight: u64,
    variables: Variables,
    client_id: Option<VariableId>,
    seeds: Seeds,
    protocol: Protocol,
    /// Whether the engine is told of every meta command.
    each_command: bool,
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
            let captured = |index| script.statement(index).is_some_and(is_captured);
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
            seeds: set.seeds,
            protocol: set.protocol,
            each_command: false,
        }
    }

    /// Tells the engine of every meta command, for who wants to see them or to know how long they take.
    #[must_use]
    pub fn telling_each_command(self, each_command: bool) -> Self {
        Self { each_command, ..self }
    }

    /// Its statements in the form they travel in, as [`dyno_engine::WireDriver::statements`] wants them.
    ///
    /// # Errors
    /// A statement cannot be sent.
    pub fn encode<S: Session>(&self) -> Result<Vec<S::Statement>, WireError> {
        let each = self.parts.iter().flat_map(|part| {
            (0..part.script.statements())
                .filter_map(|index| Some((part.first_statement + index, part.script.statement(index)?)))
        });
        each.map(|(index, statement)| {
            let (text, parameters) = match self.protocol {
                Protocol::Simple => (statement.text(), 0),
                Protocol::Extended | Protocol::Prepared => (statement.parameterized(), statement.parameters().len()),
            };
            S::encode(index, text, parameters, self.protocol)
        })
        .collect()
    }

    fn part(&self, state: &ScriptState) -> &Part {
        &self.parts[state.script]
    }

    /// The statement of this number among those of all scripts.
    fn statement(&self, number: usize) -> Option<&Statement> {
        let part = match self.parts.as_slice() {
            [only] => only,
            several => several.iter().rev().find(|part| part.first_statement <= number)?,
        };
        part.script.statement(number - part.first_statement)
    }

    /// Goes on to what the engine must do next.
    #[inline]
    fn advance(&self, state: &mut ScriptState) -> Result<Action, ProgramError> {
        let part = &self.parts[state.script];
        let each = self.each_command;
        let step = part
            .script
            .next(&mut state.cursor, &mut state.variables, &mut state.random, each)
            .map_err(|error| ProgramError::new(ScriptFault::Evaluation(error)))?;
        Ok(match step {
            Step::Statement(index) => {
                let statement = part.first_statement + index;
                let results = part.captures && part.script.statement(index).is_some_and(is_captured);
                match self.protocol {
                    Protocol::Simple => Action::Query { statement, results },
                    Protocol::Extended | Protocol::Prepared => Action::Execute { statement, results },
                }
            }
            Step::Sleep(duration) => Action::Sleep(duration),
            Step::StartPipeline => return self.start_pipeline(state),
            Step::SyncPipeline => Action::SyncPipeline,
            Step::EndPipeline => Action::EndPipeline,
            Step::Meta => Action::Meta,
            Step::End => Action::End,
            Step::Shell => Action::Call,
        })
    }

    #[cold]
    fn start_pipeline(&self, state: &ScriptState) -> Result<Action, ProgramError> {
        if self.protocol == Protocol::Simple {
            let reason = "cannot use pipeline mode with the simple query protocol";
            let error = self.part(state).script.failure(&state.cursor, reason);
            return Err(ProgramError::new(ScriptFault::Evaluation(error)));
        }
        Ok(Action::StartPipeline(self.in_pipeline(state)))
    }

    /// The statements of the pipeline that is about to begin.
    fn in_pipeline(&self, state: &ScriptState) -> Range<usize> {
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

    /// Keeps the results of the statement executed last in variables.
    #[cold]
    fn capture(&self, state: &mut ScriptState, results: &[CapturedResult]) -> Result<(), ProgramError> {
        let script = &self.part(state).script;
        let Some(Command::Statement(statement)) = script.commands().get(state.cursor.command()) else {
            return Ok(());
        };
        let kept = keep(statement, &mut state.variables, results);
        kept.map_err(|fault| {
            let described = script.failure(&state.cursor, &fault.to_string());
            ProgramError::new(ScriptFault::Capture { fault, described })
        })
    }
}

fn is_captured(statement: &Statement) -> bool {
    statement.capture().is_some()
}

fn keep(statement: &Statement, variables: &mut Variables, results: &[CapturedResult]) -> Result<(), CaptureFault> {
    let Some(capture) = statement.capture() else {
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
        for (column, value) in result.columns.iter().zip(result.last_row()) {
            let name = format!("{}{column}", capture.prefix);
            if !is_variable_name(&name) {
                return Err(CaptureFault::Name {
                    command: capture.kind.name(),
                    query_number,
                    name,
                });
            }
            // libpq hands NULL out as an empty text, and so pgbench keeps it.
            variables.set_named(&name, Value::from(value.as_deref().unwrap_or_default()));
        }
    }
    Ok(())
}

impl Program for ScriptProgram {
    type State = ScriptState;

    fn statements(&self) -> Vec<String> {
        let each = self.parts.iter().flat_map(|part| {
            (0..part.script.statements()).filter_map(|index| Some(part.script.statement(index)?.text().to_owned()))
        });
        each.collect()
    }

    fn state(&self, client: usize) -> ScriptState {
        let mut variables = self.variables.clone();
        if let Some(id) = self.client_id {
            variables.set(id, Value::Int(client as i64));
        }
        let random = self.seeds.clients.get(client).cloned();
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
    fn next(&self, state: &mut ScriptState, resume: Resume<'_>) -> Result<Action, ProgramError> {
        match resume {
            Resume::Done => {}
            Resume::Begin => {
                state.begun = state.random.clone();
                state.cursor = Cursor::default();
            }
            Resume::Again => {
                state.random = state.begun.clone();
                state.cursor = Cursor::default();
            }
            Resume::Results(results) => self.capture(state, results)?,
            Resume::Failed(_) => return Ok(Action::Fail),
            // It is not one to hear of these.
            Resume::Enter | Resume::Leave | Resume::Replied { .. } => return Ok(Action::Ready),
        }
        self.advance(state)
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
            match self.protocol {
                Protocol::Simple => statement.write_simple(&state.variables, out),
                Protocol::Extended | Protocol::Prepared => {
                    out.extend(dyno_text::encode(statement.parameterized()).iter())
                }
            }
        }
    }
}

impl Scripted for ScriptProgram {
    type Thread = ScriptThread;

    fn thread(&self, thread: usize) -> ScriptThread {
        let random = self.seeds.threads.get(thread).map(|thread| thread.choose.clone());
        ScriptThread(random.unwrap_or_else(|| Random::new(thread as u64)))
    }

    fn schedule(&self, thread: usize) -> Draws {
        let random = self.seeds.threads.get(thread).map(|thread| thread.throttle.clone());
        let mut random = random.unwrap_or_else(|| Random::new(thread as u64));
        Box::new(move || random.unit())
    }

    fn commands(&self) -> Vec<usize> {
        self.parts.iter().map(|part| part.script.commands().len()).collect()
    }

    #[inline]
    fn choose(&self, thread: &mut ScriptThread, state: &mut ScriptState) {
        state.cursor = Cursor::default();
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

    #[cold]
    fn call(&self, state: &mut ScriptState) -> Result<Option<Vec<u8>>, ProgramError> {
        let script = &self.parts[state.script].script;
        let fault = |error| ProgramError::new(ScriptFault::Evaluation(error));
        let line = script.shell_line(&state.cursor, &state.variables).map_err(fault)?;
        let (success, output) = shell::run(&line);
        let done = script.shell_done(&state.cursor, &mut state.variables, success, &output);
        done.map_err(fault)?;
        Ok(line.wants_output.then_some(output))
    }

    #[inline]
    fn shown(&self, state: &ScriptState) -> Option<Vec<Shown>> {
        match state.variables.debugged() {
            [] => None,
            debugged => Some(debugged.iter().map(shown).collect()),
        }
    }
}

#[cold]
fn shown(debugged: &crate::Debugged) -> Shown {
    Shown {
        command: debugged.command,
        text: debugged.to_string(),
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
