//! What judging and describing runs takes of a database, beside the values of its counters: what it calls its parts,
//! and how they are set. Its target declares it, and the archive keeps it with the run.

use serde::{Deserialize, Serialize};

/// A database as far as that matters to whoever reads what was recorded of it. What is not known is empty.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ServerTraits {
    /// Which database it is, such as `PostgreSQL`.
    pub product: String,
    /// What it calls its parts.
    pub words: Words,
    /// What its settings are called.
    pub settings: SettingNames,
    /// Bytes of a page.
    pub page_bytes: Option<u64>,
    /// Bytes of its own cache of pages.
    pub cache_bytes: Option<u64>,
    /// How long after one checkpoint the next begins at the latest, in seconds.
    pub checkpoint_every_s: Option<f64>,
    /// Whether the first change of a page after a checkpoint writes the whole page to the log.
    pub logs_page_images: bool,
}

/// What a database calls its parts, in lower case unless it is a name, and in the singular.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct Words {
    /// The log of changes: `WAL`, `redo log`.
    pub log: String,
    /// The same where there is room: `write-ahead log`.
    pub log_in_full: String,
    /// A whole page in the log; empty where there is no such thing.
    pub page_image: String,
    /// A page that is read.
    pub page_read: String,
    /// A page that is written.
    pub page_written: String,
    /// Its cache of pages, with an article unless it is a plural.
    pub cache: String,
    /// The code by which it tells errors apart: `SQLSTATE`.
    pub error_code: String,
    /// Where it tells what sessions wait for; empty if it does not.
    pub waits_source: String,
    /// Where it tells what statements cost.
    pub statements_source: String,
}

/// What a database calls its settings.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SettingNames {
    /// The size of its cache of pages.
    pub cache: String,
    /// Those by which it takes more or less memory.
    pub memory: Vec<String>,
    /// The longest time between checkpoints; empty where there is none.
    pub checkpoint_time: String,
    /// The most log between checkpoints.
    pub checkpoint_log: String,
    /// Parts of the names of all that bring about checkpoints.
    pub of_checkpoints: Vec<String>,
    /// Parts of the names of all that bring about the removal of old versions of rows by the server itself.
    pub of_cleaning: Vec<String>,
    /// Those that say where the server is and which data it has, or that dyno sets by the number of clients: they
    /// change nothing that is measured.
    pub incidental: Vec<String>,
}
