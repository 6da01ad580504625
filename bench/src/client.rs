//! The measured processes: dyno and pgbench doing the same work, each timed from outside by the operating system.

use crate::server::BENCH;
use crate::{Result, Server};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// How the clients are to work.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Client {
    /// Connections.
    pub clients: usize,
    /// Threads.
    pub threads: usize,
    /// TCP, or the unix socket.
    pub tcp: bool,
    /// Length of a run in seconds.
    pub seconds: u64,
}

/// Clients, threads and transport: many clients through each transport, and a single one, for which blocking calls are
/// what `auto` takes.
const LOADS: [(usize, usize, &str); 5] = [
    (16, 1, "io_uring"),
    (16, 1, "epoll"),
    (64, 2, "io_uring"),
    (64, 2, "epoll"),
    (1, 1, "auto"),
];

/// The loads that the cost of clients is measured with, over each path, and their transports.
pub fn loads(seconds: u64) -> impl Iterator<Item = (Client, &'static str)> {
    let load = move |tcp, (clients, threads, transport)| {
        let client = Client {
            clients,
            threads,
            tcp,
            seconds,
        };
        (client, transport)
    };
    [false, true]
        .into_iter()
        .flat_map(move |tcp| LOADS.map(|shape| load(tcp, shape)))
}

impl Client {
    /// What the path to the server is called.
    #[must_use]
    pub fn path(&self) -> &'static str {
        if self.tcp { "tcp" } else { "unix" }
    }

    /// What this load through this transport is called, such as `unix-16-1-io_uring`.
    #[must_use]
    pub fn case(&self, transport: &str) -> String {
        format!("{}-{}-{}-{transport}", self.path(), self.clients, self.threads)
    }
}

/// What a run did and what it cost the client process as a whole, start and end included.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Cost {
    /// Transactions.
    pub transactions: f64,
    /// Transactions per second.
    pub tps: f64,
    /// CPU time in user space per transaction.
    pub user_us: f64,
    /// CPU time in the kernel per transaction.
    pub system_us: f64,
}

impl Cost {
    /// CPU time per transaction.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.user_us + self.system_us
    }
}

/// cargo, to build what is measured. What it tells a bench about itself is news to the build scripts of some
/// dependencies, which would then be built again each time; so nothing of that is passed on.
#[must_use]
pub fn cargo() -> Command {
    let mut cargo = Command::new(env!("CARGO"));
    let told = std::env::vars_os().filter(|(name, _)| name.to_string_lossy().starts_with("CARGO_"));
    for (name, _) in told.filter(|(name, _)| name != "CARGO_HOME" && name != "CARGO_TARGET_DIR") {
        cargo.env_remove(name);
    }
    cargo
}

/// The program built with the same profile as this bench.
///
/// # Errors
/// It is not there.
pub fn dyno_binary() -> Result<PathBuf> {
    let bench = std::env::current_exe()?;
    let folder = bench.ancestors().nth(2).ok_or("the bench lies in no target folder")?;
    let mut build = cargo();
    build.args(["build", "--quiet", "-p", "dyno"]);
    if !folder.ends_with("debug") {
        build.arg("--release");
    }
    let built = build.status()?;
    if !built.success() {
        return Err("dyno could not be built".into());
    }
    Ok(folder.join("dyno"))
}

/// CPU time of all children that have ended, user and system, in microseconds.
fn children_us() -> Result<(f64, f64)> {
    usage_us(UsageWho::RUSAGE_CHILDREN)
}

/// The same of this process.
pub(crate) fn own_us() -> Result<(f64, f64)> {
    usage_us(UsageWho::RUSAGE_SELF)
}

/// The same of this thread.
pub(crate) fn thread_us() -> Result<(f64, f64)> {
    usage_us(UsageWho::RUSAGE_THREAD)
}

fn usage_us(who: UsageWho) -> Result<(f64, f64)> {
    let usage = getrusage(who)?;
    Ok((
        usage.user_time().num_microseconds() as f64,
        usage.system_time().num_microseconds() as f64,
    ))
}

/// Runs a command to its end and gives its output with the CPU time it took, user and system, in microseconds.
///
/// # Errors
/// It cannot be run, or fails.
pub fn timed(command: &mut Command) -> Result<(Output, (f64, f64))> {
    let before = children_us()?;
    let output = command.stdin(Stdio::null()).output()?;
    let after = children_us()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok((output, (after.0 - before.0, after.1 - before.1)))
}

/// The most memory that a process has had resident, in kilobytes, as it was last seen before it ended.
pub(crate) fn peak_resident_kb(child: &mut Child) -> Result<u64> {
    let process = procfs::process::Process::new(child.id().cast_signed())?;
    let mut peak_kb = 0;
    while child.try_wait()?.is_none() {
        if let Some(highest) = process.status().ok().and_then(|status| status.vmhwm) {
            peak_kb = highest;
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    Ok(peak_kb)
}

/// Points a client of PostgreSQL at `server`.
pub fn server_environment(command: &mut Command, server: &dyn Server, tcp: bool) {
    command
        .env("PGHOST", server.host(tcp))
        .env("PGPORT", server.port().to_string())
        .env("PGUSER", BENCH)
        .env("PGDATABASE", BENCH)
        .env("PGPASSWORD", BENCH)
        .env("PGSSLMODE", "disable");
}

/// Runs pgbench, or what stands in for it, with `words` for the work to do, and reads its report.
///
/// # Errors
/// It cannot be run, or its report cannot be read.
pub fn run_pgbench(mut command: Command, server: &dyn Server, client: Client, words: &[&str]) -> Result<Cost> {
    server_environment(&mut command, server, client.tcp);
    command.arg("-n").args(words);
    for (option, value) in [("-c", client.clients), ("-j", client.threads)] {
        command.args([option, &value.to_string()]);
    }
    command.args(["-T", &client.seconds.to_string()]);
    let (output, cpu_us) = timed(&mut command)?;
    let report = String::from_utf8_lossy(&output.stdout);
    let transactions = number_after(&report, "number of transactions actually processed:")?;
    Ok(Cost {
        transactions,
        tps: number_after(&report, "tps = ")?,
        user_us: cpu_us.0 / transactions,
        system_us: cpu_us.1 / transactions,
    })
}

/// The number that follows `label` at the begin of a line.
///
/// # Errors
/// There is no such line.
pub fn number_after(report: &str, label: &str) -> Result<f64> {
    let line = report.lines().find_map(|line| line.trim().strip_prefix(label));
    let number = line.and_then(|rest| rest.trim().split([' ', '/', 's']).next()?.parse().ok());
    number.ok_or_else(|| format!("the report has no \"{label}\"").into())
}

/// The command that runs `dyno run` with the same statement and protocol.
#[must_use]
pub fn dyno_command(dyno: &Path, server: &dyn Server, client: Client, archive: &Path) -> Command {
    experiment_command(dyno, server, client, archive, SELECT_ONLY)
}

/// The experiment that does what `pgbench -S` does.
const SELECT_ONLY: &str = "select-only.toml";

/// The command that runs the experiment in the file `experiment` of this folder.
#[must_use]
pub fn experiment_command(
    dyno: &Path,
    server: &dyn Server,
    client: Client,
    archive: &Path,
    experiment: &str,
) -> Command {
    let mut command = Command::new(dyno);
    server_environment(&mut command, server, client.tcp);
    command
        .arg("run")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(experiment));
    command
        .arg("--archive")
        .arg(archive)
        .args(["--target", &server.address(client.tcp)]);
    for (name, value) in [("clients", client.clients), ("threads", client.threads)] {
        command.arg("--set").arg(format!("{name}={value}"));
    }
    command.arg("--set").arg(format!("measure={}s", client.seconds));
    command
}

/// Runs `dyno run` with the same statement, protocol and duration, and further options `words`.
///
/// # Errors
/// It cannot be run, or its archive cannot be read.
pub fn run_dyno(dyno: &Path, server: &dyn Server, client: Client, words: &[&str]) -> Result<Cost> {
    run_experiment(dyno, server, client, SELECT_ONLY, words)
}

/// Runs the experiment in the file `experiment` of this folder with further options `words`.
///
/// # Errors
/// It cannot be run, or its archive cannot be read.
pub fn run_experiment(
    dyno: &Path,
    server: &dyn Server,
    client: Client,
    experiment: &str,
    words: &[&str],
) -> Result<Cost> {
    let archive = tempfile::tempdir()?;
    let mut command = experiment_command(dyno, server, client, archive.path(), experiment);
    let (_, cpu_us) = timed(command.args(words))?;
    archived_cost(archive.path(), cpu_us)
}

/// Runs the same with its live page, and so many viewers who follow it from begin to end. Gives back also the bytes
/// that one of them was sent.
///
/// # Errors
/// It cannot be run or followed, or its archive cannot be read.
pub fn run_watched(
    dyno: &Path,
    server: &dyn Server,
    client: Client,
    experiment: &str,
    viewers: usize,
) -> Result<(Cost, u64)> {
    let archive = tempfile::tempdir()?;
    let mut command = experiment_command(dyno, server, client, archive.path(), experiment);
    command.arg("--live").stdin(Stdio::null()).stdout(Stdio::null());
    for display in ["DISPLAY", "WAYLAND_DISPLAY"] {
        command.env_remove(display);
    }
    let before = children_us()?;
    let mut child = command.stderr(Stdio::piped()).spawn()?;
    let said = child.stderr.take().ok_or("dyno's messages cannot be read")?;
    let mut threads = Vec::new();
    for line in BufReader::new(said).lines() {
        let line = line?;
        if let Some(address) = line
            .strip_prefix("Watch at http://")
            .and_then(|rest| rest.strip_suffix("/live"))
        {
            let address: SocketAddr = address.parse()?;
            for _ in 0..viewers {
                let folder = archive.path().to_owned();
                threads.push(std::thread::spawn(move || follow(address, &folder)));
            }
        }
    }
    let status = child.wait()?;
    let after = children_us()?;
    if !status.success() {
        return Err(format!("{command:?} failed: {status}").into());
    }
    let mut sent = 0;
    for thread in threads {
        sent = thread
            .join()
            .map_err(|_| "a viewer panicked")?
            .ok_or("a viewer saw nothing")?;
    }
    Ok((
        archived_cost(archive.path(), (after.0 - before.0, after.1 - before.1))?,
        sent,
    ))
}

/// Follows the only campaign of `archive`, as soon as there is one, to its end. Gives back how many bytes that took.
fn follow(address: SocketAddr, archive: &Path) -> Option<u64> {
    for _ in 0..200 {
        let campaign = only_entry(archive).ok();
        let name = campaign.as_deref().and_then(Path::file_name).and_then(OsStr::to_str);
        if let Some(page) = name.and_then(|name| get(address, &format!("/live/{name}/events")).ok()) {
            return Some(page.len() as u64);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    None
}

/// The answer of a local server to a request, head included, read until it closes the connection.
///
/// # Errors
/// It cannot be reached, or refuses.
pub fn get(address: SocketAddr, path: &str) -> Result<String> {
    let mut stream = TcpStream::connect(address)?;
    stream.write_all(format!("GET {path} HTTP/1.0\r\nHost: {address}\r\n\r\n").as_bytes())?;
    let mut answer = String::new();
    stream.read_to_string(&mut answer)?;
    if answer.starts_with("HTTP/1.0 200") {
        Ok(answer)
    } else {
        Err(answer.into())
    }
}

/// What is in a folder of a single entry.
fn only_entry(folder: &Path) -> Result<PathBuf> {
    Ok(std::fs::read_dir(folder)?
        .next()
        .ok_or("dyno archived nothing")??
        .path())
}

/// What the only run of an archive has done, with the CPU time that it took, user and system.
///
/// # Errors
/// The archive cannot be read.
pub fn archived_cost(archive: &Path, cpu_us: (f64, f64)) -> Result<Cost> {
    let record = std::fs::read(only_entry(archive)?.join("001-rep1/run.json"))?;
    let record: serde_json::Value = serde_json::from_slice(&record)?;
    let workload = &record["summary"]["workloads"][0];
    let number = |name: &str| workload[name].as_f64().ok_or_else(|| format!("run.json has no {name}"));
    let transactions = number("transactions")?;
    Ok(Cost {
        transactions,
        tps: number("tps")?,
        user_us: cpu_us.0 / transactions,
        system_us: cpu_us.1 / transactions,
    })
}
