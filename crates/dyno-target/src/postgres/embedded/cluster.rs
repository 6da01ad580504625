//! A cluster: its folder, its lock, its data folder initialised once.

use super::home::{Home, ServerUser};
use super::install::Installation;
use super::lock::Lock;
use super::manifest::hex;
use super::{EmbeddedError, Progress, SUPERUSER, keeper, tablespace};
use std::fs;
use std::io::Write;
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::atomic::AtomicBool;

/// Random bytes in the superuser's password.
const PASSWORD_BYTES: usize = 24;

/// An initialised cluster, held for this process.
#[derive(Debug)]
pub(super) struct Cluster {
    pub(super) installation: Installation,
    /// Data folder, with all links resolved.
    pub(super) data: PathBuf,
    /// Log of the last start.
    pub(super) log: PathBuf,
    /// Password of the superuser, asked for on TCP.
    pub(super) password: String,
    /// Whether a server of this process runs on it.
    pub(super) running: AtomicBool,
    /// Whom the server runs as.
    pub(super) user: ServerUser,
    _lock: Lock,
}

impl Cluster {
    /// Takes the cluster's lock and initialises its data folder unless that was done.
    pub(super) fn open(
        home: &Home,
        installation: Installation,
        name: &str,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, EmbeddedError> {
        let folder = home.create(&format!("clusters/{}/{name}", installation.clusters))?;
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o700))
            .map_err(EmbeddedError::file("set the mode of", &folder))?;
        home.user.hand_over(&folder)?;
        let lock = Lock::take(&folder, stop, &mut |pid| {
            progress(Progress::Waiting {
                pid,
                folder: folder.clone(),
            });
        })?;
        let mut cluster = Self {
            installation,
            data: folder.join("data"),
            log: folder.join("server.log"),
            password: String::new(),
            running: AtomicBool::new(false),
            user: home.user.clone(),
            _lock: lock,
        };
        let password_file = folder.join("password");
        cluster.password = fs::read_to_string(&password_file).unwrap_or_default();
        if !cluster.is_initialised() {
            cluster.initialise(home, &folder, &password_file, progress)?;
        }
        Ok(cluster)
    }

    fn is_initialised(&self) -> bool {
        !self.password.is_empty()
            && ["PG_VERSION", "global/pg_control"]
                .iter()
                .all(|file| self.data.join(file).exists())
    }

    /// Runs `initdb` beside the data folder's place and renames, so that a data folder is whole or absent.
    fn initialise(
        &mut self,
        home: &Home,
        folder: &Path,
        password_file: &Path,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<(), EmbeddedError> {
        let fresh = folder.join("data.new");
        super::leftover::stop(&self.data, progress)?;
        for half in [&fresh, &self.data, &tablespace::folder(&self.data)] {
            if half.exists() {
                progress(Progress::HalfInitialised { data: half.clone() });
                fs::remove_dir_all(half).map_err(EmbeddedError::file("remove", half))?;
            }
        }
        progress(Progress::Initialising);
        self.password = random_password().map_err(EmbeddedError::file("make a password for", folder))?;
        write_private(password_file, &self.password).map_err(EmbeddedError::file("write", password_file))?;
        home.user.hand_over(password_file)?;
        // SCRAM came with version 10 (release notes of PostgreSQL 10).
        let host_authentication = if self.installation.major >= 10 {
            "scram-sha-256"
        } else {
            "md5"
        };
        let mut command = self.command("initdb", folder);
        command
            .arg("--pgdata")
            .arg(&fresh)
            .arg("--pwfile")
            .arg(password_file)
            .args(["--username", SUPERUSER])
            .args(["--encoding", "UTF8", "--locale", "C"])
            .args(["--auth-local", "trust", "--auth-host", host_authentication]);
        // This thread waits for it, so its end is the process's end.
        keeper::end_with_us(&mut command);
        let output = command
            .output()
            .map_err(EmbeddedError::file("run", &self.installation.program("initdb")))?;
        if !output.status.success() {
            let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stdout));
            return Err(EmbeddedError::Program {
                program: "initdb",
                status: output.status.to_string(),
                output: text,
            });
        }
        fs::rename(&fresh, &self.data).map_err(EmbeddedError::file("create", &self.data))
    }

    /// A server program as the server's user, in a folder that user can be in, with an environment free of `PG…` variables.
    pub(super) fn command(&self, program: &str, folder: &Path) -> Command {
        let mut command = Command::new(self.installation.program(program));
        command
            .current_dir(folder)
            .env_clear()
            .env("LC_ALL", "C")
            .envs(
                ["PATH", "TZ"]
                    .into_iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .stdin(std::process::Stdio::null())
            // A process group of its own: Ctrl-C at the terminal is for dyno, which then stops the server.
            .process_group(0);
        if let Some((uid, gid)) = self.user.other_than_us() {
            command.uid(uid).gid(gid);
        }
        command
    }
}

fn random_password() -> std::io::Result<String> {
    let mut bytes = [0; PASSWORD_BYTES];
    let count = rustix::rand::getrandom(&mut bytes, rustix::rand::GetRandomFlags::empty())?;
    if count < bytes.len() {
        return Err(std::io::ErrorKind::UnexpectedEof.into());
    }
    Ok(hex(&bytes))
}

/// Writes a file that only its owner may read, replacing an earlier one.
fn write_private(path: &Path, text: &str) -> std::io::Result<()> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    let mut file = fs::File::options()
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(text.as_bytes())
}
