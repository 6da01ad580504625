//! One client's variables.

use std::fmt;
use std::sync::Arc;

use crate::fault::FaultKind;
use crate::format::{write_double, write_int};
use crate::symbols::{Names, Symbols, VariableId};
use crate::value::{Scalar, Value};

/// The values of one client, one slot for each name of a [`Symbols`].
#[derive(Clone, Debug)]
pub struct Variables {
    slots: Vec<Slot>,
    names: Arc<Names>,
    debugged: Vec<Debugged>,
    /// The command that is being executed.
    command: u32,
}

/// A value that was given to the function `debug`, and the command that did so as index into
/// [`Script::commands`](crate::Script::commands). As text it is the value as pgbench prints it: its type, a space,
/// the value.
#[derive(Clone, Debug, PartialEq)]
pub struct Debugged {
    /// The command.
    pub command: usize,
    /// The value.
    pub value: Value,
}

impl fmt::Display for Debugged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let kind = match self.value {
            Value::Null => return f.write_str("null"),
            Value::Bool(_) => "boolean",
            Value::Int(_) => "int",
            Value::Double(_) => "double",
            Value::Text(_) => "text",
        };
        let mut text = Vec::new();
        write_value(&self.value, &mut text);
        write!(f, "{kind} {}", dyno_text::decode(&text))
    }
}

#[derive(Clone, Debug, Default)]
struct Slot {
    value: Option<Value>,
    /// The value as expressions see it, read once when it is set; `None` when unset or when its text is no value.
    typed: Option<Scalar>,
}

impl Variables {
    /// No value is set for any of the names. Make it after all scripts of the workload are parsed.
    pub fn new(symbols: &Symbols) -> Variables {
        Variables {
            slots: vec![Slot::default(); symbols.len()],
            names: symbols.names(),
            debugged: Vec::new(),
            command: 0,
        }
    }

    /// The value of a variable, or `None` when it was never set.
    pub fn get(&self, id: VariableId) -> Option<&Value> {
        self.slots.get(id.index())?.value.as_ref()
    }

    /// Sets a variable.
    pub fn set(&mut self, id: VariableId, value: Value) {
        let typed = Scalar::of(&value);
        self.put(id, value, typed);
    }

    /// Sets a variable to what an expression gave.
    #[inline]
    pub(crate) fn set_scalar(&mut self, id: VariableId, value: Scalar) {
        self.put(id, value.into(), Some(value));
    }

    #[inline]
    fn put(&mut self, id: VariableId, value: Value, typed: Option<Scalar>) {
        if id.index() >= self.slots.len() {
            self.make_room(id);
        }
        if let Some(slot) = self.slots.get_mut(id.index()) {
            *slot = Slot {
                value: Some(value),
                typed,
            };
        }
    }

    /// For a name that was added after this was made.
    #[cold]
    fn make_room(&mut self, id: VariableId) {
        self.slots.resize(id.index() + 1, Slot::default());
    }

    /// Appends the text that the server is to get for a variable, and says whether there is any: `false` when it is
    /// unset. Doubles are written as C's `%.15g`, truth values as `true` and `false`, and NULL as the text `NULL`,
    /// as a parameter too: so does pgbench.
    pub fn write_text(&self, id: VariableId, out: &mut Vec<u8>) -> bool {
        self.get(id).is_some_and(|value| {
            write_value(value, out);
            true
        })
    }

    /// The text of a variable; empty when it is unset.
    pub(crate) fn text(&self, id: VariableId) -> String {
        let mut bytes = Vec::new();
        self.write_text(id, &mut bytes);
        dyno_text::decode(&bytes).into_owned()
    }

    /// Sets a variable by its name, as for the columns that [`Capture`](crate::Capture) asks for. Gives `false`,
    /// and there is nothing to do, when no script mentions it.
    pub fn set_named(&mut self, name: &str, value: Value) -> bool {
        let Some(id) = self.names.lookup(name) else {
            return false;
        };
        self.set(id, value);
        true
    }

    /// What the last [`Script::next`](crate::Script::next) gave to the function `debug`, in order. Print them if
    /// you like; the next call forgets them.
    pub fn debugged(&self) -> &[Debugged] {
        &self.debugged
    }

    #[inline]
    pub(crate) fn forget_debugged(&mut self) {
        if !self.debugged.is_empty() {
            self.debugged.clear();
        }
    }

    #[inline]
    pub(crate) fn executing(&mut self, command: u32) {
        self.command = command;
    }

    pub(crate) fn debug(&mut self, value: Scalar) {
        self.debugged.push(Debugged {
            command: self.command as usize,
            value: value.into(),
        });
    }

    /// The value as an expression sees it.
    #[inline]
    pub(crate) fn scalar(&self, id: VariableId) -> Result<Scalar, FaultKind> {
        match self.slots.get(id.index()) {
            Some(Slot {
                typed: Some(scalar), ..
            }) => Ok(*scalar),
            Some(Slot { value: Some(_), .. }) => Err(FaultKind::Malformed(id)),
            _ => Err(FaultKind::Undefined(id)),
        }
    }

    pub(crate) fn name(&self, id: VariableId) -> &str {
        self.names.name(id)
    }
}

/// Appends the text of a value for the server.
#[inline(always)]
fn write_value(value: &Value, out: &mut Vec<u8>) {
    match value {
        Value::Null => out.extend_from_slice(b"NULL"),
        Value::Bool(true) => out.extend_from_slice(b"true"),
        Value::Bool(false) => out.extend_from_slice(b"false"),
        Value::Int(value) => write_int(*value, out),
        Value::Double(value) => write_double(*value, out),
        Value::Text(text) => out.extend_from_slice(text),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn text_for_the_server() {
        let mut symbols = Symbols::new();
        let id = symbols.intern("x");
        let mut variables = Variables::new(&symbols);
        let mut out = Vec::new();
        assert!(!variables.write_text(id, &mut out));
        for (value, expected) in [
            (Value::Int(i64::MIN), "-9223372036854775808"),
            (Value::Double(0.5), "0.5"),
            (Value::Bool(true), "true"),
            (Value::from("007"), "007"),
            (Value::Null, "NULL"),
        ] {
            variables.set(id, value);
            out.clear();
            assert!(variables.write_text(id, &mut out));
            assert_eq!(out, expected.as_bytes());
        }
    }

    #[test]
    fn a_name_added_later_is_no_panic() {
        let mut symbols = Symbols::new();
        let mut variables = Variables::new(&symbols);
        let late = symbols.intern("late");
        assert_eq!(variables.get(late), None);
        variables.set(late, Value::Int(1));
        assert_eq!(variables.get(late), Some(&Value::Int(1)));
    }
}
