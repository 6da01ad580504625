//! What was installed: every file's size and SHA-256, to notice a cache that was cut short or damaged.

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use std::collections::BTreeMap;
use std::fs;
use std::io::{self, Read};
use std::path::Path;

/// Name of the manifest in an installation; it is written last, so an installation without it is not finished.
const FILE: &str = "dyno-manifest.json";

/// Files by their path relative to the installation.
#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Manifest {
    files: BTreeMap<String, Entry>,
}

#[derive(Debug, Serialize, Deserialize, PartialEq, Eq)]
struct Entry {
    bytes: u64,
    sha256: String,
}

/// Writes the manifest of a freshly unpacked folder.
pub(crate) fn write(folder: &Path) -> io::Result<()> {
    let mut files = BTreeMap::new();
    collect(folder, folder, &mut files)?;
    let text = serde_json::to_string_pretty(&Manifest { files })?;
    fs::write(folder.join(FILE), text)
}

/// Compares a folder with its manifest; gives what is wrong, if anything is.
pub(crate) fn damage(folder: &Path) -> Option<String> {
    let text = match fs::read_to_string(folder.join(FILE)) {
        Ok(text) => text,
        Err(error) => return Some(format!("its manifest {FILE} cannot be read ({error})")),
    };
    let manifest: Manifest = match serde_json::from_str(&text) {
        Ok(manifest) => manifest,
        Err(error) => return Some(format!("its manifest {FILE} is not sound ({error})")),
    };
    for (name, expected) in &manifest.files {
        match entry(&folder.join(name)) {
            Ok(found) if found == *expected => {}
            Ok(found) if found.bytes != expected.bytes => {
                return Some(format!(
                    "{name} has {} bytes instead of {}",
                    found.bytes, expected.bytes
                ));
            }
            Ok(_) => return Some(format!("the contents of {name} changed")),
            Err(error) => return Some(format!("{name} cannot be read ({error})")),
        }
    }
    None
}

fn collect(root: &Path, folder: &Path, files: &mut BTreeMap<String, Entry>) -> io::Result<()> {
    for item in fs::read_dir(folder)? {
        let item = item?;
        let path = item.path();
        let kind = item.file_type()?;
        if kind.is_dir() {
            collect(root, &path, files)?;
        } else if let Some(name) = path.strip_prefix(root).ok().and_then(Path::to_str) {
            files.insert(name.to_owned(), entry(&path)?);
        }
    }
    Ok(())
}

/// Size and hash of a file; links are followed.
fn entry(path: &Path) -> io::Result<Entry> {
    let mut file = fs::File::open(path)?;
    let mut hasher = Sha256::new();
    let mut buffer = vec![0; 64 * 1024];
    let mut bytes = 0;
    loop {
        let count = file.read(&mut buffer)?;
        if count == 0 {
            break;
        }
        bytes += count as u64;
        hasher.update(&buffer[..count]);
    }
    Ok(Entry {
        bytes,
        sha256: hex(&hasher.finalize()),
    })
}

/// Lower-case hexadecimal digits.
pub(crate) fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_every_kind_of_damage() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path();
        assert!(damage(path).unwrap().contains("manifest"));
        fs::create_dir(path.join("bin")).unwrap();
        fs::write(path.join("bin/postgres"), "program").unwrap();
        write(path).unwrap();
        assert_eq!(damage(path), None);
        fs::write(path.join("bin/postgres"), "programme").unwrap();
        assert!(damage(path).unwrap().contains("9 bytes instead of 7"));
        fs::write(path.join("bin/postgres"), "Program").unwrap();
        assert!(damage(path).unwrap().contains("changed"));
        fs::remove_file(path.join("bin/postgres")).unwrap();
        assert!(damage(path).unwrap().contains("cannot be read"));
    }
}
