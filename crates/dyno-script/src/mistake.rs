//! A mistake in a meta command, as dyno and as pgbench tell it.

/// A mistake in a command and the byte offset in the script where it is. It is boxed, because the parser of
/// expressions hands it through many levels.
#[derive(Debug)]
pub(crate) struct Mistake {
    pub(crate) at: usize,
    pub(crate) message: String,
    /// pgbench's words, if they are others.
    pub(crate) pgbench: Option<String>,
    pub(crate) shown: Shown,
    /// Whether the command has a name that exists.
    pub(crate) known: bool,
}

/// What pgbench shows of the command besides the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Shown {
    /// Nothing: it has not yet read all of it.
    Nothing,
    Text,
    /// The text, and a caret under the byte at this offset in the script.
    Caret(usize),
}

impl Mistake {
    /// A mistake for which pgbench has the same words, and shows the command.
    pub(crate) fn new(at: usize, message: impl Into<String>) -> Box<Mistake> {
        Box::new(Mistake {
            at,
            message: message.into(),
            pgbench: None,
            shown: Shown::Text,
            known: true,
        })
    }

    pub(crate) fn pgbench(mut self: Box<Self>, words: impl Into<String>) -> Box<Mistake> {
        self.pgbench = Some(words.into());
        self
    }

    pub(crate) fn shown(mut self: Box<Self>, shown: Shown) -> Box<Mistake> {
        self.shown = shown;
        self
    }

    pub(crate) fn unknown(mut self: Box<Self>) -> Box<Mistake> {
        self.known = false;
        self
    }
}
