//! Runs a script's shell command, and waits for it: as in pgbench, the other clients of the thread wait too.

use crate::ShellLine;
use std::ffi::OsStr;
use std::io::{BufRead, BufReader, Read};
use std::os::unix::ffi::OsStrExt;
use std::process::{Command, Stdio};

/// More than this of a command's first line is not looked at, in bytes.
const MAX_LINE: u64 = 4096;

/// Runs a command line. Returns whether it ended with exit status 0, and the first line of its output if that is
/// wanted (then the status means nothing: a command may end because nobody reads on).
pub(super) fn run(line: &ShellLine) -> (bool, Vec<u8>) {
    let mut command = Command::new("sh");
    command.arg("-c").arg(OsStr::from_bytes(&dyno_text::encode(&line.text)));
    if !line.wants_output {
        return (command.status().is_ok_and(|status| status.success()), Vec::new());
    }
    let Ok(mut child) = command.stdout(Stdio::piped()).spawn() else {
        return (false, Vec::new());
    };
    let mut output = Vec::new();
    if let Some(stdout) = child.stdout.take() {
        // What was read counts; that reading the rest failed would change nothing. The pipe is closed then, which
        // ends a command that goes on writing.
        let _ = BufReader::new(stdout.take(MAX_LINE)).read_until(b'\n', &mut output);
    }
    (child.wait().is_ok_and(|status| status.success()), output)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn line(text: &str, wants_output: bool) -> ShellLine {
        ShellLine {
            text: text.into(),
            wants_output,
        }
    }

    #[test]
    fn the_first_line_and_the_status_are_what_counts() {
        assert_eq!(run(&line("echo 1; echo 2", true)).1, b"1\n");
        assert_eq!(run(&line("printf 7; exit 3", true)).1, b"7");
        assert_eq!(run(&line("true", false)), (true, vec![]));
        assert_eq!(run(&line("exit 1", false)), (false, vec![]));
    }

    #[test]
    fn a_command_line_need_not_be_utf8() {
        let text = dyno_text::decode(b"echo \xe9");
        assert_eq!(run(&line(&text, true)).1, b"\xe9\n");
    }

    #[test]
    fn a_command_that_never_stops_writing_is_ended() {
        assert_eq!(run(&line("yes 5", true)).1, b"5\n");
    }
}
