//! What goes wrong with a script.

/// A script cannot be loaded, or cannot go on. Displays in sysbench's words, without `FATAL: `.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LuaError {
    /// The script is not there, cannot be read, is no Lua, or failed when it was loaded.
    #[error("{message}")]
    Load {
        /// What is wrong, with script and line.
        message: String,
        /// Where it was called from, one line each; empty if that is unknown.
        traceback: String,
    },
    /// A function of the script failed.
    #[error("`{function}' function failed: {message}")]
    Call {
        /// The function, such as `thread_run`, as sysbench names it.
        function: String,
        /// What is wrong, with script and line.
        message: String,
        /// Where it was called from, one line each; empty if that is unknown.
        traceback: String,
    },
    /// A function of the script went on by itself when it was to end.
    #[error(
        "`{function}' function was ended{}: it had not asked the server for anything for {}",
        place(at),
        lasted(*for_s)
    )]
    Ended {
        /// The function.
        function: String,
        /// Where it was: script and line; empty if that is unknown.
        at: String,
        /// For how long it had gone on, in seconds.
        for_s: u64,
    },
    /// The script called `os.exit`.
    #[error("the script asked{} for the end of the program, by os.exit({code})", place(at))]
    Exit {
        /// The exit code that it asked for.
        code: u8,
        /// Where: script and line; empty if that is unknown.
        at: String,
    },
    /// The script has no such command.
    #[error("the test script does not define the `{0}' function")]
    NoCommand(String),
    /// The script makes no load.
    #[error("cannot find the event() function in {0}")]
    NoEvent(String),
    /// A connection that the script needs cannot be made.
    #[error("{0}")]
    Connect(String),
    /// A state could not be made.
    #[error("cannot set up Lua: {0}")]
    State(String),
    /// Somebody asked to stop.
    #[error("stopped on request")]
    Stopped,
}

/// Where something was, as a part of a sentence.
pub(crate) fn place(at: &str) -> String {
    match at {
        "" => String::new(),
        at => format!(" at {at}"),
    }
}

/// How long something lasted, of which only whole seconds are known.
pub(crate) fn lasted(seconds: u64) -> String {
    match seconds {
        0 => "less than 1 s".to_owned(),
        seconds => format!("{seconds} s"),
    }
}

impl LuaError {
    /// Where in the script it arose: Lua's traceback, one line each.
    #[must_use]
    pub fn traceback(&self) -> Option<&str> {
        match self {
            Self::Load { traceback, .. } | Self::Call { traceback, .. } if !traceback.is_empty() => Some(traceback),
            _ => None,
        }
    }
}
