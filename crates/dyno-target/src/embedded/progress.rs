//! What happens while a server is brought, for whoever waits.

use std::path::PathBuf;

/// What is going on, for a progress display. Steps that take no time are not told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Progress {
    /// The programs are being fetched; told again every tenth of a second.
    Downloading {
        /// Of which database.
        product: &'static str,
        /// Release or major version asked for.
        version: String,
        /// Bytes of the archive that have arrived.
        received_bytes: u64,
        /// Bytes of the whole archive, once that is known.
        total_bytes: Option<u64>,
    },
    /// The fetched archive, whose checksum was right, is being unpacked.
    Unpacking {
        /// Of which database.
        product: &'static str,
        /// Release.
        version: String,
        /// Size of the archive.
        archive_bytes: usize,
    },
    /// The installed programs are not what was installed; they are fetched again.
    DamagedCache {
        /// Of which database.
        product: &'static str,
        /// What differs.
        what: String,
    },
    /// The data folder is being initialised.
    Initialising,
    /// An initialisation that did not finish is done again.
    HalfInitialised {
        /// The folder removed.
        data: PathBuf,
    },
    /// Another dyno works with this folder; it is waited for.
    Waiting {
        /// Its process id, if it is known.
        pid: Option<u32>,
        /// What it holds.
        folder: PathBuf,
    },
    /// A server that an earlier dyno left is being stopped.
    StoppingLeftover {
        /// Its process id.
        pid: u32,
    },
    /// The server is starting.
    Starting {
        /// Of which database.
        product: &'static str,
    },
}
