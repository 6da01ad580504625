//! What a role cannot see, said before the run in sentences that tell what to do.

use crate::postgres::Client;
use postgres_protocol::escape::escape_identifier;

/// What there is to know of a server before it is sampled.
pub(super) struct Survey {
    /// Whether its log has the format that is understood here.
    pub log_is_ours: bool,
    /// What will be missing, each with what to do about it.
    pub warnings: Vec<String>,
}

impl Survey {
    pub(super) fn take(client: &mut Client, version: u32) -> Result<Self, postgres::Error> {
        Ok(Self {
            log_is_ours: log_is_ours(client)?,
            warnings: rights(client, version)?.into_iter().collect(),
        })
    }
}

/// Whether messages begin with a time in UTC and the process, are in English, and come to standard error.
fn log_is_ours(client: &mut Client) -> Result<bool, postgres::Error> {
    let row = client.query_one(
        "select current_setting('log_line_prefix') = '%m [%p] '
            and current_setting('log_timezone') in ('UTC', 'Etc/UTC', 'GMT')
            and current_setting('lc_messages') in ('', 'C', 'POSIX', 'en_US.UTF-8', 'en_US.utf8')
            and current_setting('log_destination') = 'stderr' and current_setting('logging_collector') = 'off'",
        &[],
    )?;
    Ok(row.get(0))
}

/// The role sees its own sessions, so the measured ones are always there; the rest takes a right.
fn rights(client: &mut Client, version: u32) -> Result<Option<String>, postgres::Error> {
    let superuser = "(select rolsuper from pg_roles where rolname = session_user)";
    let may = if version >= 100_000 {
        format!("{superuser} or pg_has_role(session_user, 'pg_read_all_stats', 'usage')")
    } else {
        superuser.to_owned()
    };
    let row = client.query_one(&format!("select {may}, session_user::text"), &[])?;
    let (may, role): (bool, String) = (row.get(0), row.get(1));
    if may {
        return Ok(None);
    }
    let missing = "what other roles' sessions do is hidden: no waits of background processes, no vacuums, no \
                   statements of those who block, no lag of standbys";
    Ok(Some(if version >= 100_000 {
        format!(
            "Less is sampled, because {missing}. To see it: grant pg_monitor to {}.",
            escape_identifier(&role)
        )
    } else {
        format!(
            "Less is sampled, because {missing}. To see it use a superuser: before version 10 there is no lesser right."
        )
    }))
}
