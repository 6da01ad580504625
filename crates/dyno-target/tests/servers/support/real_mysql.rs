//! A real MySQL, of which there is no package that dyno could fetch: the one that the system has installed, or one from
//! Debian's unstable, unpacked into the folder of the tests' files with the libraries that it was built with.

use dyno_target::mysql::address::ConnectionInfo;
use rustix::process::{Pid, Signal, kill_process};
use std::ffi::OsStr;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};
use tempfile::TempDir;

/// Where packages put the server's program.
const SYSTEM: &str = "/usr/sbin/mysqld";

/// Unpacks one, relative to the crate of the tests.
const UNPACK: &str = concat!(
    env!("CARGO_MANIFEST_DIR"),
    "/../dyno-target/tests/servers/support/unpack-mysql.sh"
);

/// Starts a program again whenever it ends in good order, as a system's service manager does, and keeps its process id
/// in a file.
const KEEP_UP: &str = "file=$1; shift; while :; do \"$@\" & echo $! >\"$file\"; wait $! || exit; done";

/// Long enough for anything that a server does here.
const PATIENCE: Duration = Duration::from_secs(120);

/// The file with the server's process id.
const PID: &str = "pid";

/// A program and where its own files are.
struct Installation {
    /// The program, with what starts it before it.
    words: Vec<PathBuf>,
    /// The folder with `sbin`, `share` and `lib` in it.
    base: PathBuf,
}

/// Says that a test is left out and why, whether or not what tests print is shown.
pub fn skipped(test: &str, why: impl std::fmt::Display) {
    let line = format!("test {test} is skipped: {why}\n");
    std::io::stderr().write_all(line.as_bytes()).unwrap();
}

/// A server whose accounts are those that it is made with. It ends with the value.
pub struct RealMysql {
    keeper: Child,
    folder: TempDir,
    port: u16,
}

impl RealMysql {
    /// Starts one with further options.
    ///
    /// # Errors
    /// Why there is none, as a sentence.
    pub fn start(options: &[&str]) -> Result<Self, String> {
        let installation = Installation::find()?;
        // Not too long for a socket's path.
        let folder = tempfile::tempdir().unwrap();
        let data = folder.path().join("data");
        let said = fs::File::create(folder.path().join("made")).unwrap();
        let made = installation
            .server(&data)
            .arg("--initialize-insecure")
            .stderr(said)
            .status()
            .unwrap();
        assert!(
            made.success(),
            "{}",
            fs::read_to_string(folder.path().join("made")).unwrap()
        );
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let log = fs::File::create(folder.path().join("log")).unwrap();
        let mut server = installation.server(&data);
        server
            .arg(format!("--socket={}", folder.path().join("s").display()))
            .arg(format!("--port={port}"))
            .args([
                "--bind-address=127.0.0.1",
                "--mysqlx=OFF",
                "--innodb-buffer-pool-size=64M",
            ])
            .args(options);
        let keeper = Command::new("bash")
            .args([OsStr::new("-c"), OsStr::new(KEEP_UP), OsStr::new("keeper")])
            .arg(folder.path().join(PID))
            .arg(server.get_program())
            .args(server.get_args())
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(log)
            .spawn()
            .unwrap();
        let mut started = Self { keeper, folder, port };
        let begun = Instant::now();
        while started.root().connect().is_err() {
            let ended = started.keeper.try_wait().unwrap();
            assert!(
                ended.is_none() && begun.elapsed() < PATIENCE,
                "{}",
                fs::read_to_string(started.folder.path().join("log")).unwrap()
            );
            std::thread::sleep(Duration::from_millis(100));
        }
        Ok(started)
    }

    /// As root, on the unix socket.
    pub fn root(&self) -> ConnectionInfo {
        ConnectionInfo::resolve(&self.address(), &|_| None).unwrap()
    }

    /// The same as an address.
    pub fn address(&self) -> String {
        let socket = self.folder.path().join("s");
        format!("mysql://root@localhost/mysql?socket={}", socket.display())
    }

    /// A shell command that has the server end in good order, after which it is started again.
    pub fn restart_command(&self) -> String {
        format!("kill $(cat {})", self.folder.path().join(PID).display())
    }

    /// With this log-in over TCP, in a database that all may read.
    pub fn over_tcp(&self, login: &str, parameters: &str) -> ConnectionInfo {
        let address = format!(
            "mysql://{login}@127.0.0.1:{}/information_schema?{parameters}",
            self.port
        );
        ConnectionInfo::resolve(&address, &|_| None).unwrap()
    }
}

impl Drop for RealMysql {
    fn drop(&mut self) {
        // Its data goes, too. What ends so is not started again.
        let pid = fs::read_to_string(self.folder.path().join(PID)).unwrap_or_default();
        if let Some(pid) = pid.trim().parse().ok().and_then(Pid::from_raw) {
            let _ = kill_process(pid, Signal::KILL);
        }
        let _ = self.keeper.wait();
    }
}

impl Installation {
    fn find() -> Result<Self, String> {
        let version = Command::new(SYSTEM).arg("--version").output();
        if version.is_ok_and(|output| !String::from_utf8_lossy(&output.stdout).contains("MariaDB")) {
            return Ok(Self {
                words: vec![SYSTEM.into()],
                base: "/usr".into(),
            });
        }
        Self::unpacked()
    }

    /// Unpacks one unless that was done.
    fn unpacked() -> Result<Self, String> {
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock().unwrap_or_else(PoisonError::into_inner);
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("mysql");
        let root = folder.join("root");
        if !root.exists() {
            let unpacked = Command::new("bash").arg(UNPACK).arg(&folder).output();
            let unpacked = unpacked.map_err(|error| format!("no MySQL can be unpacked: {error}"))?;
            if !unpacked.status.success() {
                let said = String::from_utf8_lossy(&unpacked.stderr).into_owned();
                return Err(format!("no MySQL can be unpacked: {}", said.trim()));
            }
        }
        // The system's libraries are older.
        let libraries = root.join("usr/lib/x86_64-linux-gnu");
        Ok(Self {
            words: vec![
                libraries.join("ld-linux-x86-64.so.2"),
                "--library-path".into(),
                libraries,
                root.join("usr/sbin/mysqld"),
            ],
            base: root.join("usr"),
        })
    }

    /// The server with what it needs in any case.
    fn server(&self, data: &Path) -> Command {
        let [program, words @ ..] = &self.words[..] else {
            panic!("a program is always named");
        };
        let option = |name: &str, value: &Path| format!("--{name}={}", value.display());
        // Without option files it would not read what it has kept for its next start either.
        let options = data.with_extension("cnf");
        fs::write(&options, "").unwrap();
        let mut command = Command::new(program);
        command
            .args(words)
            .arg(option("defaults-file", &options))
            .arg(option("datadir", data))
            .arg(option("basedir", &self.base))
            .arg(option("lc-messages-dir", &self.base.join("share/mysql")))
            .arg(option("character-sets-dir", &self.base.join("share/mysql/charsets")))
            .arg(option("plugin-dir", &self.base.join("lib/mysql/plugin")))
            .arg("--secure-file-priv=NULL")
            .stdin(Stdio::null());
        if is_root() {
            command.arg("--user=root");
        }
        command
    }
}

/// Whether this is root, who has to say that a server is to run as root.
fn is_root() -> bool {
    use std::os::unix::fs::MetadataExt;
    fs::metadata("/proc/self").is_ok_and(|own| own.uid() == 0)
}
