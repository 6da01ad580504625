//! The words of the command line, with passwords kept out of the process list.
//!
//! Whoever may list processes sees their command lines. If one of our words holds a password, the program starts
//! itself again in its own place under a command line that hides it. The true words wait in memory that has no name
//! anywhere; it is closed once they are read, so that no process started later inherits them, as it would an
//! environment.

#[cfg(not(target_os = "linux"))]
use crate::say;
use dyno_target::target::words_without_secrets;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{Seek, Write};
use std::os::fd::{OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;

/// What the memory is called in the list of our open files.
const MEMORY: &str = "dyno-arguments";

/// The words as they were typed, the program's name first.
pub fn arguments() -> Vec<OsString> {
    let shown: Vec<OsString> = std::env::args_os().collect();
    if let Some(typed) = concealed(&shown) {
        return typed;
    }
    let words: Option<Vec<String>> = shown.iter().map(|word| word.to_str().map(str::to_owned)).collect();
    // Words that are not text hold no password that we could find.
    let Some(words) = words else { return shown };
    let hidden = words_without_secrets(&words);
    if hidden != words
        && let Ok(memory) = keep(&words)
        && let (Ok(program), [name, rest @ ..]) = (std::env::current_exe(), hidden.as_slice())
    {
        // Comes back only if it fails; then the run is worth more than the concealment.
        let _ = Command::new(program).arg0(name).args(rest).exec();
        drop(memory);
    }
    shown
}

/// Memory that stays open when the program starts itself again.
fn keep(words: &[String]) -> std::io::Result<File> {
    let mut memory = File::from(memory()?);
    serde_json::to_writer(&memory, words)?;
    memory.flush()?;
    memory.rewind()?;
    Ok(memory)
}

#[cfg(target_os = "linux")]
fn memory() -> std::io::Result<OwnedFd> {
    Ok(rustix::fs::memfd_create(MEMORY, rustix::fs::MemfdFlags::empty())?)
}

#[cfg(not(target_os = "linux"))]
fn memory() -> std::io::Result<OwnedFd> {
    say::aside(
        "note: others on this machine can read the password in the list of processes, which dyno prevents on Linux \
         only; give it by PGPASSWORD, MYSQL_PWD or an option file instead",
    );
    Err(std::io::ErrorKind::Unsupported.into())
}

/// The true words behind `shown`, if they were kept for us.
fn concealed(shown: &[OsString]) -> Option<Vec<OsString>> {
    // Otherwise nothing was hidden.
    shown.iter().find(|word| word.to_string_lossy().contains("***"))?;
    let path = fs::read_dir("/proc/self/fd").ok()?.flatten().find_map(|entry| {
        let target = fs::read_link(entry.path()).ok()?;
        let name = target.to_string_lossy().into_owned();
        name.starts_with(&format!("/memfd:{MEMORY}")).then(|| entry.path())
    })?;
    let text = fs::read(&path).ok();
    let descriptor: RawFd = path.file_name()?.to_str()?.parse().ok()?;
    nix::unistd::close(descriptor).ok()?;
    let words: Vec<String> = serde_json::from_slice(&text?).ok()?;
    // Words that somebody else left open do not fit.
    let fits = words_without_secrets(&words)
        .iter()
        .zip(shown)
        .all(|(word, shown)| word.as_str() == shown);
    (fits && words.len() == shown.len()).then(|| words.into_iter().map(OsString::from).collect())
}
