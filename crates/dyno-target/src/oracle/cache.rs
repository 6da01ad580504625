//! The buffer cache: emptied before a load, and the pools of it that tables were put into.
//!
//! Which views are read here, and that all of their columns are there since 12.1, is said in `views`.

use super::parameters::Parameters;
use super::rights::{grant, refusable, remedy};
use super::statement::shown;
use super::{Client, ClientError};
use crate::target::TargetError;
use std::collections::BTreeMap;

/// Empties all pools, those of KEEP and RECYCLE as well. It is one of the few that a pluggable database may do, too.
const EMPTY: &str = "alter system flush buffer_cache";

/// What each session can do by what was granted; everybody may read it.
const MAY: &str = "select count(*) from session_privs where privilege = 'ALTER SYSTEM'";

/// The pool of each table that dyno made and of its indexes, where it is not that of all others. A table without a
/// segment has nothing in any.
const POOLS: &str = "select coalesce(i.table_name, s.segment_name), case when i.table_name is null then 'table' else \
                     'index' end, s.buffer_pool from user_segments s left join user_indexes i on i.index_name = \
                     s.segment_name where s.buffer_pool <> 'DEFAULT' and coalesce(i.table_name, s.segment_name) in \
                     (select name from dyno_run where kind = 'made' and note = 'TABLE') group by \
                     coalesce(i.table_name, s.segment_name), case when i.table_name is null then 'table' else 'index' \
                     end, s.buffer_pool order by 1, 2, 3";

/// What a file system's cache is passed by with.
const PAST_FILE_SYSTEM: [&str; 2] = ["DIRECTIO", "SETALL"];

/// Makes sure that this user may empty it.
///
/// # Errors
/// It may not, or the connection is broken.
pub(super) fn check(client: &mut Client) -> Result<(), TargetError> {
    match refusable(client.query_first::<u64>(MAY)).map_err(TargetError::from)? {
        Ok(Some(0)) => Err(denied(&grant("alter system", &client.info().schema()))),
        // Who cannot ask learns of it when it is done.
        _ => Ok(()),
    }
}

/// Empties it; gives what came of it, as a clause.
///
/// # Errors
/// This user may not, or the connection is broken.
pub(super) fn empty(client: &mut Client) -> Result<String, TargetError> {
    if let Err(error) = refusable(client.work(EMPTY)).map_err(TargetError::from)? {
        let remedy = remedy(&error, "alter system", &client.info().schema());
        return Err(denied(&remedy.unwrap_or_else(|| error.to_string())));
    }
    let parameters = refusable(Parameters::read(client)).map_err(TargetError::from)?.ok();
    let options = parameters
        .as_ref()
        .and_then(|parameters| parameters.value("filesystemio_options"));
    let direct = options.is_some_and(|options| PAST_FILE_SYSTEM.contains(&options.to_ascii_uppercase().as_str()));
    Ok(match direct {
        true => "the buffer cache was emptied before the load".to_owned(),
        false => {
            "the buffer cache was emptied before the load; the file system and the storage of the server may still \
             have its blocks in memory"
                .to_owned()
        }
    })
}

fn denied(remedy: &str) -> TargetError {
    TargetError::other(format!(
        "cache = \"cold\" has the server empty its buffer cache, which this user may not do; {remedy}, or choose \
         \"as-is\" or \"warm\" with --set cache=…"
    ))
}

/// Which tables and indexes are in a pool of their own, as sentences.
///
/// # Errors
/// The connection is broken.
pub(super) fn pools(client: &mut Client) -> Result<Vec<String>, ClientError> {
    let rows = refusable(client.query::<(String, String, String)>(POOLS))?.unwrap_or_default();
    if rows.is_empty() {
        return Ok(Vec::new());
    }
    let parameters = refusable(Parameters::read(client))?.ok();
    let empty = |pool: &str| {
        let size = format!("db_{}_cache_size", pool.to_lowercase());
        let parameters = parameters.as_ref()?;
        (parameters.number(&size)? == 0).then_some(size)
    };
    let mut by_pool: BTreeMap<String, Vec<String>> = BTreeMap::new();
    for (table, kind, pool) in rows {
        let table = shown(&table);
        let what = match kind.as_str() {
            "index" => format!("indexes of {table}"),
            _ => format!("table {table}"),
        };
        by_pool.entry(pool).or_default().push(what);
    }
    let sentences = by_pool.into_iter().map(|(pool, what)| {
        let without_room = empty(&pool).map_or_else(String::new, |size| {
            format!(", which has no memory of its own ({size} = 0), so that they are with all others")
        });
        format!("In the buffer pool {pool}{without_room}: {}.", what.join(", "))
    });
    Ok(sentences.collect())
}
