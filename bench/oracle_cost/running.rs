//! A program at work: stopped while it is not its turn, timed from outside while it is.

use crate::programs::{Program, Programs};
use crate::standin::StandIn;
use dyno_bench::Result;
use nix::sys::signal::{Signal, kill};
use nix::time::{ClockId, clock_getcpuclockid};
use nix::unistd::Pid;
use procfs::process::Process;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};
use serde::Serialize;
use std::fs::File;
use std::process::{Child, Stdio};
use std::thread::sleep;
use std::time::{Duration, Instant};

/// The cores of the clients and of the stand-in, so that neither takes from the other.
pub const CLIENT_CORE: usize = 0;
/// See there.
pub const STANDIN_CORE: usize = 1;

/// How long a program may take until all its sessions have worked.
const PATIENCE: Duration = Duration::from_secs(300);

/// Starts something on a core of its own.
pub fn on_core<T>(core: usize, start: impl FnOnce() -> T) -> Result<T> {
    let before = sched_getaffinity(None)?;
    let mut only = CpuSet::new();
    only.set(core);
    sched_setaffinity(None, &only).map_err(|error| format!("core {core} cannot be had: {error}"))?;
    let started = start();
    sched_setaffinity(None, &before)?;
    Ok(started)
}

/// What a program did in a slice of time, and what it took.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Slice {
    /// Selects that the stand-in was asked to execute.
    pub selects: u64,
    /// The same per second.
    pub selects_per_s: f64,
    /// CPU time of the program per select.
    pub cpu_us: f64,
    /// What of it was spent outside of the kernel, by ticks of the system's clock: roughly, of a single slice.
    pub user_us: f64,
    /// CPU time of the stand-in per select.
    pub standin_us: f64,
    /// The part of the time in which the stand-in's core was at work.
    pub standin_busy: f64,
    /// Texts that the stand-in was asked to parse, per select.
    pub parses: f64,
    /// Messages that it answered, per select.
    pub round_trips: f64,
}

/// A program that has connected.
pub struct Running {
    child: Child,
    process: Process,
    clock: ClockId,
    log: std::path::PathBuf,
}

impl Running {
    /// Starts a program and waits until all its sessions are at work. What it says goes into `log`.
    pub fn start(
        programs: &Programs,
        program: Program,
        connections: usize,
        standin: &mut StandIn,
        log: &std::path::Path,
    ) -> Result<Self> {
        let before = standin.asked()?;
        let mut command = programs.command(program, connections, standin.port());
        let file = File::create(log)?;
        command.stdin(Stdio::null()).stdout(file.try_clone()?).stderr(file);
        let child = on_core(CLIENT_CORE, || command.spawn())?;
        let child = child.map_err(|error| format!("{}: {error}", program.name()))?;
        let pid = Pid::from_raw(child.id().cast_signed());
        let mut running = Self {
            process: Process::new(pid.as_raw())?,
            clock: clock_getcpuclockid(pid)?,
            log: log.to_owned(),
            child,
        };
        let begun = Instant::now();
        loop {
            sleep(Duration::from_millis(50));
            running.check()?;
            let asked = standin.asked()?;
            let sessions = asked.logins - before.logins;
            if sessions >= connections as u64 && asked.executions - before.executions > 20 * connections as u64 {
                return Ok(running);
            }
            if begun.elapsed() > PATIENCE {
                return Err(format!("{}: {sessions} of {connections} sessions logged in", program.name()).into());
            }
        }
    }

    /// Stops it.
    pub fn stop(&self) -> Result<()> {
        Ok(kill(self.pid(), Signal::SIGSTOP)?)
    }

    /// Lets it work for a slice of time, of which the first tenth is not measured, and stops it.
    pub fn slice(&mut self, standin: &mut StandIn, length: Duration) -> Result<Slice> {
        kill(self.pid(), Signal::SIGCONT)?;
        sleep(length / 10);
        let serving = clock_getcpuclockid(Pid::from_raw(standin.id().cast_signed()))?;
        let (asked, cpu, ticks) = (standin.asked()?, self.clock.now()?, self.ticks()?);
        let (served, begun) = (serving.now()?, Instant::now());
        sleep(length);
        let (asked_after, cpu_after, ticks_after) = (standin.asked()?, self.clock.now()?, self.ticks()?);
        let (served_after, took) = (serving.now()?, begun.elapsed());
        self.check()?;
        self.stop()?;
        let selects = asked_after.executions - asked.executions;
        if selects == 0 {
            return Err(format!("nothing was executed; see {}", self.log.display()).into());
        }
        let of_each = |count: u64| count as f64 / selects as f64;
        let us = |from: nix::sys::time::TimeSpec, to: nix::sys::time::TimeSpec| {
            Duration::from(to - from).as_secs_f64() * 1e6
        };
        let standin_us = us(served, served_after);
        let (user, system) = (ticks_after.0 - ticks.0, ticks_after.1 - ticks.1);
        let cpu_us = us(cpu, cpu_after) / selects as f64;
        Ok(Slice {
            selects,
            selects_per_s: selects as f64 / took.as_secs_f64(),
            cpu_us,
            user_us: cpu_us * user as f64 / (user + system).max(1) as f64,
            standin_us: standin_us / selects as f64,
            standin_busy: standin_us / 1e6 / took.as_secs_f64(),
            parses: of_each(asked_after.parses - asked.parses),
            round_trips: of_each(asked_after.round_trips - asked.round_trips),
        })
    }

    /// The memory that it has resident, in bytes.
    pub fn resident(&self) -> Result<u64> {
        let resident_kb = self.process.status()?.vmrss.ok_or("the system does not tell memory")?;
        Ok(resident_kb * 1024)
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id().cast_signed())
    }

    /// Ticks in user space and in the kernel.
    fn ticks(&self) -> Result<(u64, u64)> {
        let stat = self.process.stat()?;
        Ok((stat.utime, stat.stime))
    }

    fn check(&mut self) -> Result<()> {
        match self.child.try_wait()? {
            None => Ok(()),
            Some(status) => {
                let said = std::fs::read_to_string(&self.log)?;
                Err(format!("a program ended ({status}): {}", said.trim()).into())
            }
        }
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
