//! What the role may do and see, and what gives it the rest.

use super::{About, value};
use crate::postgres::Client;
use crate::postgres::sampler::{Lack, are_counted, lack};
use crate::postgres::settings::{alter_system, missing};
use dyno_record::{Finding, Topic};
use postgres_protocol::escape::escape_identifier;

pub(super) const DATA: &str = "data";
pub(super) const SETTINGS: &str = "settings";
pub(super) const SESSIONS: &str = "sessions";
pub(super) const STATEMENTS: &str = "statements";
pub(super) const INPUT: &str = "input/output";
pub(super) const LOG: &str = "server log";
pub(super) const CHECKPOINT: &str = "checkpoint";
pub(super) const CACHE: &str = "warm cache";

const AS_SUPERUSER: &str = "as a superuser, execute";

const IN_DATABASE: &str = "as a superuser, in this database, execute";

/// The extensions that dyno uses if they are there.
const COUNTS: &str = "pg_stat_statements";
const PREWARM: &str = "pg_prewarm";

/// The setting that loads extensions.
const PRELOADED: &str = "shared_preload_libraries";

/// Whether dyno can make its schema.
pub(super) fn data(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let problem = |found: &str| Finding::problem(Topic::Rights, DATA, found);
    if value(client, "select pg_is_in_recovery()")? {
        let found = "the server follows another one and takes no data: an experiment with data of its own cannot run";
        return Ok(Some(problem(found).remedy("give the address of its primary")));
    }
    let database = about.info.database();
    if value(client, "select has_database_privilege(current_database(), 'create')")? {
        let found = format!("this role may create schemas in the database {database}");
        return Ok(Some(Finding::ok(Topic::Rights, DATA, found)));
    }
    let found = format!(
        "this role may not create schemas in the database {database}: an experiment with data of its own cannot run"
    );
    let name: String = value(client, "select current_database()::text")?;
    let statement = format!(
        "grant create on database {} to {}",
        escape_identifier(&name),
        escape_identifier(&about.role)
    );
    Ok(Some(
        problem(&found)
            .remedy("as a superuser or the owner of the database, execute")
            .executing([statement]),
    ))
}

/// Whether experiments can change settings.
pub(super) fn settings(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let lacking = missing(client, &about.role).map_err(|error| client.explain(&error))?;
    let Some(lacking) = lacking else {
        let found = "this role may change them, and put them back (alter system)";
        return Ok(Some(Finding::ok(Topic::Rights, SETTINGS, found)));
    };
    let found = format!(
        "those that an experiment asks for are not changed on the server, and each run says how they differ: {}",
        lacking.reason
    );
    let finding = Finding::note(Topic::Rights, SETTINGS, found);
    Ok(Some(match lacking.statements.is_empty() {
        true => finding.remedy("log in as a superuser, or set them yourself and run with --leave-settings"),
        false => finding.remedy(AS_SUPERUSER).executing(lacking.statements),
    }))
}

/// Whether the sessions of others are seen.
pub(super) fn sessions(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let lacking = lack(client, about.version).map_err(|error| client.explain(&error))?;
    let Some(Lack { statement }) = lacking else {
        let found = "what all sessions and processes of the server do can be seen";
        return Ok(Some(Finding::ok(Topic::Rights, SESSIONS, found)));
    };
    let finding = Finding::note(Topic::Rights, SESSIONS, Lack::MISSING);
    Ok(Some(match statement {
        Some(statement) => finding.remedy(AS_SUPERUSER).executing([statement]),
        None => finding.remedy(Lack::SUPERUSER),
    }))
}

/// Whether the server counts what each statement costs.
pub(super) fn statements(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let note = |why: String| {
        let found = format!("what each statement costs the server (pages, log, time) is not counted: {why}");
        Finding::note(Topic::Rights, STATEMENTS, found)
    };
    let why = match are_counted(&about.info, client, about.version) {
        Ok(true) => {
            let found = format!("what each costs the server is counted ({COUNTS})");
            return Ok(Some(Finding::ok(Topic::Rights, STATEMENTS, found)));
        }
        Ok(false) if !is_available(client, COUNTS)? => {
            let remedy = "install the additional modules (contrib) of PostgreSQL on its machine";
            return Ok(Some(note(format!("the server has no {COUNTS}")).remedy(remedy)));
        }
        Ok(false) => format!("this database has no {COUNTS}"),
        Err(error) => format!("{COUNTS} is there, but {error}"),
    };
    let create = format!("create extension if not exists {COUNTS}");
    // Not every role may see the setting.
    let preloaded: Option<String> = value(client, &format!("select current_setting('{PRELOADED}')")).ok();
    Ok(Some(match preloaded {
        Some(libraries) if libraries.contains(COUNTS) => note(why).remedy(IN_DATABASE).executing([create]),
        Some(libraries) => {
            let all = match libraries.trim() {
                "" => COUNTS.to_owned(),
                others => format!("{others}, {COUNTS}"),
            };
            let alter = alter_system(PRELOADED, Some(&all)).unwrap_or_default();
            note(why)
                .remedy("as a superuser, in this database, execute, restarting the server before the last")
                .executing([alter, create])
        }
        None => note(why)
            .remedy(format!("{IN_DATABASE} (and have {PRELOADED} name it)"))
            .executing([create]),
    }))
}

fn is_available(client: &mut Client, extension: &str) -> Result<bool, String> {
    let query = format!("select exists (select 1 from pg_available_extensions where name = '{extension}')");
    value(client, &query)
}

/// What is seen of reading and writing.
pub(super) fn input(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let found = match about.version {
        160_000.. => match value::<String>(client, "select current_setting('track_io_timing')")?.as_str() {
            "on" => "pg_stat_io counts it by kind of process, with its time",
            _ => "pg_stat_io counts it by kind of process (without its time, as track_io_timing is off)",
        },
        _ => "counted as a whole, not by kind of process: pg_stat_io has come with version 16",
    };
    Ok(Some(Finding::ok(Topic::Rights, INPUT, found)))
}

/// What is seen without the server's log.
pub(super) fn log(_client: &mut Client, _about: &About) -> Result<Option<Finding>, String> {
    let found = "not read, as the server is not dyno's own: checkpoints and vacuums are seen in its statistics";
    Ok(Some(Finding::ok(Topic::Rights, LOG, found)))
}

/// Whether dyno can have a checkpoint made before it measures.
pub(super) fn checkpoint(client: &mut Client, about: &About) -> Result<Option<Finding>, String> {
    let may = match about.version {
        150_000.. => "select pg_has_role(current_user, 'pg_checkpoint', 'usage')",
        _ => "select rolsuper from pg_roles where rolname = current_user",
    };
    if value(client, may)? {
        let found = "this role may have one made before each measurement";
        return Ok(Some(Finding::ok(Topic::Rights, CHECKPOINT, found)));
    }
    let found = "none is made before a measurement, because this role may not: what loading has changed may be \
                 written during it";
    let finding = Finding::note(Topic::Rights, CHECKPOINT, found);
    Ok(Some(match about.version {
        150_000.. => finding
            .remedy(AS_SUPERUSER)
            .executing([format!("grant pg_checkpoint to {}", escape_identifier(&about.role))]),
        _ => finding.remedy("log in as a superuser: before version 15 there is no lesser right"),
    }))
}

/// Whether `cache = "warm"` has its extension, or can have it.
pub(super) fn cache(client: &mut Client, _about: &About) -> Result<Option<Finding>, String> {
    let query = format!(
        "select exists (select 1 from pg_extension where extname = '{PREWARM}')
             or (select rolsuper from pg_roles where rolname = current_user) and exists (
                select 1 from pg_available_extensions where name = '{PREWARM}')"
    );
    if value(client, &query)? {
        let found = format!("tables and indexes can be read into it ({PREWARM})");
        return Ok(Some(Finding::ok(Topic::Rights, CACHE, found)));
    }
    let found = format!("an experiment with cache = \"warm\" reads its tables without their indexes: no {PREWARM}");
    let finding = Finding::note(Topic::Rights, CACHE, found);
    Ok(Some(match is_available(client, PREWARM)? {
        true => finding
            .remedy(IN_DATABASE)
            .executing([format!("create extension if not exists {PREWARM}")]),
        false => finding.remedy("install the additional modules (contrib) of PostgreSQL on its machine"),
    }))
}
