//! A password leaves by no way: not by the process list, the environment of what dyno starts, the screen, or the
//! archive.

use crate::support::{Desk, Ended, database, database_alone, temporary};
use std::fs;
use std::os::unix::fs::PermissionsExt;

/// In nothing else that could be found, nor on the command line of another test, which the process list shows for
/// the moment before it is hidden.
const CANARY: &str = "C4n4ry-0f-th3-Mine";

/// The canary with every character encoded.
fn encoded() -> String {
    CANARY.bytes().map(|byte| format!("%{byte:02X}")).collect()
}

#[test]
fn no_process_and_no_file_tells_it() {
    let (desk, database) = (Desk::new(), database("e2e_secrets"));
    database.role("e2e_secrets", CANARY);
    let (port, name, encoded) = (database.port(), database.name(), encoded());
    let spied = temporary("spy-");
    let report = spied.path().join("report");
    // All command lines there are, and what a process that dyno starts inherits.
    desk.file(
        "spy.sh",
        &format!(
            "#!/bin/sh\n{{ cat /proc/[0-9]*/cmdline; cat /proc/self/environ /proc/$PPID/environ; \
             ls -l /proc/self/fd; }} > {} 2>/dev/null\necho 1\n",
            report.display()
        ),
    );
    let spy = desk.path().join("spy.sh");
    fs::set_permissions(&spy, PermissionsExt::from_mode(0o755)).unwrap();
    desk.file("spy.sql", &format!("\\setshell x {}\nselect :x;\n", spy.display()));
    desk.experiment("one.toml", "", "select 1;", "200ms");
    for address in [
        format!("postgres://e2e_secrets:{CANARY}@127.0.0.1:{port}/{name}"),
        format!("postgres://e2e_secrets:{encoded}@127.0.0.1:{port}/{name}"),
        format!("postgres://127.0.0.1:{port}/{name}?user=e2e_secrets&passwor%64={CANARY}"),
        format!("postgresql://127.0.0.1:{port}/{name}?%70assword={encoded}&user=e2e_secrets"),
        format!("host=127.0.0.1 port={port} user=e2e_secrets dbname={name} password = '{CANARY}'"),
        format!("password={CANARY} host=127.0.0.1 port={port} user=e2e_secrets dbname={name}"),
    ] {
        let archive = format!("--archive={}", desk.archive().display());
        let words = [
            "pgbench",
            "-n",
            "-t",
            "1",
            "-f",
            "spy.sql",
            "--archive",
            &archive,
            &address,
        ];
        let ended = Ended::of(&mut desk.command(words)).expect(0);
        let seen = String::from_utf8_lossy(&fs::read(&report).unwrap()).into_owned();
        fs::remove_file(&report).unwrap();
        assert!(seen.contains("***") && seen.contains("spy.sql"), "{seen}");
        assert!(!seen.contains("dyno-arguments"), "the true words are inherited: {seen}");
        let run = desk.on(&address, ["one.toml"]).expect(0);
        let plan = Ended::of(&mut desk.command(["run", "one.toml", "--dry-run", "--target", &address])).expect(0);
        for text in [
            &seen,
            &ended.stdout,
            &ended.stderr,
            &run.stdout,
            &run.stderr,
            &plan.stdout,
            &plan.stderr,
        ] {
            assert!(!text.contains(CANARY) && !text.contains(&encoded), "{address}: {text}");
        }
    }
    for words in ["list", "show"] {
        let shown = desk.dyno(words).expect(0);
        assert!(!shown.stdout.contains(CANARY), "{}", shown.stdout);
    }
    desk.assert_nowhere(CANARY);
    desk.assert_nowhere(&encoded);
}

/// Neither while the command runs nor when it fails; and what was hidden is not taken for the command later.
#[test]
fn a_restart_command_keeps_it() {
    const CANARY: &str = "R3st4rt-C4n4ry";
    let (desk, database) = (Desk::new(), database_alone("e2e_restart_secret"));
    desk.experiment("one.toml", "", "select 1;", "200ms");
    let address = format!("https://ann:{CANARY}@db.example/restart");
    let command = format!("cat /proc/[0-9]*/cmdline > seen; echo no answer from {address} >&2; exit 1");
    let words = ["one.toml", "--set", "settings.max_worker_processes=9", "--repeat", "2"];
    let ended = desk.alone_on(
        &database.target(),
        words.into_iter().chain(["--restart-command", &command]),
    );
    let ended = ended
        .expect(2)
        .shows("no answer from https://ann:***@db.example/restart");
    assert!(
        !ended.stdout.contains(CANARY) && !ended.stderr.contains(CANARY),
        "{ended:?}"
    );
    desk.assert_nowhere(CANARY);

    desk.alone_on(&database.target(), ["--resume"])
        .expect(1)
        .says("https://ann:***@db.example/restart")
        .says("Give it again with --restart-command");
    desk.alone_on(
        &database.target(),
        ["--resume", "--restart-command", "echo never mind; exit 1"],
    )
    .expect(2)
    .shows("never mind");
}

#[test]
fn a_slip_of_the_finger_does_not_tell_it() {
    const CANARY: &str = "An0ther-C4n4ry";
    let desk = Desk::new();
    desk.experiment("one.toml", "", "select 1;", "200ms");
    for address in [
        format!("postgre://ann:{CANARY}@127.0.0.1:1/d"),
        format!("postgres:/ann:{CANARY}@127.0.0.1:1/d"),
        format!("postgres//ann:{CANARY}@127.0.0.1:1/d"),
        format!("ann:{CANARY}@127.0.0.1:1/d"),
        format!("postgres://ann:{CANARY}/d"),
        format!("postgres://ann:{CANARY}127.0.0.1:1/d"),
        format!("postgres://127.0.0.1:1/d?pasword={CANARY}"),
        format!("postgres://127.0.0.1:1/dpassword={CANARY}"),
        format!("postgres://127.0.0.1:1/d?{CANARY}"),
        format!("postgres://ann:%zz{CANARY}@127.0.0.1:1/d"),
        format!("host=127.0.0.1 port=1 password=with {CANARY}"),
        format!("host=127.0.0.1 port=1 password=with a={CANARY}"),
        format!("host=127.0.0.1 port=1 password='{CANARY}"),
        format!("host=127.0.0.1 port=1 pasword={CANARY}"),
        format!("host=127.0.0.1 port=1 sslpassword={CANARY}"),
        format!("host=127.0.0.1 port=1 scram_client_key={CANARY}"),
        format!("dbname=postgres://ann:{CANARY}@127.0.0.1:1/d"),
        format!("host=127.0.0.1 port=1 dbname='postgres://ann:{CANARY}@127.0.0.1:1/d'"),
        format!("host=127.0.0.1 port=1 dbname=postgres%3A%2F%2Fann%3A{CANARY}%40127.0.0.1"),
        format!("postgres://127.0.0.1:1/postgres%3A%2F%2Fann%3A{CANARY}%40127.0.0.1"),
    ] {
        desk.file(
            "bad.toml",
            &format!("title = \"t\"\n[server]\ntarget = \"{address}\"\nno = 1\n"),
        );
        let option = format!("--targt={address}");
        for words in [
            &["run", "one.toml", "--target", &address][..],
            &["run", "one.toml", "--dry-run", "--target", &address],
            &["run", "one.toml", &option],
            &["run", "one.toml", &address],
            &["run", "bad.toml"],
            &["pgbench", "-n", "-t", "1", &address],
            &["pgbench", "-n", "-t", "1", "one", &address],
            &["pgbench", "-c", &address],
        ] {
            let ended = Ended::of(&mut desk.command(words));
            assert_ne!(ended.code, None);
            let said = format!("{}{}", ended.stdout, ended.stderr);
            assert!(!said.contains(CANARY), "{words:?}: {said}");
            let plans = words.contains(&"--dry-run");
            assert!(plans || ended.code == Some(1), "{words:?}: {said}");
        }
    }
    let address = format!("postgres://ann:{CANARY}@127.0.0.1:1/d");
    let option = format!("--archive={address}");
    let mut by_variable = desk.command(["list"]);
    by_variable.env("DYNO_ARCHIVE", &address);
    for mut command in [
        by_variable,
        desk.command(["list", "--archive", &address]),
        desk.command(["run", "one.toml", &option]),
        desk.command(["pgbench", "-n", "-t", "1", &option]),
    ] {
        let ended = Ended::of(&mut command).expect(1);
        let said = format!("{}{}", ended.stdout, ended.stderr);
        assert!(
            said.contains("folder") && said.contains("address of a database"),
            "{said}"
        );
        assert!(!said.contains(CANARY), "{command:?}: {said}");
    }
    if desk.archive().exists() {
        desk.assert_nowhere(CANARY);
    }
}
