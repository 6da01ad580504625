//! Lines with tabs between their values and backslashes before what is special: the text format of PostgreSQL's COPY,
//! and of MySQL's SELECT INTO OUTFILE.

use super::watch::{MOST_ROW_BYTES, told, too_long};
use std::io::{self, BufRead, Read};
use std::ops::Range;

/// What ends the rows in what COPY wrote to a terminal.
const END: &[u8] = b"\\.";

/// The values of one line.
#[derive(Debug, Default)]
pub(super) struct Line {
    written: Vec<u8>,
    /// All values without their backslashes, one after the other.
    bytes: Vec<u8>,
    /// Where each stands in them, and how it was written.
    values: Vec<(Range<usize>, Range<usize>)>,
}

impl Line {
    /// Reads the next line, of this number, with those that follow a backslash at an end, and says how many bytes and
    /// line breaks it took; `None` at the end.
    pub fn read(&mut self, file: &mut impl BufRead, line: u64) -> io::Result<Option<(u64, u64)>> {
        self.written.clear();
        let mut breaks = 0;
        loop {
            let left = (MOST_ROW_BYTES + 1).saturating_sub(self.written.len() as u64);
            let read = file.by_ref().take(left).read_until(b'\n', &mut self.written)?;
            if self.written.len() as u64 > MOST_ROW_BYTES {
                return Err(told(too_long(line)));
            }
            let Some(rest) = self.written.strip_suffix(b"\n").filter(|_| read > 0) else {
                break;
            };
            breaks += 1;
            let slashes = rest.iter().rev().take_while(|byte| **byte == b'\\').count();
            if slashes % 2 == 0 {
                break;
            }
        }
        let taken = self.written.len() as u64;
        if self.written.ends_with(b"\n") {
            self.written.pop();
            if self.written.ends_with(b"\r") {
                self.written.pop();
            }
        }
        if taken == 0 || self.written == END {
            return Ok(None);
        }
        self.split();
        Ok(Some((taken, breaks)))
    }

    fn split(&mut self) {
        self.bytes.clear();
        self.values.clear();
        let (mut begun, mut written_from) = (0, 0);
        let mut at = 0;
        while at < self.written.len() {
            match (self.written[at], self.written.get(at + 1)) {
                (b'\\', Some(next)) => {
                    self.bytes.push(unescaped(*next));
                    at += 1;
                }
                (b'\t', _) => {
                    self.values.push((begun..self.bytes.len(), written_from..at));
                    (begun, written_from) = (self.bytes.len(), at + 1);
                }
                (byte, _) => self.bytes.push(byte),
            }
            at += 1;
        }
        self.values.push((begun..self.bytes.len(), written_from..at));
    }

    /// How many values it has.
    pub fn width(&self) -> usize {
        self.values.len()
    }

    /// Where the value of this number, from 0, stands in [`bytes`](Self::bytes); `None` if it is written as `null`.
    pub fn value(&self, number: usize, null: &[u8]) -> Option<Range<usize>> {
        let (value, written) = self.values.get(number)?;
        (self.written.get(written.clone()) != Some(null)).then(|| value.clone())
    }

    /// All values, one after the other.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }
}

/// What a letter after a backslash stands for.
fn unescaped(letter: u8) -> u8 {
    match letter {
        b'0' => 0,
        b'b' => 0x08,
        b'f' => 0x0c,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'v' => 0x0b,
        // MySQL's end of a file in DOS.
        b'Z' => 0x1a,
        other => other,
    }
}
