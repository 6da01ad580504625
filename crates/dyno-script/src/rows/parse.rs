//! From the expression of a column to what writes its values: texts here, what is computed with by the grammar of
//! scripts.

use super::date::{read_date, read_moment};
use super::json::{self, Json};
use super::pattern::Pattern;
use super::text::{Side, Text};
use crate::expression::Expression;
use crate::grammar::{self, nearest, parse_part};
use crate::mistake::Mistake;
use crate::symbols::{Symbols, VariableId};
use crate::token::{Reader, Token};

/// The deepest nesting of texts, far more than a person writes.
const MAX_DEPTH: usize = 64;

/// What gives a text.
#[derive(Clone, Copy, PartialEq)]
enum Function {
    Concat,
    Date,
    JsonArray,
    JsonObject,
    Lpad,
    Pattern,
    Repeat,
    Rpad,
    Timestamp,
    Words,
}

/// The names, and how each function is written.
const FUNCTIONS: [(&str, Function, &str); 10] = [
    ("concat", Function::Concat, "concat(value, value, …)"),
    ("date", Function::Date, "date('2024-01-31', days)"),
    ("json_array", Function::JsonArray, "json_array(value, …)"),
    ("json_object", Function::JsonObject, "json_object('key', value, …)"),
    (
        "lpad",
        Function::Lpad,
        "lpad(value, length) or lpad(value, length, 'with')",
    ),
    ("pattern", Function::Pattern, "pattern('###-@@')"),
    ("repeat", Function::Repeat, "repeat(value, times)"),
    (
        "rpad",
        Function::Rpad,
        "rpad(value, length) or rpad(value, length, 'with')",
    ),
    (
        "timestamp",
        Function::Timestamp,
        "timestamp('2024-01-31 10:00:00', seconds)",
    ),
    ("words", Function::Words, "words(count) or words(least, most)"),
];

fn function(name: &str) -> Option<(Function, &'static str)> {
    let known = FUNCTIONS.iter().find(|(known, ..)| known.eq_ignore_ascii_case(name));
    known.map(|&(_, function, written)| (function, written))
}

type Parsed<T> = Result<T, Box<Mistake>>;

/// Parses the expression of a column.
///
/// # Errors
/// What is wrong with it, and where.
pub(super) fn parse(text: &str, symbols: &mut Symbols) -> Result<Text, String> {
    let known = symbols.len();
    let mut parser = Parser {
        reader: Reader::of_column(text),
        symbols,
        depth: 0,
    };
    let parsed = parser.whole().map_err(|mistake| {
        let before = text.get(..mistake.at).unwrap_or(text);
        format!("{}, at character {}", mistake.message, before.chars().count() + 1)
    })?;
    if symbols.len() > known {
        let name = symbols.name(VariableId(known as u32));
        return Err(format!(
            "there is no variable :{name}; row, the number of the row, is the only one"
        ));
    }
    Ok(parsed)
}

struct Parser<'a, 's> {
    reader: Reader<'a>,
    symbols: &'s mut Symbols,
    depth: usize,
}

impl<'a> Parser<'a, '_> {
    fn whole(&mut self) -> Parsed<Text> {
        let text = self.text()?;
        match self.reader.token()? {
            (_, Token::End) => Ok(text),
            (at, token) => Err(unexpected(at, token, "")),
        }
    }

    /// The next token, which stays to be read.
    fn peek(&self) -> Parsed<(usize, Token<'a>)> {
        self.reader.clone().token()
    }

    /// A value, whether text or not.
    fn text(&mut self) -> Parsed<Text> {
        let (at, token) = self.peek()?;
        self.depth += 1;
        if self.depth > MAX_DEPTH {
            let message = format!("expression is too deep, at most {MAX_DEPTH} levels are possible");
            return Err(Mistake::new(at, message));
        }
        let text = match token {
            Token::Text(written) => {
                self.reader.token()?;
                Text::Literal(unquoted(at, written)?.into())
            }
            Token::Keyword("case") if begins_text(self.reader.clone()) => self.case()?,
            Token::Sign("(") if begins_text(self.reader.clone()) => {
                self.reader.token()?;
                let text = self.text()?;
                self.expect(Token::Sign(")"), "")?;
                text
            }
            Token::Name(name) => match function(name) {
                Some((function, written)) => {
                    self.reader.token()?;
                    self.call(function, written)?
                }
                None => {
                    check_function(at, name)?;
                    self.value()?
                }
            },
            _ => self.value()?,
        };
        self.depth -= 1;
        Ok(text)
    }

    fn value(&mut self) -> Parsed<Text> {
        self.number().map(Text::Value)
    }

    /// What is computed.
    fn number(&mut self) -> Parsed<Expression> {
        let (at, token) = self.peek()?;
        let is_text = matches!(token, Token::Text(_)) || matches!(token, Token::Name(name) if function(name).is_some());
        if is_text {
            return Err(Mistake::new(
                at,
                format!("{} is a text, where a number must be", token.shown()),
            ));
        }
        parse_part(&mut self.reader, self.symbols)
    }

    fn case(&mut self) -> Parsed<Text> {
        const WRITTEN: &str = "case when condition then value else value end";
        self.reader.token()?;
        let mut branches = Vec::new();
        while branches.is_empty() || self.peek()?.1 == Token::Keyword("when") {
            self.expect(Token::Keyword("when"), WRITTEN)?;
            let condition = self.number()?;
            self.expect(Token::Keyword("then"), WRITTEN)?;
            branches.push((condition, self.text()?));
        }
        let mut otherwise = None;
        if self.peek()?.1 == Token::Keyword("else") {
            self.reader.token()?;
            otherwise = Some(Box::new(self.text()?));
        }
        self.expect(Token::Keyword("end"), WRITTEN)?;
        Ok(Text::Case {
            branches: branches.into(),
            otherwise,
        })
    }

    fn call(&mut self, function: Function, written: &str) -> Parsed<Text> {
        self.expect(Token::Sign("("), written)?;
        let text = match function {
            Function::Concat => Text::Concat(self.values(written)?.into()),
            Function::JsonArray => Text::Json(Json::List(self.values(written)?.into())),
            Function::JsonObject => Text::Json(self.object(written)?),
            Function::Pattern => Text::Pattern(Pattern::new(&self.literal(written)?.1)),
            Function::Repeat => {
                let text = Box::new(self.text()?);
                self.comma(written)?;
                let times = self.number()?;
                Text::Repeat { text, times }
            }
            Function::Lpad => self.pad(Side::Left, written)?,
            Function::Rpad => self.pad(Side::Right, written)?,
            Function::Words => Text::Words {
                least: self.number()?,
                most: match self.another()? {
                    true => Some(self.number()?),
                    false => None,
                },
            },
            Function::Date => {
                let begin_us = self.begin(read_date, "a day such as '2024-01-31'", written)?;
                let days = self.number()?;
                Text::Date { begin_us, days }
            }
            Function::Timestamp => {
                let begin_us = self.begin(read_moment, "a moment such as '2024-01-31 10:00:00'", written)?;
                let seconds = self.number()?;
                Text::Moment { begin_us, seconds }
            }
        };
        self.expect(Token::Sign(")"), written)?;
        Ok(text)
    }

    /// One value or more.
    fn values(&mut self, written: &str) -> Parsed<Vec<Text>> {
        if self.peek()?.1 == Token::Sign(")") {
            let (at, token) = self.peek()?;
            return Err(unexpected(at, token, written));
        }
        let mut values = vec![self.text()?];
        while self.another()? {
            values.push(self.text()?);
        }
        Ok(values)
    }

    fn object(&mut self, written: &str) -> Parsed<Json> {
        let mut entries = Vec::new();
        loop {
            let (_, name) = self.literal(written)?;
            self.comma(written)?;
            entries.push((json::key(&name), self.text()?));
            if !self.another()? {
                return Ok(Json::Object(entries.into()));
            }
        }
    }

    fn pad(&mut self, side: Side, written: &str) -> Parsed<Text> {
        let text = Box::new(self.text()?);
        self.comma(written)?;
        let length = self.number()?;
        let mut with = " ".to_owned();
        if self.another()? {
            let (at, given) = self.literal(written)?;
            if given.is_empty() {
                return Err(Mistake::new(at, "nothing can be filled up with an empty text"));
            }
            with = given;
        }
        Ok(Text::Pad {
            side,
            text,
            length,
            with: with.into(),
        })
    }

    /// The first argument of a function of time, and the comma behind it.
    fn begin(&mut self, read: fn(&str) -> Option<i64>, wanted: &str, written: &str) -> Parsed<i64> {
        let (at, text) = self.literal(written)?;
        let begin = read(&text).ok_or_else(|| Mistake::new(at, format!("'{text}' is not {wanted}")))?;
        self.comma(written)?;
        Ok(begin)
    }

    /// A text in quotation marks, and where it is.
    fn literal(&mut self, written: &str) -> Parsed<(usize, String)> {
        match self.reader.token()? {
            (at, Token::Text(text)) => Ok((at, unquoted(at, text)?)),
            (at, token) => Err(unexpected(at, token, written)),
        }
    }

    /// Whether another argument follows; takes the comma before it.
    fn another(&mut self) -> Parsed<bool> {
        let follows = self.peek()?.1 == Token::Sign(",");
        if follows {
            self.reader.token()?;
        }
        Ok(follows)
    }

    fn comma(&mut self, written: &str) -> Parsed<()> {
        self.expect(Token::Sign(","), written)
    }

    fn expect(&mut self, wanted: Token<'static>, written: &str) -> Parsed<()> {
        match self.reader.token()? {
            (_, token) if token == wanted => Ok(()),
            (at, token) => Err(unexpected(at, token, written)),
        }
    }
}

/// A token that cannot be where it is. `written` is how what it is in is written.
fn unexpected(at: usize, token: Token<'_>, written: &str) -> Box<Mistake> {
    let shown = match token {
        Token::End => "end".to_owned(),
        token => token.shown(),
    };
    let hint = match written {
        "" => String::new(),
        written => format!(" (write {written})"),
    };
    Mistake::new(at, format!("unexpected {shown}{hint}"))
}

/// Refuses a name that is none of a function, with the name it may have been meant to be.
fn check_function(at: usize, name: &str) -> Parsed<()> {
    let names = || grammar::functions().chain(FUNCTIONS.iter().map(|(known, ..)| *known));
    if names().any(|known| known.eq_ignore_ascii_case(name)) {
        return Ok(());
    }
    let hint = nearest(name, names()).map_or(String::new(), |known| format!(", did you mean {known}?"));
    Err(Mistake::new(at, format!("unknown name {name}{hint}")))
}

/// What a text in quotation marks stands for.
fn unquoted(at: usize, written: &str) -> Parsed<String> {
    if written.contains('\0') {
        return Err(Mistake::new(at, "a text cannot hold the character NUL"));
    }
    Ok(written.replace("''", "'"))
}

/// Whether a text begins here, or a CASE with a branch that does.
fn begins_text(mut reader: Reader<'_>) -> bool {
    let mut cases = 0_usize;
    // Whether the next token is the first of a value.
    let mut first = true;
    while let Ok((_, token)) = reader.token() {
        match token {
            Token::Text(_) if first => return true,
            Token::Name(name) if first => {
                if function(name).is_some() {
                    return true;
                }
                first = false;
            }
            Token::Sign("(") if first => continue,
            Token::Keyword("case") => {
                cases += 1;
                first = false;
            }
            Token::Keyword("then" | "else") => {
                first = true;
                continue;
            }
            Token::Keyword("end") => {
                cases = cases.saturating_sub(1);
                first = false;
            }
            Token::End => return false,
            _ => first = false,
        }
        if cases == 0 {
            return false;
        }
    }
    false
}
