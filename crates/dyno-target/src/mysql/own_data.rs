//! The database that campaigns left on a server, listed and removed for those who clean up.

use super::address::ConnectionInfo;
use super::connect_until;
use super::data::{WORKING, is_left, mark_of};
use super::error::cannot;
use super::foreign::check_drop;
use super::lock::{ServerLock, is_held};
use crate::target::{OwnData, StopFlag, TargetError};
use std::sync::atomic::Ordering;
use std::time::{Duration, UNIX_EPOCH};

/// Bytes of the tables with their indexes, and when one of them was made or changed last, in seconds since 1970.
type Found = (Option<u64>, Option<u64>);

/// dyno's database, if it is there.
pub(super) fn list(info: &ConnectionInfo, stop: &StopFlag) -> Result<Vec<OwnData>, TargetError> {
    let mut client = connect_until(info, stop)?;
    if !is_left(&mut client)? {
        return Ok(Vec::new());
    }
    let query = format!(
        "select cast(sum(data_length + index_length) as unsigned), \
         cast(max(unix_timestamp(coalesce(update_time, create_time))) as unsigned) \
         from information_schema.tables where table_schema = '{WORKING}'"
    );
    let found = client
        .query_first::<Found>(&query)
        .map_err(cannot("read the size of dyno's database"))?;
    let (bytes, changed) = found.unwrap_or_default();
    Ok(vec![OwnData {
        name: WORKING.to_owned(),
        what: "database",
        bytes: bytes.unwrap_or(0),
        changed: changed.and_then(|changed| UNIX_EPOCH.checked_add(Duration::from_secs(changed))),
        in_use: is_held(&mut client),
    }])
}

/// Drops it, unless it is in use; gives by whom then.
pub(super) fn remove(info: &ConnectionInfo, stop: &StopFlag) -> Result<Option<String>, TargetError> {
    let mut holders = Vec::new();
    let waits = StopFlag::default();
    let lock = ServerLock::take(info, &waits, &mut |holder| {
        holders.push(holder.to_owned());
        // A server in use is not waited for.
        waits.store(true, Ordering::Relaxed);
    });
    let _lock = match lock {
        Err(TargetError::Stopped(_)) => return Ok(Some(holders.join(", "))),
        lock => lock?,
    };
    let mut client = connect_until(info, stop)?;
    if is_left(&mut client)?
        && let Some(mark) = mark_of(&mut client)?
    {
        check_drop(&mut client, &mark, "")?;
        let dropped = client.work(&format!("drop database {WORKING}"));
        dropped.map_err(cannot(format!("drop the database {WORKING}")))?;
    }
    Ok(None)
}
