//! The control groups around this process, in which a container is held.

use std::fs;
use std::path::{Path, PathBuf};

/// Their folders, the outermost first (kernel documentation, Control Group v2).
pub(super) fn around_us() -> Vec<PathBuf> {
    let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
    let own = groups.lines().find_map(|line| line.strip_prefix("0::"));
    own.map_or_else(Vec::new, |own| around(Path::new("/sys/fs/cgroup"), own))
}

/// Those around the group `own` of the hierarchy at `root`, and itself.
pub(super) fn around(root: &Path, own: &str) -> Vec<PathBuf> {
    let mut folder = PathBuf::from(root);
    let own = Path::new(own.trim_start_matches('/'));
    let mut folders = vec![folder.clone()];
    for part in own.components() {
        folder.push(part);
        folders.push(folder.clone());
    }
    folders
}
