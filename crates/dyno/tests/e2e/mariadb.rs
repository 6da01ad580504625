//! MariaDB through the same doors as PostgreSQL: a private server, loads that read and write, the archive, the report,
//! and a comparison with PostgreSQL.

use crate::support::{Desk, Ended, Home, RunFolder, Running, is_alive, processes_in, run_folders, wait_for};
use dyno_target::mysql::Client;
use dyno_target::mysql::embedded::{Embedded, EmbeddedOptions, MARIADB_VERSION, Server};
use rustix::process::Signal;
use serde_json::Value;

const READ: &str = "\\set id random(1, :rows)\nselect * from tbl where id = :id;";
const WRITE: &str = "\\set id random(1, :rows)\nupdate tbl set crt_time = now() where id = :id;";

/// Writes an experiment whose data every database understands.
fn experiment(desk: &Desk, name: &str, protocol: &str, script: &str) {
    let text = format!(
        "title = \"{name}\"\n[parameters]\nrows = 2000\n\
         [data]\nsetup = \"create table tbl (id int primary key, info text, crt_time timestamp)\"\n\
         fill.tbl = {{ rows = \"{{rows}}\", columns = {{ id = \"row\", info = \"'word'\" }} }}\n\
         [[workload]]\nname = \"one\"\nclients = 4\nprotocol = \"{protocol}\"\n\
         script = \'\'\'\n{script}\n\'\'\'\n[phases]\nwarmup = \"0s\"\nmeasure = \"2s\"\n"
    );
    desk.file(name, &text);
}

fn assert_no_server(home: &Home) {
    let folder = home.path().canonicalize().unwrap();
    let data = folder.join(format!("mariadb-clusters/{MARIADB_VERSION}/main/data"));
    assert!(data.is_dir(), "{}", data.display());
    wait_for("the end of the server", || processes_in(&data).is_empty());
}

/// What the server has counted at the end, and the transactions of all intervals.
fn counts(desk: &Desk, counter: &str) -> (u64, u64) {
    let runs = run_folders(&desk.archive());
    let run = runs.last().unwrap();
    let number = |text: &str| text.parse::<u64>().unwrap();
    let intervals = run.rows("intervals.csv");
    let transactions = intervals.iter().map(|row| number(&row["transactions"])).sum();
    (number(&run.rows("server.csv").last().unwrap()[counter]), transactions)
}

/// Fails unless the report of the load that wrote last shows what the server and its machine did, in MariaDB's words.
fn assert_speaks_of_mariadb(desk: &Desk) {
    let runs = run_folders(&desk.archive());
    let wrote = runs.iter().rfind(|run| run.0.to_string_lossy().contains("simple"));
    let campaign = wrote.unwrap().0.parent().unwrap().to_owned();
    let said = desk.dyno(&format!("report {} --format json --output -", campaign.display()));
    let said = said.expect(0).stdout;
    for words in [
        "Redo log and checkpoints",
        "Redo log since the last checkpoint",
        "Pages written",
        "not found in the buffer pool",
        "waiting for a lock",
        "What measured sessions waited for",
        "Old versions of rows",
        "CPU by process group: server",
        "Storage: written",
    ] {
        assert!(said.contains(words), "no {words} in {said}");
    }
    for words in ["WAL", "shared buffers", "pg_stat", "ull page image"] {
        assert!(!said.contains(words), "{words} in {said}");
    }
}

#[test]
fn loads_run_on_a_private_server_and_are_reported_and_compared() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    for (protocol, script, counter) in [
        ("prepared", READ, "Com_select"),
        ("simple", WRITE, "Com_update"),
        ("extended", WRITE, "Com_update"),
    ] {
        let name = format!("{protocol}.toml");
        experiment(&desk, &name, protocol, script);
        let words = format!("{name} --target embedded:mariadb");
        let said = desk.embedded(&home, &words).expect(0).stdout;
        assert!(said.contains("errors  none"), "{said}");
        let (counted, transactions) = counts(&desk, counter);
        assert!(transactions > 100, "{protocol}: {transactions}");
        // Beside the load's there are the few of dyno's own, and those that ended after the last interval.
        let difference = counted.abs_diff(transactions);
        assert!(
            difference < 100,
            "{protocol}: {counted} counted, {transactions} recorded"
        );
    }
    desk.embedded(&home, "prepared.toml --target embedded").expect(0);
    let [mariadb, postgres] = &campaigns(&desk, "prepared")[..] else {
        panic!("two campaigns")
    };
    desk.dyno(&format!("report {mariadb}")).expect(0);
    assert_speaks_of_mariadb(&desk);
    let compared = desk.dyno(&format!("compare {mariadb} {postgres}")).expect(0);
    let compared = compared
        .shows("1 run of A against 1 of B")
        .shows("settings are listed for each, not compared")
        .shows("Settings of A that differ from its defaults")
        .shows("Settings of B that differ from its defaults");
    assert!(!compared.stdout.contains("settings."), "{}", compared.stdout);
    assert_no_server(&home);
}

#[test]
fn rows_that_dyno_makes_fill_both_databases() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    desk.file(
        "alike.toml",
        "title = \"alike\"\n[parameters]\nrows = 30000\n\
         [data]\nread_only = true\nsetup = \"create table tbl (id int primary key, k int, c char(11))\"\n\
         [data.fill.tbl]\nrows = \"{rows}\"\nseed = 7\n\
         generate = { id = \"row\", k = \"random(1, {rows})\", c = \"pattern('###-@@@-###')\" }\n\
         [[workload]]\nname = \"one\"\nscript = \"select count(*) from tbl where k between 1 and :rows;\"\n\
         [phases]\nwarmup = \"0s\"\nmeasure = \"1s\"\n",
    );
    let words = "alike.toml --set target=embedded:18,embedded:mariadb";
    desk.embedded(&home, words).expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!(run.state(), "complete", "{}", run.0.display());
        assert_eq!(run.campaign()["experiment"]["data"]["fill"][0]["seed"], 7);
    }
    assert_no_server(&home);
}

#[test]
fn a_statement_that_the_server_refuses_is_shown_with_its_number() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    experiment(&desk, "missing.toml", "prepared", "select * from nosuch;");
    let words = "missing.toml --target embedded:mariadb";
    desk.embedded(&home, words)
        .expect(1)
        .says("select * from nosuch")
        .says("doesn't exist");
    assert_no_server(&home);
}

/// What makes the experiments that come with dyno a matter of seconds.
const SHORT: &str = "--set measure=1s --set warmup=0s --set interval=500ms";

/// The settings that would take more room than such a run needs, by target.
const SMALL: [(&str, &str); 2] = [
    (
        "embedded:mariadb",
        "--set innodb_buffer_pool_size=64MB --set innodb_log_file_size=16MB",
    ),
    ("embedded", "--set shared_buffers=64MB"),
];

/// The folders of the campaigns of an experiment, the oldest first.
fn campaigns(desk: &Desk, name: &str) -> Vec<String> {
    let folders = std::fs::read_dir(desk.archive()).unwrap();
    let names = folders.map(|campaign| campaign.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<_> = names.filter(|campaign| campaign.ends_with(name)).collect();
    names.sort();
    names
}

#[test]
fn the_experiments_that_come_with_dyno_are_written_for_it_or_say_so() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let rows = |name: &str| if name == "pk-insert" { "" } else { "--set rows=500" };
    for (name, setup, statement) in [
        ("pk-select", "crt_time timestamp(6)", "select * from tbl"),
        ("pk-update", "crt_time timestamp(6)", "set crt_time = now(6)"),
        ("pk-insert", "id int auto_increment", "insert into tbl"),
    ] {
        for (target, settings) in SMALL {
            let words = format!(
                "{name} --size small {SHORT} {settings} {} --target {target}",
                rows(name)
            );
            let said = desk.embedded(&home, &words).expect(0);
            let said = said.shows("errors none").stdout;
            assert!(!said.contains(", not "), "{said}");
        }
        // The newest are those of this experiment, MariaDB's first.
        let runs = run_folders(&desk.archive());
        let [.., mariadb, postgres] = &runs[..] else {
            panic!("two runs")
        };
        let archived = |run: &RunFolder| run.campaign()["experiment"].clone();
        let experiment = archived(mariadb);
        assert_eq!(experiment["target"], "embedded:mariadb");
        assert!(
            experiment["data"]["setup"].as_str().unwrap().contains(setup),
            "{experiment}"
        );
        let script = experiment["workloads"][0]["script"].as_str().unwrap();
        assert!(script.contains(statement), "{script}");
        let settings = experiment["settings"].as_object().unwrap();
        assert!(settings.keys().all(|name| name.starts_with("innodb_")), "{settings:?}");
        let found = mariadb.record()["server"]["settings"].clone();
        let found = found
            .as_array()
            .unwrap()
            .iter()
            .find(|setting| setting["name"] == "innodb_buffer_pool_size");
        assert_eq!(found.unwrap()["value"], (64 << 20).to_string());
        assert_eq!(archived(postgres)["settings"]["shared_buffers"], "64MB");
        let [mariadb, postgres] = &campaigns(&desk, name)[..] else {
            panic!("{name}")
        };
        desk.dyno(&format!("report {mariadb}")).expect(0);
        desk.dyno(&format!("show {mariadb}")).expect(0).shows(statement);
        let compared = desk.dyno(&format!("compare {mariadb} {postgres}")).expect(0);
        compared.shows("1 run of A against 1 of B");
    }
    let made = run_folders(&desk.archive()).len();
    desk.embedded(&home, "pk-update-checkpoints --target embedded:mariadb")
        .expect(1)
        .says("`pk-update-checkpoints` runs on PostgreSQL only: no other database writes whole pages into its log")
        .says("pk-select, pk-update, pk-insert, pk-unprepared, direct-pg, os-comparison, polar-hot-data")
        .says("polar-mysql, burn-after-reading, fdw-proxy, replicas, ycsb, tpcc.");
    // What is set for the wrong database is for the server to refuse, not to be left out.
    desk.embedded(
        &home,
        "pk-select --set rows=500 --set shared_buffers=1GB --target embedded:mariadb",
    )
    .expect(1)
    .says("shared_buffers");
    assert_eq!(run_folders(&desk.archive()).len(), made);

    let clean = |words: &str| {
        let mut command = desk.command(["clean"].into_iter().chain(words.split_whitespace()));
        Ended::of(command.env("DYNO_HOME", home.path()))
    };
    let cluster = format!("mariadb-clusters/{MARIADB_VERSION}/main");
    clean("").expect(0).shows(&format!("{cluster} cluster"));
    clean(&format!("{cluster} --yes"))
        .expect(0)
        .says(&format!("Removed {cluster}"));
    let left = clean("").expect(0).stdout;
    assert!(
        !left.contains("mariadb-clusters") && left.contains("clusters/"),
        "{left}"
    );
    assert!(!home.path().join(cluster).join("data").exists());
}

/// The others of the shelf, each with a run or a few, with few rows, and what tells that the file's settings are in
/// effect.
const OTHERS: [(&str, &str, &str); 7] = [
    (
        "pk-unprepared",
        "--set rows=500 --repeat 1",
        "innodb_flush_log_at_trx_commit=2",
    ),
    (
        "direct-pg",
        "--set rows=500 --repeat 1",
        "innodb_flush_log_at_trx_commit=2",
    ),
    (
        "os-comparison",
        "--set scale=1 --set clients=4 --set profile=outside",
        "max_connections=300",
    ),
    (
        "polar-hot-data",
        "--set scale=1 --set workload=ro+rw --set range=1000",
        "innodb_doublewrite=OFF",
    ),
    (
        "polar-mysql",
        "--set tables=2 --set rows=500 --set clients=4 --set hosts=3 --set workload=ro+wo",
        "sync_binlog=1",
    ),
    (
        "replicas",
        "--set rows=500 --set read.clients=2 --set replicas=1 --set stale_ms=60000 --set fresh.start_delay=0s",
        "sync_binlog=1",
    ),
    (
        "burn-after-reading",
        "--set tables=8 --set batch=10 --set variant=any,fifo,notify",
        "table_definition_cache=4096",
    ),
];

#[test]
fn the_other_experiments_that_come_with_dyno_run_on_it() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    for (name, words, setting) in OTHERS {
        let settings = "--set innodb_buffer_pool_size=64MB --set innodb_log_file_size=16MB";
        let words = format!("{name} --size small {SHORT} {settings} {words} --target embedded:mariadb");
        let said = desk.embedded(&home, &words).expect(0).stdout;
        assert!(!said.contains(", not "), "{said}");
        let [campaign] = &campaigns(&desk, name)[..] else {
            panic!("{name}")
        };
        let (setting, value) = setting.split_once('=').unwrap();
        for run in run_folders(&desk.archive()) {
            if !run.0.starts_with(desk.archive().join(campaign)) {
                continue;
            }
            assert_eq!(run.state(), "complete", "{}", run.0.display());
            let record = run.record();
            for workload in record["summary"]["workloads"].as_array().unwrap() {
                assert!(workload["transactions"].as_u64() > Some(0), "{name}: {workload}");
                assert_eq!(workload["errors"], 0, "{name}: {workload}");
            }
            let found = record["server"]["settings"].as_array().unwrap();
            let found = found.iter().find(|found| found["name"] == setting);
            assert_eq!(found.unwrap()["value"], value, "{name}: {setting}");
        }
    }
    // What burn-after-reading has deleted was there.
    let runs = run_folders(&desk.archive());
    let deleted = |run: &RunFolder| {
        let rows = run.rows("server.csv");
        rows.last().unwrap()["Handler_delete"].parse::<u64>().unwrap()
    };
    assert!(deleted(runs.last().unwrap()) > 0);
    assert_no_server(&home);
}

#[test]
fn one_campaign_measures_both_databases() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let words = format!("pk-update --size small {SHORT} --set rows=500 --set target=embedded:18,embedded:mariadb");
    desk.embedded(&home, &words)
        .expect(0)
        .shows("MariaDB 11.4.5 beside PostgreSQL 18.6 on pk-update: not decided by one run of each");
    let runs = run_folders(&desk.archive());
    assert_eq!(runs.len(), 2);
    for run in &runs {
        assert_eq!(run.state(), "complete", "{}", run.0.display());
    }
    let [campaign] = &campaigns(&desk, "pk-update")[..] else {
        panic!("one campaign")
    };
    // Each database's own settings and scripts, with nothing of the other among them.
    let report = desk.dyno(&format!("report {campaign} --format json --output -"));
    let report: Value = serde_json::from_str(&report.expect(0).stdout).unwrap();
    let text = |titled: &str| section(&report, titled).unwrap_or_else(|| panic!("no {titled} in {report}"));
    let (postgres, mariadb) = (text("Settings of PostgreSQL"), text("Settings of MariaDB"));
    assert!(
        postgres.contains("shared_buffers") && !postgres.contains("innodb_"),
        "{postgres}"
    );
    assert!(
        mariadb.contains("innodb_log_file_size") && !mariadb.contains("wal_buffers"),
        "{mariadb}"
    );
    assert!(
        !mariadb.contains("\"in\""),
        "its own runs have one value each: {mariadb}"
    );
    assert!(text("Workloads of pk-update on embedded:18").contains("crt_time = now()"));
    assert!(text("Workloads of pk-update on embedded:mariadb").contains("crt_time = now(6)"));
    assert!(text("Data of pk-update on embedded:mariadb").contains("timestamp(6)"));
    assert_no_server(&home);
}

/// The section of a report with this title, as it is written.
fn section(report: &Value, titled: &str) -> Option<String> {
    if report["title"] == titled {
        return Some(report.to_string());
    }
    let sections = report["sections"].as_array()?;
    sections.iter().find_map(|inner| section(inner, titled))
}

/// A server that dyno is told of by its address.
pub fn borrowed(home: &Home) -> (Embedded, Server) {
    borrowed_with(home, &[])
}

/// The same with these settings.
pub fn borrowed_with(home: &Home, settings: &[(String, String)]) -> (Embedded, Server) {
    let mut options = EmbeddedOptions::new(home.path().to_owned());
    "external".clone_into(&mut options.cluster);
    let embedded = Embedded::prepare(&options, &mut |_| ()).unwrap();
    let server = embedded.start(settings, &mut |_| ()).unwrap();
    (embedded, server)
}

/// The password of its superuser.
pub fn password(server: &Server) -> String {
    let password = server.connection("mysql").password.unwrap();
    String::from_utf8(password.reveal().to_vec()).unwrap()
}

#[test]
fn a_server_that_is_not_ours_is_set_and_put_back() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let (_embedded, server) = borrowed(&home);
    let mut client = server.connection("mysql").connect().unwrap();
    let names = [
        "innodb_buffer_pool_size",
        "innodb_flush_log_at_trx_commit",
        "innodb_log_file_size",
    ];
    let mut values = || {
        names.map(|name| {
            let query = format!("select @@global.{name}");
            client.query_first::<u64>(&query).unwrap().unwrap()
        })
    };
    let usual = values();
    let target = format!("mysql://root:{}@127.0.0.1:{}/mysql", password(&server), server.port());
    let settings = [
        "--set",
        "innodb_buffer_pool_size=96MB",
        "--set",
        "innodb_flush_log_at_trx_commit=2",
        "--set",
        "innodb_log_file_size=32MB",
        "--set",
        "settings.innodb_page_size=8kB",
    ];
    let tiny = [
        "pk-update",
        "--set",
        "rows=500",
        "--set",
        "measure=1s",
        "--set",
        "warmup=0s",
    ];
    desk.alone_on(&target, tiny.into_iter().chain(settings))
        .expect(0)
        .says("Restoring the server's settings")
        .shows("innodb_page_size is 16K, not 8K: it takes effect when the server starts")
        .shows("innodb_flush_log_at_trx_commit = 2");
    let [run] = &run_folders(&desk.archive())[..] else {
        panic!("one run")
    };
    let found = run.record()["server"]["settings"].clone();
    let found = |name: &str| {
        let setting = found.as_array().unwrap().iter().find(|setting| setting["name"] == name);
        setting.unwrap()["value"].as_str().unwrap().parse::<u64>().unwrap()
    };
    assert_eq!(names.map(found), [96 << 20, 2, 32 << 20]);
    wait_for("the buffer pool's usual size", || values() == usual);
    let refused = desk.alone_on(&target, tiny.into_iter().chain(["--set", "work_mem=1MB"]));
    refused.expect(1).says("this server has no setting work_mem");
    assert_eq!(values(), usual);
}

#[test]
fn settings_are_put_back_by_the_next_dyno_after_a_kill() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let (_embedded, server) = borrowed(&home);
    let mut client = server.connection("mysql").connect().unwrap();
    let mut setting = || {
        let value = client.query_first::<u64>("select @@global.innodb_flush_log_at_trx_commit");
        value.unwrap().unwrap()
    };
    let target = format!("mysql://root:{}@127.0.0.1:{}/mysql", password(&server), server.port());
    desk.experiment("long.toml", "", "select 1;", "1h");
    desk.experiment("short.toml", "", "select 1;", "300ms");
    let words = ["long.toml", "--set", "settings.innodb_flush_log_at_trx_commit=2"];
    let mut running = Running::start(desk.command_alone_on(&target, words));
    running.until(" tps ");
    running.signal(Signal::KILL);
    wait_for("its death", || !is_alive(running.pid()));
    assert_eq!(setting(), 2);
    // By another address, too, and by two of them once.
    let socket = server.connection("mysql").to_string();
    let both = format!("target={socket},{target}");
    let mut command = desk.command(["run", "short.toml", "--set", &both]);
    let ended = Ended::of(command.env("MYSQL_PWD", password(&server)))
        .expect(0)
        .says("ended before it could restore the server's settings; they have been restored now");
    assert_eq!(ended.stderr.matches("ended before").count(), 1, "{}", ended.stderr);
    assert!(!ended.stderr.contains("Left as they are"), "{}", ended.stderr);
    assert_eq!(setting(), 1);

    // A name that the server does not have is told with the one that may be meant.
    let words = ["short.toml", "--set", "settings.innodb_bufer_pool_size=64MB"];
    desk.alone_on(&target, words)
        .expect(1)
        .says("this server has no setting innodb_bufer_pool_size; did you mean innodb_buffer_pool_size?");
    let words = "short.toml --target embedded:mariadb --set settings.innodb_bufer_pool_size=64MB";
    desk.embedded(&home, words)
        .expect(1)
        .says("has no setting innodb_bufer_pool_size; did you mean innodb_buffer_pool_size?");
}

#[test]
fn what_cannot_be_put_back_is_no_success() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let (_embedded, server) = borrowed(&home);
    let mut client = server.connection("mysql").connect().unwrap();
    let password_is = |client: &mut Client, password: &str| {
        let account = "bench@'127.0.0.1'";
        let said =
            format!("create or replace user {account} identified by '{password}'; grant all on *.* to {account}");
        client.execute(&said).unwrap();
    };
    password_is(&mut client, "b");
    let target = format!("mysql://bench:b@127.0.0.1:{}/mysql", server.port());
    desk.experiment("some.toml", "", "select 1;", "3s");
    let words = ["some.toml", "--set", "settings.innodb_flush_log_at_trx_commit=2"];
    let mut running = Running::start(desk.command_alone_on(&target, words));
    running.until(" tps ");
    password_is(&mut client, "another");
    running
        .end()
        .expect(1)
        .says("The server's settings could not be restored")
        .says("are not restored, though all was measured");
    let [run] = &run_folders(&desk.archive())[..] else {
        panic!("one run")
    };
    assert_eq!(run.state(), "complete");
    desk.dyno("show")
        .expect(0)
        .shows("were not restored; the next dyno run there restores them");
    password_is(&mut client, "b");
    desk.alone_on(&target, ["some.toml", "--set", "measure=300ms"])
        .expect(0)
        .says("they have been restored now");
    let [first, _] = &campaigns(&desk, "some")[..] else {
        panic!("two campaigns")
    };
    let shown = desk.dyno(&format!("show {first}")).expect(0).stdout;
    assert!(!shown.contains("not restored"), "{shown}");
}

#[test]
fn data_that_a_run_has_changed_is_fresh_for_nobody() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let (target, settings) = SMALL[0];
    let run = |name: &str| {
        let words = format!("{name} --size small {SHORT} {settings} --set rows=500 --target {target}");
        desk.embedded(&home, &words).expect(0)
    };
    run("pk-update").says("Loading tbl");
    run("pk-select").says("Loading tbl");
    let again = run("pk-select").says("Using the data that is loaded");
    assert!(!again.stderr.contains("Filling"), "{}", again.stderr);
    // Nobody has changed it yet.
    run("pk-update").says("Using the data that is loaded");
    run("pk-update").says("Loading tbl");
}

#[test]
fn a_server_that_is_not_ours_is_known_by_any_address() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let (_embedded, server) = borrowed(&home);
    let mut client = server.connection("").connect().unwrap();
    client
        .execute("create database theirs; create table theirs.treasure (id int primary key)")
        .unwrap();
    let tcp = format!("mysql://root@127.0.0.1:{}/theirs", server.port());
    let socket = server.connection("mysql").to_string();
    let run = |words: &[&str]| {
        let mut command = desk.command(["run"].iter().chain(words));
        Ended::of(command.env("MYSQL_PWD", password(&server)))
    };
    let tiny = [
        "--set",
        "rows=500",
        "--set",
        "measure=500ms",
        "--set",
        "warmup=0s",
        "--leave-settings",
    ];
    let with = |first: &[&'static str]| [first, &tiny[..]].concat();

    // One campaign measures it by two of them: it does not wait for itself.
    let targets = format!("target={tcp},{socket}");
    let both = [&["pk-update", "--set", &targets][..], &tiny].concat();
    run(&both).expect(0);
    assert_eq!(run_folders(&desk.archive()).len(), 2);

    // What is missing of a campaign is measured where the rest was.
    run(&[&with(&["pk-update", "--repeat", "2"])[..], &["--target", &tcp]].concat()).expect(0);
    let runs = run_folders(&desk.archive());
    let [.., last] = &runs[..] else { panic!("runs") };
    assert_eq!(last.record()["target"], tcp.as_str());
    std::fs::remove_dir_all(&last.0).unwrap();
    run(&["--resume", "--target", &tcp]).expect(0);
    assert_eq!(run_folders(&desk.archive()).len(), runs.len());

    // An experiment without data has no tables, whatever others have there.
    desk.experiment("nothing.toml", "", "select 1;", "300ms");
    let nothing = run(&["nothing.toml", "--target", &tcp, "--archive", "nothing"]).expect(0);
    assert!(!nothing.stdout.contains("treasure"), "{}", nothing.stdout);

    // What an address leaves out is where mysql looks for it.
    let (options, secret) = (desk.path().join(".my.cnf"), password(&server));
    let login = format!(
        "[client]\nhost=127.0.0.1\nport={}\nuser=root\npassword={secret}\n",
        server.port()
    );
    std::fs::write(&options, login).unwrap();
    Ended::of(&mut desk.command_alone_on("mysql:///theirs", ["nothing.toml"])).expect(0);
    let [.., filled] = &run_folders(&desk.archive())[..] else {
        panic!("runs")
    };
    assert_eq!(filled.record()["target"], tcp.as_str());
    desk.assert_nowhere(&secret);
    std::fs::remove_file(options).unwrap();

    let refused = |words: &[&'static str]| run(&[&with(words)[..], &["--target", &tcp]].concat()).expect(1);
    refused(&["pk-update", "--share-server"]).says("--share-server is for PostgreSQL only so far");
    refused(&["pk-update", "--restart-command", "true"]).says("--restart-command is not for MariaDB, which");
    // A varied setting is known by any spelling.
    let varied = run(&[
        "pk-update",
        "--target",
        &tcp,
        "--set",
        "rows=500",
        "--set",
        "settings.Innodb_Page_Size=4kB,8kB",
    ]);
    varied
        .expect(1)
        .says("the campaign varies a setting that it cannot set: innodb_page_size");

    // What the runs left goes, unless somebody uses the server.
    let clean = |words: &[&str]| {
        let mut command = desk.command(["clean", "--target", &tcp].iter().chain(words));
        Ended::of(command.env("MYSQL_PWD", password(&server)))
    };
    clean(&[])
        .expect(0)
        .shows("dyno_run database")
        .shows("Nothing was removed");
    client.execute("do get_lock('dyno', 0)").unwrap();
    let listed = clean(&[]).expect(0).shows("dyno_run database").shows("in use");
    assert!(!listed.stdout.contains('*'), "{}", listed.stdout);
    clean(&["--yes"])
        .expect(2)
        .says("dyno_run was not removed: it is in use by another dyno");
    client.execute("do release_lock('dyno')").unwrap();
    clean(&["dyno_run", "--yes"]).expect(0).says("Removed dyno_run");
    clean(&[]).expect(0).shows("nothing");
    let left =
        "select group_concat(schema_name) from information_schema.schemata where schema_name in ('dyno_run', 'theirs')";
    assert_eq!(client.query_first::<String>(left).unwrap().unwrap(), "theirs");
}
