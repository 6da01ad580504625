//! What a role lacks to give a server the settings of an experiment, told before one asks for any.

use super::survey::{Kept, Survey};
use crate::postgres::Client;
use postgres_protocol::escape::escape_identifier;

/// Settings that experiments change more than others.
const USUAL: [&str; 7] = [
    "autovacuum",
    "checkpoint_completion_target",
    "checkpoint_timeout",
    "fsync",
    "full_page_writes",
    "max_wal_size",
    "shared_buffers",
];

/// What is missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::postgres) struct Missing {
    /// Why, as a clause.
    pub reason: String,
    /// What gives it to the role; nothing does if this is empty.
    pub statements: Vec<String>,
}

/// What `role`, whose connection this is, lacks; `None`: nothing.
///
/// # Errors
/// The connection is broken.
pub(in crate::postgres) fn missing(client: &mut Client, role: &str) -> Result<Option<Missing>, postgres::Error> {
    let survey = Survey::read(client)?;
    let known: Vec<&str> = USUAL.into_iter().filter(|name| survey.row(name).is_some()).collect();
    let mut refused = Vec::new();
    for name in &known {
        match survey.may_alter_system(client, name) {
            Ok(()) => {}
            Err(_) if survey.grants_settings() => refused.push(*name),
            Err(reason) => {
                return Ok(Some(Missing {
                    reason,
                    statements: Vec::new(),
                }));
            }
        }
    }
    let role = escape_identifier(role);
    let (mut reasons, mut statements) = (Vec::new(), Vec::new());
    if !refused.is_empty() {
        reasons.push("may not change them");
        statements.push(format!(
            "grant alter system on parameter {} to {role}",
            refused.join(", ")
        ));
    }
    let is_hidden = |name: &&str| {
        let in_file = survey.row(name).is_some_and(|row| row.source == "configuration file");
        in_file && survey.kept(name) == Kept::Unknown
    };
    if known.iter().any(is_hidden) {
        reasons.push("cannot see what they were, to put them back");
        statements.push(format!("grant pg_read_all_settings to {role}"));
    }
    let reload = "select has_function_privilege('pg_reload_conf()', 'execute')";
    if !client.query_one(reload, &[])?.get::<_, bool>(0) {
        reasons.push("may not have the server read its configuration again");
        statements.push(format!("grant execute on function pg_reload_conf() to {role}"));
    }
    Ok((!statements.is_empty()).then(|| Missing {
        reason: format!("this role {}", reasons.join(", ")),
        statements,
    }))
}
