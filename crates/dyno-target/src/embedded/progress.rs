//! What happens while a server is brought, for whoever waits.

use crate::target;
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
    StoppingStale {
        /// Its process id.
        pid: u32,
    },
    /// The server is starting.
    Starting {
        /// Of which database.
        product: &'static str,
    },
}

/// Says it to whoever waits for a target.
pub(crate) fn tell(progress: &mut dyn target::Progress, event: &Progress) {
    match event {
        Progress::Downloading {
            product,
            version,
            received_bytes,
            total_bytes,
        } => {
            progress.step(&format!("Fetching {product} {version}"));
            if let Some(total_bytes) = total_bytes {
                const MEGABYTE: u64 = 1_000_000;
                progress.amount(received_bytes / MEGABYTE, total_bytes.div_ceil(MEGABYTE), "MB");
            }
        }
        Progress::Unpacking {
            product,
            version,
            archive_bytes,
        } => {
            let megabytes = *archive_bytes as f64 / 1e6;
            progress.step(&format!(
                "Unpacking {product} {version} ({megabytes:.0} MB, checksum verified)"
            ));
        }
        Progress::DamagedCache { product, what } => {
            progress.note(&format!("The cached {product} is damaged ({what}); fetching it again."))
        }
        Progress::Initialising => progress.step("Initialising the database cluster"),
        Progress::HalfInitialised { data } => {
            progress.note(&format!(
                "The initialisation of {} had not finished; repeating it.",
                data.display()
            ));
        }
        Progress::Waiting { pid, folder } => {
            let who = pid.map_or_else(
                || "another dyno".to_owned(),
                |pid| format!("the dyno with process id {pid}"),
            );
            progress.step(&format!("Waiting for {who}, which is using {}", folder.display()));
        }
        Progress::StoppingStale { pid } => {
            progress.note(&format!("Stopping a server that an earlier dyno left (process {pid})."));
        }
        Progress::Starting { product } => progress.asks(&format!("Starting {product}")),
    }
}
