//! The data a run works on: made once, kept, and the same for every run.
//!
//! On the embedded server loaded data is kept in a template database and each run gets a fresh copy, so reuse is sound whatever the workload does. On
//! a server that is not ours the data lives in a schema of its own, which is made anew once a run has used it. A schema or table that dyno did not make
//! is never touched.

use super::{Progress, RunError};
use crate::experiment::{Data, Resolved};
use dyno_engine::Stop;
use dyno_target::address::ConnectionInfo;
use dyno_target::embedded::{Server, create_from_template, database_exists, drop_database};
use dyno_target::facts::server_version;
use dyno_target::load::{Fill, fill_table, run_sql, settle};
use dyno_target::server_message;
use postgres::Client;
use postgres_protocol::escape::{escape_identifier, escape_literal};
use sha2::{Digest, Sha256};
use std::fmt::Write;

/// The database in which data is being loaded; it gets its lasting name when it is complete.
const LOADING: &str = "dyno_loading";

/// The database that a run works on.
const WORKING: &str = "dyno_run";

/// What begins the comment on a schema that dyno made.
const MARK: &str = "made by dyno";

/// Identifies the data's definition on a major version; data with the same fingerprint is the same.
fn fingerprint(data: &Data, version: u32) -> String {
    // Serializing plain strings and numbers cannot fail.
    let text = serde_json::to_string(data).unwrap_or_default();
    let hash = Sha256::digest(format!("{}\n{text}", version / 10_000));
    hash.iter().take(6).fold(String::new(), |mut hex, byte| {
        let _ = write!(hex, "{byte:02x}");
        hex
    })
}

/// Whether the experiment brings data at all.
fn has_data(data: &Data) -> bool {
    !(data.setup.trim().is_empty() && data.fill.is_empty() && data.finish.trim().is_empty())
}

/// A fresh copy of the experiment's data on the embedded server; the data is loaded only if it is not kept there.
pub(super) fn embedded(
    server: &Server,
    experiment: &Resolved,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<ConnectionInfo, RunError> {
    let mut admin = server.connection("postgres").connect()?;
    drop_database(&mut admin, WORKING)?;
    let working = server.connection(WORKING);
    if !has_data(&experiment.data) {
        create_from_template(&mut admin, "template1", WORKING)?;
        return Ok(working);
    }
    let version = server_version(&mut admin).map_err(|error| RunError::server("read the version", &error))?;
    // Names are limited to 63 bytes.
    let prefix: String = experiment.name.chars().filter(char::is_ascii).take(40).collect();
    let template = format!("{prefix}@{}", fingerprint(&experiment.data, version));
    if database_exists(&mut admin, &template)? {
        progress.step("Copying the loaded data");
    } else {
        drop_older(&mut admin, &prefix)?;
        drop_database(&mut admin, LOADING)?;
        let create = format!("create database {LOADING}");
        admin
            .batch_execute(&create)
            .map_err(|error| RunError::server(&create, &error))?;
        load(&server.connection(LOADING), experiment, progress, stop)?;
        progress.step("Vacuuming and analyzing");
        let mut client = server.connection(LOADING).connect()?;
        settle(&mut client)?;
        drop(client);
        let rename = format!("alter database {LOADING} rename to {}", escape_identifier(&template));
        admin
            .batch_execute(&rename)
            .map_err(|error| RunError::server(&rename, &error))?;
        progress.step("Copying the loaded data");
    }
    create_from_template(&mut admin, &template, WORKING)?;
    Ok(working)
}

/// Drops the experiment's data of other sizes or definitions, so that the disk holds one set per experiment.
fn drop_older(admin: &mut Client, prefix: &str) -> Result<(), RunError> {
    let query = "select datname::text from pg_database where left(datname::text, length($1) + 1) = $1::text || '@'";
    let rows = admin
        .query(query, &[&prefix])
        .map_err(|error| RunError::server("list databases", &error))?;
    for row in rows {
        drop_database(admin, row.get(0))?;
    }
    Ok(())
}

/// Drops the database of the run that is over.
pub(super) fn drop_working(server: &Server) -> Result<(), RunError> {
    Ok(drop_database(&mut server.connection("postgres").connect()?, WORKING)?)
}

/// The experiment's data in a schema of its own on a server that is not ours.
pub(super) fn remote(
    info: &ConnectionInfo,
    experiment: &Resolved,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<ConnectionInfo, RunError> {
    if !has_data(&experiment.data) {
        return Ok(info.clone());
    }
    let harmless = |c: char| {
        if c.is_ascii_alphanumeric() {
            c.to_ascii_lowercase()
        } else {
            '_'
        }
    };
    let schema: String = "dyno_"
        .chars()
        .chain(experiment.name.chars().map(harmless))
        .take(60)
        .collect();
    let own = info.with_search_path(&schema);
    let mut client = info.connect()?;
    let version = server_version(&mut client).map_err(|error| RunError::server("read the version", &error))?;
    let loaded = format!("{MARK}: loaded {}", fingerprint(&experiment.data, version));
    let query = "select coalesce(obj_description(oid, 'pg_namespace'), '') from pg_namespace where nspname = $1";
    let found = client
        .query_opt(query, &[&schema])
        .map_err(|error| RunError::server("look for the schema", &error))?;
    let found: Option<String> = found.map(|row| row.get(0));
    match found {
        Some(comment) if comment == loaded => {
            progress.step("Using the loaded data");
            return Ok(own);
        }
        Some(comment) if !comment.starts_with(MARK) => return Err(RunError::ForeignSchema { schema }),
        Some(_) => execute(
            &mut client,
            &format!("drop schema {} cascade", escape_identifier(&schema)),
        )?,
        None => {}
    }
    execute(&mut client, &format!("create schema {}", escape_identifier(&schema)))?;
    comment(&mut client, &schema, &format!("{MARK}: loading"))?;
    load(&own, experiment, progress, stop)?;
    progress.step("Vacuuming and analyzing");
    for warning in settle(&mut own.connect()?)? {
        progress.note(&warning);
    }
    comment(&mut client, &schema, &loaded)?;
    Ok(own)
}

/// Notes that the data in `info`'s schema is about to be worked on, so that the next run makes it anew.
pub(super) fn mark_used(info: &ConnectionInfo, experiment: &Resolved) -> Result<(), RunError> {
    if !has_data(&experiment.data) || experiment.data.read_only {
        return Ok(());
    }
    let mut client = info.connect()?;
    let query = "select current_schema()::text";
    let row = client
        .query_one(query, &[])
        .map_err(|error| RunError::server(query, &error))?;
    comment(&mut client, row.get(0), &format!("{MARK}: used"))
}

fn execute(client: &mut Client, command: &str) -> Result<(), RunError> {
    client
        .batch_execute(command)
        .map_err(|error| RunError::server(command, &error))
}

fn comment(client: &mut Client, schema: &str, text: &str) -> Result<(), RunError> {
    execute(
        client,
        &format!(
            "comment on schema {} is {}",
            escape_identifier(schema),
            escape_literal(text)
        ),
    )
}

/// Makes the schema, fills the tables, and completes them.
fn load(
    info: &ConnectionInfo,
    experiment: &Resolved,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<(), RunError> {
    let data = &experiment.data;
    let mut client = info.connect()?;
    progress.step("Creating the schema");
    run_sql(&mut client, &data.setup, "data.setup")?;
    for fill in &data.fill {
        progress.step(&format!("Loading {}", fill.table));
        let columns = fill
            .columns
            .iter()
            .map(|(name, expression)| (name.clone(), expression.clone()));
        let plan = Fill::new(&fill.table, fill.rows, columns.collect());
        let filled = fill_table(info, &plan, &stop.flag(), &mut |filling| {
            progress.amount(filling.rows, fill.rows, "rows")
        })?;
        progress.done(&format!("{:.1} s, {:.0} rows/s", filled.elapsed_s, filled.rows_per_s));
    }
    if !data.finish.trim().is_empty() {
        progress.step("Creating indexes and the like");
        run_sql(&mut client, &data.finish, "data.finish")?;
    }
    Ok(())
}

impl RunError {
    fn server(what: &str, error: &postgres::Error) -> Self {
        Self::Server {
            what: what.to_owned(),
            message: server_message(error),
        }
    }
}
