//! The controller, seen from outside while it works.

use crate::host::{RECORDS, SAID, TOLD, Told, now_ns};
use crate::recorded::Recorded;
use crate::{WORKLOADS, as_ssh};
use dyno_bench::{BenchServer, Client, Result, Spread, experiment_command};
use dyno_record::Latencies as _;
use procfs::process::Process;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

/// How often it is looked whether an interval was told.
const LOOK: Duration = Duration::from_millis(2);

/// What the threads that hear hosts are called, and what the main one is called here, which merges.
const HEARING: &str = "agent-output";
const MERGING: &str = "main";

/// What one run of the controller cost.
#[derive(Serialize)]
pub struct Measured {
    pub hosts: usize,
    /// CPU time from the first interval told to the last, in per cent of a core.
    pub cpu_percent: f64,
    /// That of the threads that hear hosts, and of the one that merges and archives what they say.
    pub hearing_percent: f64,
    pub merging_percent: f64,
    /// The same by the name of threads.
    pub cpu_percent_by_thread: BTreeMap<String, f64>,
    /// The most memory that was resident; what was resident after a fifth of the intervals, and at the last.
    pub peak_kb: u64,
    pub early_kb: u64,
    pub late_kb: u64,
    pub resident_kb_each_second: Vec<u64>,
    pub threads: usize,
    pub files: usize,
    pub said_bytes_per_s: f64,
    pub heard_bytes_per_s: f64,
    /// From an interval's end to its being told.
    pub told_ms: String,
    /// From when the last host had sent its part to its being told.
    pub since_sent_ms: String,
    /// From the first call of ssh until the last host was greeted.
    pub started_s: f64,
    pub archive_mb_per_h: f64,
    pub intervals: usize,
}

/// Has a real agent drive the load, and keeps what it says in `said`. Gives back what that was, in words.
pub fn record(dyno: &Path, server: &BenchServer, experiment: &Path, said: &Path, seconds: u64) -> Result<String> {
    let folder = tempfile::tempdir()?;
    let mut command = command(dyno, server, experiment, said, folder.path(), 1, seconds)?;
    let output = command.env(RECORDS, dyno).stdout(Stdio::null()).output()?;
    if !output.status.success() {
        return Err(format!("the recording failed: {}", String::from_utf8_lossy(&output.stderr)).into());
    }
    let recorded = Recorded::read(said, WORKLOADS)?;
    let intervals = recorded.intervals.len();
    let (mut transactions, mut classes) = (0, 0);
    for number in 0..intervals {
        for recording in recorded.interval(number)?.recordings {
            transactions += recording.transactions;
            classes += recording.latency.counts().count();
        }
    }
    let bytes: usize = recorded.intervals.iter().map(Vec::len).sum();
    Ok(format!(
        "{intervals} intervals of {} transactions, {} classes of latency per workload, {} bytes on average",
        transactions / intervals as u64,
        classes / intervals / WORKLOADS,
        bytes / intervals
    ))
}

fn command(
    dyno: &Path,
    server: &BenchServer,
    experiment: &Path,
    said: &Path,
    folder: &Path,
    hosts: usize,
    seconds: u64,
) -> Result<Command> {
    let client = Client {
        clients: hosts,
        threads: hosts,
        tcp: true,
        seconds,
    };
    let archive = folder.join("archive");
    let mut command = experiment_command(dyno, server, client, &archive, &experiment.display().to_string());
    let names: Vec<String> = (0..hosts).map(|number| format!("host-{number}")).collect();
    command.args(["--hosts", &names.join(",")]);
    command.env("PATH", as_ssh(folder)?).env(SAID, said);
    Ok(command)
}

/// Runs the controller with so many simulated hosts.
pub fn measure(
    dyno: &Path,
    server: &BenchServer,
    experiment: &Path,
    said: &Path,
    hosts: usize,
    seconds: u64,
) -> Result<Measured> {
    let folder = tempfile::tempdir()?;
    let told = folder.path().join("told");
    let mut command = command(dyno, server, experiment, said, folder.path(), hosts, seconds)?;
    let errors = folder.path().join("errors");
    command
        .env(TOLD, &told)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(File::create(&errors)?);
    let mut child = command.spawn()?;
    let archive = folder.path().join("archive");
    let mut seen = watch(&mut child, &archive)?;
    if !child.wait()?.success() {
        return Err(format!("dyno failed: {}", std::fs::read_to_string(&errors)?).into());
    }
    seen.archive_bytes = folder_bytes(&archive)?;
    let told = std::fs::read_to_string(&told)?;
    let told: Vec<Told> = told
        .lines()
        .map(serde_json::from_str)
        .collect::<std::result::Result<_, _>>()?;
    if told.len() != hosts {
        return Err(format!("{} of {hosts} hosts have ended as they should", told.len()).into());
    }
    seen.measured(&told, seconds as f64)
}

/// CPU time and memory at an instant.
struct Look {
    at_ns: u64,
    cpu_s: f64,
    resident_kb: u64,
}

/// What was seen of the controller.
#[derive(Default)]
struct Seen {
    /// When each interval had been told.
    told_ns: Vec<u64>,
    /// Each second since the first of them.
    looks: Vec<Look>,
    /// CPU time of threads by name, then and at last.
    threads_first: BTreeMap<String, f64>,
    threads_last: BTreeMap<String, f64>,
    peak_kb: u64,
    threads: usize,
    files: usize,
    archive_bytes: u64,
}

fn watch(child: &mut Child, archive: &Path) -> Result<Seen> {
    let process = Process::new(child.id().cast_signed())?;
    let mut seen = Seen::default();
    let mut rows: Option<Rows> = None;
    let mut next = Instant::now();
    while child.try_wait()?.is_none() {
        std::thread::sleep(LOOK);
        let Some(rows) = &mut rows else {
            rows = intervals_csv(archive).map(Rows::open).transpose()?;
            continue;
        };
        let told = rows.count()? / WORKLOADS;
        let now_ns = now_ns();
        seen.told_ns.resize(told.max(seen.told_ns.len()), now_ns);
        if seen.told_ns.is_empty() || Instant::now() < next {
            continue;
        }
        next = Instant::now() + Duration::from_secs(1);
        // It may have ended meanwhile.
        drop(seen.look(&process, now_ns));
    }
    Ok(seen)
}

impl Seen {
    fn look(&mut self, process: &Process, at_ns: u64) -> Result<()> {
        let ticks_per_s = procfs::ticks_per_second() as f64;
        let (stat, status) = (process.stat()?, process.status()?);
        let mut by_name = BTreeMap::new();
        let mut threads = 0;
        for task in process.tasks()? {
            let stat = task?.stat()?;
            let name = if stat.pid == process.pid {
                MERGING.to_owned()
            } else {
                stat.comm
            };
            *by_name.entry(name).or_default() += (stat.utime + stat.stime) as f64 / ticks_per_s;
            threads += 1;
        }
        if self.looks.is_empty() {
            self.threads_first.clone_from(&by_name);
        }
        self.threads = self.threads.max(threads);
        // Those that hear hosts end before it does.
        if by_name.contains_key(HEARING) {
            self.threads_last = by_name;
        }
        self.files = self.files.max(process.fd_count()?);
        self.peak_kb = self.peak_kb.max(status.vmhwm.unwrap_or(0));
        self.looks.push(Look {
            at_ns,
            cpu_s: (stat.utime + stat.stime) as f64 / ticks_per_s,
            resident_kb: status.vmrss.unwrap_or(0),
        });
        Ok(())
    }

    fn measured(self, told: &[Told], seconds: f64) -> Result<Measured> {
        let intervals = self.told_ns.len();
        let last_told_ns = *self.told_ns.last().ok_or("no interval was told")?;
        let looks: Vec<&Look> = self.looks.iter().filter(|look| look.at_ns <= last_told_ns).collect();
        let (Some(first), Some(last)) = (looks.first(), looks.last()) else {
            return Err("the run was too short".into());
        };
        let lasted_s = (last.at_ns - first.at_ns) as f64 / 1e9;
        let percent = |cpu_s: f64| cpu_s / lasted_s * 100.0;
        let by_thread = self.threads_last.iter().map(|(name, cpu_s)| {
            let before = self.threads_first.get(name).copied().unwrap_or(0.0);
            (name.clone(), percent(cpu_s - before))
        });
        let by_thread: BTreeMap<String, f64> = by_thread.collect();
        let of = |name: &str| by_thread.get(name).copied().unwrap_or(0.0);
        let (began_ns, length_ns) = (told[0].began_ns, seconds * 1e9 / told[0].sent_ns.len() as f64);
        let end_ns = |number: usize| began_ns as f64 + (number + 1) as f64 * length_ns;
        let sent_ns = |number: usize| {
            let sent = told.iter().filter_map(|host| host.sent_ns.get(number));
            sent.max().copied().unwrap_or(0) as f64
        };
        let delays = |since_ns: &dyn Fn(usize) -> f64| {
            let told = self.told_ns.iter().enumerate();
            let spread = Spread::of(told.map(|(number, told_ns)| (*told_ns as f64 - since_ns(number)) / 1e6));
            format!("{:.0} ({:.0})", spread.median, spread.max)
        };
        let mean = |bytes: &dyn Fn(&Told) -> u64| {
            told.iter().map(|host| bytes(host) as f64).sum::<f64>() / told.len() as f64 / seconds
        };
        let called_ns = told.iter().map(|host| host.called_ns).min().unwrap_or(0);
        let greeted_ns = told.iter().map(|host| host.greeted_ns).max().unwrap_or(0);
        Ok(Measured {
            hosts: told.len(),
            cpu_percent: percent(last.cpu_s - first.cpu_s),
            hearing_percent: of(HEARING),
            merging_percent: of(MERGING),
            peak_kb: self.peak_kb,
            early_kb: looks[looks.len() / 5].resident_kb,
            late_kb: last.resident_kb,
            resident_kb_each_second: looks.iter().map(|look| look.resident_kb).collect(),
            threads: self.threads,
            files: self.files,
            said_bytes_per_s: mean(&|host| host.said_bytes),
            heard_bytes_per_s: mean(&|host| host.heard_bytes),
            told_ms: delays(&end_ns),
            since_sent_ms: delays(&sent_ns),
            started_s: greeted_ns.saturating_sub(called_ns) as f64 / 1e9,
            archive_mb_per_h: self.archive_bytes as f64 / 1e6 / seconds * 3600.0,
            cpu_percent_by_thread: by_thread,
            intervals,
        })
    }
}

/// The file in which the run's intervals are told.
fn intervals_csv(archive: &Path) -> Option<PathBuf> {
    let folders = |path: &Path| {
        std::fs::read_dir(path)
            .into_iter()
            .flatten()
            .flatten()
            .map(|item| item.path())
    };
    let mut runs = folders(archive).flat_map(|campaign| folders(&campaign).collect::<Vec<_>>());
    runs.find_map(|run| Some(run.join("intervals.csv")).filter(|path| path.exists()))
}

/// The rows of a file that grows.
struct Rows {
    file: File,
    lines: usize,
}

impl Rows {
    fn open(path: PathBuf) -> Result<Self> {
        Ok(Self {
            file: File::open(path)?,
            lines: 0,
        })
    }

    /// How many there are now, without that of the names.
    fn count(&mut self) -> Result<usize> {
        let at = self.file.stream_position()?;
        if self.file.metadata()?.len() > at {
            self.file.seek(SeekFrom::Start(at))?;
            let mut new = Vec::new();
            self.file.read_to_end(&mut new)?;
            self.lines += new.iter().filter(|byte| **byte == b'\n').count();
        }
        Ok(self.lines.saturating_sub(1))
    }
}

/// What all files of a folder take.
fn folder_bytes(path: &Path) -> Result<u64> {
    let mut bytes = 0;
    for item in std::fs::read_dir(path)? {
        let (item, path) = (
            item.as_ref().map(|item| item.metadata()),
            item.as_ref().map(std::fs::DirEntry::path),
        );
        match (item, path) {
            (Ok(Ok(facts)), Ok(path)) if facts.is_dir() => bytes += folder_bytes(&path)?,
            (Ok(Ok(facts)), _) => bytes += facts.len(),
            _ => {}
        }
    }
    Ok(bytes)
}
