//! `dyno doctor`: what it says of servers with roles that may little and much, that what it says to grant is what was
//! missing, and what it says where there is no server, or another one.

use crate::mariadb::{borrowed_with, password};
use crate::support::real_mysql::{RealMysql, skipped};
use crate::support::{Desk, Ended, Home, database, wait_for};
use dyno_target::mysql::Client;
use dyno_target::postgres::embedded::{Embedded, EmbeddedOptions, Server};
use serde_json::Value;
use std::net::TcpListener;

/// What is missing may show only when something else is granted.
const ROUNDS: usize = 3;

/// The findings about a target, and whether a load can run.
fn examined(desk: &Desk, target: &str) -> (Vec<Value>, bool) {
    let ended = Ended::of(&mut desk.command(["doctor", target, "--format", "json"]));
    let page: Value = serde_json::from_str(&ended.stdout).unwrap();
    let can_run = page["can_run"].as_bool().unwrap();
    ended.expect(if can_run { 0 } else { 1 });
    (page["findings"].as_array().unwrap().clone(), can_run)
}

fn mark<'a>(findings: &'a [Value], topic: &str, subject: &str) -> &'a str {
    let found = findings
        .iter()
        .find(|finding| finding["topic"] == topic && finding["subject"] == subject);
    found.map_or("nothing", |finding| finding["mark"].as_str().unwrap())
}

/// The subjects about rights that are not as they should be.
fn lacking(findings: &[Value]) -> Vec<&str> {
    let of_rights = findings.iter().filter(|finding| finding["topic"] == "rights");
    let lacking = of_rights.filter(|finding| finding["mark"] != "ok");
    lacking.map(|finding| finding["subject"].as_str().unwrap()).collect()
}

/// What it says to type for them.
fn statements(findings: &[Value]) -> Vec<String> {
    let of_rights = findings.iter().filter(|finding| finding["topic"] == "rights");
    let commands = of_rights.filter_map(|finding| finding["commands"].as_array());
    commands
        .flatten()
        .map(|command| command.as_str().unwrap().to_owned())
        .collect()
}

/// Has `execute` do what is said about rights, until nothing is lacking.
fn grant_all(desk: &Desk, target: &str, mut execute: impl FnMut(&str)) -> Vec<Value> {
    for _ in 0..ROUNDS {
        let (findings, can_run) = examined(desk, target);
        if lacking(&findings).is_empty() {
            assert!(can_run, "{findings:?}");
            return findings;
        }
        let statements = statements(&findings);
        assert!(!statements.is_empty(), "{findings:?}");
        statements.iter().for_each(|statement| execute(statement));
    }
    panic!("still lacking: {:?}", examined(desk, target).0);
}

/// A PostgreSQL of its own, which counts statements.
fn postgres(home: &Home) -> (Embedded, Server) {
    let mut options = EmbeddedOptions::new(home.path().to_owned());
    "external".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    let settings = [("shared_preload_libraries".to_owned(), "pg_stat_statements".to_owned())];
    let server = embedded.start(&settings, &mut |_| ()).unwrap();
    (embedded, server)
}

#[test]
fn what_it_says_to_grant_on_postgresql_is_what_was_missing() {
    let (desk, home) = (Desk::new(), Home::new());
    let (_embedded, server) = postgres(&home);
    let mut superuser = server.connection("postgres").connect().unwrap();
    let prepare = "create role \"o'Ann\" login password 'hush-hush'";
    superuser.batch_execute(prepare).unwrap();
    let target = format!("postgres://o%27Ann:hush-hush@127.0.0.1:{}/postgres", server.port());
    let (findings, can_run) = examined(&desk, &target);
    assert!(!can_run);
    assert_eq!(
        lacking(&findings),
        ["data", "settings", "sessions", "statements", "checkpoint", "warm cache"]
    );
    let page = Ended::of(&mut desk.command(["doctor", &target])).expect(1);
    let page = page
        .shows("as o'Ann, by scram-sha-256, not encrypted")
        .shows("grant create on database \"postgres\" to \"o'Ann\";")
        .shows("no waits of background processes")
        .shows("No load can run as things are: there is 1 problem");
    assert!(
        !page.stdout.contains("hush-hush") && page.stderr.is_empty(),
        "{}",
        page.stderr
    );

    let findings = grant_all(&desk, &target, |statement| superuser.batch_execute(statement).unwrap());
    assert_eq!(mark(&findings, "server", "log-in"), "ok");
    // It is as it says: the role can do all that it was granted.
    desk.experiment("brief.toml", "clients = 2", "select 1;", "200ms");
    let run = desk.alone_on(&target, ["brief.toml", "--set", "settings.checkpoint_timeout=7min"]);
    let run = run.expect(0);
    assert!(!run.stdout.contains("Less is sampled"), "{}", run.stdout);
    assert!(!run.stdout.contains("checkpoint_timeout = "), "{}", run.stdout);

    let (findings, can_run) = examined(&desk, &server.connection("postgres").to_string());
    assert!(can_run && lacking(&findings).is_empty(), "{findings:?}");
    let too_many = desk.dyno(&format!("doctor {target} --clients 500")).expect(1);
    too_many.shows("the experiment needs 507 connections, but the server allows 97");
    superuser
        .batch_execute("alter role \"o'Ann\" connection limit 20")
        .unwrap();
    let limited = desk.dyno(&format!("doctor {target} --clients 20")).expect(1);
    limited.shows("this role may have 20 connections at most, dyno's own among them: too few for 20 clients");
    questionable_settings(&desk, &server);
}

/// Settings that make results questionable are said, and what it says to type sets them right.
fn questionable_settings(desk: &Desk, server: &Server) {
    let mut superuser = server.connection("postgres").connect().unwrap();
    let mut execute = |statement: &str| superuser.batch_execute(statement).unwrap();
    let target = server.connection("postgres").to_string();
    for setting in [
        "full_page_writes = off",
        "synchronous_commit = off",
        "track_counts = off",
        "log_min_duration_statement = 0",
    ] {
        execute(&format!("alter system set {setting}"));
    }
    execute("select pg_reload_conf()");
    let questionable = || {
        let (findings, can_run) = examined(desk, &target);
        assert!(can_run);
        ["durability", "counting", "overhead"].map(|subject| mark(&findings, "settings", subject).to_owned())
    };
    wait_for("the settings", || questionable() == ["note"; 3]);
    let (findings, _) = examined(desk, &target);
    for finding in findings.iter().filter(|finding| finding["topic"] == "settings") {
        let commands = finding["commands"].as_array().into_iter().flatten();
        commands.for_each(|command| execute(command.as_str().unwrap()));
    }
    // Nothing is said of what is as usual.
    wait_for("the settings", || questionable() == ["ok", "nothing", "nothing"]);
}

#[test]
fn what_it_says_to_grant_on_mariadb_is_what_was_missing() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let settings = [("performance_schema".to_owned(), "ON".to_owned())];
    let (_embedded, server) = borrowed_with(&home, &settings);
    let mut root: Client = server.connection("mysql").connect().unwrap();
    root.execute("create user 'ann'@'%' identified by 'hush-hush'").unwrap();
    let port = server.port();
    let target = format!("mysql://ann:hush-hush@127.0.0.1:{port}/information_schema");
    let (findings, can_run) = examined(&desk, &target);
    assert!(!can_run);
    assert_eq!(
        lacking(&findings),
        ["data", "settings", "sessions", "statements", "checkpoint"]
    );
    let page = desk.dyno(&format!("doctor {target}")).expect(1);
    let page = page
        .shows("as ann@%, by mysql_native_password, not encrypted")
        .shows("grant all on dyno_run.* to 'ann'@'%';")
        .shows("no waits for rows");
    assert!(
        !page.stdout.contains("hush-hush") && page.stderr.is_empty(),
        "{}",
        page.stderr
    );

    desk.dyno(&format!("doctor mysql://ann:hush-hush@127.0.0.1:{port}/mysql"))
        .expect(1)
        .shows("To do: name a database in the address that the role may use, if only information_schema");

    grant_all(&desk, &target, |statement| root.execute(statement).unwrap());
    // It is as it says: data is loaded, and settings are changed.
    let run = [
        "pk-update",
        "--set",
        "rows=1000",
        "--set",
        "warmup=0s",
        "--set",
        "measure=300ms",
    ];
    let setting = ["--set", "settings.innodb_flush_log_at_trx_commit=2"];
    let run = desk.alone_on(&target, run.into_iter().chain(setting)).expect(0);
    for missing in [
        "Less is sampled",
        "is not sampled",
        "may not set it",
        "refuses to write",
    ] {
        assert!(!run.stdout.contains(missing), "{missing}: {}", run.stdout);
    }

    root.execute("set global sync_binlog = 0, global innodb_flush_log_at_trx_commit = 0, global general_log = on")
        .unwrap();
    let as_root = format!("mysql://root:{}@127.0.0.1:{port}/mysql", password(&server));
    let (findings, can_run) = examined(&desk, &as_root);
    assert!(can_run && lacking(&findings).is_empty(), "{findings:?}");
    for subject in ["durability", "overhead"] {
        assert_eq!(mark(&findings, "settings", subject), "note");
    }
    // Another protocol at the port is told by its name.
    let other = desk
        .dyno(&format!("doctor postgres://ann:hush-hush@127.0.0.1:{port}/d"))
        .expect(1);
    other.shows("MySQL").shows("No load can run as things are");
}

#[test]
fn what_it_says_to_grant_on_mysql_is_what_was_missing() {
    const TEST: &str = "what_it_says_to_grant_on_mysql_is_what_was_missing";
    let mysql = match RealMysql::start(&["--sync-binlog=0"]) {
        Ok(mysql) => mysql,
        Err(why) => return skipped(TEST, why),
    };
    let desk = Desk::new();
    let mut root = mysql.root().connect().unwrap();
    root.execute("create user 'ann'@'%' identified by 'hush-hush'").unwrap();
    let target = mysql
        .over_tcp("ann:hush-hush", "")
        .to_string()
        .replace("ann@", "ann:hush-hush@");
    let (findings, can_run) = examined(&desk, &target);
    assert!(!can_run);
    assert_eq!(
        lacking(&findings),
        ["data", "loading", "settings", "sessions", "statements", "checkpoint"]
    );
    desk.dyno(&format!("doctor {target}"))
        .expect(1)
        .shows("as ann@%, by caching_sha2_password, encrypted by TLSv1.3")
        .shows("grant system_variables_admin on *.* to 'ann'@'%';")
        .shows("sync_binlog = 0");
    grant_all(&desk, &target, |statement| root.execute(statement).unwrap());
}

#[test]
fn servers_that_cannot_be_looked_at() {
    let (desk, database) = (Desk::new(), database("doctor"));
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let closed = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap().port();
    let (port, silent) = (database.port(), silent.local_addr().unwrap().port());
    for (target, said) in [
        (
            format!("postgres://postgres:hush-hush@127.0.0.1:{port}/postgres"),
            "password authentication failed",
        ),
        (
            format!("postgres://u:hush-hush@127.0.0.1:{closed}/d"),
            "nothing accepts connections there",
        ),
        (
            format!("postgres://u:hush-hush@127.0.0.1:{silent}/d?connect_timeout=1"),
            "no answer within the time allowed",
        ),
        (
            format!("mysql://u:hush-hush@127.0.0.1:{port}/d?ssl-mode=disabled"),
            "PostgreSQL",
        ),
        ("embedded:9.1".to_owned(), "no PostgreSQL 9.1"),
    ] {
        let ended = Ended::of(&mut desk.command(["doctor", &target])).expect(1);
        let ended = ended
            .shows(said)
            .shows("No load can run as things are: there is 1 problem")
            .shows("This machine");
        assert!(
            !ended.stdout.contains("hush-hush") && ended.stderr.is_empty(),
            "{}",
            ended.stderr
        );
    }
    desk.dyno("doctor sqlite://u:hush-hush@h/d")
        .expect(1)
        .says("is not supported");
}

#[test]
fn this_machine_alone_and_the_private_servers() {
    let (desk, home) = (Desk::new(), Home::new());
    let mut command = desk.command(["doctor"]);
    let page = Ended::of(command.env("DYNO_HOME", home.path())).expect(0);
    let page = page
        .shows("PostgreSQL 18.6.0 is there")
        .shows("MariaDB 11.4.5 is fetched when it is used first")
        .shows("A load can run");
    assert!(
        page.stdout.lines().all(|line| line.chars().count() <= 100),
        "{}",
        page.stdout
    );
    // Neither folder was made by looking.
    assert!(!desk.archive().exists() && !desk.path().join("no-home").exists());
    let mut command = desk.command(["doctor", "--archive", "/proc/archive", "--clients", "10000000"]);
    let page = Ended::of(&mut command).expect(1);
    page.shows("clients need").shows("--archive").shows("there are");
}
