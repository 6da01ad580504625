//! Data on a server that is not ours: in a schema of its own, marked by a comment, and made anew once a run has worked on it.

use super::{Loading, Wanted, Within, fingerprint, has_data, load};
use crate::experiment::{Data, Resolved, State};
use crate::run::{Progress, RunError};
use dyno_engine::Stop;
use dyno_target::postgres::Client;
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::facts::server_version;
use dyno_target::postgres::load::settle;
use dyno_target::postgres::schema::{
    Catalogue, DROP_PATIENCE, Mark, SetUp, create_schema, drop_schema, mark_of, search_path, set_mark, within_schema,
};
use dyno_target::postgres::scope::Scope;
use dyno_target::postgres::tablespaces;

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

/// The schema that the experiment's data is in; `None` without data.
pub(in crate::run) fn schema_of_experiment(experiment: &Resolved) -> Option<String> {
    has_data(&experiment.data).then(|| schema_of(&experiment.name))
}

/// What of the database is the experiment's.
pub(in crate::run) fn scope(experiment: &Resolved) -> Scope {
    schema_of_experiment(experiment).map_or(Scope::Nothing, Scope::Schema)
}

/// Refuses what loading would have to destroy or could not do, before anything is changed.
pub(in crate::run) fn check(client: &mut Client, name: &str, data: &Data) -> Result<(), RunError> {
    if !has_data(data) {
        return Ok(());
    }
    tablespaces::check(client, &data.tablespaces)?;
    mark_of(client, &schema_of(name))?;
    Ok(())
}

/// The experiment's data in its state. What is to be known of how it was brought there is said in `notes`.
pub(in crate::run) fn prepare(
    info: &ConnectionInfo,
    wanted: Wanted<'_>,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &Stop,
) -> Result<ConnectionInfo, RunError> {
    let (name, data) = (&wanted.experiment.name, &wanted.experiment.data);
    if !has_data(data) {
        return Ok(info.clone());
    }
    let schema = schema_of(name);
    let mut client = info.connect_until(&stop.flag())?;
    check(&mut client, name, data)?;
    let version = server_version(&mut client).map_err(|error| RunError::server("read the version", &error))?;
    let path = search_path(&mut client)?;
    let fingerprint = fingerprint(data, version, None);
    let loaded = loaded(&fingerprint);
    let mut extensions = Vec::new();
    if let Some(mark) = mark_of(&mut client, &schema)? {
        let own = || within_schema(info, &schema, &path, &stop.flag());
        if mark.state == loaded && data.state != State::Reload {
            progress.step("Using the loaded data");
            return Ok(own()?);
        }
        if mark.state == used(&fingerprint, wanted.campaign) && data.state == State::Keep {
            progress.step("Continuing with the data as the last run left it");
            return Ok(own()?);
        }
        progress.step(&format!(
            "Dropping the schema {schema}; waiting up to {} s for others that use it",
            DROP_PATIENCE.as_secs()
        ));
        for (extension, reason) in drop_schema(info, &schema, &stop.flag())? {
            notes.push(format!(
                "The extension {}, which dyno created, was not removed: {reason}.",
                extension.name
            ));
            extensions.push(extension);
        }
    }
    let mark = Mark::now("loading", extensions);
    create_schema(&mut client, &schema, &mark)?;
    let own = within_schema(info, &schema, &path, &stop.flag())?;
    let mut outside = Catalogue::outside_of(info, &schema, &stop.flag())?;
    let mut set_up = SetUp {
        schema: &schema,
        path: &path,
        mark,
        notes: Vec::new(),
    };
    let loading = Loading {
        info: &own,
        room: None,
        progress,
        stop,
    };
    load(data, loading, &mut Within::Schema(&mut set_up))?;
    notes.append(&mut set_up.notes);
    notes.extend(told(&outside.created()?, &schema));
    progress.step("Vacuuming and analyzing");
    for warning in settle(&mut *own.connect_until(&stop.flag())?, &scope(wanted.experiment))? {
        progress.note(&warning);
    }
    set_mark(&mut client, &schema, &Mark::now(&loaded, set_up.mark.extensions))?;
    Ok(own)
}

/// What to say of objects that came into the database while the data was loaded.
fn told(created: &[String], schema: &str) -> Option<String> {
    (!created.is_empty()).then(|| {
        format!(
            "Loading the data created objects outside the schema {schema}, which are not dropped with it (except for \
             extensions that nothing else needs): {}.",
            created.join(", ")
        )
    })
}

/// Notes that the data in `info`'s schema is about to be worked on, so that no other campaign takes it for fresh.
pub(in crate::run) fn mark_used(info: &ConnectionInfo, wanted: Wanted<'_>, stop: &Stop) -> Result<(), RunError> {
    let data = &wanted.experiment.data;
    if !has_data(data) || data.read_only {
        return Ok(());
    }
    let mut client = info.connect_until(&stop.flag())?;
    let version = server_version(&mut client).map_err(|error| RunError::server("read the version", &error))?;
    let used = used(&fingerprint(data, version, None), wanted.campaign);
    let schema = schema_of(&wanted.experiment.name);
    let extensions = mark_of(&mut client, &schema)?.unwrap_or_default().extensions;
    Ok(set_mark(&mut client, &schema, &Mark::now(&used, extensions))?)
}

fn loaded(fingerprint: &str) -> String {
    format!("loaded {fingerprint}")
}

fn used(fingerprint: &str, campaign: &str) -> String {
    format!("{fingerprint} used by {campaign}")
}
