//! Messages that show the place: script, line, column, the line itself and a caret.

use std::fmt;
use std::sync::Arc;

use crate::mistake::{Mistake, Shown};
use crate::token::Reader;

/// A place in a script. Both numbers count from 1; the column counts characters.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct Position {
    /// The line.
    pub line: usize,
    /// The character in the line.
    pub column: usize,
}

/// A mistake found while a script is parsed.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.diagnostic)]
pub struct ScriptError(Box<Rejection>);

#[derive(Clone, Debug, PartialEq, Eq)]
struct Rejection {
    diagnostic: Diagnostic,
    pgbench: String,
}

/// A meta command that failed while a client executed it.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{}", .0.diagnostic)]
pub struct EvaluationError(Box<Failure>);

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Failure {
    pub(crate) diagnostic: Diagnostic,
    /// What pgbench prints before it says that the client is aborted; empty when it prints nothing.
    pub(crate) plain: String,
    /// The command's index and how pgbench calls it then; `None` at the script's end.
    pub(crate) command: Option<(usize, String)>,
    /// What pgbench says last.
    pub(crate) reason: String,
}

macro_rules! accessors {
    ($error:ty) => {
        impl $error {
            /// The name of the script.
            pub fn script(&self) -> &str {
                &self.0.diagnostic.script
            }

            /// Where the mistake is.
            pub fn position(&self) -> Position {
                self.0.diagnostic.position
            }

            /// What is wrong, without the place.
            pub fn message(&self) -> &str {
                &self.0.diagnostic.message
            }
        }
    };
}

accessors!(ScriptError);
accessors!(EvaluationError);

impl ScriptError {
    /// What pgbench 15 prints for it: the message, and perhaps the command's text and a caret on lines of their
    /// own. What stands before every message (`pgbench: error: `) and the last line break are not in it.
    pub fn pgbench(&self) -> &str {
        &self.0.pgbench
    }
}

impl EvaluationError {
    pub(crate) fn new(failure: Failure) -> EvaluationError {
        EvaluationError(Box::new(failure))
    }

    /// With other words for [`EvaluationError::plain`].
    pub(crate) fn worded(mut self, plain: String) -> EvaluationError {
        self.0.plain = plain;
        self
    }

    /// With another name of the command in [`EvaluationError::aborted`].
    pub(crate) fn called(mut self, name: &str) -> EvaluationError {
        if let Some((_, called)) = &mut self.0.command {
            name.clone_into(called);
        }
        self
    }

    /// The message alone as pgbench prints it in a line of its own, without `pgbench: error: `; empty when pgbench
    /// prints no such line, as for an empty text that is used as a number, and for pipelines.
    pub fn plain(&self) -> &str {
        &self.0.plain
    }

    /// What pgbench prints next: that the client is aborted, where and why. `script` is the script's number among
    /// those of the run.
    pub fn aborted(&self, client: usize, script: usize) -> String {
        let reason = &self.0.reason;
        match &self.0.command {
            Some((command, name)) => {
                format!("client {client} aborted in command {command} ({name}) of script {script}; {reason}")
            }
            None => format!("client {client} aborted: {reason}"),
        }
    }
}

#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Diagnostic {
    script: String,
    position: Position,
    message: String,
    /// The meta command at fault, without its backslash.
    command: Option<String>,
    /// The part of the line to show, and the number of characters before the caret.
    excerpt: String,
    caret: usize,
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Position { line, column } = self.position;
        write!(f, "{}:{line}:{column}: {}", self.script, self.message)?;
        if let Some(command) = &self.command {
            write!(f, " in command \"{command}\"")?;
        }
        write!(
            f,
            "\n{}\n{:caret$}^ error found here",
            self.excerpt,
            "",
            caret = self.caret
        )
    }
}

/// The most characters of a line that a message shows.
const EXCERPT: usize = 160;

/// The most characters of a message, which may quote what is in the script.
const MESSAGE: usize = 500;

/// A script's name and text, kept by its commands for their messages.
#[derive(Debug)]
pub(crate) struct Source {
    pub(crate) name: String,
    pub(crate) text: String,
}

impl Source {
    pub(crate) fn new(name: &str, text: &str) -> Arc<Source> {
        Arc::new(Source {
            name: name.to_owned(),
            text: text.to_owned(),
        })
    }

    /// Line and column of a byte offset.
    pub(crate) fn position(&self, offset: usize) -> Position {
        let (start, offset) = self.line_start(offset);
        Position {
            line: self.text.as_bytes()[..start]
                .iter()
                .filter(|&&byte| byte == b'\n')
                .count()
                + 1,
            column: self.text[start..offset].chars().count() + 1,
        }
    }

    /// The offset of the line's beginning, and the given offset moved to where a character begins.
    fn line_start(&self, offset: usize) -> (usize, usize) {
        let mut offset = offset.min(self.text.len());
        while !self.text.is_char_boundary(offset) {
            offset -= 1;
        }
        (self.text[..offset].rfind('\n').map_or(0, |newline| newline + 1), offset)
    }

    /// How many bytes of the script as it was given lie between two offsets of the text.
    fn bytes_between(&self, start: usize, end: usize) -> usize {
        let (_, whole) = self.line_start(end);
        let bytes = self.text.get(start..whole).map_or(0, dyno_text::encoded_len);
        // The end may lie in a character; one that stands for a byte has no inside.
        match self.text[whole..].chars().next() {
            Some(character) if dyno_text::encoded_len_of(character) > 1 => bytes + (end - whole),
            _ => bytes,
        }
    }

    pub(crate) fn diagnose(&self, offset: usize, command: Option<&str>, message: String) -> Diagnostic {
        let (start, offset) = self.line_start(offset);
        let before = self.text[start..offset].chars().count();
        // A line may be a megabyte long: show what is around the place.
        let hidden = before.saturating_sub(EXCERPT * 3 / 4);
        let line = self.text[start..].lines().next().unwrap_or("");
        let printable = |c: char| if c.is_control() { ' ' } else { c };
        let excerpt: String = line.chars().skip(hidden).take(EXCERPT).map(printable).collect();
        Diagnostic {
            script: self.name.clone(),
            position: self.position(offset),
            message: message.chars().take(MESSAGE).map(printable).collect(),
            command: command.map(str::to_owned),
            excerpt: excerpt.trim_end().to_owned(),
            caret: before - hidden,
        }
    }

    /// A mistake that pgbench tells with the words of `pgbench`.
    pub(crate) fn script_error(
        &self,
        offset: usize,
        command: Option<&str>,
        message: impl Into<String>,
        pgbench: String,
    ) -> ScriptError {
        ScriptError(Box::new(Rejection {
            diagnostic: self.diagnose(offset, command, message.into()),
            pgbench,
        }))
    }

    /// A mistake in a meta command, which begins at `start`.
    pub(crate) fn command_error(&self, start: usize, mistake: Mistake) -> ScriptError {
        let mut reader = Reader::new(&self.text, start + 1);
        let name = reader.word().map_or("", |(_, name)| name);
        while reader.word().is_some() {}
        let text = self.text.get(start..reader.offset()).unwrap_or_default();
        let words = mistake.pgbench.as_deref().unwrap_or(&mistake.message);
        let mut pgbench = format!(
            "{}:{}: {words} in command \"{name}\"",
            self.name,
            self.position(start).line
        );
        if mistake.shown != Shown::Nothing {
            pgbench.push('\n');
            pgbench.push_str(text.trim_end_matches(['\n', '\r']));
        }
        if let Shown::Caret(at) = mistake.shown {
            // A width is not enough for this: it has 16 bits.
            pgbench.push('\n');
            pgbench.extend(std::iter::repeat_n(' ', self.bytes_between(start, at)));
            pgbench.push_str("^ error found here");
        }
        let keyword = name.to_ascii_lowercase();
        let command = mistake.known.then_some(keyword.as_str());
        self.script_error(mistake.at, command, mistake.message, pgbench)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_message_shows_the_place() {
        let source = Source::new("a.sql", "select 1;\n\\set \u{e9} 1 ^ 2\r\n");
        let offset = source.text.find('^').unwrap();
        let error = source.script_error(offset, Some("set"), "unexpected character (^)", String::new());
        assert_eq!(error.position(), Position { line: 2, column: 10 });
        assert_eq!(
            error.to_string(),
            "a.sql:2:10: unexpected character (^) in command \"set\"\n\\set \u{e9} 1 ^ 2\n         ^ error found here"
        );
    }

    #[test]
    fn a_long_line_is_shown_in_part() {
        let source = Source::new("a.sql", &format!("{}^{}", " x".repeat(5000), "y".repeat(5000)));
        let text = source.script_error(10_000, None, "here", String::new()).to_string();
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines[1].len(), EXCERPT);
        assert_eq!(lines[1].find('^'), lines[2].find('^'));
    }

    #[test]
    fn any_offset_has_a_position() {
        let source = Source::new("a.sql", "\u{e9}\n\u{1f600}");
        for offset in 0..20 {
            source.script_error(offset, None, "x", String::new());
        }
        assert_eq!(source.position(99), Position { line: 2, column: 2 });
    }
}
