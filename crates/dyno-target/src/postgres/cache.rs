//! The data in the cache before a measurement.

use crate::postgres::Client;
use crate::postgres::scope::Scope;
use crate::postgres::server_message;
use std::fmt;

/// How data was brought into the cache.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Prewarmed {
    /// Whether by the extension pg_prewarm, tables and indexes into shared buffers; else by reading the tables
    /// alone, which go to the page cache of the server's machine.
    pub by_extension: bool,
    /// Tables, and with the extension their indexes and TOAST tables.
    pub relations: u64,
    /// Bytes that were read.
    pub bytes: u64,
}

impl fmt::Display for Prewarmed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (what, how) = match self.by_extension {
            true => ("tables and indexes", "by pg_prewarm"),
            false => (
                "tables",
                "one after the other, without their indexes, since pg_prewarm is not available",
            ),
        };
        write!(
            f,
            "{} {what} ({:.0} MB) were read into the cache before the load, {how}",
            self.relations,
            self.bytes as f64 / 1e6
        )
    }
}

/// The cache could not be brought into the state.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum CacheError {
    #[error("the data cannot be read into the cache: {message}")]
    Server { message: String },
}

fn failed(error: &postgres::Error) -> CacheError {
    CacheError::Server {
        message: server_message(error),
    }
}

/// Reads the tables of the connected database with their indexes into the cache: all tables of the user, or, if the
/// connection has a search path of its own, those in it. Leaves nothing behind: an extension that is not there yet
/// is created in a transaction that is rolled back.
///
/// # Errors
/// The connection is broken, or a table is locked or dropped meanwhile.
pub fn prewarm(client: &mut Client, scope: &Scope) -> Result<Prewarmed, CacheError> {
    client.batch_execute("begin").map_err(|error| failed(&error))?;
    let by_extension = by_extension(client, scope);
    client.batch_execute("rollback").map_err(|error| failed(&error))?;
    match by_extension {
        Ok(Some(warmed)) => Ok(warmed),
        Ok(None) => by_reading(client, scope).map_err(|error| failed(&error)),
        Err(error) => Err(failed(&error)),
    }
}

/// With pg_prewarm; none: it is not there and may not be created.
fn by_extension(client: &mut Client, scope: &Scope) -> Result<Option<Prewarmed>, postgres::Error> {
    if client
        .batch_execute("create extension if not exists pg_prewarm")
        .is_err()
    {
        return Ok(None);
    }
    let query = "select quote_ident(n.nspname) from pg_extension e join pg_namespace n on n.oid = e.extnamespace
                  where e.extname = 'pg_prewarm'";
    let schema: String = client.query_one(query, &[])?.get(0);
    // Indexes come last: they are what stays if the buffers are too few for all.
    let tables = scope.tables();
    let query = format!(
        "with tables as (
             select c.oid, c.reltoastrelid {tables} and has_table_privilege(c.oid, 'select')
         ), heaps as (
             select oid, 1 as turn from tables union all select reltoastrelid, 0 from tables where reltoastrelid <> 0
         ), relations as (
             select * from heaps
             union all select i.indexrelid, 2 from pg_index i join heaps h on h.oid = i.indrelid where i.indisvalid
         )
         select count(*), coalesce(sum({schema}.pg_prewarm(oid::regclass))::int8 *
           current_setting('block_size')::int8, 0)
           from (select oid from relations order by turn) ordered"
    );
    let row = client.query_one(&query, &[])?;
    Ok(Some(Prewarmed {
        by_extension: true,
        relations: row.get::<_, i64>(0).cast_unsigned(),
        bytes: row.get::<_, i64>(1).cast_unsigned(),
    }))
}

/// By reading every table from begin to end.
fn by_reading(client: &mut Client, scope: &Scope) -> Result<Prewarmed, postgres::Error> {
    let tables = scope.tables();
    let query = format!(
        "select quote_ident(n.nspname) || '.' || quote_ident(c.relname), pg_relation_size(c.oid)
         {tables} and has_table_privilege(c.oid, 'select') order by 1"
    );
    let tables = client.query(&query, &[])?;
    let mut warmed = Prewarmed {
        by_extension: false,
        relations: 0,
        bytes: 0,
    };
    client.batch_execute(
        "begin read only; set local enable_indexscan = off; set local enable_indexonlyscan = off; set local \
         enable_bitmapscan = off",
    )?;
    for table in tables {
        client.batch_execute(&format!("select count(*) from only {}", table.get::<_, &str>(0)))?;
        warmed.relations += 1;
        warmed.bytes += table.get::<_, i64>(1).cast_unsigned();
    }
    client.batch_execute("commit")?;
    Ok(warmed)
}
