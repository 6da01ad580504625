//! The commands of a script, ready to be executed.

use std::ops::Range;
use std::sync::Arc;

use crate::diagnostic::{Position, Source};
use crate::expression::Expression;
use crate::fault::{Fault, FaultKind};
use crate::random::Random;
use crate::shell::Shell;
use crate::sleep::Sleep;
use crate::statement::Statement;
use crate::symbols::VariableId;
use crate::variables::Variables;

/// One command of a script.
#[derive(Clone, Debug)]
pub enum Command {
    /// SQL to be sent to the server.
    Statement(Statement),
    /// `\set`.
    Set(Set),
    /// `\setrandom`, which pgbench had up to 9.5.
    SetRandom(Set),
    /// `\sleep`.
    Sleep(Sleep),
    /// `\if`.
    If(Condition),
    /// `\elif`.
    Elif(Condition),
    /// `\else`.
    Else(Else),
    /// `\endif`.
    EndIf(Place),
    /// `\shell`.
    Shell(Shell),
    /// `\setshell`.
    SetShell(Shell),
    /// `\startpipeline`.
    StartPipeline(Place),
    /// `\syncpipeline`.
    SyncPipeline(Place),
    /// `\endpipeline`.
    EndPipeline(Place),
}

/// A variable gets the value of an expression.
#[derive(Clone, Debug)]
pub struct Set {
    pub(crate) variable: VariableId,
    /// Whether a variable may be called so; if not, executing the command fails, as in pgbench.
    pub(crate) well_named: bool,
    pub(crate) expression: Expression,
    pub(crate) place: Place,
}

/// What follows is done only if the expression is true.
#[derive(Clone, Debug)]
pub struct Condition {
    pub(crate) expression: Expression,
    /// The index of the `\elif`, `\else` or `\endif` that ends the branch.
    pub(crate) otherwise: usize,
    /// The index behind the `\endif`.
    pub(crate) end: usize,
    pub(crate) place: Place,
}

/// What follows is done if no branch before was.
#[derive(Clone, Debug)]
pub struct Else {
    /// The index behind the `\endif`.
    pub(crate) end: usize,
    pub(crate) place: Place,
}

/// Where a command stands in its script.
#[derive(Clone, Debug)]
pub struct Place {
    pub(crate) source: Arc<Source>,
    pub(crate) range: Range<usize>,
}

impl Place {
    /// Line and column where the command begins.
    pub fn position(&self) -> Position {
        self.source.position(self.range.start)
    }

    /// The text of the command without the final line break.
    pub fn text(&self) -> &str {
        let text = self.source.text.get(self.range.clone()).unwrap_or_default();
        text.trim_end_matches(['\n', '\r'])
    }

    /// The name of a meta command as it is written, in whatever case.
    pub(crate) fn name(&self) -> &str {
        let words = self.text().trim_start_matches('\\').split_ascii_whitespace();
        words.into_iter().next().unwrap_or_default()
    }
}

impl Command {
    /// Where the command stands.
    pub fn place(&self) -> &Place {
        match self {
            Command::Statement(statement) => statement.place(),
            Command::Set(set) | Command::SetRandom(set) => &set.place,
            Command::Sleep(sleep) => &sleep.place,
            Command::If(condition) | Command::Elif(condition) => &condition.place,
            Command::Else(otherwise) => &otherwise.place,
            Command::Shell(shell) | Command::SetShell(shell) => &shell.place,
            Command::EndIf(place)
            | Command::StartPipeline(place)
            | Command::SyncPipeline(place)
            | Command::EndPipeline(place) => place,
        }
    }

    /// Where the command begins.
    pub fn position(&self) -> Position {
        self.place().position()
    }

    /// The command's name, as messages have it.
    pub(crate) fn keyword(&self) -> &'static str {
        match self {
            Command::Statement(_) => "SQL",
            Command::Set(_) => "set",
            Command::SetRandom(_) => "setrandom",
            Command::Sleep(_) => "sleep",
            Command::If(_) => "if",
            Command::Elif(_) => "elif",
            Command::Else(_) => "else",
            Command::EndIf(_) => "endif",
            Command::Shell(_) => "shell",
            Command::SetShell(_) => "setshell",
            Command::StartPipeline(_) => "startpipeline",
            Command::SyncPipeline(_) => "syncpipeline",
            Command::EndPipeline(_) => "endpipeline",
        }
    }

    /// The command's text for reports, as pgbench shows it: of a statement the first line, of a meta command
    /// everything.
    pub fn source(&self) -> &str {
        match self {
            Command::Statement(statement) => statement.first_line(),
            meta => meta.place().text(),
        }
    }
}

impl Set {
    /// The variable that is set.
    pub fn variable(&self) -> VariableId {
        self.variable
    }

    #[inline]
    pub(crate) fn assign(&self, variables: &mut Variables, random: &mut Random) -> Result<(), Fault> {
        let value = self.expression.evaluate(variables, random)?;
        if !self.well_named {
            return Err(FaultKind::Misnamed(self.variable).at(self.place.range.start as u32));
        }
        variables.set_scalar(self.variable, value);
        Ok(())
    }
}
