//! Who hears what scripts print, and what is to be said of them.

use std::io::{self, Write};

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// Something cannot go on.
    Fatal,
    /// Something is not as it should be.
    Warning,
    /// For those who look for more.
    Debug,
}

/// Hears scripts. Called from the threads of the load, too.
pub trait Voice: Send + Sync {
    /// A script has printed these bytes, line breaks included.
    fn print(&self, bytes: &[u8]);

    /// Something is to be said, in sysbench's words, without the level before them.
    fn say(&self, level: Level, message: &str);
}

/// Prints to standard output, and says on standard error, as sysbench does.
#[derive(Clone, Copy, Debug, Default)]
pub struct Terminal;

impl Voice for Terminal {
    fn print(&self, bytes: &[u8]) {
        let mut out = io::stdout().lock();
        // Nobody is there to be told that nobody reads.
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }

    fn say(&self, level: Level, message: &str) {
        let level = match level {
            Level::Fatal => "FATAL",
            Level::Warning => "WARNING",
            Level::Debug => "DEBUG",
        };
        let _ = writeln!(io::stderr().lock(), "{level}: {message}");
    }
}
