//! Which scripts a run executes, how often each, and what is wrong with them: all told before any connection is made.

pub mod builtin;

use crate::options::whole_int;
use builtin::{Builtin, BuiltinError};
use dyno_script::{Script, ScriptError, Symbols};
use rustix::fs::{FileType, OFlags};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::sync::Arc;

/// pgbench's limit.
const MOST: usize = 128;

/// No script that comes out of a pipe or a device is larger than this; either may never end.
const MOST_BYTES: u64 = 64 << 20;

/// The scripts of a run; they share their variables' names.
#[derive(Debug, Default)]
pub struct Scripts {
    /// The names of all variables.
    pub symbols: Symbols,
    /// In the order of the command line.
    pub list: Vec<Chosen>,
    /// Whether a built-in one is among them, which need pgbench's tables.
    pub any_builtin: bool,
}

/// A script and how often it is chosen.
#[derive(Clone, Debug)]
pub struct Chosen {
    /// The script.
    pub script: Arc<Script>,
    /// What reports call it: its file as given, or a built-in script's description.
    pub description: String,
    /// Its text.
    pub text: String,
    /// Its share of all weights is its share of the transactions.
    pub weight: u32,
}

/// Why a script cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum ScriptsError {
    /// The name after `-b`.
    #[error(transparent)]
    Builtin(#[from] BuiltinError),
    /// The weight is no number; holds it with its `@`.
    #[error("invalid weight specification: {0}")]
    Weight(String),
    /// The weight does not fit.
    #[error("weight specification out of range (0 .. 2147483647): {0}")]
    WeightRange(i64),
    /// The file is not there.
    #[error("could not open file \"{name}\": {}", crate::system_text(cause))]
    Open {
        /// As given.
        name: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The file cannot be read.
    #[error("could not read file \"{name}\": {}", crate::system_text(cause))]
    Read {
        /// As given.
        name: String,
        /// What the system said.
        cause: io::Error,
    },
    /// The script does not follow the language.
    #[error("{}", .0.pgbench())]
    Script(ScriptError),
    /// There are too many.
    #[error("at most {MOST} SQL scripts are allowed")]
    TooMany,
}

impl Scripts {
    /// Adds a file given as `NAME` or `NAME@WEIGHT`; `-` is the standard input.
    ///
    /// # Errors
    /// It cannot be read or parsed, or the weight is wrong.
    pub fn add_file(&mut self, given: &str) -> Result<(), ScriptsError> {
        let (name, weight) = split_weight(given)?;
        let bytes = read(name)?;
        self.add(name, &bytes, weight)
    }

    /// Adds a built-in script given as `NAME` or `NAME@WEIGHT`.
    ///
    /// # Errors
    /// The name or the weight is wrong.
    pub fn add_builtin(&mut self, given: &str) -> Result<(), ScriptsError> {
        let (name, weight) = split_weight(given)?;
        let Builtin { description, text, .. } = builtin::find(name)?;
        self.any_builtin = true;
        self.add(description, text.as_bytes(), weight)
    }

    fn add(&mut self, description: &str, text: &[u8], weight: u32) -> Result<(), ScriptsError> {
        let script = Script::parse(description, text, &mut self.symbols).map_err(ScriptsError::Script)?;
        if self.list.len() >= MOST {
            return Err(ScriptsError::TooMany);
        }
        self.list.push(Chosen {
            script: Arc::new(script),
            description: description.to_owned(),
            text: dyno_text::decode(text).into_owned(),
            weight,
        });
        Ok(())
    }

    /// The sum of all weights.
    pub fn total_weight(&self) -> u64 {
        self.list.iter().map(|chosen| u64::from(chosen.weight)).sum()
    }
}

fn read(name: &str) -> Result<Vec<u8>, ScriptsError> {
    let unreadable = |cause| ScriptsError::Read {
        name: name.to_owned(),
        cause,
    };
    if name == "-" {
        // A process without a standard input gets /dev/null for one before it begins, but not to read and write.
        if is_stand_in(&io::stdin()) {
            return Err(unreadable(rustix::io::Errno::BADF.into()));
        }
        return contents(io::stdin().lock()).map_err(unreadable);
    }
    let file = std::fs::File::open(crate::path(name)).map_err(|cause| ScriptsError::Open {
        name: name.to_owned(),
        cause,
    })?;
    contents(file).map_err(unreadable)
}

/// All that `stream` has, if it ends.
fn contents(stream: impl Read + AsFd) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = match FileType::from_raw_mode(rustix::fs::fstat(&stream)?.st_mode) {
        FileType::RegularFile => u64::MAX,
        _ => MOST_BYTES,
    };
    stream.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it goes on after {} MB and may never end", MOST_BYTES >> 20);
        return Err(io::Error::new(io::ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

/// Whether this is /dev/null opened for reading and writing: what the standard library puts in the place of a
/// stream that is closed.
fn is_stand_in(stream: &impl AsFd) -> bool {
    let both = rustix::fs::fcntl_getfl(stream).is_ok_and(|flags| flags & OFlags::ACCMODE == OFlags::RDWR);
    let (Ok(null), Ok(this)) = (rustix::fs::stat("/dev/null"), rustix::fs::fstat(stream)) else {
        return false;
    };
    both && this.st_rdev == null.st_rdev
}

fn split_weight(given: &str) -> Result<(&str, u32), ScriptsError> {
    let Some(at) = given.rfind('@') else {
        return Ok((given, 1));
    };
    let number = whole_int(&given[at + 1..]).ok_or_else(|| ScriptsError::Weight(given[at..].to_owned()))?;
    match u32::try_from(number) {
        Ok(weight) if number <= i64::from(i32::MAX) => Ok((&given[..at], weight)),
        _ => Err(ScriptsError::WeightRange(number)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::os::fd::AsRawFd;

    #[test]
    fn weights_follow_the_last_at() {
        assert_eq!(split_weight("a@b@3").unwrap(), ("a@b", 3));
        assert_eq!(split_weight("a").unwrap(), ("a", 1));
        assert_eq!(split_weight("a@0").unwrap(), ("a", 0));
        let text = |given: &str| split_weight(given).unwrap_err().to_string();
        assert_eq!(text("a@x"), "invalid weight specification: @x");
        assert_eq!(text("a@"), "invalid weight specification: @");
        assert_eq!(text("a@-1"), "weight specification out of range (0 .. 2147483647): -1");
        assert_eq!(
            text("a@2147483648"),
            "weight specification out of range (0 .. 2147483647): 2147483648"
        );
    }

    #[test]
    fn builtins_and_files_share_names_of_variables() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "\\set aid 1\nselect :aid;\n").unwrap();
        let mut scripts = Scripts::default();
        scripts.add_builtin("select@2").unwrap();
        scripts.add_file(file.path().to_str().unwrap()).unwrap();
        assert!(scripts.any_builtin);
        assert_eq!((scripts.list.len(), scripts.total_weight()), (2, 3));
        assert_eq!(scripts.list[0].description, "<builtin: select only>");
    }

    #[test]
    fn a_script_that_never_ends_is_refused() {
        let mut scripts = Scripts::default();
        assert_eq!(
            scripts.add_file("/dev/zero").unwrap_err().to_string(),
            "could not read file \"/dev/zero\": it goes on after 64 MB and may never end"
        );
        assert_eq!(
            scripts.add_file("/dev").unwrap_err().to_string(),
            "could not read file \"/dev\": Is a directory"
        );
    }

    #[test]
    fn a_pipe_is_read_to_its_end() {
        let (pipe, mut writer) = io::pipe().unwrap();
        writer.write_all(b"select 1;\n").unwrap();
        drop(writer);
        let mut scripts = Scripts::default();
        scripts.add_file(&format!("/dev/fd/{}", pipe.as_raw_fd())).unwrap();
        assert_eq!(scripts.list[0].text, "select 1;\n");
    }

    #[test]
    fn no_more_than_the_limit() {
        let mut scripts = Scripts::default();
        for _ in 0..MOST {
            scripts.add_builtin("select").unwrap();
        }
        assert_eq!(
            scripts.add_builtin("select").unwrap_err().to_string(),
            "at most 128 SQL scripts are allowed"
        );
    }
}
