//! Requests, taken apart. None says how long it is: whether it is complete is known once it has been read to its end.

use crate::binds::{Bind, read_binds, read_forms, read_rows};
use crate::codec::{Flaw, Reader, text};
use crate::rare::Form;
use crate::value::Value;

/// How often a statement without binds can be executed by one message.
const MOST_EXECUTIONS: usize = 1 << 16;

/// What both sides agreed on; it decides how further messages look.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Terms {
    /// The version of messages' fields.
    pub(crate) field_version: u8,
    /// Whether the client announced that character data has lengths (all but JDBC do).
    pub(crate) lengths: bool,
    /// Whether replies say where they end.
    pub(crate) end_of_response: bool,
}

/// What a client asks for.
#[derive(Debug)]
pub(crate) enum Request {
    /// How the protocol is spoken.
    Protocol,
    /// How types are written.
    Types,
    /// Both, and the first part of the log-in.
    Fast(Call),
    /// A function.
    Call {
        /// What is told before it.
        before: Before,
        /// The number that the reply repeats.
        sequence: u8,
        /// The function.
        call: Call,
    },
}

/// What clients tell on the way to a function.
#[derive(Debug, Default)]
pub(crate) struct Before {
    /// Cursors that they give back.
    pub(crate) closed: Vec<u32>,
    /// What the session is said to be doing.
    pub(crate) module: Option<String>,
}

/// A function.
#[derive(Debug)]
pub(crate) enum Call {
    /// A part of the log-in.
    LogIn(LogIn),
    /// A statement with everything about it.
    Execute(Execute),
    /// A known statement again.
    Again {
        /// Its cursor.
        cursor: u32,
        /// How many rows to fetch; none: it is no query.
        fetch: Option<usize>,
        /// Whether to commit.
        commit: bool,
        /// What is bound, a row for each execution.
        rows: Vec<Vec<Value>>,
    },
    /// More rows.
    Fetch {
        /// Whose.
        cursor: u32,
        /// How many.
        rows: usize,
    },
    /// Commit.
    Commit,
    /// Roll back.
    RollBack,
    /// Say something.
    Ping,
    /// Good-bye.
    LogOff,
}

/// A part of the log-in.
#[derive(Debug)]
pub(crate) struct LogIn {
    /// Whether it is the second, with the proof.
    pub(crate) proves: bool,
    pub(crate) user: String,
    pairs: Vec<(String, String)>,
}

impl LogIn {
    /// What the client says under this key.
    pub(crate) fn pair(&self, key: &str) -> &str {
        let found = self.pairs.iter().find(|pair| pair.0 == key);
        found.map_or("", |pair| &pair.1)
    }
}

/// A statement with everything about it.
#[derive(Debug)]
pub(crate) struct Execute {
    options: u64,
    /// Its cursor; 0: a new one.
    pub(crate) cursor: u32,
    /// Its text, unless the cursor knows it.
    pub(crate) sql: Option<String>,
    /// How many rows to fetch with it.
    pub(crate) fetch: usize,
    /// In what form the columns are wanted, if that is told.
    pub(crate) forms: Option<Vec<Form>>,
    /// The types of what is bound, if they are told.
    pub(crate) binds: Option<Vec<Bind>>,
    /// What is bound, a row for each execution.
    pub(crate) rows: Vec<Vec<Value>>,
    /// Whether each execution's count of rows is asked for.
    pub(crate) row_counts: bool,
}

impl Execute {
    pub(crate) fn parses(&self) -> bool {
        self.options & 1 != 0
    }

    pub(crate) fn executes(&self) -> bool {
        self.options & 0x20 != 0
    }

    pub(crate) fn fetches(&self) -> bool {
        self.options & 0x40 != 0
    }

    pub(crate) fn commits(&self) -> bool {
        self.options & 0x100 != 0
    }

    pub(crate) fn wants_batch_errors(&self) -> bool {
        self.options & 0x8_0000 != 0
    }
}

/// What a cursor was told before of its binds.
pub(crate) trait Known {
    /// The binds of a cursor, and whether its statement is a query.
    fn binds(&self, cursor: u32) -> Option<(&[Bind], bool)>;
}

/// Reads a request. The terms change with it if they are part of it.
pub(crate) fn read_request(bytes: &[u8], terms: &mut Terms, known: &impl Known) -> Result<Request, Flaw> {
    let mut reader = Reader::new(bytes);
    let mut before = Before::default();
    loop {
        let request = match reader.u8()? {
            1 => {
                read_protocol(&mut reader)?;
                Request::Protocol
            }
            2 => {
                read_types(&mut reader, terms)?;
                Request::Types
            }
            3 => {
                let function = reader.u8()?;
                let sequence = reader.u8()?;
                if terms.field_version >= 18 {
                    reader.number()?;
                }
                let call = read_call(&mut reader, function, *terms, known)?;
                Request::Call { before, sequence, call }
            }
            17 => {
                read_before(&mut reader, *terms, &mut before)?;
                continue;
            }
            34 => {
                reader.skip(3)?;
                expect(&mut reader, 1)?;
                read_protocol(&mut reader)?;
                reader.skip(5)?;
                let field_version = reader.u8()?;
                expect(&mut reader, 2)?;
                read_types(&mut reader, terms)?;
                expect(&mut reader, 3)?;
                let function = reader.u8()?;
                reader.u8()?;
                // Nothing is agreed on yet, so the client says how it writes this one.
                if field_version >= 18 {
                    reader.number()?;
                }
                Request::Fast(read_call(&mut reader, function, *terms, known)?)
            }
            0xde => {
                return Err(Flaw::Wrong(
                    "native encryption is negotiated, which was not offered".to_owned(),
                ));
            }
            other => return Err(Flaw::Wrong(format!("a message of type {other}"))),
        };
        return match reader.left() {
            0 => Ok(request),
            left => Err(Flaw::Wrong(format!("{left} bytes behind the end of a request"))),
        };
    }
}

fn expect(reader: &mut Reader<'_>, message: u8) -> Result<(), Flaw> {
    match reader.u8()? {
        found if found == message => Ok(()),
        found => Err(Flaw::Wrong(format!(
            "a message of type {found} where {message} belongs"
        ))),
    }
}

fn read_protocol(reader: &mut Reader<'_>) -> Result<(), Flaw> {
    reader.until_zero()?;
    reader.until_zero()?;
    Ok(())
}

fn read_types(reader: &mut Reader<'_>, terms: &mut Terms) -> Result<(), Flaw> {
    let flags = reader.raw(5)?[4];
    let compile = reader.bytes()?.unwrap_or_default();
    let runtime = reader.bytes()?.unwrap_or_default();
    if runtime.get(1).is_some_and(|byte| byte & 1 != 0) {
        // The client's time zone.
        reader.skip(11)?;
    }
    loop {
        if reader.u16()? == 0 {
            break;
        }
        if reader.u16()? != 0 {
            reader.skip(4)?;
        }
    }
    let theirs = compile.get(7).copied().unwrap_or_default();
    terms.field_version = terms.field_version.min(theirs);
    terms.lengths = flags & 2 != 0;
    terms.end_of_response &= compile.get(40).is_some_and(|byte| byte & 0x20 != 0);
    Ok(())
}

fn read_before(reader: &mut Reader<'_>, terms: Terms, before: &mut Before) -> Result<(), Flaw> {
    let function = reader.u8()?;
    reader.u8()?;
    if terms.field_version >= 18 {
        reader.number()?;
    }
    match function {
        105 => {
            reader.u8()?;
            for _ in 0..reader.count()? {
                before.closed.push(reader.id()?);
            }
        }
        135 => {
            reader.skip(2)?;
            reader.number()?;
            let mut lengths = Vec::new();
            for _ in 0..3 {
                reader.u8()?;
                lengths.push(reader.count()?);
            }
            for _ in 0..2 {
                reader.u8()?;
                reader.number()?;
            }
            reader.u8()?;
            lengths.push(reader.count()?);
            for _ in 0..2 {
                reader.u8()?;
                reader.number()?;
            }
            reader.u8()?;
            lengths.push(reader.count()?);
            for (place, length) in lengths.into_iter().enumerate() {
                if length == 0 {
                    continue;
                }
                let told = reader.bytes()?.unwrap_or_default();
                // Behind the client's own identifier.
                if place == 1 {
                    before.module = Some(text(&told));
                }
            }
        }
        152 => {
            reader.u8()?;
            reader.optional_bytes()?;
        }
        154 => {
            reader.u8()?;
            reader.number()?;
            reader.u8()?;
            let pairs = reader.count()?;
            reader.number()?;
            reader.u8()?;
            reader.bytes()?;
            for _ in 0..pairs {
                reader.optional_bytes()?;
                reader.optional_bytes()?;
                reader.number()?;
            }
        }
        176 => {
            reader.number()?;
        }
        other => return Err(Flaw::Wrong(format!("function {other} before another"))),
    }
    Ok(())
}

/// Character data whose length was told before.
fn read_characters(reader: &mut Reader<'_>, terms: Terms, length: usize) -> Result<String, Flaw> {
    if terms.lengths {
        Ok(text(&reader.bytes()?.unwrap_or_default()))
    } else {
        Ok(text(reader.raw(length)?))
    }
}

fn read_call(reader: &mut Reader<'_>, function: u8, terms: Terms, known: &impl Known) -> Result<Call, Flaw> {
    Ok(match function {
        4 | 78 => {
            let cursor = reader.id()?;
            let count = reader.count()?;
            reader.number()?;
            let commit = reader.number()? & 1 != 0;
            let mut rows = vec![
                Vec::new();
                if function == 4 {
                    count.clamp(1, MOST_EXECUTIONS)
                } else {
                    1
                }
            ];
            if let Some((binds, is_query)) = known.binds(cursor)
                && !binds.is_empty()
            {
                let executions = if function == 78 || is_query { 1 } else { count };
                rows = read_rows(reader, binds, executions)?;
            }
            let fetch = (function == 78).then_some(count);
            Call::Again {
                cursor,
                fetch,
                commit,
                rows,
            }
        }
        5 => Call::Fetch {
            cursor: reader.id()?,
            rows: reader.count()?,
        },
        9 => Call::LogOff,
        14 => Call::Commit,
        15 => Call::RollBack,
        94 => Call::Execute(read_execute(reader, terms, known)?),
        115 | 118 => Call::LogIn(read_log_in(reader, function, terms)?),
        147 => Call::Ping,
        other => return Err(Flaw::Wrong(format!("function {other}"))),
    })
}

fn read_log_in(reader: &mut Reader<'_>, function: u8, terms: Terms) -> Result<LogIn, Flaw> {
    let has_user = reader.u8()? != 0;
    let length = reader.count()?;
    reader.number()?;
    reader.u8()?;
    let count = reader.count()?;
    reader.skip(2)?;
    let user = if has_user && length > 0 {
        read_characters(reader, terms, length)?
    } else {
        String::new()
    };
    let mut pairs = Vec::new();
    for _ in 0..count {
        let key = text(&reader.optional_bytes()?);
        let value = text(&reader.optional_bytes()?);
        reader.number()?;
        pairs.push((key.trim_end_matches('\0').to_owned(), value));
    }
    Ok(LogIn {
        proves: function == 115,
        user,
        pairs,
    })
}

fn read_execute(reader: &mut Reader<'_>, terms: Terms, known: &impl Known) -> Result<Execute, Flaw> {
    let options = reader.number()?.unsigned_abs();
    let cursor = reader.id()?;
    reader.u8()?;
    let sql_length = reader.count()?;
    reader.u8()?;
    reader.number()?;
    reader.skip(2)?;
    reader.number()?;
    let fetch = reader.count()?;
    reader.number()?;
    reader.u8()?;
    let bind_count = reader.count()?;
    reader.skip(6)?;
    let define_count = reader.count()?;
    reader.number()?;
    reader.skip(3)?;
    reader.number()?;
    reader.u8()?;
    reader.number()?;
    reader.number()?;
    reader.u8()?;
    reader.number()?;
    reader.u8()?;
    if terms.field_version >= 8 {
        reader.u8()?;
        reader.number()?;
        reader.u8()?;
        reader.number()?;
        reader.u8()?;
    }
    if terms.field_version >= 9 {
        reader.u8()?;
        reader.number()?;
    }
    let sql = match sql_length {
        0 => None,
        length => Some(read_characters(reader, terms, length)?),
    };
    let mut numbers = [0; 13];
    for number in &mut numbers {
        *number = reader.number()?;
    }
    let is_query = numbers[7] != 0;
    let executions = match usize::try_from(numbers[1]) {
        Ok(count) if !is_query => count.clamp(1, MOST_EXECUTIONS),
        _ => 1,
    };
    let mut binds = None;
    let mut forms = None;
    let mut rows = vec![Vec::new(); executions];
    if options & 0x10 != 0 {
        forms = Some(read_forms(reader, terms, define_count)?);
    } else if bind_count > 0 {
        let told = read_binds(reader, terms, bind_count)?;
        rows = read_rows(reader, &told, executions)?;
        binds = Some(told);
    } else if options & 0x20 != 0
        && let Some((known, _)) = known.binds(cursor)
        && !known.is_empty()
    {
        // JDBC describes binds once.
        rows = read_rows(reader, known, executions)?;
    }
    Ok(Execute {
        options,
        cursor,
        sql,
        fetch,
        forms,
        binds,
        rows,
        row_counts: numbers[9] & 0x4000 != 0,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cursor::Cursors;
    use proptest::prelude::*;

    /// Of requests that have something to read.
    const BEGINNINGS: [&[u8]; 6] = [&[], &[3, 94, 1], &[3, 118, 1], &[17, 135, 1], &[34], &[2]];

    proptest! {
        #[test]
        fn any_bytes_are_a_request_or_none(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            begin in proptest::sample::select(&BEGINNINGS[..]),
            field_version in 6_u8..=24,
            lengths: bool,
        ) {
            let mut terms = Terms { field_version, lengths, end_of_response: true };
            let bytes = [begin, &bytes].concat();
            // What it is does not matter; that it is found out without a panic and without much memory does.
            let _ = read_request(&bytes, &mut terms, &Cursors::default());
        }
    }
}
