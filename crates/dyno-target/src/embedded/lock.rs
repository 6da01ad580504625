//! A folder for one process at a time. The kernel releases the lock when its holder ends, however it ends, so none
//! is ever stale.

use super::EmbeddedError;
use std::fs::{File, TryLockError};
use std::io::{Read, Seek, Write};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// How often a lock held by another is tried again.
const RETRY: Duration = Duration::from_millis(50);

/// A lock, held until it is dropped.
#[derive(Debug)]
pub(crate) struct Lock {
    file: File,
}

impl Drop for Lock {
    /// A process that is just being started has the file open, too, and would hold the lock for a moment longer.
    fn drop(&mut self) {
        let _ = self.file.unlock();
    }
}

impl Lock {
    /// Takes the lock of a folder if nobody holds it, and leaves no trace of that.
    pub(crate) fn try_take(folder: &Path) -> Result<Option<Self>, EmbeddedError> {
        let path = folder.join("lock");
        let failed = |error| EmbeddedError::File {
            what: "lock",
            path: path.clone(),
            error,
        };
        let file = match File::open(&path) {
            Ok(file) => file,
            Err(error) if error.kind() == std::io::ErrorKind::NotFound => File::create_new(&path).map_err(failed)?,
            Err(error) => return Err(failed(error)),
        };
        match file.try_lock() {
            Ok(()) => Ok(Some(Self { file })),
            Err(TryLockError::WouldBlock) => Ok(None),
            Err(TryLockError::Error(error)) => Err(failed(error)),
        }
    }

    /// Takes the lock of a folder (file `lock` in it). While another process holds it, `waiting` is told once with
    /// that process's id.
    pub(crate) fn take(
        folder: &Path,
        stop: &AtomicBool,
        waiting: &mut dyn FnMut(Option<u32>),
    ) -> Result<Self, EmbeddedError> {
        let path = folder.join("lock");
        let mut file = File::options()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .open(&path)
            .map_err(EmbeddedError::file("open", &path))?;
        let mut told = false;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => {
                    return Err(EmbeddedError::File {
                        what: "lock",
                        path,
                        error,
                    });
                }
                Err(TryLockError::WouldBlock) => {}
            }
            if !told {
                told = true;
                let mut text = String::new();
                // The id is only for the message: without it the wait is the same.
                let _ = file.read_to_string(&mut text);
                waiting(text.trim().parse().ok());
            }
            if stop.load(Ordering::Relaxed) {
                return Err(EmbeddedError::Stopped);
            }
            std::thread::sleep(RETRY);
        }
        file.set_len(0)
            .and_then(|()| file.rewind())
            .and_then(|()| writeln!(file, "{}", std::process::id()))
            .map_err(EmbeddedError::file("write", &path))?;
        Ok(Self { file })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_holder_at_a_time() {
        let folder = tempfile::tempdir().unwrap();
        let stop = AtomicBool::new(false);
        let first = Lock::take(folder.path(), &stop, &mut |_| panic!("nobody holds it")).unwrap();
        let mut waited_for = None;
        let second = Lock::take(folder.path(), &AtomicBool::new(true), &mut |pid| waited_for = pid);
        assert!(matches!(second, Err(EmbeddedError::Stopped)));
        assert_eq!(waited_for, Some(std::process::id()));
        drop(first);
        Lock::take(folder.path(), &stop, &mut |_| panic!("it is free")).unwrap();
    }
}
