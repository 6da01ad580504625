//! A running server: started, watched, stopped.

use super::cluster::Cluster;
use super::{EmbeddedError, MARIADB, Progress, SUPERUSER};
use crate::embedded::keeper::Process;
use crate::embedded::{leftover, socket};
use crate::mysql::address::{ConnectionInfo, Host};
use std::fs;
use std::net::Ipv4Addr;
use std::os::unix::net::UnixStream;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// Options that are ours to choose: where the server is, who may enter, and that its log can be read by programs.
const RESERVED: [&str; 14] = [
    "basedir",
    "bind_address",
    "datadir",
    "general_log_file",
    "init_file",
    "lc_messages",
    "log_error",
    "pid_file",
    "port",
    "skip_grant_tables",
    "skip_networking",
    "socket",
    "user",
    "plugin_dir",
];

/// What makes a server keep what it reported as done: every commit is flushed to the disk, and so is the binary log
/// where one is kept. Names are not looked up, which could take any time, and no certificate is made for TLS, which
/// takes seconds at every start (from 11.4 on); the setting `ssl` has one made.
const OURS: [&str; 5] = [
    "--innodb-flush-log-at-trx-commit=1",
    "--sync-binlog=1",
    "--skip-name-resolve",
    "--skip-ssl",
    "--lc-messages=en_US",
];

/// Name of the unix socket.
const SOCKET: &str = "mariadbd.sock";

/// How long a start may take. Recovery after a crash replays the whole log and is the reason for the length.
const START_LIMIT: Duration = Duration::from_secs(600);

/// How long a shutdown in good order may take: it writes all dirty pages.
const SHUTDOWN_LIMIT: Duration = Duration::from_secs(600);

const POLL: Duration = Duration::from_millis(10);

/// How often a start is tried again when the port was taken meanwhile or a killed server still ends.
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
    /// Process id of the server.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.process.pid()
    }

    /// Whether the server has ended, asked or not: in mid-run this is a crash.
    #[must_use]
    pub fn has_exited(&self) -> bool {
        self.process.exit_status().is_some()
    }

    /// Ends the server without a shutdown: the next start recovers from the log. A [`Server::stop`] under way
    /// returns soon after.
    pub fn stop_now(&self) {
        self.process.signal(MARIADB.immediate());
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
        let place = &cluster.place;
        leftover::stop(&MARIADB, &place.data, progress)?;
        progress(Progress::Starting { product: MARIADB.name });
        let sockets = socket::folder(&place.data, &place.user, SOCKET)?;
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
        let socket = sockets.join(SOCKET);
        let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
        let mut command = place.command(&cluster.installation.server, &place.data);
        command
            .arg("--no-defaults")
            .arg(option("basedir", &cluster.installation.base))
            .arg(option("datadir", &place.data))
            .arg(option("socket", &socket))
            .arg(option("pid-file", &place.data.join(MARIADB.pid_file)))
            .arg(format!("--port={port}"))
            .arg(format!("--bind-address={}", Ipv4Addr::LOCALHOST))
            .args(OURS)
            .stdout(output)
            .stderr(errors);
        // The last one of several wins.
        for (name, value) in settings {
            command.arg(format!("--{name}={value}"));
        }
        let process = Process::spawn(command, MARIADB.shutdown())
            .map_err(EmbeddedError::file("run", &cluster.installation.server))?;
        match wait_until_ready(&process, &socket) {
            Ok(()) => Ok((process, port)),
            Err(status) => {
                process.end(MARIADB.hard_measures());
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
        self.connection_to(Host::Unix(self.sockets.join(SOCKET)), database)
    }

    /// Where it listens on TCP, for this database.
    #[must_use]
    pub fn connection_tcp(&self, database: &str) -> ConnectionInfo {
        let name = Ipv4Addr::LOCALHOST.to_string();
        self.connection_to(Host::Tcp { name, port: self.port }, database)
    }

    fn connection_to(&self, host: Host, database: &str) -> ConnectionInfo {
        ConnectionInfo::local(host, SUPERUSER, &self.cluster.place.password, database)
    }

    /// Its TCP port on 127.0.0.1.
    #[must_use]
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Process id.
    #[must_use]
    pub fn pid(&self) -> u32 {
        self.handle.pid()
    }

    /// Its log since it was started.
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

    /// A handle to watch and stop it from anywhere.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// Shutdown in good order: open transactions are rolled back, everything is written. If that takes more than
    /// ten minutes the server is killed.
    pub fn stop(self) {
        drop(self);
    }

    /// Ends it without a shutdown: the next start recovers from the log.
    pub fn stop_now(self) {
        self.handle.stop_now();
        drop(self);
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        self.handle.process.end(MARIADB.measures(SHUTDOWN_LIMIT));
        // An empty folder left in /tmp is taken again by the next start.
        let _ = fs::remove_dir_all(&self.sockets);
        self.cluster.place.end();
    }
}

/// Waits until the server takes connections, which it does on its unix socket last of all; else says how it ended.
fn wait_until_ready(process: &Process, socket: &Path) -> Result<(), String> {
    let started = Instant::now();
    loop {
        if let Some(status) = process.exit_status() {
            return Err(status.to_string());
        }
        if is_ready(socket) {
            return Ok(());
        }
        if started.elapsed() > START_LIMIT {
            return Err(format!("it was not ready after {} s", START_LIMIT.as_secs()));
        }
        std::thread::sleep(POLL);
    }
}

/// Whether a server greets who connects. The socket is there before that, while the server still recovers.
fn is_ready(socket: &Path) -> bool {
    use std::io::Read;
    let Ok(mut stream) = UnixStream::connect(socket) else {
        return false;
    };
    let patience = stream.set_read_timeout(Some(Duration::from_secs(1)));
    patience.is_ok() && stream.read(&mut [0]).is_ok_and(|bytes| bytes > 0)
}

/// Whether trying again may help: another process took the port, or a killed server is about to end.
fn is_passing(error: &EmbeddedError) -> bool {
    matches!(error, EmbeddedError::Start { tail, .. }
        if tail.contains("Address already in use") || tail.contains("Unable to lock ./ibdata1"))
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn refuses_settings_that_are_ours() {
        let check = |name: &str| check_settings(&[(name.to_owned(), "1".to_owned())]);
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
