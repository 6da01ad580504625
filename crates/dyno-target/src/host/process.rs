//! Processes as `/proc` shows them, and which of them are the server's.

use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

/// The part of `/proc/PID/stat` that is of use here (`proc_pid_stat(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct ProcessStat {
    pub pid: u32,
    /// Name of the program, cut off after 15 bytes.
    pub name: String,
    /// `R` running, `S` sleeping, `D` waiting for storage, `T` stopped, and so on.
    pub state: char,
    pub parent: u32,
    pub user_ticks: u64,
    pub system_ticks: u64,
    /// Of its children that have ended, and of theirs, in user space and in the kernel.
    pub children_ticks: u64,
    /// When it was started, in ticks since the machine was: with the id it names a process for good.
    pub started: u64,
}

impl ProcessStat {
    /// None if there is no such process, or not any more.
    pub(crate) fn read(pid: u32) -> Option<Self> {
        Self::parse(&String::from_utf8_lossy(&fs::read(format!("/proc/{pid}/stat")).ok()?))
    }

    fn parse(text: &str) -> Option<Self> {
        // The name may hold blanks and parentheses.
        let (pid, rest) = text.split_once(" (")?;
        let (name, rest) = rest.rsplit_once(") ")?;
        let fields: Vec<&str> = rest.split_ascii_whitespace().collect();
        // The fields are counted from the state, which is the third.
        let number = |field: usize| fields.get(field - 3)?.parse::<u64>().ok();
        Some(Self {
            pid: pid.parse().ok()?,
            name: name.to_owned(),
            state: fields.first()?.chars().next()?,
            parent: u32::try_from(number(4)?).ok()?,
            user_ticks: number(14)?,
            system_ticks: number(15)?,
            children_ticks: number(16)? + number(17)?,
            started: number(22)?,
        })
    }
}

/// The ids of all processes.
pub(crate) fn process_ids() -> Option<impl Iterator<Item = u32>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// The server's processes, if they are on this machine. Clones speak of the same ones.
#[derive(Clone, Debug, Default)]
pub(crate) struct ServerProcesses(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    main: Option<u32>,
    /// The backend of a sampler's connection.
    backend: Option<u32>,
    /// Those that were stopped when all were looked at last.
    stopped: Vec<u32>,
    /// The other servers of the same run.
    beside: Vec<ServerProcesses>,
}

impl ServerProcesses {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The main process, whose children the others are.
    pub(crate) fn main(&self) -> Option<u32> {
        self.known().main
    }

    /// The main process and the one that answers a sampler; none if they are not on this machine.
    pub(crate) fn set_found(&self, main_and_backend: Option<(Option<u32>, u32)>) {
        let mut known = self.known();
        known.main = main_and_backend.and_then(|(main, _)| main);
        known.backend = main_and_backend.map(|(_, backend)| backend);
    }

    /// The main processes of the other servers of the run, as far as they are known.
    pub(crate) fn beside(&self) -> Vec<u32> {
        let beside = self.known().beside.clone();
        beside.iter().filter_map(Self::main).collect()
    }

    /// Says that `other` belongs to another server of the same run.
    pub(crate) fn stand_beside(&self, other: &Self) {
        self.known().beside.push(other.clone());
    }

    pub(crate) fn set_stopped(&self, stopped: Vec<u32>) {
        self.known().stopped = stopped;
    }

    /// How many of those processes are stopped that were so lately, of the main one, and of the one that answers a
    /// sampler. To look at all is for those who have more time.
    pub(crate) fn stopped_now(&self) -> usize {
        let mut ids = {
            let known = self.known();
            let mut ids = known.stopped.clone();
            ids.extend(known.main);
            ids.extend(known.backend);
            ids
        };
        ids.sort_unstable();
        ids.dedup();
        let stopped = |pid: &&u32| ProcessStat::read(**pid).is_some_and(|stat| stat.state == 'T');
        ids.iter().filter(stopped).count()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn reads_a_line_of_proc() {
        let line = "4242 (a) (b c) T 17 4242 4242 0 -1 4194560 8 0 0 0 12 34 5 6 20 0 1 0 987654 1 2 3";
        let expected = ProcessStat {
            pid: 4242,
            name: "a) (b c".to_owned(),
            state: 'T',
            parent: 17,
            user_ticks: 12,
            system_ticks: 34,
            children_ticks: 11,
            started: 987_654,
        };
        assert_eq!(ProcessStat::parse(line), Some(expected));
        assert_eq!(ProcessStat::parse("4242 (a) T 17"), None);
    }

    #[test]
    fn this_process_is_there() {
        let own = ProcessStat::read(std::process::id()).unwrap();
        assert!(process_ids().unwrap().any(|pid| pid == own.pid));
        assert!(ProcessStat::read(own.parent).is_some());
    }

    #[test]
    fn servers_of_one_run_know_each_other() {
        let [one, other] = [ServerProcesses::default(), ServerProcesses::default()];
        one.stand_beside(&other);
        assert_eq!(one.beside(), Vec::<u32>::new());
        other.set_found(Some((Some(42), 43)));
        assert_eq!(one.beside(), [42]);
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "\\PC*") {
            let _ = ProcessStat::parse(&text);
        }
    }
}
