//! Statements encoded once.

use crate::{Parameters, Protocol, WireError};

/// What the protocol can count: parameters travel with a 16-bit count.
const MAX_PARAMETERS: usize = u16::MAX as usize;

/// A statement in the form it travels in, made once and shared by all sessions that execute it.
///
/// An execution asks for no description of its result (no Describe message) unless it is kept: a benchmark counts rows
/// and does not look into them, and a server that need not describe saves it and us the work.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PgStatement {
    index: usize,
    protocol: Protocol,
    parameter_count: usize,
    /// The whole message that names the statement to the server, with its Sync; empty unless prepared.
    prepare: Box<[u8]>,
    /// Everything up to the number of parameter values; for the simple protocol the whole message.
    head: Box<[u8]>,
    /// Where in `head` the Bind message's length stands.
    bind_length_at: usize,
}

/// The longest text, in bytes: what a server can take.
const MAX_TEXT: usize = 1 << 30;

/// What follows the parameter values: "all results as text" ends Bind, then Execute (unnamed portal, all rows) and
/// Sync.
const TAIL: [u8; 17] = *b"\0\0E\0\0\0\x09\0\0\0\0\0S\0\0\0\x04";
/// How much of [`TAIL`] still belongs to Bind.
const TAIL_OF_BIND: usize = 2;
/// Asks to describe the unnamed portal.
const DESCRIBE: [u8; 7] = *b"D\0\0\0\x06P\0";

impl PgStatement {
    /// Encodes `sql`, whose parameters are `$1` to `$parameter_count`. Characters that stand for bytes
    /// ([`dyno_text`]) become these.
    ///
    /// `index` tells a workload's statements apart: the prepared statement's name is made from it, so two statements
    /// used in one session must not share it.
    ///
    /// # Errors
    /// [`WireError::Unsendable`] if the text holds a NUL byte or is longer than a message may be, if there are more
    /// than 65,535 parameters, or if the simple protocol is asked for with parameters: there the caller writes the
    /// values into the text and uses [`query`](crate::Session::query).
    pub fn new(index: usize, sql: &str, parameter_count: usize, protocol: Protocol) -> Result<Self, WireError> {
        if parameter_count > MAX_PARAMETERS {
            return Err(WireError::Unsendable(format!(
                "a statement has {parameter_count} parameters, the protocol allows {MAX_PARAMETERS}: write some \
                 values into its text"
            )));
        }
        let unsendable = |why| {
            WireError::Unsendable(format!(
                "a statement cannot be sent to the server: {why} (its text begins with \"{}\")",
                sql.chars().take(40).collect::<String>().escape_debug()
            ))
        };
        let text = dyno_text::encode(sql);
        if text.contains(&0) {
            return Err(unsendable("it contains a NUL byte"));
        }
        if text.len() > MAX_TEXT {
            return Err(unsendable("it is longer than 1 GiB"));
        }
        let name = match protocol {
            // As pgbench names them, since the name shows in the server's errors.
            Protocol::Prepared => format!("P_{index}"),
            Protocol::Extended | Protocol::Simple => String::new(),
        };
        let (mut prepare, mut head) = (Vec::new(), Vec::new());
        let mut bind_length_at = 0;
        if protocol == Protocol::Simple {
            if parameter_count > 0 {
                return Err(WireError::Unsendable(
                    "the simple protocol has no parameters: write the values into the statement's text".into(),
                ));
            }
            write_message(b'Q', &[&text, b"\0"], &mut head);
        } else {
            let parse = if protocol == Protocol::Prepared {
                &mut prepare
            } else {
                &mut head
            };
            // No parameter's type is given.
            write_message(b'P', &[name.as_bytes(), b"\0", &text, b"\0", b"\0\0"], parse);
            if protocol == Protocol::Prepared {
                write_message(b'S', &[], &mut prepare);
            }
            // Bind up to the number of values: unnamed portal, statement, no format codes, that is, all values as text.
            bind_length_at = head.len() + 1;
            head.extend_from_slice(b"B\0\0\0\0\0");
            head.extend_from_slice(name.as_bytes());
            head.extend_from_slice(b"\0\0\0");
        }
        Ok(Self {
            index,
            protocol,
            parameter_count,
            prepare: prepare.into(),
            head: head.into(),
            bind_length_at,
        })
    }

    /// How it travels.
    pub fn protocol(&self) -> Protocol {
        self.protocol
    }

    /// How many values an execution needs.
    pub fn parameter_count(&self) -> usize {
        self.parameter_count
    }

    /// Whether it travels as Bind, Execute and Sync rather than as one Query.
    pub(super) fn is_extended(&self) -> bool {
        self.protocol != Protocol::Simple
    }

    /// What tells it from the others of its workload.
    #[inline]
    pub(super) fn index(&self) -> usize {
        self.index
    }

    /// Whether it travels under a name that the server must know.
    #[inline]
    pub(super) fn is_prepared(&self) -> bool {
        self.protocol == Protocol::Prepared
    }

    /// The message that prepares it; empty if it needs none.
    pub(super) fn preparation(&self) -> &[u8] {
        &self.prepare
    }

    /// Appends one execution; `described`: with a description of its result.
    #[inline]
    pub(super) fn write_execution(&self, parameters: &impl Parameters, described: bool, out: &mut Vec<u8>) {
        let start = out.len();
        out.extend_from_slice(&self.head);
        if !self.is_extended() {
            return;
        }
        // More values than the protocol can count cannot match the statement's own number either: the server says so.
        let count = parameters.len().min(MAX_PARAMETERS);
        out.extend_from_slice(&(count as u16).to_be_bytes());
        for index in 0..count {
            let at = out.len();
            out.extend_from_slice(&NULL);
            if parameters.write(index, out) {
                let length = out.len().saturating_sub(at + 4);
                write_length(out, at, length);
            } else {
                out.truncate(at + 4);
            }
        }
        let bind_length_at = start + self.bind_length_at;
        let end_of_bind = out.len() + TAIL_OF_BIND;
        if described {
            out.extend_from_slice(&TAIL[..TAIL_OF_BIND]);
            out.extend_from_slice(&DESCRIBE);
            out.extend_from_slice(&TAIL[TAIL_OF_BIND..]);
        } else {
            out.extend_from_slice(&TAIL);
        }
        write_length(out, bind_length_at, end_of_bind - bind_length_at);
    }
}

/// The length that stands for NULL.
const NULL: [u8; 4] = (-1_i32).to_be_bytes();

/// Appends a message with its type and length. Written here and not by `postgres-protocol`, which knows only UTF-8.
fn write_message(kind: u8, parts: &[&[u8]], out: &mut Vec<u8>) {
    out.push(kind);
    let at = out.len();
    out.extend_from_slice(&[0; 4]);
    for part in parts {
        out.extend_from_slice(part);
    }
    let length = out.len() - at;
    write_length(out, at, length);
}

/// Puts a length into the four bytes at `at`.
///
/// A length no message can have (beyond 4 GiB) becomes the greatest there is, which every server refuses.
#[inline]
pub(super) fn write_length(out: &mut [u8], at: usize, length: usize) {
    if let Some(place) = out.get_mut(at..at + 4) {
        place.copy_from_slice(&u32::try_from(length).unwrap_or(u32::MAX).to_be_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use bytes::BytesMut;
    use postgres_protocol::IsNull;
    use postgres_protocol::message::frontend;

    struct Values(&'static [Option<&'static str>]);

    impl Parameters for Values {
        fn len(&self) -> usize {
            self.0.len()
        }

        fn write(&self, index: usize, out: &mut Vec<u8>) -> bool {
            match self.0[index] {
                Some(text) => out.extend_from_slice(text.as_bytes()),
                None => {
                    out.extend_from_slice(b"left over");
                    return false;
                }
            }
            true
        }
    }

    /// What postgres-protocol's own builders make of the same execution.
    fn expected(parse: Option<&str>, name: &str, values: &Values) -> Vec<u8> {
        let mut out = BytesMut::new();
        if let Some(sql) = parse {
            frontend::parse(name, sql, [], &mut out).unwrap();
        }
        let serialize = |value: &Option<&str>, buffer: &mut BytesMut| {
            Ok(match value {
                Some(text) => {
                    buffer.extend_from_slice(text.as_bytes());
                    IsNull::No
                }
                None => IsNull::Yes,
            })
        };
        assert!(frontend::bind("", name, [], values.0, serialize, [], &mut out).is_ok());
        frontend::execute("", 0, &mut out).unwrap();
        frontend::sync(&mut out);
        out.to_vec()
    }

    #[test]
    fn executions_agree_with_postgres_protocol() {
        let sql = "select $1, $2, $3";
        let cases = [
            Values(&[]),
            Values(&[Some("1")]),
            Values(&[Some(""), None, Some("four")]),
        ];
        for values in cases {
            let prepared = PgStatement::new(7, sql, 3, Protocol::Prepared).unwrap();
            let mut out = b"before".to_vec();
            prepared.write_execution(&values, false, &mut out);
            assert_eq!(out[6..], expected(None, "P_7", &values));
            let mut preparation = BytesMut::new();
            frontend::parse("P_7", sql, [], &mut preparation).unwrap();
            frontend::sync(&mut preparation);
            assert_eq!(prepared.preparation(), preparation);

            let extended = PgStatement::new(7, sql, 3, Protocol::Extended).unwrap();
            out.truncate(6);
            extended.write_execution(&values, false, &mut out);
            assert_eq!(out[6..], expected(Some(sql), "", &values));
        }
    }

    #[test]
    fn a_simple_statement_is_one_query() {
        let statement = PgStatement::new(0, "begin", 0, Protocol::Simple).unwrap();
        let mut out = Vec::new();
        statement.write_execution(&(), false, &mut out);
        assert_eq!(out, b"Q\0\0\0\x0abegin\0");
        assert!(statement.preparation().is_empty());
    }

    #[test]
    fn text_need_not_be_utf8() {
        let sql = dyno_text::decode(b"select '\xe9'");
        for protocol in [Protocol::Simple, Protocol::Extended, Protocol::Prepared] {
            let statement = PgStatement::new(0, &sql, 0, protocol).unwrap();
            let mut out = statement.preparation().to_vec();
            statement.write_execution(&(), false, &mut out);
            assert!(out.windows(11).any(|part| part == b"select '\xe9'\0"), "{out:?}");
        }
    }

    #[test]
    fn what_cannot_be_sent_is_refused() {
        let cases = [
            ("select 1\0", 0, Protocol::Prepared, "a NUL byte"),
            ("select 1\0", 0, Protocol::Simple, "a NUL byte"),
            ("select $1", 1, Protocol::Simple, "write the values into"),
            ("select", 65_536, Protocol::Extended, "the protocol allows 65535"),
        ];
        for (sql, parameters, protocol, part) in cases {
            let error = PgStatement::new(0, sql, parameters, protocol).unwrap_err();
            assert!(error.to_string().contains(part), "{error}");
        }
    }
}
