//! The database that a run works on: made from an experiment's data, and known by its comment.
//!
//! MariaDB cannot copy a database, so data that workloads change is loaded anew for every run, and data that they leave
//! as they found it is kept. The comment says of which definition it is; it is written when all is loaded, so that what
//! was loaded in part is not taken for whole. A database without such a comment is somebody else's and left alone.

use super::Client;
use super::load::{LoadError, fill_table, run};
use crate::embedded::hex;
use crate::target::{Data, Progress, State};
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicBool;

/// The name of the database that a run works on.
pub const WORKING: &str = "dyno_run";

/// What the comments of dyno's databases begin with.
const MARK: &str = "dyno: ";

/// What is in the comment until all is loaded.
const LOADING: &str = "loading";

/// Refuses data that asks for what only PostgreSQL has.
///
/// # Errors
/// What that is.
pub fn check(data: &Data) -> Result<(), LoadError> {
    if let Some(locale) = &data.locale {
        return Err(LoadError::Locale { locale: locale.clone() });
    }
    if !data.tablespaces.is_empty() {
        let names = data.tablespaces.join(", ");
        return Err(LoadError::Tablespaces { names });
    }
    Ok(())
}

/// Brings the data that a run works on into its state. Afterwards the connection is in that database.
///
/// # Errors
/// The data cannot be made, `stop` was raised, or there is a database of that name that is not dyno's.
pub fn prepare(
    client: &mut Client,
    data: &Data,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<(), LoadError> {
    check(data)?;
    let found = mark(client)?;
    let wanted = hex(&Sha256::digest(data.definition.as_bytes()));
    let stays = data.read_only || data.state == State::Keep;
    if stays && found.as_ref() == Some(&wanted) {
        progress.step("Using the data that is loaded");
        return database(client, &format!("use {WORKING}"));
    }
    database(
        client,
        &format!("create or replace database {WORKING} comment '{MARK}{LOADING}'"),
    )?;
    database(client, &format!("use {WORKING}"))?;
    progress.step("Creating the schema");
    run(client, &data.setup)?;
    for fill in &data.fill {
        progress.step(&format!("Filling {}", fill.table));
        fill_table(client, fill, stop, &mut |rows| progress.amount(rows, fill.rows, "rows"))?;
    }
    progress.step("Completing the schema");
    run(client, &data.finish)?;
    database(client, &format!("alter database {WORKING} comment '{MARK}{wanted}'"))
}

/// What is said of the database after dyno's mark; `None` if there is no such database.
fn mark(client: &mut Client) -> Result<Option<String>, LoadError> {
    let query = format!("select schema_comment from information_schema.schemata where schema_name = '{WORKING}'");
    let comment: Option<String> = client.query_first(&query).map_err(LoadError::Database)?;
    match comment {
        None => Ok(None),
        Some(comment) => match comment.strip_prefix(MARK) {
            Some(mark) => Ok(Some(mark.to_owned())),
            None => Err(LoadError::NotOurs { database: WORKING }),
        },
    }
}

fn database(client: &mut Client, statement: &str) -> Result<(), LoadError> {
    client.execute(statement).map_err(LoadError::Database)
}
