//! Meta commands: a backslash, a name, and arguments up to the end of the line.

use std::sync::Arc;

use crate::command::{Command, Place, Set, SetRandom, Sleep, SleepTime};
use crate::diagnostic::{ScriptError, Source};
use crate::expression::{Binary, Distribution, Expression};
use crate::grammar;
use crate::symbols::{Symbols, VariableId};
use crate::token::{Mistake, Reader, is_name, is_variable_name};
use crate::value::{Scalar, read_double};

const NAMES: &[&str] = &["set", "setrandom", "sleep"];

/// Parses the meta command whose backslash is at `start`. Gives the command, or `None` for a backslash alone, and the offset
/// behind it.
pub(crate) fn parse(
    source: &Arc<Source>,
    start: usize,
    symbols: &mut Symbols,
) -> Result<(Option<Command>, usize), ScriptError> {
    let mut reader = Reader::new(&source.text, start + 1);
    let Some((_, name)) = reader.word() else {
        reader.finish();
        return Ok((None, reader.offset()));
    };
    let known = NAMES.iter().copied().find(|known| name.eq_ignore_ascii_case(known));
    let Some(name) = known else {
        return Err(source.script_error(start, None, unknown(name)));
    };
    let body = body(name, start, &mut reader, symbols)
        .map_err(|mistake| source.script_error(mistake.at, Some(name), mistake.message))?;
    let place = Place {
        source: source.clone(),
        range: start..reader.offset(),
    };
    reader.finish();
    let command = match body {
        Body::Set { variable, expression } => Command::Set(Set {
            variable,
            expression,
            place,
        }),
        Body::SetRandom { variable, expression } => Command::SetRandom(SetRandom {
            variable,
            expression,
            place,
        }),
        Body::Sleep { time, unit_us } => Command::Sleep(Sleep { time, unit_us, place }),
    };
    Ok((Some(command), reader.offset()))
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

enum Body {
    Set {
        variable: VariableId,
        expression: Expression,
    },
    SetRandom {
        variable: VariableId,
        expression: Expression,
    },
    Sleep {
        time: SleepTime,
        unit_us: u64,
    },
}

fn body(name: &str, start: usize, reader: &mut Reader<'_>, symbols: &mut Symbols) -> Result<Body, Mistake> {
    if name == "set" {
        let variable = reader.word().ok_or_else(|| missing(start))?;
        let variable = assigned(variable, symbols)?;
        let expression = grammar::parse(reader, symbols)?;
        return Ok(Body::Set { variable, expression });
    }
    let mut words = Vec::new();
    while let Some(word) = reader.word() {
        words.push(word);
    }
    if name == "setrandom" {
        set_random(start, &words, symbols)
    } else {
        sleep(start, &words, symbols)
    }
}

fn missing(at: usize) -> Mistake {
    Mistake::new(at, "missing argument")
}

/// The variable that a command sets.
fn assigned((at, name): (usize, &str), symbols: &mut Symbols) -> Result<VariableId, Mistake> {
    if is_variable_name(name) {
        Ok(symbols.intern(name))
    } else {
        let shown: String = name.chars().take(64).collect();
        Err(Mistake::new(at, format!("invalid variable name: \"{shown}\"")))
    }
}

/// `\setrandom name min max [uniform | gaussian parameter | exponential parameter]`, as in pgbench 9.5. Its distributions and
/// their parameters are those of the functions that came after it.
fn set_random(start: usize, words: &[(usize, &str)], symbols: &mut Symbols) -> Result<Body, Mistake> {
    let [variable, min, max, shape @ ..] = words else {
        return Err(missing(start));
    };
    let variable = assigned(*variable, symbols)?;
    let (min, max) = (bound(*min, symbols)?, bound(*max, symbols)?);
    let at = start as u32;
    let distribution = match shape {
        [] => None,
        [(_, word), ..] if word.eq_ignore_ascii_case("uniform") => None,
        [(_, word), ..] if word.eq_ignore_ascii_case("gaussian") => Some(Distribution::Gaussian),
        [(_, word), ..] if word.eq_ignore_ascii_case("exponential") => Some(Distribution::Exponential),
        [(at, word), ..] => {
            let message = format!("unrecognized distribution, must be uniform, gaussian or exponential ({word})");
            return Err(Mistake::new(*at, message));
        }
    };
    let used = match distribution {
        None => 1,
        Some(_) if shape.len() < 2 => return Err(Mistake::new(start, "missing parameter of the distribution")),
        Some(_) => 2,
    };
    if let Some((at, _)) = shape.get(used) {
        return Err(Mistake::new(*at, "too many arguments"));
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
    Ok(Body::SetRandom { variable, expression })
}

/// `:name` as an operand.
fn variable((at, word): (usize, &str), symbols: &mut Symbols) -> Option<Expression> {
    let name = word.strip_prefix(':')?;
    (!name.is_empty() && name.bytes().all(is_name)).then(|| Expression::Variable {
        id: symbols.intern(name),
        at: at as u32,
    })
}

fn bound(word: (usize, &str), symbols: &mut Symbols) -> Result<Expression, Mistake> {
    let constant = || {
        word.1
            .parse()
            .ok()
            .map(|value| Expression::Constant(Scalar::Int(value)))
    };
    variable(word, symbols)
        .or_else(constant)
        .ok_or_else(|| Mistake::new(word.0, format!("invalid input syntax for type bigint: \"{}\"", word.1)))
}

fn number(word: (usize, &str), symbols: &mut Symbols) -> Result<Expression, Mistake> {
    let constant = || read_double(word.1).map(|value| Expression::Constant(Scalar::Double(value)));
    variable(word, symbols)
        .or_else(constant)
        .ok_or_else(|| Mistake::new(word.0, format!("invalid input syntax for type double: \"{}\"", word.1)))
}

/// `\sleep number [us | ms | s]`; the unit may follow the number without a space.
fn sleep(start: usize, words: &[(usize, &str)], symbols: &mut Symbols) -> Result<Body, Mistake> {
    let (&(at, argument), units) = words.split_first().ok_or_else(|| missing(start))?;
    if let Some((at, _)) = units.get(1) {
        return Err(Mistake::new(*at, "too many arguments"));
    }
    let mut unit = units.first().copied();
    let time = if let Some(name) = argument.strip_prefix(':') {
        SleepTime::Variable {
            id: symbols.intern(name),
            at: at as u32,
        }
    } else {
        let sign = usize::from(argument.starts_with(['+', '-']));
        let digits = argument[sign..].bytes().take_while(u8::is_ascii_digit).count();
        let (number, rest) = argument.split_at(sign + digits);
        let invalid = || Mistake::new(at, format!("invalid sleep time, must be an integer ({argument})"));
        if digits == 0 || (!rest.is_empty() && unit.is_some()) {
            return Err(invalid());
        }
        if !rest.is_empty() {
            unit = Some((at + number.len(), rest));
        }
        SleepTime::Constant(number.parse().map_err(|_| invalid())?)
    };
    let unit_us = match unit {
        None => 1_000_000,
        Some((_, unit)) if unit.eq_ignore_ascii_case("us") => 1,
        Some((_, unit)) if unit.eq_ignore_ascii_case("ms") => 1_000,
        Some((_, unit)) if unit.eq_ignore_ascii_case("s") => 1_000_000,
        Some((at, unit)) => {
            return Err(Mistake::new(
                at,
                format!("unrecognized time unit, must be us, ms or s ({unit})"),
            ));
        }
    };
    Ok(Body::Sleep { time, unit_us })
}
