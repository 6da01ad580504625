//! What is said, in sysbench's form: on standard output, with the level in front, as much of it as `--verbosity` lets
//! through. Complaints about the command line go to standard error, as they do there.
//!
//! A message that repeats the one before is counted instead of printed, so that a thousand clients which all meet the
//! same error say it once.

use std::borrow::Cow;
use std::io::{IsTerminal, Write};
use std::sync::{Mutex, PoisonError};

/// How important a message is: one is shown if its level is at most `--verbosity`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The end of the run.
    Fatal,
    /// Something failed.
    Alert,
    /// Something is odd.
    Warning,
    /// What a person expects to see: the default.
    Notice,
    /// How it proceeds.
    Info,
    /// Everything.
    Debug,
}

impl Level {
    /// The level of this number.
    #[must_use]
    pub fn of(number: i64) -> Option<Self> {
        Some(match number {
            0 => Self::Fatal,
            1 => Self::Alert,
            2 => Self::Warning,
            3 => Self::Notice,
            4 => Self::Info,
            5 => Self::Debug,
            _ => return None,
        })
    }

    /// What stands in front of messages of this level.
    fn prefix(self) -> &'static str {
        match self {
            Self::Fatal => "FATAL: ",
            Self::Alert => "ALERT: ",
            Self::Warning => "WARNING: ",
            Self::Notice | Self::Info => "",
            Self::Debug => "DEBUG: ",
        }
    }
}

/// Says things, as much as it is to say.
#[derive(Debug)]
pub struct Log {
    most: Level,
    last: Mutex<Last>,
}

/// The message before.
#[derive(Debug, Default)]
struct Last {
    text: String,
    repeated: u64,
}

impl Log {
    /// Says everything up to this level.
    #[must_use]
    pub fn new(most: Level) -> Self {
        Self {
            most,
            last: Mutex::default(),
        }
    }

    /// Whether messages of this level are said.
    #[must_use]
    pub fn says(&self, level: Level) -> bool {
        level <= self.most
    }

    /// Says that the run ends.
    pub fn fatal(&self, text: &str) {
        self.say(Level::Fatal, text);
    }

    /// Says that something is odd.
    pub fn warning(&self, text: &str) {
        self.say(Level::Warning, text);
    }

    /// A message of a level.
    pub fn say(&self, level: Level, text: &str) {
        if !self.says(level) {
            return;
        }
        let mut last = self.last.lock().unwrap_or_else(PoisonError::into_inner);
        let line = format!("{}{}\n", level.prefix(), text.strip_suffix('\n').unwrap_or(text));
        if level <= Level::Warning && last.text == line {
            last.repeated += 1;
            return;
        }
        let repeated = match std::mem::take(&mut last.repeated) {
            0 => String::new(),
            times => format!("(last message repeated {times} times)\n"),
        };
        let shown = repeated + &line;
        last.text = line;
        print(&shown);
    }
}

/// Writes to standard output, where a closed pipe is no reason to fail.
pub fn print(text: &str) {
    let _ = write(&mut std::io::stdout().lock(), text);
}

/// Writes what a script prints, which need not be text.
pub fn print_bytes(bytes: &[u8]) {
    let mut out = std::io::stdout().lock();
    if out.is_terminal() {
        let _ = write(&mut out, &dyno_text::decode(bytes));
    } else {
        let _ = out.write_all(bytes).and_then(|()| out.flush());
    }
}

/// Writes to standard error.
pub fn complain(text: &str) {
    let _ = write(&mut std::io::stderr().lock(), text);
}

/// Writes text that holds what others said: a terminal shows what it would obey.
fn write(out: &mut (impl Write + IsTerminal), text: &str) -> std::io::Result<()> {
    let text = match out.is_terminal() {
        true => dyno_text::visible(text),
        false => Cow::Borrowed(text),
    };
    out.write_all(&dyno_text::encode(&text))?;
    out.flush()
}
