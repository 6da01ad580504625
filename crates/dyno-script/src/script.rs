//! A parsed script.

use std::sync::Arc;

use crate::command::{Command, Place};
use crate::conditions;
use crate::cursor::Cursor;
use crate::diagnostic::{EvaluationError, Failure, ScriptError, Source};
use crate::fault::{Fault, FaultKind};
use crate::lexis::Lexis;
use crate::meta::{self, Meta};
use crate::mistake::Mistake;
use crate::split::{Ending, Splitter};
use crate::statement::{Capture, MAX_PARAMETERS, Statement};
use crate::symbols::{Symbols, VariableId};
use crate::token::Reader;
use crate::variables::Variables;

/// A script: what a client executes as one transaction.
#[derive(Clone, Debug)]
pub struct Script {
    pub(crate) source: Arc<Source>,
    commands: Vec<Command>,
    /// The commands that are statements.
    statements: Vec<usize>,
}

impl Script {
    /// Parses a script. `name` is the file's name or whatever tells a person which script it is; the variables'
    /// names are added to `symbols`. The text need not be UTF-8: its bytes reach the server as they are, and stand
    /// in texts as [`dyno_text`] says.
    ///
    /// # Errors
    ///
    /// When there is no command at all, a meta command is unknown, has wrong arguments or cannot be where it is, or
    /// the text contains a NUL byte, which no server accepts. SQL is not checked: that is for the server.
    pub fn parse(name: &str, text: &(impl AsRef<[u8]> + ?Sized), symbols: &mut Symbols) -> Result<Script, ScriptError> {
        Script::parse_by(Lexis::Psql, name, text, symbols)
    }

    /// The same with SQL that is read by these rules.
    ///
    /// # Errors
    ///
    /// As for [`Script::parse`].
    pub fn parse_by(
        lexis: Lexis,
        name: &str,
        text: &(impl AsRef<[u8]> + ?Sized),
        symbols: &mut Symbols,
    ) -> Result<Script, ScriptError> {
        let source = Source::new(name, &dyno_text::decode(text.as_ref()));
        let text = &source.text;
        let refused = |offset, message: &str| source.script_error(offset, None, message, message.to_owned());
        if let Some(offset) = text.find('\0') {
            return Err(refused(offset, "the script contains a NUL byte, remove it"));
        }
        // Places are kept as 32-bit offsets.
        if u32::try_from(text.len()).is_err() {
            return Err(refused(0, "the script is too large, at most 4 GiB are possible"));
        }
        let mut commands = Vec::new();
        let mut statements = Vec::new();
        let mut splitter = Splitter::new(text, lexis);
        loop {
            let part = splitter.part();
            if !part.sql.is_empty() {
                let place = Place {
                    source: source.clone(),
                    range: part.start..part.start + part.sql.len(),
                };
                let statement = Statement::new(statements.len(), place, part.sql, lexis, symbols);
                statements.push(commands.len());
                commands.push(Command::Statement(statement));
            }
            match part.ending {
                Ending::Semicolon => {}
                Ending::EndOfText => break,
                Ending::Backslash(at) => {
                    let (meta, behind) = meta::parse(&source, at, symbols)?;
                    match meta {
                        Meta::Nothing => {}
                        Meta::Command(command) => commands.push(command),
                        Meta::Capture(capture) => attach(capture, commands.last_mut(), &source, at)?,
                    }
                    splitter.resume(behind);
                }
            }
        }
        if commands.is_empty() {
            return Err(refused(0, &format!("empty command list for script \"{name}\"")));
        }
        conditions::resolve(&mut commands).map_err(|unmatched| {
            let message = unmatched.message;
            let pgbench = format!(
                "condition error in script \"{name}\" command {}: {message}",
                unmatched.number
            );
            let offset = commands[unmatched.command].place().range.start;
            source.script_error(offset, None, message, pgbench)
        })?;
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
        self.statements.len()
    }

    /// The SQL statement of this index, counted among the statements.
    #[inline]
    pub fn statement(&self, index: usize) -> Option<&Statement> {
        match self.commands.get(*self.statements.get(index)?) {
            Some(Command::Statement(statement)) => Some(statement),
            _ => None,
        }
    }

    /// Whether the statements can be sent with parameters. Call it when the protocol is extended or prepared; the
    /// simple protocol has no such limit.
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
                let pgbench = format!("{message}: {}", statement.text());
                let offset = statement.place().range.start;
                return Err(self.source.script_error(offset, None, message, pgbench));
            }
        }
        Ok(())
    }

    /// Whether all variables that are set are called as a variable can be called: letters, digits and underscores,
    /// no digit first. For pgbench a wrong name is an error of the client that executes the command, so
    /// [`Script::parse`] lets it pass.
    ///
    /// # Errors
    ///
    /// When a variable is called otherwise.
    pub fn check_names(&self) -> Result<(), ScriptError> {
        let wrong = |command: &Command| -> Option<(VariableId, usize)> {
            match command {
                Command::Set(set) | Command::SetRandom(set) => {
                    (!set.well_named).then_some((set.variable, set.place.range.start))
                }
                Command::SetShell(shell) => match shell.variable {
                    Some((variable, false)) => Some((variable, shell.place.range.start)),
                    _ => None,
                },
                _ => None,
            }
        };
        let Some((_, start)) = self.commands.iter().find_map(wrong) else {
            return Ok(());
        };
        let mut reader = Reader::new(&self.source.text, start + 1);
        let _command = reader.word();
        let (at, name) = reader.word().unwrap_or((start, ""));
        let shown: String = name.chars().take(64).collect();
        let mistake = Mistake::new(at, format!("invalid variable name: \"{shown}\""));
        Err(self.source.command_error(start, *mistake))
    }

    /// The command that the cursor executed last fails with this fault.
    #[cold]
    pub(crate) fn fault(&self, cursor: &Cursor, fault: Fault, variables: &Variables) -> EvaluationError {
        let message = fault.kind.message(variables);
        let Some(command) = self.commands.get(cursor.command()) else {
            return self.failure(cursor, &message);
        };
        let written = command.place().name();
        let misnamed = matches!(fault.kind, FaultKind::Misnamed(_));
        let (called, reason) = match command {
            Command::Set(_) | Command::SetRandom(_) if misnamed => ("set", "assignment of meta-command failed"),
            Command::Sleep(_) | Command::Shell(_) | Command::SetShell(_) => {
                (command.keyword(), "execution of meta-command failed")
            }
            _ => (written, "evaluation of meta-command failed"),
        };
        let plain = match command {
            Command::Sleep(_) => format!("{written}: {message}"),
            Command::SetShell(_) => format!("setshell: {message}"),
            _ if misnamed => format!("{written}: {message}"),
            // Of this pgbench says nothing more.
            _ if matches!(fault.kind, FaultKind::Malformed(id) if variables.text(id).is_empty()) => String::new(),
            _ => message.clone(),
        };
        EvaluationError::new(Failure {
            diagnostic: self
                .source
                .diagnose(fault.at as usize, Some(command.keyword()), message),
            plain,
            command: Some((cursor.command(), called.to_owned())),
            reason: reason.to_owned(),
        })
    }

    /// The shell command that the cursor executed last failed.
    pub(crate) fn failed(&self, cursor: &Cursor, message: &str, plain: String) -> EvaluationError {
        let mut failure = self.describe(cursor, message);
        "execution of meta-command failed".clone_into(&mut failure.reason);
        failure.plain = plain;
        EvaluationError::new(failure)
    }

    /// The command that the cursor executed last fails for a reason that its caller knows, such as a pipeline in
    /// the simple protocol. Words to be matched are pgbench's.
    #[cold]
    pub fn failure(&self, cursor: &Cursor, reason: &str) -> EvaluationError {
        EvaluationError::new(self.describe(cursor, reason))
    }

    fn describe(&self, cursor: &Cursor, message: &str) -> Failure {
        let command = self.commands.get(cursor.command());
        // At the end, the last command is what a person can look at.
        let shown = command.or(self.commands.last());
        let offset = shown.map_or(0, |command| command.place().range.start);
        let meta = command.filter(|command| !matches!(command, Command::Statement(_)));
        Failure {
            diagnostic: self
                .source
                .diagnose(offset, meta.map(Command::keyword), message.to_owned()),
            plain: String::new(),
            command: command.map(|command| (cursor.command(), command.keyword().to_owned())),
            reason: message.to_owned(),
        }
    }
}

/// A `\gset` or `\aset` at `at` belongs to the statement before it, which may have no other.
fn attach(capture: Capture, before: Option<&mut Command>, source: &Source, at: usize) -> Result<(), ScriptError> {
    let meta = match before {
        Some(Command::Statement(statement)) if statement.capture().is_none() => {
            statement.set_capture(capture);
            return Ok(());
        }
        Some(Command::Statement(_)) | None => String::new(),
        Some(meta) => format!(" ({})", meta.source()),
    };
    let message = format!("\\{} must follow an SQL command", capture.kind.name());
    let line = source.position(at).line;
    // pgbench calls both so. The line is the command's, as in new versions; 15 tells the one where the command
    // before ended.
    let pgbench = format!("{}:{line}: \\gset must follow an SQL command{meta}", source.name);
    Err(source.script_error(at, None, message, pgbench))
}
