//! What all processes that are looked at share: the server, the statement, what the server counted of it, and how
//! they are watched.

use crate::design::Case;
use dyno_bench::{BenchServer, Result, server_environment};
use jiff::Timestamp;
use procfs::process::Process;
use serde_json::Value;
use std::path::{Path as File, PathBuf};
use std::process::{Command, Stdio};
use std::time::Duration;

/// What the cases share.
pub struct Bed {
    pub server: BenchServer,
    pub dyno: PathBuf,
    pub seconds: u64,
}

/// What pg_stat_statements has of the bench's statement.
pub struct Served {
    pub calls: f64,
    /// How long one took for execution.
    pub mean_us: f64,
    /// Of its database, ever.
    pub commits: f64,
}

/// How long the statement sleeps in the server, with few clients.
pub const SLEEP_S: f64 = 0.002;

/// The bench's statement for this case.
pub fn script(slowness: u32) -> String {
    let sleep_s = SLEEP_S * f64::from(slowness);
    format!(
        "\\set aid random(1, 100000)\nselect abalance, pg_sleep({sleep_s}) from public.pgbench_accounts where aid \
         = :aid;\n"
    )
}

/// A rate that keeps the clients busy for a third of the time, or less if that is more than a server beside its
/// load can do.
pub fn rate_per_s(case: &Case) -> f64 {
    (case.clients as f64 / (SLEEP_S * f64::from(case.slowness())) * 0.3).min(1_000.0)
}

impl Bed {
    pub fn forget(&self) -> Result<()> {
        self.server
            .connect()?
            .batch_execute("select pg_stat_statements_reset()")?;
        Ok(())
    }

    pub fn served(&self) -> Result<Served> {
        let row = self.server.connect()?.query_one(
            "select coalesce(sum(calls), 0)::float8, coalesce(sum(total_exec_time) / sum(calls), 0)::float8 * 1000,
                 (select xact_commit from pg_stat_database where datname = current_database())::float8
             from pg_stat_statements where query like 'select abalance, pg_sleep%'",
            &[],
        )?;
        Ok(Served {
            calls: row.get(0),
            mean_us: row.get(1),
            commits: row.get(2),
        })
    }

    /// Bytes of the server's largest table.
    pub fn table_bytes(&self) -> Result<f64> {
        let query = "select pg_table_size('public.pgbench_accounts')::float8";
        Ok(self.server.connect()?.query_one(query, &[])?.get(0))
    }

    pub fn command(&self, program: &File, tcp: bool) -> Command {
        let mut command = Command::new(program);
        server_environment(&mut command, &self.server, tcp);
        command
    }
}

/// CPU time that a process had used at instants.
pub type CpuTimes = Vec<(Timestamp, Duration)>;

/// Runs a command to its end. Gives what it printed, and the CPU time it had used every 10 ms, as the system
/// accounts it.
pub fn watched(command: &mut Command) -> Result<(String, CpuTimes)> {
    let mut output = tempfile::tempfile()?;
    command
        .stdin(Stdio::null())
        .stdout(output.try_clone()?)
        .stderr(output.try_clone()?);
    let mut child = command.spawn()?;
    let process = Process::new(i32::try_from(child.id())?)?;
    let ticks_per_s = procfs::ticks_per_second() as f64;
    let mut times = Vec::new();
    let status = loop {
        if let Ok(stat) = process.stat() {
            let used_s = (stat.utime + stat.stime) as f64 / ticks_per_s;
            times.push((Timestamp::now(), Duration::from_secs_f64(used_s)));
        }
        if let Some(status) = child.try_wait()? {
            break status;
        }
        std::thread::sleep(Duration::from_millis(10));
    };
    std::io::Seek::rewind(&mut output)?;
    let mut text = String::new();
    std::io::Read::read_to_string(&mut output, &mut text)?;
    if status.success() {
        Ok((text, times))
    } else {
        Err(format!("{status}: {}", text.lines().last().unwrap_or_default()).into())
    }
}

pub fn number(value: &Value, pointer: &str) -> Result<f64> {
    let number = value.pointer(pointer).and_then(Value::as_f64);
    number.ok_or_else(|| format!("there is no {pointer}").into())
}

pub fn read_json(file: &File) -> Result<Value> {
    Ok(serde_json::from_slice(&std::fs::read(file)?)?)
}
