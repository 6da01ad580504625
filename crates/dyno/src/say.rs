//! Words to whoever is there. A reader that has gone away, such as `head` or a closed terminal, is no error, and no reason to stop measuring.

use std::io::Write;

/// To standard output: results.
pub fn result(text: &str) {
    let _ = writeln!(std::io::stdout().lock(), "{}", text.trim_end());
}

/// To standard error: progress and complaints.
pub fn aside(text: &str) {
    let _ = writeln!(std::io::stderr().lock(), "{text}");
}
