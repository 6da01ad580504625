//! Servers by address: every way to name one, and what dyno does and does not do on a server that is not its own.

use crate::support::{Desk, Ended, Running, TINY, database, run_folders};
use rustix::process::Signal;
use std::fs;
use std::io::Write;
use std::net::TcpListener;
use std::os::unix::fs::PermissionsExt;

const SECRET: &str = "s3cr3t-Pa55word";

fn tiny(name: &str) -> Vec<&str> {
    std::iter::once(name)
        .chain(TINY)
        .chain(["--set", "clients=2"])
        .collect()
}

#[test]
fn named_in_every_way_and_no_password_is_told() {
    let (desk, database) = (Desk::new(), database("e2e_named"));
    database.role("e2e_named", SECRET);
    let (port, name) = (database.port(), database.name());
    let uri = format!("postgres://e2e_named:{SECRET}@127.0.0.1:{port}/{name}");
    let conninfo = format!("host=127.0.0.1 port={port} user=e2e_named dbname={name} password='{SECRET}'");
    let without = format!("postgres://e2e_named@127.0.0.1:{port}/{name}");
    let command = |target: &str| desk.command_on(target, tiny("pk-select"));
    let mut by_variables = command("postgres://");
    by_variables
        .env("PGHOST", "127.0.0.1")
        .env("PGPORT", port.to_string())
        .env("PGUSER", "e2e_named")
        .env("PGDATABASE", name)
        .env("PGPASSWORD", SECRET);
    desk.file(".pgpass", &format!("# mine\n127.0.0.1:{port}:*:e2e_named:{SECRET}\n"));
    let pgpass = desk.path().join(".pgpass");
    fs::set_permissions(&pgpass, PermissionsExt::from_mode(0o600)).unwrap();
    for mut command in [command(&uri), command(&conninfo), by_variables, command(&without)] {
        let ended = Ended::of(&mut command).expect(0);
        assert!(
            !ended.stdout.contains(SECRET) && !ended.stderr.contains(SECRET),
            "{ended:?}"
        );
    }
    let shown = desk.dyno("show").expect(0).shows("postgres://e2e_named@127.0.0.1");
    assert!(!shown.stdout.contains(SECRET));
    assert_eq!(run_folders(&desk.archive()).len(), 4);
    desk.assert_nowhere(SECRET);

    // Nor does the process list tell it, while the true one is used.
    desk.experiment("listed.toml", "", "select 1;", "1h");
    let mut running = Running::start(desk.command_on(&uri, ["listed.toml"]));
    running.until(" tps ");
    let listed = fs::read_to_string(format!("/proc/{}/cmdline", running.pid())).unwrap();
    assert!(
        listed.contains("e2e_named:***@") && !listed.contains(SECRET),
        "{listed}"
    );
    running.signal(Signal::INT);
    running.end().expect(2);

    // A password file that others can read is left alone, as psql does.
    fs::set_permissions(&pgpass, PermissionsExt::from_mode(0o644)).unwrap();
    Ended::of(&mut command(&without))
        .expect(1)
        .says("asks for a password and none is given");
    fs::remove_file(&pgpass).unwrap();
    Ended::of(&mut command(&without))
        .expect(1)
        .says("asks for a password and none is given");
    let wrong = uri.replace(SECRET, "another-secret");
    let ended = Ended::of(&mut command(&wrong))
        .expect(1)
        .says("password authentication failed");
    assert!(!ended.stderr.contains("another-secret"), "{}", ended.stderr);
    let nosuch = uri.replace(&format!("{port}/{name}"), &format!("{port}/nosuch"));
    Ended::of(&mut command(&nosuch))
        .expect(1)
        .says("create the database nosuch");
    let tls = format!("{uri}?sslmode=require");
    Ended::of(&mut command(&tls))
        .expect(1)
        .says("sslmode=require needs TLS, and the server does not offer it");
    assert_eq!(run_folders(&desk.archive()).len(), 5);
}

#[test]
fn an_ordinary_role_on_a_database_in_use() {
    let (desk, database) = (Desk::new(), database("e2e_ordinary"));
    database.role("e2e_ordinary", SECRET);
    database.execute(
        "create table public.tbl (id int, info text); insert into public.tbl values (1, 'mine');
         create schema e2e; create table e2e.t as select 1 as a",
    );
    let target = format!(
        "postgres://e2e_ordinary:{SECRET}@127.0.0.1:{}/{}",
        database.port(),
        database.name()
    );
    let first = desk.on(&target, tiny("pk-update")).expect(0);
    // What the role may not do is left out, and said.
    let first = first.says("Loading tbl").shows("checkpoint");
    first.shows("shared_buffers");
    assert_eq!(database.value("select count(*) from dyno_pk_update.tbl"), "1000");
    assert_eq!(database.value("select info from public.tbl"), "mine");
    assert_eq!(
        database.value("select n_tup_upd + n_tup_del from pg_stat_user_tables where schemaname = 'public'"),
        "0"
    );
    // Data that was worked on is made anew, data that was only read is not.
    desk.on(&target, tiny("pk-update")).expect(0).says("Loading tbl");
    desk.on(&target, tiny("pk-select")).expect(0).says("Loading tbl");
    let again = desk
        .on(&target, tiny("pk-select"))
        .expect(0)
        .says("Using the loaded data");
    assert!(!again.stderr.contains("Loading"), "{}", again.stderr);
    let schemas = "select string_agg(nspname, ' ' order by nspname) from pg_namespace where nspname !~ '^(pg_|info)'";
    assert_eq!(database.value(schemas), "dyno_pk_select dyno_pk_update e2e public");
    for run in run_folders(&desk.archive()) {
        assert_eq!(run.measured(), run.summed_up());
    }
}

#[test]
fn a_schema_of_that_name_that_is_not_ours() {
    let (desk, database) = (Desk::new(), database("e2e_foreign"));
    database
        .execute("create schema dyno_pk_insert; create table dyno_pk_insert.tbl (id serial primary key, info text)");
    let ended = desk
        .on(&database.target(), ["pk-insert", "--set", "measure=1s"])
        .expect(1);
    ended.says("schema \"dyno_pk_insert\" exists, but was not made by dyno");
    assert_eq!(database.value("select count(*) from dyno_pk_insert.tbl"), "0");
    assert_eq!(run_folders(&desk.archive()).len(), 0);
}

#[test]
fn more_clients_than_connections() {
    let (desk, database) = (Desk::new(), database("e2e_many"));
    let ended = desk
        .on(
            &database.target(),
            ["pk-insert", "--set", "clients=200", "--set", "measure=1s"],
        )
        .expect(1);
    ended.says("max_connections").says("--set clients=");
}

#[test]
fn servers_that_are_none() {
    let desk = Desk::new();
    // One accepts and is silent, one speaks something else.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    for sslmode in ["disable", "prefer"] {
        let target = format!("postgres://u@127.0.0.1:{port}/d?connect_timeout=2&sslmode={sslmode}");
        desk.on(&target, tiny("pk-select"))
            .expect(1)
            .says("no answer within the time allowed")
            .says("whether the server stands still");
    }
    // Who waits for longer is told so.
    for target in [
        format!("postgres://u@127.0.0.1:{port}/d?connect_timeout=8&sslmode=disable"),
        format!("mysql://u@127.0.0.1:{port}/d?ssl-mode=disabled"),
    ] {
        desk.alone_on(&target, tiny("pk-select"))
            .expect(1)
            .says("Waiting for the server…");
    }
    let other = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = other.local_addr().unwrap().port();
    let speaker = std::thread::spawn(move || {
        let (mut connection, _) = other.accept().unwrap();
        connection.write_all(b"220 mail.example ESMTP\r\n").unwrap();
    });
    let target = format!("postgres://u@127.0.0.1:{port}/d?sslmode=disable");
    let ended = desk.on(&target, tiny("pk-select")).expect(1);
    ended.says("check that a PostgreSQL server runs there");
    speaker.join().unwrap();
    assert!(!desk.archive().exists());
}
