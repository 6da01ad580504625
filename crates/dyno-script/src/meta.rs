//! Meta commands: a backslash, a name, and arguments up to the end of the line.

use std::sync::Arc;

use crate::command::{Command, Condition, Else, Place, Set};
use crate::diagnostic::{ScriptError, Source};
use crate::expression::{Binary, Distribution, Expression};
use crate::grammar;
use crate::mistake::{Mistake, Shown};
use crate::shell::{self, Shell};
use crate::sleep::{Sleep, SleepTime};
use crate::statement::{Capture, CaptureKind};
use crate::symbols::{Symbols, VariableId};
use crate::token::{Reader, is_name, is_variable_name};
use crate::value::{Scalar, read_double};

const NAMES: &[&str] = &[
    "set",
    "setrandom",
    "sleep",
    "if",
    "elif",
    "else",
    "endif",
    "gset",
    "aset",
    "shell",
    "setshell",
    "startpipeline",
    "syncpipeline",
    "endpipeline",
];

/// The most arguments of a command whose arguments are words.
const MAX_ARGUMENTS: usize = 255;

/// What a backslash can begin.
pub(crate) enum Meta {
    /// A backslash alone: nothing.
    Nothing,
    Command(Command),
    /// `\gset` or `\aset`, which is a part of the statement before it.
    Capture(Capture),
}

/// Parses the meta command whose backslash is at `start`. Gives also the offset behind it.
pub(crate) fn parse(source: &Arc<Source>, start: usize, symbols: &mut Symbols) -> Result<(Meta, usize), ScriptError> {
    let mut reader = Reader::new(&source.text, start + 1);
    let Some((_, name)) = reader.word() else {
        reader.finish();
        return Ok((Meta::Nothing, reader.offset()));
    };
    let known = NAMES.iter().copied().find(|known| name.eq_ignore_ascii_case(known));
    let body = match known {
        Some(known) => body(known, start, &mut reader, symbols),
        None => Err(Mistake::new(start, unknown(name)).pgbench("invalid command").unknown()),
    };
    let body = body.map_err(|mistake| source.command_error(start, *mistake))?;
    let place = Place {
        source: source.clone(),
        range: start..reader.offset(),
    };
    reader.finish();
    Ok((body.at(place), reader.offset()))
}

fn unknown(name: &str) -> String {
    let shown: String = name.chars().take(40).flat_map(char::escape_debug).collect();
    let hint = match grammar::nearest(name, NAMES.iter().copied()) {
        Some(known) => format!(", did you mean \\{known}?"),
        None => String::new(),
    };
    format!(
        "invalid command \\{shown}{hint} (known commands: \\{})",
        NAMES.join(", \\")
    )
}

/// A command without its place, which is known only when all of it is read.
enum Body {
    Set(VariableId, bool, Expression),
    SetRandom(VariableId, bool, Expression),
    Sleep(SleepTime, u64),
    If(Expression),
    Elif(Expression),
    Else,
    EndIf,
    Shell(Vec<shell::Word>),
    SetShell(VariableId, bool, Vec<shell::Word>),
    StartPipeline,
    SyncPipeline,
    EndPipeline,
    Capture(Capture),
}

impl Body {
    fn at(self, place: Place) -> Meta {
        // Where a branch ends is found out when all commands are known.
        let condition = |expression, place| Condition {
            expression,
            otherwise: 0,
            end: 0,
            place,
        };
        let set = |variable, well_named, expression, place| Set {
            variable,
            well_named,
            expression,
            place,
        };
        let shell = |variable, words, place| Shell { variable, words, place };
        Meta::Command(match self {
            Body::Set(variable, named, expression) => Command::Set(set(variable, named, expression, place)),
            Body::SetRandom(variable, named, expression) => Command::SetRandom(set(variable, named, expression, place)),
            Body::Sleep(time, unit_us) => Command::Sleep(Sleep { time, unit_us, place }),
            Body::If(expression) => Command::If(condition(expression, place)),
            Body::Elif(expression) => Command::Elif(condition(expression, place)),
            Body::Else => Command::Else(Else { end: 0, place }),
            Body::EndIf => Command::EndIf(place),
            Body::Shell(words) => Command::Shell(shell(None, words, place)),
            Body::SetShell(variable, named, words) => Command::SetShell(shell(Some((variable, named)), words, place)),
            Body::StartPipeline => Command::StartPipeline(place),
            Body::SyncPipeline => Command::SyncPipeline(place),
            Body::EndPipeline => Command::EndPipeline(place),
            Body::Capture(capture) => return Meta::Capture(capture),
        })
    }
}

/// A word of a command.
#[derive(Clone, Copy)]
struct Word<'a> {
    at: usize,
    text: &'a str,
    /// Where pgbench believes it is: too far behind by the length of a line continuation that follows it.
    caret: usize,
}

impl Word<'_> {
    /// A mistake in this word.
    fn mistake(&self, message: impl Into<String>) -> Box<Mistake> {
        Mistake::new(self.at, message).shown(Shown::Caret(self.caret))
    }
}

fn body(name: &str, start: usize, reader: &mut Reader<'_>, symbols: &mut Symbols) -> Result<Body, Box<Mistake>> {
    match name {
        "set" => {
            let variable = reader.word().ok_or_else(|| missing(start).shown(Shown::Nothing))?;
            let (variable, well_named) = assigned(variable.1, symbols);
            return Ok(Body::Set(variable, well_named, grammar::parse(reader, symbols)?));
        }
        "if" => return Ok(Body::If(grammar::parse(reader, symbols)?)),
        "elif" => return Ok(Body::Elif(grammar::parse(reader, symbols)?)),
        _ => {}
    }
    let mut words = Vec::new();
    while let Some((at, text)) = reader.word() {
        if words.len() == MAX_ARGUMENTS {
            return Err(Mistake::new(at, "too many arguments").shown(Shown::Nothing));
        }
        let caret = reader.offset() - text.len();
        words.push(Word { at, text, caret });
    }
    let bare = |body| match words.first() {
        None => Ok(body),
        Some(word) => Err(Mistake::new(word.at, "unexpected argument")),
    };
    match name {
        "setrandom" => set_random(start, &words, symbols),
        "sleep" => sleep(start, &words, symbols),
        "shell" if words.is_empty() => Err(Mistake::new(start, "missing command")),
        "shell" => Ok(Body::Shell(shell_words(&words, symbols))),
        "setshell" => {
            let [variable, command @ ..] = words.as_slice() else {
                return Err(missing(start));
            };
            if command.is_empty() {
                return Err(missing(start));
            }
            let (variable, well_named) = assigned(variable.text, symbols);
            Ok(Body::SetShell(variable, well_named, shell_words(command, symbols)))
        }
        "gset" => capture(CaptureKind::Last, &words),
        "aset" => capture(CaptureKind::Each, &words),
        "else" => bare(Body::Else),
        "endif" => bare(Body::EndIf),
        "startpipeline" => bare(Body::StartPipeline),
        "syncpipeline" => bare(Body::SyncPipeline),
        _ => bare(Body::EndPipeline),
    }
}

fn missing(at: usize) -> Box<Mistake> {
    Mistake::new(at, "missing argument")
}

/// The variable that a command sets, and whether a variable may be called so. If not, pgbench says so only when it
/// executes the command; see [`Script::check_names`](crate::Script::check_names).
fn assigned(name: &str, symbols: &mut Symbols) -> (VariableId, bool) {
    (symbols.intern(name), is_variable_name(name))
}

/// The words of a shell command: `:name` is a variable, `::name` the text `:name`.
fn shell_words(words: &[Word<'_>], symbols: &mut Symbols) -> Vec<shell::Word> {
    let word = |word: &Word<'_>| match word.text.strip_prefix(':') {
        Some(name) if !name.starts_with(':') => shell::Word::Variable {
            id: symbols.intern(name),
            at: word.at as u32,
        },
        Some(literal) => shell::Word::Literal(literal.to_owned()),
        None => shell::Word::Literal(word.text.to_owned()),
    };
    words.iter().map(word).collect()
}

/// `\gset [prefix]`, `\aset [prefix]`.
fn capture(kind: CaptureKind, words: &[Word<'_>]) -> Result<Body, Box<Mistake>> {
    if let Some(word) = words.get(1) {
        return Err(Mistake::new(word.at, "too many arguments"));
    }
    let prefix = words.first().map_or(String::new(), |word| word.text.to_owned());
    Ok(Body::Capture(Capture { prefix, kind }))
}

/// `\setrandom name min max [uniform | gaussian parameter | exponential parameter]`, as in pgbench 9.5. Its
/// distributions and their parameters are those of the functions that came after it.
fn set_random(start: usize, words: &[Word<'_>], symbols: &mut Symbols) -> Result<Body, Box<Mistake>> {
    let [variable, min, max, shape @ ..] = words else {
        return Err(missing(start));
    };
    let (variable, well_named) = assigned(variable.text, symbols);
    let (min, max) = (bound(*min, symbols)?, bound(*max, symbols)?);
    let at = start as u32;
    let distribution = match shape {
        [] => None,
        [word, ..] if word.text.eq_ignore_ascii_case("uniform") => None,
        [word, ..] if word.text.eq_ignore_ascii_case("gaussian") => Some(Distribution::Gaussian),
        [word, ..] if word.text.eq_ignore_ascii_case("exponential") => Some(Distribution::Exponential),
        [word, ..] => {
            let message = "unrecognized distribution, must be uniform, gaussian or exponential";
            return Err(word.mistake(format!("{message} ({})", word.text)));
        }
    };
    let used = match distribution {
        None => 1,
        Some(_) if shape.len() < 2 => return Err(Mistake::new(start, "missing parameter of the distribution")),
        Some(_) => 2,
    };
    if let Some(word) = shape.get(used) {
        return Err(word.mistake("too many arguments"));
    }
    let expression = match distribution {
        None => Expression::Binary {
            operation: Binary::Random,
            operands: Box::new([min, max]),
            at,
        },
        Some(distribution) => {
            let parameter = number(shape[1], symbols)?;
            Expression::Random {
                distribution,
                operands: Box::new([min, max, parameter]),
                at,
            }
        }
    };
    Ok(Body::SetRandom(variable, well_named, expression))
}

/// `:name` as an operand.
fn variable(word: Word<'_>, symbols: &mut Symbols) -> Option<Expression> {
    let name = word.text.strip_prefix(':')?;
    (!name.is_empty() && name.bytes().all(is_name)).then(|| Expression::Variable {
        id: symbols.intern(name),
        at: word.at as u32,
    })
}

fn bound(word: Word<'_>, symbols: &mut Symbols) -> Result<Expression, Box<Mistake>> {
    let constant = || {
        word.text
            .parse()
            .ok()
            .map(|value| Expression::Constant(Scalar::Int(value)))
    };
    variable(word, symbols)
        .or_else(constant)
        .ok_or_else(|| word.mistake(format!("invalid input syntax for type bigint: \"{}\"", word.text)))
}

fn number(word: Word<'_>, symbols: &mut Symbols) -> Result<Expression, Box<Mistake>> {
    let constant = || read_double(word.text).map(|value| Expression::Constant(Scalar::Double(value)));
    variable(word, symbols)
        .or_else(constant)
        .ok_or_else(|| word.mistake(format!("invalid input syntax for type double: \"{}\"", word.text)))
}

/// `\sleep number [us | ms | s]`; the unit may follow the number without a space.
fn sleep(start: usize, words: &[Word<'_>], symbols: &mut Symbols) -> Result<Body, Box<Mistake>> {
    let (&argument, units) = words.split_first().ok_or_else(|| missing(start))?;
    if let Some(word) = units.get(1) {
        return Err(word.mistake("too many arguments"));
    }
    let mut unit = units.first().copied();
    let time = if let Some(name) = argument.text.strip_prefix(':') {
        SleepTime::Variable {
            id: symbols.intern(name),
            at: argument.at as u32,
        }
    } else {
        let sign = usize::from(argument.text.starts_with(['+', '-']));
        let digits = argument.text[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = argument.text.split_at(sign + digits);
        let invalid = || argument.mistake(format!("invalid sleep time, must be an integer ({})", argument.text));
        if !rest.is_empty() {
            if digits == 0 || unit.is_some() {
                return Err(invalid());
            }
            unit = Some(Word {
                at: argument.at + number.len(),
                text: rest,
                caret: argument.caret + number.len(),
            });
        }
        // A sign alone is zero, as in pgbench.
        SleepTime::Constant(if digits == 0 {
            0
        } else {
            number.parse().map_err(|_| invalid())?
        })
    };
    let unit_us = match unit {
        None => 1_000_000,
        Some(word) if word.text.eq_ignore_ascii_case("us") => 1,
        Some(word) if word.text.eq_ignore_ascii_case("ms") => 1_000,
        Some(word) if word.text.eq_ignore_ascii_case("s") => 1_000_000,
        Some(word) => {
            let message = format!("unrecognized time unit, must be us, ms or s ({})", word.text);
            return Err(word.mistake(message));
        }
    };
    Ok(Body::Sleep(time, unit_us))
}
