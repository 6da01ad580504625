//! Installed programs and one initialised cluster, held for this process alone.

use super::place::Place;
use super::product::Product;
use super::server::Server;
use super::{EmbeddedError, Progress};
use std::fmt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

/// The cluster of a campaign's main server.
pub(crate) const MAIN: &str = "main";

/// The role of a cluster's server as it is written behind what names that; nothing for a campaign's main one. A role is
/// a cluster of that name.
pub(crate) fn role_of(cluster: &str) -> String {
    match cluster {
        MAIN => String::new(),
        role => format!(" as {role}"),
    }
}

/// Where a server is to listen.
#[derive(Clone, Copy, Debug)]
pub struct Listening<'a> {
    /// The folder of its unix socket.
    pub sockets: &'a Path,
    /// Its TCP port on 127.0.0.1.
    pub port: u16,
}

/// The programs of a database's server: what each database does in its own way to start it.
pub trait Programs: fmt::Debug + Send + Sync + 'static {
    /// The database.
    const PRODUCT: &'static Product;

    /// The longest name of a file in the folder of the unix socket.
    const SOCKET: &'static str;

    /// What the log says when trying again may help.
    const PASSING: &'static [&'static str];

    /// The release, such as `18.6.0`.
    fn version(&self) -> &str;

    /// The server's program.
    fn server(&self) -> PathBuf;

    /// Refuses settings that are ours to choose, and names that are none.
    ///
    /// # Errors
    /// Which one it is.
    fn check_settings(settings: &[(String, String)]) -> Result<(), EmbeddedError>;

    /// Makes the data folder, in place of an earlier one.
    ///
    /// # Errors
    /// The program that makes it fails.
    fn initialise(&self, place: &mut Place, progress: &mut dyn FnMut(Progress)) -> Result<(), EmbeddedError>;

    /// Appends the server's arguments.
    fn arguments(&self, command: &mut Command, place: &Place, at: Listening<'_>, settings: &[(String, String)]);

    /// The setting that the server does not have, if it says in its log that it does not start for that reason.
    fn unknown_setting(_log: &str) -> Option<&str> {
        None
    }

    /// The server's own setting whose name is most like this one, which it does not have.
    fn nearest_setting(&self, _place: &Place, _name: &str) -> Option<String> {
        None
    }

    /// Whether the server with this process id takes connections.
    fn is_ready(&self, place: &Place, at: Listening<'_>, pid: u32) -> bool;
}

/// An initialised cluster, held for this process.
#[derive(Debug)]
pub struct Cluster<P> {
    pub(crate) programs: P,
    pub(crate) place: Place,
}

/// An installed server and one initialised cluster, held for this process alone.
#[derive(Debug)]
pub struct Embedded<P> {
    cluster: Arc<Cluster<P>>,
}

impl<P: Programs> Embedded<P> {
    pub(crate) fn of(cluster: Cluster<P>) -> Self {
        Self {
            cluster: Arc::new(cluster),
        }
    }

    /// Starts the server with these settings on top of those that dyno gives it, which make it durable and its log
    /// useful. A server that an earlier process left on this cluster is stopped first. May be called from any thread.
    ///
    /// # Errors
    /// The server is running already, a setting is not accepted (the end of the server's log is in the text), or it
    /// does not start.
    pub fn start(
        &self,
        settings: &[(String, String)],
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Server<P>, EmbeddedError> {
        Server::start(&self.cluster, settings, progress)
    }

    /// The release of the programs, such as `18.6.0`.
    #[must_use]
    pub fn version(&self) -> &str {
        self.cluster.programs.version()
    }

    /// The data folder.
    #[must_use]
    pub fn data_folder(&self) -> &Path {
        &self.cluster.place.data
    }

    /// The name of the cluster, which is a role's if it is not the main one.
    pub(crate) fn name(&self) -> String {
        let name = self.cluster.place.folder.file_name().unwrap_or_default();
        name.to_string_lossy().into_owned()
    }

    pub(crate) fn place(&self) -> &Place {
        &self.cluster.place
    }

    /// The programs and the place of a cluster on which no server runs.
    pub(crate) fn at_rest(&mut self) -> Result<(&P, &mut Place), EmbeddedError> {
        let data = self.cluster.place.data.clone();
        let cluster = Arc::get_mut(&mut self.cluster).ok_or(EmbeddedError::Running { cluster: data })?;
        Ok((&cluster.programs, &mut cluster.place))
    }
}
