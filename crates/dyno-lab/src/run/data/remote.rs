//! Data on a server that is not ours: in a schema of its own, marked by a comment, and made anew once a run has worked on it.

use super::{Loading, MARK, Wanted, execute, fingerprint, has_data, load, text};
use crate::experiment::{Data, State};
use crate::run::{Progress, RunError};
use dyno_engine::Stop;
use dyno_target::address::ConnectionInfo;
use dyno_target::facts::server_version;
use dyno_target::load::settle;
use dyno_target::tablespaces;
use postgres::Client;
use postgres_protocol::escape::{escape_identifier, escape_literal};

/// The schema that holds the data of an experiment of this name.
fn schema_of(name: &str) -> String {
    let harmless = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    "dyno_".chars().chain(name.chars().map(harmless)).take(60).collect()
}

/// What is said of a schema; `None` if it does not exist.
fn comment_of(client: &mut Client, schema: &str) -> Result<Option<String>, RunError> {
    let query = "select coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace where nspname = $1";
    text(client, query, schema)
}

/// Refuses what loading would have to destroy or could not do, before anything is changed.
pub(in crate::run) fn check(client: &mut Client, name: &str, data: &Data) -> Result<(), RunError> {
    if !has_data(data) {
        return Ok(());
    }
    tablespaces::check(client, &data.tablespaces)?;
    let schema = schema_of(name);
    match comment_of(client, &schema)? {
        Some(comment) if !comment.starts_with(MARK) => Err(RunError::ForeignSchema { schema }),
        _ => Ok(()),
    }
}

/// The experiment's data in its state.
pub(in crate::run) fn prepare(
    info: &ConnectionInfo,
    wanted: Wanted<'_>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<ConnectionInfo, RunError> {
    let (name, data) = (&wanted.experiment.name, &wanted.experiment.data);
    if !has_data(data) {
        return Ok(info.clone());
    }
    let schema = schema_of(name);
    let own = info.with_search_path(&schema);
    let mut client = info.connect_until(&stop.flag())?;
    check(&mut client, name, data)?;
    let version = server_version(&mut client).map_err(|error| RunError::server("read the version", &error))?;
    let fingerprint = fingerprint(data, version);
    let loaded = format!("{MARK}: loaded {fingerprint}");
    match comment_of(&mut client, &schema)? {
        Some(comment) if comment == loaded && data.state != State::Reload => {
            progress.step("Using the loaded data");
            return Ok(own);
        }
        Some(comment) if comment == used(&fingerprint, wanted.campaign) && data.state == State::Keep => {
            progress.step("Going on with the data as the last run left it");
            return Ok(own);
        }
        Some(_) => execute(
            &mut client,
            &format!("drop schema {} cascade", escape_identifier(&schema)),
        )?,
        None => {}
    }
    execute(&mut client, &format!("create schema {}", escape_identifier(&schema)))?;
    comment(&mut client, &schema, &format!("{MARK}: loading"))?;
    load(
        data,
        Loading {
            info: &own,
            room: None,
            progress,
            stop,
        },
    )?;
    progress.step("Vacuuming and analyzing");
    for warning in settle(&mut *own.connect_until(&stop.flag())?)? {
        progress.note(&warning);
    }
    comment(&mut client, &schema, &loaded)?;
    Ok(own)
}

/// Notes that the data in `info`'s schema is about to be worked on, so that no other campaign takes it for fresh.
pub(in crate::run) fn mark_used(info: &ConnectionInfo, wanted: Wanted<'_>) -> Result<(), RunError> {
    let data = &wanted.experiment.data;
    if !has_data(data) || data.read_only {
        return Ok(());
    }
    let mut client = info.connect()?;
    let version = server_version(&mut client).map_err(|error| RunError::server("read the version", &error))?;
    let used = used(&fingerprint(data, version), wanted.campaign);
    comment(&mut client, &schema_of(&wanted.experiment.name), &used)
}

fn used(fingerprint: &str, campaign: &str) -> String {
    format!("{MARK}: {fingerprint} used by {campaign}")
}

fn comment(client: &mut Client, schema: &str, text: &str) -> Result<(), RunError> {
    let (schema, text) = (escape_identifier(schema), escape_literal(text));
    execute(client, &format!("comment on schema {schema} is {text}"))
}
