//! A cluster: its folder, its lock, its data folder initialised once.

use super::installation::Installation;
use super::{EmbeddedError, MARIADB, Progress, SUPERUSER};
use crate::embedded::cluster::Cluster;
use crate::embedded::home::Home;
use crate::embedded::place::Place;
use std::path::Path;
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Files without which a data folder is none.
const ESSENTIAL: [&str; 3] = ["ibdata1", "mysql/global_priv.frm", "aria_log_control"];

/// The file that gives accounts their passwords while a data folder is made.
const ACCOUNTS: &str = "accounts.sql";

/// Takes the cluster's lock and initialises its data folder unless that was done.
pub(super) fn open(
    home: &Home,
    programs: Installation,
    name: &str,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Progress),
) -> Result<Cluster<Installation>, EmbeddedError> {
    let folder = format!("{}/{}/{name}", MARIADB.clusters, programs.clusters);
    let mut place = Place::take(home, &MARIADB, &folder, stop, progress)?;
    if !place.is_initialised(&ESSENTIAL) {
        let accounts = place.folder.join(ACCOUNTS);
        let made = place.initialise("mariadb-install-db", &[], progress, |place, fresh| {
            install_db(&programs, place, fresh)
        });
        // It has done its work and holds the password in another form.
        let _ = std::fs::remove_file(accounts);
        made?;
    }
    Ok(Cluster { programs, place })
}

/// The script that makes a data folder.
fn install_db(installation: &Installation, place: &Place, fresh: &Path) -> Result<Command, EmbeddedError> {
    let accounts = place.write_private(ACCOUNTS, &accounts(&place.password))?;
    let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
    let mut command = place.command(&installation.install, &place.folder);
    own_temporary_files(&mut command, place);
    command
        // First, as the script's help asks: the options of other servers on this machine are not ours.
        .arg("--no-defaults")
        .arg(option("basedir", &installation.base))
        .arg(option("datadir", fresh))
        .arg(option("extra-file", &accounts))
        .args([
            "--auth-root-authentication-method=normal",
            "--skip-test-db",
            "--skip-name-resolve",
        ]);
    Ok(command)
}

/// Keeps a server's temporary files in the cluster's folder: a server that starts deletes those of every other one in
/// the same folder, also of one that is running.
pub(super) fn own_temporary_files(command: &mut Command, place: &Place) {
    command.env("TMPDIR", &place.folder);
}

/// Gives the superuser a password wherever it connects from. The script runs this in a server that does not look at
/// accounts until it is told to read them, and takes one statement a line.
fn accounts(password: &str) -> String {
    let accounts = ["localhost", "127.0.0.1", "::1"];
    let each = accounts.map(|host| {
        format!(
            "create or replace user '{SUPERUSER}'@'{host}' identified by '{password}';\ngrant all privileges \
                 on *.* to '{SUPERUSER}'@'{host}' with grant option;\n"
        )
    });
    format!("flush privileges;\n{}", each.concat())
}
