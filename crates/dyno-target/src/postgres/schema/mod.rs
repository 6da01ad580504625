//! dyno's schemas on servers that are not its own: each holds the data of one experiment, is known by its comment,
//! and goes without anything else.

mod created;
mod dependents;
mod drop;
mod mark;
mod set_up;

use crate::postgres::Client;
use crate::postgres::address::{ConnectError, ConnectionInfo};
use crate::postgres::server_message;
use postgres_protocol::escape::{escape_identifier, escape_literal};
use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

pub use created::Catalogue;
pub use drop::{DROP_PATIENCE, drop_schema};
pub use mark::{Extension, MARK, Mark};
pub use set_up::{SetUp, advice};

/// Something about a schema of dyno's could not be done. Nothing was dropped then.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum SchemaError {
    #[error(transparent)]
    Connect(#[from] ConnectError),
    #[error("cannot {what}: {message}")]
    Server { what: String, message: String },
    #[error("schema \"{schema}\" exists, but was not made by dyno; rename it, or choose another database")]
    Foreign { schema: String },
    #[error("dyno's schema \"{schema}\" cannot be dropped, because something outside of it depends on it: {}. {}",
        needed_by.join(", "), about_needed(needed_by))]
    Needed { schema: String, needed_by: Vec<String> },
    #[error(
        "the connections use the schema \"{found}\" instead of \"{schema}\": whatever is between dyno and the server \
         ignores the search path. Give the server's own address"
    )]
    Elsewhere { schema: String, found: String },
    #[error(
        "rows would go into the table {table} in the schema \"{found}\", which is not of this experiment: its setup \
         did not create it. Create the table in data.setup, without naming a schema"
    )]
    ForeignTable { table: String, found: String },
}

/// What to do about what depends on a schema.
fn about_needed(needed_by: &[String]) -> &'static str {
    if needed_by.iter().any(|each| each.starts_with("extension ")) {
        "Move an extension with \"alter extension … set schema public\", change or drop the rest, and rerun"
    } else {
        "Change or drop that, or rename the schema to keep it, and rerun"
    }
}

impl SchemaError {
    fn server(what: &str, error: &postgres::Error) -> Self {
        Self::Server {
            what: what.to_owned(),
            message: server_message(error),
        }
    }
}

/// A schema that dyno made.
#[derive(Clone, Debug, PartialEq)]
pub struct OwnSchema {
    /// Its name.
    pub name: String,
    /// What dyno noted of it.
    pub mark: Mark,
    /// Its tables with their indexes.
    pub bytes: i64,
}

/// The schemas that dyno made in the connected database, by name.
///
/// # Errors
/// The connection is broken, or a table was dropped meanwhile.
pub fn own_schemas(client: &mut Client) -> Result<Vec<OwnSchema>, SchemaError> {
    let query = "select n.nspname::text, obj_description(n.oid, 'pg_namespace'),
                        (select coalesce(sum(pg_total_relation_size(c.oid)), 0)::int8 from pg_class c
                          where c.relnamespace = n.oid and c.relkind in ('r', 'm', 'S'))
                   from pg_namespace n
                  where obj_description(n.oid, 'pg_namespace') like $1::text || '%' order by 1";
    let rows = client
        .query(query, &[&MARK])
        .map_err(|error| SchemaError::server("list dyno's schemas", &error))?;
    let each = rows.iter().filter_map(|row| {
        Some(OwnSchema {
            name: row.get(0),
            mark: Mark::parse(row.get(1))?,
            bytes: row.get(2),
        })
    });
    Ok(each.collect())
}

/// What dyno noted of the schema `name`; `None` if there is no such schema.
///
/// # Errors
/// [`SchemaError::Foreign`] if there is one that dyno did not make, or the connection is broken.
pub fn mark_of(client: &mut Client, name: &str) -> Result<Option<Mark>, SchemaError> {
    let query = "select coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace where nspname = $1";
    let row = client
        .query_opt(query, &[&name])
        .map_err(|error| SchemaError::server("look at the schema", &error))?;
    let Some(row) = row else { return Ok(None) };
    match Mark::parse(row.get(0)) {
        Some(mark) => Ok(Some(mark)),
        None => Err(SchemaError::Foreign {
            schema: name.to_owned(),
        }),
    }
}

/// Makes the schema `name`, marked as dyno's in the same transaction, so that whatever happens it is known as such.
///
/// # Errors
/// It exists, or the role may not make one.
pub fn create_schema(client: &mut Client, name: &str, mark: &Mark) -> Result<(), SchemaError> {
    let command = format!(
        "begin; create schema {}; {}; commit",
        escape_identifier(name),
        comment(name, mark)
    );
    let made = client.batch_execute(&command);
    if made.is_err() {
        // What ended the transaction is the error to tell.
        let _ = client.batch_execute("rollback");
    }
    made.map_err(|error| SchemaError::server(&format!("create the schema {name}"), &error))
}

/// Notes `mark` of the schema `name`.
///
/// # Errors
/// There is no such schema, or it is another role's.
pub fn set_mark(client: &mut Client, name: &str, mark: &Mark) -> Result<(), SchemaError> {
    client
        .batch_execute(&comment(name, mark))
        .map_err(|error| SchemaError::server(&format!("mark the schema {name}"), &error))
}

fn comment(name: &str, mark: &Mark) -> String {
    format!(
        "comment on schema {} is {}",
        escape_identifier(name),
        escape_literal(&mark.to_string())
    )
}

/// The search path that this role has in the database of itself, as SQL writes it.
///
/// # Errors
/// The connection is broken.
pub fn search_path(client: &mut Client) -> Result<String, SchemaError> {
    let row = client
        .query_one("show search_path", &[])
        .map_err(|error| SchemaError::server("read the search path", &error))?;
    Ok(row.get(0))
}

/// The address of `info`'s database with sessions that look for everything in `schema` first, and then where the
/// database's own `path` leads. What has no schema in its name is made in `schema`.
///
/// # Errors
/// No connection, or the sessions do not get the search path (some poolers ignore it): then they would work on data
/// that is not dyno's.
pub fn within_schema(
    info: &ConnectionInfo,
    schema: &str,
    path: &str,
    stop: &Arc<AtomicBool>,
) -> Result<ConnectionInfo, SchemaError> {
    let path = match path {
        "" => escape_identifier(schema),
        path => format!("{}, {path}", escape_identifier(schema)),
    };
    let own = info.with_settings(&[("search_path".to_owned(), path)]);
    let row = own
        .connect_until(stop)?
        .query_one("select coalesce(current_schema()::text, '')", &[])
        .map_err(|error| SchemaError::server("read the search path", &error))?;
    let found: String = row.get(0);
    if found == schema {
        Ok(own)
    } else {
        Err(SchemaError::Elsewhere {
            schema: schema.to_owned(),
            found,
        })
    }
}

/// The tables of a database, by number, as they were before an experiment's set-up ran.
pub struct Before(HashSet<u32>);

impl Before {
    /// What is there now.
    ///
    /// # Errors
    /// The connection is broken.
    pub fn look(client: &mut Client) -> Result<Self, SchemaError> {
        let rows = client.query("select oid from pg_catalog.pg_class", &[]);
        let rows = rows.map_err(|error| SchemaError::server("look at the tables that are there", &error))?;
        Ok(Self(rows.iter().map(|row| row.get(0)).collect()))
    }

    /// Makes sure that rows which are going to be put into these tables go into `schema`, or into what the set-up has
    /// made elsewhere.
    ///
    /// # Errors
    /// [`SchemaError::ForeignTable`] for the first that is somebody else's, or the connection is broken.
    pub fn check_new<'a>(
        &self,
        client: &mut Client,
        schema: &str,
        tables: impl IntoIterator<Item = &'a str>,
    ) -> Result<(), SchemaError> {
        for table in tables {
            let query = "select c.oid, n.nspname::text from pg_class c join pg_namespace n on n.oid = c.relnamespace \
                         where c.oid = $1::text::regclass";
            // What there is not, filling it will say.
            let Ok(Some(row)) = client.query_opt(query, &[&table]) else {
                continue;
            };
            let (oid, found): (u32, String) = (row.get(0), row.get(1));
            if found != schema && self.0.contains(&oid) {
                return Err(SchemaError::ForeignTable {
                    table: table.to_owned(),
                    found,
                });
            }
        }
        Ok(())
    }
}
