//! A cluster: its folder, its lock, its data folder initialised once.

use super::brand::Brand;
use super::installation::Installation;
use super::{EmbeddedError, Progress, SUPERUSER};
use crate::embedded::cluster::Cluster;
use crate::embedded::home::Home;
use crate::embedded::place::Place;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// The file that gives accounts their passwords.
pub(super) const ACCOUNTS: &str = "accounts.sql";

/// Takes the cluster's lock and initialises its data folder unless that was done.
pub(super) fn open<B: Brand>(
    home: &Home,
    programs: Installation<B>,
    name: &str,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Cluster<Installation<B>>, EmbeddedError> {
    let folder = format!("{}/{}/{name}", B::PRODUCT.clusters, programs.clusters);
    let mut place = Place::take(home, B::PRODUCT, &folder, stop, progress)?;
    let made = match place.is_initialised(B::ESSENTIAL) {
        true => Ok(()),
        false => initialise(&programs, &mut place, progress),
    };
    B::ready(&place)?;
    made?;
    Ok(Cluster { programs, place })
}

/// Makes the data folder, in place of an earlier one.
pub(super) fn initialise<B: Brand>(
    programs: &Installation<B>,
    place: &mut Place,
    progress: &mut dyn FnMut(Progress),
) -> Result<(), EmbeddedError> {
    place.initialise(B::MAKER, &[], progress, |place, fresh| B::make(programs, place, fresh))?;
    B::ready(place)
}

/// Keeps a server's temporary files in the cluster's folder: a server that starts deletes those of every other one in
/// the same folder, also of one that is running.
pub(super) fn own_temporary_files(command: &mut Command, place: &Place) {
    command.env("TMPDIR", &place.folder);
}

/// Gives the superuser a password wherever it connects from. It is read by a server that does not look at accounts
/// until it is told to, and takes one statement a line.
pub(super) fn accounts(place: &Place) -> String {
    let password = &place.password;
    let accounts = ["localhost", "127.0.0.1", "::1"];
    let each = accounts.map(|host| {
        format!(
            "create user if not exists '{SUPERUSER}'@'{host}';\nalter user '{SUPERUSER}'@'{host}' identified by \
             '{password}';\ngrant all privileges on *.* to '{SUPERUSER}'@'{host}' with grant option;\n"
        )
    });
    each.concat()
}
