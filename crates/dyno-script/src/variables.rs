//! One client's variables.

use std::sync::Arc;

use crate::fault::FaultKind;
use crate::format::{write_double, write_int};
use crate::symbols::{Symbols, VariableId};
use crate::value::{Scalar, Value};

/// The values of one client, one slot for each name of a [`Symbols`].
#[derive(Clone, Debug)]
pub struct Variables {
    slots: Vec<Slot>,
    names: Arc<Vec<Arc<str>>>,
    debugged: Vec<Value>,
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
        let names = symbols.names();
        Variables {
            slots: vec![Slot::default(); names.len()],
            names,
            debugged: Vec::new(),
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
            self.slots.resize(id.index() + 1, Slot::default());
        }
        if let Some(slot) = self.slots.get_mut(id.index()) {
            *slot = Slot {
                value: Some(value),
                typed,
            };
        }
    }

    /// Appends the text that the server is to get for a variable, and says whether there is any: `false` when it is unset or
    /// NULL. Doubles are written as C's `%.15g`, truth values as `true` and `false`.
    pub fn write_text(&self, id: VariableId, out: &mut Vec<u8>) -> bool {
        match self.get(id) {
            None | Some(Value::Null) => return false,
            Some(Value::Bool(true)) => out.extend_from_slice(b"true"),
            Some(Value::Bool(false)) => out.extend_from_slice(b"false"),
            Some(Value::Int(value)) => write_int(*value, out),
            Some(Value::Double(value)) => write_double(*value, out),
            Some(Value::Text(text)) => out.extend_from_slice(text.as_bytes()),
        }
        true
    }

    /// The values which the last executed command gave to the function `debug`, in order. Print them if you like; the next
    /// command forgets them.
    pub fn debugged(&self) -> &[Value] {
        &self.debugged
    }

    pub(crate) fn forget_debugged(&mut self) {
        self.debugged.clear();
    }

    pub(crate) fn debug(&mut self, value: Scalar) {
        self.debugged.push(value.into());
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
        self.names.get(id.index()).map_or("", |name| name)
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
        ] {
            variables.set(id, value);
            out.clear();
            assert!(variables.write_text(id, &mut out));
            assert_eq!(out, expected.as_bytes());
        }
        variables.set(id, Value::Null);
        out.clear();
        assert!(!variables.write_text(id, &mut out));
        assert!(out.is_empty());
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
