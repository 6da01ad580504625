//! A cluster: its folder, its lock, its data folder initialised once.

use super::installation::Installation;
use super::{EmbeddedError, POSTGRESQL, Progress, SUPERUSER, tablespace};
use crate::embedded::cluster::Cluster;
use crate::embedded::home::Home;
use crate::embedded::place::Place;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Files without which a data folder is none.
const ESSENTIAL: [&str; 2] = ["PG_VERSION", "global/pg_control"];

/// Takes the cluster's lock and initialises its data folder unless that was done.
pub(super) fn open(
    home: &Home,
    programs: Installation,
    name: &str,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Cluster<Installation>, EmbeddedError> {
    let folder = format!("{}/{}/{name}", POSTGRESQL.clusters, programs.clusters);
    let mut place = Place::take(home, &POSTGRESQL, &folder, stop, progress)?;
    if !place.is_initialised(&ESSENTIAL) {
        initialise(&programs, &mut place, progress)?;
    }
    Ok(Cluster { programs, place })
}

/// Makes the data folder, in place of an earlier one with its tablespaces.
pub(super) fn initialise(
    programs: &Installation,
    place: &mut Place,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EmbeddedError> {
    let tablespaces = [tablespace::folder(&place.data)];
    place.initialise("initdb", &tablespaces, progress, |place, fresh| {
        Ok(initdb(programs, place, fresh))
    })
}

/// The program that makes a data folder.
fn initdb(installation: &Installation, place: &Place, fresh: &Path) -> Command {
    // SCRAM came with version 10 (release notes of PostgreSQL 10).
    let host_authentication = if installation.major >= 10 {
        "scram-sha-256"
    } else {
        "md5"
    };
    let mut command = place.command(&installation.program("initdb"), &place.folder);
    command
        .arg("--pgdata")
        .arg(fresh)
        .arg("--pwfile")
        .arg(place.password_file())
        .args(["--username", SUPERUSER])
        .args(["--encoding", "UTF8", "--locale", "C"])
        .args(["--auth-local", "trust", "--auth-host", host_authentication]);
    command
}
