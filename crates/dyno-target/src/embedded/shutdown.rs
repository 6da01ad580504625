//! The end of a server that is up: in good order for as long as it does something for that, and else the hard way.
//!
//! A shutdown in good order writes all dirty pages, which may take minutes. A server may as well wait for what never
//! comes, such as room on a disk that is full, and without the difference that would be waited for as long.

use super::keeper::Process;
use super::product::Product;
use super::stale;
use crate::host::kernel;
use procfs_core::process::{Io, Stat};
use rustix::process::Pid;
use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

/// How long a shutdown in good order may take.
const LIMIT: Duration = Duration::from_secs(600);

/// How long a server may do nothing that has been asked to shut down. Some waits of servers are of 10 s.
pub(super) const IDLE: Duration = Duration::from_secs(30);

/// How often is looked whether it does something.
const LOOK: Duration = Duration::from_secs(1);

/// What of it counts as work, of each look at it: more than to refuse connections takes.
const WRITTEN_BYTES: u64 = 8192;
const CPU_SHARE: f64 = 0.1;

/// The state of a thread that waits for storage (`proc_pid_stat(5)`).
const WAITS_FOR_STORAGE: char = 'D';

/// Shuts a server on this data folder down. Gives why that was not in good order, as a clause, if it was not.
pub(super) fn shut_down(process: &Process, product: &Product, data: &Path, idle: Duration) -> Option<String> {
    process.signal(product.shutdown());
    let begun = Instant::now();
    let mut effort = Effort::default();
    let mut worked = begun;
    let why = loop {
        if process.wait(LOOK.min(idle)).is_some() {
            return None;
        }
        if effort.grows(stale::processes_in(product, data).iter().copied()) {
            worked = Instant::now();
        }
        if worked.elapsed() >= idle {
            break format!(
                "it had been asked to shut down and did nothing for {} s",
                idle.as_secs_f64()
            );
        }
        if begun.elapsed() >= LIMIT {
            break format!("it had not shut down within {} s", LIMIT.as_secs());
        }
    };
    process.end(product.hard_measures());
    Some(why)
}

/// What processes have done so far.
#[derive(Default)]
struct Effort {
    written_bytes: u64,
    cpu_ticks: u64,
    at: Option<Instant>,
}

impl Effort {
    /// Whether they have worked since the last look, or wait for storage now.
    fn grows(&mut self, processes: impl Iterator<Item = Pid>) -> bool {
        // Where that cannot be seen it may be so: then only the limit ends it.
        if cfg!(not(target_os = "linux")) {
            return true;
        }
        let mut waits = false;
        let mut now = Self {
            at: Some(Instant::now()),
            ..Self::default()
        };
        // One that has ended by now has no part in it.
        for pid in processes.map(|pid| pid.as_raw_nonzero()) {
            let io: Option<Io> = kernel::read(format!("{pid}/io"));
            let stat: Option<Stat> = kernel::read(format!("{pid}/stat"));
            now.written_bytes += io.map_or(0, |io| io.wchar);
            now.cpu_ticks += stat.map_or(0, |stat| stat.utime + stat.stime);
            let mut threads = fs::read_dir(format!("/proc/{pid}/task"))
                .into_iter()
                .flatten()
                .flatten();
            waits |= threads.any(|thread| {
                let stat: Option<Stat> = kernel::read(thread.path().join("stat"));
                stat.is_some_and(|stat| stat.state == WAITS_FOR_STORAGE)
            });
        }
        let written = now.written_bytes.saturating_sub(self.written_bytes);
        let ticks = now.cpu_ticks.saturating_sub(self.cpu_ticks);
        let elapsed = self.at.map_or(0.0, |at| at.elapsed().as_secs_f64());
        let computed = ticks as f64 / kernel::ticks_per_second() as f64 >= CPU_SHARE * elapsed;
        let is_first = self.at.is_none();
        *self = now;
        waits || is_first || written >= WRITTEN_BYTES || computed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::embedded::POSTGRESQL;
    use rustix::process::Signal;
    use std::process::Command;

    #[test]
    fn one_that_does_not_heed_is_ended_the_hard_way() {
        let folder = tempfile::tempdir().unwrap();
        let start = |signals: &str| {
            let mut command = Command::new("env");
            command.args(["--default-signal=INT,QUIT", signals, "sleep", "1000"]);
            let process = Process::spawn(command, Signal::KILL).unwrap();
            // Until then it is `env`.
            let comm = format!("/proc/{}/comm", process.pid());
            while std::fs::read_to_string(&comm).unwrap() != "sleep\n" {
                std::thread::yield_now();
            }
            process
        };
        let idle = Duration::from_millis(200);
        let heeds = start("--default-signal=INT");
        assert_eq!(shut_down(&heeds, &POSTGRESQL, folder.path(), idle), None);
        let heedless = start("--ignore-signal=INT");
        let why = shut_down(&heedless, &POSTGRESQL, folder.path(), idle).unwrap();
        assert_eq!(why, "it had been asked to shut down and did nothing for 0.2 s");
        assert!(heedless.exit_status().is_some());
    }

    #[test]
    fn one_that_writes_works_and_one_that_sleeps_does_not() {
        let mut sleeps = Command::new("sleep").arg("1000").spawn().unwrap();
        let look = |effort: &mut Effort, pid: u32| effort.grows(Pid::from_raw(pid.cast_signed()).into_iter());
        let (mut idle, mut busy) = (Effort::default(), Effort::default());
        look(&mut idle, sleeps.id());
        look(&mut busy, std::process::id());
        std::thread::sleep(Duration::from_millis(200));
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("much"), vec![0; 1 << 20]).unwrap();
        assert!(look(&mut busy, std::process::id()));
        assert!(!look(&mut idle, sleeps.id()));
        sleeps.kill().unwrap();
        sleeps.wait().unwrap();
    }
}
