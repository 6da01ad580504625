//! What the role may do and see, and what gives it the rest.

use super::About;
use crate::mysql::data::{WORKING, mark_of};
use crate::mysql::load::LoadError;
use crate::mysql::rights::{AS_ADMINISTRATOR, grant};
use crate::mysql::sampler::{Lack, Seen};
use crate::mysql::settings::missing;
use crate::mysql::{Client, ClientError};
use dyno_record::{Finding, Topic};

pub(super) const DATA: &str = "data";
pub(super) const LOADING: &str = "loading";
pub(super) const SETTINGS: &str = "settings";
pub(super) const SESSIONS: &str = "sessions";
pub(super) const STATEMENTS: &str = "statements";
pub(super) const LOG: &str = "server log";
pub(super) const CHECKPOINT: &str = "checkpoint";

/// A table that there is not.
const NO_TABLE: &str = "dyno_no_such_table";

/// Whether dyno can make its database. Both statements fail, but a role without the right is told so first.
pub(super) fn data(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let problem = |found: String| Finding::problem(Topic::Rights, DATA, found);
    if about.variables.get("read_only") == Some("ON") {
        let found = "the server takes no data (read_only is on): an experiment with data of its own cannot run";
        let remedy = "give the address of the server that it follows, or set it to off";
        return Ok(Some(problem(found.to_owned()).remedy(remedy)));
    }
    for attempt in [
        format!("create table {WORKING}.{NO_TABLE} like {WORKING}.{NO_TABLE}_either"),
        format!("drop table {WORKING}.{NO_TABLE}"),
    ] {
        let refused = match client.execute(&attempt) {
            Err(error @ ClientError::Server(_)) => grant(client, &error, &format!("all on {WORKING}.*")),
            done => done.map(|()| None)?,
        };
        if let Some(statement) = refused {
            let found =
                format!("this role may not make the database {WORKING}: an experiment with data of its own cannot run");
            return Ok(Some(problem(found).remedy(AS_ADMINISTRATOR).executing([statement])));
        }
    }
    match mark_of(client) {
        Ok(_) => {
            let found = format!("this role may make the database {WORKING}");
            Ok(Some(Finding::ok(Topic::Rights, DATA, found)))
        }
        Err(LoadError::Database(error)) => Err(error),
        Err(error) => Ok(Some(problem(error.to_string()))),
    }
}

/// Whether rows come quickly.
pub(super) fn loading(client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    let ok = |found: &str| Ok(Some(Finding::ok(Topic::Rights, LOADING, found)));
    match about.variables.get("local_infile") {
        _ if client.takes_rows() => ok("rows are loaded many at a time"),
        Some("ON") => ok("rows are loaded many at a time (local_infile)"),
        _ => {
            let found = "rows are loaded by statements of their own text, which takes longer (local_infile is off)";
            let finding = Finding::note(Topic::Rights, LOADING, found);
            Ok(Some(
                finding
                    .remedy(AS_ADMINISTRATOR)
                    .executing(["set global local_infile = on"]),
            ))
        }
    }
}

/// Whether experiments can change settings.
pub(super) fn settings(client: &mut Client, _about: &About) -> Result<Option<Finding>, ClientError> {
    let statements = missing(client)?;
    Ok(Some(match statements.as_slice() {
        [] => {
            let found = "this role may change them, and put them back (set global)";
            Finding::ok(Topic::Rights, SETTINGS, found)
        }
        _ => {
            let found = "those that an experiment asks for are not changed on the server, because this role may not, \
                         and each run says how they differ";
            Finding::note(Topic::Rights, SETTINGS, found)
                .remedy(AS_ADMINISTRATOR)
                .executing(statements)
        }
    }))
}

/// Whether the sessions of others are seen.
pub(super) fn sessions(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    if let Some(finding) = lacking(about, Seen::Sessions, SESSIONS) {
        return Ok(Some(finding));
    }
    Ok(about.survey.sees_all.then(|| {
        let found = "what all sessions do, and which transactions are open, can be seen";
        Finding::ok(Topic::Rights, SESSIONS, found)
    }))
}

/// Whether the server counts what statements and tables cost, and waits for files.
pub(super) fn statements(_client: &mut Client, about: &About) -> Result<Option<Finding>, ClientError> {
    if let Some(finding) = lacking(about, Seen::Counts, STATEMENTS) {
        return Ok(Some(finding));
    }
    if about.survey.counts {
        let found = "what statements and tables cost, and how long sessions wait for files, is counted \
                     (performance schema)";
        return Ok(Some(Finding::ok(Topic::Rights, STATEMENTS, found)));
    }
    let found = "what statements and tables cost, and how long sessions wait for files, is not counted: the \
                 performance schema is off";
    let remedy = "write performance_schema = ON below [mysqld] in the server's option file and restart it; it costs \
                  some throughput, so compare runs of the same kind only";
    Ok(Some(Finding::note(Topic::Rights, STATEMENTS, found).remedy(remedy)))
}

/// What is lacking of what a survey looks for.
fn lacking(about: &About, of: Seen, subject: &str) -> Option<Finding> {
    let lacks: Vec<&Lack> = about.lacks.iter().filter(|lack| lack.of == of).collect();
    if lacks.is_empty() {
        return None;
    }
    let missing: Vec<&str> = lacks.iter().map(|lack| lack.missing.as_str()).collect();
    let finding = Finding::note(Topic::Rights, subject, missing.join("; ")).remedy(AS_ADMINISTRATOR);
    Some(finding.executing(lacks.iter().map(|lack| lack.statement.as_str())))
}

/// What is seen without the server's log.
pub(super) fn log(_client: &mut Client, _about: &About) -> Result<Option<Finding>, ClientError> {
    let found = "not read, as the server is not dyno's own: its warnings and errors are not among what happened";
    Ok(Some(Finding::ok(Topic::Rights, LOG, found)))
}

/// Whether what loading changed can be written before the measurement. A role without the right is told so before it is
/// told that there is no such table.
pub(super) fn checkpoint(client: &mut Client, _about: &About) -> Result<Option<Finding>, ClientError> {
    let attempt = format!("flush tables {WORKING}.{NO_TABLE} for export");
    let refused = match client.execute(&attempt) {
        Err(error @ ClientError::Server(_)) => grant(client, &error, "reload on *.*"),
        done => done.map(|()| None)?,
    };
    Ok(Some(match refused {
        None => Finding::ok(
            Topic::Rights,
            CHECKPOINT,
            "what loading has changed can be written before each measurement",
        ),
        Some(statement) => Finding::note(
            Topic::Rights,
            CHECKPOINT,
            "what loading has changed may be written during the measurement, because this role may not have it \
             written before",
        )
        .remedy(AS_ADMINISTRATOR)
        .executing([statement]),
    }))
}
