//! Dropping a schema of dyno's and nothing else.
//!
//! No look beforehand can promise that: for types and functions the server takes no lock when something begins to
//! depend on them, so a table could come to use one between the look and the drop. Therefore the server drops with
//! `cascade` in a transaction, and a second connection, to which all of it is still there, then follows `pg_depend`
//! from the schema. The server cascades along these rows and no others, so whatever would go is among what is
//! found, and so is what has come meanwhile. The transaction is committed only if all of it lies in the schema. The
//! look beforehand only saves others from waiting for locks when the answer is no.

use super::dependents::{COLUMNS, Dependency, Object, dependents};
use super::{Extension, Mark, SchemaError, mark_of};
use crate::postgres::address::ConnectionInfo;
use crate::postgres::{Client, Transaction};
use postgres::Row;
use postgres_protocol::escape::escape_identifier;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

/// How long the drop may wait for others who use the schema.
pub const DROP_PATIENCE: Duration = Duration::from_secs(30);

/// Drops the schema `name` with all that is in it, and the extensions that came with it and that nobody uses. Gives
/// back the extensions that stay because something else needs them, each with the reason; dyno's they still are.
/// Without such a schema nothing happens. `stop` gives it up.
///
/// # Errors
/// See [`SchemaError`]. Nothing was dropped then.
pub fn drop_schema(
    info: &ConnectionInfo,
    name: &str,
    stop: &Arc<AtomicBool>,
) -> Result<Vec<(Extension, String)>, SchemaError> {
    let mut client = info.connect_until(stop)?;
    let Some(mark) = mark_of(&mut client, name)? else {
        return Ok(Vec::new());
    };
    let failed = |error: postgres::Error| SchemaError::server(&format!("drop the schema {name}"), &error);
    let mut witness = info.connect_until(stop)?;
    // The server then names objects with their schemas.
    witness.batch_execute("set search_path to pg_catalog").map_err(failed)?;
    let seeds = seeds(&mut witness, name, &mark).map_err(failed)?;
    let refuse = |rows: &[Dependency]| match dependents(name, seeds.iter().copied().collect(), rows) {
        none if none.is_empty() => Ok(()),
        needed_by => Err(SchemaError::Needed {
            schema: name.to_owned(),
            needed_by,
        }),
    };
    refuse(&reached(&mut witness, name).map_err(failed)?)?;

    let mut transaction = client.transaction().map_err(failed)?;
    transaction
        .batch_execute(&format!(
            "set local lock_timeout = '{}s'; set local search_path to pg_catalog",
            DROP_PATIENCE.as_secs()
        ))
        .map_err(failed)?;
    transaction
        .batch_execute(&format!("drop schema {} cascade", escape_identifier(name)))
        .map_err(failed)?;
    refuse(&reached(&mut witness, name).map_err(failed)?)?;
    let mut kept = Vec::new();
    for extension in mark.extensions {
        if let Some(reason) = take_back(&mut transaction, &extension).map_err(failed)? {
            kept.push((extension, reason));
        }
    }
    transaction.commit().map_err(failed)?;
    Ok(kept)
}

/// What is dyno's from the start: the schema, and the extensions in it that dyno created.
fn seeds(client: &mut Client, name: &str, mark: &Mark) -> Result<Vec<Object>, postgres::Error> {
    let oids: Vec<u32> = mark.extensions.iter().map(|extension| extension.oid).collect();
    let query = "select 'pg_namespace'::regclass::oid, oid from pg_namespace where nspname = $1
                 union all
                 select 'pg_extension'::regclass::oid, e.oid
                   from pg_extension e join pg_namespace n on n.oid = e.extnamespace where nspname = $1 and e.oid =
                     any($2)";
    let rows = client.query(query, &[&name, &oids])?;
    Ok(rows.iter().map(|row| (row.get(0), row.get(1))).collect())
}

/// What depends on the schema, what depends on that, and so on, without regard to which column: more than would be
/// dropped where something outside is.
fn reached(client: &mut Client, name: &str) -> Result<Vec<Dependency>, postgres::Error> {
    let query = format!(
        "with recursive reached(classid, objid) as (
             select 'pg_namespace'::regclass::oid, oid from pg_namespace where nspname = $1
             union select d.classid, d.objid from pg_depend d join reached r on d.refclassid = r.classid and
               d.refobjid = r.objid
         ) select {COLUMNS} from pg_depend d join reached r on d.classid = r.classid and d.objid = r.objid"
    );
    client.query(&query, &[&name])?.iter().map(Dependency::read).collect()
}

/// Drops an extension that dyno created unless something needs it, or somebody's data is in its own tables. Gives
/// back the reason why it stays.
fn take_back(transaction: &mut Transaction<'_>, extension: &Extension) -> Result<Option<String>, postgres::Error> {
    let query = "select c.oid::regclass::text, e.extcondition[i]
                   from pg_extension e
                   left join lateral generate_subscripts(e.extconfig, 1) i on true
                   left join pg_class c on c.oid = e.extconfig[i] and c.relkind in ('r', 'p')
                  where e.oid = $1 and e.extname = $2";
    let configured = transaction.query(query, &[&extension.oid, &extension.name])?;
    if configured.is_empty() {
        // It is gone already.
        return Ok(None);
    }
    let mut attempt = transaction.transaction()?;
    match drop_unused(&mut attempt, extension, &configured) {
        Ok(None) => attempt.commit().map(|()| None),
        Ok(reason) => Ok(reason),
        Err(error) => match error.as_db_error() {
            // Its hint is to drop all of that, too.
            Some(said) => Ok(Some(said.detail().unwrap_or(said.message()).replace('\n', "; "))),
            None => Err(error),
        },
    }
}

/// `configured` are the extension's tables that hold what users put into it, each with the condition that tells it
/// from what it came with.
fn drop_unused(
    attempt: &mut Transaction<'_>,
    extension: &Extension,
    configured: &[Row],
) -> Result<Option<String>, postgres::Error> {
    for row in configured {
        let (Some(table), condition): (Option<&str>, Option<&str>) = (row.try_get(0)?, row.try_get(1)?) else {
            continue;
        };
        let query = format!(
            "select exists (select 1 from {table} {})",
            condition.unwrap_or_default()
        );
        if attempt.query_one(&query, &[])?.try_get(0)? {
            return Ok(Some(format!("its table {table} holds data")));
        }
    }
    let name = escape_identifier(&extension.name);
    attempt.batch_execute(&format!("drop extension {name} restrict"))?;
    Ok(None)
}
