//! Texts of SQL statements, as experiment files have them for their data.

use dyno_script::{Command, Lexis, Script, ScriptError, Statement, Symbols};

/// An SQL text that cannot be run.
#[derive(Debug, thiserror::Error)]
pub enum SqlError {
    /// It cannot be split into statements.
    #[error(transparent)]
    Script(#[from] ScriptError),
    /// A command of psql's that pg_dump writes.
    #[error("{0}; remove the lines with \\restrict and \\unrestrict, which are for psql only")]
    Restricted(ScriptError),
    /// Rows between the statements.
    #[error(
        "{what}, line {line}: rows cannot be here; remove each COPY … FROM stdin with its rows (pg_dump --schema-only \
         writes none), and load them by [data.load]"
    )]
    Rows {
        /// What the text is.
        what: String,
        /// Line within the text, from 1.
        line: usize,
    },
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
    // The rows of a dump, which might pass for statements, begin behind such a line.
    let has_rows = |line: &str| {
        let line = line.trim_end().trim_end_matches(';').to_ascii_lowercase();
        line.starts_with("copy ") && line.ends_with(" from stdin")
    };
    if let Some(before) = text.lines().position(has_rows) {
        return Err(SqlError::Rows {
            what: what.to_owned(),
            line: before + 1,
        });
    }
    let script = Script::parse_by(lexis, what, text, &mut Symbols::new());
    let is_restricted = |line: &str| line.starts_with("\\restrict") || line.starts_with("\\unrestrict");
    let script = script.map_err(|error| match text.lines().any(is_restricted) {
        true => SqlError::Restricted(error),
        false => SqlError::Script(error),
    })?;
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_for_psql_alone_is_told_with_what_to_do() {
        let said = |text: &str| statements(text, "s.sql", Lexis::Psql).unwrap_err().to_string();
        let dump = "\\restrict x7\nSET a = 1;\nCREATE TABLE public.t (id int);\n\\unrestrict x7\n";
        let error = said(dump);
        assert!(error.contains("invalid command \\restrict"), "{error}");
        assert!(error.ends_with("which are for psql only"), "{error}");
        let rows = "create table t (id int, a text);\nCOPY public.t (id, a) FROM stdin;\n1\tit's\n\\.\n";
        let error = said(rows);
        assert!(
            error.starts_with("s.sql, line 2: rows cannot be here; remove each COPY"),
            "{error}"
        );
        let error = said("\\sleep 1\n");
        assert!(error.ends_with("only SQL statements can be here"), "{error}");
    }
}
