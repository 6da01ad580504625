//! Several servers in one experiment: each brought up, filled and driven by its own workloads, and each kept and shown.

use crate::support::{Desk, Home, RunFolder, Running, database_alone, is_alive, processes_in, run_folders, wait_for};
use dyno_target::postgres::embedded::POSTGRESQL_VERSION;
use rustix::process::Signal;

/// A remote server and two that read from it, as far as SQL alone does that.
const PAIR: &str = r#"
title = "Two servers"
[parameters]
rows = 500
seconds = "1s"
[server]
name = "remote"
[data]
setup = "create table tbl (id int, info text)"
fill.tbl = { rows = "{rows}", columns = { id = "row", info = "'word'" } }
[servers.near]
count = 2
settings.work_mem = "5MB"
[servers.near.data]
setup = """
create table seen (host text, port int, owner text, secret text);
insert into seen values ('{remote.host}', '{remote.port}', '{remote.user}', '{remote.password}');
"""
[[workload]]
name = "far"
script = "select * from tbl where id = 1;"
[[workload]]
name = "close"
server = "near"
clients = 2
sum = true
script = "select * from seen;"
[phases]
warmup = "0s"
measure = "2s"
[metrics]
both = "{close.tps}"
"#;

/// The data folder of a private server in this role.
fn data(home: &Home, role: &str) -> std::path::PathBuf {
    let folder = home.path().canonicalize().unwrap();
    folder.join(format!("clusters/{POSTGRESQL_VERSION}/{role}/data"))
}

fn assert_no_servers(home: &Home) {
    for role in ["main", "near-1", "near-2"] {
        let data = data(home, role);
        assert!(data.is_dir(), "{}", data.display());
        wait_for("the end of the servers", || processes_in(&data).is_empty());
    }
}

/// What is in the folder of one of the servers of a run.
fn server(run: &RunFolder, name: &str) -> RunFolder {
    RunFolder(run.0.join("servers").join(name))
}

#[test]
fn private_servers_are_up_at_once_and_each_is_kept_and_shown() {
    let (desk, home) = (Desk::new(), Home::new());
    let output = "[[output]]\nname = \"seen\"\nserver = \"near\"\nsql = \"select owner, secret from seen\"\n";
    desk.file("pair.toml", &PAIR.replace("[metrics]", &format!("{output}[metrics]")));
    let ended = desk.embedded(&home, "pair.toml").expect(0);
    assert_no_servers(&home);
    for words in [
        "Throughput by server",
        "near-1",
        "close-2",
        "close (sum)",
        "Server near-2",
        "postgres://",
    ] {
        assert!(ended.stdout.contains(words), "no {words} in {}", ended.stdout);
    }
    let runs = run_folders(&desk.archive());
    let [run] = &runs[..] else { panic!("{}", runs.len()) };
    let record = run.record();
    assert_eq!(record["servers"], serde_json::json!(["remote", "near-1", "near-2"]));
    let tps = |workload: usize| record["summary"]["workloads"][workload]["tps"].as_f64().unwrap();
    let both = record["summary"]["metrics"]["both"].as_f64().unwrap();
    assert!((tps(1) + tps(2) - both).abs() < 1e-6 && tps(0) > 0.0, "{record}");
    // Each server has counted what its own clients did.
    let number = |text: &str| text.parse::<f64>().unwrap();
    let counted = |run: &RunFolder, column: &str| {
        let rows = run.rows("server.csv");
        number(&rows.last().unwrap()[column]) - number(&rows[0][column])
    };
    for name in ["near-1", "near-2"] {
        let server = server(run, name);
        assert!(counted(&server, "pg_stat_database.xact_commit") > 0.0, "{name}");
        let described: serde_json::Value = serde_json::from_str(&server.read("server.json")).unwrap();
        let settings = described["server"]["settings"].as_array().unwrap();
        let work_mem = settings.iter().find(|setting| setting["name"] == "work_mem").unwrap();
        assert_eq!(work_mem["value"], "5MB");
        assert_eq!(described["tables"]["after"]["tables"][0]["name"], "seen");
        let cpu_s: Vec<f64> = server
            .rows("host.csv")
            .iter()
            .map(|row| number(&row["server_cpu_s"]))
            .collect();
        assert!(cpu_s.last().unwrap() > &0.0, "{cpu_s:?}");
    }
    assert_eq!(record["tables"]["after"]["tables"][0]["name"], "tbl");
    // No answer shows the password of a private server, which the load does not need.
    assert_eq!(run.read("output-seen-1.csv"), "owner,secret\npostgres,***\n");
    // Where the remote server is stands nowhere in the plan.
    let campaign = run.campaign().to_string();
    assert!(campaign.contains("{remote.port}"), "{campaign}");
    for (format, words) in [
        ("json", "Throughput by server"),
        ("md", "Server near-1"),
        ("html", "Server near-2"),
    ] {
        let file = desk.path().join(format);
        desk.dyno(&format!("report --format {format} --output {}", file.display()))
            .expect(0);
        let said = std::fs::read_to_string(file).unwrap();
        assert!(said.contains(words), "{format}: no {words}");
    }
}

#[test]
fn servers_can_be_varied_and_a_campaign_goes_on() {
    let (desk, home) = (Desk::new(), Home::new());
    let file = PAIR
        .replace("count = 2", "count = \"{near}\"")
        .replace("seconds = \"1s\"", "near = 1");
    desk.file("varied.toml", &file);
    let words = "varied.toml --set measure=1s --set near=1,2 --set near.settings.work_mem=6MB --set plan.order=listed";
    let shown = desk.embedded(&home, &format!("{words} --dry-run")).expect(0).stdout;
    assert!(shown.contains("near-2") && shown.contains("data of near-1"), "{shown}");
    let mut running = Running::start(desk.command_embedded(&home, words));
    running.until(" tps ");
    running.signal(Signal::INT);
    running.end().expect(2);
    desk.embedded(&home, "--resume").expect(0);
    let runs = run_folders(&desk.archive());
    let servers: Vec<_> = runs
        .iter()
        .map(|run| run.record()["servers"].as_array().unwrap().len())
        .collect();
    assert_eq!(servers, [2, 3]);
    let shown = desk.dyno("show").expect(0).stdout;
    assert!(shown.contains("both") && shown.contains("close (sum)"), "{shown}");
    let csv = |words: &str| {
        desk.dyno(&format!("report --format csv --output - {words}"))
            .expect(0)
            .stdout
    };
    assert!(csv("").contains(",close-2,"), "{}", csv(""));
    let one = csv("--run 1");
    assert!(one.contains(",close-1,") && !one.contains(",close-2,"), "{one}");
}

#[test]
fn a_second_signal_ends_all_private_servers_at_once() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("pair.toml", &PAIR.replace("measure = \"2s\"", "measure = \"1h\""));
    let mut running = Running::start(desk.command_embedded(&home, "pair.toml"));
    running.until(" tps ");
    running.signal(Signal::INT);
    running.signal(Signal::INT);
    running.end().expect(2);
    assert_no_servers(&home);
}

#[test]
fn an_external_server_beside_a_private_one_is_set_and_put_back_and_its_password_shown_nowhere() {
    let (desk, home) = (Desk::new(), Home::new());
    let database = database_alone("e2e_beside");
    let setting = || database.value("select current_setting('autovacuum_analyze_threshold')");
    let usual = setting();
    let file = format!(
        r#"
title = "Beside"
[data]
setup = """
create table seen (host text, secret text);
insert into seen values ('{{far.port}}', 'secret {{far.password}}');
"""
[servers.far]
target = "{}?password=verysecret"
settings.autovacuum_analyze_threshold = 307
[servers.far.data]
setup = "create table tbl (id int)"
[[workload]]
name = "here"
script = "select * from seen;"
[[workload]]
name = "there"
server = "far"
script = "select count(*) from tbl, pg_settings where name like '%analyze_threshold' and setting = '307';"
[phases]
warmup = "0s"
measure = "1s"
"#,
        database.target()
    );
    desk.file("beside.toml", &file);
    let ended = desk.embedded(&home, "beside.toml").expect(0);
    assert!(!ended.stdout.contains("verysecret") && !ended.stderr.contains("verysecret"));
    desk.assert_nowhere("verysecret");
    let run = run_folders(&desk.archive()).remove(0);
    let described: serde_json::Value = serde_json::from_str(&server(&run, "far").read("server.json")).unwrap();
    let settings = described["server"]["settings"].as_array().unwrap();
    let set = settings
        .iter()
        .find(|setting| setting["name"] == "autovacuum_analyze_threshold");
    assert_eq!(set.unwrap()["value"], "307");
    assert_eq!(setting(), usual);
}

#[test]
fn mariadb_servers_stand_beside_each_other_and_beside_postgresql() {
    let (desk, home) = (Desk::new(), Home::with_mariadb());
    let both = PAIR
        .replace("name = \"remote\"", "name = \"remote\"\ntarget = \"embedded:mariadb\"")
        .replace("count = 2", "count = 2\ntarget = \"embedded:mariadb\"")
        .replace("settings.work_mem = \"5MB\"", "settings.sort_buffer_size = \"1MB\"");
    desk.file("both.toml", &both);
    let ended = desk.embedded(&home, "both.toml").expect(0);
    assert!(ended.stdout.contains("Server near-2"), "{}", ended.stdout);
    let mixed = PAIR.replace("name = \"remote\"", "name = \"remote\"\ntarget = \"embedded:mariadb\"");
    desk.file("mixed.toml", &mixed);
    desk.embedded(&home, "mixed.toml --set measure=3s").expect(0);
    let record = run_folders(&desk.archive()).pop().unwrap().record();
    for workload in record["summary"]["workloads"].as_array().unwrap() {
        assert!(workload["tps"].as_f64().unwrap() > 0.0, "{record}");
        assert_eq!(workload["errors"], 0, "{record}");
    }
}

/// A server that another one reaches through foreign tables, and that a third one follows.
const PROXY_AND_REPLICA: &str = r#"
title = "Proxy and replica"
[server]
name = "remote"
[data]
setup = "create table tbl (id int primary key, info text)"
fill.tbl = { rows = 500, columns = { id = "row", info = "'word'" } }
[servers.proxy]
behind = "remote"
foreign = { tables = ["tbl"], fetch_size = 1000 }
[servers.copy]
replica_of = "remote"
[[workload]]
name = "through"
server = "proxy"
script = "select 1 / count(*) from tbl where id = 7;"
[[workload]]
name = "copied"
server = "copy"
script = "select 1 / (count(*) / 500) from tbl;"
[[workload]]
name = "write"
rate = 20
script = "update tbl set info = 'other' where id = 9;"
[phases]
warmup = "0s"
measure = "2s"
"#;

#[test]
fn a_proxy_reads_from_the_server_behind_it_and_a_replica_follows_its_primary() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("both.toml", PROXY_AND_REPLICA);
    let ended = desk.embedded(&home, "both.toml --repeat 2").expect(0);
    for run in run_folders(&desk.archive()) {
        let record = run.record();
        assert_eq!(record["state"], "complete", "{}", ended.stdout);
        for workload in record["summary"]["workloads"].as_array().unwrap() {
            assert_eq!(workload["errors"], 0, "{workload}");
            assert!(workload["transactions"].as_u64().unwrap() > 0, "{workload}");
        }
        let described: serde_json::Value = serde_json::from_str(&server(&run, "copy").read("server.json")).unwrap();
        assert_eq!(described["replica_of"], "remote");
        let steps = |name: &str| server(&run, name).read("server.json");
        assert!(steps("proxy").contains("Linking the tables of remote"));
        assert!(steps("copy").contains("Catching up with the primary"));
        let plans: serde_json::Value = serde_json::from_str(&run.read("plans.json")).unwrap();
        let through = &plans["statements"][0];
        assert_eq!(through["remote"][0]["server"], "remote", "{through}");
        let steps = &through["remote"][0]["explained"]["plan"]["steps"];
        assert_eq!(steps, &through["remote"][0]["after"]["plan"]["steps"]);
        let words: Vec<_> = steps.as_array().unwrap().iter().map(|step| &step["on"]).collect();
        assert!(words.iter().any(|on| *on == "tbl"), "{through}");
        let lag = server(&run, "copy").rows("server.csv");
        assert!(lag.iter().all(|row| !row["standby.behind_s"].is_empty()), "{lag:?}");
    }
    let campaign = run_folders(&desk.archive()).remove(0);
    let made = server(&campaign, "copy").read("server.json");
    assert!(made.contains("Copying the data to the PostgreSQL copy"), "{made}");
    let campaign = campaign.0.parent().unwrap().display().to_string();
    let shown = desk.dyno(&format!("show {campaign} 1")).expect(0).stdout;
    assert!(
        shown.contains("replica of remote") && shown.contains("proxy of remote"),
        "{shown}"
    );
    for role in ["main", "proxy", "copy"] {
        let data = data(&home, role);
        wait_for("the end of the servers", || processes_in(&data).is_empty());
    }
}

#[test]
fn what_a_dyno_that_was_killed_left_of_proxies_and_replicas_hinders_nobody() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("both.toml", PROXY_AND_REPLICA);
    let mut running = Running::start(desk.command_embedded(&home, "both.toml --set measure=1h"));
    running.until(" tps ");
    running.signal(Signal::KILL);
    wait_for("its death", || !is_alive(running.pid()));
    for role in ["main", "proxy", "copy"] {
        let data = data(&home, role);
        wait_for("the end of the servers", || processes_in(&data).is_empty());
    }
    desk.embedded(&home, "both.toml").expect(0);
    let last = run_folders(&desk.archive()).pop().unwrap();
    let workloads = last.record()["summary"]["workloads"].clone();
    let errors: Vec<_> = workloads
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["errors"].clone())
        .collect();
    assert_eq!(errors, [0, 0, 0], "{workloads}");
}
