//! What the cases share: a folder to work in, the program with its arguments, servers, and processes to look after.

mod home;
pub mod netns;
mod process;
#[allow(dead_code, reason = "other tests log in in more ways")]
#[path = "../../../../dyno-target/tests/servers/support/real_mysql.rs"]
pub mod real_mysql;
mod record;
pub mod relay;
mod server;
mod sshd;
pub mod unmeasured;
pub mod web;
pub mod wrong_clock;

pub use home::{Home, programs};
pub use process::{Running, in_background, is_alive, processes_in, wait_for};
pub use record::{RunFolder, run_folders};
pub use server::{Database, Shared, certificate_folder, database, database_alone, database_unreserved, tls_server};
pub use sshd::Ssh;

use serde_json::Value;
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};
use tempfile::TempDir;

/// Makes any experiment short.
pub const TINY: [&str; 6] = ["--set", "measure=1s", "--set", "warmup=0s", "--set", "rows=1000"];

/// A folder to run dyno in, with the archive that its runs leave.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new() -> Self {
        Self {
            folder: temporary("desk-"),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    pub fn archive(&self) -> PathBuf {
        self.path().join("archive")
    }

    /// A desk with this file on it.
    pub fn with(name: &str, text: &str) -> Self {
        let desk = Self::new();
        desk.file(name, text);
        desk
    }

    /// What the only campaign of the archive has in a file, in JSON.
    pub fn known(&self, file: &str) -> Value {
        run_folders(&self.archive())[0].of_campaign(file)
    }

    /// Puts a file on the desk.
    pub fn file(&self, name: &str, text: &str) {
        fs::write(self.path().join(name), text).unwrap();
    }

    /// Puts an experiment without data on the desk: clients that run `script` for `measure`, one unless the `extra`
    /// keys of the workload say otherwise.
    pub fn experiment(&self, name: &str, extra: &str, script: &str, measure: &str) {
        self.file(
            name,
            &format!(
                "title = \"Test\"\n\n[[workload]]\n{extra}\nscript = '''\n{script}\n'''\n\n[phases]\nwarmup \
                 = \"0s\"\nmeasure = \"{measure}\"\ninterval = \"100ms\"\n"
            ),
        );
    }

    /// The program with these arguments, in this folder, with nothing of the caller's environment that would change
    /// what it does.
    pub fn command<S: AsRef<OsStr>>(&self, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = process::heeding_signals(env!("CARGO_BIN_EXE_dyno"));
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PG") || text.starts_with("DYNO") || text.starts_with("RUST_") {
                command.env_remove(name);
            }
        }
        command
            .args(arguments)
            .current_dir(self.path())
            .env("HOME", self.path())
            // Whoever forgets to give a home or a target shall not work on the user's.
            .env("DYNO_HOME", self.path().join("no-home"))
            .stdin(Stdio::null());
        command
    }

    /// Runs the program on a server by address.
    pub fn on<S: AsRef<str>>(&self, target: &str, arguments: impl IntoIterator<Item = S>) -> Ended {
        Ended::of(&mut self.command_on(target, arguments))
    }

    /// `dyno run` on a server by address that other cases use at the same time, not yet started. A campaign that
    /// goes on shares it as it did.
    pub fn command_on<S: AsRef<str>>(&self, target: &str, arguments: impl IntoIterator<Item = S>) -> Command {
        let arguments: Vec<S> = arguments.into_iter().collect();
        let resumes = arguments.iter().any(|argument| argument.as_ref() == "--resume");
        let mut command = self.command_alone_on(target, arguments);
        if !resumes {
            command.arg("--share-server");
        }
        command
    }

    /// Runs the program on a server by address that it is to have for itself.
    pub fn alone_on<S: AsRef<str>>(&self, target: &str, arguments: impl IntoIterator<Item = S>) -> Ended {
        Ended::of(&mut self.command_alone_on(target, arguments))
    }

    /// The same, not yet started.
    pub fn command_alone_on<S: AsRef<str>>(&self, target: &str, arguments: impl IntoIterator<Item = S>) -> Command {
        let mut command = self.command(["run"]);
        for argument in arguments {
            command.arg(argument.as_ref());
        }
        command.args(["--target", target]);
        command
    }

    /// Runs the program with these words.
    pub fn dyno(&self, words: &str) -> Ended {
        Ended::of(&mut self.command(words.split_whitespace()))
    }

    /// `dyno run` on the embedded server of `home`.
    pub fn embedded(&self, home: &Home, words: &str) -> Ended {
        Ended::of(&mut self.command_embedded(home, words))
    }

    /// The same, not yet started.
    pub fn command_embedded(&self, home: &Home, words: &str) -> Command {
        let mut command = self.command(["run"]);
        command.args(words.split_whitespace()).env("DYNO_HOME", home.path());
        command
    }

    /// Fails if `secret` is in any file of this folder.
    pub fn assert_nowhere(&self, secret: &str) {
        fn search(folder: &Path, secret: &str) {
            for item in fs::read_dir(folder).unwrap() {
                let path = item.unwrap().path();
                if path.is_dir() {
                    search(&path, secret);
                } else {
                    let text = fs::read(&path).unwrap();
                    assert!(
                        !String::from_utf8_lossy(&text).contains(secret),
                        "{} tells it",
                        path.display()
                    );
                }
            }
        }
        search(&self.archive(), secret);
    }
}

/// What a finished dyno leaves on the screen.
#[derive(Debug)]
pub struct Ended {
    pub code: Option<i32>,
    pub stdout: String,
    pub stderr: String,
}

impl Ended {
    pub fn of(command: &mut Command) -> Self {
        Self::from(command.output().unwrap())
    }

    /// Fails with everything that was printed unless this was the exit code.
    #[track_caller]
    pub fn expect(self, code: i32) -> Self {
        assert_eq!(self.code, Some(code), "\n{}\n{}", self.stdout, self.stderr);
        self
    }

    /// Fails unless standard error says this.
    #[track_caller]
    pub fn says(self, text: &str) -> Self {
        assert!(self.stderr.contains(text), "not said: {text}\n{}", self.stderr);
        self
    }

    /// Fails unless standard output shows this, wherever its lines are broken.
    #[track_caller]
    pub fn shows(self, text: &str) -> Self {
        let words: Vec<&str> = self.stdout.split_whitespace().collect();
        assert!(words.join(" ").contains(text), "not shown: {text}\n{}", self.stdout);
        self
    }

    /// Where the report lies, which the last line on standard output has to say.
    #[track_caller]
    pub fn ends_with_report(&self) -> PathBuf {
        let last = self.stdout.lines().last().unwrap_or_default();
        let path = last.strip_prefix("The report is ");
        path.map(PathBuf::from)
            .unwrap_or_else(|| panic!("no report:\n{}", self.stdout))
    }
}

impl From<Output> for Ended {
    fn from(output: Output) -> Self {
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        Self {
            code: output.status.code(),
            stdout: text(output.stdout),
            stderr: text(output.stderr),
        }
    }
}

/// A command whose process is limited by the shell, as by `ulimit -n 20`.
pub fn limited(limit: &str, command: &Command) -> Command {
    let mut shell = Command::new("bash");
    shell
        .args(["-c", &format!("{limit} && exec \"$@\""), "bash"])
        .arg(command.get_program())
        .args(command.get_args());
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    shell
}

/// A folder that goes with the test, and that the server's user can enter.
pub fn temporary(prefix: &str) -> TempDir {
    let folder = tempfile::Builder::new()
        .prefix(prefix)
        .tempdir_in(env!("CARGO_TARGET_TMPDIR"))
        .unwrap();
    fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    folder
}

/// The text of a page without what holds figures and their units, options and their values together in a line.
pub fn not_held(page: &str) -> String {
    page.replace("<span class=\"whole\">", "").replace("</span>", "")
}
