//! `--help` and `--version`.

use crate::version::Version;

/// What `--version` prints.
pub fn version() -> String {
    format!(
        "pgbench (PostgreSQL) {} (dyno {})\n",
        Version::NEWEST,
        env!("CARGO_PKG_VERSION")
    )
}

/// What `--help` prints.
#[must_use]
pub fn help() -> &'static str {
    include_str!("help.txt")
}
