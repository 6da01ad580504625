//! Whether every variable that a script uses is set somewhere. For pgbench one that is not is no mistake: the
//! simple protocol leaves its name in the SQL, the others send NULL. Whoever wants to know beforehand asks here.

use crate::command::Command;
use crate::diagnostic::ScriptError;
use crate::expression::Expression;
use crate::lexis::Lexis;
use crate::script::Script;
use crate::shell::Word;
use crate::sleep::SleepTime;
use crate::statement::Statement;
use crate::symbols::{Symbols, VariableId};

/// The variables that something sets.
#[derive(Clone, Debug, Default)]
pub struct Defined {
    set: Vec<VariableId>,
    /// `\gset` and `\aset` set variables whose names begin so; their columns are known to the server only.
    prefixes: Vec<String>,
}

impl Defined {
    /// Those of these names.
    pub fn new<'a>(names: impl IntoIterator<Item = &'a str>, symbols: &Symbols) -> Defined {
        Defined {
            set: names.into_iter().filter_map(|name| symbols.lookup(name)).collect(),
            prefixes: Vec::new(),
        }
    }

    /// Adds what the commands of `script` set.
    pub fn add(&mut self, script: &Script) {
        for command in script.commands() {
            match command {
                Command::Set(set) | Command::SetRandom(set) => self.set.push(set.variable),
                Command::SetShell(shell) => self.set.extend(shell.variable.map(|(variable, _)| variable)),
                Command::Statement(statement) => self
                    .prefixes
                    .extend(statement.capture().map(|capture| capture.prefix.clone())),
                _ => {}
            }
        }
    }

    fn has(&self, id: VariableId, symbols: &Symbols) -> bool {
        let name = symbols.name(id);
        self.set.contains(&id) || self.prefixes.iter().any(|prefix| name.starts_with(prefix))
    }
}

impl Script {
    /// Whether all variables that it uses are `defined`. With `quoted`, names in quotes and comments count too: in
    /// the extended and prepared protocols they become parameters, which the server does not find there.
    ///
    /// # Errors
    ///
    /// When a variable is not; the error points at its first use.
    pub fn check_defined(&self, defined: &Defined, symbols: &Symbols, quoted: bool) -> Result<(), ScriptError> {
        let missing = |id: &VariableId| !defined.has(*id, symbols);
        for command in self.commands() {
            let used = used_by(command, quoted);
            if let Some(id) = used.into_iter().find(missing) {
                return Err(self.undefined(command, symbols.name(id)));
            }
        }
        Ok(())
    }

    /// Whether any command of it uses the variable, be it in quotes or in a comment.
    #[must_use]
    pub fn uses(&self, name: &str, symbols: &Symbols) -> bool {
        let uses = |id| {
            self.commands()
                .iter()
                .any(|command| used_by(command, true).contains(&id))
        };
        symbols.lookup(name).is_some_and(uses)
    }

    fn undefined(&self, command: &Command, name: &str) -> ScriptError {
        let range = command.place().range.clone();
        let text = self.source.text.get(range.clone()).unwrap_or_default();
        let at = text.find(&format!(":{name}")).unwrap_or(0);
        let message = format!(
            "nothing sets the variable \":{name}\": add it under [parameters], set it with \\set, or write a space \
             behind the colon if no variable is meant"
        );
        let pgbench = format!("undefined variable \"{name}\"");
        self.source.script_error(range.start + at, None, message, pgbench)
    }
}

/// The variables that a command uses.
fn used_by(command: &Command, quoted: bool) -> Vec<VariableId> {
    let mut used = Vec::new();
    match command {
        Command::Statement(statement) => used = in_statement(statement, quoted),
        Command::Set(set) | Command::SetRandom(set) => in_expression(&set.expression, &mut used),
        Command::If(condition) | Command::Elif(condition) => in_expression(&condition.expression, &mut used),
        Command::Sleep(sleep) => {
            if let SleepTime::Variable { id, .. } = sleep.time {
                used.push(id);
            }
        }
        Command::Shell(shell) | Command::SetShell(shell) => {
            used.extend(shell.words.iter().filter_map(|word| match word {
                Word::Variable { id, .. } => Some(*id),
                Word::Literal(_) => None,
            }));
        }
        _ => {}
    }
    used
}

fn in_statement(statement: &Statement, quoted: bool) -> Vec<VariableId> {
    // By MySQL's rules none of them stands in quotes.
    if quoted || statement.lexis() != Lexis::Psql {
        return statement.parameters().to_vec();
    }
    let places = statement.variable_places();
    let text = statement.text().as_bytes();
    let mut quotes = Quotes::default();
    let mut at = 0;
    let mut used = Vec::new();
    for (place, id) in places {
        while at < place {
            at += quotes.step(text, at);
        }
        // A place that was stepped over stands in quotes as well.
        if at == place && quotes == Quotes::None {
            used.push(id);
        }
    }
    used
}

/// What a place in SQL is inside of.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
enum Quotes {
    #[default]
    None,
    /// Until this byte: a string, or a quoted name.
    Byte(u8),
    /// A comment to the end of the line, or to its sign.
    Line,
    Block,
    /// Until this tag comes again.
    Dollar(Vec<u8>),
}

impl Quotes {
    /// Goes on from `at`, and gives by how many bytes.
    fn step(&mut self, text: &[u8], at: usize) -> usize {
        let rest = text.get(at..).unwrap_or_default();
        match self {
            Self::None => match rest {
                [quote @ (b'\'' | b'"'), ..] => *self = Self::Byte(*quote),
                [b'-', b'-', ..] => *self = Self::Line,
                [b'/', b'*', ..] => *self = Self::Block,
                [b'$', behind @ ..] => {
                    let tag = behind
                        .iter()
                        .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                        .count();
                    if behind.get(tag) == Some(&b'$') {
                        *self = Self::Dollar(rest[..tag + 2].to_vec());
                        return tag + 2;
                    }
                }
                _ => {}
            },
            Self::Byte(quote) if rest.first() == Some(quote) => *self = Self::None,
            Self::Line if rest.first() == Some(&b'\n') => *self = Self::None,
            Self::Block if rest.starts_with(b"*/") => {
                *self = Self::None;
                return 2;
            }
            Self::Dollar(tag) if rest.starts_with(tag) => {
                let length = tag.len();
                *self = Self::None;
                return length;
            }
            _ => {}
        }
        1
    }
}

fn in_expression(expression: &Expression, used: &mut Vec<VariableId>) {
    match expression {
        Expression::Constant(_) => {}
        Expression::Variable { id, .. } => used.push(*id),
        Expression::Unary { operand, .. } | Expression::Debug(operand) | Expression::Is { operand, .. } => {
            in_expression(operand, used);
        }
        Expression::Binary { operands, .. } | Expression::And { operands, .. } | Expression::Or { operands, .. } => {
            operands.iter().for_each(|operand| in_expression(operand, used));
        }
        Expression::Case { branches, otherwise } => {
            for (condition, value) in branches {
                in_expression(condition, used);
                in_expression(value, used);
            }
            in_expression(otherwise, used);
        }
        Expression::Extremum { operands, .. } => operands.iter().for_each(|operand| in_expression(operand, used)),
        Expression::Random { operands, .. } | Expression::Permute { operands, .. } => {
            operands.iter().for_each(|operand| in_expression(operand, used));
        }
    }
}
