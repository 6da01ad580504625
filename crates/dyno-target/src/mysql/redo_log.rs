//! The size of the redo log, which servers know by two names.
//!
//! MySQL has `innodb_redo_log_capacity` since 8.0.30: the size of the whole log. MariaDB and earlier versions of MySQL
//! have `innodb_log_file_size`: that of one file, of which MariaDB has a single one since 10.5 (MySQL Reference Manual,
//! "Configuring Redo Log Capacity"; MariaDB, "InnoDB System Variables"). An experiment names either, and a server is
//! given the one that it has, so that one file is for all of them.

use super::variables::Variables;
use super::{Client, ClientError};
use crate::values::{as_wanted, in_bytes};

/// The size of the whole log. It can be set while the server runs.
pub(super) const CAPACITY: &str = "innodb_redo_log_capacity";

/// The size of one of its files, and how many there are.
pub(super) const FILE_SIZE: &str = "innodb_log_file_size";
const FILES: &str = "innodb_log_files_in_group";

/// What a capacity is a multiple of; the server leaves out the rest.
const UNIT: u64 = 1 << 20;

/// The first release of MySQL with a capacity.
const FIRST_WITH_CAPACITY: [u32; 3] = [8, 0, 30];

/// How many files earlier ones have, unless told otherwise.
const USUAL_FILES: u64 = 2;

/// How a server is told the size.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RedoLog {
    /// As that of the whole log.
    Whole,
    /// As that of each of so many files.
    Files(u64),
}

impl RedoLog {
    /// That of a server with these variables.
    pub(super) fn of(variables: &Variables) -> Self {
        match variables.get(CAPACITY) {
            Some(_) => Self::Whole,
            None => Self::Files(variables.number(FILES).unwrap_or(1).max(1)),
        }
    }

    /// That of a MySQL of this release; what is no release, such as `system`, is taken for one of today.
    pub(super) fn of_mysql(release: &str) -> Self {
        let parts: Result<Vec<u32>, _> = release.split('.').map(str::parse).collect();
        match parts {
            Ok(parts) if parts[..] < FIRST_WITH_CAPACITY[..] => Self::Files(USUAL_FILES),
            _ => Self::Whole,
        }
    }

    /// Gives the size by the name that the server has, whichever it has among `settings`, whose names are the server's
    /// own. Where both are given, that name counts. What was changed is said in the sentences that are returned.
    pub(super) fn fit(self, settings: &mut Vec<(String, String)>) -> Vec<String> {
        let value = |name: &str| settings.iter().position(|(known, _)| known == name);
        let (own, other) = match self {
            Self::Whole => (CAPACITY, FILE_SIZE),
            Self::Files(_) => (FILE_SIZE, CAPACITY),
        };
        let Some(place) = value(other) else {
            return Vec::new();
        };
        let given = format!("{other} = {}", settings[place].1);
        if let Some(own_place) = value(own) {
            let counts = format!("{own} = {}", settings[own_place].1);
            settings.remove(place);
            self.leave_out_files(settings);
            return vec![format!("{given} is left out: {counts} is what this server has")];
        }
        let files_given = value(FILES).map(|place| settings[place].1.clone());
        let (size, why) = self.size(&settings[place].1, files_given.as_deref());
        let note = format!("{given} is given to this server as {own} = {size} ({why})");
        settings[place] = (own.to_owned(), size);
        self.leave_out_files(settings);
        vec![note]
    }

    /// The number of files means nothing to a server that is told the size of the whole log.
    fn leave_out_files(self, settings: &mut Vec<(String, String)>) {
        if self == Self::Whole {
            settings.retain(|(name, _)| name != FILES);
        }
    }

    /// The size as this server is told it, made of the other one, and why it is that.
    fn size(self, value: &str, files_given: Option<&str>) -> (String, String) {
        let files_given = files_given.and_then(|files| files.trim().parse().ok());
        let files: u64 = match self {
            Self::Whole => files_given.unwrap_or(1),
            Self::Files(files) => files_given.unwrap_or(files),
        };
        let files = files.max(1);
        let why = match (self, files) {
            (Self::Whole, 1) => "the size of the whole log".to_owned(),
            (Self::Whole, files) => format!("the size of all {files} files together"),
            (Self::Files(_), 1) => "the size of its only file".to_owned(),
            (Self::Files(_), files) => format!("the size of each of its {files} files"),
        };
        let size = match in_bytes(value).parse::<u64>() {
            Ok(bytes) => {
                let bytes = match self {
                    Self::Whole => bytes.saturating_mul(files),
                    Self::Files(_) => bytes / files,
                };
                as_wanted(&bytes.to_string(), value)
            }
            // For the server to refuse.
            Err(_) => value.to_owned(),
        };
        (size, why)
    }
}

/// What the server makes of a capacity.
pub(super) fn rounded(wanted: u64) -> u64 {
    wanted - wanted % UNIT
}

/// Whether the server still brings its log to the size that it was told: it does so in the background.
///
/// # Errors
/// The server cannot be asked.
pub(super) fn is_resizing(client: &mut Client) -> Result<bool, ClientError> {
    let status = client.query_first::<(String, String)>("show global status like 'Innodb_redo_log_resize_status'")?;
    Ok(status.is_some_and(|(_, status)| !status.is_empty() && status != "OK"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fitted(log: RedoLog, settings: &[(&str, &str)]) -> (String, Vec<String>) {
        let owned = |(name, value): &(&str, &str)| ((*name).to_owned(), (*value).to_owned());
        let mut settings: Vec<_> = settings.iter().map(owned).collect();
        let notes = log.fit(&mut settings);
        let shown = settings.iter().map(|(name, value)| format!("{name}={value}"));
        (shown.collect::<Vec<_>>().join(" "), notes)
    }

    #[test]
    fn the_size_is_given_by_the_name_that_a_server_has() {
        const ONE_FILE: RedoLog = RedoLog::Files(1);
        for (log, given, expected, part) in [
            (
                RedoLog::Whole,
                &[("a", "1"), (FILE_SIZE, "1GB"), ("b", "2")][..],
                "a=1 innodb_redo_log_capacity=1G b=2",
                "(the size of the whole log)",
            ),
            (
                RedoLog::Whole,
                &[(FILE_SIZE, "512M"), (FILES, "3")],
                "innodb_redo_log_capacity=1536M",
                "(the size of all 3 files together)",
            ),
            (
                ONE_FILE,
                &[(CAPACITY, "2G")],
                "innodb_log_file_size=2G",
                "(the size of its only file)",
            ),
            (
                RedoLog::Files(2),
                &[(CAPACITY, "2147483648")],
                "innodb_log_file_size=1073741824",
                "(the size of each of its 2 files)",
            ),
            (
                RedoLog::Files(2),
                &[(CAPACITY, "2GB"), (FILES, "4")],
                "innodb_log_file_size=512M innodb_log_files_in_group=4",
                "(the size of each of its 4 files)",
            ),
            (
                RedoLog::Whole,
                &[(FILE_SIZE, "big")],
                "innodb_redo_log_capacity=big",
                "big",
            ),
            // What was set beside what the file says.
            (
                RedoLog::Whole,
                &[(FILE_SIZE, "1GB"), (CAPACITY, "2GB")],
                "innodb_redo_log_capacity=2GB",
                "innodb_log_file_size = 1GB is left out: innodb_redo_log_capacity = 2GB is what this server has",
            ),
            (
                ONE_FILE,
                &[(FILE_SIZE, "1GB"), (CAPACITY, "2GB")],
                "innodb_log_file_size=1GB",
                "innodb_redo_log_capacity = 2GB is left out",
            ),
        ] {
            let (settings, notes) = fitted(log, given);
            assert_eq!(settings, expected);
            assert!(matches!(&notes[..], [note] if note.contains(part)), "{notes:?}");
        }
        for (log, given) in [
            (RedoLog::Whole, &[(CAPACITY, "2GB")][..]),
            (ONE_FILE, &[(FILE_SIZE, "2GB"), (FILES, "2")]),
            (RedoLog::Whole, &[]),
        ] {
            let (settings, notes) = fitted(log, given);
            assert_eq!((settings.split('=').count() - 1, notes), (given.len(), Vec::new()));
        }
    }

    #[test]
    fn which_name_a_server_has_is_told_by_its_variables_or_its_release() {
        let of = |variables: &[(&str, &str)]| {
            let owned = variables
                .iter()
                .map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
            RedoLog::of(&owned.collect())
        };
        assert_eq!(
            of(&[(CAPACITY, "104857600"), (FILE_SIZE, "50331648"), (FILES, "2")]),
            RedoLog::Whole
        );
        assert_eq!(of(&[(FILE_SIZE, "50331648"), (FILES, "2")]), RedoLog::Files(2));
        assert_eq!(of(&[(FILE_SIZE, "100663296")]), RedoLog::Files(1));
        for (release, log) in [
            ("5.7.44", RedoLog::Files(2)),
            ("8.0.29", RedoLog::Files(2)),
            ("8.0.30", RedoLog::Whole),
            ("9.7.0", RedoLog::Whole),
            ("system", RedoLog::Whole),
        ] {
            assert_eq!(RedoLog::of_mysql(release), log, "{release}");
        }
    }

    #[test]
    fn a_capacity_is_a_whole_number_of_megabytes() {
        assert_eq!(rounded((64 << 20) + 17), 64 << 20);
        assert_eq!(rounded(64 << 20), 64 << 20);
    }
}
