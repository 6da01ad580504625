//! Standard output that takes nothing: a failure, unless nobody reads it any more.

use crate::support::{Desk, database, run_folders};
use std::fs::File;
use std::io::pipe;
use std::process::Command;

fn on_a_full_device(command: &mut Command) -> (Option<i32>, String) {
    let full = File::options().write(true).open("/dev/full").unwrap();
    let ended = command.stdout(full).output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

fn on_a_closed_pipe(command: &mut Command) -> (Option<i32>, String) {
    let (reader, writer) = pipe().unwrap();
    drop(reader);
    let ended = command.stdout(writer).output().unwrap();
    (ended.status.code(), String::from_utf8(ended.stderr).unwrap())
}

#[test]
fn results_that_cannot_be_written_are_a_failure() {
    let database = database("e2e_output");
    let desk = Desk::new();
    desk.experiment("short.toml", "", "select 1;", "300ms");
    let (code, said) = on_a_full_device(&mut desk.command_on(&database.target(), ["short.toml", "--repeat", "2"]));
    assert_eq!(code, Some(2), "{said}");
    assert!(
        said.contains("cannot write to standard output: No space left"),
        "{said}"
    );
    // What was measured is kept, and the campaign went on.
    let states: Vec<_> = run_folders(&desk.archive()).iter().map(|run| run.state()).collect();
    assert_eq!(states, ["complete", "complete"]);
    for words in [
        "--help",
        "run --help",
        "--version",
        "run pk-select --dry-run",
        "list",
        "list experiments",
        "show",
        "export",
        "export --format json",
        "report",
        "report --output - --format json",
        "report --output - --format md",
        "report --format svg",
    ] {
        let command = || desk.command(words.split_whitespace());
        let (code, said) = on_a_full_device(&mut command());
        assert_eq!(code, Some(1), "dyno {words}: {said}");
        assert!(said.contains("cannot write to standard output"), "dyno {words}: {said}");
        let (code, said) = on_a_closed_pipe(&mut command());
        assert_eq!((code, said.as_str()), (Some(0), ""), "dyno {words}");
    }
}
