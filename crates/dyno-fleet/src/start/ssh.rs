//! Agents on other machines, by OpenSSH: with the user's own configuration, keys and agent, and nothing else. No
//! password is asked for. The program of this dyno is copied into the user's cache folder there, under the hash of its
//! content, so that both ends are the same; a copy that is there already is used again.

use super::process::Process;
use super::{Channel, StartError};
use dyno_text::one_line;
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io;
use std::path::Path;
use std::process::{Command, Output, Stdio};

/// What ssh is told beside the user's configuration: to ask nobody, and to give up after a while.
const OPTIONS: [&str; 6] = [
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=6",
    "-oEscapeChar=none",
];

/// Starts an agent on a host with the program `dyno`, of which this is the hash.
pub(super) fn start(host: &str, dyno: &Path, hash: &str) -> Result<Channel, StartError> {
    let found = run(ssh(host, &look(hash)), host, "looking for its copy of dyno")?;
    let (theirs, is_there) = match found.trim().rsplit_once(' ') {
        Some((machine, "there")) => (machine, true),
        Some((machine, "missing")) => (machine, false),
        _ => {
            return Err(StartError::Ssh {
                host: host.to_owned(),
                doing: "looking for its copy of dyno",
                said: format!("it answered {:?}", one_line(&found, 200)),
            });
        }
    };
    let ours = machine();
    if theirs != ours {
        return Err(StartError::OtherMachine {
            host: host.to_owned(),
            theirs: one_line(theirs, 80),
            ours,
        });
    }
    if !is_there {
        let file = File::open(dyno).map_err(unusable(dyno))?;
        let size = file.metadata().map_err(unusable(dyno))?.len();
        let mut command = ssh(host, &copy(hash, size));
        command.stdin(file);
        run(command, host, "copying dyno")?;
    }
    Process::spawn(ssh(host, &format!("{}exec \"$f\" agent", place(hash)))).map_err(StartError::NoSsh)
}

fn unusable(dyno: &Path) -> impl Fn(io::Error) -> StartError {
    move |cause| StartError::Program {
        program: dyno.to_owned(),
        cause,
    }
}

/// ssh with a script for the shell at the other end, whatever shell the user has there.
fn ssh(host: &str, script: &str) -> Command {
    let mut command = Command::new("ssh");
    // The scripts have no single quotes.
    command
        .args(OPTIONS)
        .arg("--")
        .arg(host)
        .arg(format!("exec sh -c '{script}'"));
    command
}

/// Says where the copy is.
fn place(hash: &str) -> String {
    format!("d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/dyno/agents\"; f=\"$d/{hash}\"; ")
}

/// Says what the machine is, and whether the copy is there.
fn look(hash: &str) -> String {
    let place = place(hash);
    format!("{place}if test -x \"$f\"; then w=there; else w=missing; fi; echo \"$(uname -sm) $w\"")
}

/// Takes the copy from the standard input: a whole one, or none.
fn copy(hash: &str, size: u64) -> String {
    let place = place(hash);
    format!(
        "{place}umask 077; mkdir -p \"$d\" && t=\"$f.$$\" && trap \"rm -f \\\"\\$t\\\"\" EXIT && cat > \"$t\" && \
         test \"$(wc -c < \"$t\" | tr -d \" \")\" = {size} && chmod 700 \"$t\" && mv -f \"$t\" \"$f\""
    )
}

/// What `uname -sm` says here.
fn machine() -> String {
    let system = rustix::system::uname();
    format!(
        "{} {}",
        system.sysname().to_string_lossy(),
        system.machine().to_string_lossy()
    )
}

/// The hash of the program's content.
pub(super) fn hash(dyno: &Path) -> Result<String, StartError> {
    let mut digest = Sha256::new();
    let mut file = File::open(dyno).map_err(unusable(dyno))?;
    let mut chunk = vec![0; 1 << 20];
    loop {
        match io::Read::read(&mut file, &mut chunk).map_err(unusable(dyno))? {
            0 => return Ok(hex::encode(digest.finalize())),
            read => digest.update(&chunk[..read]),
        }
    }
}

/// Runs a command to its end and gives what it has written.
fn run(mut command: Command, host: &str, doing: &'static str) -> Result<String, StartError> {
    let child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn();
    let Output { status, stdout, stderr } = child
        .and_then(std::process::Child::wait_with_output)
        .map_err(StartError::NoSsh)?;
    match status.success() {
        true => Ok(String::from_utf8_lossy(&stdout).into_owned()),
        false => Err(StartError::Ssh {
            host: host.to_owned(),
            doing,
            said: match one_line(String::from_utf8_lossy(&stderr).trim(), 300) {
                said if said.is_empty() => status.to_string(),
                said => said,
            },
        }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    /// The scripts with this shell, as if ssh had led to it.
    fn at_home(home: &Path, script: &str, input: &[u8]) -> Output {
        let mut child = Command::new("sh")
            .args(["-c", script])
            .env("HOME", home)
            .env_remove("XDG_CACHE_HOME")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        child.stdin.take().unwrap().write_all(input).unwrap();
        child.wait_with_output().unwrap()
    }

    #[test]
    fn a_copy_is_whole_or_not_there() {
        let home = tempfile::tempdir().unwrap();
        let said = |script: &str| {
            let output = at_home(home.path(), script, b"");
            String::from_utf8(output.stdout).unwrap().trim().to_owned()
        };
        let missing = format!("{} missing", machine());
        assert_eq!(said(&look("abc")), missing);
        // The connection broke on the way.
        assert!(!at_home(home.path(), &copy("abc", 20), b"#!/bin/sh\n").status.success());
        assert_eq!(said(&look("abc")), missing);
        let folder = home.path().join(".cache/dyno/agents");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        let program = b"#!/bin/sh\necho $1\n";
        assert!(
            at_home(home.path(), &copy("abc", program.len() as u64), program)
                .status
                .success()
        );
        assert_eq!(said(&look("abc")), format!("{} there", machine()));
        assert_eq!(said(&format!("{}exec \"$f\" agent", place("abc"))), "agent");
        assert!(
            ![look("a"), copy("a", 1), place("a")]
                .iter()
                .any(|script| script.contains('\''))
        );
    }

    #[test]
    fn content_is_told_apart() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("x");
        std::fs::write(&path, b"abc").unwrap();
        let expected = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(hash(&path).unwrap(), expected);
    }
}
