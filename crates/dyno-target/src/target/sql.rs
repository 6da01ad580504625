//! Texts of SQL statements, as experiment files have them for their data.

use dyno_script::{Command, Lexis, Script, ScriptError, Statement, Symbols};

/// An SQL text that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// It cannot be split into statements.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A meta command where only SQL can be.
    #[error("{what}, line {line}: {command} is or has a meta command; only SQL statements can be here")]
    MetaCommand {
        /// What the text is.
        what: String,
        /// Line within the text, from 1.
        line: usize,
        /// The command.
        command: String,
    },
}

/// The statements of an SQL text, which is split as scripts are, by the rules of its database; `what` names it in
/// errors.
///
/// # Errors
/// What is wrong with it, with its line.
pub fn statements(text: &str, what: &str, lexis: Lexis) -> Result<Vec<Statement>, SqlError> {
    if text.trim().is_empty() {
        return Ok(Vec::new());
    }
    let script = Script::parse_by(lexis, what, text, &mut Symbols::new())?;
    let statements = script.commands().iter().map(|command| match command {
        // A result kept in variables is a meta command's doing, though it belongs to its statement.
        Command::Statement(statement) if statement.capture().is_none() => Ok(statement.clone()),
        other => Err(SqlError::MetaCommand {
            what: what.to_owned(),
            line: other.position().line,
            command: other.source().to_owned(),
        }),
    });
    statements.collect()
}
