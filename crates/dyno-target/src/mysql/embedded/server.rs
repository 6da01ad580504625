//! The server: how it is started, and where it is.

use super::brand::Brand;
use super::cluster::{self, own_temporary_files};
use super::installation::Installation;
use super::{EmbeddedError, Progress, SUPERUSER};
use crate::embedded::cluster::{Listening, Programs};
use crate::embedded::place::Place;
use crate::embedded::product::Product;
use crate::mysql::address::{ConnectionInfo, Host};
use crate::mysql::variables::canonical;
use crate::nearest::nearest;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

pub use crate::embedded::server::ServerHandle;

/// A running MariaDB of an embedded cluster. Dropping it stops it.
pub type Server = crate::embedded::server::Server<Installation>;

/// Options that are ours to choose: where the server is, who may enter, and that its log can be read by programs.
const RESERVED: [&str; 16] = [
    "basedir",
    "bind_address",
    "datadir",
    "general_log_file",
    "init_file",
    "lc_messages",
    "log_error",
    "mysqlx",
    "pid_file",
    "port",
    "secure_file_priv",
    "skip_grant_tables",
    "skip_networking",
    "socket",
    "user",
    "plugin_dir",
];

/// What makes a server keep what it reported as done: every commit is flushed to the disk, and so is the binary log
/// where one is kept. Names are not looked up, which could take any time. Texts can have all characters. What was in
/// memory when the server ended is not read again when it starts, so that every start is alike.
const OURS: [&str; 7] = [
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-binlog=1",
    "--character-set-server=utf8mb4",
    "--innodb-buffer-pool-dump-at-shutdown=0",
    "--innodb-buffer-pool-load-at-startup=0",
    "--skip-name-resolve",
    "--lc-messages=en_US",
];

impl<B: Brand> Programs for Installation<B> {
    const PRODUCT: &'static Product = B::PRODUCT;
    const SOCKET: &'static str = B::SOCKET;
    /// A killed server is about to end.
    const PASSING: &'static [&'static str] = &["Unable to lock ./ibdata1"];

    fn version(&self) -> &str {
        &self.version
    }

    fn server(&self) -> PathBuf {
        self.server.clone()
    }

    /// The server takes `-` and `_` in a name for the same, and some prefixes as well (`loose-`, `skip-`).
    fn check_settings(settings: &[(String, String)]) -> Result<(), EmbeddedError> {
        for (name, _) in settings {
            let canonical = name.to_ascii_lowercase().replace('-', "_");
            let bare = canonical.strip_prefix("loose_").unwrap_or(&canonical);
            if RESERVED.contains(&bare) {
                return Err(EmbeddedError::ReservedSetting { name: name.clone() });
            }
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-' || c == '.';
            if !name.starts_with(|c: char| c.is_ascii_alphabetic()) || !name.chars().all(allowed) {
                return Err(EmbeddedError::BadSetting { name: name.clone() });
            }
        }
        Ok(())
    }

    fn initialise(&self, place: &mut Place, progress: &mut dyn FnMut(Progress)) -> Result<(), EmbeddedError> {
        cluster::initialise(self, place, progress)
    }

    fn arguments(&self, command: &mut Command, place: &Place, at: Listening<'_>, settings: &[(String, String)]) {
        let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
        own_temporary_files(command, place);
        command
            .arg("--no-defaults")
            .arg(option("basedir", &self.base))
            .arg(option("datadir", &place.data))
            .arg(option("socket", &at.sockets.join(B::SOCKET)))
            .arg(option("pid-file", &place.data.join(B::PRODUCT.pid_file)))
            .arg(format!("--port={}", at.port))
            .arg(format!("--bind-address={}", Ipv4Addr::LOCALHOST))
            .args(OURS)
            .args(B::OPTIONS);
        B::arguments(command, place);
        // The last one of several wins.
        for (name, value) in settings {
            command.arg(format!("--{name}={value}"));
        }
    }

    fn unknown_setting(log: &str) -> Option<&str> {
        let (_, rest) = log.split_once("unknown variable '")?;
        let (name, _) = rest.split_once(['=', '\''])?;
        Some(name)
    }

    fn nearest_setting(&self, place: &Place, name: &str) -> Option<String> {
        let mut command = place.command(&self.server, &place.folder);
        own_temporary_files(&mut command, place);
        let said = command.args(["--no-defaults", "--verbose", "--help"]).output().ok()?;
        nearest_option(&String::from_utf8_lossy(&said.stdout), name)
    }

    /// It takes connections on its unix socket last of all.
    fn is_ready(&self, _place: &Place, at: Listening<'_>, _pid: u32) -> bool {
        greets(&at.sockets.join(B::SOCKET))
    }
}

impl<B: Brand> crate::embedded::server::Server<Installation<B>> {
    /// Where it listens on its unix socket, for this database.
    #[must_use]
    pub fn connection(&self, database: &str) -> ConnectionInfo {
        self.connection_to(Host::Unix(self.sockets().join(B::SOCKET)), database)
    }

    /// Where it listens on TCP, for this database.
    #[must_use]
    pub fn connection_tcp(&self, database: &str) -> ConnectionInfo {
        let host = Host::Tcp {
            name: Ipv4Addr::LOCALHOST.to_string(),
            port: self.port(),
        };
        self.connection_to(host, database)
    }

    fn connection_to(&self, host: Host, database: &str) -> ConnectionInfo {
        ConnectionInfo::local(host, SUPERUSER, &self.cluster().place.password, database)
    }
}

/// The option whose name is most like this one, in what a server says when it is asked for help: at the end is a table
/// of them all, with their values.
fn nearest_option(help: &str, name: &str) -> Option<String> {
    let lines = help.lines().skip_while(|line| !line.starts_with("Variables (--"));
    let names = lines.filter_map(|line| line.split_whitespace().next()).map(canonical);
    let names: Vec<String> = names.collect();
    nearest(&canonical(name), names.iter().map(String::as_str)).map(str::to_owned)
}

/// Whether a server greets who connects. The socket is there before that, while the server still recovers.
fn greets(socket: &Path) -> bool {
    use std::io::Read;
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    let patience = stream.set_read_timeout(Some(Duration::from_secs(1)));
    patience.is_ok() && stream.read(&mut [0]).is_ok_and(|bytes| bytes > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_log_names_a_setting_that_is_unknown() {
        let log = "2026-11-23 13:00:00 0 [Note] Starting MariaDB 11.4.5-MariaDB\n\
                   2026-11-23 13:00:00 0 [ERROR] /srv/bin/mariadbd: unknown variable 'shared_buffers=1GB'\n\
                   2026-11-23 13:00:00 0 [ERROR] Aborting";
        assert_eq!(<Installation>::unknown_setting(log), Some("shared_buffers"));
        assert_eq!(<Installation>::unknown_setting("[ERROR] Aborting"), None);
    }

    #[test]
    fn the_help_names_the_settings_that_there_are() {
        let help = "mariadbd  Ver 11.4.5-MariaDB\n  --sync-frm          Sync\n\nVariables (--variable-name=value)\n\
                    and boolean options {FALSE|TRUE}  Value (after reading options)\n\
                    --------------------------- ----\nallow-suspicious-udfs       FALSE\n\
                    innodb-buffer-pool-size     134217728\nsync-binlog                 0\n\n\
                    To see what values a running server is using, type\n";
        let nearest = nearest_option(help, "Innodb_bufer_pool_size");
        assert_eq!(nearest.as_deref(), Some("innodb_buffer_pool_size"));
        assert_eq!(nearest_option(help, "max_wal_size"), None);
        assert_eq!(nearest_option("", "sync_binlog"), None);
    }

    #[test]
    fn refuses_settings_that_are_ours() {
        let check = |name: &str| <Installation>::check_settings(&[(name.to_owned(), "1".to_owned())]);
        assert!(check("innodb_buffer_pool_size").is_ok());
        assert!(check("innodb-buffer-pool-size").is_ok());
        for ours in ["port", "Bind-Address", "loose-socket", "skip-grant-tables"] {
            assert!(
                matches!(check(ours), Err(EmbeddedError::ReservedSetting { .. })),
                "{ours}"
            );
        }
        for bad in ["", "a=b", "--port", "a b"] {
            assert!(matches!(check(bad), Err(EmbeddedError::BadSetting { .. })), "{bad}");
        }
    }
}
