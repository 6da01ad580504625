//! Words to whoever is there.

use crate::failure::Failure;
use std::io::{self, ErrorKind, Write};

/// To standard output: results. A reader that has gone away, such as `head` or a closed terminal, has what it wanted; anything else that keeps them from
/// being written is a failure.
pub fn result(text: &str) -> Result<(), Failure> {
    write_result(&mut io::stdout().lock(), text)
}

fn write_result(out: &mut impl Write, text: &str) -> Result<(), Failure> {
    match writeln!(out, "{}", text.trim_end()).and_then(|()| out.flush()) {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => Err(unwritten(&error)),
        _ => Ok(()),
    }
}

/// What to say if standard output does not take the results.
pub fn unwritten(error: &io::Error) -> Failure {
    Failure::SetUp(format!("cannot write to standard output: {error}"))
}

/// To standard error: progress and complaints. If they cannot be written there is nobody to tell.
pub fn aside(text: &str) {
    let _ = writeln!(io::stderr().lock(), "{text}");
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::OpenOptions;

    #[test]
    fn what_cannot_be_written_is_a_failure() {
        let mut full = OpenOptions::new().write(true).open("/dev/full").unwrap();
        let error = write_result(&mut io::BufWriter::new(&mut full), "x").unwrap_err();
        assert!(matches!(error, Failure::SetUp(text) if text.contains("standard output")));
        let (reader, mut writer) = io::pipe().unwrap();
        drop(reader);
        write_result(&mut writer, "x").unwrap();
    }
}
