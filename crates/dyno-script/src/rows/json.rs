//! Objects and lists in JSON, written as PostgreSQL's jsonb and MySQL's JSON show them.

use super::escape::{escape, in_json};
use super::text::{State, Text, write_scalar};
use crate::fault::Fault;
use crate::value::Scalar;

/// A value in JSON that has parts.
#[derive(Debug)]
pub(super) enum Json {
    /// Keys, as they are written with their quotation marks, and values.
    Object(Box<[(Box<[u8]>, Text)]>),
    List(Box<[Text]>),
}

/// A key, as it is written.
pub(super) fn key(text: &str) -> Box<[u8]> {
    let mut key = b"\"".to_vec();
    key.extend_from_slice(text.as_bytes());
    escape(&mut key, 1, in_json);
    key.push(b'"');
    key.into()
}

impl Json {
    pub(super) fn write(&self, state: &mut State, out: &mut Vec<u8>) -> Result<(), Fault> {
        match self {
            Json::Object(entries) => {
                out.push(b'{');
                for (place, (key, value)) in entries.iter().enumerate() {
                    separate(place, out);
                    out.extend_from_slice(key);
                    out.extend_from_slice(b": ");
                    write(value, state, out)?;
                }
                out.push(b'}');
            }
            Json::List(values) => {
                out.push(b'[');
                for (place, value) in values.iter().enumerate() {
                    separate(place, out);
                    write(value, state, out)?;
                }
                out.push(b']');
            }
        }
        Ok(())
    }
}

fn separate(place: usize, out: &mut Vec<u8>) {
    if place > 0 {
        out.extend_from_slice(b", ");
    }
}

/// Appends a value within JSON: a number, a truth value, null, what is JSON itself, or a string.
fn write(value: &Text, state: &mut State, out: &mut Vec<u8>) -> Result<(), Fault> {
    const NULL: &[u8] = b"null";
    match value {
        Text::Json(inner) => inner.write(state, out)?,
        Text::Value(expression) => match expression.evaluate(&mut state.variables, &mut state.random)? {
            Scalar::Bool(true) => out.extend_from_slice(b"true"),
            Scalar::Bool(false) => out.extend_from_slice(b"false"),
            Scalar::Double(value) if !value.is_finite() => out.extend_from_slice(NULL),
            value => {
                if !write_scalar(value, out) {
                    out.extend_from_slice(NULL);
                }
            }
        },
        text => {
            let start = out.len();
            out.push(b'"');
            if text.write(state, out)? {
                escape(out, start + 1, in_json);
                out.push(b'"');
            } else {
                out.truncate(start);
                out.extend_from_slice(NULL);
            }
        }
    }
    Ok(())
}
