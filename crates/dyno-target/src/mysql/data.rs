//! The database that a run works on: made from an experiment's data, and known by its comment.
//!
//! MariaDB cannot copy a database, so data is loaded anew once a run that may change it has worked on it. The comment
//! (MySQL's databases have none, so there it is that of a procedure in it) says of which definition it is and which
//! campaign has used it; it is written when all is loaded, so that what was loaded in part is not taken for whole. A
//! database without such a comment is somebody else's and left alone.

use super::load::{LoadError, check_new, fill_table, run};
use super::rights::remedy;
use super::{Client, ClientError};
use crate::embedded::hex;
use crate::mark::{MARK, Made, Mark};
use crate::target::{Data, Part, Progress, Reach, RowSource, Wanted};
use sha2::{Digest, Sha256};
use std::sync::atomic::AtomicBool;

/// The name of the database that a run works on.
pub const WORKING: &str = "dyno_run";

/// The characters that texts have unless a table says otherwise, whatever the server's default is: all there are. The
/// order is the one that MariaDB up to 11.5 takes for them by itself.
const CHARACTERS: &str = "character set utf8mb4 collate utf8mb4_general_ci";

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
pub struct Used(Mark);

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
pub(super) fn check_on(client: &mut Client, data: &Data) -> Result<Option<Mark>, LoadError> {
    check(data)?;
    let sequences = "select count(*) from information_schema.engines where engine = 'SEQUENCE' and support <> 'NO'";
    match data.fill.iter().find(|fill| matches!(fill.source, RowSource::Server)) {
        Some(fill) if !is_there(client, sequences)? => Err(LoadError::NoSequences {
            table: fill.table.clone(),
        }),
        _ => mark_of(client),
    }
}

/// The procedure of dyno's database that bears the comment where databases have none: it does nothing.
const BEARER: &str = "dyno_mark";

/// Whether databases have comments on this server, as on MariaDB from 10.5 on.
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
    Ok(said(client)?.is_some_and(|comment| comment.starts_with(MARK)))
}

/// The comment of dyno's database, empty if it has none; `None` if it is not there.
fn said(client: &mut Client) -> Result<Option<String>, LoadError> {
    let query = match has_comments(client)? {
        true => format!("select schema_comment from information_schema.schemata where schema_name = '{WORKING}'"),
        false => format!(
            "select coalesce(routine_comment, '') from information_schema.schemata left join \
             information_schema.routines on routine_schema = schema_name and routine_name = '{BEARER}' where \
             schema_name = '{WORKING}'"
        ),
    };
    client.query_first(&query).map_err(LoadError::Database)
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
    if let Some((mark, step)) = found
        .as_ref()
        .and_then(|mark| Some((mark, mark.stays(&fingerprint(wanted.data), wanted)?)))
    {
        progress.step(step);
        database(client, &format!("use {WORKING}"))?;
        return Ok(Prepared::of(mark.clone(), wanted, false));
    }
    load(client, data, stop, progress)?;
    let mark = Mark {
        fingerprint: Some(fingerprint(data)),
        made: Made::of(&names(client)?),
        used_by: None,
    };
    comment(client, &mark)?;
    Ok(Prepared::of(mark, wanted, data.is_some()))
}

impl Prepared {
    fn of(mark: Mark, wanted: Wanted<'_>, is_new: bool) -> Self {
        let used = Mark {
            used_by: Some(wanted.campaign.to_owned()),
            ..mark
        };
        Self {
            used: (!wanted.data.read_only).then_some(Used(used)),
            is_new,
        }
    }
}

/// What tells the data from other data.
pub(super) fn fingerprint(data: &Data) -> String {
    hex(&Sha256::digest(format!("{CHARACTERS}\n{}", data.definition)))
}

/// The tables and views of dyno's database.
pub(super) fn names(client: &mut Client) -> Result<Vec<String>, LoadError> {
    let query = format!("select table_name from information_schema.tables where table_schema = '{WORKING}' order by 1");
    client.query(&query).map_err(LoadError::Database)
}

/// Loads the data into a new database.
fn load(client: &mut Client, data: &Data, stop: &AtomicBool, progress: &mut dyn Progress) -> Result<(), LoadError> {
    let mark = Mark::default();
    let make = match has_comments(client)? {
        true => format!("create or replace database {WORKING} {CHARACTERS} comment '{mark}'"),
        // At once, so that there is hardly a moment without a mark.
        false => format!(
            "drop database if exists {WORKING}; create database {WORKING} {CHARACTERS}; create procedure \
             {WORKING}.{BEARER}() comment '{mark}' do 0"
        ),
    };
    let made = client.work(&make);
    explained(client, made)?;
    database(client, &format!("use {WORKING}"))?;
    for fill in &data.fill {
        check_new(client, fill)?;
    }
    progress.part(Part::Schema);
    run(client, &data.setup)?;
    // What mysqldump writes may have gone to another database.
    database(client, &format!("use {WORKING}"))?;
    for fill in &data.fill {
        progress.part(Part::Fill(&fill.table));
        fill_table(client, fill, stop, &mut |rows| progress.amount(rows, fill.rows, "rows"))?;
    }
    if let Some(maker) = &data.maker {
        let info = client.info().with_database(WORKING);
        maker.make(Reach::Mysql(&info), &client.stop(), progress)?;
    }
    if data.finish.text.trim().is_empty() {
        return Ok(());
    }
    progress.part(Part::Finish);
    run(client, &data.finish)
}

/// What is said of dyno's database; `None` if there is none.
pub(super) fn mark_of(client: &mut Client) -> Result<Option<Mark>, LoadError> {
    match said(client)?.map(|comment| Mark::read(&comment)) {
        None => Ok(None),
        Some(Some(mark)) => Ok(Some(mark)),
        Some(None) => Err(LoadError::NotOurs { database: WORKING }),
    }
}

/// Says this of the database. It needs no quoting: campaigns have names without quotes.
fn comment(client: &mut Client, mark: &Mark) -> Result<(), LoadError> {
    let borne = match has_comments(client)? {
        true => format!("database {WORKING}"),
        false => format!("procedure {WORKING}.{BEARER}"),
    };
    database(client, &format!("alter {borne} comment '{mark}'"))
}

fn database(client: &mut Client, statement: &str) -> Result<(), LoadError> {
    let done = client.execute(statement);
    explained(client, done)
}

/// The same, with what to do about it if this role may not.
fn explained(client: &mut Client, done: Result<(), ClientError>) -> Result<(), LoadError> {
    let Err(error) = done else {
        return Ok(());
    };
    Err(match remedy(client, &error, &format!("all on {WORKING}.*")) {
        Some(remedy) => LoadError::NotAllowed { error, remedy },
        None => LoadError::Database(error),
    })
}
