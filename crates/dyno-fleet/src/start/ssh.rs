//! Agents on other machines, by OpenSSH: with the user's own configuration, keys and agent, and nothing else. No
//! password is asked for. The program of this dyno is copied into the user's cache folder there, under the hash of its
//! content, so that both ends are the same; a copy that is there already is used again.

use super::process::Process;
use super::{Channel, StartError};
use dyno_engine::Stop;
use dyno_text::one_line;
use rustix::fs::{OFlags, fcntl_getfl, fcntl_setfl};
use rustix::process::{Pid, Signal, kill_process_group};
use sha2::{Digest, Sha256};
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::Duration;

/// More of what a host says is not kept.
const MOST_SAID_BYTES: usize = 1 << 16;

/// How often it is looked whether an ssh has ended.
const LOOK: Duration = Duration::from_millis(5);

/// What an answer begins with. Whatever stands before it is not of the script.
const ANSWER: &str = "dyno finds: ";

/// What ssh is told beside the user's configuration: to ask nobody, and to give up after a while.
const OPTIONS: [&str; 7] = [
    "-T",
    "-oBatchMode=yes",
    "-oConnectTimeout=10",
    "-oServerAliveInterval=5",
    "-oServerAliveCountMax=6",
    "-oEscapeChar=none",
    // One that is there already serves; none is begun that would outlast dyno.
    "-oControlMaster=no",
];

/// Starts an agent on a host with the program `dyno`, of which this is the hash. A raised `stop` ends the waiting.
pub(super) fn start(host: &str, dyno: &Path, hash: &str, stop: &Stop) -> Result<Channel, StartError> {
    let doing = "looking for its copy of dyno";
    let (theirs, is_there) = answer(host, &run(ssh(host, &look(hash)), host, doing, stop)?)?;
    let ours = machine();
    if theirs != ours {
        return Err(StartError::OtherMachine {
            host: host.to_owned(),
            theirs: one_line(&theirs, 80),
            ours,
        });
    }
    if !is_there {
        let file = File::open(dyno).map_err(unusable(dyno))?;
        let size = file.metadata().map_err(unusable(dyno))?.len();
        let mut command = ssh(host, &copy(hash, size));
        command.stdin(file);
        run(command, host, "copying dyno", stop)?;
    }
    Process::spawn(ssh(host, &format!("{}exec \"$f\" agent", place(hash)))).map_err(StartError::NoSsh)
}

/// What the machine is, and whether the copy is there.
fn answer(host: &str, said: &str) -> Result<(String, bool), StartError> {
    let host = host.to_owned();
    let found = said.rsplit_once(ANSWER).and_then(|(before, answer)| {
        let (machine, copy) = answer.lines().next()?.rsplit_once(' ')?;
        Some((before.trim(), machine.to_owned(), copy == "there"))
    });
    match found {
        Some(("", machine, is_there)) => Ok((machine, is_there)),
        Some((before, ..)) => Err(StartError::Greeting {
            host,
            said: one_line(before, 80),
        }),
        None => Err(StartError::There {
            host,
            doing: "looking for its copy of dyno",
            said: format!("it answered {:?}", one_line(said, 200)),
        }),
    }
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
        // The terminal is dyno's.
        .stdin(Stdio::null())
        .arg("--")
        .arg(host)
        .arg(format!("exec sh -c '{script}'"));
    command
}

/// Says where the copy is.
fn place(hash: &str) -> String {
    format!("d=\"${{XDG_CACHE_HOME:-$HOME/.cache}}/dyno/agents\"; f=\"$d/{hash}\"; ")
}

/// Says what the machine is, and whether the copy is there: who finds another program in its place would be told
/// everything that the load needs.
fn look(hash: &str) -> String {
    let place = place(hash);
    format!(
        "{place}if test -e \"$d\" && ! test -O \"$d\"; then echo \"$d belongs to somebody else\" >&2; exit 1; fi; \
         if test -d \"$f\"; then echo \"$f is a folder\" >&2; exit 1; fi; w=missing; \
         if test -x \"$f\"; then s=$(sha256sum < \"$f\") && test \"${{s%% *}}\" = {hash} && w=there; fi; \
         echo \"{ANSWER}$(uname -sm) $w\""
    )
}

/// Takes the copy from the standard input: a whole one, or none.
fn copy(hash: &str, size: u64) -> String {
    let place = place(hash);
    format!(
        "{place}umask 077; mkdir -p \"$d\" && chmod 700 \"$d\" && t=\"$f.$$\" && \
         trap \"rm -f \\\"\\$t\\\"\" EXIT && cat > \"$t\" && \
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
        match file.read(&mut chunk).map_err(unusable(dyno))? {
            0 => return Ok(hex::encode(digest.finalize())),
            read => digest.update(&chunk[..read]),
        }
    }
}

/// Runs a command to its end, or until `stop` is raised, and gives what it has written.
fn run(mut command: Command, host: &str, doing: &'static str, stop: &Stop) -> Result<String, StartError> {
    // In a process group of its own: keys that stop dyno are for dyno alone, which ends it then.
    command.stdout(Stdio::piped()).stderr(Stdio::piped()).process_group(0);
    let mut child = command.spawn().map_err(StartError::NoSsh)?;
    let mut heard = [
        Heard::of(child.stdout.take().map(OwnedFd::from)).map_err(StartError::NoSsh)?,
        Heard::of(child.stderr.take().map(OwnedFd::from)).map_err(StartError::NoSsh)?,
    ];
    let status = ended(&mut child, &mut heard, stop)?;
    let [stdout, stderr] = heard.map(|heard| heard.bytes);
    if status.success() {
        return Ok(String::from_utf8_lossy(&stdout).into_owned());
    }
    let host = host.to_owned();
    let said = match one_line(&String::from_utf8_lossy(&[stderr, stdout].concat()), 300) {
        said if said.is_empty() => status.to_string(),
        // A sentence goes on after it.
        said => said.trim_end_matches('.').to_owned(),
    };
    // Any other code is that of the script.
    Err(match status.code() {
        Some(255) | None => StartError::Ssh { host, doing, said },
        Some(_) => StartError::There { host, doing, said },
    })
}

/// What a stream has said. Who was started by ssh may hold it open for longer than ssh is there, so nobody waits for
/// its end: what ssh itself has written is there when it has ended.
struct Heard {
    stream: Option<File>,
    bytes: Vec<u8>,
}

impl Heard {
    fn of(stream: Option<OwnedFd>) -> io::Result<Self> {
        if let Some(stream) = &stream {
            fcntl_setfl(stream, fcntl_getfl(stream)? | OFlags::NONBLOCK)?;
        }
        Ok(Self {
            stream: stream.map(File::from),
            bytes: Vec::new(),
        })
    }

    /// Takes what is there. Who writes more than is kept is heard, so as not to be kept waiting.
    fn listen(&mut self) {
        let mut chunk = [0; 1 << 16];
        // So much at a time: a raised stop is looked for in between.
        for _ in 0..16 {
            let read = match self.stream.as_mut().map(|stream| stream.read(&mut chunk)) {
                Some(Ok(read @ 1..)) => read,
                Some(Err(error)) if error.kind() == ErrorKind::Interrupted => 0,
                _ => return,
            };
            let room = MOST_SAID_BYTES.saturating_sub(self.bytes.len());
            self.bytes.extend_from_slice(&chunk[..read.min(room)]);
        }
    }
}

/// How a child ended by itself, with what it said; a raised `stop` ends it.
fn ended(child: &mut Child, heard: &mut [Heard], stop: &Stop) -> Result<ExitStatus, StartError> {
    loop {
        let ended = child.try_wait().map_err(StartError::NoSsh)?;
        heard.iter_mut().for_each(Heard::listen);
        if let Some(status) = ended {
            return Ok(status);
        }
        if stop.requested() {
            // With what it has started to get there. Who has ended needs no end.
            let _ = kill_process_group(Pid::from_child(child), Signal::KILL);
            let _ = child.wait();
            return Err(StartError::Stopped);
        }
        std::thread::sleep(LOOK);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;
    use std::process::Output;
    use std::time::Instant;

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
        let found = |script: &str| answer("b", &said(script)).unwrap();
        let program = b"#!/bin/sh\necho $1\n";
        let hash = hex::encode(Sha256::digest(program));
        let copy = |bytes: &[u8]| {
            let script = super::copy(&hash, program.len() as u64);
            at_home(home.path(), &script, bytes).status.success()
        };
        assert_eq!(found(&look(&hash)), (machine(), false));
        // The connection broke on the way.
        assert!(!copy(b"#!/bin/sh\n"));
        assert_eq!(found(&look(&hash)), (machine(), false));
        let folder = home.path().join(".cache/dyno/agents");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 0);
        assert!(copy(program));
        assert_eq!(found(&look(&hash)), (machine(), true));
        assert_eq!(said(&format!("{}exec \"$f\" agent", place(&hash))), "agent");
        // Another program in its place is none.
        std::fs::write(folder.join(&hash), b"#!/bin/sh\necho no\n").unwrap();
        assert_eq!(found(&look(&hash)), (machine(), false));
        assert!(copy(program));
        assert_eq!(found(&look(&hash)), (machine(), true));
        std::fs::remove_file(folder.join(&hash)).unwrap();
        std::fs::create_dir(folder.join(&hash)).unwrap();
        assert!(!at_home(home.path(), &look(&hash), b"").status.success());
        assert!(
            ![look("a"), super::copy("a", 1), place("a")]
                .iter()
                .any(|script| script.contains('\''))
        );
    }

    #[test]
    fn what_a_shell_says_before_the_answer_is_not_of_it() {
        let said = |text: &str| answer("b", text).unwrap_err().to_string();
        assert_eq!(
            said(&format!("Welcome to b\nHave fun {ANSWER}Linux x86_64 there\n")),
            "the shell of b prints text before what it executes (Welcome to b Have fun): take it out of its start-up \
             files for shells that are not interactive (scp and rsync fail there as well)"
        );
        assert!(said("Only SFTP here.\n").contains("it answered \"Only SFTP here.\""));
        let with_blanks = format!("\n{ANSWER}Linux x86_64 missing\nbye\n");
        assert_eq!(answer("b", &with_blanks).unwrap(), ("Linux x86_64".to_owned(), false));
    }

    #[test]
    fn nobody_waits_for_who_stays_behind() {
        let mut command = Command::new("sh");
        command.args(["-c", "sleep 60 & echo done; echo why >&2"]);
        let begun = Instant::now();
        let stop = Stop::new();
        assert_eq!(run(command, "b", "looking", &stop).unwrap(), "done\n");
        assert!(begun.elapsed() < Duration::from_secs(30));
        let mut endless = Command::new("sh");
        endless.args(["-c", "head -c 10000000 /dev/zero"]);
        assert_eq!(run(endless, "b", "looking", &stop).unwrap().len(), MOST_SAID_BYTES);
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
