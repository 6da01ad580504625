//! The data a run works on: made once, kept, and in the state that the experiment asks for.
//!
//! A schema, table or database that dyno did not make is never touched.

pub(super) mod schema;
pub(super) mod template;

use super::address::ConnectionInfo;
use super::embedded::DatabaseLocale;
use super::load::{Fill, LoadError, check_columns, fill_table, run_sql, run_sql_with};
use super::room::needed_bytes;
use super::schema::{Before, SchemaError, SetUp, advice};
use super::{AskError, Client, server_message};
use crate::host::check_room;
use crate::target::{Data, Part, Progress, Reach, Sql, StopFlag, TargetError};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// Where data is loaded, and what its loading has to mind.
struct Loading<'a> {
    info: &'a ConnectionInfo,
    /// The folder that has to have room for it, if it is on this machine, and how many times the data will lie there.
    room: Option<(&'a Path, u32)>,
    progress: &'a mut dyn Progress,
    stop: &'a StopFlag,
}

/// What the names of dyno's schemas begin with.
pub(super) const OWN_SCHEMA: &str = "dyno_";

/// The schema that holds the data of an experiment of this name on a server that is not dyno's.
pub(super) fn schema_of(experiment: &str) -> String {
    let harmless = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    OWN_SCHEMA
        .chars()
        .chain(experiment.chars().map(harmless))
        .take(60)
        .collect()
}

/// Identifies the data's definition on a major version, in a database of this locale if dyno makes that; data with the
/// same fingerprint is the same.
fn fingerprint(definition: &str, version: u32, locale: Option<&DatabaseLocale>) -> String {
    let locale = locale.map_or("", DatabaseLocale::options);
    let hash = Sha256::digest(format!("{}{locale}\n{definition}", version / 10_000));
    hash.iter().take(6).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// The tables to fill, as the loader knows them.
fn fills(data: &Data) -> Vec<Fill> {
    let each = data.fill.iter();
    each.map(|fill| Fill {
        source: fill.source.clone(),
        ..Fill::new(&fill.table, fill.rows, fill.columns.clone())
    })
    .collect()
}

/// Makes the schema, fills the tables, and completes them.
fn load(data: &Data, loading: Loading<'_>, within: &mut Within<'_, '_>) -> Result<(), TargetError> {
    let Loading {
        info,
        room,
        progress,
        stop,
    } = loading;
    let mut client = info.connect_until(stop)?;
    progress.part(Part::Schema);
    let before = within.tables(&mut client)?;
    within.run(&mut client, &data.setup)?;
    let fills = fills(data);
    within.check(&mut client, before.as_ref(), &fills)?;
    check_columns(&mut client, &fills)?;
    if let Some((folder, copies)) = room {
        check_room(folder, needed_bytes(&mut client, &fills, copies)?)?;
    }
    for fill in &fills {
        progress.part(Part::Fill(&fill.table));
        let filled = fill_table(info, fill, stop, &mut |filling| {
            progress.amount(filling.rows, filling.of_rows, "rows");
        })?;
        progress.filled(filled.elapsed_s, filled.rows_per_s);
    }
    if let Some(maker) = &data.maker {
        maker.make(Reach::Postgres(info), stop, progress)?;
    }
    if !data.finish.text.trim().is_empty() {
        progress.part(Part::Finish);
        within.run(&mut client, &data.finish)?;
    }
    Ok(())
}

/// What may be made and changed while data is loaded.
enum Within<'a, 'b> {
    /// The database is dyno's.
    Database,
    /// Only a schema is.
    Schema(&'a mut SetUp<'b>),
}

impl Within<'_, '_> {
    fn run(&mut self, client: &mut Client, Sql { text, name }: &Sql) -> Result<(), LoadError> {
        match self {
            Self::Database => run_sql(client, text, name)?,
            Self::Schema(set_up) => {
                let mut hint = "";
                let done = run_sql_with(client, text, name, &mut |client, statement| {
                    let run = set_up.run(client, statement);
                    hint = run.as_ref().err().map_or("", |error| advice(error, statement));
                    run
                });
                done.map_err(|error| error.advised(hint))?;
            }
        }
        // What pg_dump writes empties the search path. The connections that fill tables and drive the load have that of
        // the database, or dyno's, and what comes next is to find the same tables.
        client
            .batch_execute("reset search_path")
            .map_err(|error| LoadError::Settle {
                what: "reset search_path".to_owned(),
                message: server_message(&error),
            })
    }

    /// The tables that are there, if some of them are not dyno's.
    fn tables(&self, client: &mut Client) -> Result<Option<Before>, SchemaError> {
        match self {
            Self::Database => Ok(None),
            Self::Schema(_) => Before::look(client).map(Some),
        }
    }

    /// Refuses to fill tables that are not dyno's.
    fn check(&self, client: &mut Client, before: Option<&Before>, fills: &[Fill]) -> Result<(), SchemaError> {
        match (self, before) {
            (Self::Schema(set_up), Some(before)) => {
                let tables = fills.iter().map(|fill| fill.table.as_str());
                before.check_new(client, set_up.schema, tables)
            }
            _ => Ok(()),
        }
    }
}

fn execute(client: &mut Client, command: &str) -> Result<(), TargetError> {
    client
        .batch_execute(command)
        .map_err(|error| AskError::new(command, &error).into())
}

/// The only text of a query's only row; `None` without a row.
fn text(client: &mut Client, query: &str, parameter: &str) -> Result<Option<String>, TargetError> {
    let row = client
        .query_opt(query, &[&parameter])
        .map_err(|error| AskError::new(query, &error))?;
    Ok(row.map(|row| row.get(0)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_is_the_same_on_every_minor_release_of_a_version() {
        let loaded = fingerprint("rows", 180_006, None);
        // A minor release reads the files of another; a major one does not.
        assert_eq!(fingerprint("rows", 180_007, None), loaded);
        assert_ne!(fingerprint("rows", 170_000, None), loaded);
        assert_ne!(fingerprint("more rows", 180_006, None), loaded);
    }

    #[test]
    fn a_schema_has_a_harmless_name() {
        assert_eq!(schema_of("pk-Select \"x\""), "dyno_pk_select__x_");
        assert_eq!(schema_of(&"a".repeat(99)).len(), 60);
    }
}
