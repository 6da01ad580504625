//! What campaigns left in a schema, listed and removed for those who clean up.

use super::address::ConnectionInfo;
use super::data::{TABLE, drop_made, is_left};
use super::error::cannot;
use super::lock::{BUSY, ServerLock, is_held};
use super::sizes::database_sizes;
use super::{Client, ClientError, connect_until};
use crate::target::{OwnData, StopFlag, TargetError};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

/// How long the server may take to notice that a session is gone.
const GONE: Duration = Duration::from_secs(5);

/// dyno's table with all that it notes, if it is there.
pub(super) fn list(info: &ConnectionInfo, stop: &StopFlag) -> Result<Vec<OwnData>, TargetError> {
    let mut client = connect_until(info, stop)?;
    if !is_left(&mut client)? {
        return Ok(Vec::new());
    }
    let sizes = database_sizes(&mut client).map_err(cannot("read the size of dyno's tables"))?;
    Ok(vec![OwnData {
        name: name(info),
        what: "table with what it lists",
        bytes: u64::try_from(sizes.database_bytes).unwrap_or(0),
        changed: None,
        in_use: is_held(&mut client),
    }])
}

/// Drops dyno's table as soon as the server has noticed that the session which had locked a row of it is gone.
fn drop_table(client: &mut Client) -> Result<(), ClientError> {
    let begun = Instant::now();
    loop {
        match client.work("drop table dyno_run purge") {
            Err(error) if error.code() == Some(BUSY) && begun.elapsed() < GONE => std::thread::sleep(GONE / 50),
            dropped => return dropped,
        }
    }
}

/// What it is called.
fn name(info: &ConnectionInfo) -> String {
    format!("{}.{TABLE}", info.schema())
}

/// Drops it and what it lists, unless it is in use; gives by whom then.
pub(super) fn remove(info: &ConnectionInfo, stop: &StopFlag) -> Result<Option<String>, TargetError> {
    let mut holders = Vec::new();
    let waits = StopFlag::default();
    let lock = ServerLock::take(info, &waits, &mut |holder| {
        holders.push(holder.to_owned());
        // A server in use is not waited for.
        waits.store(true, Ordering::Relaxed);
    });
    let lock = match lock {
        Err(TargetError::Stopped(_)) => return Ok(Some(holders.join(", "))),
        lock => lock?,
    };
    let mut client = connect_until(info, stop)?;
    if is_left(&mut client)? {
        drop_made(&mut client)?;
        // A row of it is the lock, where this user has no other.
        drop(lock);
        drop_table(&mut client).map_err(cannot("drop the table dyno_run"))?;
    }
    Ok(None)
}
