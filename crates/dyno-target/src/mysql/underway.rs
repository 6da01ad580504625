//! Statements that set a value and that the server still executes although nobody waits for them any more.
//!
//! A change of `innodb_log_file_size`, for example, goes on for seconds after its `KILL QUERY`, or after the client
//! that asked for it was killed; until it is over the server shows the old value. Whoever puts settings back first lets
//! it come to its end: otherwise they would find the old value there and be content.

use super::{Client, ClientError};
use crate::target::SavedSetting;
use std::time::{Duration, Instant};

const POLL: Duration = Duration::from_millis(50);

/// The server is not known to be done.
#[derive(Debug, thiserror::Error)]
pub(super) enum Overdue {
    /// It still executes one.
    #[error("the server is still executing \"{0}\"")]
    Still(String),
    /// It does not tell.
    #[error("cannot read what the server executes: {0}")]
    Unknown(ClientError),
}

/// Waits until no other session sets one of these settings, at most for as long as `patience`.
///
/// Sessions of other users are seen by roles with the right PROCESS; those of dyno are sessions of this user.
///
/// # Errors
/// [`Overdue`].
pub(super) fn wait(client: &mut Client, settings: &[SavedSetting], patience: Duration) -> Result<(), Overdue> {
    let deadline = Instant::now() + patience;
    loop {
        let statements: Vec<String> = client
            .query(
                "select coalesce(info, '') from information_schema.processlist \
                 where id <> connection_id() and info like 'set global %'",
            )
            .map_err(Overdue::Unknown)?;
        match statements.into_iter().find(|text| sets_one(text, settings)) {
            None => return Ok(()),
            Some(text) if Instant::now() > deadline => return Err(Overdue::Still(text)),
            Some(_) => std::thread::sleep(POLL),
        }
    }
}

/// Whether a statement sets one of these settings, as dyno writes it.
fn sets_one(statement: &str, settings: &[SavedSetting]) -> bool {
    let name = statement.split_ascii_whitespace().nth(2);
    name.is_some_and(|name| settings.iter().any(|setting| setting.name.eq_ignore_ascii_case(name)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_statements_that_set_one_of_ours_are_waited_for() {
        let ours = [SavedSetting {
            name: "sync_binlog".to_owned(),
            value: Some("1".to_owned()),
            needs_restart: false,
            set_to: Some("0".to_owned()),
        }];
        for (statement, waited_for) in [
            ("set global sync_binlog = 0", true),
            ("SET GLOBAL Sync_Binlog = 0", true),
            ("set global sync_binlog_other = 0", false),
            ("set global", false),
            ("", false),
        ] {
            assert_eq!(sets_one(statement, &ours), waited_for, "{statement}");
        }
    }
}
