//! Experiments of one's own: begun, checked, made of what a server executes; and servers to work with.

use crate::support::{Desk, Ended, Home, Running, is_alive, run_folders, wait_for};
use rustix::process::Signal;
use std::fs;
use std::path::Path;
use std::process::Command;

/// A server that counts what it executes, with a table.
const COUNTING: &str = r#"
title = "A table"
[server]
settings.shared_preload_libraries = "pg_stat_statements"
[data]
setup_file = "schema.sql"
finish     = "create extension pg_stat_statements"
[data.load.city]
file    = "city.csv"
columns = ["name", "id"]
[[workload]]
script = "select name from city where id = 1"
"#;

/// The same of a MariaDB, with a load that has its statements prepared and one that has not.
const COUNTING_MARIADB: &str = r#"
title = "A table"
[server]
target = "embedded:mariadb"
settings.performance_schema = "ON"
[data]
setup = "create table city (id int primary key, name varchar(20), people bigint)"
[data.load.city]
file = "city.csv"
[[workload]]
name     = "prepared"
protocol = "prepared"
script   = "select name from city where id = 3;"
[[workload]]
name     = "unprepared"
protocol = "simple"
script   = "select count(*), max(id) from city where id in (1, 2);"
"#;

fn desk() -> Desk {
    let desk = Desk::with("city.toml", COUNTING);
    desk.file(
        "schema.sql",
        "create table city (id int primary key, name text, people bigint);",
    );
    desk.file(
        "city.csv",
        "id,people,name\n1,3600000,Berlin\n2,,\"Fürth, Bavaria\"\n3,1,\n",
    );
    desk
}

fn at_home(desk: &Desk, home: &Home, words: &[&str]) -> Command {
    let mut command = desk.command(words);
    command.env("DYNO_HOME", home.path());
    command
}

fn dyno(desk: &Desk, home: &Home, words: &[&str]) -> Ended {
    Ended::of(&mut at_home(desk, home, words))
}

#[test]
fn a_new_experiment_is_checked_and_runs_as_it_stands() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    desk.dyno("new dyno")
        .expect(1)
        .says("is what the experiments of a folder share");
    assert!(!desk.path().join("dyno.toml").exists());
    desk.dyno("new shop")
        .expect(0)
        .shows("Wrote shop.toml, and experiment.schema.json for editors");
    desk.dyno("new shop").expect(1).says("shop.toml is there already");
    let few = ["--set", "customers=1000"];
    dyno(&desk, &home, &[&["check", "shop.toml"][..], &few].concat())
        .expect(0)
        .shows("shop.look-up: 1 statement prepared by")
        .shows("shop.place: 4 statements prepared by")
        .shows("check all-paid: 1 statement prepared by");
    let short = ["--set", "warmup=0s", "--set", "measure=1s"];
    dyno(&desk, &home, &[&["run", "shop.toml"][..], &few, &short].concat())
        .expect(0)
        .ends_with_report();
    let mariadb = ["--set", "target=embedded:mariadb"];
    dyno(
        &desk,
        &home,
        &[&["run", "shop.toml"][..], &few, &short, &mariadb].concat(),
    )
    .expect(0);
    let written = fs::read_to_string(desk.path().join("shop.toml")).unwrap();
    desk.file(
        "shop.toml",
        &written.replace("select name from customer", "select nane from customer"),
    );
    dyno(&desk, &home, &[&["check", "shop.toml"][..], &few].concat())
        .expect(1)
        .shows("shop.look-up: 1 statement prepared by")
        .shows("shop.place: REFUSED by")
        .shows("column \"nane\" does not exist")
        .says("a server refuses 1 of these");
    // So are tables to fill, and questions.
    let wrong = written
        .replace("amount <= 0", "amonut <= 0")
        .replace("[data.fill.customer]", "[data.fill.custmer]")
        .replace("{ id = \"row\", customer_id =", "{ id = \"row\", custmer_id =");
    desk.file("shop.toml", &wrong);
    for target in [&[][..], &mariadb] {
        dyno(&desk, &home, &[&["check", "shop.toml"][..], &few, target].concat())
            .expect(1)
            .shows("rows of custmer: REFUSED by")
            .shows("setup makes no table custmer; did you mean `customer`?")
            .shows("the table orders has no column custmer_id; did you mean `customer_id`?")
            .shows("check all-paid: REFUSED by")
            .says("servers refuse 3 of these");
    }
}

#[test]
fn a_script_needs_no_file() {
    let (desk, home) = (Desk::new(), Home::new());
    let words = [
        "run",
        "--script",
        "\\set id random(1, 9)\nselect :id + 1",
        "--clients",
        "3",
        "--set",
        "measure=1s",
    ];
    dyno(&desk, &home, &[&words[..], &["--set", "warmup=0s"]].concat())
        .expect(0)
        .shows("script");
    let runs = run_folders(&desk.archive());
    let record = runs[0].record();
    assert_eq!(record["summary"]["workloads"][0]["clients"], 3);
    desk.dyno("run --script").expect(1);
    desk.dyno("run pk-select --script select --clients 2")
        .expect(1)
        .says("cannot be used with");
    Ended::of(&mut desk.command(["run", "--script", " "]))
        .expect(1)
        .says("the script is empty");
}

#[test]
fn tables_are_loaded_from_files_on_both_databases() {
    let (desk, home) = (desk(), Home::with_mariadb());
    let check = "\n[[check]]\nname = \"rows\"\nsql = \"select id, name from city order by id\"\n\
                 expect = [[1, \"Berlin\"], [2, \"Fürth, Bavaria\"], [3, \"NULL\"]]\n";
    let both = "[mysql.server]\nsettings.innodb_buffer_pool_size = \"64MB\"\n[mysql.data]\nfinish = \"\"\n";
    let file = COUNTING.replace("finish     = \"create extension pg_stat_statements\"\n", "");
    let file = file.replace("settings.shared_preload_libraries = \"pg_stat_statements\"\n", "");
    let check = check
        .replace("\"NULL\"", "\"none\"")
        .replace("id, name", "id, coalesce(name, 'none')");
    desk.file("city.toml", &format!("{file}{check}{both}[postgres]\n"));
    let words = "run city.toml --set target=embedded,embedded:mariadb --set measure=1s --set warmup=0s";
    let words: Vec<&str> = words.split(' ').collect();
    dyno(&desk, &home, &words).expect(0);
    let first = run_folders(&desk.archive()).len();
    // Other rows are other data.
    desk.file("city.csv", "id,people,name\n1,1,Ulm\n");
    dyno(&desk, &home, &words).expect(2).shows("rows");
    assert_eq!((first, run_folders(&desk.archive()).len()), (2, 4));
    desk.file("city.csv", "id,people,name\n1,1\n");
    dyno(&desk, &home, &words)
        .expect(1)
        .says("city.csv, line 2: it has 2 values, and the first 3");

    // What a database refuses has its place in the file.
    desk.file(
        "city.csv",
        "id,people,name\n1,1,\"two\nlines\"\n2,1,Ulm\nthree,1,Bonn\n",
    );
    let on = |target: &str| {
        dyno(
            &desk,
            &home,
            &["run", "city.toml", "--set", &format!("target={target}")],
        )
    };
    on("embedded")
        .expect(1)
        .says("filling city failed at row 3 (")
        .says("city.csv, line 5), column id: \"three\": ERROR");
    on("embedded:mariadb")
        .expect(1)
        .says("filling city failed at rows 1 to 3 (")
        .says("city.csv, lines 2 to 5): ERROR 1366");
}

#[test]
fn a_server_stands_until_it_is_stopped_and_what_it_executes_is_captured() {
    let (desk, home) = (desk(), Home::new());
    dyno(&desk, &home, &["server", "stop"])
        .expect(1)
        .says("no server is running");
    let started = dyno(
        &desk,
        &home,
        &["server", "start", "--with", "city.toml", "--name", "cities"],
    )
    .expect(0);
    let url = started.stdout.trim().to_owned();
    assert_eq!(dyno(&desk, &home, &["server", "url"]).expect(0).stdout.trim(), url);
    dyno(&desk, &home, &["server", "start", "--name", "cities"])
        .expect(1)
        .says("cities is running already");
    let listed = dyno(&desk, &home, &["server", "list"])
        .expect(0)
        .shows("city.toml")
        .stdout;
    let password = url.split([':', '@']).nth(2).unwrap();
    assert!(password.len() > 20 && !listed.contains(password), "{listed}");

    let mut client = postgres::Client::connect(&url, postgres::NoTls).unwrap();
    let rows = client.query("select name, people from city order by id", &[]).unwrap();
    let names: Vec<Option<String>> = rows.iter().map(|row| row.get(0)).collect();
    assert_eq!(
        names,
        [Some("Berlin".to_owned()), Some("Fürth, Bavaria".to_owned()), None]
    );
    client
        .batch_execute("insert into city values (4, 'Ulm', 128000)")
        .unwrap();

    let capture = ["capture", "--target", &url, "--for", "4s", "--output", "seen.toml"];
    let capturing = Running::start(at_home(&desk, &home, &capture));
    let statement = client
        .prepare("select people from city where id = $1 and name = $2")
        .unwrap();
    while !desk.path().join("seen.toml").exists() {
        client.query(&statement, &[&1, &"Berlin"]).unwrap();
        std::thread::sleep(std::time::Duration::from_millis(20));
    }
    capturing
        .end()
        .expect(0)
        .shows("Wrote seen.toml, and experiment.schema.json for editors: 1 statement, ");
    let seen = fs::read_to_string(desk.path().join("seen.toml")).unwrap();
    assert!(
        seen.contains("\\set v1 random(1, 100000)\nselect people from city where id = :v1 and name = 'text'"),
        "{seen}"
    );
    assert!(!seen.contains(password), "{seen}");
    dyno(&desk, &home, &["check", "seen.toml", "--target", &url])
        .expect(0)
        .shows("captured.s1: 1 statement prepared");
    dyno(&desk, &home, &capture)
        .expect(1)
        .says("seen.toml is there already");

    drop(client);
    dyno(&desk, &home, &["server", "stop", "cities"])
        .expect(0)
        .says("cities has stopped");
    dyno(&desk, &home, &["server", "list"])
        .expect(0)
        .shows("No server is running");
    let again = dyno(
        &desk,
        &home,
        &["server", "start", "--with", "city.toml", "--name", "cities"],
    )
    .expect(0);
    let mut client = postgres::Client::connect(again.stdout.trim(), postgres::NoTls).unwrap();
    let kept: i64 = client.query_one("select count(*) from city", &[]).unwrap().get(0);
    assert_eq!(kept, 4, "what was done to it is there again");

    // Who is killed leaves no server behind, and none is listed.
    let record = fs::read_to_string(home.path().join("servers/cities.json")).unwrap();
    let pid = serde_json::from_str::<serde_json::Value>(&record).unwrap()["pid"]
        .as_u64()
        .unwrap() as u32;
    let pid_of = rustix::process::Pid::from_raw(pid as i32).unwrap();
    rustix::process::kill_process(pid_of, rustix::process::Signal::KILL).unwrap();
    wait_for("the end of the keeper", || !is_alive(pid));
    dyno(&desk, &home, &["server", "list"])
        .expect(0)
        .shows("No server is running");
    let data = home.path().canonicalize().unwrap().join("clusters");
    wait_for("the end of the server", || !processes_below(&data));
}

/// Whether a process works in a folder below this one.
fn processes_below(folder: &Path) -> bool {
    fs::read_dir("/proc").unwrap().any(|item| {
        let place = item.ok().and_then(|item| fs::read_link(item.path().join("cwd")).ok());
        place.is_some_and(|place| place.starts_with(folder))
    })
}

#[test]
fn what_a_mariadb_executes_is_captured() {
    let (desk, home) = (desk(), Home::with_mariadb());
    desk.file("maria.toml", COUNTING_MARIADB);
    let start = ["server", "start", "--version", "mariadb", "--with", "maria.toml"];
    let url = dyno(&desk, &home, &start).expect(0).stdout.trim().to_owned();
    let load = ["run", "maria.toml", "--target", &url, "--set", "measure=60s"];
    let load = Running::start(at_home(&desk, &home, &load));
    let capture = ["capture", "--target", &url, "--for", "8s", "--output", "seen.toml"];
    // What is sent as text is counted, of which this server keeps the digest alone; what is prepared is not.
    dyno(&desk, &home, &capture)
        .expect(0)
        .says("executions are missing, those of all databases together");
    load.signal(Signal::TERM);
    load.end();
    let seen = fs::read_to_string(desk.path().join("seen.toml")).unwrap();
    assert!(
        seen.contains("\\set v1 random(1, 100000)\nSELECT COUNT( * ) , MAX( ID ) FROM `city` WHERE ID IN(:v1);\n"),
        "{seen}"
    );
    assert!(seen.contains("cut lists of values short"), "{seen}");
    dyno(&desk, &home, &["check", "seen.toml", "--target", &url]).expect(0);
    desk.file(
        "marked.toml",
        "title = \"Marked\"\n[[workload]]\nscript = \"select ? + 1;\"\n",
    );
    dyno(&desk, &home, &["check", "marked.toml", "--target", &url])
        .expect(1)
        .shows("it has placeholders (?), but is given no values");
    dyno(&desk, &home, &["server", "stop"]).expect(0);
}
