//! A running server: started, watched, stopped.

use super::cluster::{Cluster, Listening, Programs};
use super::keeper::Process;
use super::product::Product;
use super::shutdown::{IDLE, shut_down};
use super::{EmbeddedError, Progress, socket, stale};
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::{Duration, Instant};

/// How long a start may take. Recovery after a crash replays the whole log and is the reason for the length.
const START_LIMIT: Duration = Duration::from_secs(600);

const POLL: Duration = Duration::from_millis(10);

/// How often a start is tried again when the port was taken meanwhile or a killed server still ends.
const TRIES: u32 = 40;

/// A running server of an embedded cluster. Dropping it stops it.
#[derive(Debug)]
pub struct Server<P: Programs> {
    handle: ServerHandle,
    port: u16,
    sockets: PathBuf,
    cluster: Arc<Cluster<P>>,
}

/// Watches and stops a server from anywhere, such as a signal handler's thread.
#[derive(Clone, Debug)]
pub struct ServerHandle {
    process: Process,
    product: &'static Product,
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

    /// Ends the server without a shutdown: the next start recovers from the log. A [`Server::stop`] under way
    /// returns soon after.
    pub fn stop_now(&self) {
        self.process.signal(self.product.immediate());
    }
}

impl<P: Programs> Server<P> {
    pub(super) fn start(
        cluster: &Arc<Cluster<P>>,
        settings: &[(String, String)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, EmbeddedError> {
        P::check_settings(settings)?;
        cluster.place.begin()?;
        let started = Self::start_taken(cluster, settings, progress);
        if started.is_err() {
            cluster.place.end();
        }
        started
    }

    fn start_taken(
        cluster: &Arc<Cluster<P>>,
        settings: &[(String, String)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, EmbeddedError> {
        let place = &cluster.place;
        stale::stop(P::PRODUCT, &place.data, progress)?;
        progress(Progress::Starting {
            product: P::PRODUCT.name,
        });
        let sockets = socket::folder(&place.data, &place.user, P::SOCKET)?;
        let mut tries = 0;
        loop {
            tries += 1;
            let error = match try_start(cluster, settings, &sockets) {
                Ok((process, port)) => {
                    return Ok(Self {
                        handle: ServerHandle {
                            process,
                            product: P::PRODUCT,
                        },
                        port,
                        sockets,
                        cluster: Arc::clone(cluster),
                    });
                }
                Err(error) => error,
            };
            if tries == TRIES || !is_passing::<P>(&error) {
                // The folder is empty without a server; if it stays it does no harm.
                let _ = fs::remove_dir_all(&sockets);
                return Err(error);
            }
            std::thread::sleep(POLL * tries);
        }
    }

    pub(crate) fn cluster(&self) -> &Cluster<P> {
        &self.cluster
    }

    /// The folder of its unix socket.
    pub(crate) fn sockets(&self) -> &Path {
        &self.sockets
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

    pub(crate) fn process(&self) -> &Process {
        &self.handle.process
    }

    /// A handle to watch and stop it from anywhere.
    #[must_use]
    pub fn handle(&self) -> ServerHandle {
        self.handle.clone()
    }

    /// Shutdown in good order: open transactions are rolled back, everything is written. If that takes more than ten
    /// minutes, or the server does nothing for half a minute, it is stopped the hard way: then the next start recovers
    /// from the log, and it is said why, as a clause.
    pub fn stop(self) -> Option<String> {
        self.shut_down().map(|why| match self.cluster.place.is_out_of_room() {
            true => format!("{why}; the disk of {} is full", self.cluster.place.folder.display()),
            false => why,
        })
    }

    /// Ends it without a shutdown: the next start recovers from the log.
    pub fn stop_now(self) {
        self.handle.stop_now();
        drop(self);
    }

    fn shut_down(&self) -> Option<String> {
        let data = &self.cluster.place.data;
        // Somebody may have stopped those of its processes that it waits for.
        stale::wake(P::PRODUCT, data);
        shut_down(&self.handle.process, P::PRODUCT, data, IDLE)
    }
}

impl<P: Programs> Drop for Server<P> {
    fn drop(&mut self) {
        // Who cares has been told.
        let _ = self.shut_down();
        stale::await_children(P::PRODUCT, &self.cluster.place.data);
        // An empty folder left in /tmp is taken again by the next start.
        let _ = fs::remove_dir_all(&self.sockets);
        self.cluster.place.end();
    }
}

fn try_start<P: Programs>(
    cluster: &Cluster<P>,
    settings: &[(String, String)],
    sockets: &Path,
) -> Result<(Process, u16), EmbeddedError> {
    let place = &cluster.place;
    let port = place.free_port()?;
    let log = &place.log;
    let output = fs::File::create(log).map_err(EmbeddedError::file("create", log))?;
    let errors = output.try_clone().map_err(EmbeddedError::file("open", log))?;
    let program = cluster.programs.server();
    let mut command = place.command(&program, &place.data);
    let at = Listening { sockets, port };
    cluster.programs.arguments(&mut command, place, at, settings);
    command.stdout(output).stderr(errors);
    let process = Process::spawn(command, P::PRODUCT.shutdown()).map_err(EmbeddedError::file("run", &program))?;
    match wait_until_ready(cluster, &process, at) {
        Ok(()) => Ok((process, port)),
        Err(status) => {
            process.end(P::PRODUCT.hard_measures());
            let tail = place.log_tail();
            Err(match (place.lacks_room(&tail), P::unknown_setting(&tail)) {
                (Some(error), _) => error,
                (None, Some(name)) => EmbeddedError::UnknownSetting {
                    product: P::PRODUCT.name,
                    version: cluster.programs.version().to_owned(),
                    name: name.to_owned(),
                    nearest: cluster.programs.nearest_setting(place, name),
                },
                (None, None) => EmbeddedError::Start {
                    status,
                    log: log.clone(),
                    tail,
                },
            })
        }
    }
}

/// Waits until the server takes connections; else says how it ended.
fn wait_until_ready<P: Programs>(cluster: &Cluster<P>, process: &Process, at: Listening<'_>) -> Result<(), String> {
    let started = Instant::now();
    loop {
        if let Some(status) = process.exit_status() {
            return Err(status.to_string());
        }
        if cluster.programs.is_ready(&cluster.place, at, process.pid()) {
            return Ok(());
        }
        if started.elapsed() > START_LIMIT {
            return Err(format!("it was not ready after {} s", START_LIMIT.as_secs()));
        }
        std::thread::sleep(POLL);
    }
}

/// Whether trying again may help: another process took the port, or what is left of a killed server is about to end.
fn is_passing<P: Programs>(error: &EmbeddedError) -> bool {
    let EmbeddedError::Start { tail, .. } = error else {
        return false;
    };
    let passing = ["Address already in use"];
    passing.iter().chain(P::PASSING).any(|text| tail.contains(text))
}
