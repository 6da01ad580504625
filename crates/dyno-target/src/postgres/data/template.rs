//! Data on an embedded server: kept in a template database, of which each run gets a fresh copy, so that reuse is sound
//! whatever a workload does.

use super::{Loading, Within, execute, fingerprint, load, text};
use crate::host::check_room;
use crate::postgres::embedded::{
    DatabaseLocale, Locale, create_database, create_from_template, database_exists, drop_database,
};
use crate::postgres::facts::server_version;
use crate::postgres::instance::PostgresInstance;
use crate::postgres::load::settle;
use crate::postgres::schema::{MARK, Mark};
use crate::postgres::scope::Scope;
use crate::postgres::{AskError, Client};
use crate::target::{Data, Part, Progress, State, StopFlag, TargetError, Wanted};
use postgres_protocol::escape::{escape_identifier, escape_literal};
use std::collections::BTreeMap;

/// The database in which data is being loaded; it gets its lasting name when it is complete.
const LOADING: &str = "dyno_loading";

/// For how many days loaded data is kept that no run uses.
const UNUSED_DAYS: u32 = 30;

/// The database that a run works on.
pub(in crate::postgres) const WORKING: &str = "dyno_run";

/// Brings the database that the run works on into its state. With `anew` a server that has just loaded data is
/// restarted before the data is copied, so that such a run begins as the others do.
pub(in crate::postgres) fn prepare(
    instance: &mut PostgresInstance,
    wanted: Wanted<'_>,
    anew: bool,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &StopFlag,
) -> Result<(), TargetError> {
    let data = wanted.data;
    let mut admin = instance.server()?.connection("postgres").connect_until(stop)?;
    let version = server_version(&mut admin).map_err(|error| AskError::new("read the version", &error))?;
    let locale = locale(&mut admin, version, data)?;
    notes.extend(locale.note().map(str::to_owned));
    let fingerprint = fingerprint(&data.definition, version, Some(&locale));
    let mark = format!("{MARK}: {} of {}", fingerprint, wanted.campaign);
    if data.state == State::Keep && comment_of(&mut admin)? == Some(mark.clone()) {
        progress.step("Continuing with the data as the last run left it");
        return Ok(());
    }
    drop_database(&mut admin, WORKING)?;
    if !data.is_some() {
        create_database(&mut admin, WORKING, &locale)?;
        return comment(&mut admin, WORKING, &mark);
    }
    instance.server()?.create_tablespaces(&data.tablespaces)?;
    if data.state == State::Reload {
        create_database(&mut admin, WORKING, &locale)?;
        load_into(instance, WORKING, 1, data, progress, stop)?;
        return comment(&mut admin, WORKING, &mark);
    }
    let prefix = prefix(&data.experiment);
    let template = format!("{prefix}@{fingerprint}");
    if !database_exists(&mut admin, &template)? {
        let needed = needed(&mut admin, version, wanted.all)?;
        let needed: Vec<String> = needed.iter().map(|other| format!("{prefix}@{other}")).collect();
        drop_older(&mut admin, &prefix, &needed)?;
        drop_unused(&mut admin, &needed)?;
        make_template(instance, &mut admin, (&template, &locale), data, progress, stop)?;
        if anew {
            drop(admin);
            instance.restart(progress)?;
            admin = instance.server()?.connection("postgres").connect_until(stop)?;
        }
    }
    comment(&mut admin, &template, &Mark::now(&fingerprint, Vec::new()).to_string())?;
    progress.part(Part::Copy);
    check_room(instance.server()?.data_folder(), size_of(&mut admin, &template)?)?;
    create_from_template(&mut admin, &template, WORKING)?;
    comment(&mut admin, WORKING, &mark)
}

/// The locale that an experiment's databases get on this server.
fn locale(admin: &mut Client, version: u32, data: &Data) -> Result<DatabaseLocale, TargetError> {
    let wanted = data.locale.as_deref().map(str::parse).transpose();
    // It was parsed when the file was read.
    let wanted: Option<Locale> = wanted.ok().flatten();
    Ok(DatabaseLocale::find(admin, version, wanted.as_ref())?)
}

/// The fingerprints of the data of all cells.
fn needed(admin: &mut Client, version: u32, all: &[Data]) -> Result<Vec<String>, TargetError> {
    let mut locales = BTreeMap::new();
    for data in all {
        if !locales.contains_key(&data.locale) {
            // One that this server does not have has no data here.
            locales.insert(&data.locale, locale(admin, version, data).ok());
        }
    }
    let of = |data: &Data| {
        let locale = locales.get(&data.locale)?.as_ref()?;
        Some(fingerprint(&data.definition, version, Some(locale)))
    };
    Ok(all.iter().filter_map(of).collect())
}

/// Loads the data into a database that gets the name `template` when it is whole.
fn make_template(
    instance: &PostgresInstance,
    admin: &mut Client,
    (template, locale): (&str, &DatabaseLocale),
    data: &Data,
    progress: &mut dyn Progress,
    stop: &StopFlag,
) -> Result<(), TargetError> {
    drop_database(admin, LOADING)?;
    create_database(admin, LOADING, locale)?;
    // It will lie there twice: as the template, and as a run's copy.
    load_into(instance, LOADING, 2, data, progress, stop)?;
    progress.part(Part::Vacuum);
    settle(
        &mut *instance.server()?.connection(LOADING).connect_until(stop)?,
        &Scope::Database,
    )?;
    execute(
        admin,
        &format!("alter database {LOADING} rename to {}", escape_identifier(template)),
    )
}

/// Loads the data into `database`; it will lie on the disk this many times.
fn load_into(
    instance: &PostgresInstance,
    database: &str,
    times: u32,
    data: &Data,
    progress: &mut dyn Progress,
    stop: &StopFlag,
) -> Result<(), TargetError> {
    let info = instance.server()?.connection(database);
    let room = Some((instance.server()?.data_folder(), times));
    let loading = Loading {
        info: &info,
        room,
        progress,
        stop,
    };
    load(data, loading, &mut Within::Database)
}

/// What the templates of an experiment begin with. Names are limited to 63 bytes.
fn prefix(name: &str) -> String {
    name.chars().filter(char::is_ascii).take(40).collect()
}

/// Drops the experiment's data of other sizes or definitions but for what is `needed`, so that the disk holds one
/// set per experiment.
fn drop_older(admin: &mut Client, prefix: &str, needed: &[String]) -> Result<(), TargetError> {
    let query = "select datname::text from pg_database where left(datname::text, length($1) + 1) = $1::text || '@'";
    let rows = admin
        .query(query, &[&prefix])
        .map_err(|error| AskError::new("list databases", &error))?;
    for row in rows {
        let name: String = row.get(0);
        if !needed.contains(&name) {
            drop_database(admin, &name)?;
        }
    }
    Ok(())
}

/// Drops data of all experiments that no run has used for long, so that what is kept does not grow for ever. Data
/// that an earlier dyno loaded does not say when it was used.
fn drop_unused(admin: &mut Client, needed: &[String]) -> Result<(), TargetError> {
    let query = "select datname::text, shobj_description(oid, 'pg_database') from pg_database
                  where datname like '%@%' and shobj_description(oid, 'pg_database') is not null";
    let rows = admin
        .query(query, &[])
        .map_err(|error| AskError::new("list databases", &error))?;
    for row in rows {
        let (name, comment): (String, String) = (row.get(0), row.get(1));
        let unused = Mark::parse(&comment).and_then(|mark| mark.is_older_than_days(UNUSED_DAYS));
        if unused == Some(true) && !needed.contains(&name) {
            drop_database(admin, &name)?;
        }
    }
    Ok(())
}

/// Drops the database of the run that is over.
pub(in crate::postgres) fn drop_working(instance: &PostgresInstance) -> Result<(), TargetError> {
    let mut admin = instance.server()?.connection("postgres").connect()?;
    Ok(drop_database(&mut admin, WORKING)?)
}

/// What is said of the database that a run works on; `None` if there is none, or nothing is said.
fn comment_of(admin: &mut Client) -> Result<Option<String>, TargetError> {
    let query = "select coalesce(shobj_description(oid, 'pg_database'), '') from pg_database where datname = $1::text";
    text(admin, query, WORKING)
}

fn comment(admin: &mut Client, database: &str, mark: &str) -> Result<(), TargetError> {
    let database = escape_identifier(database);
    execute(
        admin,
        &format!("comment on database {database} is {}", escape_literal(mark)),
    )
}

/// The size of a database in bytes.
fn size_of(admin: &mut Client, name: &str) -> Result<u64, TargetError> {
    let query = "select pg_database_size($1::text::name)::text";
    let size = text(admin, query, name)?;
    Ok(size.and_then(|size| size.parse().ok()).unwrap_or(0))
}
