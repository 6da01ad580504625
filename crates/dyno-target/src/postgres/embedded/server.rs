//! PostgreSQL's server: how it is started, and where it is.

use super::installation::Installation;
use super::{EmbeddedError, POSTGRESQL, Progress, SUPERUSER, cluster, tablespace};
use crate::embedded::cluster::{Listening, Programs};
use crate::embedded::place::Place;
use crate::embedded::product::Product;
use crate::postgres::address::{ConnectionInfo, Host};
use crate::postgres::tablespaces::TablespaceError;
use rustix::process::Signal;
use std::fs;
use std::net::Ipv4Addr;
use std::path::PathBuf;
use std::process::Command;

pub use crate::embedded::server::ServerHandle;

/// A running server of an embedded cluster. Dropping it stops it. Lines of its log begin with a time stamp such as
/// `2026-11-21 19:40:12.345 UTC`, then the process id in brackets, in English.
pub type Server = crate::embedded::server::Server<Installation>;

/// Settings that are ours to choose: where the server is, and that its log can be read by programs.
const RESERVED: [&str; 10] = [
    "data_directory",
    "listen_addresses",
    "port",
    "unix_socket_directories",
    "lc_messages",
    "log_destination",
    "log_directory",
    "log_line_prefix",
    "log_timezone",
    "logging_collector",
];

/// The form of the log: a time stamp in UTC with milliseconds, then the process id in brackets.
const LOG_FORM: [(&str, &str); 3] = [
    ("lc_messages", "C"),
    ("log_timezone", "UTC"),
    ("log_line_prefix", "%m [%p] "),
];

/// What the log tells unless asked otherwise: every checkpoint and every autovacuum.
const LOGGED: [(&str, &str); 2] = [("log_checkpoints", "on"), ("log_autovacuum_min_duration", "0")];

impl Programs for Installation {
    const PRODUCT: &'static Product = &POSTGRESQL;
    const SOCKET: &'static str = ".s.PGSQL.65535.lock";
    /// Children of a killed server are about to end.
    const PASSING: &'static [&'static str] = &["pre-existing shared memory block"];

    fn version(&self) -> &str {
        &self.version
    }

    fn server(&self) -> PathBuf {
        self.program(POSTGRESQL.server)
    }

    fn check_settings(settings: &[(String, String)]) -> Result<(), EmbeddedError> {
        for (name, _) in settings {
            if RESERVED.contains(&name.to_ascii_lowercase().as_str()) {
                return Err(EmbeddedError::ReservedSetting { name: name.clone() });
            }
            let allowed = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
            if name.is_empty() || !name.chars().all(allowed) {
                return Err(EmbeddedError::BadSetting { name: name.clone() });
            }
        }
        Ok(())
    }

    fn initialise(&self, place: &mut Place, progress: &mut dyn FnMut(Progress)) -> Result<(), EmbeddedError> {
        cluster::initialise(self, place, progress)
    }

    fn arguments(&self, command: &mut Command, place: &Place, at: Listening<'_>, settings: &[(String, String)]) {
        command
            .arg("-D")
            .arg(&place.data)
            .args(["-c", "listen_addresses=127.0.0.1", "-c"])
            .arg(format!("port={}", at.port))
            .arg("-c")
            .arg(format!("unix_socket_directories={}", at.sockets.display()));
        // The last one of several wins.
        let ours = LOG_FORM.iter().chain(&LOGGED).copied();
        let theirs = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in ours.chain(theirs) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
    }

    fn is_ready(&self, place: &Place, at: Listening<'_>, pid: u32) -> bool {
        match self.major {
            10.. => {
                let pid_file = place.data.join(POSTGRESQL.pid_file);
                says_ready(&fs::read_to_string(pid_file).unwrap_or_default(), pid)
            }
            // Before version 10 the pid file has no status: only a connection tells.
            _ => {
                let host = Host::Unix {
                    directory: at.sockets.to_owned(),
                    port: at.port,
                };
                let info = ConnectionInfo::local(host, SUPERUSER, None, SUPERUSER);
                info.connect().is_ok()
            }
        }
    }
}

impl Server {
    /// Where it listens on its unix socket, for this database.
    #[must_use]
    pub fn connection(&self, database: &str) -> ConnectionInfo {
        let host = Host::Unix {
            directory: self.sockets().to_owned(),
            port: self.port(),
        };
        ConnectionInfo::local(host, SUPERUSER, None, database)
    }

    /// Where it listens on TCP, for this database.
    #[must_use]
    pub fn connection_tcp(&self, database: &str) -> ConnectionInfo {
        let host = Host::Tcp {
            name: Ipv4Addr::LOCALHOST.to_string(),
            address: None,
            port: self.port(),
        };
        ConnectionInfo::local(host, SUPERUSER, Some(&self.cluster().place.password), database)
    }

    /// Has it read its configuration files again, as `pg_ctl reload` does. What was given at the start goes before
    /// what is in them.
    pub fn reload(&self) {
        self.process().signal(Signal::HUP);
    }

    /// Makes the tablespaces that are not there yet, each in a folder of its own beside the data folder.
    ///
    /// # Errors
    /// A name that cannot be one, or a folder or tablespace that cannot be made.
    pub fn create_tablespaces(&self, names: &[String]) -> Result<(), TablespaceError> {
        if names.is_empty() {
            return Ok(());
        }
        let mut client = self.connection(SUPERUSER).connect()?;
        tablespace::create(&self.cluster().place, &mut client, names)
    }
}

/// Whether a pid file is this process's and its eighth line says that connections are accepted.
fn says_ready(pid_file: &str, pid: u32) -> bool {
    let mut lines = pid_file.lines();
    lines.next().is_some_and(|line| line.trim() == pid.to_string())
        && lines
            .nth(6)
            .is_some_and(|status| matches!(status.trim(), "ready" | "standby"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_status_line() {
        let file = "7\n/data\n1\n5432\n/tmp\n127.0.0.1\n  1 2\nready   \n";
        assert!(says_ready(file, 7));
        assert!(!says_ready(file, 8));
        assert!(!says_ready(&file.replace("ready   ", "starting"), 7));
        assert!(!says_ready("7\n/data\n", 7));
        assert!(!says_ready("", 7));
    }

    #[test]
    fn refuses_settings_that_are_ours() {
        let check = |name: &str| Installation::check_settings(&[(name.to_owned(), "1".to_owned())]);
        assert!(check("shared_buffers").is_ok());
        assert!(check("pg_stat_statements.max").is_ok());
        assert!(check("Port").is_err());
        assert!(check("").is_err());
        assert!(check("a=b").is_err());
    }
}
