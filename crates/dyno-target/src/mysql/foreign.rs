//! What others have put into dyno's database on a server that is theirs, or have built upon it: it is not dropped.

use super::Client;
use super::data::{WORKING, fingerprint, mark_of, names};
use super::load::LoadError;
use crate::mark::Mark;
use crate::target::Wanted;

/// Refuses data for which dyno's database would be dropped although others need it.
///
/// # Errors
/// Who needs it, or the connection is lost.
pub(super) fn check(client: &mut Client, wanted: Wanted<'_>) -> Result<(), LoadError> {
    match mark_of(client)? {
        Some(mark) if mark.stays(&fingerprint(wanted.data), wanted).is_none() => {
            check_drop(client, &mark, wanted.campaign)
        }
        _ => Ok(()),
    }
}

/// Refuses to drop dyno's database, of which `mark` is said, if others need it. What has come to it since `campaign`
/// began is its workloads' own.
///
/// # Errors
/// Who needs it, or the connection is lost.
pub(super) fn check_drop(client: &mut Client, mark: &Mark, campaign: &str) -> Result<(), LoadError> {
    if let Some(made) = mark.made.as_ref().filter(|_| mark.used_by.as_deref() != Some(campaign)) {
        let all = names(client)?;
        let others = made.lacks(&all);
        if !others.is_empty() {
            let names = others.join(", ");
            return Err(LoadError::Others { names });
        }
    }
    // As long as a table elsewhere refers to it, a table is not dropped, and others before it are; a view elsewhere is
    // broken.
    let query = format!(
        "select concat(constraint_schema, '.', table_name) from information_schema.referential_constraints
          where unique_constraint_schema = '{WORKING}' and constraint_schema <> '{WORKING}'
          union select concat(table_schema, '.', table_name) from information_schema.views
          where table_schema <> '{WORKING}' and locate('`{WORKING}`.', view_definition) > 0 order by 1"
    );
    let needing: Vec<String> = client.query(&query).map_err(LoadError::Database)?;
    match needing.is_empty() {
        true => Ok(()),
        false => Err(LoadError::Needed {
            names: needing.join(", "),
        }),
    }
}
