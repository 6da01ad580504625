//! The database that a run works on: made from an experiment's data, and known by its comment.
//!
//! MariaDB cannot copy a database, so data is loaded anew once a run that may change it has worked on it. The comment
//! says of which definition it is and which campaign has used it; it is written when all is loaded, so that what was
//! loaded in part is not taken for whole. A database without such a comment is somebody else's and left alone.

use super::Client;
use super::load::{LoadError, fill_table, run};
use crate::embedded::hex;
use crate::target::{Data, Progress, State, Wanted};
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicBool;

/// The name of the database that a run works on.
pub const WORKING: &str = "dyno_run";

/// The characters that texts have unless a table says otherwise, whatever the server's default is: all there are. The
/// order is the one that MariaDB up to 11.5 takes for them by itself.
const CHARACTERS: &str = "character set utf8mb4 collate utf8mb4_general_ci";

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

/// Data that was brought into its state.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Prepared {
    /// How to mark it before the load begins, unless the load leaves it as it is.
    pub used: Option<Used>,
    /// Whether anything was loaded.
    pub is_new: bool,
}

/// What says of the database that a campaign has worked on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Used(String);

impl Used {
    /// Says so, as is done before a load that may change the data begins.
    ///
    /// # Errors
    /// The server refuses it, or the connection is lost.
    pub fn mark(&self, client: &mut Client) -> Result<(), LoadError> {
        comment(client, &self.0)
    }
}

/// Refuses data that this server could not load, or only by destroying what is not dyno's; changes nothing. Gives what
/// is said of the database, if it is there.
///
/// # Errors
/// Why the data cannot be loaded, or the connection is lost.
pub(super) fn check_on(client: &mut Client, data: &Data) -> Result<Option<String>, LoadError> {
    check(data)?;
    if !has_comments(client)? {
        let version: Option<String> = client.query_first("select version()").map_err(LoadError::Database)?;
        let version = version.unwrap_or_default();
        return Err(LoadError::NoComments { version });
    }
    let sequences = "select count(*) from information_schema.engines where engine = 'SEQUENCE' and support <> 'NO'";
    match data.fill.first() {
        Some(fill) if !is_there(client, sequences)? => Err(LoadError::NoSequences {
            table: fill.table.clone(),
        }),
        _ => mark_of(client),
    }
}

/// Whether databases have comments on this server.
fn has_comments(client: &mut Client) -> Result<bool, LoadError> {
    let query = "select count(*) from information_schema.columns where table_schema = 'information_schema' and \
                 table_name = 'SCHEMATA' and column_name = 'SCHEMA_COMMENT'";
    is_there(client, query)
}

/// Whether there is a database of dyno's on this server.
///
/// # Errors
/// The connection is lost.
pub(super) fn is_left(client: &mut Client) -> Result<bool, LoadError> {
    let query = format!(
        "select count(*) from information_schema.schemata where schema_name = '{WORKING}' and schema_comment like \
         '{MARK}%'"
    );
    Ok(has_comments(client)? && is_there(client, &query)?)
}

/// Whether this query counts any.
fn is_there(client: &mut Client, query: &str) -> Result<bool, LoadError> {
    let found: Option<u64> = client.query_first(query).map_err(LoadError::Database)?;
    Ok(found.is_some_and(|count| count > 0))
}

/// Brings the data that a run works on into its state. Afterwards the connection is in that database.
///
/// # Errors
/// The data cannot be made, `stop` was raised, or there is a database of that name that is not dyno's.
pub fn prepare(
    client: &mut Client,
    wanted: Wanted<'_>,
    stop: &AtomicBool,
    progress: &mut dyn Progress,
) -> Result<Prepared, LoadError> {
    let data = wanted.data;
    let found = check_on(client, data)?;
    let fingerprint = hex(&Sha256::digest(format!("{CHARACTERS}\n{}", data.definition)));
    let loaded = format!("loaded {fingerprint}");
    let used = format!("{fingerprint} used by {}", wanted.campaign);
    let stays = match found {
        Some(mark) if mark == loaded && data.state != State::Reload => Some("Using the data that is loaded"),
        Some(mark) if mark == used && data.state == State::Keep => {
            Some("Continuing with the data as the last run left it")
        }
        _ => None,
    };
    match stays {
        Some(step) => {
            progress.step(step);
            database(client, &format!("use {WORKING}"))?;
        }
        None => {
            load(client, data, stop, progress)?;
            comment(client, &loaded)?;
        }
    }
    Ok(Prepared {
        used: (!data.read_only).then_some(Used(used)),
        is_new: stays.is_none() && data.is_some(),
    })
}

/// Loads the data into a new database.
fn load(client: &mut Client, data: &Data, stop: &AtomicBool, progress: &mut dyn Progress) -> Result<(), LoadError> {
    database(
        client,
        &format!("create or replace database {WORKING} {CHARACTERS} comment '{MARK}{LOADING}'"),
    )?;
    database(client, &format!("use {WORKING}"))?;
    progress.step("Creating the schema");
    run(client, &data.setup)?;
    for fill in &data.fill {
        progress.step(&format!("Filling {}", fill.table));
        fill_table(client, fill, stop, &mut |rows| progress.amount(rows, fill.rows, "rows"))?;
    }
    progress.step("Completing the schema");
    run(client, &data.finish)
}

/// What is said of the database after dyno's mark; `None` if there is no such database.
fn mark_of(client: &mut Client) -> Result<Option<String>, LoadError> {
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

/// Says this of the database. It needs no quoting: campaigns have names without quotes.
fn comment(client: &mut Client, mark: &str) -> Result<(), LoadError> {
    database(client, &format!("alter database {WORKING} comment '{MARK}{mark}'"))
}

fn database(client: &mut Client, statement: &str) -> Result<(), LoadError> {
    client.execute(statement).map_err(LoadError::Database)
}
