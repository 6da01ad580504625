//! The embedded servers of a campaign: one is up at a time, of the version and with the settings that the next run wants.

use super::{Emergency, Progress, RunError, settings};
use crate::experiment::{Path as Route, Resolved};
use dyno_target::host::{Dropped, drop_pages};
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::embedded::{self, Embedded, EmbeddedOptions, Server};
use std::path::{Path, PathBuf};

/// Brings embedded servers up and down. Dropped, it stops the one that is up.
pub(super) struct Servers<'a> {
    emergency: &'a Emergency,
    cluster: Option<Cluster>,
}

/// A cluster that is held for this campaign.
pub(super) struct Cluster {
    // Dropped in this order: first the server stops, then the cluster is free.
    server: Option<Server>,
    embedded: Embedded,
    emergency: Emergency,
    /// Which cluster it is.
    home: PathBuf,
    version: String,
    /// What the server is started with.
    settings: Vec<(String, String)>,
}

impl<'a> Servers<'a> {
    pub(super) fn new(emergency: &'a Emergency) -> Self {
        let cluster = None;
        Self { emergency, cluster }
    }

    /// The server of this version with the experiment's settings. One that is up already does if it is the same, unless it is to be `anew`. What had to
    /// be translated for this version is said in `notes`.
    pub(super) fn bring(
        &mut self,
        options: &EmbeddedOptions,
        experiment: &Resolved,
        anew: bool,
        notes: &mut Vec<String>,
        progress: &mut dyn Progress,
    ) -> Result<&mut Cluster, RunError> {
        let fits = |cluster: &Cluster| cluster.home == options.home && cluster.version == options.version;
        if !self.cluster.as_ref().is_some_and(fits) {
            self.stop(progress);
        }
        let cluster = match self.cluster.take() {
            Some(cluster) => cluster,
            None => Cluster {
                server: None,
                embedded: Embedded::prepare(options, &mut |event| tell(progress, &event))?,
                emergency: self.emergency.clone(),
                home: options.home.clone(),
                version: options.version.clone(),
                settings: Vec::new(),
            },
        };
        let cluster = self.cluster.insert(cluster);
        let wanted = settings::embedded(experiment, cluster.embedded.version())?;
        notes.extend(wanted.notes);
        cluster.ensure(wanted.settings, anew, progress)?;
        Ok(cluster)
    }

    /// Stops the server that is up, if one is, and lets go of its cluster.
    pub(super) fn stop(&mut self, progress: &mut dyn Progress) {
        if let Some(mut cluster) = self.cluster.take() {
            cluster.stop(progress);
        }
    }

    /// The cluster that is held.
    pub(super) fn cluster(&self) -> Option<&Cluster> {
        self.cluster.as_ref()
    }
}

impl Cluster {
    fn ensure(
        &mut self,
        settings: Vec<(String, String)>,
        anew: bool,
        progress: &mut dyn Progress,
    ) -> Result<(), RunError> {
        let does = self.settings == settings && !anew;
        let up = self.server.as_ref().is_some_and(|server| !server.has_exited());
        if does && up {
            return Ok(());
        }
        self.settings = settings;
        self.restart(progress)
    }

    /// Stops the server if it is up, and starts it with the same settings.
    pub(super) fn restart(&mut self, progress: &mut dyn Progress) -> Result<(), RunError> {
        self.stop(progress);
        self.start(progress)
    }

    /// Restarts the server with none of its files in the page cache, as far as the system permits.
    pub(super) fn restart_cold(&mut self, progress: &mut dyn Progress) -> Result<Dropped, RunError> {
        self.stop(progress);
        progress.step("Emptying the page cache");
        let dropped = drop_pages(self.embedded.data_folder())?;
        self.start(progress)?;
        Ok(dropped)
    }

    fn start(&mut self, progress: &mut dyn Progress) -> Result<(), RunError> {
        let server = self
            .embedded
            .start(&self.settings, &mut |event| tell(progress, &event))?;
        self.emergency.set(Some(server.handle()));
        self.server = Some(server);
        progress.step(&format!("PostgreSQL {} is running", self.embedded.version()));
        Ok(())
    }

    fn stop(&mut self, progress: &mut dyn Progress) {
        if let Some(server) = self.server.take() {
            if !server.has_exited() {
                progress.step("Stopping PostgreSQL");
            }
            server.stop();
            self.emergency.set(None);
        }
    }

    /// The running server.
    pub(super) fn server(&self) -> Result<&Server, RunError> {
        self.server.as_ref().ok_or_else(|| RunError::Server {
            what: "use the embedded server".to_owned(),
            message: "it is not running".to_owned(),
        })
    }

    /// What it was started with.
    pub(super) fn settings(&self) -> &[(String, String)] {
        &self.settings
    }

    /// The address of a database of it, as the clients are to reach it.
    pub(super) fn connection(&self, database: &str, route: Option<Route>) -> Result<ConnectionInfo, RunError> {
        let server = self.server()?;
        Ok(match route {
            Some(Route::Tcp) => server.connection_tcp(database),
            Some(Route::Unix) | None => server.connection(database),
        })
    }

    /// What to say of a run whose connections were lost, if that is because the server ended.
    pub(super) fn post_mortem(&self) -> Option<String> {
        let server = self.server.as_ref()?;
        // Its processes end a moment after its connections.
        std::thread::sleep(std::time::Duration::from_millis(200));
        server.has_exited().then(|| {
            format!(
                "the server ended during the measurement; its log is {}",
                server.log_path().display()
            )
        })
    }

    /// Where it keeps its data.
    pub(super) fn data_folder(&self) -> &Path {
        self.embedded.data_folder()
    }

    /// Where it writes its log.
    pub(super) fn log(&self) -> Option<&Path> {
        self.server.as_ref().map(Server::log_path)
    }
}

fn tell(progress: &mut dyn Progress, event: &embedded::Progress) {
    use embedded::Progress as Event;
    match event {
        Event::Downloading {
            product,
            version,
            received_bytes,
            total_bytes,
        } => {
            progress.step(&format!("Fetching {product} {version}"));
            if let Some(total_bytes) = total_bytes {
                const MEGABYTE: u64 = 1_000_000;
                progress.amount(received_bytes / MEGABYTE, total_bytes.div_ceil(MEGABYTE), "MB");
            }
        }
        Event::Unpacking {
            product,
            version,
            archive_bytes,
        } => {
            let megabytes = *archive_bytes as f64 / 1e6;
            progress.step(&format!(
                "Unpacking {product} {version} ({megabytes:.0} MB, checksum verified)"
            ));
        }
        Event::DamagedCache { product, what } => {
            progress.note(&format!("The cached {product} is damaged ({what}); fetching it again."))
        }
        Event::Initialising => progress.step("Initialising the database cluster"),
        Event::HalfInitialised { data } => {
            progress.note(&format!(
                "The initialisation of {} had not finished; repeating it.",
                data.display()
            ));
        }
        Event::Waiting { pid, folder } => {
            let who = pid.map_or_else(
                || "another dyno".to_owned(),
                |pid| format!("the dyno with process id {pid}"),
            );
            progress.step(&format!("Waiting for {who}, which is using {}", folder.display()));
        }
        Event::StoppingLeftover { pid } => {
            progress.note(&format!("Stopping a server that an earlier dyno left (process {pid})."));
        }
        Event::Starting { product } => progress.step(&format!("Starting {product}")),
    }
}
