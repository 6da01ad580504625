//! What a result must be read with: the machine.

use super::{Capacity, kernel};
use procfs_core::CpuInfo;
use procfs_core::process::MountInfos;
use serde::Serialize;
use std::ffi::CStr;
use std::fs;
use std::path::Path;
use std::time::Instant;

/// The machine that dyno runs on. What cannot be found out is none.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HostFacts {
    /// Name of the machine.
    pub hostname: Option<String>,
    /// Kernel name, release and build.
    pub kernel: Option<String>,
    /// Model of the first processor.
    pub cpu_model: Option<String>,
    /// Cores that this process may use, at least 1.
    pub cores: u64,
    /// Main memory; 0 if unknown.
    pub memory_bytes: u64,
    /// Frequency governor of the first processor, such as `performance`.
    pub governor: Option<String>,
    /// Clock source, such as `tsc`.
    pub clock_source: Option<String>,
    /// How long reading the clock takes, in nanoseconds.
    pub clock_read_ns: u64,
    /// Transparent huge pages: `always`, `madvise` or `never`.
    pub transparent_huge_pages: Option<String>,
    /// Huge pages reserved.
    pub huge_pages: Option<u64>,
    /// Where the data folder lies, when it is on this machine.
    pub data_filesystem: Option<Filesystem>,
}

/// A mounted file system.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Filesystem {
    /// Where it is mounted.
    pub mount_point: String,
    /// Its type, such as `ext4`.
    pub kind: String,
    /// What is mounted.
    pub source: Option<String>,
}

impl HostFacts {
    /// What settings are relative to.
    #[must_use]
    pub fn capacity(&self) -> Capacity {
        Capacity {
            memory_bytes: Some(self.memory_bytes).filter(|bytes| *bytes > 0),
            cores: Some(self.cores),
        }
    }
}

/// What tells this start of this machine from all others and from other machines; containers on it have the same.
#[must_use]
pub fn boot_id() -> Option<String> {
    let text = fs::read_to_string("/proc/sys/kernel/random/boot_id").ok()?;
    Some(text.trim().to_owned()).filter(|id| !id.is_empty())
}

/// Describes this machine; `data_folder` is the server's, if it is here.
#[must_use]
pub fn host_facts(data_folder: Option<&Path>) -> HostFacts {
    let memory = kernel::memory();
    let processors: Option<CpuInfo> = kernel::read("cpuinfo");
    HostFacts {
        hostname: Some(rustix::system::uname().nodename().to_string_lossy().into_owned())
            .filter(|name| !name.is_empty()),
        kernel: Some(kernel_release()),
        cpu_model: processors.and_then(|all| all.model_name(0).map(str::to_owned)),
        cores: std::thread::available_parallelism().map_or(1, |cores| cores.get() as u64),
        memory_bytes: memory.as_ref().map_or(0, |memory| memory.mem_total),
        governor: line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor"),
        clock_source: line("/sys/devices/system/clocksource/clocksource0/current_clocksource"),
        clock_read_ns: clock_read_ns(),
        transparent_huge_pages: line("/sys/kernel/mm/transparent_hugepage/enabled").and_then(|text| chosen(&text)),
        huge_pages: memory.and_then(|memory| memory.hugepages_total),
        data_filesystem: data_folder.and_then(filesystem),
    }
}

/// The time of one reading in the fastest of some rounds: in the others something else may have taken its share.
fn clock_read_ns() -> u64 {
    const READINGS: u32 = 1000;
    let round = || {
        let begun = Instant::now();
        let mut last = begun;
        for _ in 0..READINGS {
            last = std::hint::black_box(Instant::now());
        }
        (last - begun) / READINGS
    };
    let fastest = (0..20).map(|_| round()).min().unwrap_or_default();
    fastest.as_nanos() as u64
}

fn line(path: &str) -> Option<String> {
    let text = fs::read_to_string(path).ok()?;
    Some(text.trim().to_owned()).filter(|text| !text.is_empty())
}

fn kernel_release() -> String {
    let system = rustix::system::uname();
    let parts = [system.sysname(), system.release(), system.version()];
    parts.map(CStr::to_string_lossy).join(" ").trim_end().to_owned()
}

/// The word in brackets of a list such as `always [madvise] never`.
fn chosen(text: &str) -> Option<String> {
    let (_, rest) = text.split_once('[')?;
    let (word, _) = rest.split_once(']')?;
    Some(word.to_owned())
}

/// The file system with the longest mount point above a folder.
fn filesystem(folder: &Path) -> Option<Filesystem> {
    let folder = folder.canonicalize().ok()?;
    let MountInfos(mounts) = kernel::read("self/mountinfo")?;
    // Of several mounts on one point the last covers the others, and max_by_key gives the last.
    let mount = mounts
        .into_iter()
        .filter(|mount| folder.starts_with(&mount.mount_point))
        .max_by_key(|mount| mount.mount_point.as_os_str().len())?;
    Some(Filesystem {
        mount_point: mount.mount_point.display().to_string(),
        kind: mount.fs_type,
        source: mount.mount_source,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn describes_this_machine() {
        let facts = host_facts(Some(Path::new("/proc")));
        assert!(facts.cores >= 1);
        assert!(facts.clock_read_ns >= 1);
        assert!(facts.memory_bytes > 1 << 20);
        assert!(facts.kernel.unwrap().starts_with("Linux "));
        assert_eq!(facts.data_filesystem.unwrap().kind, "proc");
    }

    #[test]
    fn takes_the_chosen_word() {
        assert_eq!(chosen("always [madvise] never").as_deref(), Some("madvise"));
        assert_eq!(chosen("always"), None);
    }
}
