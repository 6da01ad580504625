//! What the user may do and see, and what gives it the rest.

use super::About;
use crate::oracle::data::mark_of;
use crate::oracle::load::LoadError;
use crate::oracle::rights::{AS_ADMINISTRATOR, granting, is_denied, refusable};
use crate::oracle::statement::quoted;
use crate::oracle::views::READ;
use crate::oracle::{Client, ClientError};
use dyno_record::{Finding, Topic};
use std::collections::BTreeSet;

pub(super) const DATA: &str = "data";
pub(super) const OBJECTS: &str = "objects";
pub(super) const SETTINGS: &str = "settings";
pub(super) const COUNTERS: &str = "counters";
pub(super) const SESSIONS: &str = "sessions";
pub(super) const STATEMENTS: &str = "statements";
pub(super) const LOG_SWITCHES: &str = "log switches";
pub(super) const PARAMETERS: &str = "parameters";
pub(super) const LOCK: &str = "lock";
pub(super) const CHECKPOINT: &str = "checkpoint";

/// The role that lets a user read all views that take a right.
const ROLE: &str = "select_catalog_role";

/// The right to change parameters, and to have blocks written.
const ALTER_SYSTEM: &str = "ALTER SYSTEM";

/// What the set-up of experiments may make beside tables.
const MADE: [&str; 3] = ["CREATE SEQUENCE", "CREATE VIEW", "CREATE PROCEDURE"];

/// What is read of each view that takes a right.
pub(super) const OF_COUNTERS: [&str; 8] = [
    "v$instance_recovery",
    "v$osstat",
    "v$sesstat",
    "v$statname",
    "v$sys_time_model",
    "v$sysmetric",
    "v$sysstat",
    "v$system_event",
];
pub(super) const OF_SESSIONS: [&str; 3] = ["v$lock", "v$session", "v$transaction"];
pub(super) const OF_STATEMENTS: [&str; 2] = ["v$sql", "v$sqlstats"];
pub(super) const OF_LOG_SWITCHES: [&str; 1] = ["v$log"];
pub(super) const OF_PARAMETERS: [&str; 5] = [
    "v$instance",
    "v$parameter",
    "v$resource_limit",
    "v$sgainfo",
    "v$spparameter",
];

/// The views that take a right and that this user may not read.
pub(super) fn hidden(client: &mut Client) -> Result<BTreeSet<&'static str>, ClientError> {
    let mut hidden = BTreeSet::new();
    for view in READ.iter().filter(|view| view.needs_right) {
        let read = client.answer(
            &format!("select 1 from {} where 1 = 0", view.name),
            &[],
            1,
            Some(crate::patience::ANSWER),
        );
        if let Err(error) = refusable(read)?
            && is_denied(&error)
        {
            hidden.insert(view.name);
        }
    }
    Ok(hidden)
}

/// The user, as a statement takes it.
fn user(about: &About) -> String {
    let schema = about.info.schema();
    let is_plain = schema
        .chars()
        .all(|letter| letter.is_ascii_uppercase() || letter.is_ascii_digit() || letter == '_');
    match is_plain {
        true => schema,
        false => quoted(&schema),
    }
}

/// Whether dyno can make tables here, with rows in them.
pub(super) fn data(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let problem = |found: String| Finding::problem(Topic::Rights, DATA, found);
    let cannot = "an experiment with data of its own cannot run";
    if !about.privileges.contains("CREATE TABLE") {
        let statements = [
            granting("create table", &user(about)),
            format!("alter user {} quota unlimited on users", user(about)),
        ];
        let finding = problem(format!("this user may not create tables: {cannot}"));
        return Ok(Some(finding.remedy(AS_ADMINISTRATOR).executing(statements)));
    }
    let space = Space::of(client, about)?;
    if space.allowed_bytes == Some(0) {
        let Space { tablespace, .. } = &space;
        let found = format!("this user has no quota on the tablespace {tablespace}, where its tables go: {cannot}");
        return Ok(Some(
            problem(found)
                .remedy(AS_ADMINISTRATOR)
                .executing([space.unlimited(about)]),
        ));
    }
    match mark_of(client) {
        Ok(_) => {
            let found = format!(
                "this user may create tables, in its own schema {} and the tablespace {}",
                about.info.schema(),
                space.tablespace
            );
            Ok(Some(Finding::ok(Topic::Rights, DATA, found)))
        }
        Err(LoadError::Database(error)) => Err(error),
        Err(error) => Ok(Some(problem(error.to_string()))),
    }
}

/// How much room this user has for its tables.
pub(super) struct Space {
    pub tablespace: String,
    /// What it may fill in all; `None`: all there is.
    pub allowed_bytes: Option<u64>,
    pub used_bytes: u64,
}

impl Space {
    pub(super) fn of(client: &mut Client, about: &About) -> Result<Self, ClientError> {
        let tablespace: Option<String> = client.query_first("select default_tablespace from user_users")?;
        let tablespace = tablespace.unwrap_or_else(|| "USERS".to_owned());
        // Below zero: without limit.
        let quotas =
            client.query::<(String, i64, u64)>("select tablespace_name, max_bytes, bytes from user_ts_quotas")?;
        let quota = quotas.into_iter().find(|(name, ..)| *name == tablespace);
        let is_unlimited = about.privileges.contains("UNLIMITED TABLESPACE");
        let (allowed_bytes, used_bytes) = match quota {
            _ if is_unlimited => (None, 0),
            None => (Some(0), 0),
            Some((_, most, used)) => (u64::try_from(most).ok(), used),
        };
        Ok(Self {
            tablespace,
            allowed_bytes,
            used_bytes,
        })
    }

    /// The statement that lifts the limit.
    pub(super) fn unlimited(&self, about: &About) -> String {
        format!(
            "alter user {} quota unlimited on {}",
            user(about),
            quoted(&self.tablespace)
        )
    }
}

/// Whether a set-up can make what some need beside tables.
pub(super) fn objects(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let missing: Vec<_> = MADE
        .iter()
        .filter(|right| !about.privileges.contains(**right))
        .collect();
    if missing.is_empty() {
        let found = "this user may make sequences, views and procedures, too";
        return Ok(Some(Finding::ok(Topic::Rights, OBJECTS, found)));
    }
    let rights: Vec<String> = missing.iter().map(|right| right.to_lowercase()).collect();
    let found = format!(
        "this user may not {}: an experiment whose set-up does so, or numbers rows by itself (identity), cannot run",
        rights.join(", ")
    );
    let finding = Finding::note(Topic::Rights, OBJECTS, found).remedy(AS_ADMINISTRATOR);
    Ok(Some(finding.executing([granting(&rights.join(", "), &user(about))])))
}

/// Whether experiments can change parameters.
pub(super) fn settings(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    if about.privileges.contains(ALTER_SYSTEM) && about.parameters.is_some() {
        let found = "this user may change parameters, and put them back (alter system)";
        return Ok(Some(Finding::ok(Topic::Rights, SETTINGS, found)));
    }
    let found = "parameters that an experiment asks for are not changed on the server, because this user may not, and \
                 each run says how they differ";
    let mut statements = Vec::new();
    if !about.privileges.contains(ALTER_SYSTEM) {
        statements.push(granting(&ALTER_SYSTEM.to_lowercase(), &user(about)));
    }
    if about.parameters.is_none() {
        statements.push(granting(ROLE, &user(about)));
    }
    let finding = Finding::note(Topic::Rights, SETTINGS, found).remedy(AS_ADMINISTRATOR);
    Ok(Some(finding.executing(statements)))
}

pub(super) fn counters(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(Some(seen(
        about,
        COUNTERS,
        &OF_COUNTERS,
        "what the server counts, and how long it waits for what, can be read",
        "results have no redo, no blocks read or written, no parses, no waits, not the server's CPU time, and dips get \
         no cause from the server",
    )))
}

pub(super) fn sessions(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(Some(seen(
        about,
        SESSIONS,
        &OF_SESSIONS,
        "what all sessions wait for, and who blocks whom, can be read",
        "results do not tell what sessions wait for and who blocks whom, and no dip is put down to a lock",
    )))
}

pub(super) fn statements(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(Some(seen(
        about,
        STATEMENTS,
        &OF_STATEMENTS,
        "what each statement costs the server can be read",
        "results do not tell what each statement costs the server",
    )))
}

pub(super) fn log_switches(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(Some(seen(
        about,
        LOG_SWITCHES,
        &OF_LOG_SWITCHES,
        "switches of the redo log are seen",
        "switches of the redo log are not among what happened",
    )))
}

pub(super) fn parameters(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(Some(seen(
        about,
        PARAMETERS,
        &OF_PARAMETERS,
        "the server's parameters, sizes and limits can be read",
        "results do not tell the server's parameters, nor whether they let it lose what was committed; that it takes \
         too few sessions shows only when the load connects",
    )))
}

/// Whether these views can be read.
fn seen(about: &About, subject: &str, views: &[&str], there: &str, lack: &str) -> Finding {
    let hidden: Vec<&str> = views
        .iter()
        .copied()
        .filter(|view| about.hidden.contains(view))
        .collect();
    if hidden.is_empty() {
        return Finding::ok(Topic::Rights, subject, there);
    }
    let found = format!("this user may not read {}: {lack}", hidden.join(", "));
    Finding::note(Topic::Rights, subject, found)
        .remedy(AS_ADMINISTRATOR)
        .executing([granting(ROLE, &user(about))])
}

/// Whether one campaign at a time can be had in the whole database.
pub(super) fn lock(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    // There is nothing to give back; who may not is told so first.
    let release = "declare r integer; begin r := dbms_lock.release(720401337); end;";
    Ok(Some(match refusable(client.begin(release))? {
        Ok(()) => {
            let found = "one campaign at a time measures on this database, whoever starts it (dbms_lock)";
            Finding::ok(Topic::Rights, LOCK, found)
        }
        Err(_) => {
            let found = "one campaign at a time measures as this user, but others may as other users: this one may not \
                         use dbms_lock";
            Finding::note(Topic::Rights, LOCK, found)
                .remedy(AS_ADMINISTRATOR)
                .executing([granting("execute on dbms_lock", &user(about))])
        }
    }))
}

/// Whether what loading changed can be written before the measurement.
pub(super) fn checkpoint(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    Ok(Some(match about.privileges.contains(ALTER_SYSTEM) {
        true => {
            let found = "what loading has changed can be written before each measurement";
            Finding::ok(Topic::Rights, CHECKPOINT, found)
        }
        false => {
            let found = "what loading has changed may be written during the measurement, because this user may not \
                         have it written before";
            Finding::note(Topic::Rights, CHECKPOINT, found)
                .remedy(AS_ADMINISTRATOR)
                .executing([granting(&ALTER_SYSTEM.to_lowercase(), &user(about))])
        }
    }))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn of_each_view_that_takes_a_right_it_is_said_what_lacks_without_it() {
        let told: BTreeSet<&str> = [
            &OF_COUNTERS[..],
            &OF_SESSIONS,
            &OF_STATEMENTS,
            &OF_LOG_SWITCHES,
            &OF_PARAMETERS,
        ]
        .concat()
        .into_iter()
        .collect();
        let read = READ.iter().filter(|view| view.needs_right).map(|view| view.name);
        assert_eq!(read.collect::<BTreeSet<_>>(), told);
    }
}
