//! What Linux tells of itself in `/proc`. Other systems have no such files: there it is unknown, which whoever asks can
//! live with.

use procfs_core::{ExplicitSystemInfo, FromRead, FromReadSI, KernelStats, Meminfo, ProcResult};
use std::path::Path;

/// The system's unit of CPU time, in parts of a second.
pub(crate) fn ticks_per_second() -> u64 {
    rustix::param::clock_ticks_per_second()
}

/// The unit of memory, in bytes.
pub(super) fn page_size() -> usize {
    rustix::param::page_size()
}

/// What a file in `/proc` says.
pub(crate) fn read<T: FromRead>(name: impl AsRef<Path>) -> Option<T> {
    T::from_file(Path::new("/proc").join(name)).ok()
}

/// Memory and swap.
pub(super) fn memory() -> Option<Meminfo> {
    read("meminfo")
}

/// CPU time of the whole machine.
pub(super) fn stats() -> ProcResult<KernelStats> {
    let here = ExplicitSystemInfo {
        // Not of interest to what reads these.
        boot_time_secs: 0,
        ticks_per_second: ticks_per_second(),
        page_size: page_size() as u64,
        is_little_endian: cfg!(target_endian = "little"),
    };
    KernelStats::from_file("/proc/stat", &here)
}
