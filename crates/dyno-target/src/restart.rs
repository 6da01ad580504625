//! Restarting a server that is not ours, by the command that its owner gave.

use std::io::{Read, Seek, Write};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

/// How long a server may take to accept connections after the command has ended.
const LIMIT: Duration = Duration::from_secs(120);

const POLL: Duration = Duration::from_millis(100);

/// Runs the command with the shell and waits for the new server; else says why there is none. `is_new` is whether the
/// server that takes connections was started since the command was, so long ago, or why none takes any.
pub(crate) fn restart(command: &str, is_new: &mut dyn FnMut(Duration) -> Result<bool, String>) -> Result<(), String> {
    let begun = Instant::now();
    run(command)?;
    let ended = Instant::now();
    loop {
        let failure = match is_new(begun.elapsed()) {
            Ok(true) => return Ok(()),
            Ok(false) => "it succeeded, but the server was not restarted".to_owned(),
            Err(error) => format!("the server does not accept connections afterwards: {error}"),
        };
        if ended.elapsed() > LIMIT {
            return Err(failure);
        }
        std::thread::sleep(POLL);
    }
}

/// The shell reads the command from memory of ours, so that the list of processes does not show it: it may hold a
/// password. The output goes to a file: a server started by the command may keep it open for good.
fn run(command: &str) -> Result<(), String> {
    let failed = |error: std::io::Error| format!("it cannot be run: {error}");
    let (_kept, path) = script(command).map_err(failed)?;
    let mut output = tempfile::tempfile().map_err(failed)?;
    let status = Command::new("/bin/sh")
        .arg(&path)
        .stdin(Stdio::null())
        .stdout(output.try_clone().map_err(failed)?)
        .stderr(output.try_clone().map_err(failed)?)
        .status()
        .map_err(failed)?;
    if status.success() {
        return Ok(());
    }
    let mut bytes = Vec::new();
    // What it said is an addition: without it the status has to do.
    let _ = output.rewind().and_then(|()| output.read_to_end(&mut bytes));
    let text = String::from_utf8_lossy(&bytes).replace(&path, "sh");
    Err(format!("{status}: {}", text.trim()).trim_end_matches(": ").to_owned())
}

/// A file that nobody else sees, and its path, which is good for as long as the file is kept.
fn script(command: &str) -> std::io::Result<(impl Write, String)> {
    let (mut script, path) = private_file()?;
    // Whoever presses Ctrl-C means dyno: a restart that ended half-way would leave no server at all.
    script.write_all(b"trap '' HUP INT QUIT; ")?;
    script.write_all(command.as_bytes())?;
    Ok((script, path))
}

/// It is nowhere, and the processes we start do not inherit it.
#[cfg(target_os = "linux")]
fn private_file() -> std::io::Result<(impl Write, String)> {
    use std::os::fd::AsRawFd;
    let flags = rustix::fs::MemfdFlags::CLOEXEC;
    let file = std::fs::File::from(rustix::fs::memfd_create("dyno-restart", flags)?);
    let path = format!("/proc/{}/fd/{}", std::process::id(), file.as_raw_fd());
    Ok((file, path))
}

/// It can be read by our user alone.
#[cfg(not(target_os = "linux"))]
fn private_file() -> std::io::Result<(impl Write, String)> {
    let file = tempfile::NamedTempFile::new()?;
    let path = file.path().display().to_string();
    Ok((file, path))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn says_how_the_command_failed() {
        assert_eq!(run("true"), Ok(()));
        let error = run("echo no such service >&2; exit 3").unwrap_err();
        assert!(error.contains("3") && error.ends_with("no such service"), "{error}");
        assert_eq!(run("exit 1").unwrap_err(), "exit status: 1");
        assert_eq!(run("kill -INT $$; sh -c 'kill -INT $$; kill -HUP $$'"), Ok(()));
    }

    #[test]
    fn the_command_is_in_no_list_of_processes() {
        // What `ps` shows, of the shell and of all others.
        let error = run("password=s3cret-0f-ps; cat /proc/[0-9]*/cmdline; exit 1").unwrap_err();
        assert!(!error.contains("s3cret-0f-ps"), "{error}");
    }
}
