//! CPU time of the whole machine by kind.

use super::kernel;
use procfs_core::{CpuTime, KernelStats};

/// CPU time by kind, in ticks over all cores.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Ticks {
    user: u64,
    system: u64,
    iowait: u64,
    steal: u64,
    idle: u64,
}

impl From<&CpuTime> for Ticks {
    fn from(time: &CpuTime) -> Self {
        // Guest time is part of user time already.
        Self {
            user: time.user + time.nice,
            system: time.system + time.irq.unwrap_or(0) + time.softirq.unwrap_or(0),
            iowait: time.iowait.unwrap_or(0),
            steal: time.steal.unwrap_or(0),
            idle: time.idle,
        }
    }
}

impl Ticks {
    fn kinds(self) -> [u64; 5] {
        [self.user, self.system, self.iowait, self.steal, self.idle]
    }

    /// Shares of the time since `earlier`; none when no time has passed. Single kinds can run backwards a little
    /// (idle and iowait do on some kernels) and then count as nothing.
    fn shares_since(self, earlier: Self) -> Option<CpuShares> {
        let mut parts = self.kinds();
        for (part, before) in parts.iter_mut().zip(earlier.kinds()) {
            *part = part.saturating_sub(before);
        }
        let total: u64 = parts.iter().sum();
        let [user, system, iowait, steal, idle] = parts.map(|part| part as f64 / total as f64);
        (total > 0).then_some(CpuShares {
            user,
            system,
            iowait,
            steal,
            idle,
        })
    }
}

/// How all cores together spent their time, as shares that sum to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CpuShares {
    /// In user space.
    pub user: f64,
    /// In the kernel.
    pub system: f64,
    /// Idle while something waited for storage.
    pub iowait: f64,
    /// Taken by other virtual machines.
    pub steal: f64,
    /// Idle.
    pub idle: f64,
}

/// Measures how the machine's cores spend their time, from one reading to the next.
#[derive(Debug)]
pub struct CpuMeter {
    last: Option<Ticks>,
}

/// Seconds of CPU time that processes have used since the system was started. Interrupts are not in it: they are
/// nobody's.
pub(super) fn used_cpu_s(stats: &KernelStats) -> f64 {
    let ticks = Ticks::from(&stats.total);
    let interrupts = stats.total.irq.unwrap_or(0) + stats.total.softirq.unwrap_or(0);
    (ticks.user + ticks.system - interrupts) as f64 / kernel::ticks_per_second() as f64
}

impl Default for CpuMeter {
    fn default() -> Self {
        Self::new()
    }
}

impl CpuMeter {
    /// Begins now.
    #[must_use]
    pub fn new() -> Self {
        Self {
            last: kernel::stats().ok().map(|stats| (&stats.total).into()),
        }
    }

    /// The shares since the last reading; none if the kernel does not say, or no time has passed.
    pub fn read(&mut self) -> Option<CpuShares> {
        self.advance(&kernel::stats().ok()?)
    }

    pub(super) fn advance(&mut self, stats: &KernelStats) -> Option<CpuShares> {
        let now = Ticks::from(&stats.total);
        let last = self.last.replace(now)?;
        now.shares_since(last)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shares_are_of_the_time_between() {
        let ticks = |user, idle| Ticks {
            user,
            system: 0,
            iowait: 5,
            steal: 0,
            idle,
        };
        let shares = ticks(40, 170).shares_since(ticks(10, 100)).unwrap();
        assert_eq!((shares.user, shares.iowait, shares.idle), (0.3, 0.0, 0.7));
        assert_eq!(ticks(1, 1).shares_since(ticks(1, 1)), None);
        assert_eq!(ticks(2, 0).shares_since(ticks(1, 1)).unwrap().idle, 0.0);
    }
}
