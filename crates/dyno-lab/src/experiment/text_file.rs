//! Reading files that a person wrote: regular ones of sensible size. A pipe may never say anything, and a device
//! never end.

use dyno_archive::open_regular;
use std::io::{self, ErrorKind, Read};
use std::path::Path;

/// No script and no experiment is larger than this.
const MOST_BYTES: u64 = 64 << 20;

/// The text of the file at `path`, without the mark of its encoding that some editors write before it.
pub(crate) fn read(path: &Path) -> io::Result<String> {
    let mut text = String::new();
    open_regular(path)?.take(MOST_BYTES + 1).read_to_string(&mut text)?;
    if text.len() as u64 > MOST_BYTES {
        let why = format!("it is larger than {} MB", MOST_BYTES >> 20);
        return Err(io::Error::new(ErrorKind::InvalidInput, why));
    }
    if text.starts_with('\u{feff}') {
        text.drain(..'\u{feff}'.len_utf8());
    }
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;

    #[test]
    fn only_regular_files_of_sensible_size_are_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        std::fs::write(&path, "select 1;").unwrap();
        assert_eq!(read(&path).unwrap(), "select 1;");
        std::fs::write(&path, "\u{feff}select 1;").unwrap();
        assert_eq!(read(&path).unwrap(), "select 1;");
        let said = |path: &Path| read(path).unwrap_err().to_string();
        assert_eq!(said(Path::new("/dev/zero")), "it is not a regular file");
        assert_eq!(said(folder.path()), "it is not a regular file");
        // A hole takes no room on the disk.
        File::create(&path).unwrap().set_len(MOST_BYTES + 1).unwrap();
        assert_eq!(said(&path), "it is larger than 64 MB");
    }
}
