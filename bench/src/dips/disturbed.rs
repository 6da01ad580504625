//! A run of `dyno run` that is disturbed while it goes on.

use super::database::{Database, Means, Side};
use super::provocation::{Kind, Provocation, Provoked};
use super::slow_path::SlowPath;
use super::stopped::Stopped;
use crate::Result;
use dyno_archive::{Archive, Run};
use jiff::Timestamp;
use procfs::process::{Process, all_processes};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// Busy processes per core: enough that the load gets a small part of the machine.
const HOGS_PER_CORE: usize = 4;

/// How long the storage is slow before the checkpoint begins and after it has ended.
pub(super) const SLOW_AROUND: Duration = Duration::from_secs(2);

/// How long to wait for the server and the load to begin.
const PATIENCE: Duration = Duration::from_secs(1800);

/// A `dyno run` under way on an embedded server.
pub struct DisturbedRun {
    dyno: Kept,
    archive: PathBuf,
    server: Process,
    side: Box<dyn Side>,
    load_started: Timestamp,
    measure_s: (f64, f64),
    slow_path: Option<SlowPath>,
}

/// What a run is to be.
pub struct Plan<'a> {
    /// The program.
    pub dyno: &'a Path,
    /// The database.
    pub database: Database,
    /// The experiment, in the folder of the benches.
    pub experiment: &'a str,
    /// The folder for its campaign; empty.
    pub archive: &'a Path,
    /// Warm-up in seconds.
    pub warmup_s: u64,
    /// How long it is to be measured, in seconds.
    pub measure_s: u64,
    /// Further words for `--set`.
    pub set: Vec<String>,
}

impl DisturbedRun {
    /// Starts dyno and waits for the load to begin.
    ///
    /// # Errors
    /// dyno does not get that far.
    pub fn start(plan: &Plan<'_>) -> Result<Self> {
        let mut command = Command::new(plan.dyno);
        command
            .arg("run")
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join(plan.experiment))
            .args(["--target", plan.database.target()])
            .arg("--archive")
            .arg(plan.archive);
        let mut set = vec![
            format!("warmup={}s", plan.warmup_s),
            format!("measure={}s", plan.measure_s),
        ];
        set.extend_from_slice(&plan.set);
        for word in &set {
            command.args(["--set", word]);
        }
        let dyno = command
            .stdin(Stdio::null())
            .stdout(std::fs::File::create(plan.archive.join("dyno.out"))?)
            .stderr(std::fs::File::create(plan.archive.join("dyno.err"))?)
            .spawn()?;
        let mut dyno = Kept(dyno);
        let load_started = wait_for_load(plan.archive, &mut dyno.0)?;
        let server = server_of(dyno.0.id(), plan.database.program())?;
        let data = server.cwd()?;
        let warmup_s = plan.warmup_s as f64;
        Ok(Self {
            dyno,
            archive: plan.archive.to_owned(),
            slow_path: SlowPath::to(&data).ok(),
            side: plan.database.side(&server)?,
            server,
            load_started,
            measure_s: (warmup_s, warmup_s + plan.measure_s as f64),
        })
    }

    /// Seconds since the load began.
    fn now_s(&self) -> f64 {
        seconds_since(self.load_started)
    }

    /// Makes what disturbances need, and waits for the warm-up to end.
    ///
    /// # Errors
    /// The server refuses.
    pub fn make_ready(&mut self) -> Result<()> {
        self.side.make_ready()?;
        if let Some(slow_path) = &self.slow_path {
            slow_path.take_in(&self.server_processes()?)?;
        }
        std::thread::sleep(Duration::from_secs_f64((self.measure_s.0 - self.now_s()).max(0.0)));
        Ok(())
    }

    /// Leaves the log of the clients this many bytes per second, and nothing else any less: the checkpointer writes
    /// as fast as it can.
    ///
    /// # Errors
    /// Storage cannot be made slow here.
    pub fn slow_log(&mut self, bytes_per_s: u64) -> Result<()> {
        let slow_path = self.slow_path.as_ref().ok_or("writing cannot be slowed down here")?;
        slow_path.take_in(&self.side.sessions()?)?;
        slow_path.limit(bytes_per_s)
    }

    /// Whether there is still time for a disturbance, and what it takes.
    #[must_use]
    pub fn has_room_for(&self, provocation: &Provocation) -> bool {
        let time = self.now_s() + Provocation::LONGEST_S < self.measure_s.1;
        time && self.side.has_room_for(provocation.kind)
    }

    /// Disturbs it.
    ///
    /// # Errors
    /// Something cannot be done. Nothing is left stopped or slow.
    pub fn provoke(&mut self, provocation: &Provocation) -> Result<Provoked> {
        std::thread::sleep(Duration::from_secs_f64(provocation.pause_s));
        let lasts = Duration::from_secs_f64(provocation.lasts_s.unwrap_or(0.0));
        let (start_s, end_s) = match provocation.kind {
            Kind::Server => self.stop(&self.server_processes()?, lasts)?,
            Kind::Dyno => self.stop(&[self.dyno.0.id().cast_signed()], lasts)?,
            Kind::Cpu => {
                let cores = std::thread::available_parallelism()?.get();
                let start_s = self.now_s();
                let hogs = (0..HOGS_PER_CORE * cores).map(|_| {
                    let hog = Command::new("sh").args(["-c", "while :; do :; done"]).spawn()?;
                    Ok(Kept(hog))
                });
                let hogs: Result<Vec<Kept>> = hogs.collect();
                std::thread::sleep(lasts);
                drop(hogs?);
                (start_s, self.now_s())
            }
            kind => {
                let now_s = {
                    let load_started = self.load_started;
                    move || seconds_since(load_started)
                };
                let means = Means {
                    lasts,
                    now_s: &now_s,
                    slow_path: self.slow_path.as_ref(),
                };
                self.side.provoke(kind, &means)?
            }
        };
        Ok(Provoked {
            kind: provocation.kind,
            start_s,
            end_s,
        })
    }

    /// Stops processes for a while.
    fn stop(&self, processes: &[i32], lasts: Duration) -> Result<(f64, f64)> {
        let start_s = self.now_s();
        let stopped = Stopped::all(processes);
        std::thread::sleep(lasts);
        drop(stopped);
        Ok((start_s, self.now_s()))
    }

    /// The server's main process and all its children.
    fn server_processes(&self) -> Result<Vec<i32>> {
        let mut pids = vec![self.server.pid];
        pids.extend(children_of(self.server.pid)?.map(|process| process.pid));
        Ok(pids)
    }

    /// Waits for dyno to end and gives what it archived.
    ///
    /// # Errors
    /// dyno failed, or archived nothing.
    pub fn finish(mut self) -> Result<Run> {
        let status = self.dyno.0.wait()?;
        if !status.success() {
            return Err(format!("dyno ended with {status}: {}", complaint(&self.archive)).into());
        }
        archived(&self.archive)
    }

    /// Whether storage can be made slow.
    #[must_use]
    pub fn has_slow_path(&self) -> bool {
        self.slow_path.is_some()
    }
}

/// The only run of the only campaign in an archive.
///
/// # Errors
/// There is none.
pub fn archived(archive: &Path) -> Result<Run> {
    let campaign = Archive::new(archive).campaigns()?.into_iter().next();
    let run = campaign.and_then(|campaign| campaign.runs.into_iter().next());
    Ok(run.ok_or_else(|| format!("there is no run in {}", archive.display()))?)
}

/// What dyno had to say.
fn complaint(archive: &Path) -> String {
    std::fs::read_to_string(archive.join("dyno.err")).unwrap_or_default()
}

/// Waits for the first phase and gives the instant at which it began.
fn wait_for_load(archive: &Path, dyno: &mut Child) -> Result<Timestamp> {
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline {
        if let Some(status) = dyno.try_wait()? {
            return Err(format!("dyno ended with {status}: {}", complaint(archive)).into());
        }
        let record = archived(archive).ok().and_then(|run| run.record.ok());
        if let Some(load_started) = record.and_then(|record| record.load_started) {
            return Ok(load_started);
        }
        std::thread::sleep(Duration::from_millis(100));
    }
    Err("the load did not begin".into())
}

/// Seconds since an instant.
fn seconds_since(instant: Timestamp) -> f64 {
    Timestamp::now().duration_since(instant).as_secs_f64()
}

/// The main process of dyno's server.
fn server_of(dyno: u32, program: &str) -> Result<Process> {
    let is_server = |process: &Process| process.stat().is_ok_and(|stat| stat.comm == program);
    let server = children_of(dyno.cast_signed())?.find(is_server);
    Ok(server.ok_or("dyno has no server")?)
}

fn children_of(parent: i32) -> Result<impl Iterator<Item = Process>> {
    let processes = all_processes()?.filter_map(std::result::Result::ok);
    Ok(processes.filter(move |process| process.stat().is_ok_and(|stat| stat.ppid == parent)))
}

/// A child that does not outlive its owner.
struct Kept(Child);

impl Drop for Kept {
    fn drop(&mut self) {
        // It may have ended already.
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}
