//! Typed access to one table of a TOML document, where every complaint knows its place.

use super::diagnostic::Diagnostic;
use crate::nearest::nearest;
use dyno_archive::plan::Value;
use std::ops::Range;
use std::path::Path;
use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

/// The text of an experiment file and what it is called.
#[derive(Clone, Copy)]
pub(super) struct Source<'a> {
    pub path: &'a Path,
    /// The file's text; after it that of the file that its folder shares, if there is one.
    pub text: &'a str,
    pub shared: Option<SharedText<'a>>,
}

/// The file that a folder shares, and where its text begins.
#[derive(Clone, Copy)]
pub(super) struct SharedText<'a> {
    pub path: &'a Path,
    pub start: usize,
}

impl<'a> Source<'a> {
    /// The file that `span` is in, its text, and where that begins.
    fn file_of(&self, span: &Range<usize>) -> (&'a Path, &'a str, usize) {
        match self.shared {
            Some(SharedText { path, start }) if span.start >= start => {
                (path, self.text.get(start..).unwrap_or_default(), start)
            }
            Some(SharedText { start, .. }) => (self.path, self.text.get(..start - 1).unwrap_or_default(), 0),
            None => (self.path, self.text, 0),
        }
    }

    /// The file that `span` is in.
    pub fn path_of(&self, span: &Range<usize>) -> &'a Path {
        self.file_of(span).0
    }

    /// A complaint about `span`.
    pub fn complain(&self, span: Range<usize>, message: impl Into<String>, help: impl Into<String>) -> Diagnostic {
        let (path, text, start) = self.file_of(&span);
        Diagnostic::new(path, text, span.start - start..span.end - start, message, help)
    }

    /// A complaint about `span` that says why a value cannot be set.
    pub fn refuse(&self, span: Range<usize>, error: &impl ToString) -> Diagnostic {
        let text = error.to_string();
        let (message, help) = text.split_once('\n').unwrap_or((&text, ""));
        self.complain(span, message, help)
    }

    /// The file and the line of `span`, for what is found out when the file is no longer at hand.
    pub fn line_of(&self, span: &Range<usize>) -> String {
        let (path, text, start) = self.file_of(span);
        let before = text.get(..span.start - start).unwrap_or_default();
        format!("{}:{}", path.display(), before.matches('\n').count() + 1)
    }

    /// Lines, and characters in the last line, before the content of the text in quotes at `span`. `None` for texts
    /// with escapes, which take up more places in the file than they stand for.
    pub fn literal(&self, span: &Range<usize>) -> Option<(usize, usize)> {
        let (_, text, start) = self.file_of(span);
        let span = span.start - start..span.end - start;
        let written = text.get(span.clone())?;
        let mut quotes = ["'''", "\"\"\"", "'", "\""].into_iter();
        let quote = quotes.find(|quote| written.starts_with(quote))?;
        if quote.starts_with('"') && written.contains('\\') {
            return None;
        }
        let content = &written[quote.len()..];
        // A line break right after the quotes is not part of the text.
        let skipped = ["\n", "\r\n"].into_iter().find(|start| content.starts_with(start));
        let before = text.get(..span.start + quote.len() + skipped.map_or(0, str::len))?;
        let last_line = before.rsplit('\n').next().unwrap_or_default();
        Some((before.matches('\n').count(), last_line.chars().count()))
    }
}

/// A table of the document.
pub(super) struct Section<'a> {
    source: Source<'a>,
    /// What messages call it, for example `[phases]`; the document itself is `the file`.
    title: String,
    table: &'a DeTable<'a>,
    span: Range<usize>,
}

impl<'a> Section<'a> {
    /// A table in which any key may occur.
    pub fn open(
        source: Source<'a>,
        title: impl Into<String>,
        value: &'a Spanned<DeValue<'a>>,
    ) -> Result<Self, Diagnostic> {
        let title = title.into();
        match value.get_ref().as_table() {
            Some(table) => Ok(Self {
                source,
                title,
                table,
                span: value.span(),
            }),
            None => Err(wrong_type(source, value, &title, "a table")),
        }
    }

    /// A table in which only the keys `known` may occur.
    pub fn of(
        source: Source<'a>,
        title: impl Into<String>,
        value: &'a Spanned<DeValue<'a>>,
        known: &[&str],
    ) -> Result<Self, Diagnostic> {
        let section = Self::open(source, title, value)?;
        section.allow(known)?;
        Ok(section)
    }

    /// The whole document, in which only the keys `known` may occur.
    pub fn document(source: Source<'a>, table: &'a DeTable<'a>, known: &[&str]) -> Result<Self, Diagnostic> {
        let section = Self {
            source,
            title: "the file".to_owned(),
            table,
            span: 0..0,
        };
        section.allow(known)?;
        Ok(section)
    }

    /// Its path in the document, such as `data`.
    pub fn path(&self) -> &str {
        self.title.trim_matches(['[', ']'])
    }

    fn allow(&self, known: &[&str]) -> Result<(), Diagnostic> {
        for key in self.table.keys() {
            let name: &str = key.get_ref();
            if !known.contains(&name) {
                let mut help = nearest(name, known.iter().copied())
                    .map_or_else(String::new, |nearest| format!("did you mean `{nearest}`?\n"));
                help.push_str(&format!("known keys: {}", known.join(", ")));
                let message = format!("unknown key `{name}` in {}", self.title);
                return Err(self.source.complain(key.span(), message, help));
            }
        }
        Ok(())
    }

    /// The value of `key` if it is there.
    pub fn get(&self, key: &str) -> Option<&'a Spanned<DeValue<'a>>> {
        self.table.get(key)
    }

    /// All keys and values in the order of the file.
    pub fn entries(&self) -> impl Iterator<Item = (&'a str, Range<usize>, &'a Spanned<DeValue<'a>>)> {
        self.table
            .iter()
            .map(|(key, value)| (&**key.get_ref(), key.span(), value))
    }

    /// The text under `key` and its place, if it is there.
    pub fn text(&self, key: &str) -> Result<Option<(String, Range<usize>)>, Diagnostic> {
        self.get(key)
            .map(|value| match value.get_ref().as_str() {
                Some(text) => Ok((text.to_owned(), value.span())),
                None => Err(wrong_type(self.source, value, key, "a string in quotes")),
            })
            .transpose()
    }

    /// The `true` or `false` under `key`, if it is there.
    pub fn flag(&self, key: &str) -> Result<Option<bool>, Diagnostic> {
        self.get(key)
            .map(|value| {
                let flag = value.get_ref().as_bool();
                flag.ok_or_else(|| wrong_type(self.source, value, key, "true or false"))
            })
            .transpose()
    }

    /// The texts in the list under `key` and their places; none if it is not there.
    pub fn texts(&self, key: &str) -> Result<Vec<(String, Range<usize>)>, Diagnostic> {
        let Some(value) = self.get(key) else {
            return Ok(Vec::new());
        };
        let each = list(self.source, value, key, "a list of strings")?.iter();
        each.map(|value| match value.get_ref().as_str() {
            Some(text) => Ok((text.to_owned(), value.span())),
            None => Err(wrong_type(self.source, value, key, "a list of strings in quotes")),
        })
        .collect()
    }

    /// A complaint that `key` is missing.
    pub fn missing(&self, key: &str, help: &str) -> Diagnostic {
        self.source
            .complain(self.span.clone(), format!("`{key}` is missing in {}", self.title), help)
    }
}

/// The number or text that `value` is.
pub(super) fn scalar(source: Source<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, Diagnostic> {
    let wrong = || wrong_type(source, value, key, "a finite number or a string in quotes");
    match value.get_ref() {
        DeValue::String(text) => Ok(Value::Text(text.to_string())),
        DeValue::Integer(number) => {
            let number = i64::from_str_radix(number.as_str(), number.radix());
            let help = "whole numbers range from -9223372036854775808 to 9223372036854775807";
            number
                .map(Value::Integer)
                .map_err(|_| source.complain(value.span(), format!("`{key}` is too large"), help))
        }
        DeValue::Float(number) => {
            let number = number.as_str().parse().ok().filter(|number: &f64| number.is_finite());
            number.map(Value::Float).ok_or_else(wrong)
        }
        _ => Err(wrong()),
    }
}

/// The value of an option of a script, which may be `true` or `false`, too.
pub(super) fn option_value(source: Source<'_>, key: &str, value: &Spanned<DeValue<'_>>) -> Result<Value, Diagnostic> {
    match value.get_ref() {
        DeValue::Boolean(on) => Ok(Value::from(if *on { "on" } else { "off" })),
        _ => scalar(source, key, value),
    }
}

/// The list that `value` is.
pub(super) fn list<'a>(
    source: Source<'_>,
    value: &'a Spanned<DeValue<'a>>,
    key: &str,
    expected: &str,
) -> Result<&'a DeArray<'a>, Diagnostic> {
    let array = value.get_ref().as_array();
    array.ok_or_else(|| wrong_type(source, value, key, expected))
}

/// A complaint about a value of the wrong type.
pub(super) fn wrong_type(source: Source<'_>, value: &Spanned<DeValue<'_>>, key: &str, expected: &str) -> Diagnostic {
    let found = match value.get_ref() {
        DeValue::String(_) => "a text",
        DeValue::Integer(_) => "a whole number",
        DeValue::Float(_) => "a number",
        DeValue::Boolean(_) => "true or false",
        DeValue::Datetime(_) => "a date or time",
        DeValue::Array(_) => "a list",
        DeValue::Table(_) => "a table",
    };
    source.complain(value.span(), format!("`{key}` must be {expected}, but is {found}"), "")
}
