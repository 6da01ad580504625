//! Homes for embedded servers. PostgreSQL is fetched once for all test binaries of the workspace; each home links
//! to it and has clusters of its own.

use super::{processes_in, temporary, wait_for};
use dyno_target::mysql;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, POSTGRESQL_VERSION};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use tempfile::TempDir;

/// The home that test binaries share and that stays between test runs.
pub fn shared() -> PathBuf {
    PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("dyno-home")
}

/// The folder of the installed PostgreSQL, fetched if need be.
pub fn programs() -> PathBuf {
    static INSTALLED: Mutex<bool> = Mutex::new(false);
    let mut installed = INSTALLED.lock().unwrap();
    if !*installed {
        let mut options = EmbeddedOptions::new(shared());
        "tests-e2e".clone_into(&mut options.cluster);
        Embedded::prepare(&options, &mut |_| ()).unwrap();
        *installed = true;
    }
    shared().join("postgresql")
}

/// A home with PostgreSQL installed and no cluster yet.
pub struct Home {
    folder: TempDir,
}

impl Home {
    pub fn new() -> Self {
        let folder = temporary("home-");
        symlink(programs(), folder.path().join("postgresql")).unwrap();
        Self { folder }
    }

    /// A home with MariaDB installed, too.
    pub fn with_mariadb() -> Self {
        let home = Self::new();
        let options = mysql::embedded::EmbeddedOptions {
            cluster: "tests-e2e".to_owned(),
            ..mysql::embedded::EmbeddedOptions::new(shared())
        };
        mysql::embedded::Embedded::prepare(&options, &mut |_| ()).unwrap();
        symlink(shared().join("mariadb"), home.folder.path().join("mariadb")).unwrap();
        home
    }

    /// A home with nothing in it.
    pub fn empty() -> Self {
        Self {
            folder: temporary("home-"),
        }
    }

    pub fn path(&self) -> &Path {
        self.folder.path()
    }

    /// The data folder of dyno's cluster.
    pub fn data(&self) -> PathBuf {
        let folder = self.path().canonicalize().unwrap();
        folder.join(format!("clusters/{POSTGRESQL_VERSION}/main/data"))
    }

    /// Fails unless all processes of this home's server end.
    pub fn assert_no_server(&self) {
        wait_for("the end of the server", || processes_in(&self.data()).is_empty());
    }
}
