//! Chunks of Lua that many states load: compiled by the first that does. To compile them costs a state most of what it
//! takes to make it, and a load has thousands of states.

use mlua::{ChunkMode, Function, Lua};
use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, PoisonError};

/// What was compiled so far, by the names of the chunks.
#[derive(Default)]
pub(crate) struct Chunks(Mutex<BTreeMap<String, Chunk>>);

struct Chunk {
    text: Vec<u8>,
    /// With all that messages and tracebacks need.
    compiled: Arc<[u8]>,
}

impl Chunks {
    /// Loads a text as a chunk of this name.
    ///
    /// # Errors
    /// It does not compile.
    pub fn load(&self, lua: &Lua, name: &str, text: &[u8]) -> mlua::Result<Function> {
        if let Some(compiled) = self.known(name, text) {
            return lua
                .load(&*compiled)
                .set_name(name)
                .set_mode(ChunkMode::Binary)
                .into_function();
        }
        let function = lua
            .load(text)
            .set_name(name)
            .set_mode(ChunkMode::Text)
            .into_function()?;
        let chunk = Chunk {
            text: text.to_owned(),
            compiled: function.dump(false).into(),
        };
        let mut chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        chunks.insert(name.to_owned(), chunk);
        Ok(function)
    }

    /// What was compiled of just this text: a file may have been changed since.
    fn known(&self, name: &str, text: &[u8]) -> Option<Arc<[u8]>> {
        let chunks = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let chunk = chunks.get(name).filter(|chunk| chunk.text == text)?;
        Some(Arc::clone(&chunk.compiled))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_another_state_has_compiled_is_the_same() {
        let chunks = Chunks::default();
        let text = b"local a = 1\nlocal function f() error('no') end\nreturn a, f";
        for _ in 0..2 {
            let lua = Lua::new();
            let chunk = chunks.load(&lua, "@some.lua", text).unwrap();
            let (a, f): (i64, Function) = chunk.call(()).unwrap();
            assert_eq!(a, 1);
            let error = f.call::<()>(()).unwrap_err().to_string();
            assert!(error.contains("some.lua:2: no"), "{error}");
        }
    }

    #[test]
    fn a_text_that_has_changed_is_compiled_anew() {
        let (chunks, lua) = (Chunks::default(), Lua::new());
        for (text, value) in [(&b"return 1"[..], 1), (b"return 2", 2), (b"return 1", 1)] {
            let chunk = chunks.load(&lua, "@some.lua", text).unwrap();
            assert_eq!(chunk.call::<i64>(()).unwrap(), value);
        }
        assert!(chunks.load(&lua, "@some.lua", b"return return").is_err());
    }
}
