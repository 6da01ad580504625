//! `load.TABLE`: tables whose rows stand in files beside that of the experiment.

use super::Reader;
use crate::experiment::diagnostic::Diagnostic;
use crate::experiment::section::Section;
use crate::experiment::{FillPlan, did_you_mean};
use crate::nearest::nearest;
use dyno_archive::plan::{RowFile, RowLayout};
use dyno_target::table_file::{FileForm, Layout, TableFile, TableFileError};
use indexmap::IndexMap;
use std::ops::Range;
use std::path::Path;

pub(super) const LOAD_KEYS: [&str; 6] = ["file", "columns", "header", "format", "delimiter", "null"];

/// How a file of rows is written.
#[derive(Clone, Copy)]
enum Format {
    Csv,
    Tsv,
    Parquet,
}

/// How a file of rows is read.
pub(crate) fn file_form(file: &RowFile) -> FileForm {
    FileForm {
        layout: match file.layout {
            RowLayout::Separated { delimiter } => Layout::Separated(u8::try_from(delimiter).unwrap_or(b',')),
            RowLayout::Escaped => Layout::Escaped,
            RowLayout::Parquet => Layout::Parquet,
        },
        header: file.header,
        null: file.null.clone(),
    }
}

impl Reader<'_> {
    /// What a section of data loads into tables.
    pub(super) fn rows_of_files(&self, data: &Section<'_>) -> Result<Vec<FillPlan>, Diagnostic> {
        let Some(load) = data.get("load") else {
            return Ok(Vec::new());
        };
        let tables = Section::open(self.source, "load", load)?;
        let plans = tables.entries().map(|(table, span, value)| {
            if let Some(fill) = data.get("fill").and_then(|fill| fill.get_ref().as_table())
                && fill.get(table).is_some()
            {
                let message = format!("the table {table} is both filled and loaded");
                return Err(self.source.complain(span, message, "keep either fill or load"));
            }
            let section = Section::of(self.source, format!("load.{table}"), value, &LOAD_KEYS)?;
            self.rows_of_file(table, &section)
        });
        plans.collect()
    }

    fn rows_of_file(&self, table: &str, section: &Section<'_>) -> Result<FillPlan, Diagnostic> {
        let (name, span) = section
            .text("file")?
            .ok_or_else(|| section.missing("file", "name the file with the rows, for example: file = \"city.csv\""))?;
        let path = self.source.path.parent().unwrap_or(Path::new("")).join(&name);
        let layout = self.row_layout(section, &path)?;
        let mut file = RowFile {
            // Whoever goes on with the campaign may do so from elsewhere.
            path: std::path::absolute(&path).unwrap_or(path),
            layout,
            header: section.flag("header")?.unwrap_or(layout != RowLayout::Escaped),
            null: match section.text("null")? {
                Some((null, _)) => null,
                None if layout == RowLayout::Escaped => "\\N".to_owned(),
                None => String::new(),
            },
            sha256: String::new(),
        };
        let (looked, first) = TableFile::look(&file.path, file_form(&file)).map_err(|error| {
            let help = match error {
                TableFileError::Read { .. } => "the path is relative to the experiment file",
                _ => "",
            };
            self.source.complain(span.clone(), error.to_string(), help)
        })?;
        file.sha256 = looked.sha256;
        Ok(FillPlan {
            table: table.to_owned(),
            rows: looked.rows.to_string(),
            columns: self.columns_of_file(section, &file, &first, span)?,
            seed: None,
            file: Some(file),
        })
    }

    /// How the values stand in a file at `path`.
    fn row_layout(&self, section: &Section<'_>, path: &Path) -> Result<RowLayout, Diagnostic> {
        let ending = path.extension().unwrap_or_default().to_string_lossy().to_lowercase();
        let format = match section.text("format")? {
            Some((format, span)) => match format.as_str() {
                "csv" => Format::Csv,
                "tsv" => Format::Tsv,
                "parquet" => Format::Parquet,
                _ => {
                    let message = format!("`format` cannot be `{format}`");
                    let help = "there are csv (RFC 4180), tsv (as COPY and mysqldump --tab write it) and parquet";
                    return Err(self.source.complain(span, message, help));
                }
            },
            None => match ending.as_str() {
                "tsv" | "tab" | "txt" | "copy" => Format::Tsv,
                "parquet" => Format::Parquet,
                _ => Format::Csv,
            },
        };
        match (section.text("delimiter")?, format) {
            (None, Format::Tsv) => Ok(RowLayout::Escaped),
            (None, Format::Parquet) => Ok(RowLayout::Parquet),
            (None, Format::Csv) => Ok(RowLayout::Separated { delimiter: ',' }),
            (Some((_, span)), Format::Tsv | Format::Parquet) => {
                let help = "it is for csv: values of tsv are separated by tabs, and those of Parquet by nothing";
                Err(self.source.complain(span, "`delimiter` is of no use here", help))
            }
            (Some((text, span)), Format::Csv) => {
                let mut letters = text.chars();
                let delimiter = letters
                    .next()
                    .filter(|letter| letter.is_ascii() && !"\"\r\n".contains(*letter));
                match (delimiter, letters.next()) {
                    (Some(delimiter), None) => Ok(RowLayout::Separated { delimiter }),
                    _ => {
                        let message = format!("`delimiter` cannot be `{text}`");
                        let help = "expected one character of ASCII, such as \";\" or \"\\t\"";
                        Err(self.source.complain(span, message, help))
                    }
                }
            }
        }
    }

    /// For each column that is loaded the number of its value in the rows of a file, from 1. `first` is the first row.
    fn columns_of_file(
        &self,
        section: &Section<'_>,
        file: &RowFile,
        first: &[String],
        span: Range<usize>,
    ) -> Result<IndexMap<String, String>, Diagnostic> {
        let chosen = section.texts("columns")?;
        let named = match file.header {
            true => first.to_vec(),
            false => chosen.iter().map(|(name, _)| name.clone()).collect(),
        };
        if let Some(wrong) = wrong_name(&named) {
            let help = "each column has a name of its own";
            return Err(self.source.complain(span, wrong, help));
        }
        let numbered = |names: &[String]| {
            let each = names.iter().enumerate();
            each.map(|(number, name)| (name.clone(), (number + 1).to_string()))
                .collect()
        };
        let names: Vec<String> = chosen.iter().map(|(name, _)| name.clone()).collect();
        if !file.header {
            if names.is_empty() {
                let help = "its first row is not that of names: list those of all values, columns = [\"id\", \"name\"]";
                return Err(section.missing("columns", help));
            }
            if !first.is_empty() && first.len() != names.len() {
                let message = format!(
                    "`columns` has {} names, but each row {} values",
                    names.len(),
                    first.len()
                );
                let help = "name each value of a row, in their order";
                return Err(self.source.complain(span, message, help));
            }
            return Ok(numbered(&names));
        }
        if chosen.is_empty() {
            return match first {
                [] => Err(self
                    .source
                    .complain(span, "the file is empty", "its first row has the names of columns")),
                _ => Ok(numbered(first)),
            };
        }
        let chosen = chosen.into_iter().map(|(name, span)| {
            let place = first.iter().position(|known| *known == name);
            place
                .map(|place| (name.clone(), (place + 1).to_string()))
                .ok_or_else(|| {
                    let hint = did_you_mean(nearest(&name, first.iter().map(String::as_str)));
                    let message = format!("the file has no column `{name}`{hint}");
                    let help = format!("it has: {}", first.join(", "));
                    self.source.complain(span, message, help)
                })
        });
        chosen.collect()
    }
}

/// What is wrong with the names of a file's columns.
fn wrong_name(names: &[String]) -> Option<String> {
    (1..).zip(names).find_map(|(number, name)| {
        let place = names
            .iter()
            .position(|other| other == name)
            .map_or(number, |place| place + 1);
        match name.as_str() {
            "" => Some(format!("column {number} has no name")),
            name if place < number => Some(format!("columns {place} and {number} are both called `{name}`")),
            _ => None,
        }
    })
}
