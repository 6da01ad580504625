//! A parsed script.

use std::sync::Arc;

use crate::command::{Command, Place};
use crate::diagnostic::{ScriptError, Source};
use crate::meta;
use crate::split::{Ending, Splitter};
use crate::statement::{MAX_PARAMETERS, Statement};
use crate::symbols::Symbols;

/// A script: what a client executes as one transaction.
#[derive(Clone, Debug)]
pub struct Script {
    source: Arc<Source>,
    commands: Vec<Command>,
    statements: usize,
}

impl Script {
    /// Parses a script. `name` is the file's name or whatever tells a person which script it is; the variables' names are
    /// added to `symbols`.
    ///
    /// # Errors
    ///
    /// When there is no command at all, a meta command is unknown or has wrong arguments, or the text contains a NUL byte, which
    /// no server accepts. SQL is not checked: that is for the server.
    pub fn parse(name: &str, text: &str, symbols: &mut Symbols) -> Result<Script, ScriptError> {
        let source = Source::new(name, text);
        if let Some(offset) = text.find('\0') {
            return Err(source.script_error(offset, None, "the script contains a NUL byte, remove it"));
        }
        // Places are kept as 32-bit offsets.
        if u32::try_from(text.len()).is_err() {
            return Err(source.script_error(0, None, "the script is too large, at most 4 GiB are possible"));
        }
        let mut commands = Vec::new();
        let mut statements = 0;
        let mut splitter = Splitter::new(text);
        loop {
            let part = splitter.part();
            if !part.sql.is_empty() {
                let place = Place {
                    source: source.clone(),
                    range: part.start..part.start + part.sql.len(),
                };
                commands.push(Command::Statement(Statement::new(statements, place, part.sql, symbols)));
                statements += 1;
            }
            match part.ending {
                Ending::Semicolon => {}
                Ending::EndOfText => break,
                Ending::Backslash(at) => {
                    let (command, behind) = meta::parse(&source, at, symbols)?;
                    commands.extend(command);
                    splitter.resume(behind);
                }
            }
        }
        if commands.is_empty() {
            return Err(source.script_error(0, None, format!("empty command list for script \"{name}\"")));
        }
        Ok(Script {
            source,
            commands,
            statements,
        })
    }

    /// The name given to [`Script::parse`].
    pub fn name(&self) -> &str {
        &self.source.name
    }

    /// The commands in order.
    pub fn commands(&self) -> &[Command] {
        &self.commands
    }

    /// The number of SQL statements.
    pub fn statements(&self) -> usize {
        self.statements
    }

    /// Whether the statements can be sent with parameters. Call it when the protocol is extended or prepared; the simple
    /// protocol has no such limit.
    ///
    /// # Errors
    ///
    /// When a statement has more than [`MAX_PARAMETERS`] parameters.
    pub fn check_parameters(&self) -> Result<(), ScriptError> {
        for command in &self.commands {
            if let Command::Statement(statement) = command
                && statement.parameters().len() > MAX_PARAMETERS
            {
                let message = format!("statement has too many arguments (maximum is {MAX_PARAMETERS})");
                return Err(self.source.script_error(statement.place().range.start, None, message));
            }
        }
        Ok(())
    }
}
