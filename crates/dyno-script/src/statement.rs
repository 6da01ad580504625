//! SQL statements: what the server gets in the simple, extended and prepared protocols.

use std::ops::Range;

use crate::command::Place;
use crate::diagnostic::Position;
use crate::lexis::Lexis;
use crate::symbols::{Symbols, VariableId};
use crate::token::{is_name, is_name_start};
use crate::variables::Variables;

/// The most parameters that pgbench allows in a statement of the extended and prepared protocols.
pub const MAX_PARAMETERS: usize = 255;

/// One SQL statement of a script, or several joined by `\;`.
#[derive(Clone, Debug)]
pub struct Statement {
    index: usize,
    place: Place,
    text: String,
    /// The text as the server is to get it.
    bytes: Vec<u8>,
    lexis: Lexis,
    /// Where in the bytes names of variables are, in quotes, too, and whose they are.
    places: Vec<Range<usize>>,
    named: Vec<VariableId>,
    parameters: Vec<VariableId>,
    parameterized: String,
    first_line: usize,
    capture: Option<Capture>,
}

/// What of a statement's results becomes variables: every column, under its name with the prefix before it. Values
/// are text; NULL is the empty text, as in pgbench. See [`Variables::set_named`] and
/// [`is_variable_name`](crate::is_variable_name).
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Capture {
    /// What the variables' names begin with; may be empty.
    pub prefix: String,
    /// Which results are meant.
    pub kind: CaptureKind,
}

/// Which results become variables.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CaptureKind {
    /// `\gset`: the last one, which must be one row.
    Last,
    /// `\aset`: of each that has rows the last row.
    Each,
}

impl CaptureKind {
    /// The command's name: `gset` or `aset`.
    pub fn name(self) -> &'static str {
        match self {
            CaptureKind::Last => "gset",
            CaptureKind::Each => "aset",
        }
    }
}

impl Statement {
    pub(crate) fn new(index: usize, place: Place, text: String, lexis: Lexis, symbols: &mut Symbols) -> Statement {
        let mut named = |place: &Range<usize>| symbols.intern(&text[place.start + 1..place.end]);
        let mut parameterized = String::with_capacity(text.len());
        let mut parameters = Vec::new();
        let mut copied = 0;
        for place in &variable_places(text.as_bytes(), lexis) {
            parameters.push(named(place));
            parameterized.push_str(&text[copied..place.start]);
            parameterized.push_str(&format!("${}", parameters.len()));
            copied = place.end;
        }
        parameterized.push_str(&text[copied..]);
        let first_line = first_line_length(&text);
        let named = variable_places(text.as_bytes(), Lexis::Psql)
            .iter()
            .map(named)
            .collect();
        let bytes = dyno_text::encode(&text).into_owned();
        Statement {
            index,
            place,
            places: variable_places(&bytes, Lexis::Psql),
            named,
            bytes,
            lexis,
            text,
            parameters,
            parameterized,
            first_line,
            capture: None,
        }
    }

    /// Where in the text the name of each variable stands, in quotes, too, the colon included.
    pub(crate) fn variable_places(&self) -> impl Iterator<Item = (usize, VariableId)> + '_ {
        let places = variable_places(self.text.as_bytes(), Lexis::Psql).into_iter();
        places.map(|place| place.start).zip(self.named.iter().copied())
    }

    /// By which rules it is read.
    pub(crate) fn lexis(&self) -> Lexis {
        self.lexis
    }

    pub(crate) fn set_capture(&mut self, capture: Capture) {
        self.capture = Some(capture);
    }

    /// What of the results becomes variables, if a `\gset` or `\aset` follows.
    #[inline]
    pub fn capture(&self) -> Option<&Capture> {
        self.capture.as_ref()
    }

    /// The number of the statement among those of its script, from 0.
    pub fn index(&self) -> usize {
        self.index
    }

    /// Where the statement begins.
    pub fn position(&self) -> Position {
        self.place.position()
    }

    pub(crate) fn place(&self) -> &Place {
        &self.place
    }

    /// The statement as written, with its final semicolon if it has one; `\;` is a semicolon here.
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The first line, at most 127 bytes of it: what pgbench shows in reports.
    pub fn first_line(&self) -> &str {
        &self.text[..self.first_line]
    }

    /// Appends the statement for the simple protocol: every variable that is set is replaced by its value, inside
    /// quotes too, and NULL is written as NULL. Names which are not set stay as they are, so that `:name` may mean
    /// something to the server.
    pub fn write_simple(&self, variables: &Variables, out: &mut Vec<u8>) {
        let mut copied = 0;
        for (place, &id) in self.places.iter().zip(&self.named) {
            let before = out.len();
            out.extend_from_slice(&self.bytes[copied..place.start]);
            if variables.write_text(id, out) {
                copied = place.end;
            } else {
                out.truncate(before);
            }
        }
        out.extend_from_slice(&self.bytes[copied..]);
    }

    /// Appends the statement as a person would write it in place of one with parameters: every parameter is a literal.
    /// By psql's rules these are strings, whose types the server finds out as it does for parameters; by MySQL's,
    /// numbers are numbers, as they are for [parameters](Statement::parameters) that look like one.
    #[cfg(feature = "program")]
    pub(crate) fn write_literals(&self, variables: &Variables, out: &mut Vec<u8>) {
        let mut copied = 0;
        let places = variable_places(self.text.as_bytes(), self.lexis);
        for (place, &id) in places.iter().zip(&self.parameters) {
            out.extend_from_slice(&dyno_text::encode(&self.text[copied..place.start]));
            copied = place.end;
            let mut value = Vec::new();
            if matches!(variables.get(id), None | Some(crate::Value::Null)) || !variables.write_text(id, &mut value) {
                out.extend_from_slice(b"NULL");
                continue;
            }
            let is_number = std::str::from_utf8(&value).is_ok_and(|text| text.parse::<f64>().is_ok_and(f64::is_finite));
            if is_number && self.lexis != Lexis::Psql {
                out.extend_from_slice(&value);
                continue;
            }
            out.push(b'\'');
            for byte in value {
                if byte == b'\'' || byte == b'\\' && self.lexis == Lexis::Mysql {
                    out.push(byte);
                }
                out.push(byte);
            }
            out.push(b'\'');
        }
        out.extend_from_slice(&dyno_text::encode(&self.text[copied..]));
    }

    /// The statement for the extended and prepared protocols: every variable is a parameter `$1`, `$2`, … of its
    /// own, also one that occurs before, and by psql's rules also inside quotes, as in pgbench. See
    /// [`Script::check_parameters`](crate::Script::check_parameters).
    pub fn parameterized(&self) -> &str {
        &self.parameterized
    }

    /// The variables that give the parameters' values, in order.
    pub fn parameters(&self) -> &[VariableId] {
        &self.parameters
    }
}

/// Where `:name` occurs outside of what hides it. A run of several colons is a cast and no variable.
fn variable_places(bytes: &[u8], lexis: Lexis) -> Vec<Range<usize>> {
    let mut places = Vec::new();
    let mut at = 0;
    while let Some(&byte) = bytes.get(at) {
        let start = at;
        at += lexis.opaque(&bytes[at..]).max(1);
        if byte != b':' {
            continue;
        }
        if bytes.get(at).is_some_and(|&byte| is_name_start(byte)) {
            at += bytes[at..].iter().take_while(|&&byte| is_name(byte)).count();
            places.push(start..at);
        } else {
            at += bytes[at..].iter().take_while(|&&byte| byte == b':').count();
        }
    }
    places
}

fn first_line_length(text: &str) -> usize {
    let mut bytes = 0;
    let beyond = text.find(|character| {
        bytes += dyno_text::encoded_len_of(character);
        matches!(character, '\n' | '\r') || bytes > 127
    });
    beyond.unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnostic::Source;
    use crate::value::Value;

    fn statement(text: &str, symbols: &mut Symbols) -> Statement {
        let place = Place {
            source: Source::new("test", text),
            range: 0..text.len(),
        };
        Statement::new(0, place, text.to_owned(), Lexis::Psql, symbols)
    }

    fn simple(text: &str) -> (String, String, usize) {
        let mut symbols = Symbols::new();
        let a = symbols.intern("a");
        let n = symbols.intern("n");
        let statement = statement(text, &mut symbols);
        let mut variables = Variables::new(&symbols);
        variables.set(a, Value::Int(-3));
        variables.set(n, Value::Null);
        let mut out = Vec::new();
        statement.write_simple(&variables, &mut out);
        (
            String::from_utf8(out).unwrap(),
            statement.parameterized().to_owned(),
            statement.parameters().len(),
        )
    }

    #[test]
    fn variables_are_substituted_as_in_pgbench() {
        let cases = [
            (
                "select :a, ':a', 5-:a;",
                "select -3, '-3', 5--3;",
                "select $1, '$2', 5-$3;",
                3,
            ),
            (
                "select 1::a, :::a, :n",
                "select 1::a, :::a, NULL",
                "select 1::a, :::a, $1",
                1,
            ),
            (":a:a:b :ab ::", "-3-3:b :ab ::", "$1$2$3 $4 ::", 4),
            (
                "select :1, a[1:2], :",
                "select :1, a[1:2], :",
                "select :1, a[1:2], :",
                0,
            ),
            (":\u{e9}:a\u{e9}", ":\u{e9}:a\u{e9}", "$1$2", 2),
        ];
        for (text, expected, parameterized, parameters) in cases {
            assert_eq!(
                simple(text),
                (expected.to_owned(), parameterized.to_owned(), parameters)
            );
        }
    }

    #[test]
    fn bytes_that_are_not_utf8_reach_the_server_as_they_are() {
        let mut symbols = Symbols::new();
        let text = dyno_text::decode(b"select '\xe9', :\xe9, :a;");
        let statement = statement(&text, &mut symbols);
        let mut variables = Variables::new(&symbols);
        assert!(variables.set_named(&dyno_text::decode(b"\xe9"), Value::from(&*dyno_text::decode(b"\xfc"))));
        let mut out = Vec::new();
        statement.write_simple(&variables, &mut out);
        assert_eq!(out, b"select '\xe9', \xfc, :a;");
        assert_eq!(
            *dyno_text::encode(statement.parameterized()),
            *b"select '\xe9', $1, $2;"
        );
    }

    #[test]
    fn the_first_line_is_cut_between_characters() {
        let mut symbols = Symbols::new();
        let long = format!("{}\u{e9}", "x".repeat(126));
        assert_eq!(statement(&long, &mut symbols).first_line().len(), 126);
        let bytes = [b'\xe9'; 200];
        let long = dyno_text::decode(&bytes);
        let statement_of_bytes = statement(&long, &mut symbols);
        assert_eq!(*dyno_text::encode(statement_of_bytes.first_line()), bytes[..127]);
        assert_eq!(statement("select 1\r\n, 2;", &mut symbols).first_line(), "select 1");
    }
}
