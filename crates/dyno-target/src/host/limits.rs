//! What the machine allows this process, as far as a load depends on it.

use super::{control_groups, counters, kernel};
use rustix::process::{Resource, getrlimit};
use std::fs;
use std::path::Path;

/// The limits. What cannot be found out is none.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HostLimits {
    /// Files that this process may have open, connections among them, at most; `None`: as many as it likes.
    pub open_files: Option<u64>,
    /// Ports that connections by TCP to one address of a server can have.
    pub ports: Option<u64>,
    /// Cores that the control groups around this process let it use, if they limit that.
    pub cpu_quota: Option<f64>,
    /// Memory that they let it use, if they limit that.
    pub memory_limit_bytes: Option<u64>,
    /// What is in swap.
    pub swap_used_bytes: Option<u64>,
    /// How many processes wanted a CPU in the last minute, on average.
    pub load_average: Option<f64>,
    /// The kernel setting `io_uring_disabled`: 0 allows it to all, 1 to some, 2 to nobody.
    pub io_uring_disabled: Option<u8>,
    /// Whether a filter decides which system calls this process may make.
    pub has_seccomp: bool,
}

/// Looks at this machine.
#[must_use]
pub fn host_limits() -> HostLimits {
    let memory = kernel::memory();
    let limits = within(&control_groups::around_us());
    HostLimits {
        open_files: getrlimit(Resource::Nofile).maximum,
        ports: fs::read_to_string("/proc/sys/net/ipv4/ip_local_port_range")
            .ok()
            .and_then(|text| ports(&text)),
        swap_used_bytes: memory.map(|memory| memory.swap_total.saturating_sub(memory.swap_free)),
        load_average: counters::load_1min(),
        io_uring_disabled: fs::read_to_string("/proc/sys/kernel/io_uring_disabled")
            .ok()
            .and_then(|text| text.trim().parse().ok()),
        has_seccomp: fs::read_to_string("/proc/self/status").is_ok_and(|text| has_filter(&text)),
        ..limits
    }
}

/// How many ports there are from the first to the last of a range.
fn ports(range: &str) -> Option<u64> {
    let mut numbers = range.split_whitespace().map(|number| number.parse::<u64>().ok());
    let (first, last) = (numbers.next()??, numbers.next()??);
    Some((last + 1).saturating_sub(first))
}

/// Whether the status of a process says that a filter is in place (`proc_pid_status(5)`, Seccomp).
fn has_filter(status: &str) -> bool {
    let mut lines = status.lines();
    let mode = lines.find_map(|line| line.strip_prefix("Seccomp:"));
    mode.is_some_and(|mode| mode.trim() == "2")
}

/// The least that any of these control groups allows (kernel documentation, Control Group v2, `cpu.max` and
/// `memory.max`).
fn within<P: AsRef<Path>>(groups: &[P]) -> HostLimits {
    let read = |group: &P, name: &str| fs::read_to_string(group.as_ref().join(name)).ok();
    let quotas = groups.iter().filter_map(|group| {
        let text = read(group, "cpu.max")?;
        let mut parts = text.split_whitespace().map(|part| part.parse::<f64>().ok());
        let (time, period) = (parts.next()??, parts.next()??);
        (period > 0.0).then_some(time / period)
    });
    let memory = groups
        .iter()
        .filter_map(|group| read(group, "memory.max")?.trim().parse::<u64>().ok());
    HostLimits {
        cpu_quota: quotas.min_by(f64::total_cmp),
        memory_limit_bytes: memory.min(),
        ..HostLimits::default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_machine_has_limits() {
        let limits = host_limits();
        assert!(limits.open_files.is_none_or(|files| files > 10));
        assert!(limits.load_average.is_some() && limits.swap_used_bytes.is_some());
        assert!(limits.cpu_quota.is_none_or(|cores| cores > 0.0));
    }

    #[test]
    fn ranges_and_filters_are_read() {
        assert_eq!(ports("32768\t60999\n"), Some(28_232));
        assert_eq!(ports("x"), None);
        assert!(has_filter("Name:\tdyno\nSeccomp:\t2\nSeccomp_filters:\t1\n"));
        assert!(!has_filter("Seccomp:\t0\n"));
    }

    #[test]
    fn the_least_of_all_groups_counts() {
        let root = tempfile::tempdir().unwrap();
        let inner = root.path().join("a");
        fs::create_dir(&inner).unwrap();
        fs::write(root.path().join("cpu.max"), "max 100000\n").unwrap();
        fs::write(inner.join("cpu.max"), "150000 100000\n").unwrap();
        fs::write(root.path().join("memory.max"), "2000000\n").unwrap();
        fs::write(inner.join("memory.max"), "max\n").unwrap();
        let limits = within(&[root.path(), &inner]);
        assert_eq!(
            (limits.cpu_quota, limits.memory_limit_bytes),
            (Some(1.5), Some(2_000_000))
        );
        assert_eq!(within::<&Path>(&[]), HostLimits::default());
    }
}
