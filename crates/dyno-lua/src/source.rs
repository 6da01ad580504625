//! Where a script comes from, and where it finds its modules.

use crate::error::LuaError;
use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// A script, and the modules that come with it.
#[derive(Clone, Debug)]
pub struct Source {
    name: String,
    text: Arc<[u8]>,
    /// Where it lies, if it is a file.
    folder: Option<PathBuf>,
    modules: Arc<BTreeMap<String, Vec<u8>>>,
}

impl Source {
    /// The script in this file.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn file(path: &Path) -> Result<Self, LuaError> {
        let text = fs::read(path).map_err(|error| LuaError::Load {
            message: format!("cannot open {}: {error}", path.display()),
            traceback: String::new(),
        })?;
        let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty());
        Ok(Self {
            name: path.display().to_string(),
            text: text.into(),
            folder: Some(folder.unwrap_or(Path::new(".")).to_owned()),
            modules: Arc::default(),
        })
    }

    /// The script that sysbench would take for a test of this name: the file itself; else as a module, in the working
    /// folder, in `folders`, and along `LUA_PATH`. `None`: there is none.
    ///
    /// # Errors
    /// The file cannot be read.
    pub fn find(name: &str, folders: &[PathBuf]) -> Result<Option<Self>, LuaError> {
        let file = Path::new(name);
        if file.is_file() {
            return Self::file(file).map(Some);
        }
        let path = search_path(folders.iter().map(PathBuf::as_path));
        let found = templates(&path, name).find(|file| file.is_file());
        found.map(|file| Self::file(&file)).transpose()
    }

    /// A script that is part of the program. `name` stands in messages.
    #[must_use]
    pub fn text(name: &str, text: &str) -> Self {
        Self {
            name: name.to_owned(),
            text: text.as_bytes().into(),
            folder: None,
            modules: Arc::default(),
        }
    }

    /// The same script with modules that `require` finds before any file.
    #[must_use]
    pub fn with_modules<'a>(mut self, modules: impl IntoIterator<Item = (&'a str, &'a str)>) -> Self {
        let all = Arc::make_mut(&mut self.modules);
        all.extend(modules.into_iter().map(|(name, text)| (name.to_owned(), text.into())));
        self
    }

    /// Its path, or the name that it was given: `sysbench.cmdline.script_path`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The text of a module that comes with it.
    pub(crate) fn module(&self, name: &str) -> Option<&[u8]> {
        self.modules.get(name).map(Vec::as_slice)
    }

    /// `package.path` of the script.
    pub(crate) fn search_path(&self) -> String {
        search_path(self.folder.as_deref())
    }
}

/// What `package.path` is: the working folder, these folders, and what the environment says.
fn search_path<'a>(folders: impl IntoIterator<Item = &'a Path>) -> String {
    let mut path = "./?.lua;./?/init.lua".to_owned();
    for folder in folders {
        let folder = folder.display();
        path.push_str(&format!(";{folder}/?.lua;{folder}/?/init.lua"));
    }
    if let Ok(more) = env::var("LUA_PATH") {
        path.push(';');
        path.push_str(more.trim_matches(';'));
    }
    path
}

/// The files that a module of this name may be in.
pub(crate) fn templates(path: &str, name: &str) -> impl Iterator<Item = PathBuf> {
    let name = name.replace('.', "/");
    let each = path.split(';').filter(|template| !template.is_empty());
    each.map(move |template| PathBuf::from(template.replace('?', &name)))
}

/// A script's text without the line that says by what program it is executed. Lines keep their numbers.
pub(crate) fn without_shebang(text: &[u8]) -> &[u8] {
    match text.strip_prefix(b"#") {
        Some(_) => {
            let end = text.iter().position(|&byte| byte == b'\n').unwrap_or(text.len());
            &text[end..]
        }
        None => text,
    }
}

/// Whether a script may look into the rows of results.
pub(crate) fn may_look_at_rows(text: &[u8]) -> bool {
    const SIGNS: [&[u8]; 6] = [
        b"fetch_row",
        b"nfields",
        b"bind_result",
        b"store_results",
        b"next_result",
        b"more_results",
    ];
    SIGNS
        .iter()
        .any(|sign| text.windows(sign.len()).any(|window| window == *sign))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_script_is_found_as_sysbench_finds_it() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("mine.lua"), "return 1").unwrap();
        let folders = [folder.path().to_owned()];
        let found = Source::find("mine", &folders).unwrap().unwrap();
        assert_eq!(found.bytes(), b"return 1");
        assert!(found.search_path().contains(folder.path().to_str().unwrap()));
        let path = folder.path().join("mine.lua").display().to_string();
        assert_eq!(Source::find(&path, &[]).unwrap().unwrap().name(), path);
        assert!(Source::find("mine", &[]).unwrap().is_none());
    }

    #[test]
    fn the_first_line_may_name_a_program() {
        assert_eq!(without_shebang(b"#!/usr/bin/sysbench\nx = 1"), b"\nx = 1");
        assert_eq!(without_shebang(b"x = 1"), b"x = 1");
        assert_eq!(without_shebang(b"#"), b"");
    }
}
