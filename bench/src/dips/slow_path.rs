//! Storage that can be made slow for some processes, by the kernel's control group for block devices (version 1).

use crate::Result;
use nix::sys::stat::{major, minor, stat};
use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

const CONTROLLER: &str = "/sys/fs/cgroup/blkio";

/// How much more than the load is writing may be written: a little, so that only what comes on top of it has to wait.
const ROOM: f64 = 1.5;

/// Whatever the load writes, so much is let through.
const LEAST_BYTES_PER_S: f64 = 30e6;

/// For how long it is looked at what the load writes.
const LOOK: Duration = Duration::from_secs(2);

/// A control group whose processes can be slowed down when they write to one device. It is removed when this is
/// dropped.
pub struct SlowPath {
    group: PathBuf,
    device: String,
}

impl SlowPath {
    /// Makes a group for the device that `folder` is on.
    ///
    /// # Errors
    /// There is no such controller, or only root may use it.
    pub fn to(folder: &Path) -> Result<Self> {
        let device = stat(folder)?.st_dev;
        let group = Path::new(CONTROLLER).join(format!("dyno-bench-{}", std::process::id()));
        if !Path::new(CONTROLLER).join("cgroup.procs").exists() {
            return Err("there is no control group for block devices".into());
        }
        fs::create_dir_all(&group)?;
        let path = Self {
            group,
            device: format!("{}:{}", major(device), minor(device)),
        };
        // A partition is refused: its disk would have to be slowed down.
        path.limit(0)?;
        Ok(path)
    }

    /// Takes processes into the group; their children will be in it, too.
    ///
    /// # Errors
    /// They cannot be moved.
    pub fn take_in(&self, processes: &[i32]) -> Result<()> {
        for process in processes {
            match fs::write(self.group.join("cgroup.procs"), process.to_string()) {
                // It has ended.
                Err(error) if error.raw_os_error() == Some(nix::libc::ESRCH) => {}
                result => result?,
            }
        }
        Ok(())
    }

    /// Leaves the group little more than it writes at the moment.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn slow_down(&self) -> Result<Slow<'_>> {
        let before = self.written_bytes()?;
        std::thread::sleep(LOOK);
        let usual = (self.written_bytes()? - before) / LOOK.as_secs_f64();
        self.limit((usual * ROOM).max(LEAST_BYTES_PER_S) as u64)?;
        Ok(Slow(self))
    }

    /// Bytes written by the group so far.
    fn written_bytes(&self) -> Result<f64> {
        let text = fs::read_to_string(self.group.join("blkio.throttle.io_service_bytes"))?;
        let of_device = |line: &str| {
            line.strip_prefix(&self.device)?
                .trim()
                .strip_prefix("Write")?
                .trim()
                .parse()
                .ok()
        };
        Ok(text.lines().find_map(of_device).unwrap_or(0.0))
    }

    /// Limits the bytes written per second; 0 lifts the limit.
    ///
    /// # Errors
    /// The kernel refuses.
    pub fn limit(&self, bytes_per_s: u64) -> Result<()> {
        let limit = format!("{} {bytes_per_s}", self.device);
        Ok(fs::write(self.group.join("blkio.throttle.write_bps_device"), limit)?)
    }
}

impl Drop for SlowPath {
    fn drop(&mut self) {
        // Its processes have ended with the run; a group that is left does no harm.
        let _ = fs::remove_dir(&self.group);
    }
}

/// While this exists writing is slow.
pub struct Slow<'a>(&'a SlowPath);

impl Drop for Slow<'_> {
    fn drop(&mut self) {
        // A group that is gone limits nothing.
        let _ = self.0.limit(0);
    }
}
