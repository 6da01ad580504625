//! What is done over one connection before the load: the server's version, the tables' size, vacuum.

use super::server_text;
use crate::message;
use crate::options::{Environment, Options};
use crate::version::Version;
use dyno_target::postgres::Client;
use dyno_target::postgres::address::{AddressError, ConnectionInfo, LIBPQ_LOST};
use postgres::SimpleQueryMessage;

/// Finds out how pgbench's accounts are partitioned: method (null: not at all) and number. No row if there is no
/// such table in the search path.
const PARTITIONS: &str = "select p.partstrat, (select count(*) from pg_catalog.pg_inherits i where i.inhparent = \
                          c.oid) \
     from pg_catalog.pg_class c left join pg_catalog.pg_partitioned_table p on p.partrelid = c.oid \
     where c.oid = pg_catalog.to_regclass('pgbench_accounts')";

/// pgbench's tables as found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Tables {
    /// The number of branches.
    pub scale: i64,
    /// Method and number of partitions of accounts.
    pub partitions: Option<(&'static str, i64)>,
}

/// Why the tables cannot be used; the message is pgbench's.
#[derive(Debug, thiserror::Error)]
pub enum TablesError {
    /// The server refused to count.
    #[error("could not count number of branches: {text}")]
    Count {
        /// The server's error.
        text: String,
        /// Whether there is no such table.
        missing: bool,
    },
    /// There are branches but no accounts.
    #[error("no pgbench_accounts table found in {setting}")]
    NoAccounts {
        /// The setting where it was looked for, in quotes since 17.
        setting: &'static str,
    },
    /// A method that is not known here.
    #[error("unexpected partition method: \"{0}\"")]
    Method(String),
}

/// Where to connect to, resolved as libpq does.
///
/// # Errors
/// The address cannot be understood.
pub fn resolve(options: &Options, environment: Environment) -> Result<ConnectionInfo, AddressError> {
    let (target, overlay) = options.connection.target();
    let target = ConnectionInfo::resolve(Some(&target), &|name| {
        let given = overlay.iter().find(|(known, _)| *known == name);
        match given {
            Some((_, value)) => Some(value.clone()),
            None if name == "PGAPPNAME" => environment(name).or_else(|| Some("pgbench".to_owned())),
            None => environment(name),
        }
    })?;
    Ok(target.in_client_encoding())
}

/// The server's version as it names it; empty if it does not say.
pub fn server_version(client: &mut Client) -> String {
    first_row(client, "show server_version")
        .ok()
        .flatten()
        .and_then(|row| row.into_iter().next().flatten())
        .unwrap_or_default()
}

/// Looks at the tables of the built-in scripts; warns if the scale was given, because what counts is what is there.
///
/// # Errors
/// They are not there.
pub fn tables(client: &mut Client, options: &Options) -> Result<Tables, TablesError> {
    const COUNT: &str = "select count(*) from pgbench_branches";
    let counted = first_row(client, COUNT).map_err(|error| TablesError::Count {
        text: server_text::of_client(&error, COUNT),
        missing: error.code() == Some(&postgres::error::SqlState::UNDEFINED_TABLE),
    })?;
    let number = |value: Option<&Option<String>>| value?.as_deref()?.parse::<i64>().ok();
    let scale = counted.and_then(|row| number(row.first())).unwrap_or(0);
    if options.scale.is_some() {
        message::warning(&format!(
            "scale option ignored, using count from pgbench_branches table ({scale})"
        ));
    }
    // A server that knows no partitions has none.
    let Ok(found) = first_row(client, PARTITIONS) else {
        return Ok(Tables {
            scale,
            partitions: None,
        });
    };
    let setting = match options.report_format >= Version::V17 {
        true => "\"search_path\"",
        false => "search_path",
    };
    let row = found.ok_or(TablesError::NoAccounts { setting })?;
    let method = match row.first().cloned().flatten().as_deref() {
        None => None,
        Some("r") => Some("range"),
        Some("h") => Some("hash"),
        Some(other) => return Err(TablesError::Method(other.to_owned())),
    };
    let partitions = number(row.get(1)).unwrap_or(0);
    Ok(Tables {
        scale,
        partitions: method.map(|method| (method, partitions)),
    })
}

/// Vacuums the small tables and empties the history; with `all`, accounts too. What fails is told and left: a
/// script of one's own needs no such tables.
pub fn vacuum(client: &mut Client, all: bool) {
    let mut lost = false;
    message::raw("starting vacuum...");
    for statement in [
        "vacuum pgbench_branches",
        "vacuum pgbench_tellers",
        "truncate pgbench_history",
    ] {
        attempt(client, statement, &mut lost);
    }
    message::raw("end.\n");
    if all {
        message::raw("starting vacuum pgbench_accounts...");
        attempt(client, "vacuum analyze pgbench_accounts", &mut lost);
        message::raw("end.\n");
    }
}

/// Executes a statement, unless the connection was lost before.
fn attempt(client: &mut Client, statement: &str, lost: &mut bool) {
    let text = match *lost {
        true => "no connection to the server".to_owned(),
        false => match client.batch_execute(statement) {
            Ok(()) => return,
            Err(error) => server_text::of_client(&error, statement),
        },
    };
    *lost |= text.ends_with(LIBPQ_LOST);
    message::error(&text);
    message::detail("(ignoring this error and continuing anyway)");
}

/// The values of the first row, as text.
fn first_row(client: &mut Client, query: &str) -> Result<Option<Vec<Option<String>>>, postgres::Error> {
    let messages = client.simple_query(query)?;
    let row = messages.into_iter().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => Some(row),
        _ => None,
    });
    Ok(row.map(|row| {
        (0..row.len())
            .map(|column| row.get(column).map(str::to_owned))
            .collect()
    }))
}
