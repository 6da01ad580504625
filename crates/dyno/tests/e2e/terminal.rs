//! What a person at a terminal sees: one line that changes, and the summary.

use crate::support::{Desk, Ended, database};
use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{Winsize, tcsetwinsize};
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::process::Command;

/// A terminal with so many columns: the side of the screen, and what programs open.
fn terminal(columns: u16) -> (File, File) {
    let screen = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
    grantpt(&screen).unwrap();
    unlockpt(&screen).unwrap();
    let name = ptsname(&screen, Vec::new()).unwrap();
    let size = Winsize {
        ws_row: 24,
        ws_col: columns,
        ws_xpixel: 0,
        ws_ypixel: 0,
    };
    tcsetwinsize(&screen, size).unwrap();
    let path = std::path::Path::new(std::ffi::OsStr::from_bytes(name.as_bytes()));
    let side = File::options().read(true).write(true).open(path).unwrap();
    (File::from(screen), side)
}

/// Whether a program succeeded, and all that it showed.
fn shown(mut command: Command, screen: &mut File) -> (bool, String) {
    let mut child = command.spawn().unwrap();
    // With the last handle of the program's side gone, reading ends when the program does.
    drop(command);
    let mut bytes = Vec::new();
    let mut buffer = [0; 4096];
    while let Ok(count @ 1..) = screen.read(&mut buffer) {
        bytes.extend_from_slice(&buffer[..count]);
    }
    (child.wait().unwrap().success(), String::from_utf8(bytes).unwrap())
}

#[test]
fn nobody_elses_text_moves_the_cursor() {
    let (desk, database) = (Desk::new(), database("e2e_escapes"));
    let text = "\u{1b}[2J\u{1b}]0;gotcha\u{7}";
    desk.file(
        "raise.sql",
        &format!("do $$ begin raise warning '{text}'; end $$;\nselect \"{text}\";\n"),
    );
    desk.experiment(
        "raise.toml",
        "",
        &format!("select \\\"{text}\\\";")
            .replace('\u{1b}', "\\u001b")
            .replace('\u{7}', ""),
        "200ms",
    );
    let target = database.target();
    let name = format!("nosuch{text}.sql");
    for (words, written_out) in [
        (
            &["pgbench", "-n", "-t", "1", "-f", "raise.sql", &target][..],
            "\\x1b]0;gotcha",
        ),
        (&["pgbench", "-n", "-t", "1", "-f", &name, &target], "\\x1b]0;gotcha"),
        (&["run", "raise.toml", "--target", &target], "[2J"),
        (&["run", &name], "\\x1b]0;gotcha"),
    ] {
        let (mut screen, side) = terminal(120);
        let mut command = desk.command(words);
        command.stdout(side.try_clone().unwrap()).stderr(side);
        let (succeeded, text) = shown(command, &mut screen);
        assert!(!succeeded && text.contains(written_out), "{words:?}: {text:?}");
        assert!(
            !text.contains("\u{1b}[2J") && !text.contains("\u{1b}]"),
            "{words:?}: {text:?}"
        );
    }
    // A file gets what pgbench writes.
    let words = ["pgbench", "-n", "-t", "1", "-f", "raise.sql", &target];
    let ended = Ended::of(&mut desk.command(words));
    assert!(ended.stderr.contains(text), "{}", ended.stderr);
}

#[test]
fn one_line_that_changes_and_then_the_summary() {
    let (desk, database) = (Desk::new(), database("e2e_terminal"));
    desk.experiment("line.toml", "", "select 1;", "2s");
    let (mut screen, side) = terminal(120);
    let mut command = desk.command_on(&database.target(), ["line.toml"]);
    command
        .stdout(side.try_clone().unwrap())
        .stderr(side)
        .env("TERM", "xterm");
    let (succeeded, text) = shown(command, &mut screen);
    assert!(succeeded);
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

/// What is left on a screen: of each line what was drawn last, without what moves the cursor.
fn left(text: &str) -> Vec<String> {
    let lines = text.split("\r\n").map(|line| {
        let last = line
            .rsplit('\r')
            .find(|part| !console::strip_ansi_codes(part).trim().is_empty());
        console::strip_ansi_codes(last.unwrap_or_default())
            .trim_end()
            .to_owned()
    });
    lines.collect()
}

#[test]
fn four_runs_fit_a_screen_of_80_columns() {
    let (desk, database) = (Desk::new(), database("e2e_terminal_80"));
    desk.experiment("four.toml", "", "select 1;", "500ms");
    let words = ["four.toml", "--set", "clients=1,2", "--repeat", "2"];
    let (mut screen, side) = terminal(80);
    let mut command = desk.command_on(&database.target(), words);
    command
        .stdout(side.try_clone().unwrap())
        .stderr(side)
        .env("TERM", "xterm");
    let (succeeded, text) = shown(command, &mut screen);
    assert!(succeeded, "{text}");
    let lines = left(&text);
    let report = lines
        .iter()
        .rposition(|line| line.starts_with("The report is "))
        .unwrap();
    assert!(lines[report + 1..].iter().all(String::is_empty), "{lines:#?}");
    assert!(lines.len() <= 41, "{lines:#?}");
    // Only a path may be longer.
    let wide = |line: &&String| line.chars().count() > 80 && line.contains(' ');
    assert!(!lines[..report].iter().any(|line| wide(&line)), "{lines:#?}");
    assert_eq!(
        lines.iter().filter(|line| line.starts_with("Run ")).count(),
        4,
        "{lines:#?}"
    );
}
