//! Counters of the kernel: disks, network, memory, pressure.

use super::kernel;
use procfs_core::net::InterfaceDeviceStatus;
use procfs_core::{CpuPressure, DiskStats, IoPressure, LoadAverage, MemoryPressure, VmStat};
use std::path::Path;

/// Bytes in a sector of `/proc/diskstats`, whatever the device's own (kernel documentation, iostats).
const SECTOR_BYTES: u64 = 512;

/// Memory: available, dirty and under writeback, in bytes.
pub(super) fn memory_bytes() -> [Option<f64>; 3] {
    let Some(memory) = kernel::memory() else {
        return [None; 3];
    };
    [memory.mem_available, Some(memory.dirty), Some(memory.writeback)].map(|bytes| bytes.map(|bytes| bytes as f64))
}

/// The memory that programs can still get without swapping, in bytes.
#[must_use]
pub fn available_memory_bytes() -> Option<u64> {
    kernel::memory()?.mem_available
}

/// Bytes swapped in and out since the machine was started.
pub(super) fn swap_bytes() -> [Option<f64>; 2] {
    let pages: Option<VmStat> = kernel::read("vmstat");
    ["pswpin", "pswpout"].map(|name| {
        let pages = *pages.as_ref()?.0.get(name)?;
        Some(pages as f64 * kernel::page_size() as f64)
    })
}

/// The mean number of processes that could run, over a minute.
pub(super) fn load_1min() -> Option<f64> {
    kernel::read("loadavg").map(|load: LoadAverage| f64::from(load.one))
}

/// What all whole disks did since the machine was started.
pub(super) struct Disks {
    pub read_bytes: f64,
    pub written_bytes: f64,
    /// For each disk how long it had something to do, in milliseconds.
    pub busy_ms: Vec<(String, u64)>,
}

pub(super) fn disks() -> Option<Disks> {
    let mut all = Disks {
        read_bytes: 0.0,
        written_bytes: 0.0,
        busy_ms: Vec::new(),
    };
    let DiskStats(disks) = kernel::read("diskstats")?;
    for disk in disks {
        if is_whole_disk(&disk.name) {
            all.read_bytes += (disk.sectors_read * SECTOR_BYTES) as f64;
            all.written_bytes += (disk.sectors_written * SECTOR_BYTES) as f64;
            all.busy_ms.push((disk.name, disk.time_in_progress));
        }
    }
    Some(all)
}

impl Disks {
    /// The share of `elapsed_ms` in which the busiest disk had something to do.
    pub(super) fn busy_share_since(&self, earlier: &Self, elapsed_ms: f64) -> Option<f64> {
        let each = self.busy_ms.iter().filter_map(|(name, now)| {
            let (_, before) = earlier.busy_ms.iter().find(|(other, _)| other == name)?;
            Some(now.saturating_sub(*before) as f64 / elapsed_ms)
        });
        each.max_by(f64::total_cmp).map(|share| share.min(1.0))
    }
}

/// Whether a name is a disk rather than a partition (not in /sys/block) or a layer above disks, which would count
/// bytes twice.
fn is_whole_disk(name: &str) -> bool {
    let is_layer = ["loop", "ram", "zram", "dm-", "md"]
        .iter()
        .any(|prefix| name.starts_with(prefix));
    !is_layer && Path::new("/sys/block").join(name).exists()
}

/// Bytes received and sent by all interfaces but the loopback.
pub(super) fn net_bytes() -> [Option<f64>; 2] {
    let Some(InterfaceDeviceStatus(interfaces)) = kernel::read("self/net/dev") else {
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

/// Time in which some task waited for the processor, for input/output, for memory, and in which all waited for
/// input/output. None where the kernel does not keep it.
pub(super) fn pressure_us() -> [Option<f64>; 4] {
    let cpu: Option<CpuPressure> = kernel::read("pressure/cpu");
    let io: Option<IoPressure> = kernel::read("pressure/io");
    let memory: Option<MemoryPressure> = kernel::read("pressure/memory");
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
    fn the_busiest_disk_counts() {
        let disks = |a, b| Disks {
            read_bytes: 0.0,
            written_bytes: 0.0,
            busy_ms: vec![("a".to_owned(), a), ("b".to_owned(), b)],
        };
        assert_eq!(disks(110, 900).busy_share_since(&disks(100, 400), 1000.0), Some(0.5));
        assert_eq!(disks(1, 9000).busy_share_since(&disks(5, 400), 1000.0), Some(1.0));
    }
}
