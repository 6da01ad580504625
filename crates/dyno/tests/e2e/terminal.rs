//! What a person at a terminal sees: one line that changes, and the summary.

use crate::support::{Desk, database};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;

/// A terminal of the usual size: the side of the screen, and what programs open.
fn terminal() -> (File, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: 120,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&screen, size).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let side = File::options().read(true).write(true).open(path).unwrap();
    (File::from(screen), side)
}

#[test]
fn one_line_that_changes_and_then_the_summary() {
    let (desk, database) = (Desk::new(), database("e2e_terminal"));
    desk.experiment("line.toml", "", "select 1;", "2s");
    let (mut screen, side) = terminal();
    let mut command = desk.command_on(&database.target(), ["line.toml"]);
    command
        .stdout(side.try_clone().unwrap())
        .stderr(side)
        .env("TERM", "xterm");
    let mut child = command.spawn().unwrap();
    // With the last handle of the program's side gone, reading ends when the program does.
    drop(command);
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    assert!(child.wait().unwrap().success());
    let text = String::from_utf8(bytes).unwrap();
    // Drawn again and again in place, never as lines of their own.
    assert!(text.matches(" tps ").count() > 3, "{text}");
    let lines: Vec<&str> = text.split("\r\n").collect();
    let summary = lines
        .iter()
        .position(|line| line.contains("transactions in 2.0 s"))
        .unwrap();
    let before = lines[..summary].join("|");
    assert!(
        before.contains("Settling") && before.contains("Connecting 1 client"),
        "{before}"
    );
    assert!(summary <= 3, "{before}");
    assert!(text.contains("(complete)"), "{text}");
}
