//! What a script asks the host for, and what it is told.

use crate::fill::Wish;
use dyno_wire::{CapturedResult, Parameters};
use mlua::{Lua, MultiValue, Table, Thread, Value};
use std::io::Write;

/// What the functions of the API yield: their names there, and numbers.
pub(crate) const CODES: [(&str, i64); 12] = [
    ("connect", 1),
    ("disconnect", 2),
    ("reconnect", 3),
    ("query", 4),
    ("prepare", 5),
    ("execute", 6),
    ("close", 7),
    ("ignored", 8),
    ("ready", 9),
    ("done", 10),
    ("finish", 11),
    ("fill", 13),
];

/// The number of "it has failed".
pub(crate) const FAILED: i64 = 12;

/// What a script asks for. Texts and values are in the [`Request`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Operation {
    /// A new connection.
    Connect,
    /// Close this one.
    Disconnect(usize),
    /// Close this one and open it again.
    Reconnect(usize),
    /// Execute a text.
    Query { connection: usize, rows: bool },
    /// Prepare a text.
    Prepare { connection: usize },
    /// Execute what was prepared.
    Execute(usize),
    /// A statement is not needed any more.
    Close(usize),
    /// Fill a table with what the [`Request`] says.
    Fill,
    /// The script itself has decided to ignore an error.
    Ignored,
    /// What was called is done, or what comes before or after all events.
    Ready,
    /// An event is done.
    Done,
    /// The client has no more events; the last one may count.
    Finish(bool),
    /// The script cannot go on: the function, the message and the traceback are in the [`Request`].
    Failed,
}

/// A value of a statement.
#[derive(Clone, Copy, Debug, PartialEq)]
enum Bound {
    Null,
    Integer(i64),
    Double(f64),
    /// So many bytes of text from here on.
    Text(usize, usize),
}

/// The values of a statement's parameters.
#[derive(Debug, Default)]
pub struct Values {
    bound: Vec<Bound>,
    texts: Vec<u8>,
}

impl Values {
    fn clear(&mut self) {
        self.bound.clear();
        self.texts.clear();
    }

    fn push(&mut self, value: &Value) {
        let bound = match value {
            Value::Integer(number) => Bound::Integer(*number),
            // Numbers of Lua are doubles; whole ones beyond 32 bits may still come as such.
            Value::Number(number) if number.fract() == 0.0 && number.abs() < 9e15 => Bound::Integer(*number as i64),
            Value::Number(number) => Bound::Double(*number),
            Value::String(text) => {
                let from = self.texts.len();
                self.texts.extend_from_slice(&text.as_bytes());
                Bound::Text(from, self.texts.len())
            }
            _ => Bound::Null,
        };
        self.bound.push(bound);
    }
}

/// The values for an execution, if there are any.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Given<'a>(pub Option<&'a Values>);

impl Parameters for Given<'_> {
    fn len(&self) -> usize {
        self.0.map_or(0, |values| values.bound.len())
    }

    fn is_text(&self, index: usize) -> bool {
        self.0
            .is_some_and(|values| matches!(values.bound[index], Bound::Text(..)))
    }

    fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
        let Some(values) = self.0 else { return false };
        // Writing to memory does not fail.
        match values.bound[index] {
            Bound::Null => return false,
            Bound::Integer(number) => write!(out, "{number}").unwrap_or_default(),
            Bound::Double(number) => write!(out, "{number}").unwrap_or_default(),
            Bound::Text(from, to) => out.extend_from_slice(&values.texts[from..to]),
        }
        true
    }
}

/// What comes with an operation, kept from one to the next to be used again.
#[derive(Debug, Default)]
pub(crate) struct Request {
    /// The text of a query, or of what is to be prepared.
    pub text: Vec<u8>,
    /// The values of an execution.
    pub values: Values,
    /// The table that is to be filled.
    pub wish: Wish,
    /// Where a script failed, why, and how it came there.
    pub failure: Option<[String; 3]>,
}

/// What is yielded, as it comes: the first values one by one, for which no memory has to be asked.
pub(crate) type Words = (Value, Value, Value, Value, Value, Value, Value, Value, MultiValue);

/// What was yielded.
pub(crate) struct Yielded {
    first: [Value; 8],
    rest: MultiValue,
}

impl From<Words> for Yielded {
    fn from((a, b, c, d, e, f, g, h, rest): Words) -> Self {
        Self {
            first: [a, b, c, d, e, f, g, h],
            rest,
        }
    }
}

impl Yielded {
    fn get(&self, at: usize) -> Option<&Value> {
        match at.checked_sub(self.first.len()) {
            None => self.first.get(at),
            Some(behind) => self.rest.get(behind),
        }
    }

    /// What it asks for; `None`: nothing that the API yields.
    pub fn read(self, request: &mut Request) -> Option<Operation> {
        let values = &self;
        let number = |at: usize| match values.get(at)? {
            Value::Integer(number) => usize::try_from(*number).ok(),
            Value::Number(number) => Some(*number as usize),
            _ => None,
        };
        let flag =
            |at: usize| matches!(values.get(at), Some(value) if !matches!(value, Value::Nil | Value::Boolean(false)));
        let mut text = |at: usize| {
            request.text.clear();
            if let Some(Value::String(text)) = values.get(at) {
                request.text.extend_from_slice(&text.as_bytes());
            }
        };
        let code = number(1)? as i64;
        Some(match code {
            1 => Operation::Connect,
            2 => Operation::Disconnect(number(2)?),
            3 => Operation::Reconnect(number(2)?),
            4 => {
                text(3);
                Operation::Query {
                    connection: number(2)?,
                    rows: flag(4),
                }
            }
            5 => {
                text(3);
                Operation::Prepare { connection: number(2)? }
            }
            6 => {
                request.values.clear();
                for at in 0..number(3)? {
                    request.values.push(values.get(4 + at).unwrap_or(&Value::Nil));
                }
                Operation::Execute(number(2)?)
            }
            7 => Operation::Close(number(2)?),
            8 => Operation::Ignored,
            9 => Operation::Ready,
            10 => Operation::Done,
            11 => Operation::Finish(flag(2)),
            13 => {
                let wish: Vec<Value> = (2..).map_while(|at| values.get(at).cloned()).collect();
                request.wish = Wish::read(&wish)?;
                Operation::Fill
            }
            FAILED => {
                let shown = |at: usize| match values.get(at) {
                    Some(Value::String(text)) => text.to_string_lossy(),
                    _ => String::new(),
                };
                request.failure = Some([shown(2), shown(3), shown(4)]);
                Operation::Failed
            }
            _ => return None,
        })
    }
}

/// An error as scripts see it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Problem {
    /// MySQL's number; 0 of PostgreSQL's.
    pub number: u32,
    /// The SQLSTATE.
    pub state: String,
    /// What happened.
    pub message: String,
    /// Whether it restarts the event.
    pub ignorable: bool,
}

/// What a script is told.
#[derive(Debug)]
pub(crate) enum Answer<'a> {
    /// It may go on; of a client that waits for its next event: no more are to come.
    No,
    /// It is done; of a client that waits: the next event begins.
    Yes,
    /// It has this number.
    Id(usize),
    /// It has brought so many rows, which were not kept.
    Rows(u64),
    /// It has brought these results.
    Results(&'a [CapturedResult]),
    /// It has failed.
    Failed(&'a Problem),
}

/// The rows of a result, which were kept.
fn rows_of(lua: &Lua, result: &CapturedResult) -> mlua::Result<Table> {
    let table = lua.create_table_with_capacity(result.kept.len(), 0)?;
    for row in &result.kept {
        let values = lua.create_table_with_capacity(row.len(), 0)?;
        for (value, place) in row.iter().zip(1_i64..) {
            if let Some(value) = value {
                let text = lua.create_string(dyno_text::encode(value))?;
                values.raw_set(place, text)?;
            }
        }
        table.raw_push(values)?;
    }
    Ok(table)
}

impl Answer<'_> {
    /// Has the script go on with it. Gives what is yielded next.
    pub fn tell(self, thread: &Thread, lua: &Lua) -> mlua::Result<Words> {
        match self {
            Self::No => thread.resume(false),
            Self::Yes => thread.resume(true),
            Self::Id(id) => thread.resume((true, id)),
            Self::Rows(rows) => thread.resume((true, rows)),
            Self::Results([]) => thread.resume(true),
            Self::Results([first, others @ ..]) => {
                let further = match others {
                    [] => None,
                    others => {
                        let each = others.iter().map(|result| {
                            let table = lua.create_table()?;
                            table.raw_set("nrows", result.rows)?;
                            table.raw_set("nfields", result.columns.len())?;
                            table.raw_set("rows", rows_of(lua, result)?)?;
                            Ok(table)
                        });
                        Some(lua.create_sequence_from(each.collect::<mlua::Result<Vec<_>>>()?)?)
                    }
                };
                thread.resume((true, first.rows, first.columns.len(), rows_of(lua, first)?, further))
            }
            Self::Failed(problem) => {
                let message = lua.create_string(dyno_text::encode(&problem.message))?;
                let state = problem.state.as_str();
                thread.resume((false, problem.number, state, message, problem.ignorable))
            }
        }
    }
}
