//! Processes as `/proc` shows them, and which of them are the server's.

use crate::Client;
use std::fs;
use std::sync::{Arc, Mutex, PoisonError};

/// The part of `/proc/PID/stat` that is of use here (`proc_pid_stat(5)`).
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ProcessStat {
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
    pub(super) fn read(pid: u32) -> Option<Self> {
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
pub(super) fn process_ids() -> Option<impl Iterator<Item = u32>> {
    let entries = fs::read_dir("/proc").ok()?;
    Some(entries.filter_map(|entry| entry.ok()?.file_name().to_str()?.parse().ok()))
}

/// The server's processes, if they are on this machine. Clones speak of the same ones.
#[derive(Clone, Debug, Default)]
pub(super) struct ServerProcesses(Arc<Mutex<Known>>);

#[derive(Debug, Default)]
struct Known {
    main: Option<u32>,
    /// The backend of a sampler's connection.
    backend: Option<u32>,
    /// Those that were stopped when all were looked at last.
    stopped: Vec<u32>,
}

impl ServerProcesses {
    fn known(&self) -> std::sync::MutexGuard<'_, Known> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The main process, whose children the others are.
    pub(super) fn main(&self) -> Option<u32> {
        self.known().main
    }

    pub(super) fn set_stopped(&self, stopped: Vec<u32>) {
        self.known().stopped = stopped;
    }

    /// Looks for the server on this machine, through the process of this connection's backend. Its title tells that it is no other process that
    /// happens to have the same id here as the backend has on another machine, or in a container of its own.
    pub(super) fn find(&self, client: &mut Client) -> Result<(), postgres::Error> {
        let row = client.query_one(
            "select pg_backend_pid(), session_user::text, current_database()::text",
            &[],
        )?;
        let (pid, user, database): (i32, String, String) = (row.get(0), row.get(1), row.get(2));
        let pid = pid.cast_unsigned();
        let title = fs::read(format!("/proc/{pid}/cmdline")).unwrap_or_default();
        let title = String::from_utf8_lossy(&title);
        let mut known = self.known();
        (known.main, known.backend) = if is_backend(&title, &user, &database) {
            (ProcessStat::read(pid).map(|stat| stat.parent), Some(pid))
        } else {
            (None, None)
        };
        Ok(())
    }

    /// How many of those processes are stopped that were so lately, of the main one, and of the one that answers a sampler. To look at all is for
    /// those who have more time.
    pub(super) fn stopped_now(&self) -> usize {
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

/// Whether a process title is that of a backend with this user and database.
fn is_backend(title: &str, user: &str, database: &str) -> bool {
    title.contains("postgres") && title.contains(&format!(" {user} {database} "))
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
    fn a_title_tells_a_backend() {
        assert!(is_backend("postgres: dyno dyno_run [local] SELECT", "dyno", "dyno_run"));
        assert!(is_backend(
            "postgres: main: dyno dyno_run 127.0.0.1(4000) idle",
            "dyno",
            "dyno_run"
        ));
        assert!(!is_backend("postgres: dyno other [local] SELECT", "dyno", "dyno_run"));
        assert!(!is_backend("/bin/sh", "dyno", "dyno_run"));
    }

    proptest! {
        #[test]
        fn any_text_is_read_without_harm(text in "\\PC*") {
            let _ = ProcessStat::parse(&text);
        }
    }
}
