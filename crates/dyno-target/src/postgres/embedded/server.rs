//! A running server: started, watched, stopped.

use super::cluster::Cluster;
use super::{EmbeddedError, POSTGRESQL, Progress, SUPERUSER, tablespace};
use crate::embedded::keeper::Process;
use crate::embedded::{leftover, socket};
use crate::postgres::address::{ConnectionInfo, Host};
use crate::postgres::tablespaces::TablespaceError;
use rustix::process::Signal;
use std::fs;
use std::net::Ipv4Addr;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

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

/// How long a start may take. Recovery after a crash replays up to `max_wal_size` and is the reason for the length.
const START_LIMIT: Duration = Duration::from_secs(600);

/// How long a stop in good order may take: a fast shutdown writes all dirty buffers.
const FAST_LIMIT: Duration = Duration::from_secs(600);
const POLL: Duration = Duration::from_millis(10);

/// How often a start is tried again when the port was taken meanwhile or a killed server's children still end.
const TRIES: u32 = 40;

/// A running server of an embedded cluster. Dropping it stops it.
#[derive(Debug)]
pub struct Server {
    handle: ServerHandle,
    port: u16,
    sockets: PathBuf,
    cluster: Arc<Cluster>,
}

/// Watches and stops a server from anywhere, such as a signal handler's thread.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    process: Process,
}

impl ServerHandle {
    /// Process id of the server's main process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether the server has ended, asked or not: in mid-run this is a crash.
    #[must_use]
    pub fn has_exited(&self) -> bool {
        self.process.exit_status().is_some()
    }

    /// Immediate shutdown without waiting: the next start recovers from the log. A [`Server::stop`] under way
    /// returns soon after.
    pub fn stop_now(&self) {
        self.process.signal(POSTGRESQL.immediate());
    }
}

impl Server {
    pub(super) fn start(
        cluster: &Arc<Cluster>,
        settings: &[(String, String)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, EmbeddedError> {
        check_settings(settings)?;
        cluster.place.begin()?;
        let started = Self::start_taken(cluster, settings, progress);
        if started.is_err() {
            cluster.place.end();
        }
        started
    }

    fn start_taken(
        cluster: &Arc<Cluster>,
        settings: &[(String, String)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, EmbeddedError> {
        leftover::stop(&POSTGRESQL, &cluster.place.data, progress)?;
        progress(Progress::Starting {
            product: POSTGRESQL.name,
        });
        let sockets = socket::folder(&cluster.place.data, &cluster.place.user, ".s.PGSQL.65535.lock")?;
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match Self::try_start(cluster, settings, &sockets) {
                Ok((process, port)) => {
                    return Ok(Self {
                        handle: ServerHandle { process },
                        port,
                        sockets,
                        cluster: Arc::clone(cluster),
                    });
                }
                Err(error) => error,
            };
            if tries == TRIES || !is_passing(&error) {
                // The folder is empty without a server; if it stays it does no harm.
                let _ = fs::remove_dir_all(&sockets);
                return Err(error);
            }
            std::thread::sleep(POLL * tries);
        }
    }

    fn try_start(
        cluster: &Cluster,
        settings: &[(String, String)],
        sockets: &Path,
    ) -> Result<(Process, u16), EmbeddedError> {
        let place = &cluster.place;
        let port =
            socket::free_port().map_err(EmbeddedError::file("find a free port of 127.0.0.1 for", &place.data))?;
        let log = &place.log;
        let output = fs::File::create(log).map_err(EmbeddedError::file("create", log))?;
        let errors = output.try_clone().map_err(EmbeddedError::file("open", log))?;
        let program = cluster.installation.program(POSTGRESQL.server);
        let mut command = place.command(&program, &place.data);
        command
            .arg("-D")
            .arg(&place.data)
            .args(["-c", "listen_addresses=127.0.0.1", "-c"])
            .arg(format!("port={port}"))
            .arg("-c")
            .arg(format!("unix_socket_directories={}", sockets.display()))
            .stdout(output)
            .stderr(errors);
        // The last one of several wins.
        let ours = LOG_FORM.iter().chain(&LOGGED).copied();
        let theirs = settings.iter().map(|(name, value)| (name.as_str(), value.as_str()));
        for (name, value) in ours.chain(theirs) {
            command.arg("-c").arg(format!("{name}={value}"));
        }
        let process = Process::spawn(command, POSTGRESQL.shutdown()).map_err(EmbeddedError::file("run", &program))?;
        match wait_until_ready(cluster, &process, sockets, port) {
            Ok(()) => Ok((process, port)),
            Err(status) => {
                process.end(POSTGRESQL.hard_measures());
                Err(EmbeddedError::Start {
                    status,
                    log: log.clone(),
                    tail: place.log_tail(),
                })
            }
        }
    }

    /// Where it listens on its unix socket, for this database.
    #[must_use]
    pub fn connection(&self, database: &str) -> ConnectionInfo {
        let host = Host::Unix {
            directory: self.sockets.clone(),
            port: self.port,
        };
        ConnectionInfo::local(host, SUPERUSER, None, database)
    }

    /// Where it listens on TCP, for this database.
    #[must_use]
    pub fn connection_tcp(&self, database: &str) -> ConnectionInfo {
        let host = Host::Tcp {
            name: Ipv4Addr::LOCALHOST.to_string(),
            address: None,
            port: self.port,
        };
        ConnectionInfo::local(host, SUPERUSER, Some(&self.cluster.place.password), database)
    }

    /// Its TCP port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Process id of its main process.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.handle.pid()
    }

    /// Its log since it was started. Lines begin with a time stamp such as `2026-11-21 19:40:12.345 UTC`, then the
    /// process id in brackets, in English.
    #[must_use]
    pub fn log_path(&self) -> &Path {
        &self.cluster.place.log
    }

    /// Its data folder.
    #[must_use]
    pub fn data_folder(&self) -> &Path {
        &self.cluster.place.data
    }

    /// Whether it has ended, asked or not: in mid-run this is a crash, and the log says why.
    #[must_use]
    pub fn has_exited(&self) -> bool {
        self.handle.has_exited()
    }

    /// Has it read its configuration files again, as `pg_ctl reload` does. What was given at the start goes before
    /// what is in them.
    pub fn reload(&self) {
        self.handle.process.signal(Signal::HUP);
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
        tablespace::create(&self.cluster, &mut client, names)
    }

    /// A handle to watch and stop it from anywhere.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// Fast shutdown: open transactions are rolled back, everything is written. If that takes more than ten minutes
    /// the server is stopped immediately, then killed.
    pub fn stop(self) {
        drop(self);
    }

    /// Immediate shutdown: the next start recovers from the log.
    pub fn stop_now(self) {
        self.handle.stop_now();
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.handle.process.end(POSTGRESQL.measures(FAST_LIMIT));
        leftover::await_children(&POSTGRESQL, &self.cluster.place.data);
        // An empty folder left in /tmp is taken again by the next start.
        let _ = fs::remove_dir_all(&self.sockets);
        self.cluster.place.end();
    }
}

/// Waits until the server accepts connections; else says how it ended.
fn wait_until_ready(cluster: &Cluster, process: &Process, sockets: &Path, port: u16) -> Result<(), String> {
    let started = Instant::now();
    let pid_file = cluster.place.data.join(POSTGRESQL.pid_file);
    loop {
        if let Some(status) = process.exit_status() {
            return Err(status.to_string());
        }
        let ready = match cluster.installation.major {
            10.. => is_ready(&fs::read_to_string(&pid_file).unwrap_or_default(), process.pid()),
            // Before version 10 the pid file has no status: only a connection tells.
            _ => {
                let directory = sockets.to_owned();
                let host = Host::Unix { directory, port };
                ConnectionInfo::local(host, SUPERUSER, None, SUPERUSER)
                    .connect()
                    .is_ok()
            }
        };
        if ready {
            return Ok(());
        }
        if started.elapsed() > START_LIMIT {
            return Err(format!("it was not ready after {} s", START_LIMIT.as_secs()));
        }
        std::thread::sleep(POLL);
    }
}

/// Whether a pid file is this process's and its eighth line says that connections are accepted.
fn is_ready(pid_file: &str, pid: u32) -> bool {
    let mut lines = pid_file.lines();
    lines.next().is_some_and(|line| line.trim() == pid.to_string())
        && lines
            .nth(6)
            .is_some_and(|status| matches!(status.trim(), "ready" | "standby"))
}

/// Whether trying again may help: another process took the port, or children of a killed server are about to end.
fn is_passing(error: &EmbeddedError) -> bool {
    matches!(error, EmbeddedError::Start { tail, .. }
        if tail.contains("Address already in use") || tail.contains("pre-existing shared memory block"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_the_status_line() {
        let file = "7\n/data\n1\n5432\n/tmp\n127.0.0.1\n  1 2\nready   \n";
        assert!(is_ready(file, 7));
        assert!(!is_ready(file, 8));
        assert!(!is_ready(&file.replace("ready   ", "starting"), 7));
        assert!(!is_ready("7\n/data\n", 7));
        assert!(!is_ready("", 7));
    }

    #[test]
    fn refuses_settings_that_are_ours() {
        let check = |name: &str| check_settings(&[(name.to_owned(), "1".to_owned())]);
        assert!(check("shared_buffers").is_ok());
        assert!(check("pg_stat_statements.max").is_ok());
        assert!(check("Port").is_err());
        assert!(check("").is_err());
        assert!(check("a=b").is_err());
    }
}
