//! How a program is run beside the one whose place it takes: with the same words and the same input.

use std::process::{Command, Output, Stdio};

/// What `command` leaves when it is given this input.
pub fn feed(command: &mut Command, stdin: &str) -> Output {
    let mut child = command
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut pipe = child.stdin.take().unwrap();
    // Who does not read it closes it early.
    let _ = std::io::Write::write_all(&mut pipe, stdin.as_bytes());
    drop(pipe);
    child.wait_with_output().unwrap()
}

/// The words of a command line, which may be in single quotes.
pub fn split(words: &str) -> Vec<String> {
    let mut found = Vec::new();
    let mut word: Option<String> = None;
    let mut quoted = false;
    for character in words.chars() {
        match character {
            '\'' => {
                quoted = !quoted;
                word.get_or_insert_default();
            }
            ' ' if !quoted => found.extend(word.take()),
            other => word.get_or_insert_default().push(other),
        }
    }
    found.extend(word);
    found
}

/// Fails with all that differs.
pub fn assert_same(faults: &[String]) {
    let number = faults.len();
    assert!(faults.is_empty(), "{number} differences\n\n{}", faults.join("\n"));
}
