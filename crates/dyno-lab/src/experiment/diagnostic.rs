//! A complaint about a place in a file, shown with the line and a caret under the place.

use dyno_target::target::word_without_secrets;
use dyno_text::{HIDDEN, ends_in_secret, line_without_secrets};
use std::fmt;
use std::ops::Range;
use std::path::{Path, PathBuf};

/// What is wrong with an experiment file, and where.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub struct Diagnostic {
    /// The file.
    pub path: PathBuf,
    /// The line, from 1.
    pub line: usize,
    /// The column in characters, from 1.
    pub column: usize,
    /// The text of the line.
    pub source_line: String,
    /// How many characters of it are meant, at least 1.
    pub width: usize,
    /// What is wrong.
    pub message: String,
    /// What to do; may be empty.
    pub help: String,
}

impl Diagnostic {
    /// A complaint about the bytes `span` of `text`.
    pub(super) fn new(
        path: &Path,
        text: &str,
        span: Range<usize>,
        message: impl Into<String>,
        help: impl Into<String>,
    ) -> Self {
        let start = text.floor_char_boundary(span.start);
        let line_start = text[..start].rfind('\n').map_or(0, |newline| newline + 1);
        let line_end = text[start..].find('\n').map_or(text.len(), |newline| start + newline);
        let end = text.floor_char_boundary(span.end.clamp(start, line_end));
        let line = text[line_start..line_end].trim_end();
        let source_line = match ends_in_secret(&text[..line_start]) {
            // What it goes on with has no name in its line.
            true => format!("{}{HIDDEN}", &line[..line.len() - line.trim_start().len()]),
            false => shown(line),
        };
        Self {
            path: path.to_owned(),
            line: text[..start].matches('\n').count() + 1,
            column: text[line_start..start].chars().count() + 1,
            source_line,
            width: text[start..end].trim_end().chars().count().max(1),
            message: message.into(),
            help: help.into(),
        }
    }
}

/// A line as it may be shown: it moves no cursor, the address of a server has no password, and what is secret by its
/// name is hidden.
fn shown(line: &str) -> String {
    let line = line.replace(|character: char| character.is_control() && character != '\t', " ");
    let line = line_without_secrets(&line);
    match line.contains("target") {
        true => word_without_secrets(&line),
        false => line,
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let number = self.line.to_string();
        let margin = " ".repeat(number.len());
        // Tabs before the place are kept, so that the caret stands under it however wide they are shown.
        let indent: String = self
            .source_line
            .chars()
            .take(self.column - 1)
            .map(|character| if character == '\t' { '\t' } else { ' ' })
            .collect();
        writeln!(
            f,
            "{}:{}:{}: {}",
            self.path.display(),
            self.line,
            self.column,
            self.message
        )?;
        writeln!(f, "{margin} |")?;
        writeln!(f, "{number} | {}", self.source_line)?;
        write!(f, "{margin} | {indent}{}", "^".repeat(self.width))?;
        for line in self.help.lines() {
            write!(f, "\n{margin} = {line}")?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn points_at_the_place() {
        let text = "title = \"x\"\n\tcleints = 5\n";
        let start = text.find("cleints").unwrap();
        let diagnostic = Diagnostic::new(
            Path::new("a.toml"),
            text,
            start..start + 7,
            "unknown key",
            "try clients",
        );
        assert_eq!(
            diagnostic.to_string(),
            "a.toml:2:2: unknown key\n  |\n2 | \tcleints = 5\n  | \t^^^^^^^\n  = try clients"
        );
    }

    #[test]
    fn a_line_in_the_middle_of_a_secret_is_not_shown() {
        let text = "token = [\n  \"s3cret\",\n]\nx = 5\n";
        let at = |needle: &str| {
            let start = text.find(needle).unwrap();
            Diagnostic::new(Path::new("a.toml"), text, start..start + 1, "m", "h").source_line
        };
        assert_eq!([at("s3cret"), at("x")], ["  ***", "x = 5"]);
    }

    proptest! {
        #[test]
        fn any_span_of_any_text_can_be_shown(text in "\\PC{0,20}(\n\\PC{0,20}){0,3}", a in 0_usize..90,
            b in 0_usize..90) {
            let diagnostic = Diagnostic::new(Path::new("a.toml"), &text, a..b, "m", "h");
            prop_assert!(diagnostic.to_string().contains('^'));
        }
    }
}
