//! The pages of files that the machine keeps in memory.

use std::collections::BTreeSet;
use std::fmt;
use std::fs;
use std::io::{self, ErrorKind, Write};
use std::path::{Path, PathBuf};

/// How pages left the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The machine's whole cache was dropped, which only root may do.
    Machine,
    /// The kernel was advised to forget the files of the data folder, which it does unless somebody else uses them.
    Files {
        /// Files.
        files: u64,
        /// Their size.
        bytes: u64,
    },
}

impl fmt::Display for Dropped {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Machine => write!(f, "the machine's page cache was dropped"),
            Self::Files { files, bytes } => write!(
                f,
                "the kernel was advised to forget {files} files of the data folder ({:.0} MB), since dropping the \
                 whole page cache is not allowed here",
                *bytes as f64 / 1e6
            ),
        }
    }
}

/// The page cache could not be emptied.
#[derive(Debug, thiserror::Error)]
#[error("the page cache cannot be emptied: {} cannot be read: {error}", path.display())]
pub struct PageCacheError {
    path: PathBuf,
    error: io::Error,
}

/// Empties the page cache of what the data folder's files have in it. The server must not run: what it has in its
/// own buffers stays there.
///
/// # Errors
/// The data folder cannot be read.
pub fn drop_pages(data_folder: &Path) -> Result<Dropped, PageCacheError> {
    // Only what is on disk can be forgotten.
    rustix::fs::sync();
    match drop_all() {
        Ok(()) => Ok(Dropped::Machine),
        Err(_) => forget_files(data_folder),
    }
}

/// Drops the cache of the whole machine (`proc(5)`, drop_caches: 1 is the page cache). In most containers this is
/// refused, even to root.
fn drop_all() -> io::Result<()> {
    fs::File::options()
        .write(true)
        .open("/proc/sys/vm/drop_caches")?
        .write_all(b"1\n")
}

/// Advises the kernel to forget every file below a folder, and below the folders that its links lead to
/// (tablespaces, the log).
fn forget_files(folder: &Path) -> Result<Dropped, PageCacheError> {
    let (mut files, mut bytes) = (0, 0);
    let mut seen = BTreeSet::new();
    let mut folders = vec![folder.to_owned()];
    while let Some(folder) = folders.pop() {
        let unreadable = |error| PageCacheError {
            path: folder.clone(),
            error,
        };
        // A link may lead back to where we came from.
        if !seen.insert(folder.canonicalize().map_err(unreadable)?) {
            continue;
        }
        for item in fs::read_dir(&folder).map_err(unreadable)? {
            let path = item.map_err(unreadable)?.path();
            match forget(&path) {
                Ok(Some(size)) => {
                    files += 1;
                    bytes += size;
                }
                Ok(None) => folders.push(path),
                // Gone meanwhile: so are its pages.
                Err(error) if error.kind() == ErrorKind::NotFound => {}
                Err(error) => return Err(PageCacheError { path, error }),
            }
        }
    }
    Ok(Dropped::Files { files, bytes })
}

/// Forgets a file and gives its size; none: it is a folder. Sockets and the like have no pages.
fn forget(path: &Path) -> io::Result<Option<u64>> {
    let metadata = fs::metadata(path)?;
    if metadata.is_dir() {
        return Ok(None);
    }
    if metadata.is_file() {
        forget_pages(&fs::File::open(path)?)?;
    }
    Ok(Some(metadata.len()))
}

#[cfg(not(target_vendor = "apple"))]
fn forget_pages(file: &fs::File) -> io::Result<()> {
    Ok(rustix::fs::fadvise(file, 0, None, rustix::fs::Advice::DontNeed)?)
}

/// macOS takes no such advice.
#[cfg(target_vendor = "apple")]
fn forget_pages(_: &fs::File) -> io::Result<()> {
    Err(ErrorKind::Unsupported.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn forgets_every_file_once() {
        let folder = tempfile::tempdir().unwrap();
        let elsewhere = tempfile::tempdir().unwrap();
        fs::create_dir_all(folder.path().join("base/1")).unwrap();
        fs::write(folder.path().join("base/1/2"), vec![0; 8192]).unwrap();
        fs::write(elsewhere.path().join("3"), vec![0; 100]).unwrap();
        std::os::unix::fs::symlink(elsewhere.path(), folder.path().join("tablespace")).unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("loop")).unwrap();
        std::os::unix::fs::symlink("/nowhere/at/all", folder.path().join("broken")).unwrap();
        let dropped = forget_files(folder.path()).unwrap();
        assert_eq!(dropped, Dropped::Files { files: 2, bytes: 8292 });
        assert!(dropped.to_string().contains("2 files"));
        let error = drop_pages(&folder.path().join("none"));
        assert!(matches!(error, Ok(Dropped::Machine) | Err(PageCacheError { .. })));
        assert!(forget_files(&folder.path().join("none")).is_err());
    }
}
