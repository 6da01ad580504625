//! Data on a server that is not ours: in a schema of its own, marked by a comment, and made anew once a run has
//! worked on it.

use super::{Loading, Within, fingerprint, load, schema_of};
use crate::postgres::address::ConnectionInfo;
use crate::postgres::database::{PostgresDatabase, Used};
use crate::postgres::facts::server_version;
use crate::postgres::load::settle;
use crate::postgres::schema::{
    Catalogue, DROP_PATIENCE, Mark, SetUp, create_schema, drop_schema, mark_of, search_path, set_mark, within_schema,
};
use crate::postgres::scope::Scope;
use crate::postgres::tablespaces;
use crate::postgres::{AskError, Client};
use crate::target::{Data, Part, Progress, State, StopFlag, TargetError, Wanted};

/// Refuses what loading would have to destroy or could not do, before anything is changed.
pub(in crate::postgres) fn check(client: &mut Client, data: &Data) -> Result<(), TargetError> {
    if !data.needs_place() {
        return Ok(());
    }
    tablespaces::check(client, &data.tablespaces)?;
    mark_of(client, &schema_of(&data.experiment))?;
    Ok(())
}

/// The experiment's data in its state. What is to be known of how it was brought there is said in `notes`.
pub(in crate::postgres) fn prepare(
    info: &ConnectionInfo,
    wanted: Wanted<'_>,
    notes: &mut Vec<String>,
    progress: &mut dyn Progress,
    stop: &StopFlag,
) -> Result<PostgresDatabase, TargetError> {
    let data = wanted.data;
    if !data.needs_place() {
        return Ok(PostgresDatabase::new(info.clone(), Scope::Nothing));
    }
    let schema = schema_of(&data.experiment);
    let mut client = info.connect_until(stop)?;
    check(&mut client, data)?;
    let version = server_version(&mut client).map_err(|error| AskError::new("read the version", &error))?;
    let path = search_path(&mut client)?;
    let fingerprint = fingerprint(&data.definition, version, None);
    let loaded = loaded(&fingerprint);
    let used = used(&fingerprint, wanted.campaign);
    let scope = Scope::Schema(schema.clone());
    let database = |own| {
        let used = (!data.read_only).then(|| Used {
            schema: schema.clone(),
            state: used.clone(),
        });
        PostgresDatabase::new(own, scope.clone()).marked(used)
    };
    let mut extensions = Vec::new();
    if let Some(mark) = mark_of(&mut client, &schema)? {
        let own = || within_schema(info, &schema, &path, stop);
        if mark.state == loaded && data.state != State::Reload {
            progress.step("Using the loaded data");
            return Ok(database(own()?));
        }
        if mark.state == used && data.state == State::Keep {
            progress.step("Continuing with the data as the last run left it");
            return Ok(database(own()?));
        }
        progress.step(&format!(
            "Dropping the schema {schema}; waiting up to {} s for others that use it",
            DROP_PATIENCE.as_secs()
        ));
        for (extension, reason) in drop_schema(info, &schema, stop)? {
            notes.push(format!(
                "The extension {}, which dyno created, was not removed: {reason}.",
                extension.name
            ));
            extensions.push(extension);
        }
    }
    let mark = Mark::now("loading", extensions);
    create_schema(&mut client, &schema, &mark)?;
    let own = within_schema(info, &schema, &path, stop)?;
    let mut outside = Catalogue::outside_of(info, &schema, stop)?;
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
    progress.part(Part::Vacuum);
    for warning in settle(&mut *own.connect_until(stop)?, &scope)? {
        progress.note(&warning);
    }
    set_mark(&mut client, &schema, &Mark::now(&loaded, set_up.mark.extensions))?;
    Ok(database(own))
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

fn loaded(fingerprint: &str) -> String {
    format!("loaded {fingerprint}")
}

fn used(fingerprint: &str, campaign: &str) -> String {
    format!("{fingerprint} used by {campaign}")
}
