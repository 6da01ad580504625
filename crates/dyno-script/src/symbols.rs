//! Names of variables, turned into small numbers once so that a running client never compares strings.

use std::collections::HashMap;
use std::sync::Arc;

/// A variable of one workload: the place of its value in [`Variables`](crate::Variables).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct VariableId(pub(crate) u32);

impl VariableId {
    /// The number of the variable, counted from 0 in the order of first appearance.
    pub fn index(self) -> usize {
        self.0 as usize
    }
}

/// The variable names shared by the scripts of one workload.
#[derive(Clone, Debug, Default)]
pub struct Symbols {
    names: Arc<Names>,
}

/// Names and their numbers.
#[derive(Clone, Debug, Default)]
pub(crate) struct Names {
    list: Vec<Arc<str>>,
    ids: HashMap<Arc<str>, VariableId>,
}

impl Names {
    pub(crate) fn lookup(&self, name: &str) -> Option<VariableId> {
        self.ids.get(name).copied()
    }

    pub(crate) fn name(&self, id: VariableId) -> &str {
        self.list.get(id.index()).map_or("", |name| name)
    }
}

impl Symbols {
    /// No names yet.
    pub fn new() -> Symbols {
        Symbols::default()
    }

    /// The variable called `name`, which is added when it is new. Names are case-sensitive.
    pub fn intern(&mut self, name: &str) -> VariableId {
        if let Some(id) = self.lookup(name) {
            return id;
        }
        let names = Arc::make_mut(&mut self.names);
        let id = VariableId(names.list.len() as u32);
        let name: Arc<str> = name.into();
        names.list.push(name.clone());
        names.ids.insert(name, id);
        id
    }

    /// The variable called `name`, or `None` when no script names it.
    pub fn lookup(&self, name: &str) -> Option<VariableId> {
        self.names.lookup(name)
    }

    /// The name of a variable; empty for an id that another `Symbols` gave out.
    pub fn name(&self, id: VariableId) -> &str {
        self.names.name(id)
    }

    /// The number of names.
    pub fn len(&self) -> usize {
        self.names.list.len()
    }

    /// Whether there is no name.
    pub fn is_empty(&self) -> bool {
        self.names.list.is_empty()
    }

    /// The table of names, shared rather than copied.
    pub(crate) fn names(&self) -> Arc<Names> {
        self.names.clone()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_keeps_its_id_and_case_matters() {
        let mut symbols = Symbols::new();
        let a = symbols.intern("a");
        let upper = symbols.intern("A");
        assert_ne!(a, upper);
        assert_eq!(symbols.intern("a"), a);
        assert_eq!(symbols.lookup("A"), Some(upper));
        assert_eq!(symbols.lookup("b"), None);
        assert_eq!((symbols.len(), symbols.name(a)), (2, "a"));
        assert_eq!(symbols.name(VariableId(99)), "");
    }
}
