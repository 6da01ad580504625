//! Load hosts that are reached by ssh: a server of OpenSSH's on a free port, with keys of its own. Without such a
//! server the cases say so and pass; `DYNO_REQUIRE_SSHD=1` turns its absence into a failure.

use crate::support::{Desk, Ended, Home, is_alive, run_folders, temporary, wait_for};
use std::fs;
use std::net::{TcpListener, TcpStream};
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use tempfile::TempDir;

const SSHD: &str = "/usr/sbin/sshd";

/// The server, and an ssh that finds it under the names b and c.
struct Sshd {
    folder: TempDir,
    server: Child,
}

impl Sshd {
    fn start() -> Option<Self> {
        if !Path::new(SSHD).exists() {
            assert!(std::env::var_os("DYNO_REQUIRE_SSHD").is_none(), "{SSHD} is missing");
            eprintln!("not tested: {SSHD} is missing");
            return None;
        }
        let folder = temporary("sshd-");
        let path = |name: &str| folder.path().join(name).display().to_string();
        for key in ["host_key", "user_key"] {
            let made = Command::new("ssh-keygen")
                .args(["-q", "-t", "ed25519", "-N", "", "-f", &path(key)])
                .status();
            assert!(made.unwrap().success());
        }
        let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
        let settings = format!(
            "Port {port}\nListenAddress 127.0.0.1\nHostKey {}\nAuthorizedKeysFile {}\nStrictModes no\nUsePAM no\n\
             PasswordAuthentication no\nPermitRootLogin yes\nPidFile none\nSetEnv XDG_CACHE_HOME={}\n",
            path("host_key"),
            path("user_key.pub"),
            path("cache"),
        );
        fs::write(path("sshd_config"), settings).unwrap();
        let config = format!(
            "Host b c\nHostName 127.0.0.1\nPort {port}\nIdentityFile {}\nIdentitiesOnly yes\nStrictHostKeyChecking no\n\
             UserKnownHostsFile {}\nLogLevel ERROR\n",
            path("user_key"),
            path("known"),
        );
        fs::write(path("config"), config).unwrap();
        // OpenSSH looks for its settings in the home of the user's entry, whatever HOME says.
        fs::create_dir(path("bin")).unwrap();
        let ssh = format!("#!/bin/sh\nexec /usr/bin/ssh -F {} \"$@\"\n", path("config"));
        fs::write(path("bin/ssh"), ssh).unwrap();
        fs::set_permissions(path("bin/ssh"), fs::Permissions::from_mode(0o755)).unwrap();
        // Where it separates its privileges; who may not make it has it already.
        let _ = fs::create_dir_all("/run/sshd");
        let mut command = Command::new(SSHD);
        command
            .args(["-D", "-e", "-f", &path("sshd_config")])
            .stderr(Stdio::null());
        let server = command.spawn().unwrap();
        let sshd = Self { folder, server };
        wait_for("sshd", || TcpStream::connect(("127.0.0.1", port)).is_ok());
        Some(sshd)
    }

    /// `dyno run` with this ssh.
    fn run(&self, desk: &Desk, home: &Home, words: &str) -> Ended {
        let path = std::env::var("PATH").unwrap();
        let mut command = desk.command_embedded(home, words);
        Ended::of(command.env("PATH", format!("{}:{path}", self.folder.path().join("bin").display())))
    }

    /// The copies of dyno.
    fn copies(&self) -> Vec<String> {
        let items = fs::read_dir(self.folder.path().join("cache/dyno/agents"));
        let items = items.into_iter().flatten();
        items
            .map(|item| item.unwrap().file_name().to_string_lossy().into_owned())
            .collect()
    }

    /// Whether any copy is executed.
    fn is_used(&self) -> bool {
        let folder = self.folder.path().join("cache");
        let all = fs::read_dir("/proc").unwrap();
        let mut all = all.filter_map(|item| item.ok()?.file_name().to_str()?.parse::<u32>().ok());
        all.any(|pid| {
            is_alive(pid) && fs::read_link(format!("/proc/{pid}/exe")).is_ok_and(|exe| exe.starts_with(&folder))
        })
    }
}

impl Drop for Sshd {
    fn drop(&mut self) {
        let _ = self.server.kill();
        let _ = self.server.wait();
    }
}

#[test]
fn other_hosts_get_a_copy_and_drive_their_part() {
    let Some(sshd) = Sshd::start() else { return };
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-select --set rows=1000 --set warmup=0s --set measure=1s --set clients=6 --hosts b,local,c";
    sshd.run(&desk, &home, words).expect(0).shows("Load by host");
    let runs = run_folders(&desk.archive());
    let record = runs[0].record();
    let hosts = record["load_hosts"].as_array().unwrap();
    let places: Vec<_> = hosts.iter().map(|host| host["place"].as_str().unwrap()).collect();
    assert_eq!(places, ["b", "local", "c"]);
    assert!(
        hosts.iter().all(|host| host["transactions"].as_u64().unwrap() > 0),
        "{hosts:?}"
    );
    let copies = sshd.copies();
    assert_eq!(copies.len(), 1, "{copies:?}");
    // It is used again.
    sshd.run(&desk, &home, words).expect(0);
    assert_eq!(sshd.copies(), copies);
    wait_for("the end of the agents", || !sshd.is_used());
}

#[test]
fn what_ssh_says_is_told() {
    let Some(sshd) = Sshd::start() else { return };
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-select --hosts nobody@b";
    let ended = sshd.run(&desk, &home, words).expect(1);
    ended
        .says("load host b: ssh to nobody@b failed")
        .says("Try: ssh nobody@b true");
    assert_eq!(run_folders(&desk.archive()).len(), 0);
}
