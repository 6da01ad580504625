//! One command line, run by both programs, and the comparison.

use crate::peer::{assert_same, feed, split};
use crate::real;
use crate::text::{Normal, normal};
use std::path::Path;
use std::process::Command;
use tempfile::TempDir;

/// How many seconds a program may take.
const LONGEST_S: &str = "60";

/// What is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum What {
    Stdout,
    Stderr,
    Code,
    /// What a server was asked, and its tables after that.
    Server,
}

/// A server that both programs are sent to.
pub trait Desk {
    /// The options that lead to it.
    fn options(&self) -> Vec<String>;

    /// Makes it as it is to be before a program runs.
    fn reset(&self, sql: &[&str]);

    /// What it was asked since, and what the query then brings.
    fn seen(&self, log: bool, rows: Option<&str>) -> String;
}

/// No server at all.
pub struct Nowhere;

impl Desk for Nowhere {
    fn options(&self) -> Vec<String> {
        Vec::new()
    }

    fn reset(&self, _: &[&str]) {}

    fn seen(&self, _: bool, _: Option<&str>) -> String {
        String::new()
    }
}

/// A command line with what it needs.
pub struct Case {
    words: String,
    files: Vec<(&'static str, String)>,
    stdin: &'static str,
    before: Vec<&'static str>,
    rows: Option<&'static str>,
    logged: bool,
    is_said: bool,
    style: Normal,
    /// Where the two are known to differ, and why.
    differs: Vec<(What, &'static str)>,
}

/// A command line as a shell would split it; single quotes hold words together.
pub fn case(words: &str) -> Case {
    Case {
        words: words.to_owned(),
        files: Vec::new(),
        stdin: "",
        before: Vec::new(),
        rows: None,
        logged: false,
        is_said: true,
        style: Normal::default(),
        differs: Vec::new(),
    }
}

/// A command for this script.
pub fn script(words: &str, text: &str) -> Case {
    case(&format!("s.lua {words}")).file("s.lua", text)
}

impl Case {
    /// Puts a file into the folder that the program runs in.
    pub fn file(mut self, name: &'static str, text: &str) -> Self {
        self.files.push((name, text.to_owned()));
        self
    }

    /// What is on standard input.
    pub fn stdin(mut self, text: &'static str) -> Self {
        self.stdin = text;
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

    /// What the server is asked must be the same.
    pub fn logged(mut self) -> Self {
        self.logged = true;
        self
    }

    /// Whole numbers are measured, too: for what lasts a time.
    pub fn timed(mut self) -> Self {
        self.style.whole_numbers = true;
        self
    }

    /// Bars of a histogram do not count, nor other numbers.
    pub fn bars(mut self) -> Self {
        self.style.bars = true;
        self.timed()
    }

    /// What is said of options does not count.
    pub fn help(mut self) -> Self {
        self.style.help = true;
        self
    }

    /// The two differ in this, for this reason.
    pub fn differs(mut self, what: What, reason: &'static str) -> Self {
        self.differs.push((what, reason));
        self
    }

    /// What the two say is not compared, because each says it in another order each time.
    pub fn unsaid(mut self) -> Self {
        self.is_said = false;
        self
    }

    /// Runs both and says what is not as it should be.
    fn compare(&self, desk: &dyn Desk, sysbench: &Path) -> Vec<String> {
        let theirs = self.run(desk, sysbench, false);
        let ours = self.run(desk, Path::new(env!("CARGO_BIN_EXE_dyno")), true);
        let mut faults = Vec::new();
        for (what, theirs, ours) in [
            (What::Code, &theirs.code, &ours.code),
            (What::Stdout, &theirs.stdout, &ours.stdout),
            (What::Stderr, &theirs.stderr, &ours.stderr),
            (What::Server, &theirs.server, &ours.server),
        ] {
            if !self.is_said && what == What::Stdout {
                continue;
            }
            let reason = self.differs.iter().find(|(differing, _)| *differing == what);
            match reason {
                None if theirs != ours => faults.push(format!(
                    "sysbench {}\n{what:?} of sysbench:\n{theirs}\n{what:?} of dyno:\n{ours}\n",
                    self.words
                )),
                Some((_, reason)) if theirs == ours => faults.push(format!(
                    "sysbench {}\n{what:?} is the same, although it is said to differ: {reason}\n",
                    self.words
                )),
                _ => {}
            }
        }
        faults
    }

    fn run(&self, desk: &dyn Desk, program: &Path, is_dyno: bool) -> Seen {
        desk.reset(&self.before);
        let folder = TempDir::new().unwrap();
        for (name, text) in &self.files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        // What goes on without end ends the comparison, too.
        let mut command = Command::new("timeout");
        command.args(["--signal=KILL", LONGEST_S]).arg(program);
        for (name, _) in std::env::vars_os() {
            let name = name.to_string_lossy().into_owned();
            if name.starts_with("PG") || name.starts_with("MYSQL") || name.starts_with("LUA") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("LC_ALL", "C");
        if is_dyno {
            command.arg("sysbench");
        }
        command.args(desk.options()).args(split(&self.words));
        let output = feed(&mut command, self.stdin);
        let text = |bytes: &[u8]| normal(&String::from_utf8_lossy(bytes), self.style);
        Seen {
            code: format!("{:?}", output.status.code()),
            stdout: text(&output.stdout),
            stderr: text(&output.stderr),
            server: desk.seen(self.logged, self.rows),
        }
    }
}

/// What a program leaves, without what is measured.
struct Seen {
    code: String,
    stdout: String,
    stderr: String,
    server: String,
}

/// Runs all cases of a group, and fails with everything that differs.
pub fn compare_all(group: &str, desk: &dyn Desk, cases: &[Case]) {
    let Some(sysbench) = real::sysbench() else { return };
    let faults: Vec<String> = cases.iter().flat_map(|case| case.compare(desk, &sysbench)).collect();
    println!("{group}: {} command lines compared", cases.len());
    assert_same(&faults);
}
