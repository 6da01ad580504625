//! CPU time of single processes.
//!
//! All of `/proc/PID/stat` is read once a second, so this is done with as little as possible: one small read for
//! each process.

use super::kernel;
use super::process::{ProcessStat, process_ids};
use std::collections::HashMap;
use std::ffi::CStr;
use std::time::Instant;

/// What processes of agents are called.
const AGENT_NAME: &CStr = c"dyno-agent";

/// Names this process as agents are called. It would otherwise have the name of its file, on load hosts a hash.
pub fn be_called_agent() {
    // The name is for people; without it nothing else changes.
    #[cfg(target_os = "linux")]
    let _ = rustix::thread::set_name(AGENT_NAME);
}

/// Whose a process is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Role {
    Dyno,
    Server,
    /// Another server of the same run.
    Beside,
    Other,
}

impl Role {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Dyno => "dyno",
            Self::Server => "server",
            Self::Beside => "beside",
            Self::Other => "other",
        }
    }
}

/// A process that is there, with what it used since the last reading: shares of one core.
#[derive(Clone, Debug)]
pub(super) struct Seen {
    pub pid: u32,
    pub name: String,
    pub role: Role,
    pub state: char,
    pub user_share: f64,
    pub system_share: f64,
}

impl Seen {
    pub(super) fn busy_share(&self) -> f64 {
        self.user_share + self.system_share
    }
}

/// How often all processes are read at most to find none that a main process has waited for meanwhile.
const MOST_READINGS: usize = 3;

/// All processes, with the main processes as they were before the others were read: a child that has ended by now is
/// then missing, which the next reading makes up for, and never counted twice, with its parent and by itself. In which
/// order the system lists them does not matter: ids begin anew after the greatest, so a child may come first.
fn consistent(mains: &[u32]) -> Option<Vec<ProcessStat>> {
    let before: Vec<ProcessStat> = mains.iter().filter_map(|pid| ProcessStat::read(*pid)).collect();
    let others = process_ids()?.filter(|pid| before.iter().all(|stat| stat.pid != *pid));
    let others: Vec<ProcessStat> = others.filter_map(ProcessStat::read).collect();
    Some(before.into_iter().chain(others).collect())
}

/// What each process had used when it was last read.
#[derive(Debug, Default)]
pub(super) struct Processes {
    /// By process id: when it was started, and its ticks in user space and in the kernel.
    used: HashMap<u32, (u64, u64, u64)>,
    last: Option<Instant>,
    server: ServerTime,
    /// The same of the other servers of the run, by their main process.
    beside: HashMap<u32, ServerTime>,
    /// What the agents used that this process has started here to drive a load.
    agents_ticks: u64,
}

/// CPU time of the server's processes. What those used that have ended is known to the main one, which they are
/// children of: of backends that live for a moment nothing else would be seen.
#[derive(Debug, Default)]
struct ServerTime {
    /// The main process by its id and when it was started, and the ticks that it, its children and those that were
    /// had used at most.
    main: Option<(u32, u64, u64)>,
    ticks: u64,
}

impl ServerTime {
    /// `used` are the ticks of all now; `fresh`, whether the main process was started since the last reading.
    fn advance(&mut self, main: &ProcessStat, used: u64, fresh: bool) {
        let before = match self.main {
            Some((pid, started, before)) if (pid, started) == (main.pid, main.started) => before,
            _ if fresh => 0,
            _ => used,
        };
        // A process that ends while all are read may be missed; what looks like less now is made up for by the next.
        self.ticks += used.saturating_sub(before);
        self.main = Some((main.pid, main.started, used.max(before)));
    }
}

impl Processes {
    /// Reads all processes, the busiest first; `main` is the server's main process, if it is on this machine, and
    /// `beside` are those of other servers of the run. None if there is no `/proc`.
    pub(super) fn read(&mut self, main: Option<u32>, beside: &[u32]) -> Option<Vec<Seen>> {
        let mains: Vec<u32> = main.iter().chain(beside).copied().collect();
        let mut now = Instant::now();
        let mut all = consistent(&mains)?;
        for _ in 1..MOST_READINGS {
            let reaped = |pid: &u32| ProcessStat::read(*pid).map(|stat| stat.children_ticks);
            let seen = |pid: &u32| all.iter().find(|stat| stat.pid == *pid).map(|stat| stat.children_ticks);
            if mains.iter().all(|pid| reaped(pid) == seen(pid)) {
                break;
            }
            now = Instant::now();
            all = consistent(&mains)?;
        }
        Some(self.advance(all, main, beside, now))
    }

    fn advance(&mut self, all: Vec<ProcessStat>, main: Option<u32>, beside: &[u32], now: Instant) -> Vec<Seen> {
        let first = self.last.is_none();
        let elapsed_s = self.last.map_or(0.0, |last| now.duration_since(last).as_secs_f64());
        let share = |ticks: u64| {
            if elapsed_s > 0.0 {
                ticks as f64 / kernel::ticks_per_second() as f64 / elapsed_s
            } else {
                0.0
            }
        };
        let own = std::process::id();
        let of = |main: u32| move |stat: &&ProcessStat| stat.pid == main || stat.parent == main;
        for pid in main.iter().chain(beside) {
            let Some(main_process) = all.iter().find(|stat| stat.pid == *pid) else {
                continue;
            };
            let processes = all.iter().filter(of(*pid));
            let used: u64 = processes.map(|stat| stat.user_ticks + stat.system_ticks).sum();
            let known = self.used.get(pid);
            let known = known.is_some_and(|(started, ..)| *started == main_process.started);
            let time = match main {
                Some(main) if main == *pid => &mut self.server,
                _ => self.beside.entry(*pid).or_default(),
            };
            time.advance(main_process, used + main_process.children_ticks, !first && !known);
        }
        let is_agent = |stat: &ProcessStat| stat.parent == own && stat.name.as_bytes() == AGENT_NAME.to_bytes();
        let mut used = HashMap::with_capacity(all.len());
        let mut seen = Vec::with_capacity(all.len());
        for stat in all {
            used.insert(stat.pid, (stat.started, stat.user_ticks, stat.system_ticks));
            // A process that was not there before has used all of its time since then.
            let (user_before, system_before) = match self.used.get(&stat.pid) {
                Some((started, user, system)) if *started == stat.started => (*user, *system),
                _ if first => (stat.user_ticks, stat.system_ticks),
                _ => (0, 0),
            };
            let user = stat.user_ticks.saturating_sub(user_before);
            let system = stat.system_ticks.saturating_sub(system_before);
            let role = match stat.pid {
                pid if pid == own => Role::Dyno,
                _ if main.is_some_and(|main| of(main)(&&stat)) => Role::Server,
                _ if beside.iter().any(|main| of(*main)(&&stat)) => Role::Beside,
                _ if is_agent(&stat) => {
                    self.agents_ticks += user + system;
                    Role::Dyno
                }
                _ => Role::Other,
            };
            seen.push(Seen {
                pid: stat.pid,
                name: stat.name,
                role,
                state: stat.state,
                user_share: share(user),
                system_share: share(system),
            });
        }
        self.used = used;
        self.last = Some(now);
        seen.sort_by(|a, b| b.busy_share().total_cmp(&a.busy_share()));
        seen
    }

    /// CPU time of the server's processes since the first reading, with those that have ended.
    pub(super) fn server_cpu_s(&self) -> f64 {
        self.server.ticks as f64 / kernel::ticks_per_second() as f64
    }

    /// CPU time of agents that this process has started here, since the first reading.
    pub(super) fn agents_cpu_s(&self) -> f64 {
        self.agents_ticks as f64 / kernel::ticks_per_second() as f64
    }

    /// The same of all other servers of the run.
    pub(super) fn beside_cpu_s(&self) -> f64 {
        let ticks: u64 = self.beside.values().map(|time| time.ticks).sum();
        ticks as f64 / kernel::ticks_per_second() as f64
    }
}

/// CPU time of this process since it was started.
pub(super) fn own_cpu_s() -> Option<f64> {
    let stat = ProcessStat::read(std::process::id())?;
    Some((stat.user_ticks + stat.system_ticks) as f64 / kernel::ticks_per_second() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn stat(pid: u32, parent: u32, started: u64, user_ticks: u64) -> ProcessStat {
        ProcessStat {
            pid,
            name: "x".to_owned(),
            state: 'S',
            parent,
            user_ticks,
            system_ticks: 0,
            children_ticks: 0,
            started,
        }
    }

    #[test]
    fn time_is_counted_by_role_from_the_first_reading_on() {
        let mut processes = Processes::default();
        let begin = Instant::now();
        processes.advance(vec![stat(10, 1, 5, 700), stat(11, 10, 6, 300)], Some(10), &[], begin);
        assert_eq!(processes.server_cpu_s(), 0.0);
        let hertz = kernel::ticks_per_second();
        // One goes on and has seen another end, whose id is taken by a third, and one is new.
        let main = ProcessStat {
            children_ticks: 300,
            ..stat(10, 1, 5, 700 + hertz)
        };
        let later = vec![main, stat(11, 1, 9, hertz / 2), stat(12, 10, 9, hertz)];
        let seen = processes.advance(later, Some(10), &[], begin + Duration::from_secs(2));
        assert_eq!(processes.server_cpu_s(), 2.0);
        let shares: Vec<_> = seen
            .iter()
            .map(|seen| (seen.pid, seen.role, seen.busy_share()))
            .collect();
        assert_eq!(
            shares,
            [
                (10, Role::Server, 0.5),
                (12, Role::Server, 0.5),
                (11, Role::Other, 0.25)
            ]
        );
    }

    #[test]
    fn other_servers_of_the_run_are_not_anybody() {
        let mut processes = Processes::default();
        let (begin, hertz) = (Instant::now(), kernel::ticks_per_second());
        let all = |ticks| [10, 20, 30].map(|pid| stat(pid, 1, 5, ticks * u64::from(pid / 10)));
        processes.advance(all(0).to_vec(), Some(10), &[20], begin);
        let later = begin + Duration::from_secs(1);
        let mut seen = processes.advance(all(hertz).to_vec(), Some(10), &[20], later);
        seen.sort_by_key(|seen| seen.pid);
        let roles: Vec<_> = seen.iter().map(|seen| seen.role).collect();
        assert_eq!(roles, [Role::Server, Role::Beside, Role::Other]);
        assert_eq!((processes.server_cpu_s(), processes.beside_cpu_s()), (1.0, 2.0));
    }

    #[test]
    fn agents_are_dynos_own() {
        let mut processes = Processes::default();
        let (begin, hertz, own) = (Instant::now(), kernel::ticks_per_second(), std::process::id());
        let named = |name: &str, stat: ProcessStat| ProcessStat {
            name: name.to_owned(),
            ..stat
        };
        let all = |ticks| {
            let [other, agent, helper] = [1, own, own].map(|parent| stat(7, parent, 5, ticks));
            vec![
                named("dyno", stat(own, 1, 5, 0)),
                named("dyno-agent", ProcessStat { pid: own + 1, ..other }),
                named("dyno-agent", ProcessStat { pid: own + 2, ..agent }),
                named("ssh", ProcessStat { pid: own + 3, ..helper }),
            ]
        };
        processes.advance(all(100), None, &[], begin);
        let mut seen = processes.advance(all(100 + hertz), None, &[], begin + Duration::from_secs(1));
        seen.sort_by_key(|seen| seen.pid);
        let roles: Vec<_> = seen.iter().map(|seen| seen.role).collect();
        assert_eq!(roles, [Role::Dyno, Role::Other, Role::Dyno, Role::Other]);
        assert_eq!(processes.agents_cpu_s(), 1.0);
    }

    #[test]
    fn what_short_lived_backends_used_is_the_servers() {
        let mut processes = Processes::default();
        let (begin, hertz) = (Instant::now(), kernel::ticks_per_second());
        let reaped = |children_ticks: u64, started: u64| ProcessStat {
            children_ticks,
            ..stat(10, 1, started, 0)
        };
        processes.advance(vec![reaped(500, 5)], Some(10), &[], begin);
        // Each lived between two readings, but for one that is read as long as it is not waited for.
        let second = vec![reaped(500 + 2 * hertz, 5), stat(11, 10, 6, hertz)];
        processes.advance(second, Some(10), &[], begin + Duration::from_secs(1));
        assert_eq!(processes.server_cpu_s(), 3.0);
        processes.advance(
            vec![reaped(500 + 3 * hertz, 5)],
            Some(10),
            &[],
            begin + Duration::from_secs(2),
        );
        assert_eq!(processes.server_cpu_s(), 3.0);
        // The server was started anew.
        processes.advance(vec![reaped(hertz, 70)], Some(10), &[], begin + Duration::from_secs(3));
        assert_eq!(processes.server_cpu_s(), 4.0);
    }

    #[test]
    fn main_processes_are_read_before_their_children() {
        let own = std::process::id();
        let all = consistent(&[own]).unwrap();
        assert_eq!(all[0].pid, own);
        assert_eq!(all.iter().filter(|stat| stat.pid == own).count(), 1);
    }

    #[test]
    fn this_process_is_found() {
        let seen = Processes::default().read(None, &[]).unwrap();
        let own = seen.iter().find(|process| process.role == Role::Dyno).unwrap();
        assert_eq!(own.pid, std::process::id());
        assert!(own_cpu_s().unwrap() >= 0.0);
    }
}
