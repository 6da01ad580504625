//! Where a script comes from, and where it finds its modules.

use crate::error::LuaError;
use crate::workloads;
use memchr::memmem;
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
    /// The files that it loads, as far as they are known; `None`: it may load any.
    files: Option<Arc<BTreeMap<String, Vec<u8>>>>,
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
            files: None,
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
        Self::of_bytes(name, text.as_bytes())
    }

    /// The same of a text that need not be UTF-8.
    #[must_use]
    pub fn of_bytes(name: &str, text: &[u8]) -> Self {
        Self {
            name: name.to_owned(),
            text: text.into(),
            folder: None,
            modules: Arc::default(),
            files: None,
        }
    }

    /// The same script as if it lay in this folder, where `require` finds its modules.
    #[must_use]
    pub fn in_folder(self, folder: &Path) -> Self {
        let folder = match folder.as_os_str().is_empty() {
            true => Path::new("."),
            false => folder,
        };
        Self {
            folder: Some(folder.to_owned()),
            ..self
        }
    }

    /// The same script with the modules that come with dyno. Files where the script looks go before them.
    #[must_use]
    pub fn with_own_modules(self) -> Self {
        let folder = self.folder.clone();
        let missing = workloads::modules().filter(|(name, _)| {
            let beside = folder.as_slice();
            folder.is_none() || !matches!(Self::find(name, beside), Ok(Some(_)))
        });
        let missing: Vec<_> = missing.collect();
        self.with_modules(missing)
    }

    /// The same script with modules that `require` finds before any file.
    #[must_use]
    pub fn with_modules<'a, T: AsRef<[u8]> + ?Sized + 'a>(
        mut self,
        modules: impl IntoIterator<Item = (&'a str, &'a T)>,
    ) -> Self {
        let all = Arc::make_mut(&mut self.modules);
        let modules = modules.into_iter();
        all.extend(modules.map(|(name, text)| (name.to_owned(), text.as_ref().to_owned())));
        self
    }

    /// The same script with the files that `dofile` and `loadfile` find before any other, by the names that it gives
    /// them. With its modules they are all that it is known to consist of: of what else it loads is said that this was
    /// not known.
    #[must_use]
    pub fn with_files<'a, T: AsRef<[u8]> + ?Sized + 'a>(
        mut self,
        files: impl IntoIterator<Item = (&'a str, &'a T)>,
    ) -> Self {
        let files = files.into_iter();
        let files = files.map(|(name, text)| (name.to_owned(), text.as_ref().to_owned()));
        self.files = Some(Arc::new(files.collect()));
        self
    }

    /// Its path, or the name that it was given: `sysbench.cmdline.script_path`.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Its text.
    #[must_use]
    pub fn bytes(&self) -> &[u8] {
        &self.text
    }

    /// The text of a module that comes with it.
    pub(crate) fn module(&self, name: &str) -> Option<&[u8]> {
        self.modules.get(name).map(Vec::as_slice)
    }

    /// The text of a file that comes with it.
    pub(crate) fn known_file(&self, name: &str) -> Option<&[u8]> {
        self.files.as_ref()?.get(name).map(Vec::as_slice)
    }

    /// Whether all that it consists of is to come with it.
    pub(crate) fn is_complete(&self) -> bool {
        self.files.is_some()
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

/// Whether a script may use FFI by its global name: as a word, which `traffic` is not.
pub(crate) fn mentions_ffi(text: &[u8]) -> bool {
    const NAME: &[u8] = b"ffi";
    let is_of_a_name = |byte: Option<&u8>| byte.is_some_and(|byte| byte.is_ascii_alphanumeric() || *byte == b'_');
    memmem::find_iter(text, NAME).any(|at| {
        let before = at.checked_sub(1).and_then(|before| text.get(before));
        !is_of_a_name(before) && !is_of_a_name(text.get(at + NAME.len()))
    })
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
    SIGNS.iter().any(|sign| memmem::find(text, sign).is_some())
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

    #[test]
    fn ffi_is_a_word() {
        for text in ["ffi", "ffi.C.f()", "require'ffi'", "office ffi", "local a=ffi"] {
            assert!(mentions_ffi(text.as_bytes()), "{text}");
        }
        for text in ["", "traffic", "office", "ffi_1", "_ffi", "ff i"] {
            assert!(!mentions_ffi(text.as_bytes()), "{text}");
        }
    }
}
