//! The data a run works on: made once, kept, and in the state that the experiment asks for.
//!
//! A schema, table or database that dyno did not make is never touched.

pub(super) mod embedded;
pub(super) mod remote;

use super::{Progress, RunError};
use crate::experiment::{Data, Resolved};
use crate::figures::figure;
use dyno_engine::Stop;
use dyno_target::host::check_room;
use dyno_target::postgres::Client;
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::DatabaseLocale;
use dyno_target::postgres::load::{Fill, LoadError, check_columns, fill_table, run_sql, run_sql_with};
use dyno_target::postgres::room::needed_bytes;
use dyno_target::postgres::schema::{SchemaError, SetUp, check_inside};
use sha2::{Digest, Sha256};
use std::fmt::Write;
use std::path::Path;

/// The data that a campaign needs, and who asks for it.
#[derive(Clone, Copy)]
pub(super) struct Wanted<'a> {
    /// The experiment of the cell at hand.
    pub experiment: &'a Resolved,
    /// The experiments of all cells: data that any of them needs is kept.
    pub all: &'a [&'a Resolved],
    /// The name of the campaign's folder: what one campaign left is no state for another to go on with.
    pub campaign: &'a str,
}

/// Where data is loaded, and what its loading has to mind.
struct Loading<'a> {
    info: &'a ConnectionInfo,
    /// The folder that has to have room for it, if it is on this machine, and how many times the data will lie there.
    room: Option<(&'a Path, u32)>,
    progress: &'a mut dyn Progress,
    stop: &'a Stop,
}

/// Identifies the data's definition on a major version, in a database of this locale if dyno makes that; data with the same fingerprint is the same.
fn fingerprint(data: &Data, version: u32, locale: Option<&DatabaseLocale>) -> String {
    let definition = (&data.setup, &data.fill, &data.finish, &data.tablespaces);
    // Serializing plain strings and numbers cannot fail.
    let text = serde_json::to_string(&definition).unwrap_or_default();
    let locale = locale.map_or("", DatabaseLocale::options);
    let hash = Sha256::digest(format!("{}{locale}\n{text}", version / 10_000));
    hash.iter().take(6).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Whether the experiment brings data at all.
fn has_data(data: &Data) -> bool {
    !(data.setup.trim().is_empty() && data.fill.is_empty() && data.finish.trim().is_empty())
}

/// The tables to fill, as the loader knows them.
fn fills(data: &Data) -> Vec<Fill> {
    let each = data.fill.iter().map(|fill| {
        let columns = fill.columns.iter();
        let columns = columns.map(|(name, expression)| (name.clone(), expression.clone()));
        Fill::new(&fill.table, fill.rows, columns.collect())
    });
    each.collect()
}

/// Makes the schema, fills the tables, and completes them.
fn load(data: &Data, loading: Loading<'_>, within: &mut Within<'_, '_>) -> Result<(), RunError> {
    let Loading {
        info,
        room,
        progress,
        stop,
    } = loading;
    let mut client = info.connect_until(&stop.flag())?;
    progress.step("Creating the schema");
    within.run(&mut client, &data.placed_setup())?;
    let fills = fills(data);
    within.check(&mut client, &fills)?;
    check_columns(&mut client, &fills)?;
    if let Some((folder, copies)) = room {
        check_room(folder, needed_bytes(&mut client, &fills, copies)?)?;
    }
    for fill in &fills {
        progress.step(&format!("Loading {}", fill.table));
        let filled = fill_table(info, fill, &stop.flag(), &mut |filling| {
            progress.amount(filling.rows, filling.of_rows, "rows");
        })?;
        progress.done(&format!(
            "{:.1} s, {} rows/s",
            filled.elapsed_s,
            figure(filled.rows_per_s)
        ));
    }
    if !data.finish.trim().is_empty() {
        progress.step("Finishing the schema");
        within.run(&mut client, &data.placed_finish())?;
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
    fn run(&mut self, client: &mut Client, (text, what): &(String, &str)) -> Result<(), LoadError> {
        match self {
            Self::Database => run_sql(client, text, what),
            Self::Schema(set_up) => run_sql_with(client, text, what, &mut |client, statement| {
                set_up.run(client, statement)
            }),
        }
    }

    fn check(&self, client: &mut Client, fills: &[Fill]) -> Result<(), SchemaError> {
        match self {
            Self::Database => Ok(()),
            Self::Schema(set_up) => {
                let tables = fills.iter().map(|fill| fill.table.as_str());
                check_inside(client, set_up.schema, tables)
            }
        }
    }
}

fn execute(client: &mut Client, command: &str) -> Result<(), RunError> {
    client
        .batch_execute(command)
        .map_err(|error| RunError::server(command, &error))
}

/// The only text of a query's only row; `None` without a row.
fn text(client: &mut Client, query: &str, parameter: &str) -> Result<Option<String>, RunError> {
    let row = client
        .query_opt(query, &[&parameter])
        .map_err(|error| RunError::server(query, &error))?;
    Ok(row.map(|row| row.get(0)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiment::{Cache, Place, Size, State, find};

    #[test]
    fn the_same_data_is_loaded_once_whatever_is_done_with_it() {
        let mut plan = find("pk-update").unwrap().plan(Size::Small, &[], None, 7, 2).unwrap();
        let mut data = plan.cells.remove(0).experiment.data;
        let loaded = fingerprint(&data, 180_006, None);
        (data.state, data.cache) = (State::Reload, Cache::Cold);
        assert_eq!(fingerprint(&data, 180_006, None), loaded);
        // A minor release reads the files of another; a major one does not.
        assert_eq!(fingerprint(&data, 180_007, None), loaded);
        assert_ne!(fingerprint(&data, 170_000, None), loaded);
        data.setup_place = Some(Place {
            name: "moved.toml".to_owned(),
            offset: (7, 0),
        });
        assert_eq!(fingerprint(&data, 180_006, None), loaded);
        data.fill[0].rows += 1;
        assert_ne!(fingerprint(&data, 180_006, None), loaded);
    }
}
