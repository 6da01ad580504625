//! The folder of a cluster: locked for this process, its data folder made once and whole, its superuser's password
//! beside it.

use super::home::{Home, ServerUser};
use super::lock::Lock;
use super::manifest::hex;
use super::product::Product;
use super::{EmbeddedError, Progress, keeper, socket, stale};
use crate::host::free_bytes;
use dyno_text::one_line;
use std::fs::{self, File};
use std::io::{Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicBool, AtomicU16, Ordering};

/// Random bytes in what nobody is to guess.
const RANDOM_BYTES: usize = 24;

/// Name of the file with it.
const PASSWORD: &str = "password";

/// Lines of the log in an error, and characters in each.
const TAIL_LINES: usize = 20;
const LONGEST_LINE: usize = 300;

/// The same where the cause is known.
const KNOWN_LINES: usize = 3;

/// With less room on its disk no server starts, in bytes: PostgreSQL's files of the log are as large, and so are
/// MariaDB's for temporary tables.
const LEAST_ROOM: u64 = 16 << 20;

/// What programs say of a full disk.
const NO_ROOM: &str = "No space left on device";

/// The folder of a cluster, held for this process.
#[derive(Debug)]
pub struct Place {
    /// The folder.
    pub(crate) folder: PathBuf,
    /// Data folder, with all links resolved.
    pub(crate) data: PathBuf,
    /// Log of the last start.
    pub(crate) log: PathBuf,
    /// Password of the superuser.
    pub(crate) password: String,
    /// Whom the server runs as.
    pub(crate) user: ServerUser,
    product: &'static Product,
    /// The port of the last server of this process on it, or 0.
    port: AtomicU16,
    /// Whether a server of this process runs on it.
    running: AtomicBool,
    _lock: Lock,
}

impl Place {
    /// Takes the lock of a folder below the home folder, which is created if need be. Another dyno that holds it is
    /// waited for.
    pub(crate) fn take(
        home: &Home,
        product: &'static Product,
        relative: &str,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Progress),
    ) -> Result<Self, EmbeddedError> {
        let folder = home.create(relative)?;
        fs::set_permissions(&folder, PermissionsExt::from_mode(0o700))
            .map_err(EmbeddedError::file("set the mode of", &folder))?;
        home.user.hand_over(&folder)?;
        let lock = Lock::take(&folder, stop, &mut |pid| {
            progress(Progress::Waiting {
                pid,
                folder: folder.clone(),
            });
        })?;
        Ok(Self {
            data: folder.join("data"),
            log: folder.join("server.log"),
            password: fs::read_to_string(folder.join(PASSWORD)).unwrap_or_default(),
            user: home.user.clone(),
            product,
            port: AtomicU16::new(0),
            running: AtomicBool::new(false),
            folder,
            _lock: lock,
        })
    }

    /// The file with the superuser's password.
    pub(crate) fn password_file(&self) -> PathBuf {
        self.folder.join(PASSWORD)
    }

    /// Whether there is a password and the data folder has these files.
    pub(crate) fn is_initialised(&self, files: &[&str]) -> bool {
        !self.password.is_empty() && files.iter().all(|file| self.data.join(file).exists())
    }

    /// Replaces the data folder and what is in `beside` by a data folder that is made beside its place and then
    /// renamed, so that a data folder is whole or absent.
    pub(crate) fn replace<T, E: From<EmbeddedError>>(
        &mut self,
        beside: &[PathBuf],
        make: impl FnOnce(&mut Self, &Path) -> Result<T, E>,
    ) -> Result<T, E> {
        let fresh = self.folder.join("data.new");
        stale::stop(self.product, &self.data, &mut |_| ())?;
        for old in [&fresh, &self.data].into_iter().chain(beside) {
            if old.exists() {
                fs::remove_dir_all(old).map_err(EmbeddedError::file("remove", old))?;
            }
        }
        let made = make(self, &fresh)?;
        fs::rename(&fresh, &self.data).map_err(EmbeddedError::file("create", &self.data))?;
        Ok(made)
    }

    /// Makes a password, and the data folder by a program (known as `name`) that is told where; see
    /// [`replace`](Self::replace).
    pub(crate) fn initialise(
        &mut self,
        name: &'static str,
        beside: &[PathBuf],
        progress: &mut dyn FnMut(Progress),
        program: impl FnOnce(&Self, &Path) -> Result<Command, EmbeddedError>,
    ) -> Result<(), EmbeddedError> {
        stale::stop(self.product, &self.data, progress)?;
        let half = [self.folder.join("data.new"), self.data.clone()];
        for half in half.iter().chain(beside).filter(|half| half.exists()) {
            progress(Progress::HalfInitialised { data: half.clone() });
        }
        progress(Progress::Initialising);
        let password = random_text().map_err(EmbeddedError::file("make a password for", &self.folder))?;
        self.set_password(password)?;
        self.replace(beside, |place, fresh| {
            let mut command = program(place, fresh)?;
            // This thread waits for it, so its end is the process's end.
            keeper::end_with_us(&mut command, place.product.shutdown());
            let path = PathBuf::from(command.get_program());
            let output = command.output().map_err(EmbeddedError::file("run", &path))?;
            if output.status.success() {
                return Ok(());
            }
            let mut text = String::from_utf8_lossy(&output.stderr).into_owned();
            text.push_str(&String::from_utf8_lossy(&output.stdout));
            Err(place.lacks_room(&text).unwrap_or_else(|| EmbeddedError::Program {
                program: name,
                status: output.status.to_string(),
                output: last_lines(&text, TAIL_LINES),
            }))
        })
    }

    /// Notes the superuser's password.
    pub(crate) fn set_password(&mut self, password: String) -> Result<(), EmbeddedError> {
        self.password = password;
        self.write_private(PASSWORD, &self.password).map(drop)
    }

    /// The port that the server had last, if it is still free, so that whoever follows it finds it there again; else
    /// another one that is free.
    pub(crate) fn free_port(&self) -> Result<u16, EmbeddedError> {
        let found = match self.port.load(Ordering::Relaxed) {
            last if last != 0 && socket::is_free(last) => Ok(last),
            _ => socket::free_port(),
        };
        let port = found.map_err(EmbeddedError::file("find a free port of 127.0.0.1 for", &self.data))?;
        self.port.store(port, Ordering::Relaxed);
        Ok(port)
    }

    /// Writes a file of the folder that only the server's user may read, replacing an earlier one.
    pub(crate) fn write_private(&self, name: &str, text: &str) -> Result<PathBuf, EmbeddedError> {
        let path = self.folder.join(name);
        replace_private(&path, text).map_err(EmbeddedError::file("write", &path))?;
        self.user.hand_over(&path)?;
        Ok(path)
    }

    /// A server program as the server's user, in a folder that user can be in, with an environment free of the
    /// product's variables.
    pub(crate) fn command(&self, program: &Path, folder: &Path) -> Command {
        let mut command = Command::new(program);
        command
            .current_dir(folder)
            .env_clear()
            .env("LC_ALL", "C")
            .envs(
                ["PATH", "TZ"]
                    .into_iter()
                    .filter_map(|name| Some((name, std::env::var_os(name)?))),
            )
            .stdin(Stdio::null())
            // A process group of its own: Ctrl-C at the terminal is for dyno, which then stops the server.
            .process_group(0);
        if let Some((uid, gid)) = self.user.other_than_us() {
            command.uid(uid).gid(gid);
        }
        command
    }

    /// Notes that a server of this process is about to run.
    pub(crate) fn begin(&self) -> Result<(), EmbeddedError> {
        if self.running.swap(true, Ordering::AcqRel) {
            return Err(EmbeddedError::Running {
                cluster: self.data.clone(),
            });
        }
        Ok(())
    }

    /// Notes that it runs no more.
    pub(crate) fn end(&self) {
        self.running.store(false, Ordering::Release);
    }

    /// The last lines of the log.
    pub(crate) fn log_tail(&self) -> String {
        tail(&self.log)
    }

    /// The error to give if a program that said this failed for lack of room on the disk. What it said may be nothing:
    /// its log is on that disk.
    pub(crate) fn lacks_room(&self, said: &str) -> Option<EmbeddedError> {
        lacks_room(self.product, &self.folder, said)
    }

    /// Whether the disk is full, or was when the server said so lately.
    pub(crate) fn is_out_of_room(&self) -> bool {
        self.lacks_room(&self.log_tail()).is_some()
    }
}

fn lacks_room(product: &Product, folder: &Path, said: &str) -> Option<EmbeddedError> {
    let left = free_bytes(folder).ok();
    let lacks = said.contains(NO_ROOM) || left.is_some_and(|left| left < LEAST_ROOM);
    lacks.then(|| EmbeddedError::NoRoom {
        product: product.name,
        folder: folder.to_owned(),
        left_bytes: left.unwrap_or(0),
        said: last_lines(said, KNOWN_LINES),
    })
}

fn tail(log: &Path) -> String {
    let bytes = fs::read(log).unwrap_or_default();
    last_lines(&String::from_utf8_lossy(&bytes), TAIL_LINES)
}

/// The last lines of a text, at most so many.
fn last_lines(text: &str, most: usize) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let last = lines[lines.len().saturating_sub(most)..].iter();
    let last = last.map(|line| one_line(line, LONGEST_LINE));
    last.collect::<Vec<_>>().join("\n")
}

/// A text that nobody guesses.
pub(crate) fn random_text() -> std::io::Result<String> {
    let mut bytes = [0; RANDOM_BYTES];
    File::open("/dev/urandom")?.read_exact(&mut bytes)?;
    Ok(hex(&bytes))
}

fn replace_private(path: &Path, text: &str) -> std::io::Result<()> {
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::postgres::embedded::POSTGRESQL;

    #[test]
    fn a_full_disk_is_told_in_a_sentence() {
        let folder = tempfile::tempdir().unwrap();
        let said = |said: &str| lacks_room(&POSTGRESQL, folder.path(), said).map(|error| error.to_string());
        assert_eq!(said("FATAL:  lock file \"postmaster.pid\" already exists"), None);
        let log = format!(
            "{}PANIC:  could not write to file: No space left on device\n",
            "LOG:  x\n".repeat(50)
        );
        let error = said(&log).unwrap();
        assert!(error.starts_with("PostgreSQL cannot start: the disk of "), "{error}");
        assert!(
            error.ends_with("No space left on device") && error.lines().count() == 4,
            "{error}"
        );
    }

    #[test]
    fn takes_the_end_of_a_log() {
        let folder = tempfile::tempdir().unwrap();
        let log = folder.path().join("log");
        let text: String = (0..100).map(|line| format!("line {line}\n")).collect();
        fs::write(&log, text).unwrap();
        assert!(tail(&log).starts_with("line 80\n"));
        assert!(tail(&log).ends_with("line 99"));
        assert_eq!(tail(&folder.path().join("none")), "");
        fs::write(&log, "x".repeat(1 << 20)).unwrap();
        assert_eq!(tail(&log).chars().count(), LONGEST_LINE + 1);
    }
}
