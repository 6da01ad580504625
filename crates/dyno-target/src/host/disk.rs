//! The room on a disk.

use std::io;
use std::path::{Path, PathBuf};

/// Room on a disk that is missing or not known.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DiskError {
    #[error("the free space in {} cannot be determined: {error}", folder.display())]
    Unknown { folder: PathBuf, error: io::Error },
    #[error(
        "the data needs about {:.1} GB, but {} has only {:.1} GB left: free some space, choose a smaller --size or \
         fewer rows, or keep the data on another disk (DYNO_HOME)",
        *needed_bytes as f64 / 1e9, folder.display(), *available_bytes as f64 / 1e9
    )]
    TooLittle {
        folder: PathBuf,
        needed_bytes: u64,
        available_bytes: u64,
    },
}

/// Bytes that a user who is not root may still write to the file system of a folder.
///
/// # Errors
/// The folder does not exist or may not be looked at.
pub fn free_bytes(folder: &Path) -> Result<u64, DiskError> {
    let system = rustix::fs::statvfs(folder).map_err(|error| DiskError::Unknown {
        folder: folder.to_owned(),
        error: error.into(),
    })?;
    Ok(system.f_bavail.saturating_mul(system.f_frsize))
}

/// Checks that a folder's file system has room.
///
/// # Errors
/// [`DiskError::TooLittle`], or the room is not known.
pub fn check_room(folder: &Path, needed_bytes: u64) -> Result<(), DiskError> {
    let available_bytes = free_bytes(folder)?;
    if needed_bytes > available_bytes {
        return Err(DiskError::TooLittle {
            folder: folder.to_owned(),
            needed_bytes,
            available_bytes,
        });
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_room_and_its_lack() {
        let folder = tempfile::tempdir().unwrap();
        assert!(free_bytes(folder.path()).unwrap() > 0);
        check_room(folder.path(), 1).unwrap();
        let error = check_room(folder.path(), u64::MAX).unwrap_err().to_string();
        assert!(
            error.contains("needs about 18446744073.7 GB") && error.contains("--size"),
            "{error}"
        );
        assert!(matches!(
            free_bytes(&folder.path().join("none")),
            Err(DiskError::Unknown { .. })
        ));
    }
}
