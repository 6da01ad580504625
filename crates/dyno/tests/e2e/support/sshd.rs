//! Servers of OpenSSH with keys of their own, and an `ssh` that finds them by name.

use super::{temporary, wait_for};
use std::fs;
use std::net::{SocketAddr, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const SSHD: &str = "/usr/sbin/sshd";

/// The servers. Dropped, they are killed; their sessions end when their clients do.
pub struct Ssh {
    folder: TempDir,
    servers: Vec<Child>,
}

impl Ssh {
    /// Keys and an `ssh`; `None`, and a word why, without a server of OpenSSH's on this machine.
    pub fn new() -> Option<Self> {
        if !Path::new(SSHD).exists() {
            assert!(std::env::var_os("DYNO_REQUIRE_SSHD").is_none(), "{SSHD} is missing");
            eprintln!("not tested: {SSHD} is missing");
            return None;
        }
        let ssh = Self {
            folder: temporary("sshd-"),
            servers: Vec::new(),
        };
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &ssh.path(key)])
                .status();
            assert!(made.unwrap().success());
        }
        // OpenSSH looks for its settings in the home of the user's entry, whatever HOME says.
        fs::create_dir(ssh.path("bin")).unwrap();
        ssh.before("");
        fs::create_dir(ssh.cache()).unwrap();
        // Where sshd separates its privileges; who may not make it has it already.
        let _ = fs::create_dir_all("/run/sshd");
        Some(ssh)
    }

    /// Has `ssh` do this first, with its words as a shell's.
    pub fn before(&self, first: &str) {
        let script = format!(
            "#!/bin/sh\n{first}\nexec /usr/bin/ssh -F {} \"$@\"\n",
            self.path("config")
        );
        fs::write(self.path("bin/ssh"), script).unwrap();
        fs::set_permissions(self.path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
    }

    fn path(&self, name: &str) -> String {
        self.folder.path().join(name).display().to_string()
    }

    /// Starts a server that listens there, by a launcher such as `ip netns exec`, with these variables for whom logs
    /// in.
    pub fn serve(&mut self, launcher: &[String], at: SocketAddr, variables: &[(&str, String)]) {
        let variables: String = variables
            .iter()
            .map(|(name, value)| format!(" {name}={value}"))
            .collect();
        let settings = format!(
            "Port {}\nListenAddress {}\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nMaxStartups 100\nSetEnv \
             XDG_CACHE_HOME={} TMPDIR={}{variables}\n",
            at.port(),
            at.ip(),
            self.path("host_key"),
            self.path("user_key.pub"),
            self.path("cache"),
            self.path("cache"),
        );
        let file = self.path(&format!("sshd_config-{}", self.servers.len()));
        fs::write(&file, settings).unwrap();
        let mut words = launcher.to_vec();
        words.extend([SSHD, "-D", "-e", "-f", &file].map(str::to_owned));
        let mut command = Command::new(&words[0]);
        command.args(&words[1..]).stderr(Stdio::null());
        self.servers.push(command.spawn().unwrap());
        wait_for("sshd", || TcpStream::connect(at).is_ok());
    }

    /// Has `ssh` find the server at an address by a name.
    pub fn name(&self, name: &str, at: SocketAddr) {
        let known = fs::read_to_string(self.path("config")).unwrap_or_default();
        let entry = format!(
            "Host {name}\nHostName {}\nPort {}\nIdentityFile {}\nIdentitiesOnly yes\nStrictHostKeyChecking no\n\
             UserKnownHostsFile {}\nLogLevel ERROR\n",
            at.ip(),
            at.port(),
            self.path("user_key"),
            self.path("known"),
        );
        fs::write(self.path("config"), known + &entry).unwrap();
    }

    /// A command that calls this `ssh`.
    pub fn for_command(&self, command: &mut Command) {
        let path = std::env::var("PATH").unwrap();
        command.env("PATH", format!("{}:{path}", self.path("bin")));
    }

    /// Where those who log in keep what they cache, and what is temporary.
    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    /// The names of all files there: those of the copies of dyno.
    pub fn copies(&self) -> Vec<String> {
        let mut folders = vec![self.cache()];
        let mut names = Vec::new();
        while let Some(folder) = folders.pop() {
            for item in fs::read_dir(folder).into_iter().flatten() {
                let item = item.unwrap();
                match item.path().is_dir() {
                    true => folders.push(item.path()),
                    false => names.push(item.file_name().to_string_lossy().into_owned()),
                }
            }
        }
        names
    }

    /// Removes the copies.
    pub fn forget_copies(&self) {
        // There may be none yet.
        let _ = fs::remove_dir_all(self.cache().join("dyno"));
    }
}

impl Drop for Ssh {
    fn drop(&mut self) {
        for server in &mut self.servers {
            let _ = server.kill();
            let _ = server.wait();
        }
    }
}
