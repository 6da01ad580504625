//! Whether this process was let run: how long its threads waited for a CPU, how often one was taken from them, and how long their container's CPU
//! limit held them back.

use std::fs;
use std::path::{Path, PathBuf};

/// How long this process's threads have waited for a CPU (kernel documentation, sched-stats). Threads that have ended are not in it.
pub(super) fn runqueue_wait_s() -> Option<f64> {
    let waited_ns: u64 = each_thread("schedstat", |text| text.split_ascii_whitespace().nth(1)?.parse().ok())?;
    Some(waited_ns as f64 / 1e9)
}

/// How often this process's threads had to give up a CPU that they still wanted (`proc_pid_status(5)`). Threads that have ended are not in it.
pub(super) fn involuntary_switches() -> Option<f64> {
    let switches = each_thread("status", |text| {
        let mut lines = text.lines();
        let count = lines.find_map(|line| line.strip_prefix("nonvoluntary_ctxt_switches:"))?;
        count.trim().parse().ok()
    })?;
    Some(switches as f64)
}

/// The sum of what `number` reads from the file `name` of each thread.
fn each_thread(name: &str, number: impl Fn(&str) -> Option<u64>) -> Option<u64> {
    let tasks = fs::read_dir("/proc/self/task").ok()?;
    let numbers = tasks.filter_map(|task| number(&fs::read_to_string(task.ok()?.path().join(name)).ok()?));
    Some(numbers.sum())
}

/// How long the CPU limits of the control groups around this process held it back, all its threads together (kernel documentation, Control Group v2,
/// `cpu.stat`). None where there is no such limit.
pub(super) fn throttled_s() -> Option<f64> {
    let groups = fs::read_to_string("/proc/self/cgroup").ok()?;
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"))?;
    throttled_within(Path::new("/sys/fs/cgroup"), own)
}

/// The same for the group `own` of the hierarchy at `root`.
fn throttled_within(root: &Path, own: &str) -> Option<f64> {
    let mut folder = PathBuf::from(root);
    let own = Path::new(own.trim_start_matches('/'));
    let mut folders = vec![folder.clone()];
    for part in own.components() {
        folder.push(part);
        folders.push(folder.clone());
    }
    let throttled = folders.iter().filter_map(|folder| {
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

    #[test]
    fn this_process_is_known() {
        assert!(runqueue_wait_s().is_some());
        assert!(involuntary_switches().is_some());
    }

    #[test]
    fn limits_of_all_groups_around_count() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a/b");
        fs::create_dir_all(&inner).unwrap();
        assert_eq!(throttled_within(root.path(), "/a/b"), None);
        let stat = |us: u32| format!("usage_usec 5\nnr_periods 3\nnr_throttled 1\nthrottled_usec {us}\n");
        fs::write(root.path().join("a/cpu.stat"), stat(1_500_000)).unwrap();
        fs::write(inner.join("cpu.stat"), stat(250_000)).unwrap();
        assert_eq!(throttled_within(root.path(), "/a/b"), Some(1.75));
        assert_eq!(throttled_within(root.path(), "/a"), Some(1.5));
    }
}
