//! What dyno says when it is asked for something that cannot be: no server is needed to see that, and none is
//! started. The snapshots are the screens as a person sees them.

use crate::support::{Desk, Ended};
use std::net::TcpListener;

/// What a command leaves on the screen, with its exit code.
fn screen(words: &str, ended: &Ended) -> String {
    format!(
        "$ dyno {words}\n{}{}[exit code {}]\n\n",
        ended.stdout,
        ended.stderr,
        ended.code.unwrap()
    )
}

fn screens(desk: &Desk, commands: &[&str]) -> String {
    let screens = commands.iter().map(|words| screen(words, &desk.dyno(words)));
    screens
        .collect::<String>()
        .replace(&desk.path().display().to_string(), "DESK")
}

#[test]
fn experiments_that_are_not_right() {
    let desk = Desk::new();
    desk.file("broken.toml", "title = \"x\n[[workload]]\n");
    desk.file(
        "key.toml",
        "title = \"x\"\n\n[[workload]]\ncleints = 3\nscript = \"select 1;\"\n",
    );
    desk.experiment("syntax.toml", "", "select 1;\n\\set id random(1,", "1s");
    desk.experiment("command.toml", "", "\\foo 1", "1s");
    desk.file("script.sql", "select 1;\n\\set x 1 +* 2\n");
    desk.file(
        "file.toml",
        "title = \"x\"\n\n[[workload]]\nscript_file = \"script.sql\"\n",
    );
    desk.file(
        "nofile.toml",
        "title = \"x\"\n\n[[workload]]\nscript_file = \"none.sql\"\n",
    );
    insta::assert_snapshot!(screens(
        &desk,
        &[
            "run pk-updte",
            "run qwertz",
            "run none.toml",
            "run broken.toml",
            "run key.toml",
            "run syntax.toml",
            "run command.toml",
            "run file.toml",
            "run nofile.toml",
        ],
    ));
    assert!(!desk.archive().exists());
}

#[test]
fn arguments_that_are_not_right() {
    let desk = Desk::new();
    insta::assert_snapshot!(screens(
        &desk,
        &[
            "run",
            "walk",
            "run pk-update --size huge",
            "run pk-update --repeat 0",
            "run pk-insert --set cleints=1",
            "run pk-insert --set clients",
            "run pk-insert --set clients=none",
            "run pk-insert --set measure=soon",
            "run pk-insert --set protocol=carrier-pigeon",
            "run pk-insert --set rate=-1",
            "run pk-insert --target embedded:latest",
            "run pk-insert --target bogus=1",
            "run pk-insert --target postgres://user:secret@host:port/db",
            "show nothing",
            "show",
            "list",
        ],
    ));
    assert!(!desk.archive().exists());
}

#[test]
fn servers_that_are_not_there() {
    let desk = Desk::new();
    // Bound but not listening: nobody else gets the port, and nothing answers there.
    let port = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let text = screens(
        &desk,
        &[
            &format!("run pk-insert --target postgres://u:secret@127.0.0.1:{port}/d"),
            "run pk-insert --target postgres://u@%2Fnowhere/d",
            "run pk-insert --target postgres://u@nowhere.invalid/d",
        ],
    );
    let text = text.replace(&port.to_string(), "PORT").replace("secret@", "***@");
    // The resolver's words are the system's.
    let text: Vec<&str> = text
        .lines()
        .map(|line| line.split_once(" (failed to lookup").map_or(line, |(before, _)| before))
        .collect();
    insta::assert_snapshot!(text.join("\n"));
    assert!(!desk.archive().exists());
}

#[test]
fn an_archive_that_cannot_be_written() {
    let desk = Desk::new();
    desk.file("archive", "a file in the folder's place");
    // It is said at once, before a server is fetched, started or connected to.
    insta::assert_snapshot!(screens(
        &desk,
        &["run pk-insert", "run pk-insert --archive archive/below", "list", "show"],
    ));
}

#[test]
fn a_dry_run_tells_and_does_nothing() {
    let desk = Desk::new();
    insta::assert_snapshot!(screens(
        &desk,
        &[
            "run pk-update --dry-run --size full",
            "run pk-insert --dry-run --set clients=2 --set threads=1 --set measure=3m --set rate=100 --set \
             shared_buffers=1GB",
        ],
    ));
    assert!(!desk.archive().exists() && !desk.path().join("no-home").exists());
}

#[test]
fn experiments_are_listed() {
    insta::assert_snapshot!(screens(&Desk::new(), &["list experiments"]));
}

/// What would stop a run before or in the midst of its load is told when it is planned, with a server or without.
#[test]
fn what_only_a_run_would_meet_is_told_beforehand() {
    let desk = Desk::new();
    let told = |name: &str, head: &str, script: &str, expected: &str| {
        let file = format!("{name}.toml");
        let text = format!("title = \"x\"\n{head}\n[[workload]]\nscript = '''\n{script}\n'''\n");
        desk.file(&file, &text);
        for words in [format!("run {file} --dry-run"), format!("run {file}")] {
            desk.dyno(&words).expect(1).says(expected);
        }
    };
    let setting = "[server.settings]\nmax_parallel_workers = \"cores / 0\"";
    told("size", setting, "select 1;", "\"cores / 0\" is not a size");
    let target = |target: &str| format!("[server]\ntarget = \"{target}\"");
    told(
        "version",
        &target("embedded:42"),
        "select 1;",
        "there is no PostgreSQL 42",
    );
    told("scheme", &target("db2://x"), "select 1;", "db2:// is not supported");
    told(
        "variable",
        "",
        "select :rowz;",
        "variable.toml:5:8: nothing sets the variable \":rowz\"",
    );
    told("set", "", "\\set x random(1,\nselect 1;", "set.toml:5:");
    let setup = "[data]\nsetup = \"create table x (a int);\\n\\\\set x 1\"";
    told("meta", setup, "select 1;", "only SQL statements can be here");
    told(
        "metric",
        "[metrics]\nshare = \"{tps} > 0\"",
        "select 1;",
        "the metric \"share\" has no value: it cannot be calculated: it is not a number",
    );
    let several = "[factors]\n\"settings.work_mem\" = [\"1MB\", \"memory / x\"]";
    told("cell", several, "select 1;", "\"memory / x\" is not a size");
    for device in ["/dev/zero", "fifo.toml"] {
        if device == "fifo.toml" {
            let made = std::process::Command::new("mkfifo")
                .arg(desk.path().join(device))
                .status();
            assert!(made.unwrap().success());
        }
        desk.dyno(&format!("run {device} --dry-run"))
            .expect(1)
            .says("not a regular file");
    }
    desk.file(
        "script.toml",
        "title = \"x\"\n[[workload]]\nscript_file = \"fifo.toml\"\n",
    );
    desk.dyno("run script.toml").expect(1).says("not a regular file");
    assert!(!desk.archive().exists());
}

#[test]
fn an_option_that_is_a_value_of_the_experiment_is_told() {
    let desk = Desk::new();
    let said = |words: &str| desk.dyno(words).expect(1).stderr;
    for (words, hint) in [
        ("run pk-select --clients 5", "'--set clients=5'"),
        ("versus pk-select --set target=a,b --duration=2m", "'--set measure=2m'"),
        ("capacity pk-select --threads", "'--set threads=…'"),
    ] {
        let error = said(words);
        assert!(
            error.contains(&format!("a value of the experiment is set with {hint}")),
            "{error}"
        );
        assert!(!error.contains("a similar argument"), "{error}");
    }
    assert!(said("run pk-select --targt x").contains("a similar argument exists: '--target'"));
    desk.dyno("--help").expect(0).shows("Exit codes:").shows("DYNO_HOME");
}
