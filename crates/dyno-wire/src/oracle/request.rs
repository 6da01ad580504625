//! Requests to a server that has let us in, each in packets of its own.

use super::bind::Binds;
use super::capabilities::Abilities;
use super::column::Column;
use super::kind::Kind;
use super::packet;
use super::writer::{write_number, write_value};

/// A message that calls a function, and one that comes before it.
const FUNCTION: u8 = 3;
const PIGGYBACK: u8 = 17;

/// Begins a row of values.
const ROW: u8 = 7;

/// The values that PL/SQL gives back may be sent.
const FLUSH: u8 = 19;

/// The functions that are called.
mod function {
    pub(super) const REEXECUTE: u8 = 4;
    pub(super) const FETCH: u8 = 5;
    pub(super) const COMMIT: u8 = 14;
    pub(super) const ROLLBACK: u8 = 15;
    pub(super) const LOGOFF: u8 = 9;
    pub(super) const REEXECUTE_AND_FETCH: u8 = 78;
    pub(super) const EXECUTE: u8 = 94;
    pub(super) const CLOSE_CURSORS: u8 = 105;
    pub(super) const PING: u8 = 147;
}

/// What an execution is to do.
mod option {
    pub(super) const PARSE: u64 = 1;
    pub(super) const BIND: u64 = 8;
    pub(super) const DEFINE: u64 = 0x10;
    pub(super) const EXECUTE: u64 = 0x20;
    pub(super) const FETCH: u64 = 0x40;
    pub(super) const COMMIT: u64 = 0x100;
    pub(super) const BIND_OF_CODE: u64 = 0x400;
    pub(super) const NO_CODE: u64 = 0x8000;
    pub(super) const DESCRIBE: u64 = 0x2_0000;
    /// In the options of an execution by its cursor alone.
    pub(super) const COMMIT_AGAIN: u64 = 1;
}

/// The versions of fields in which requests became longer.
const WITH_SQL_ID: u8 = 8;
const WITH_CHUNKS: u8 = 9;
const WITH_TOKEN: u8 = 18;

/// The longest LONG that is fetched, in bytes.
const LONGEST_LONG: u64 = 0x7FFF_FFFF;

/// Functions that need nothing but their numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plain {
    Commit,
    Rollback,
    Ping,
    LogOff,
}

/// An execution.
#[derive(Debug, Clone, Copy)]
pub(super) struct Execution<'a> {
    pub(super) kind: Kind,
    /// The text that is to be parsed; `None`: the cursor has one.
    pub(super) text: Option<&'a [u8]>,
    /// The cursor; 0: a new one.
    pub(super) cursor: u32,
    pub(super) binds: &'a Binds,
    /// Whether the server is to be told the types of the values.
    pub(super) announces: bool,
    /// How often it is executed: as often as there are rows of values.
    pub(super) times: u64,
    /// How many rows are to be fetched at a time.
    pub(super) rows: u32,
    /// Whether the first are to be fetched with it.
    pub(super) fetches: bool,
    /// Whether it is to be committed.
    pub(super) commits: bool,
    /// Whether it is only parsed.
    pub(super) only_parses: bool,
}

/// What an execution begins with.
#[derive(Debug, Clone, Copy)]
struct Head<'a> {
    options: u64,
    cursor: u32,
    text: Option<&'a [u8]>,
    rows: u32,
    /// How many values, and how many columns, are told of behind it.
    binds: u64,
    defines: u64,
    times: u64,
    is_query: bool,
}

/// What writes requests: how both sides agreed to write them, and what is to be said along with the next one.
#[derive(Debug, Default)]
pub(super) struct Requests {
    pub(super) abilities: Abilities,
    /// The longest packet, in bytes.
    pub(super) sdu: usize,
    /// The number of the last message, which goes round and round but is never 0.
    sequence: u8,
    /// Cursors that nobody needs any more.
    closing: Vec<u32>,
}

impl Requests {
    /// Has a cursor closed with the next request.
    pub(super) fn close(&mut self, cursor: u32) {
        if cursor > 0 {
            self.closing.push(cursor);
        }
    }

    /// Appends the packets of a message that `write` appends.
    #[inline]
    pub(super) fn send(&mut self, out: &mut Vec<u8>, write: impl FnOnce(&mut Self, &mut Vec<u8>)) {
        let start = packet::begin(out);
        write(self, out);
        packet::finish(out, start, self.sdu);
    }

    /// Appends the header of a function in the version of fields that both sides speak.
    #[inline]
    pub(super) fn function(&mut self, number: u8, out: &mut Vec<u8>) {
        if !self.closing.is_empty() {
            self.write_closing(out);
        }
        self.header(FUNCTION, number, self.abilities.field_version, out);
    }

    /// The same in this version.
    #[inline]
    pub(super) fn header(&mut self, message: u8, number: u8, field_version: u8, out: &mut Vec<u8>) {
        self.sequence = match self.sequence {
            u8::MAX => 1,
            last => last + 1,
        };
        out.extend_from_slice(&[message, number, self.sequence]);
        if field_version >= WITH_TOKEN {
            out.push(0);
        }
    }

    /// Appends the header of a function in this version, before there are cursors.
    pub(super) fn first_function(&mut self, number: u8, field_version: u8, out: &mut Vec<u8>) {
        self.header(FUNCTION, number, field_version, out);
    }

    fn write_closing(&mut self, out: &mut Vec<u8>) {
        self.header(PIGGYBACK, function::CLOSE_CURSORS, self.abilities.field_version, out);
        out.push(1);
        write_number(out, self.closing.len() as u64);
        for cursor in self.closing.drain(..) {
            write_number(out, cursor.into());
        }
    }

    /// Appends a function that needs nothing else.
    pub(super) fn plain(&mut self, plain: Plain, out: &mut Vec<u8>) {
        let number = match plain {
            Plain::Commit => function::COMMIT,
            Plain::Rollback => function::ROLLBACK,
            Plain::Ping => function::PING,
            Plain::LogOff => function::LOGOFF,
        };
        self.send(out, |requests, out| requests.function(number, out));
    }

    /// Appends the request for more rows.
    pub(super) fn fetch(&mut self, cursor: u32, rows: u32, out: &mut Vec<u8>) {
        self.send(out, |requests, out| {
            requests.function(function::FETCH, out);
            write_number(out, cursor.into());
            write_number(out, rows.into());
        });
    }

    /// Appends the request for the values that PL/SQL gives back.
    pub(super) fn flush(&mut self, out: &mut Vec<u8>) {
        self.send(out, |_, out| out.push(FLUSH));
    }

    /// Appends an execution.
    #[inline]
    pub(super) fn execute(&mut self, execution: &Execution<'_>, out: &mut Vec<u8>) {
        let is_apart = execution.kind == Kind::Query && !execution.fetches;
        let again = execution.text.is_none() && !execution.announces && !is_apart;
        self.send(out, |requests, out| match again {
            true => requests.write_again(execution, out),
            false => requests.write_whole(execution, out),
        });
    }

    /// Appends an execution of what the server knows, values and all but these.
    #[inline]
    fn write_again(&mut self, execution: &Execution<'_>, out: &mut Vec<u8>) {
        let is_query = execution.kind == Kind::Query;
        self.function(
            match is_query {
                true => function::REEXECUTE_AND_FETCH,
                false => function::REEXECUTE,
            },
            out,
        );
        write_number(out, execution.cursor.into());
        write_number(
            out,
            if is_query {
                execution.rows.into()
            } else {
                execution.times
            },
        );
        write_number(out, if is_query { option::EXECUTE } else { 0 });
        write_number(out, if execution.commits { option::COMMIT_AGAIN } else { 0 });
        self.write_values(execution, out);
    }

    fn write_whole(&mut self, execution: &Execution<'_>, out: &mut Vec<u8>) {
        let field_version = self.abilities.field_version;
        let is_query = execution.kind == Kind::Query;
        let is_code = execution.kind == Kind::Block;
        let binds = match execution.only_parses {
            true => 0,
            false => execution.binds.types.len() as u64,
        };
        let mut options = 0;
        let mut set = |condition, option| options |= if condition { option } else { 0 };
        set(execution.text.is_some(), option::PARSE);
        set(!execution.only_parses, option::EXECUTE);
        set(execution.only_parses && is_query, option::DESCRIBE);
        set(!execution.only_parses && is_query && execution.fetches, option::FETCH);
        set(!execution.only_parses && !is_code, option::NO_CODE);
        set(is_code && binds > 0, option::BIND_OF_CODE);
        set(binds > 0, option::BIND);
        set(execution.commits && !execution.only_parses, option::COMMIT);
        let times = match is_query {
            true if execution.cursor == 0 => 0,
            true => execution.rows.into(),
            false => execution.times,
        };
        let head = Head {
            options,
            cursor: execution.cursor,
            text: execution.text,
            rows: execution.rows,
            binds,
            defines: 0,
            times,
            is_query,
        };
        self.write_head(&head, out);
        if binds > 0 {
            for bind in &execution.binds.types {
                bind.write(field_version, out);
            }
            self.write_values(execution, out);
        }
    }

    /// Appends the request for the first rows of a query that was executed, whose columns are wanted in the forms that
    /// they have taken.
    pub(super) fn define(&mut self, cursor: u32, columns: &[Column], rows: u32, out: &mut Vec<u8>) {
        self.send(out, |requests, out| {
            let head = Head {
                options: option::DEFINE | option::FETCH | option::NO_CODE,
                cursor,
                text: None,
                rows,
                binds: 0,
                defines: columns.len() as u64,
                times: rows.into(),
                is_query: true,
            };
            requests.write_head(&head, out);
            for column in columns {
                column.write_form(requests.abilities.field_version, out);
            }
        });
    }

    /// Appends what an execution begins with, its text included.
    fn write_head(&mut self, head: &Head<'_>, out: &mut Vec<u8>) {
        let field_version = self.abilities.field_version;
        self.function(function::EXECUTE, out);
        write_number(out, head.options);
        write_number(out, head.cursor.into());
        let text = head.text.unwrap_or_default();
        out.push(u8::from(head.text.is_some()));
        write_number(out, text.len() as u64);
        // What follows the text, and how much of it.
        out.extend_from_slice(&[1, 1, 13, 0, 0, 0]);
        write_number(out, head.rows.into());
        write_number(out, LONGEST_LONG);
        out.push(u8::from(head.binds > 0));
        write_number(out, head.binds);
        // Nothing of transactions, of keys and values.
        out.extend_from_slice(&[0, 0, 0, 0, 0]);
        out.push(u8::from(head.defines > 0));
        write_number(out, head.defines);
        // No registration, no objects.
        out.extend_from_slice(&[0, 0, 1]);
        // No names; no counts of rows.
        out.extend_from_slice(&[0, 0, 0, 0, 0, 0, 0, 0]);
        if field_version >= WITH_SQL_ID {
            out.extend_from_slice(&[0, 0, 0, 0, 0]);
        }
        if field_version >= WITH_CHUNKS {
            out.extend_from_slice(&[0, 0]);
        }
        if head.text.is_some() {
            write_value(out, text);
        }
        let numbers = [
            head.text.is_some().into(),
            head.times,
            0,
            0,
            0,
            0,
            0,
            head.is_query.into(),
        ];
        for number in numbers {
            write_number(out, number);
        }
        out.extend_from_slice(&[0; 5]);
    }

    #[inline]
    fn write_values(&self, execution: &Execution<'_>, out: &mut Vec<u8>) {
        if !execution.binds.types.is_empty() {
            out.push(ROW);
            execution.binds.write(out);
        }
    }
}
