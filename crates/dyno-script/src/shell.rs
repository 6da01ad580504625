//! `\shell` and `\setshell`: the text of the command line, and what becomes of its result. Running it is for the
//! caller, since this crate does no I/O.

use crate::command::{Command, Place};
use crate::cursor::Cursor;
use crate::diagnostic::EvaluationError;
use crate::fault::FaultKind;
use crate::script::Script;
use crate::symbols::VariableId;
use crate::value::Value;
use crate::variables::Variables;

/// A command line made of words and variables.
#[derive(Clone, Debug)]
pub struct Shell {
    /// The variable that `\setshell` sets, and whether a variable may be called so.
    pub(crate) variable: Option<(VariableId, bool)>,
    pub(crate) words: Vec<Word>,
    pub(crate) place: Place,
}

#[derive(Clone, Debug)]
pub(crate) enum Word {
    Literal(String),
    Variable { id: VariableId, at: u32 },
}

/// A command line to be given to `sh -c`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ShellLine {
    /// The command line with the values of variables in it; see [`dyno_text`] for what is not UTF-8.
    pub text: String,
    /// Whether [`Script::shell_done`] wants the standard output (`\setshell`), or whether it goes where the
    /// program's own goes (`\shell`).
    pub wants_output: bool,
}

/// The most bytes of a shell command's first line that count; pgbench's buffer has as many.
const MAX_OUTPUT: usize = 63;

impl Script {
    /// The command line of the `\shell` or `\setshell` that [`Script::next`] just stopped at.
    ///
    /// # Errors
    ///
    /// When a variable in it is not set; or when the cursor stands elsewhere.
    pub fn shell_line(&self, cursor: &Cursor, variables: &Variables) -> Result<ShellLine, EvaluationError> {
        let shell = self.shell(cursor)?;
        let mut text = String::new();
        for (number, word) in shell.words.iter().enumerate() {
            if number > 0 {
                text.push(' ');
            }
            match word {
                Word::Literal(literal) => text.push_str(literal),
                Word::Variable { id, .. } if variables.get(*id).is_some() => text.push_str(&variables.text(*id)),
                Word::Variable { id, at } => {
                    let name = variables.name(*id);
                    let plain = format!("{}: undefined variable \":{name}\"", shell.program(variables));
                    return Err(self
                        .fault(cursor, FaultKind::Undefined(*id).at(*at), variables)
                        .worded(plain));
                }
            }
        }
        Ok(ShellLine {
            text,
            wants_output: shell.variable.is_some(),
        })
    }

    /// Takes the result of a command line: whether it ended with exit status 0, which counts for `\shell` only, and
    /// its standard output, which `\setshell` reads an integer from: it must stand alone in the first line, and is
    /// cut to 32 bits as in pgbench.
    ///
    /// # Errors
    ///
    /// When the command failed (`\shell`), gave no integer, or the variable's name is none (`\setshell`); or when
    /// the cursor stands elsewhere.
    pub fn shell_done(
        &self,
        cursor: &Cursor,
        variables: &mut Variables,
        success: bool,
        output: &[u8],
    ) -> Result<(), EvaluationError> {
        let shell = self.shell(cursor)?;
        let failed = |message: String| {
            let plain = format!("{}: {message}", shell.program(variables));
            self.failed(cursor, &message, plain)
        };
        let Some((variable, well_named)) = shell.variable else {
            return if success {
                Ok(())
            } else {
                Err(failed("could not launch shell command".to_owned()))
            };
        };
        let line = output.split_inclusive(|&byte| byte == b'\n').next().unwrap_or_default();
        if line.is_empty() {
            return Err(failed("could not read result of shell command".to_owned()));
        }
        let line = dyno_text::decode(&line[..line.len().min(MAX_OUTPUT)]);
        let Some(value) = read_integer(&line) else {
            return Err(failed(format!("shell command must return an integer (not \"{line}\")")));
        };
        if !well_named {
            let fault = FaultKind::Misnamed(variable).at(shell.place.range.start as u32);
            return Err(self.fault(cursor, fault, variables));
        }
        variables.set(variable, Value::Int(value));
        Ok(())
    }

    fn shell(&self, cursor: &Cursor) -> Result<&Shell, EvaluationError> {
        match self.commands().get(cursor.command()) {
            Some(Command::Shell(shell) | Command::SetShell(shell)) => Ok(shell),
            _ => Err(self.failure(cursor, "this is no shell command")),
        }
    }
}

impl Shell {
    /// The first word as written, by which messages name the command line.
    fn program(&self, variables: &Variables) -> String {
        match self.words.first() {
            Some(Word::Literal(literal)) => literal.clone(),
            Some(Word::Variable { id, .. }) => format!(":{}", variables.name(*id)),
            None => String::new(),
        }
    }
}

/// An integer that may have white space around it, as C's `strtol` reads it. pgbench keeps the low 32 bits.
fn read_integer(text: &str) -> Option<i64> {
    let text = text.trim_matches([' ', '\t', '\n', '\r', '\x0b', '\x0c']);
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    // Nothing but white space is zero for `strtol`.
    if !digits.bytes().all(|byte| byte.is_ascii_digit()) || (digits.is_empty() && !text.is_empty()) {
        return None;
    }
    let wide = match text.parse::<i64>() {
        Ok(value) => value,
        Err(_) if text.is_empty() => 0,
        Err(_) if text.starts_with('-') => i64::MIN,
        Err(_) => i64::MAX,
    };
    Some(i64::from(wide as i32))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_integer_stands_alone() {
        for (text, expected) in [
            ("7\n", Some(7)),
            (" -7 \t\r\n", Some(-7)),
            ("+3", Some(3)),
            ("\n", Some(0)),
            ("4294967297\n", Some(1)),
            ("99999999999999999999\n", Some(-1)),
            ("-99999999999999999999\n", Some(0)),
            ("1.5\n", None),
            ("7x\n", None),
            ("7 8\n", None),
            ("-\n", None),
            ("x", None),
        ] {
            assert_eq!(read_integer(text), expected, "{text:?}");
        }
    }
}
