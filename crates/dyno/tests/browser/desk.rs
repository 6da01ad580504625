//! A folder with an archive, and dyno run in it.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use tempfile::TempDir;

/// The program.
pub const DYNO: &str = env!("CARGO_BIN_EXE_dyno");

/// A folder to run dyno in. It goes with the test.
pub struct Desk {
    folder: TempDir,
}

impl Desk {
    pub fn new() -> Self {
        let folder = tempfile::Builder::new()
            .prefix("browser-")
            .tempdir_in(env!("CARGO_TARGET_TMPDIR"));
        Self {
            folder: folder.unwrap(),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// Where the archive is, once something made one.
    pub fn archive(&self) -> PathBuf {
        self.path().join("archive")
    }

    /// Runs `dyno report` with these arguments, and gives back the file.
    pub fn report<S: AsRef<OsStr>>(&self, name: &str, arguments: impl IntoIterator<Item = S>) -> PathBuf {
        let file = self.path().join(name);
        let mut command = self.dyno();
        command.arg("report").args(arguments).arg("--output").arg(&file);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
        file
    }

    /// Runs `dyno run` with these words on the embedded server.
    pub fn run(&self, words: &str) {
        let home = Path::new(env!("CARGO_TARGET_TMPDIR")).join("dyno-home");
        let mut command = self.dyno();
        command.arg("run").args(words.split_whitespace()).env("DYNO_HOME", home);
        let output = command.output().unwrap();
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{command:?}: {}\n{said}", output.status);
    }

    fn dyno(&self) -> Command {
        let mut command = Command::new(DYNO);
        for (name, _) in std::env::vars_os() {
            let text = name.to_string_lossy();
            if text.starts_with("PG") || text.starts_with("DYNO") {
                command.env_remove(name);
            }
        }
        command
            .current_dir(self.path())
            .env("HOME", self.path())
            .stdin(Stdio::null());
        command
    }
}
