//! Another process that holds a server until it is killed: this test binary again, running one helper.

use super::home;
use std::fs;
use std::io::{BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Names the home folder of a helper process; without it the helpers below do nothing.
const HELPER_HOME: &str = "DYNO_TEST_HELPER_HOME";
const HELPER_CLUSTER: &str = "DYNO_TEST_HELPER_CLUSTER";

/// Long enough for anything that ends at all.
const PATIENCE: Duration = Duration::from_secs(60);

/// This test binary again, running one helper.
pub fn helper(name: &str, home: &Path, cluster: &str) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(HELPER_HOME, home)
        .env(HELPER_CLUSTER, cluster)
        .stdout(Stdio::piped());
    command
}

pub fn wait_for(what: &str, mut done: impl FnMut() -> bool) {
    let started = Instant::now();
    while !done() {
        assert!(started.elapsed() < PATIENCE, "{what} did not happen");
        std::thread::sleep(Duration::from_millis(20));
    }
}

pub fn is_alive(pid: u32) -> bool {
    fs::read_to_string(format!("/proc/{pid}/stat")).is_ok_and(|stat| !stat.contains(") Z "))
}

/// The home folder and the cluster of the server that this process is to hold, if it is a helper.
pub fn asked() -> Option<(PathBuf, String)> {
    Some((
        std::env::var(HELPER_HOME).ok()?.into(),
        std::env::var(HELPER_CLUSTER).ok()?,
    ))
}

/// A helper process that a failing test does not leave behind.
pub struct Holder(Child);

impl Holder {
    /// Starts this test, which holds a server for as long as it lives, for this cluster.
    pub fn start(name: &str, cluster: &str) -> Self {
        Self(helper(name, &home(), cluster).spawn().unwrap())
    }

    /// Process id of the helper.
    pub fn id(&self) -> u32 {
        self.0.id()
    }

    /// Waits until it has a server, and gives that one's process id.
    pub fn server_pid(&mut self) -> u32 {
        BufReader::new(self.0.stdout.as_mut().unwrap())
            .lines()
            .find_map(|line| line.unwrap().strip_prefix("server ").map(|pid| pid.parse().unwrap()))
            .unwrap()
    }

    /// Ends it as by kill -9.
    pub fn kill(&mut self) {
        self.0.kill().unwrap();
        self.0.wait().unwrap();
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.kill();
    }
}
