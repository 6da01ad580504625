//! The schemas that campaigns left on a server, listed and removed for those who clean up.

use super::address::ConnectionInfo;
use super::foreign::unlink;
use super::lock::{LockError, ServerLock, is_held};
use super::schema::{drop_schema, own_schemas};
use crate::target::{OwnData, StopFlag, TargetError};
use std::sync::atomic::Ordering;
use std::time::SystemTime;

/// The schemas that dyno made in the database.
pub(super) fn list(info: &ConnectionInfo, stop: &StopFlag) -> Result<Vec<OwnData>, TargetError> {
    let mut client = info.connect_until(stop)?;
    let schemas = own_schemas(&mut client)?.into_iter();
    let each = schemas.map(|schema| OwnData {
        in_use: is_held(&mut client, &schema.name),
        name: schema.name,
        what: "schema",
        bytes: schema.bytes.unsigned_abs(),
        changed: schema.mark.changed.map(SystemTime::from),
    });
    Ok(each.collect())
}

/// Drops a schema of these, unless it is in use; gives by whom then.
pub(super) fn remove(
    info: &ConnectionInfo,
    name: &str,
    notes: &mut Vec<String>,
    stop: &StopFlag,
) -> Result<Option<String>, TargetError> {
    let mut holders = Vec::new();
    let waits = StopFlag::default();
    let lock = ServerLock::take(info, true, vec![name.to_owned()], &waits, &mut |holder| {
        holders.push(holder.to_string());
        // A schema in use is not waited for.
        waits.store(true, Ordering::Relaxed);
    });
    let _lock = match lock {
        Err(LockError::Stopped) => return Ok(Some(holders.join(", "))),
        lock => lock?,
    };
    for (extension, reason) in drop_schema(info, name, stop)? {
        notes.push(format!("The extension {} was not removed: {reason}", extension.name));
    }
    // What a campaign that was killed left of its remote would have the password of that.
    let forgotten = unlink(&mut *info.connect_until(stop)?, name);
    notes.extend(
        forgotten
            .err()
            .map(|error| format!("A remote was not removed: {error}.")),
    );
    Ok(None)
}
