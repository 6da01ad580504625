//! Words to whoever is there. What a terminal would obey is written out: much of what we say holds names, scripts and
//! messages of others.

use crate::failure::Failure;
use dyno_text::visible;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

/// How long somebody who cannot wait does so for a reader.
const MOMENT: Duration = Duration::from_millis(300);

/// To standard output: results. A reader that has gone away, such as `head` or a closed terminal, has what it wanted;
/// anything else that keeps them from being written is a failure.
///
/// A file or a program gets it as it is.
pub fn result(text: &str) -> Result<(), Failure> {
    let mut stdout = io::stdout().lock();
    match stdout.is_terminal() {
        true => write_result(&mut stdout, &visible(text)),
        false => write_result(&mut stdout, text),
    }
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
    let _ = writeln!(io::stderr().lock(), "{}", visible(text));
}

/// The same, by somebody who cannot wait: while nobody reads what was said before, it goes on after a moment.
pub fn in_passing(text: impl Into<String>) {
    let text = text.into();
    let (sender, said) = mpsc::channel();
    let speaker = thread::Builder::new().spawn(move || {
        aside(&text);
        let _ = sender.send(());
    });
    if speaker.is_ok() {
        let _ = said.recv_timeout(MOMENT);
    }
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
