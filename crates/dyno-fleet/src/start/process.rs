//! A process that stands for an agent: the agent itself, or the ssh that leads to it.

use super::{Channel, Stands};
use std::collections::VecDeque;
use std::io::{self, BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdout, Command, Stdio};
use std::sync::mpsc::{self, Receiver, Sender};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

/// So many lines of what it says of itself are kept.
const LINES: usize = 5;

/// The longest of them.
const LONGEST: u64 = 1000;

/// How long the end of its output waits for that of its standard error, which says why.
const LAST_WORDS: Duration = Duration::from_millis(500);

/// How long it may take to end when its work is done.
const LEAVING: Duration = Duration::from_secs(3);

/// The process.
pub(crate) struct Process {
    child: Child,
    said: Arc<Mutex<VecDeque<String>>>,
}

impl Process {
    /// Starts it, in a process group of its own: keys that stop dyno are not for its agents, which are told.
    pub fn spawn(mut command: Command) -> io::Result<Channel> {
        let mut child = command
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .process_group(0)
            .spawn()?;
        let (input, output, errors) = (child.stdin.take(), child.stdout.take(), child.stderr.take());
        let (Some(input), Some(output), Some(errors)) = (input, output, errors) else {
            return Err(io::Error::other("the process has no standard streams"));
        };
        let said = Arc::<Mutex<VecDeque<String>>>::default();
        let hearing = Arc::clone(&said);
        let (silent, silence) = mpsc::channel();
        std::thread::Builder::new()
            .name("agent-stderr".to_owned())
            .spawn(move || {
                hear(errors, &hearing);
                drop::<Sender<()>>(silent);
            })?;
        Ok(Channel {
            input: Box::new(input),
            output: Box::new(Output { output, silence }),
            stands: Some(Box::new(Self { child, said })),
        })
    }
}

/// Its standard output. When that ends, so does what it says of itself, or soon.
struct Output {
    output: ChildStdout,
    /// Closed when its standard error is.
    silence: Receiver<()>,
}

impl Read for Output {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.output.read(buffer);
        if matches!(read, Ok(0)) {
            let _ = self.silence.recv_timeout(LAST_WORDS);
        }
        read
    }
}

impl Stands for Process {
    /// From its standard error.
    fn said(&self) -> String {
        let said = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        let said: Vec<&str> = said.iter().map(String::as_str).collect();
        said.join("; ")
    }

    fn kill(&mut self) {
        // One that has ended needs no end.
        let _ = self.child.kill();
    }
}

impl Drop for Process {
    /// It ends by itself, as its standard input has ended; one that does not is killed.
    fn drop(&mut self) {
        let deadline = Instant::now() + LEAVING;
        while Instant::now() < deadline {
            match self.child.try_wait() {
                Ok(None) => std::thread::sleep(Duration::from_millis(5)),
                Ok(Some(_)) | Err(_) => return,
            }
        }
        self.kill();
        let _ = self.child.wait();
    }
}

/// Keeps the last lines of a stream.
fn hear(stream: impl Read, said: &Mutex<VecDeque<String>>) {
    let mut stream = BufReader::new(stream);
    let mut line = Vec::new();
    loop {
        line.clear();
        match stream.by_ref().take(LONGEST).read_until(b'\n', &mut line) {
            Ok(0) | Err(_) => return,
            Ok(_) => {}
        }
        let text = String::from_utf8_lossy(&line).trim().to_owned();
        if text.is_empty() {
            continue;
        }
        let mut said = said.lock().unwrap_or_else(PoisonError::into_inner);
        if said.len() == LINES {
            said.pop_front();
        }
        said.push_back(text);
    }
}
