//! The names of PostgreSQL's settings, so that a misspelt one is told when a file is read and not when a server refuses it.

/// The settings of PostgreSQL 9.3 to 18, as `postgres --describe-config` lists them, one per line.
const NAMES: &str = include_str!("settings.txt");

/// All known names. Extensions and relatives of PostgreSQL have more.
pub(super) fn names() -> impl Iterator<Item = &'static str> {
    NAMES.lines()
}

/// Whether `name` is a setting of PostgreSQL.
pub(super) fn is_known(name: &str) -> bool {
    names().any(|known| known == name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settings_of_all_versions_are_known() {
        for name in ["full_page_writes", "max_wal_size", "checkpoint_segments", "io_method"] {
            assert!(is_known(name), "{name}");
        }
        assert!(!is_known("") && !is_known("clients"));
    }
}
