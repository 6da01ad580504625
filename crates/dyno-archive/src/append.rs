//! A file that is only appended to.

use crate::{ArchiveError, open_regular};
use std::fs::{File, OpenOptions};
use std::io::Write;
use std::path::{Path, PathBuf};

/// A file of a run folder that grows while the run goes on. Each append is one system call, so that a kill leaves
/// whole appends behind; nothing is synced to disk meanwhile, because that would disturb the very disk under test.
#[derive(Debug)]
pub(super) struct AppendFile {
    path: PathBuf,
    file: File,
    /// Bytes of whole appends.
    length: u64,
}

impl AppendFile {
    /// Makes the file, which must not exist.
    pub fn create(path: PathBuf) -> Result<Self, ArchiveError> {
        let file = OpenOptions::new().append(true).create_new(true).open(&path);
        let file = file.map_err(ArchiveError::write(&path))?;
        Ok(Self { path, file, length: 0 })
    }

    /// Appends `bytes`, or nothing of them: what a full disk still took is taken off again. A file that was removed
    /// meanwhile is an error too, although the system would go on writing into nothing.
    pub fn append(&mut self, bytes: &[u8]) -> Result<(), ArchiveError> {
        let written = std::fs::symlink_metadata(&self.path).and_then(|_| self.file.write_all(bytes));
        match written {
            Ok(()) => self.length += bytes.len() as u64,
            // Readers pass over a torn end, so one that cannot be taken off is no second error.
            Err(_) => drop(self.file.set_len(self.length)),
        }
        written.map_err(ArchiveError::write(&self.path))
    }

    /// Marks the file as being written, for as long as it stays open. A file system without locks is no reason to fail.
    pub fn lock(&self) {
        let _ = self.file.lock();
    }

    /// Whether a living process holds the file at `path` locked.
    pub fn is_locked(path: &Path) -> bool {
        open_regular(path).is_ok_and(|file| matches!(file.try_lock_shared(), Err(std::fs::TryLockError::WouldBlock)))
    }
}

impl Drop for AppendFile {
    /// Releases the lock at once: closing alone would leave it to a child process that is just being started and
    /// still holds a copy of the file.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use super::*;

    #[test]
    fn a_full_disk_is_an_error_with_its_path() {
        // The system's own full disk.
        let path = PathBuf::from("/dev/full");
        let file = OpenOptions::new().append(true).open(&path).unwrap();
        let error = AppendFile { path, file, length: 0 }.append(b"x").unwrap_err();
        assert!(
            error.to_string().starts_with("cannot write /dev/full: No space left"),
            "{error}"
        );
    }
}
