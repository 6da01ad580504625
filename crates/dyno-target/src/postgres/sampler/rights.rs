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
            warnings: lack(client, version)?.iter().map(Lack::warning).collect(),
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

/// What a role lacks to see what other roles' sessions do.
pub(in crate::postgres) struct Lack {
    /// What gives it; `None`: nothing but being a superuser.
    pub statement: Option<String>,
}

impl Lack {
    /// What is missing without it.
    pub(in crate::postgres) const MISSING: &'static str = "what other roles' sessions do is hidden: no waits of \
         background processes, no vacuums, no statements of those who block, no lag of standbys";

    /// What to do where nothing can be given.
    pub(in crate::postgres) const SUPERUSER: &'static str =
        "use a superuser: before version 10 there is no lesser right";

    fn warning(&self) -> String {
        let remedy = match &self.statement {
            Some(statement) => format!(": {statement}"),
            None => format!(" {}", Self::SUPERUSER),
        };
        format!("Less is sampled, because {}. To see it{remedy}.", Self::MISSING)
    }
}

/// The role sees its own sessions, so the measured ones are always there; the rest takes a right.
pub(in crate::postgres) fn lack(client: &mut Client, version: u32) -> Result<Option<Lack>, postgres::Error> {
    let superuser = "(select rolsuper from pg_roles where rolname = session_user)";
    let may = if version >= 100_000 {
        format!("{superuser} or pg_has_role(session_user, 'pg_read_all_stats', 'usage')")
    } else {
        superuser.to_owned()
    };
    let row = client.query_one(&format!("select {may}, session_user::text"), &[])?;
    let (may, role): (bool, String) = (row.get(0), row.get(1));
    let statement = || format!("grant pg_monitor to {}", escape_identifier(&role));
    Ok((!may).then(|| Lack {
        statement: (version >= 100_000).then(statement),
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_with_what_to_do() {
        let said = |statement: Option<&str>| {
            let statement = statement.map(str::to_owned);
            Lack { statement }.warning()
        };
        assert!(said(Some("grant pg_monitor to ann")).ends_with("To see it: grant pg_monitor to ann."));
        assert!(said(None).ends_with("To see it use a superuser: before version 10 there is no lesser right."));
    }
}
