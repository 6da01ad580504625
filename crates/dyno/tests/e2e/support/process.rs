//! Processes under way: signals, what they say, and that nothing of them is left.

use super::Ended;
use rustix::process::{Pid, Signal, kill_process, kill_process_group};
use std::fs;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

/// Long enough for anything that ends at all, also after the campaigns of other cases for which it waits in line.
const PATIENCE: Duration = Duration::from_secs(300);

/// Waits for something that has to happen.
#[track_caller]
pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Whether a process is there and not a zombie.
pub fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The processes whose working folder this is, as those of a server on a data folder.
pub fn processes_in(folder: &Path) -> Vec<u32> {
    fs::read_dir("/proc")
        .unwrap()
        .filter_map(|item| item.ok()?.file_name().to_str()?.parse().ok())
        .filter(|pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|cwd| cwd == folder))
        .collect()
}

/// A program that heeds the terminal's signals, though the tests themselves may run as a background job of a
/// script, which ignores them.
pub fn heeding_signals(program: &str) -> Command {
    let mut command = Command::new("env");
    command.args(["--default-signal=HUP,INT,QUIT", program]);
    command
}

/// The same command, started as `nohup` and the background jobs of scripts are: with the terminal's signals ignored.
pub fn in_background(command: &Command) -> Command {
    let mut shell = Command::new("/bin/sh");
    shell
        .args(["-c", "trap '' HUP INT; exec \"$@\"", "sh"])
        // Without what makes it heed them.
        .args(command.get_args().skip(1));
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => shell.env(name, value),
            None => shell.env_remove(name),
        };
    }
    if let Some(folder) = command.get_current_dir() {
        shell.current_dir(folder);
    }
    shell
}

/// A dyno under way. Dropped, it is killed.
pub struct Running {
    child: Child,
    stderr: Arc<Mutex<String>>,
    readers: Vec<JoinHandle<String>>,
}

impl Running {
    pub fn start(command: Command) -> Self {
        let mut running = Self::spawn(command);
        let (mut out, err) = (
            running.child.stdout.take().unwrap(),
            running.child.stderr.take().unwrap(),
        );
        let heard = Arc::clone(&running.stderr);
        let stdout = std::thread::spawn(move || {
            let mut text = String::new();
            out.read_to_string(&mut text).unwrap();
            text
        });
        let errors = std::thread::spawn(move || {
            for line in BufReader::new(err).lines() {
                let mut heard = heard.lock().unwrap();
                heard.push_str(&line.unwrap());
                heard.push('\n');
            }
            String::new()
        });
        running.readers = vec![stdout, errors];
        running
    }

    /// With both outputs closed on the reader's side.
    pub fn start_unheard(command: Command) -> Self {
        let mut running = Self::spawn(command);
        drop((running.child.stdout.take(), running.child.stderr.take()));
        running
    }

    /// With a standard error that is full: what it says there waits until somebody reads `full`.
    pub fn start_unread(mut command: Command, full: Stdio) -> Self {
        let command = command.stdout(Stdio::null()).stderr(full).process_group(0);
        Self {
            child: command.spawn().unwrap(),
            stderr: Arc::default(),
            readers: Vec::new(),
        }
    }

    fn spawn(mut command: Command) -> Self {
        let command = command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
        Self {
            child: command.spawn().unwrap(),
            stderr: Arc::default(),
            readers: Vec::new(),
        }
    }

    pub fn pid(&self) -> u32 {
        self.child.id()
    }

    /// Waits until standard error says this.
    #[track_caller]
    pub fn until(&mut self, text: &str) {
        let started = Instant::now();
        loop {
            let said = self.stderr.lock().unwrap().clone();
            if said.contains(text) {
                return;
            }
            assert!(
                self.child.try_wait().unwrap().is_none(),
                "ended without saying {text}:\n{said}"
            );
            assert!(started.elapsed() < PATIENCE, "never said {text}:\n{said}");
            std::thread::sleep(Duration::from_millis(5));
        }
    }

    /// What standard error has said so far.
    pub fn said(&self) -> String {
        self.stderr.lock().unwrap().clone()
    }

    pub fn signal(&self, signal: Signal) {
        kill_process(Pid::from_raw(self.pid().cast_signed()).unwrap(), signal).unwrap();
    }

    /// As a terminal's keys do.
    pub fn signal_group(&self, signal: Signal) {
        kill_process_group(Pid::from_raw(self.pid().cast_signed()).unwrap(), signal).unwrap();
    }

    /// Waits for its end and gives the exit code.
    #[track_caller]
    pub fn code(&mut self) -> Option<i32> {
        wait_for("its end", || self.child.try_wait().unwrap().is_some());
        self.child.wait().unwrap().code()
    }

    /// Waits for its end.
    #[track_caller]
    pub fn end(mut self) -> Ended {
        let code = self.code();
        let texts: Vec<String> = self.readers.drain(..).map(|reader| reader.join().unwrap()).collect();
        Ended {
            code,
            stdout: texts[0].clone(),
            stderr: self.stderr.lock().unwrap().clone(),
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // Usually it has ended already.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
