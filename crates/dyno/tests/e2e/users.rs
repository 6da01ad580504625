//! Who runs dyno: nobody special, and several at a time.

use crate::support::{Desk, Ended, Home, Running, programs, run_folders};
use rustix::process::{Signal, getuid};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::Command;

const WORDS: &str = "pk-insert --set warmup=0s --set measure=300ms";

/// Gives a folder with all that is in it to the user nobody.
fn give_away(folder: &Path) {
    let given = Command::new("chown")
        .args(["-R", "nobody"])
        .arg(folder)
        .status()
        .unwrap();
    assert!(given.success());
}

#[test]
fn without_privileges() {
    let (desk, home) = (Desk::new(), Home::empty());
    let copied = Command::new("cp")
        .arg("-a")
        .arg(programs())
        .arg(home.path())
        .status()
        .unwrap();
    assert!(copied.success());
    let mut command = desk.command_embedded(&home, WORDS);
    if getuid().is_root() {
        give_away(desk.path());
        give_away(home.path());
        let nobody = std::fs::metadata(desk.path()).unwrap();
        command.uid(std::os::unix::fs::MetadataExt::uid(&nobody)).gid(65_534);
    }
    Ended::of(&mut command).expect(0).shows("(complete)");
    home.assert_no_server();
    assert_eq!(run_folders(&desk.archive()).len(), 1);

    // A folder that others own is not written to.
    let mut command = desk.command_embedded(&home, WORDS);
    command.args(["--archive", "/proc/archive"]);
    if getuid().is_root() {
        command.uid(65_534);
    }
    Ended::of(&mut command).expect(1).says("cannot write /proc");
}

#[test]
fn two_at_a_time_take_turns() {
    let (desk, home) = (Desk::new(), Home::new());
    let mut first = Running::start(desk.command_embedded(&home, &WORDS.replace("300ms", "1h")));
    first.until(" tps ");
    let mut second = Running::start(desk.command_embedded(&home, WORDS));
    second.until(&format!("Waiting for the dyno with process id {}", first.pid()));
    let mut third = Running::start(desk.command_embedded(&home, WORDS));
    third.until("Waiting for the dyno");
    third.signal(Signal::INT);
    third.end().expect(1).says("stopped before anything was measured");
    first.signal(Signal::INT);
    first.end().expect(2);
    second.end().expect(0).shows("(complete)");
    home.assert_no_server();
}
