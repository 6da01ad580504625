//! The machine dyno runs on, from /proc.

use super::{SampleError, Sampler};
use procfs::{CpuTime, Current, CurrentSI, KernelStats, LoadAverage, Meminfo};
use std::path::Path;

/// Bytes in a sector of `/proc/diskstats`, whatever the device's own (kernel documentation, iostats).
const SECTOR_BYTES: u64 = 512;

const COLUMNS: [&str; 16] = [
    "cpu_user_share",
    "cpu_system_share",
    "cpu_iowait_share",
    "cpu_steal_share",
    "cpu_idle_share",
    "dyno_cpu_s",
    "memory_available_bytes",
    "load_1min",
    "disk_read_bytes",
    "disk_written_bytes",
    "net_received_bytes",
    "net_sent_bytes",
    "pressure_cpu_some_us",
    "pressure_io_some_us",
    "pressure_memory_some_us",
    "pressure_io_full_us",
];

/// Samples CPU (shares of all cores since the last sample), this process's CPU time, memory, load, disks, network and pressure stalls.
#[derive(Debug)]
pub struct HostSampler {
    columns: Vec<String>,
    last: Option<Ticks>,
}

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

    /// Shares of the time since `earlier`; none when no time has passed. Single kinds can run backwards a little (idle and iowait do on
    /// some kernels) and then count as nothing.
    fn shares_since(self, earlier: Self) -> [Option<f64>; 5] {
        let mut parts = self.kinds();
        for (part, before) in parts.iter_mut().zip(earlier.kinds()) {
            *part = part.saturating_sub(before);
        }
        let total: u64 = parts.iter().sum();
        parts.map(|part| (total > 0).then(|| part as f64 / total as f64))
    }
}

impl Default for HostSampler {
    fn default() -> Self {
        Self::new()
    }
}

impl HostSampler {
    /// Starts now: the first sample's shares are since here.
    #[must_use]
    pub fn new() -> Self {
        Self {
            columns: COLUMNS.map(str::to_owned).to_vec(),
            last: KernelStats::current().ok().map(|stats| (&stats.total).into()),
        }
    }
}

impl Sampler for HostSampler {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn warnings(&self) -> &[String] {
        &[]
    }

    fn sample(&mut self) -> Result<Vec<Option<f64>>, SampleError> {
        let stats = KernelStats::current().map_err(|error| SampleError {
            source_name: "the host",
            message: error.to_string(),
        })?;
        let now = Ticks::from(&stats.total);
        let shares = self.last.map_or([None; 5], |last| now.shares_since(last));
        self.last = Some(now);
        let mut row = shares.to_vec();
        row.push(process_cpu_s());
        row.push(
            Meminfo::current()
                .ok()
                .and_then(|memory| memory.mem_available)
                .map(|bytes| bytes as f64),
        );
        row.push(LoadAverage::current().ok().map(|load| f64::from(load.one)));
        row.extend(disk_bytes());
        row.extend(net_bytes());
        row.extend(pressure_us());
        Ok(row)
    }
}

/// CPU time of this process, user and system.
fn process_cpu_s() -> Option<f64> {
    let stat = procfs::process::Process::myself().ok()?.stat().ok()?;
    Some((stat.utime + stat.stime) as f64 / procfs::ticks_per_second() as f64)
}

/// Bytes read and written by all whole disks.
fn disk_bytes() -> [Option<f64>; 2] {
    let Ok(disks) = procfs::diskstats() else {
        return [None; 2];
    };
    let sectors = disks
        .iter()
        .filter(|disk| is_whole_disk(&disk.name))
        .fold((0, 0), |sum, disk| {
            (sum.0 + disk.sectors_read, sum.1 + disk.sectors_written)
        });
    [sectors.0, sectors.1].map(|sectors: u64| Some((sectors * SECTOR_BYTES) as f64))
}

/// Whether a name is a disk rather than a partition (not in /sys/block) or a layer above disks, which would count bytes twice.
fn is_whole_disk(name: &str) -> bool {
    let is_layer = ["loop", "ram", "zram", "dm-", "md"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    !is_layer && Path::new("/sys/block").join(name).exists()
}

/// Bytes received and sent by all interfaces but the loopback.
fn net_bytes() -> [Option<f64>; 2] {
    let Ok(interfaces) = procfs::net::dev_status() else {
        return [None; 2];
    };
    let bytes = interfaces
        .values()
        .filter(|interface| interface.name != "lo")
        .fold((0, 0), |sum, interface| {
            (sum.0 + interface.recv_bytes, sum.1 + interface.sent_bytes)
        });
    [bytes.0, bytes.1].map(|bytes: u64| Some(bytes as f64))
}

/// Time in which some task waited for the processor, for input/output, for memory, and in which all waited for input/output. None where
/// the kernel does not keep it.
fn pressure_us() -> [Option<f64>; 4] {
    let cpu = procfs::CpuPressure::current().ok();
    let io = procfs::IoPressure::current().ok();
    let memory = procfs::MemoryPressure::current().ok();
    [
        cpu.map(|cpu| cpu.some.total),
        io.as_ref().map(|io| io.some.total),
        memory.map(|memory| memory.some.total),
        io.map(|io| io.full.total),
    ]
    .map(|total| total.map(|us| us as f64))
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
        let shares = ticks(40, 170).shares_since(ticks(10, 100));
        assert_eq!(shares, [Some(0.3), Some(0.0), Some(0.0), Some(0.0), Some(0.7)]);
        assert_eq!(ticks(1, 1).shares_since(ticks(1, 1)), [None; 5]);
        assert_eq!(ticks(2, 0).shares_since(ticks(1, 1))[4], Some(0.0));
    }

    #[test]
    fn samples_this_machine() {
        let mut sampler = HostSampler::new();
        let row = sampler.sample().unwrap();
        assert_eq!(row.len(), sampler.columns().len());
        let value = |name: &str| row[sampler.columns().iter().position(|c| c == name).unwrap()];
        assert!(value("memory_available_bytes").unwrap() > 0.0);
        assert!(value("dyno_cpu_s").unwrap() >= 0.0);
    }
}
