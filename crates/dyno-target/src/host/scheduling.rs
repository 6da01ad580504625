//! Whether this process was let run: how long the threads that make the load waited for a CPU, how often one was taken
//! from them, and how long their container's CPU limit held them back.

use super::control_groups;
use dyno_record::LOAD_THREAD;
use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

/// What the kernel counts of each thread of this process that makes the load, all of them together.
#[derive(Debug, Default)]
pub(super) struct Threads {
    waited_ns: Counter,
    switches: Counter,
}

impl Threads {
    /// How long these threads have waited for a CPU (kernel documentation, sched-stats).
    pub(super) fn runqueue_wait_s(&mut self) -> Option<f64> {
        let waited_ns = each_thread("schedstat", |text| text.split_ascii_whitespace().nth(1)?.parse().ok())?;
        Some(self.waited_ns.advance(waited_ns) as f64 / 1e9)
    }

    /// How often these threads had to give up a CPU that they still wanted (`proc_pid_status(5)`).
    pub(super) fn involuntary_switches(&mut self) -> Option<f64> {
        let switches = each_thread("status", |text| {
            let mut lines = text.lines();
            let count = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
            count.trim().parse().ok()
        })?;
        Some(self.switches.advance(switches) as f64)
    }
}

/// The sum of a counter over all threads. The kernel forgets a thread's counter when it ends; what was last read of
/// it stays in the sum, so that this never falls.
#[derive(Debug, Default)]
struct Counter {
    running: HashMap<u32, u64>,
    ended: u64,
}

impl Counter {
    /// From the counters of the threads that run now, by thread; gives the sum.
    fn advance(&mut self, running: HashMap<u32, u64>) -> u64 {
        for (thread, last) in &self.running {
            // A counter that has fallen is that of a new thread with an ended one's number.
            if running.get(thread).is_none_or(|now| now < last) {
                self.ended += last;
            }
        }
        self.running = running;
        self.ended + self.running.values().sum::<u64>()
    }
}

/// What `number` reads from the file `name` of each thread that makes the load.
fn each_thread(name: &str, number: impl Fn(&str) -> Option<u64>) -> Option<HashMap<u32, u64>> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let numbers = tasks.filter_map(|task| {
        let task = task.ok()?;
        let called = fs::read_to_string(task.path().join("comm")).ok()?;
        if !called.starts_with(LOAD_THREAD) {
            return None;
        }
        let thread = task.file_name().to_str()?.parse().ok()?;
        Some((thread, number(&fs::read_to_string(task.path().join(name)).ok()?)?))
    });
    Some(numbers.collect())
}

/// How long the CPU limits of the control groups around this process held it back, all its threads together (kernel
/// documentation, Control Group v2, `cpu.stat`). None where there is no such limit.
pub(super) fn throttled_s() -> Option<f64> {
    throttled_within(&control_groups::around_us())
}

/// The same for these groups.
fn throttled_within(groups: &[PathBuf]) -> Option<f64> {
    let throttled = groups.iter().filter_map(|folder| {
        let text = fs::read_to_string(folder.join("cpu.stat")).ok()?;
        let mut lines = text.lines();
        let us = lines.find_map(|line| line.strip_prefix("throttled_usec "))?;
        us.trim().parse::<u64>().ok()
    });
    // Each counts what it did itself.
    let us = throttled.reduce(|all, us| all + us)?;
    Some(us as f64 / 1e6)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::host::control_groups::around;

    #[test]
    fn only_threads_that_make_the_load_count() {
        assert_eq!(each_thread("comm", |_| Some(0)).map(|known| known.len()), Some(0));
        let named = std::thread::Builder::new().name(format!("{LOAD_THREAD}main-0"));
        let known = named
            .spawn(|| each_thread("comm", |_| Some(0)))
            .unwrap()
            .join()
            .unwrap();
        assert_eq!(known.map(|known| known.len()), Some(1));
        let mut threads = Threads::default();
        assert_eq!(threads.runqueue_wait_s(), Some(0.0));
        assert_eq!(threads.involuntary_switches(), Some(0.0));
    }

    #[test]
    fn what_ended_threads_had_stays_counted() {
        let mut counter = Counter::default();
        assert_eq!(counter.advance(HashMap::from([(1, 5), (2, 100)])), 105);
        assert_eq!(counter.advance(HashMap::from([(1, 6), (2, 130)])), 136);
        assert_eq!(counter.advance(HashMap::from([(1, 7)])), 137);
        // Another thread, with the number of the one that ended; then one that replaced it unseen.
        assert_eq!(counter.advance(HashMap::from([(1, 7), (2, 10)])), 147);
        assert_eq!(counter.advance(HashMap::from([(1, 7), (2, 3)])), 150);
    }

    #[test]
    fn limits_of_all_groups_around_count() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(throttled_within(&around(root.path(), "/a/b")), None);
        let stat = |us: u32| format!("usage_usec 5\nnr_periods 3\nnr_throttled 1\nthrottled_usec {us}\n");
        fs::write(root.path().join("a/cpu.stat"), stat(1_500_000)).unwrap();
        fs::write(inner.join("cpu.stat"), stat(250_000)).unwrap();
        assert_eq!(throttled_within(&around(root.path(), "/a/b")), Some(1.75));
        assert_eq!(throttled_within(&around(root.path(), "/a")), Some(1.5));
    }
}
