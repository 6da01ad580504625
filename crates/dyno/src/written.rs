//! Files that a command was told to write.

use dyno_archive::{ArchiveError, replace};
use std::path::Path;
use std::{fs, io};

/// Writes `content` to `file`. Where that is a file already, or nothing yet, it has its old content or all of the new
/// one, also on a full disk. Pipes and devices, and what a link leads to, such as `/dev/stdout`, are written as they
/// are.
pub fn write(file: &Path, content: impl AsRef<[u8]>) -> Result<(), String> {
    let content = content.as_ref();
    let is_plain = match fs::symlink_metadata(file) {
        Ok(known) => known.is_file(),
        Err(error) => error.kind() == io::ErrorKind::NotFound,
    };
    if is_plain {
        match replace(file, content) {
            // A file may be open to us in a folder that is not.
            Err(ArchiveError::Write { cause, .. }) if cause.kind() == io::ErrorKind::PermissionDenied => {}
            replaced => return replaced.map_err(|error| error.to_string()),
        }
    }
    fs::write(file, content).map_err(|error| format!("cannot write {}: {error}", file.display()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{MetadataExt, symlink};

    #[test]
    fn a_file_is_replaced_and_what_a_link_leads_to_written() {
        let folder = tempfile::tempdir().unwrap();
        let (file, link) = (folder.path().join("file"), folder.path().join("link"));
        let number = || fs::metadata(&file).unwrap().ino();
        write(&file, "one").unwrap();
        // As long as it is held, no other file can have its number.
        let held = fs::File::open(&file).unwrap();
        let first = number();
        write(&file, "two").unwrap();
        assert_ne!(number(), first, "who reads the old one meanwhile reads all of it");
        drop(held);
        symlink(&file, &link).unwrap();
        let second = number();
        write(&link, "three").unwrap();
        assert_eq!(
            (number(), fs::read_to_string(&file).unwrap()),
            (second, "three".to_owned())
        );
        assert!(link.is_symlink());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 2);
        let wrong = write(&folder.path().join("missing/file"), "").unwrap_err();
        assert!(wrong.starts_with("cannot write "), "{wrong}");
        assert!(write(folder.path(), "").is_err());
    }
}
