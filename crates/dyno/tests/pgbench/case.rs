//! One command line, run by both programs, and the comparison.

use crate::peer::{assert_same, feed, split};
use crate::real;
use crate::server::Database;
use crate::text::{Normal, normal};
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::process::{Command, Output};
use tempfile::TempDir;

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Stdout,
    Stderr,
    Code,
    Rows,
}

/// A command line with what it needs.
pub struct Case {
    words: String,
    files: Vec<(&'static str, Vec<u8>)>,
    stdin: &'static str,
    environment: Vec<(&'static str, &'static str)>,
    before: Vec<&'static str>,
    rows: Option<&'static str>,
    style: Normal,
    /// Where the two are known to differ, and why.
    differs: Vec<(What, &'static str)>,
}

/// A command line as a shell would split it; single quotes hold words together. Without a database it is the group's.
pub fn case(words: &str) -> Case {
    Case {
        words: words.to_owned(),
        files: Vec::new(),
        stdin: "",
        environment: Vec::new(),
        before: Vec::new(),
        rows: None,
        style: Normal::default(),
        differs: Vec::new(),
    }
}

/// A command line that executes this script, quickly and once.
pub fn script(text: &(impl AsRef<[u8]> + ?Sized)) -> Case {
    case("-n -t 1 -f s.sql").file("s.sql", text)
}

impl Case {
    /// Puts a file into the folder that the program runs in.
    pub fn file(mut self, name: &'static str, text: &(impl AsRef<[u8]> + ?Sized)) -> Self {
        self.files.push((name, text.as_ref().to_vec()));
        self
    }

    /// More words behind the others, which need not be UTF-8.
    pub fn with(mut self, words: &(impl AsRef<[u8]> + ?Sized)) -> Self {
        self.words = format!("{} {}", self.words, dyno_text::decode(words.as_ref()));
        self
    }

    /// What is on standard input.
    pub fn stdin(mut self, text: &'static str) -> Self {
        self.stdin = text;
        self
    }

    /// Sets an environment variable.
    pub fn env(mut self, name: &'static str, value: &'static str) -> Self {
        self.environment.push((name, value));
        self
    }

    /// SQL to run before each of the programs.
    pub fn before(mut self, sql: &'static str) -> Self {
        self.before.push(sql);
        self
    }

    /// A query whose rows must be the same after each of the programs.
    pub fn rows(mut self, query: &'static str) -> Self {
        self.rows = Some(query);
        self
    }

    /// Whole numbers are measured, too: for what lasts a time.
    pub fn timed(mut self) -> Self {
        self.style.whole_numbers = true;
        self
    }

    /// Lines may come in any order: for several clients.
    pub fn unordered(mut self) -> Self {
        self.style.sorted = true;
        self
    }

    /// The two differ in this, for this reason.
    pub fn differs(mut self, what: What, reason: &'static str) -> Self {
        self.differs.push((what, reason));
        self
    }

    /// Runs both and says what is not as it should be.
    fn compare(&self, database: &Database, pgbench: &Path) -> Vec<String> {
        let theirs = self.run(database, pgbench, false);
        let ours = self.run(database, Path::new(env!("CARGO_BIN_EXE_dyno")), true);
        let mut faults = Vec::new();
        for (what, theirs, ours) in [
            (What::Code, &theirs.code, &ours.code),
            (What::Stdout, &theirs.stdout, &ours.stdout),
            (What::Stderr, &theirs.stderr, &ours.stderr),
            (What::Rows, &theirs.rows, &ours.rows),
        ] {
            let reason = self.differs.iter().find(|(differing, _)| *differing == what);
            match reason {
                None if theirs != ours => faults.push(format!(
                    "pgbench {}\n{what:?} of pgbench:\n{theirs}\n{what:?} of dyno:\n{ours}\n",
                    self.words
                )),
                Some((_, reason)) if theirs == ours => faults.push(format!(
                    "pgbench {}\n{what:?} is the same, although it is said to differ: {reason}\n",
                    self.words
                )),
                _ => {}
            }
        }
        faults
    }

    fn run(&self, database: &Database, program: &Path, is_dyno: bool) -> Seen {
        for sql in &self.before {
            database.execute(sql);
        }
        let folder = TempDir::new().unwrap();
        for (name, text) in &self.files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        let mut command = Command::new(program);
        for (name, _) in std::env::vars_os() {
            if name.to_string_lossy().starts_with("PG") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("LC_ALL", "C")
            .envs(database.environment())
            .envs(self.environment.iter().copied());
        let words = split(&self.words);
        if is_dyno {
            command.arg("pgbench");
            // Help and version are only known in first place.
            if !words
                .first()
                .is_some_and(|word| ["--help", "-?", "--version", "-V"].contains(&word.as_str()))
            {
                command.arg(format!("--report-format={}", real::VERSION));
            }
        }
        command.args(
            words
                .iter()
                .map(|word| OsStr::from_bytes(&dyno_text::encode(word)).to_owned()),
        );
        let output = feed(&mut command, self.stdin);
        Seen::of(&output, folder.path(), self, database)
    }
}

/// What a program leaves, without what is measured.
struct Seen {
    code: String,
    stdout: String,
    stderr: String,
    rows: String,
}

impl Seen {
    fn of(output: &Output, folder: &Path, case: &Case, database: &Database) -> Self {
        let text = |bytes: &[u8]| normal(&dyno_text::decode(bytes), case.style);
        let mut rows = case.rows.map(|query| database.rows(query)).unwrap_or_default();
        rows += &crate::text::logs(folder);
        Self {
            code: format!("{:?}", output.status.code()),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            rows,
        }
    }
}

/// Runs all cases of a group on a database of its own, on which `prepare` was run, and fails with everything that
/// differs.
pub fn compare_all(group: &str, prepare: &[&str], cases: Vec<Case>) {
    let Some(pgbench) = real::pgbench() else { return };
    let database = Database::new(&format!("pgbench_{group}"));
    for words in prepare {
        let mut command = Command::new(&pgbench);
        let output = command
            .args(split(words))
            .envs(database.environment())
            .output()
            .unwrap();
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    }
    let number = cases.len();
    let faults: Vec<String> = cases
        .iter()
        .flat_map(|case| case.compare(&database, &pgbench))
        .collect();
    println!("{group}: {number} command lines compared");
    assert_same(&faults);
}
