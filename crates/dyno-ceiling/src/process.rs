//! The responder as a process of its own, so that what the client costs is its own.

use std::io::{self, BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::Duration;
use tempfile::TempDir;

/// A responder that runs, until this is dropped.
pub struct Responder {
    folder: TempDir,
    port: u16,
    child: Child,
    /// Taken when it is to end.
    questions: Option<ChildStdin>,
    answers: BufReader<ChildStdout>,
}

impl Responder {
    /// Starts `program` with the arguments that make it call [`crate::responder::run`], followed by the folder to
    /// listen in.
    ///
    /// # Errors
    /// It cannot be started, or does not say where it listens.
    pub fn start(program: &Path, arguments: &[String]) -> io::Result<Self> {
        let folder = tempfile::Builder::new().prefix("dyno-responder-").tempdir()?;
        let mut child = Command::new(program)
            .args(arguments)
            .arg(folder.path())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()?;
        let (Some(questions), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(io::Error::other("the responder has no pipes"));
        };
        let mut responder = Self {
            folder,
            port: 0,
            child,
            questions: Some(questions),
            answers: BufReader::new(answers),
        };
        responder.port = responder.read()?;
        Ok(responder)
    }

    /// The folder of its unix socket.
    #[must_use]
    pub fn folder(&self) -> &Path {
        self.folder.path()
    }

    /// Its port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// The CPU time it has used so far.
    ///
    /// # Errors
    /// It has ended.
    pub fn cpu(&mut self) -> io::Result<Duration> {
        if let Some(questions) = &mut self.questions {
            questions.write_all(b"\n")?;
            questions.flush()?;
        }
        self.read().map(Duration::from_nanos)
    }

    fn read<T: std::str::FromStr>(&mut self) -> io::Result<T> {
        let mut line = String::new();
        self.answers.read_line(&mut line)?;
        line.trim()
            .parse()
            .map_err(|_| io::Error::other("the responder ended; its own message says why"))
    }
}

impl Drop for Responder {
    fn drop(&mut self) {
        // It ends when it has nothing more to read.
        drop(self.questions.take());
        let _ = self.child.wait();
    }
}
