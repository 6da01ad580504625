//! The data in PostgreSQL's clusters that is kept in the home folder.

use super::{Embedded, EmbeddedError, EmbeddedOptions, POSTGRESQL, Progress, drop_database};
use crate::embedded::replica::is_replica;
use crate::postgres::schema::Mark;
use crate::postgres::server_message;
use std::path::Path;
use std::time::SystemTime;

/// A database of a cluster.
pub(crate) struct KeptDatabase {
    pub name: String,
    pub bytes: u64,
    /// When its data was made or worked on, if it says so.
    pub changed: Option<SystemTime>,
}

/// The databases of a cluster that nobody uses, but those that every cluster has. Its server is started for that.
pub(crate) fn databases(home: &Path, cluster: &str) -> Result<Vec<KeptDatabase>, EmbeddedError> {
    let Some(options) = options(home, cluster) else {
        return Ok(Vec::new());
    };
    // What a replica has is its primary's.
    if is_replica(&home.join(cluster).join("data")) {
        return Ok(Vec::new());
    }
    let server = Embedded::prepare(&options, &mut quiet)?.start(&[], &mut quiet)?;
    let mut client = server
        .connection("postgres")
        .connect()
        .map_err(|error| refused(&error.to_string()))?;
    let rows = client.query(
        "select datname::text, pg_database_size(oid), shobj_description(oid, 'pg_database') from pg_database
          where not datistemplate and datname <> 'postgres' order by 1",
        &[],
    );
    let rows = rows.map_err(|error| refused(&server_message(&error)))?;
    drop(client);
    server.stop();
    let each = rows.iter().map(|row| {
        let (name, bytes, comment): (String, i64, Option<String>) = (row.get(0), row.get(1), row.get(2));
        let changed = comment.and_then(|comment| Mark::parse(&comment)?.changed);
        KeptDatabase {
            name,
            bytes: bytes.unsigned_abs(),
            changed: changed.map(SystemTime::from),
        }
    });
    Ok(each.collect())
}

/// Drops a database of a cluster that nobody uses.
pub(crate) fn remove_database(home: &Path, cluster: &str, database: &str) -> Result<(), EmbeddedError> {
    let Some(options) = options(home, cluster) else {
        return Ok(());
    };
    let server = Embedded::prepare(&options, &mut quiet)?.start(&[], &mut quiet)?;
    let mut client = server
        .connection("postgres")
        .connect()
        .map_err(|error| refused(&error.to_string()))?;
    drop_database(&mut client, database).map_err(|error| refused(&error.to_string()))?;
    drop(client);
    server.stop();
    Ok(())
}

fn quiet(_: Progress) {}

fn refused(message: &str) -> EmbeddedError {
    EmbeddedError::Program {
        program: "postgres",
        status: "it refuses".to_owned(),
        output: message.to_owned(),
    }
}

/// How to bring the server of `clusters/RELEASE/NAME`.
fn options(home: &Path, cluster: &str) -> Option<EmbeddedOptions> {
    let (release, name) = cluster
        .strip_prefix(POSTGRESQL.clusters)?
        .strip_prefix('/')?
        .split_once('/')?;
    let mut options = EmbeddedOptions::new(home.to_owned());
    options.version = match release.strip_prefix("system-") {
        Some(version) => format!("system:{version}"),
        None => release.to_owned(),
    };
    name.clone_into(&mut options.cluster);
    Some(options)
}
