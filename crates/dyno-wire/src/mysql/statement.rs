//! Statements encoded once.

use mysql_common::constants::{ColumnType, Command};

use super::literal::{Literal, quote};
use super::packet::{begin, finish, insert_length, write};
use super::placeholders::Placeholders;
use crate::{Parameters, Protocol, WireError};

/// What the protocol can count: a prepared statement's placeholders are counted with 16 bits.
const MAX_PARAMETERS: usize = u16::MAX as usize;

/// The longest text, in bytes: what a server can take (`max_allowed_packet`).
const MAX_TEXT: usize = 1 << 30;

/// A statement in the form it travels in, made once and shared by all sessions that execute it.
///
/// The simple protocol sends its text with the values written into it (COM_QUERY). The prepared protocol has the server
/// parse it once for each connection (COM_STMT_PREPARE) and sends values alone (COM_STMT_EXECUTE); the extended
/// protocol prepares, executes and closes it each time. Both need the id the server answers the preparation with, so a
/// first execution takes two round trips, and each of the extended protocol.
///
/// A value whose text looks like a number travels as one, all others as strings:
/// `crates/dyno-wire/src/mysql/literal.rs` says which, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MyStatement {
    protocol: Protocol,
    index: usize,
    parameter_count: usize,
    /// The whole packet that prepares it; empty for the simple protocol.
    preparation: Box<[u8]>,
    /// The text around the values: what travels in the simple protocol, and where a server prepares no such statement.
    pieces: Box<[Box<[u8]>]>,
    /// Which value each placeholder stands for.
    order: Box<[usize]>,
}

impl MyStatement {
    /// Encodes `sql`, whose placeholders are `?`, or `$1` to `$parameter_count`. Characters that stand for bytes
    /// ([`dyno_text`]) become these. Without parameters the text is sent as it is.
    ///
    /// `index` tells a workload's statements apart: two statements used in one session must not share it.
    ///
    /// # Errors [`WireError::Unsendable`] if the text is longer than a server takes, if it has more than 65,535
    /// placeholders, or if a placeholder and the values do not match.
    pub fn new(index: usize, sql: &str, parameter_count: usize, protocol: Protocol) -> Result<Self, WireError> {
        let unsendable = |why: String| {
            let begin: String = sql.chars().take(40).collect();
            WireError::Unsendable(format!(
                "a statement cannot be sent to the server: {why} (its text begins with \"{}\")",
                begin.escape_debug()
            ))
        };
        let text = dyno_text::encode(sql);
        if text.len() > MAX_TEXT {
            return Err(unsendable("it is longer than 1 GiB".into()));
        }
        // Executed without its values a statement would fail in words that say nothing of them.
        if parameter_count == 0 && protocol != Protocol::Simple && Placeholders::lack_values(&text) {
            return Err(unsendable("it has placeholders (?), but is given no values".to_owned()));
        }
        let found = match parameter_count {
            0 => Placeholders {
                pieces: vec![text.into_owned()],
                order: Vec::new(),
            },
            _ => Placeholders::of_values(&text, parameter_count),
        };
        if found.order.len() > MAX_PARAMETERS {
            return Err(unsendable(format!(
                "it has {} placeholders, the protocol allows {MAX_PARAMETERS}",
                found.order.len()
            )));
        }
        if let Some(value) = found.order.iter().find(|&&value| value >= parameter_count) {
            return Err(unsendable(format!(
                "it has a placeholder for value {}, but is given {parameter_count} values",
                value + 1
            )));
        }
        if let Some(value) = (0..parameter_count).find(|value| !found.order.contains(value)) {
            return Err(unsendable(format!(
                "it is given {parameter_count} values, but has no placeholder for value {}",
                value + 1
            )));
        }
        let mut preparation = Vec::new();
        if protocol != Protocol::Simple {
            let text = found.pieces.join(&b'?');
            write(&mut preparation, 0, &[&[Command::COM_STMT_PREPARE as u8], &text]);
        }
        Ok(Self {
            protocol,
            index,
            parameter_count,
            preparation: preparation.into(),
            pieces: found.pieces.into_iter().map(Vec::into_boxed_slice).collect(),
            order: found.order.into(),
        })
    }

    /// How many placeholders a text has.
    pub fn placeholder_count(text: &[u8]) -> usize {
        Placeholders::find(text).order.len()
    }

    /// A text as it stands around its placeholders: one piece more than there are of them.
    pub fn around_placeholders(text: &str) -> Vec<String> {
        let pieces = Placeholders::find(text.as_bytes()).pieces;
        let text = |piece: Vec<u8>| String::from_utf8_lossy(&piece).into_owned();
        pieces.into_iter().map(text).collect()
    }

    /// How it travels.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How many values an execution needs.
    pub fn parameter_count(&self) -> usize {
        self.parameter_count
    }

    /// What tells it from a workload's other statements.
    #[inline]
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Whether the server must know it before it is executed, and knows it from then on.
    #[inline]
    pub(super) fn is_prepared(&self) -> bool {
        self.protocol == Protocol::Prepared
    }

    /// The packet that prepares it.
    pub(super) fn preparation(&self) -> &[u8] {
        &self.preparation
    }

    /// Appends its text with the values written into it. `backslashes` says whether backslashes escape in strings.
    pub(super) fn write_text(&self, parameters: &impl Parameters, backslashes: bool, out: &mut Vec<u8>) {
        let start = begin(out);
        out.push(Command::COM_QUERY as u8);
        let mut pieces = self.pieces.iter();
        if let Some(first) = pieces.next() {
            out.extend_from_slice(first);
        }
        for (&value, piece) in self.order.iter().zip(pieces) {
            let at = out.len();
            // Left out, a value that was not given makes the server refuse the statement.
            if value < parameters.len() {
                if !parameters.write(value, out) {
                    out.truncate(at);
                    out.extend_from_slice(b"NULL");
                } else if parameters.is_text(value) || Literal::of(&out[at..]) == Literal::String {
                    quote(out, at, backslashes);
                }
            }
            out.extend_from_slice(piece);
        }
        finish(out, start, 0);
    }

    /// Appends one execution under the id the server gave the prepared statement.
    #[inline]
    pub(super) fn write_execution(&self, id: [u8; 4], parameters: &impl Parameters, out: &mut Vec<u8>) {
        let start = begin(out);
        let [a, b, c, d] = id;
        // No cursor, one iteration.
        out.extend_from_slice(&[Command::COM_STMT_EXECUTE as u8, a, b, c, d, 0, 1, 0, 0, 0]);
        // Without its values the server refuses the execution, as it should one with a wrong number of them.
        if !self.order.is_empty() && parameters.len() == self.parameter_count {
            self.write_values(parameters, out);
        }
        finish(out, start, 0);
    }

    /// Appends which values are NULL, their types, and the values. MySQL source documentation, "COM_STMT_EXECUTE".
    #[inline]
    fn write_values(&self, parameters: &impl Parameters, out: &mut Vec<u8>) {
        let count = self.order.len();
        let nulls = out.len();
        let types = nulls + count.div_ceil(8) + 1;
        out.resize(types + 2 * count, 0);
        // Types are bound anew: what a value looks like may have changed.
        out[types - 1] = 1;
        for (place, &value) in self.order.iter().enumerate() {
            let at = out.len();
            // A byte for the length, should it be a string.
            out.push(0);
            let kind = if parameters.write(value, out) {
                match parameters.is_text(value) {
                    true => {
                        insert_length(out, at);
                        STRING
                    }
                    false => write_value(out, at),
                }
            } else {
                out.truncate(at);
                out[nulls + place / 8] |= 1 << (place % 8);
                NULL
            };
            out[types + 2 * place..][..2].copy_from_slice(&kind);
        }
    }
}

/// A parameter's type: a column's type, and 128 in the second byte if it is unsigned.
type Kind = [u8; 2];
const NULL: Kind = [ColumnType::MYSQL_TYPE_NULL as u8, 0];
const INTEGER: Kind = [ColumnType::MYSQL_TYPE_LONGLONG as u8, 0];
const UNSIGNED: Kind = [ColumnType::MYSQL_TYPE_LONGLONG as u8, 128];
const DOUBLE: Kind = [ColumnType::MYSQL_TYPE_DOUBLE as u8, 0];
pub(super) const STRING: Kind = [ColumnType::MYSQL_TYPE_VAR_STRING as u8, 0];

/// Turns the text behind the byte at `at` into the value it stands for. Returns its type.
#[inline]
fn write_value(out: &mut Vec<u8>, at: usize) -> Kind {
    let (kind, bytes) = match Literal::of(&out[at + 1..]) {
        Literal::Integer(number) => (INTEGER, number.to_le_bytes()),
        Literal::Unsigned(number) => (UNSIGNED, number.to_le_bytes()),
        Literal::Double(number) => (DOUBLE, number.to_le_bytes()),
        Literal::String => {
            insert_length(out, at);
            return STRING;
        }
    };
    out.truncate(at);
    out.extend_from_slice(&bytes);
    kind
}

/// Appends the end of a prepared statement, which the server does not answer.
pub(super) fn write_close(id: [u8; 4], out: &mut Vec<u8>) {
    write(out, 0, &[&[Command::COM_STMT_CLOSE as u8], &id]);
}

#[cfg(test)]
mod tests {
    use super::*;
    use mysql_common::packets::ComStmtExecuteRequestBuilder;
    use mysql_common::value::Value;

    struct Values(&'static [Option<&'static str>]);

    impl Parameters for Values {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
            out.extend_from_slice(self.0[index].unwrap_or("left over").as_bytes());
            self.0[index].is_some()
        }
    }

    fn statement(sql: &str, parameters: usize, protocol: Protocol) -> MyStatement {
        MyStatement::new(7, sql, parameters, protocol).unwrap()
    }

    /// What mysql_common makes of the same execution.
    fn expected(values: &[Value]) -> Vec<u8> {
        let (request, _) = ComStmtExecuteRequestBuilder::new(0x0403_0201).build(values);
        let mut body = Vec::new();
        mysql_common::proto::MySerialize::serialize(&request, &mut body);
        let mut out = Vec::new();
        write(&mut out, 0, &[&body]);
        out
    }

    #[test]
    fn executions_agree_with_mysql_common() {
        let long = "x".repeat(300);
        let long: &'static str = long.leak();
        let cases: [(&'static [Option<&'static str>], Vec<Value>); 5] = [
            (&[], vec![]),
            (&[Some("1")], vec![Value::Int(1)]),
            (
                &[Some("-5"), None, Some("0.5")],
                vec![Value::Int(-5), Value::NULL, Value::Double(0.5)],
            ),
            (
                &[Some("18446744073709551615"), Some("it's"), Some("")],
                vec![
                    Value::UInt(u64::MAX),
                    Value::Bytes(b"it's".to_vec()),
                    Value::Bytes(vec![]),
                ],
            ),
            (
                vec![Some(long); 9].leak(),
                vec![Value::Bytes(long.as_bytes().to_vec()); 9],
            ),
        ];
        for (texts, values) in cases {
            let sql = vec!["?"; texts.len()].join(",");
            let prepared = statement(&sql, texts.len(), Protocol::Prepared);
            let mut out = b"before".to_vec();
            prepared.write_execution([1, 2, 3, 4], &Values(texts), &mut out);
            assert_eq!(out[6..], expected(&values), "{texts:?}");
        }
    }

    #[test]
    fn numbered_values_go_where_their_numbers_stand() {
        let values = Values(&[Some("1"), Some("it's")]);
        let prepared = statement("select $2, $1, $1", 2, Protocol::Prepared);
        assert_eq!(prepared.preparation(), b"\x0f\0\0\0\x16select ?, ?, ?");
        let mut out = Vec::new();
        prepared.write_execution([1, 2, 3, 4], &values, &mut out);
        assert_eq!(
            out,
            expected(&[Value::Bytes(b"it's".to_vec()), Value::Int(1), Value::Int(1)])
        );
        out.clear();
        statement("select $2, $1, $1", 2, Protocol::Simple).write_text(&values, true, &mut out);
        assert_eq!(out, b"\x15\0\0\0\x03select 'it''s', 1, 1");
    }

    #[test]
    fn values_are_written_into_the_text() {
        let simple = statement("insert into t values (?, ?, ?, '?')", 3, Protocol::Simple);
        let mut out = Vec::new();
        simple.write_text(&Values(&[Some("1e+20"), None, Some(r"a\")]), true, &mut out);
        assert_eq!(&out[5..], br"insert into t values (1e+20, NULL, 'a\\', '?')");
        out.clear();
        simple.write_text(&Values(&[Some("1e+20"), None, Some(r"a\")]), false, &mut out);
        assert_eq!(&out[5..], br"insert into t values (1e+20, NULL, 'a\', '?')");
        assert!(simple.preparation().is_empty());
    }

    #[test]
    fn text_without_values_is_sent_as_it_is() {
        let sql = dyno_text::decode(b"select '\xe9', ?, $1");
        let mut out = Vec::new();
        statement(&sql, 0, Protocol::Simple).write_text(&(), true, &mut out);
        assert_eq!(&out[4..], b"\x03select '\xe9', ?, $1");
        let sql = dyno_text::decode(b"select '\xe9?', $1");
        assert_eq!(
            &statement(&sql, 0, Protocol::Extended).preparation()[4..],
            b"\x16select '\xe9?', $1"
        );
    }

    #[test]
    fn an_execution_without_its_values_is_left_to_the_server_to_refuse() {
        let mut out = Vec::new();
        statement("select ?", 1, Protocol::Prepared).write_execution([1, 2, 3, 4], &(), &mut out);
        assert_eq!(out, expected(&[]));
    }

    #[test]
    fn a_placeholder_has_a_value() {
        let made = |sql: &str, protocol| MyStatement::new(0, sql, 0, protocol).map(|_| ());
        for sql in ["select '?'", "select 1 -- ?", r"select '\' ? '"] {
            assert!(made(sql, Protocol::Prepared).is_ok(), "{sql}");
        }
        for protocol in [Protocol::Prepared, Protocol::Extended] {
            let error = made("select ? + 1", protocol).unwrap_err().to_string();
            assert!(error.contains("placeholders (?), but is given no values"), "{error}");
        }
        // The server says what it thinks of the text.
        assert!(made("select ? + 1", Protocol::Simple).is_ok());
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let many = vec!["?"; 65_536].join(",");
        for (sql, parameters, part) in [
            ("select ?, ?", 1, "a placeholder for value 2, but is given 1 values"),
            ("select $3", 1, "a placeholder for value 3"),
            ("select $2", 2, "no placeholder for value 1"),
            ("select '?'", 1, "no placeholder for value 1"),
            (&many, 65_536, "the protocol allows 65535"),
        ] {
            let error = MyStatement::new(0, sql, parameters, Protocol::Prepared).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
