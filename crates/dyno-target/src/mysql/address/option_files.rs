//! The option files of MySQL's and MariaDB's clients: `/etc/my.cnf`, `/etc/mysql/my.cnf`, `my.cnf` in `$MARIADB_HOME`
//! or `$MYSQL_HOME`, and `~/.my.cnf`, in this order; what is said last counts.
//!
//! Sources: MySQL Reference Manual, "Using Option Files"; MariaDB documentation, "Configuring MariaDB with Option
//! Files".

use super::AddressError;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::os::unix::fs::{FileTypeExt, PermissionsExt};
use std::path::{Path, PathBuf};

/// Where the system's files are.
pub(super) const SYSTEM_FILES: [&str; 2] = ["/etc/my.cnf", "/etc/mysql/my.cnf"];

/// The groups that are for every client.
const GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];

/// How many files are read: each may include others, itself too.
const MOST: usize = 100;

/// The longest file that is read, in bytes.
const LONGEST: u64 = 1 << 20;

/// What the files say to clients.
#[derive(Debug, Default)]
pub(super) struct OptionFiles {
    options: BTreeMap<String, Given>,
    /// How many files there were.
    files: usize,
    /// What was passed over, as sentences.
    pub(super) warnings: Vec<String>,
}

/// An option as given last.
#[derive(Debug)]
struct Given {
    /// Empty if it has none.
    value: String,
    /// The file and the line.
    place: String,
}

impl OptionFiles {
    /// Reads all files that there are. `env` looks a variable up.
    pub(super) fn read(system: &[&str], env: &dyn Fn(&str) -> Option<String>) -> Result<Self, AddressError> {
        let folder = env("MARIADB_HOME").or_else(|| env("MYSQL_HOME"));
        let own = env("HOME");
        let files = system.iter().map(PathBuf::from);
        let files = files.chain(folder.map(|folder| Path::new(&folder).join("my.cnf")));
        let files = files.chain(own.map(|home| Path::new(&home).join(".my.cnf")));
        let suffix = env("MYSQL_GROUP_SUFFIX").filter(|suffix| !suffix.is_empty());
        let mut groups: Vec<_> = GROUPS.iter().map(|group| (*group).to_owned()).collect();
        if let Some(suffix) = suffix {
            groups.extend(GROUPS.iter().map(|group| format!("{group}{suffix}")));
        }
        let mut read = Self::default();
        for file in files {
            read.add(&file, &groups)?;
        }
        Ok(read)
    }

    /// An option's value, empty if it was given without one.
    pub(super) fn value(&self, name: &str) -> Option<&str> {
        self.options.get(name).map(|given| given.value.as_str())
    }

    /// Whether an option that is on or off is on; `None`: it is not given.
    pub(super) fn is_on(&self, name: &str) -> Option<bool> {
        let value = self.value(name)?;
        Some(!["0", "off", "false"].iter().any(|off| value.eq_ignore_ascii_case(off)))
    }

    /// Where an option is given, for people.
    pub(super) fn place(&self, name: &str) -> String {
        let given = self.options.get(name);
        given.map_or_else(String::new, |given| given.place.clone())
    }

    fn add(&mut self, file: &Path, groups: &[String]) -> Result<(), AddressError> {
        let Some(text) = self.text(file) else {
            return Ok(());
        };
        self.files += 1;
        if self.files > MOST {
            if self.files == MOST + 1 {
                let file = file.display();
                self.warnings.push(format!(
                    "the option file {file} is ignored: {MOST} files have been read before it"
                ));
            }
            return Ok(());
        }
        let refused = |line: usize, what: &'static str| AddressError::OptionFile {
            place: place(file, line),
            what,
        };
        let mut group = None;
        for (number, line) in (1..).zip(text.lines()) {
            let line = line.trim();
            if line.is_empty() || line.starts_with(['#', ';']) {
                continue;
            }
            if let Some(directive) = line.strip_prefix('!') {
                for included in included(directive).ok_or(refused(number, NO_FOLDER))? {
                    self.add(&included, groups)?;
                }
                continue;
            }
            if let Some(header) = line.strip_prefix('[') {
                let (name, _) = header
                    .split_once(']')
                    .ok_or(refused(number, "\"[\" is not closed by \"]\""))?;
                group = Some(groups.iter().any(|group| group == name.trim_end()));
                continue;
            }
            if group.ok_or(refused(
                number,
                "an option stands before the first group, such as [client]",
            ))? {
                let (name, value) = option(line);
                let place = place(file, number);
                self.options.insert(name, Given { value, place });
            }
        }
        Ok(())
    }

    /// What is in a file, if there is one that may be read and that not everybody can have written.
    fn text(&mut self, file: &Path) -> Option<String> {
        let mut ignored = |why: String| {
            self.warnings
                .push(format!("the option file {} is ignored: {why}", file.display()));
        };
        let facts = match fs::metadata(file) {
            Ok(facts) if facts.is_dir() => return None,
            Ok(facts) => facts,
            Err(error) => {
                if !matches!(error.kind(), ErrorKind::NotFound | ErrorKind::NotADirectory) {
                    ignored(error.to_string());
                }
                return None;
            }
        };
        // Who reads one of these waits for somebody who writes.
        if facts.file_type().is_fifo() || facts.file_type().is_socket() {
            ignored("it is no file, but a pipe or a socket".to_owned());
            return None;
        }
        if facts.is_file() && facts.permissions().mode() & 0o002 != 0 {
            ignored("everybody may write to it; take that right away with chmod o-w".to_owned());
            return None;
        }
        let mut bytes = Vec::new();
        // One more than may be, so that it shows.
        match File::open(file).and_then(|open| open.take(LONGEST + 1).read_to_end(&mut bytes)) {
            Ok(_) if bytes.len() as u64 > LONGEST => {
                ignored("it is longer than 1 MiB".to_owned());
                None
            }
            Ok(_) => Some(dyno_text::decode(&bytes).into_owned()),
            Err(error) => {
                ignored(error.to_string());
                None
            }
        }
    }
}

fn place(file: &Path, line: usize) -> String {
    format!("{}, line {line}", file.display())
}

/// Why a directive cannot be followed.
const NO_FOLDER: &str = "it is no \"!include FILE\", and no \"!includedir FOLDER\" of a folder that can be read";

/// The files that a directive includes, behind its `!`; of a folder those that end with `.cnf`.
fn included(directive: &str) -> Option<Vec<PathBuf>> {
    let (word, path) = directive.split_once(char::is_whitespace)?;
    let path = PathBuf::from(path.trim());
    match word {
        "include" => Some(vec![path]),
        "includedir" => {
            let items = fs::read_dir(&path).ok()?;
            let files = items.filter_map(|item| Some(item.ok()?.path()));
            let mut files: Vec<_> = files
                .filter(|file| file.extension().is_some_and(|extension| extension == "cnf"))
                .collect();
            files.sort();
            Some(files)
        }
        _ => None,
    }
}

/// The name of a line's option as the manual spells it, and its value.
fn option(line: &str) -> (String, String) {
    let line = without_comment(line);
    let (name, value) = match line.split_once('=') {
        Some((name, value)) => (name, unquoted(value.trim())),
        None => (line, String::new()),
    };
    let name = name.trim().replace('_', "-");
    let name = name.strip_prefix("loose-").unwrap_or(&name);
    let negated = ["skip-", "disable-"]
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix));
    match negated {
        Some(name) => (name.to_owned(), "0".to_owned()),
        None => (name.strip_prefix("enable-").unwrap_or(name).to_owned(), value),
    }
}

/// A line without what follows a `#` that is in no quotes.
fn without_comment(line: &str) -> &str {
    let mut quote = None;
    let mut escaped = false;
    for (at, character) in line.char_indices() {
        match (character, quote) {
            ('\'' | '"', None) => quote = Some(character),
            (_, Some(open)) if character == open && !escaped => quote = None,
            ('#', None) => return &line[..at],
            _ => {}
        }
        escaped = quote.is_some() && character == '\\' && !escaped;
    }
    line
}

/// A value without the quotes around it, and with what its backslashes stand for.
fn unquoted(value: &str) -> String {
    let inner = ['"', '\'']
        .iter()
        .find_map(|quote| value.strip_prefix(*quote)?.strip_suffix(*quote));
    let mut text = String::new();
    let mut rest = inner.unwrap_or(value).chars();
    while let Some(character) = rest.next() {
        let escaped = match character {
            '\\' => rest.next(),
            _ => None,
        };
        match escaped {
            None => text.push(character),
            Some('n') => text.push('\n'),
            Some('t') => text.push('\t'),
            Some('r') => text.push('\r'),
            Some('b') => text.push('\u{8}'),
            Some('s') => text.push(' '),
            Some(itself @ ('"' | '\'' | '\\')) => text.push(itself),
            Some(other) => text.extend(['\\', other]),
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use tempfile::TempDir;

    fn folder(files: &[(&str, &str)]) -> TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            let text = text.replace("FOLDER", &folder.path().display().to_string());
            let file = folder.path().join(name);
            fs::create_dir_all(file.parent().unwrap()).unwrap();
            fs::write(file, text).unwrap();
        }
        folder
    }

    /// What the files of a folder say, of which `etc.cnf` is the system's.
    fn read(folder: &TempDir) -> Result<OptionFiles, AddressError> {
        let path = |name: &str| folder.path().join(name).display().to_string();
        let env = |name: &str| match name {
            "HOME" => Some(path("home")),
            "MYSQL_HOME" => Some(path("server")),
            "MYSQL_GROUP_SUFFIX" => Some("_a".to_owned()),
            _ => None,
        };
        OptionFiles::read(&[&path("etc.cnf"), "/nowhere/my.cnf"], &env)
    }

    #[test]
    fn the_last_word_of_all_files_counts() {
        let folder = folder(&[
            (
                "etc.cnf",
                "# of all\n[mysqld]\nport=1\nuser=mysql\n[client]\nport = 2\nhost=a\nssl_ca=/etc.pem\n\
                 !include FOLDER/more.cnf\n!includedir FOLDER/conf.d/\nsocket=/behind\n",
            ),
            ("more.cnf", "[client-server]\nhost=b\nloose-password=p\n"),
            ("conf.d/2.cnf", "[client-mariadb]\nhost=d\n"),
            ("conf.d/1.cnf", "[client]\nhost=c\nskip-ssl\n"),
            ("conf.d/README", "this is none\n"),
            ("server/my.cnf", "[client]\nport=3\n[mysql]\nport=9\n"),
            ("home/.my.cnf", "; mine\n[client_a]\nuser=ann\n"),
        ]);
        let read = read(&folder).unwrap();
        let said: Vec<_> = read
            .options
            .iter()
            .map(|(name, given)| (name.as_str(), given.value.as_str()))
            .collect();
        assert_eq!(
            said,
            [
                ("host", "d"),
                ("password", "p"),
                ("port", "3"),
                ("socket", "/behind"),
                ("ssl", "0"),
                ("ssl-ca", "/etc.pem"),
                ("user", "ann")
            ]
        );
        assert_eq!(read.is_on("ssl"), Some(false));
        assert_eq!(read.is_on("user"), Some(true));
        assert_eq!(read.is_on("protocol"), None);
        assert!(
            read.place("port").ends_with("/server/my.cnf, line 2"),
            "{}",
            read.place("port")
        );
        assert_eq!(read.warnings, Vec::<String>::new());
    }

    #[test]
    fn values_are_read_as_the_clients_do() {
        for (line, name, value) in [
            ("password=\"a # b\" # c", "password", "a # b"),
            ("password = a#b", "password", "a"),
            ("password='it\\'s'", "password", "it's"),
            ("password=a\\sb\\tc\\d\\", "password", "a b\tc\\d\\"),
            ("password=a=b", "password", "a=b"),
            ("password=\"", "password", "\""),
            ("password", "password", ""),
            ("ssl_mode = REQUIRED", "ssl-mode", "REQUIRED"),
            ("enable-ssl", "ssl", ""),
            ("disable_ssl", "ssl", "0"),
        ] {
            assert_eq!(option(line), (name.to_owned(), value.to_owned()), "{line}");
        }
    }

    #[test]
    fn what_is_wrong_is_told_with_its_place_and_nothing_of_the_line() {
        for (text, expected) in [
            (
                "s3cret\n",
                "line 1, cannot be read: an option stands before the first group",
            ),
            ("[client\n", "line 1, cannot be read: \"[\" is not closed"),
            (
                "[client]\n\n!s3cret\n",
                "line 3, cannot be read: it is no \"!include FILE\"",
            ),
            ("!includedir /nowhere/s3cret\n", "line 1, cannot be read: it is no "),
        ] {
            let error = read(&folder(&[("home/.my.cnf", text)])).unwrap_err().to_string();
            assert!(error.contains("/home/.my.cnf, ") && error.contains(expected), "{error}");
            assert!(!error.contains("s3cret"), "{error}");
        }
    }

    #[test]
    fn what_everybody_may_have_written_is_ignored() {
        let folder = folder(&[
            ("etc.cnf", "[client]\nuser=mallory\n"),
            (
                "home/.my.cnf",
                "[client]\n!include FOLDER/home/.my.cnf\n!include FOLDER/home/.my.cnf\nport=1\n",
            ),
        ]);
        let file = folder.path().join("etc.cnf");
        fs::set_permissions(&file, PermissionsExt::from_mode(0o666)).unwrap();
        let read = read(&folder).unwrap();
        assert_eq!(read.value("user"), None);
        assert_eq!(read.value("port"), Some("1"));
        let [world, deep] = &read.warnings[..] else {
            panic!("{:?}", read.warnings);
        };
        assert!(world.ends_with("is ignored: everybody may write to it; take that right away with chmod o-w"));
        assert!(
            deep.ends_with(".my.cnf is ignored: 100 files have been read before it"),
            "{deep}"
        );
    }

    #[test]
    fn a_pipe_is_not_waited_for() {
        let folder = folder(&[]);
        let home = folder.path().join("home");
        fs::create_dir_all(&home).unwrap();
        let made = std::process::Command::new("mkfifo").arg(home.join(".my.cnf")).status();
        assert!(made.unwrap().success());
        let read = read(&folder).unwrap();
        assert!(read.warnings[0].ends_with("is ignored: it is no file, but a pipe or a socket"));
    }

    proptest! {
        #[test]
        fn nothing_makes_it_panic(text in "(\\[client\\]\n)?(\\PC|\n|[=\\[\\]!#;'\"\\\\ ]){0,60}") {
            let _ = read(&folder(&[("home/.my.cnf", &text)]));
        }
    }
}
