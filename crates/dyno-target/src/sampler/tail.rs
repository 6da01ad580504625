//! A log that a server of dyno's own goes on writing, from the end that it had.

use std::fs::File;
use std::io::{Read, Seek, SeekFrom};
use std::path::{Path, PathBuf};

/// Follows a file.
pub(crate) struct Tail {
    path: PathBuf,
    /// What has been read of it, in bytes.
    read: u64,
}

impl Tail {
    /// How much is read at once.
    pub(crate) const CHUNK_BYTES: u64 = 1 << 20;

    /// Begins at the end that the file has now.
    pub(crate) fn of(path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            read: std::fs::metadata(path).map_or(0, |metadata| metadata.len()),
        }
    }

    /// How long the file is: a server that logs every statement writes more than is read at once.
    pub(crate) fn written(&mut self) -> std::io::Result<u64> {
        let written = std::fs::metadata(&self.path)?.len();
        if written < self.read {
            // The server was started anew.
            self.read = 0;
        }
        Ok(written)
    }

    /// More lines, as far as they are whole; `None` once the file has been read as far as it was `written`.
    pub(crate) fn lines(&mut self, written: u64) -> std::io::Result<Option<String>> {
        // More may have been written since, and read.
        if self.read >= written {
            return Ok(None);
        }
        let text = self.new_lines()?;
        Ok((!text.is_empty()).then(|| String::from_utf8_lossy(&text).into_owned()))
    }

    fn new_lines(&mut self) -> std::io::Result<Vec<u8>> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.read))?;
        let mut text = Vec::new();
        file.take(Self::CHUNK_BYTES).read_to_end(&mut text)?;
        let whole = text.iter().rposition(|byte| *byte == b'\n').map_or(0, |end| end + 1);
        // A line longer than that is of no use to anybody.
        let whole = if whole == 0 && text.len() as u64 == Self::CHUNK_BYTES {
            text.len()
        } else {
            whole
        };
        text.truncate(whole);
        self.read += whole as u64;
        Ok(text)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    #[test]
    fn only_whole_lines_that_are_new_are_read() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "old").unwrap();
        let mut tail = Tail::of(file.path());
        let mut next = || {
            let written = tail.written().unwrap();
            tail.lines(written).unwrap()
        };
        assert_eq!(next(), None);
        write!(file, "new\nbegun").unwrap();
        assert_eq!(next().as_deref(), Some("new\n"));
        assert_eq!(next(), None);
        writeln!(file, " and ended").unwrap();
        assert_eq!(next().as_deref(), Some("begun and ended\n"));
        // The server was started anew.
        file.as_file().set_len(0).unwrap();
        std::fs::write(file.path(), "first\n").unwrap();
        assert_eq!(next().as_deref(), Some("first\n"));
    }

    #[test]
    fn what_is_written_while_it_is_read_is_read_once() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let mut tail = Tail::of(file.path());
        writeln!(file, "one").unwrap();
        let written = tail.written().unwrap();
        writeln!(file, "two").unwrap();
        assert_eq!(tail.lines(written).unwrap().as_deref(), Some("one\ntwo\n"));
        assert_eq!(tail.lines(written).unwrap(), None);
    }
}
