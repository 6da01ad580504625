//! The processes that work in a folder. Those of a database server do so in its data: so they are found without asking
//! the server, and whatever it is.

use super::kernel;
use super::process::{ProcessStat, process_ids};
use crate::postgres;
use std::collections::HashMap;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

/// The processes of a server of this machine, by the folder of its data.
#[derive(Debug)]
pub struct WorkingIn {
    folder: PathBuf,
    /// Of each process when it was started, and the ticks that it had used.
    used: HashMap<u32, (u64, u64)>,
}

/// What a process of the server used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Worked {
    /// What it does, such as `checkpointer`; `clients` of those that execute what they are asked; the program's name if
    /// it is one for everything.
    pub work: String,
    /// CPU time since the reading before.
    pub cpu: Duration,
}

impl WorkingIn {
    /// Those in `folder`.
    ///
    /// # Errors
    /// There is no such folder.
    pub fn new(folder: &Path) -> io::Result<Self> {
        Ok(Self {
            folder: folder.canonicalize()?,
            used: HashMap::new(),
        })
    }

    /// What each process did since the last reading, in ticks of the system (10 ms); at the first reading, nothing.
    /// What those used that have ended since is not known.
    pub fn read(&mut self) -> Vec<Worked> {
        let is_first = self.used.is_empty();
        let here = |pid: &u32| fs::read_link(format!("/proc/{pid}/cwd")).is_ok_and(|folder| folder == self.folder);
        let ids = process_ids().into_iter().flatten().filter(here);
        let all: Vec<ProcessStat> = ids.filter_map(ProcessStat::read).collect();
        let ticks = |stat: &ProcessStat| stat.user_ticks + stat.system_ticks;
        let worked = all.iter().filter(|_| !is_first).filter_map(|stat| {
            let before = match self.used.get(&stat.pid) {
                Some((started, before)) if *started == stat.started => *before,
                _ => 0,
            };
            let used = ticks(stat).saturating_sub(before);
            (used > 0).then(|| Worked {
                work: work(stat),
                cpu: Duration::from_secs_f64(used as f64 / kernel::ticks_per_second() as f64),
            })
        });
        let worked = worked.collect();
        self.used = all.iter().map(|stat| (stat.pid, (stat.started, ticks(stat)))).collect();
        worked
    }
}

fn work(stat: &ProcessStat) -> String {
    let title = fs::read(format!("/proc/{}/cmdline", stat.pid)).unwrap_or_default();
    let title = String::from_utf8_lossy(&title);
    postgres::work_of(&title).map_or_else(|| stat.name.clone(), str::to_owned)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;
    use std::time::Instant;

    #[test]
    fn what_works_in_a_folder_is_seen() {
        let folder = tempfile::tempdir().unwrap();
        let mut processes = WorkingIn::new(folder.path()).unwrap();
        let mut busy = Command::new("sh");
        busy.args(["-c", "while :; do :; done"]).current_dir(folder.path());
        let mut busy = busy.spawn().unwrap();
        let begun = Instant::now();
        processes.read();
        let mut seen = Vec::new();
        while seen.is_empty() && begun.elapsed() < Duration::from_secs(20) {
            std::thread::sleep(Duration::from_millis(50));
            seen = processes.read();
        }
        busy.kill().unwrap();
        busy.wait().unwrap();
        let [worked] = &seen[..] else { panic!("{seen:?}") };
        assert!(worked.cpu > Duration::ZERO);
        assert_eq!(processes.read(), []);
        assert!(WorkingIn::new(&folder.path().join("nowhere")).is_err());
    }
}
