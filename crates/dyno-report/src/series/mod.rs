//! One page of many experiments: a row for each thing that was measured, a column for each database.
//!
//! What stands in it comes from the campaigns of a series, and of all series of the same name for how it was earlier;
//! nothing is measured or judged here. Figures are those of complete runs, as everywhere.

mod dry;
mod history;
mod html;
mod line;
mod list;
mod markdown;
mod part;
mod points;
mod rows;
#[cfg(test)]
mod tests;

pub use dry::dry_run;
pub use html::{page, security_policy};
pub use line::line;
pub use list::list;
pub use markdown::markdown;
pub use part::Part;
pub use points::Figures;
pub use rows::{Published, Row};

use dyno_archive::{ArchiveError, Campaign, Series, SeriesParts};
use history::History;
use indexmap::IndexMap;
use rows::Rows;
use serde::Serialize;
use std::path::Path;

/// What is published of one series, or of several side by side.
#[derive(Debug, Serialize)]
pub struct SeriesReport {
    /// The version of what follows, which is 1. Within a version names may be added.
    pub format: u32,
    /// The version of dyno that made it.
    pub dyno_version: String,
    /// When it was made.
    pub created: String,
    /// What the series are called.
    pub title: String,
    /// When they began, and by which command.
    pub begun: Vec<Begun>,
    /// What was said when they began: where something that was asked for does not hold.
    pub notes: Vec<String>,
    /// The databases, or where one was measured at several times each time.
    pub columns: Vec<Column>,
    /// What was measured, those of a group together.
    pub rows: Vec<Row>,
    /// What else is to be known of each experiment.
    pub parts: Vec<Part>,
}

/// A series.
#[derive(Debug, Serialize)]
pub struct Begun {
    /// Its folder's name.
    pub folder: String,
    /// When it began, to the minute.
    pub when: String,
    /// The command line.
    pub command: String,
}

/// A database that was measured.
#[derive(Clone, Debug, Serialize)]
pub struct Column {
    /// What it was asked for as; with the time if it was measured at several.
    pub name: String,
    /// What the server calls itself; empty if it did not say.
    pub server: String,
}

impl SeriesReport {
    /// Puts together what their archives have of these series.
    ///
    /// # Errors
    ///
    /// If an archive cannot be read.
    pub fn of(serieses: &[Series]) -> Result<Self, ArchiveError> {
        let mut archives: IndexMap<&Path, SeriesParts> = IndexMap::new();
        for archive in serieses.iter().map(Series::archive) {
            if !archives.contains_key(archive) {
                archives.insert(archive, SeriesParts::read(archive)?);
            }
        }
        let campaigns = |series: &Series| archives.get(series.archive()).map(|parts| series.campaigns(parts));
        let read: Vec<(&Series, Vec<Option<Campaign>>)> = serieses
            .iter()
            .map(|series| (series, campaigns(series).unwrap_or_default()))
            .collect();
        let history = History::read(serieses, &archives)?;
        let mut rows = Rows::of(&read);
        rows.tell_history(&history);
        let mut names: Vec<&str> = serieses.iter().map(|series| series.record.name.as_str()).collect();
        names.dedup();
        let mut notes: Vec<String> = serieses.iter().flat_map(|series| series.record.notes.clone()).collect();
        notes.dedup();
        let begun = |series: &Series| Begun {
            folder: series.folder(),
            when: when(&series.record.started),
            command: series.record.command.clone(),
        };
        let (columns, mut rows) = rows.finish();
        let mut parts = part::parts(&read);
        let titles: Vec<String> = parts.iter().map(|part| part.title.clone()).collect();
        let apart = |title: &mut String, experiment: &str| {
            if titles.iter().filter(|other| *other == title).count() > 1 {
                *title = format!("{title} ({experiment})");
            }
        };
        for row in &mut rows {
            apart(&mut row.title, &row.experiment);
        }
        for part in &mut parts {
            apart(&mut part.title, &part.experiment);
        }
        Ok(Self {
            format: 1,
            dyno_version: env!("CARGO_PKG_VERSION").to_owned(),
            created: jiff::Timestamp::now().strftime("%Y-%m-%dT%H:%M:%SZ").to_string(),
            title: names.join(" and "),
            begun: serieses.iter().map(begun).collect(),
            notes,
            columns,
            rows,
            parts,
        })
    }

    /// What a row stands under: its group, or that it has none where others have; nothing if none has any.
    fn heading<'a>(&self, row: &'a Row) -> Option<&'a str> {
        match row.group.as_str() {
            "" if self.rows.iter().any(|row| !row.group.is_empty()) => Some("Others"),
            "" => None,
            group => Some(group),
        }
    }
}

/// An instant to the minute, where it was.
fn when(instant: &jiff::Zoned) -> String {
    instant.strftime("%Y-%m-%d %H:%M").to_string()
}
