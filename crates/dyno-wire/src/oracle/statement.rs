//! Statements encoded once.

use std::sync::Arc;

use super::kind::Kind;
use super::placeholders::Placeholders;
use super::returning;
use crate::{Parameters, Protocol, WireError};

/// What the protocol can count.
const MAX_PARAMETERS: usize = u16::MAX as usize;

/// The longest text, in bytes: more than a server takes.
const MAX_TEXT: usize = 1 << 26;

/// A statement in the form it travels in, made once and shared by all sessions that execute it.
///
/// The simple protocol sends its text with the values written into it, so the server parses each of these texts; the
/// extended protocol sends text and values apart and has it parsed each time, which the server does by finding that it
/// has parsed it before; the prepared protocol sends the text once for each connection, and from then on values alone,
/// to the cursor that the server keeps. Where parsing is all there is to a statement, as for DDL, it is always sent as
/// text.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OraStatement(Arc<Encoded>);

#[derive(Debug, PartialEq, Eq)]
struct Encoded {
    protocol: Protocol,
    index: usize,
    kind: Kind,
    parameter_count: usize,
    /// The text as it is parsed.
    text: Box<[u8]>,
    /// The text around the values.
    pieces: Box<[Box<[u8]>]>,
    /// Which value each placeholder stands for.
    order: Box<[usize]>,
}

impl OraStatement {
    /// Encodes `sql`, whose placeholders are `$1` to `$parameter_count`. Characters that stand for bytes
    /// ([`dyno_text`]) become these. Without parameters the text is sent as it is, but for the semicolon at its end,
    /// which is none of Oracle's SQL.
    ///
    /// `index` tells a workload's statements apart: two statements used in one session must not share it.
    ///
    /// # Errors
    /// [`WireError::Unsendable`] if the text is longer than a server takes, if it has more than 65,535 placeholders, if
    /// a placeholder and the values do not match, or if it gives values back (`returning … into`).
    pub fn new(index: usize, sql: &str, parameter_count: usize, protocol: Protocol) -> Result<Self, WireError> {
        let unsendable = |why: String| {
            let begin: String = sql.chars().take(40).collect();
            WireError::Unsendable(format!(
                "a statement cannot be sent to the server: {why} (its text begins with \"{}\")",
                begin.escape_debug()
            ))
        };
        let whole = dyno_text::encode(sql);
        let (kind, text) = Kind::of(&whole);
        if text.len() > MAX_TEXT {
            return Err(unsendable("it is longer than 64 MiB".into()));
        }
        if kind == Kind::Change && returning::gives_back(text) {
            return Err(unsendable(returning::INSTEAD.into()));
        }
        let found = match parameter_count {
            0 => Placeholders::none(text),
            _ => Placeholders::find(text),
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
        Ok(Self(Arc::new(Encoded {
            protocol,
            index,
            kind,
            parameter_count,
            text: found.text().into(),
            pieces: found.pieces.into_iter().map(Vec::into_boxed_slice).collect(),
            order: found.order.into(),
        })))
    }

    /// How it travels.
    pub fn protocol(&self) -> Protocol {
        self.0.protocol
    }

    /// How many values an execution needs.
    pub fn parameter_count(&self) -> usize {
        self.0.parameter_count
    }

    /// What tells it from a workload's other statements.
    #[inline]
    pub fn index(&self) -> usize {
        self.0.index
    }

    /// What it is.
    #[inline]
    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    /// Whether the server must know it before it is executed, and knows it from then on.
    #[inline]
    pub fn is_kept(&self) -> bool {
        self.0.protocol == Protocol::Prepared && self.0.kind.is_kept()
    }

    /// Its text as it is parsed.
    pub fn text(&self) -> &[u8] {
        &self.0.text
    }

    /// Which value each placeholder stands for; none in the simple protocol, whose text has the values in it.
    #[inline]
    pub fn order(&self) -> &[usize] {
        match self.0.protocol {
            Protocol::Simple => &[],
            _ => &self.0.order,
        }
    }

    /// A value without an exponent, if it is one that is bound as NUMBER; `None`: it is bound as text.
    pub fn number(value: &[u8]) -> Option<String> {
        super::number::plain(value)
    }

    /// Appends the text that an execution of its own carries.
    pub fn write_text(&self, parameters: &impl Parameters, out: &mut Vec<u8>) {
        if self.0.protocol != Protocol::Simple {
            return out.extend_from_slice(&self.0.text);
        }
        let mut pieces = self.0.pieces.iter();
        if let Some(first) = pieces.next() {
            out.extend_from_slice(first);
        }
        for (&value, piece) in self.0.order.iter().zip(pieces) {
            let at = out.len();
            if value >= parameters.len() || !parameters.write(value, out) {
                out.truncate(at);
                out.extend_from_slice(b"NULL");
            } else if parameters.is_text(value) || !super::number::is_one(&out[at..]) {
                quote(out, at);
            }
            out.extend_from_slice(piece);
        }
    }
}

/// Turns the text from `at` to the end of `out` into a string literal. Oracle SQL Language Reference, "Text Literals".
fn quote(out: &mut Vec<u8>, at: usize) {
    let text = out.split_off(at);
    out.push(b'\'');
    for byte in text {
        if byte == b'\'' {
            out.push(byte);
        }
        out.push(byte);
    }
    out.push(b'\'');
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Values(&'static [Option<&'static str>]);

    impl Parameters for Values {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn is_text(&self, index: usize) -> bool {
            index == 2
        }

        fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
            out.extend_from_slice(self.0[index].unwrap_or("left over").as_bytes());
            self.0[index].is_some()
        }
    }

    fn written(statement: &OraStatement, parameters: &impl Parameters) -> String {
        let mut out = Vec::new();
        statement.write_text(parameters, &mut out);
        String::from_utf8(out).unwrap()
    }

    #[test]
    fn values_are_written_into_the_text_or_named() {
        let sql = "insert into t values ($1, $2, $3, '$4', $1);";
        let values = Values(&[Some("1e+20"), None, Some("7")]);
        let simple = OraStatement::new(0, sql, 3, Protocol::Simple).unwrap();
        assert_eq!(
            written(&simple, &values),
            "insert into t values (1e+20, NULL, '7', '$4', 1e+20)"
        );
        assert!(simple.order().is_empty() && !simple.is_kept());
        let prepared = OraStatement::new(0, sql, 3, Protocol::Prepared).unwrap();
        assert_eq!(
            written(&prepared, &values),
            "insert into t values (:1, :2, :3, '$4', :4)"
        );
        assert_eq!(prepared.order(), [0, 1, 2, 0]);
        assert!(prepared.is_kept());
        assert!(!OraStatement::new(0, sql, 3, Protocol::Extended).unwrap().is_kept());
        let quoted = OraStatement::new(0, "select $1 from dual", 1, Protocol::Simple).unwrap();
        assert_eq!(written(&quoted, &Values(&[Some("it's")])), "select 'it''s' from dual");
    }

    #[test]
    fn text_without_values_is_sent_as_it_is() {
        let sql = dyno_text::decode(b"select '\xe9', $1 from v$session ; ");
        let statement = OraStatement::new(0, &sql, 0, Protocol::Prepared).unwrap();
        assert_eq!(statement.text(), b"select '\xe9', $1 from v$session");
        let ddl = OraStatement::new(0, "drop table t", 0, Protocol::Prepared).unwrap();
        assert!(!ddl.is_kept());
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        for (sql, parameters, part) in [
            (
                "select $2, $1 from dual",
                1,
                "a placeholder for value 2, but is given 1 values",
            ),
            ("select $2 from dual", 2, "no placeholder for value 1"),
            ("select '$1' from dual", 1, "no placeholder for value 1"),
            (
                "insert into t (a) values ($1) returning id into :x",
                1,
                "declare x number; begin … returning … into x; end;",
            ),
        ] {
            let error = OraStatement::new(0, sql, parameters, Protocol::Prepared).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
