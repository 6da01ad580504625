//! The measured processes: dyno and pgbench doing the same work, each timed from outside by the operating system.

use crate::server::BENCH;
use crate::{BenchServer, Result};
use nix::sys::resource::{UsageWho, getrusage};
use nix::sys::time::TimeValLike;
use serde::Serialize;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

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

/// The program built with the same profile as this bench.
///
/// # Errors
/// It is not there.
pub fn dyno_binary() -> Result<PathBuf> {
    let built = Command::new(env!("CARGO"))
        .args(["build", "--release", "--quiet", "-p", "dyno"])
        .status()?;
    if !built.success() {
        return Err("dyno could not be built".into());
    }
    let bench = std::env::current_exe()?;
    let folder = bench.ancestors().nth(2).ok_or("the bench lies in no target folder")?;
    Ok(folder.join("dyno"))
}

/// CPU time of all children that have ended, user and system, in microseconds.
fn children_us() -> Result<(f64, f64)> {
    let usage = getrusage(UsageWho::RUSAGE_CHILDREN)?;
    Ok((
        usage.user_time().num_microseconds() as f64,
        usage.system_time().num_microseconds() as f64,
    ))
}

/// Runs a command to its end and gives its output with the CPU time it took, user and system, in microseconds.
pub(crate) fn timed(command: &mut Command) -> Result<(Output, (f64, f64))> {
    let before = children_us()?;
    let output = command.stdin(Stdio::null()).output()?;
    let after = children_us()?;
    if !output.status.success() {
        return Err(format!("{command:?} failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    Ok((output, (after.0 - before.0, after.1 - before.1)))
}

pub(crate) fn environment(command: &mut Command, server: &BenchServer, tcp: bool) {
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
pub fn run_pgbench(mut command: Command, server: &BenchServer, client: Client, words: &[&str]) -> Result<Cost> {
    environment(&mut command, server, client.tcp);
    command.arg("-n").args(words);
    for (option, value) in [("-c", client.clients), ("-j", client.threads)] {
        command.args([option, &value.to_string()]);
    }
    command.args(["-T", &client.seconds.to_string()]);
    let (output, cpu_us) = timed(&mut command)?;
    let report = String::from_utf8_lossy(&output.stdout);
    let after = |label: &str| {
        let line = report.lines().find_map(|line| line.strip_prefix(label));
        let number = line.and_then(|rest| rest.trim().split([' ', '/']).next()?.parse::<f64>().ok());
        number.ok_or_else(|| format!("pgbench's report has no \"{label}\""))
    };
    let transactions = after("number of transactions actually processed:")?;
    Ok(Cost {
        transactions,
        tps: after("tps = ")?,
        user_us: cpu_us.0 / transactions,
        system_us: cpu_us.1 / transactions,
    })
}

/// The command that runs `dyno run` with the same statement and protocol.
#[must_use]
pub fn dyno_command(dyno: &Path, server: &BenchServer, client: Client, archive: &Path) -> Command {
    experiment_command(dyno, server, client, archive, SELECT_ONLY)
}

/// The experiment that does what `pgbench -S` does.
const SELECT_ONLY: &str = "select-only.toml";

/// The command that runs the experiment in the file `experiment` of this folder.
fn experiment_command(dyno: &Path, server: &BenchServer, client: Client, archive: &Path, experiment: &str) -> Command {
    let mut command = Command::new(dyno);
    environment(&mut command, server, client.tcp);
    command
        .arg("run")
        .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(experiment));
    command.arg("--archive").arg(archive).args(["--target", "postgres://"]);
    for (name, value) in [("clients", client.clients), ("threads", client.threads)] {
        command.arg("--set").arg(format!("{name}={value}"));
    }
    command.arg("--set").arg(format!("measure={}s", client.seconds));
    command
}

/// Runs `dyno run` with the same statement, protocol and duration.
///
/// # Errors
/// It cannot be run, or its archive cannot be read.
pub fn run_dyno(dyno: &Path, server: &BenchServer, client: Client) -> Result<Cost> {
    run_experiment(dyno, server, client, SELECT_ONLY, &[])
}

/// Runs the experiment in the file `experiment` of this folder with further options `words`.
///
/// # Errors
/// It cannot be run, or its archive cannot be read.
pub fn run_experiment(
    dyno: &Path,
    server: &BenchServer,
    client: Client,
    experiment: &str,
    words: &[&str],
) -> Result<Cost> {
    let archive = tempfile::tempdir()?;
    let mut command = experiment_command(dyno, server, client, archive.path(), experiment);
    let (_, cpu_us) = timed(command.args(words))?;
    let record = std::fs::read_dir(archive.path())?
        .next()
        .ok_or("dyno archived nothing")??
        .path();
    let record = std::fs::read(record.join("001-rep1/run.json"))?;
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
