//! What docs/ci.md tells pipelines to do: its files and commands as they stand there, on real servers.

use crate::support::{Desk, Ended, Home, database_alone, database_unreserved};
use std::fs;
use std::path::Path;
use std::process::Command;

const DOCUMENT: &str = include_str!("../../../../docs/ci.md");

/// The first block in this language after these words, as it stands.
fn block(after: &str, language: &str) -> String {
    let rest = &DOCUMENT[DOCUMENT.find(after).unwrap()..];
    let rest = rest.split_once(&format!("```{language}\n")).unwrap().1;
    rest.split_once("```\n").unwrap().0.to_owned()
}

/// The scripts of a workflow: what stands after `|`, indented.
fn scripts(workflow: &str) -> Vec<String> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let lines: Vec<&str> = workflow.lines().collect();
    let begins = (0..lines.len()).filter(|&place| lines[place].ends_with('|'));
    let script = |place: usize| {
        let within = indent(lines[place + 1]);
        let own = lines[place + 1..].iter().take_while(|line| indent(line) >= within);
        own.map(|line| line[within..].to_owned() + "\n").collect()
    };
    begins.map(script).collect()
}

/// The one with which dyno is called.
fn script_of(workflow: &str) -> String {
    let mut scripts = scripts(workflow).into_iter();
    scripts.find(|script| script.contains("dyno versus ")).unwrap()
}

/// Runs a script as a pipeline does: by bash, until a command fails.
fn pipeline(desk: &Desk, script: &str, environment: &[(&str, &Path)]) -> Ended {
    let dyno = Path::new(env!("CARGO_BIN_EXE_dyno")).parent().unwrap();
    let path = format!("{}:{}", dyno.display(), std::env::var("PATH").unwrap());
    let mut command = desk.command(["--version"]);
    let cleared: Vec<_> = command
        .get_envs()
        .map(|(name, value)| (name.to_owned(), value.map(ToOwned::to_owned)))
        .collect();
    command = Command::new("bash");
    command
        .args(["-e", "-c", script])
        .current_dir(desk.path())
        .env("PATH", path);
    for (name, value) in cleared {
        match value {
            Some(value) => command.env(name, value),
            None => command.env_remove(name),
        };
    }
    command.envs(environment.iter().copied());
    Ended::of(&mut command)
}

fn read(desk: &Desk, file: &str) -> String {
    fs::read_to_string(desk.path().join(file)).unwrap()
}

fn git(desk: &Desk, words: &[&str]) -> String {
    let who = ["-c", "user.name=ci", "-c", "user.email=ci@localhost"];
    let ended = Command::new("git")
        .args(who)
        .args(words)
        .current_dir(desk.path())
        .output()
        .unwrap();
    assert!(ended.status.success(), "{ended:?}");
    String::from_utf8(ended.stdout).unwrap().trim().to_owned()
}

#[test]
fn two_commits_of_a_schema() {
    let (desk, home) = (Desk::new(), Home::new());
    let commit = |sql: &str| {
        desk.file("schema.sql", sql);
        git(&desk, &["add", "schema.sql"]);
        git(&desk, &["commit", "-q", "-m", "schema"]);
        git(&desk, &["rev-parse", "HEAD"])
    };
    git(&desk, &["init", "-q"]);
    let base = commit("create table orders (id int, customer int, total int);\n");
    commit("create table orders (id int, customer int, total int);\ncreate index on orders (customer);\n");
    fs::create_dir(desk.path().join("bench")).unwrap();
    desk.file("bench/orders.toml", &block("`bench/orders.toml`", "toml"));

    let script = script_of(&block("## Two commits of a schema", "yaml"));
    let environment = [("BASE", Path::new(&base)), ("DYNO_HOME", home.path())];
    let ended = pipeline(&desk, &script, &environment)
        .expect(0)
        .shows("schema = head is ")
        .shows(" % faster than schema = base on orders (");
    let report = fs::read_to_string(desk.path().join(ended.ends_with_report())).unwrap();
    assert!(report.contains(" faster than schema = base on orders ("));
    assert!(
        read(&desk, "dyno.md").contains("**schema = head is "),
        "{}",
        read(&desk, "dyno.md")
    );
    assert!(read(&desk, "dyno.xml").contains("skipped=\"0\" failures=\"0\" errors=\"0\""));
    home.assert_no_server();
}

#[test]
fn two_builds_of_a_server() {
    let desk = Desk::new();
    let (base, head) = (database_alone("e2e_ci_base"), database_unreserved("e2e_ci_head"));
    // A build that has lost its indexes.
    for way in ["enable_indexscan", "enable_indexonlyscan", "enable_bitmapscan"] {
        head.execute(&format!("alter database e2e_ci_head set {way} = off"));
    }
    let mut file = block("`bench/builds.toml`", "toml");
    for (port, database) in [("5433", &base), ("5434", &head)] {
        let there = format!("postgres://postgres@127.0.0.1:{port}/postgres");
        assert!(file.contains(&there));
        file = file.replace(&there, &database.target());
    }
    fs::create_dir(desk.path().join("bench")).unwrap();
    desk.file("bench/builds.toml", &file);

    let script = script_of(&block("## Two builds of a server", "yaml"));
    let ended = pipeline(&desk, &script, &[]).expect(3);
    ended.says("error: worse by at least 5 %: build = head is ");
    let checks = read(&desk, "dyno.xml");
    assert!(
        checks.contains("failures=\"1\" errors=\"0\"") && checks.contains("<failure message=\"−"),
        "{checks}"
    );
    let summary = read(&desk, "dyno.md");
    assert!(
        summary.contains("| throughput | −") && summary.contains(" | failed |"),
        "{summary}"
    );
}

#[test]
fn the_command_for_two_campaigns_is_understood() {
    let desk = Desk::new();
    let script = format!(
        "BASELINE=one CAMPAIGN=other\n{}",
        block("The same with campaigns", "sh")
    );
    pipeline(&desk, &script, &[])
        .expect(1)
        .says("there is no campaign \"one\" in archive");
}

#[test]
fn where_no_file_can_be_written_nothing_is_measured() {
    let desk = Desk::new();
    desk.experiment("one.toml", "", "select 1;", "300ms");
    desk.dyno("versus one.toml --set clients=1,2 --junit missing/dyno.xml")
        .expect(1)
        .says("there is no folder missing to write to");
    fs::create_dir(desk.path().join("here")).unwrap();
    desk.dyno("versus one.toml --set clients=1,2 --markdown here")
        .expect(1)
        .says("cannot write here: it is a folder; name a file in it");
    assert!(!desk.archive().exists());
}
