//! Which load hosts drive what: workloads on hosts of their own, their number as a factor, scripts in Lua, Oracle.

use crate::support::{Desk, Ended, Home, RunFolder, database, run_folders};
use dyno_oracle_standin::{Options, Postgres, Standin};
use std::sync::Arc;

const TWO: &str = r#"
title = "Two"
[parameters]
replicas = 2
[load]
hosts = ["local", "local", "local"]
shares = [1, 1, 3]
[servers.replica]
count = "{replicas}"
[[workload]]
name = "write"
clients = 4
threads = 4
script = "select 1;"
hosts = ["local-3", 1]
[[workload]]
name = "read"
server = "replica"
clients = 2
script = "select 2;"
hosts = "in turn"
[[workload]]
name = "count"
server = "replica"
clients = 2
script = "select 3;"
hosts = ["local-2"]
[phases]
warmup = "0s"
measure = "1s"
interval = "100ms"
"#;

/// For each host that drove a run its clients of each workload.
fn clients(run: &RunFolder) -> Vec<Vec<u64>> {
    let record = run.record();
    let hosts = record["load_hosts"].as_array().unwrap().iter();
    let clients = |share: &serde_json::Value| share["clients"].as_u64().unwrap();
    hosts
        .map(|host| host["shares"].as_array().unwrap().iter().map(clients).collect())
        .collect()
}

/// What a workload of a run has of it.
fn transactions(run: &RunFolder, file: &str, workload: &str) -> u64 {
    let rows = run.rows(file);
    let rows = rows.iter().filter(|row| row["workload"] == workload);
    rows.map(|row| row["transactions"].parse::<u64>().unwrap()).sum()
}

#[test]
fn each_workload_is_driven_by_its_hosts() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.file("two.toml", TWO);
    desk.embedded(&home, "two.toml --set replicas=2,3 --set plan.order=listed")
        .expect(0);
    let [two, three] = &run_folders(&desk.archive())[..] else {
        panic!("two runs")
    };
    // By their weights, 1 to 3; the third host drives no replica where there are two.
    assert_eq!(clients(two), [[1, 2, 0, 0, 0], [0, 0, 2, 2, 2], [3, 0, 0, 0, 0]]);
    assert_eq!(
        clients(three),
        [[1, 2, 0, 0, 0, 0, 0], [0, 0, 2, 0, 2, 2, 2], [3, 0, 0, 2, 0, 0, 0]]
    );
    for workload in ["write", "read-1", "read-2"] {
        let parts = (1..=3).map(|host| transactions(two, &format!("hosts/local-{host}/intervals.csv"), workload));
        let whole = transactions(two, "intervals.csv", workload);
        assert!(whole > 0 && parts.sum::<u64>() == whole, "{workload}: {whole}");
    }
    // A host that nothing is for has no agent.
    desk.embedded(&home, "two.toml --set workload=read").expect(0);
    let runs = run_folders(&desk.archive());
    assert_eq!(clients(&runs[2]), [[2, 0], [0, 2]]);
    let refused = |words: &str, reason: &str| {
        desk.embedded(&home, &format!("two.toml {words}"))
            .expect(1)
            .says(reason);
    };
    refused(
        "--set hosts=2",
        "`write.hosts` cannot be `local-3`: (at two.toml:15) the load hosts here are 1 to 2",
    );
    refused("--set hosts=4", "`hosts` cannot be `4`: 3 load hosts are named");
    desk.file("any.toml", &TWO.replace("[\"local-3\", 1]", "[\"local\"]"));
    desk.embedded(&home, "any.toml")
        .expect(1)
        .says("`write.hosts` cannot be `local`");
    refused("--set hosts=some", "expected how many of the load hosts, or 0");
    desk.embedded(&home, "two.toml --set workload=read --local-agents 3 --dry-run")
        .expect(0)
        .says("note: the shares that the file has under [load] are of its own hosts");
    // Without hosts dyno drives all of it.
    desk.embedded(&home, "two.toml --set hosts=0").expect(0);
    assert!(run_folders(&desk.archive())[3].record()["load_hosts"].is_null());
    home.assert_no_server();
}

#[test]
fn the_number_of_hosts_is_a_factor_with_a_chart() {
    let (desk, home) = (Desk::new(), Home::new());
    let words = "pk-select --set rows=1000 --set warmup=0s --set measure=1s --set interval=100ms --set clients=6 \
                 --set plan.repetitions=1 --set plan.order=listed --local-agents 3 --set hosts=1,2,3";
    desk.embedded(&home, words).expect(0).shows("hosts");
    let runs = run_folders(&desk.archive());
    let hosts: Vec<usize> = runs.iter().map(|run| clients(run).len()).collect();
    assert_eq!(hosts, [1, 2, 3]);
    assert!(runs.iter().all(|run| clients(run).concat().iter().sum::<u64>() == 6));
    let report = desk.dyno("report --format json --output -").expect(0).stdout;
    assert!(report.contains("over hosts"), "{report}");
    home.assert_no_server();
}

#[test]
fn each_host_stands_beside_what_it_can_do_at_most() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.experiment("c.toml", "clients = 2", "select 1;", "1s");
    let run = |place: usize| {
        desk.embedded(&home, "c.toml --local-agents 2").expect(0);
        let record = run_folders(&desk.archive())[place].record();
        let hosts = record["load_hosts"].as_array().unwrap().clone();
        hosts
            .into_iter()
            .map(|host| host["ceiling_per_s"].as_f64())
            .collect::<Vec<_>>()
    };
    assert_eq!(run(0), [None, None]);
    let mut measure = desk.command([
        "ceiling",
        "--seconds",
        "1",
        "--clients",
        "1,4",
        "--threads",
        "1",
        "--format",
        "json",
    ]);
    let measured = Ended::of(measure.env("DYNO_HOME", home.path())).expect(0).stdout;
    let measured: serde_json::Value = serde_json::from_str(&measured).unwrap();
    let point = measured["points"]
        .as_array()
        .unwrap()
        .iter()
        .find(|point| point["clients"] == 1 && point["route"] == "unix");
    let tps = point.unwrap()["tps"].as_f64().unwrap();
    assert_eq!(run(1), [Some(tps), Some(tps)]);
    home.assert_no_server();
}

#[test]
fn what_outlasts_the_measured_time_is_told_by_hosts_too() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.experiment("long.toml", "clients = 2", "select pg_sleep(2);", "1s");
    desk.embedded(&home, "long.toml --local-agents 2").expect(0);
    let record = &run_folders(&desk.archive())[0].record();
    let workload = &record["summary"]["workloads"][0];
    assert_eq!(workload["transactions"], 2, "{workload}");
    assert_eq!(workload["completion"]["after_end"], 2, "{workload}");
    // What fails then is an error of the run, and too many do not count.
    desk.experiment("fails.toml", "clients = 2", "select pg_sleep(2);\nselect 1 / 0;", "1s");
    desk.embedded(&home, "fails.toml --local-agents 2").expect(2);
    let record = &run_folders(&desk.archive())[1].record();
    assert_eq!(record["summary"]["workloads"][0]["errors"], 2, "{record}");
    home.assert_no_server();
}

#[test]
fn scripts_in_lua_are_one_load_on_several_hosts() {
    let (desk, home) = (Desk::new(), Home::new());
    // Clients come upon statements in different orders, and rows have numbers that none has twice.
    desk.file(
        "mine.lua",
        r#"
function prepare()
  local con = sysbench.sql.driver():connect()
  con:query("CREATE TABLE seen (id bigint PRIMARY KEY)")
end
function thread_init()
  con = sysbench.sql.driver():connect()
  turn = sysbench.tid
end
function event()
  turn = (turn + 1) % 3
  if turn == 0 then con:query("SELECT 'zero'")
  elseif turn == 1 then con:query("SELECT 1 AS one")
  else con:query("INSERT INTO seen VALUES (" .. sysbench.rand.unique() .. ")") end
end
"#,
    );
    desk.file(
        "mine.toml",
        "title = \"Mine\"\n[data]\nlua = \"mine.lua\"\n[[workload]]\nname = \"one\"\nclients = 5\nthreads = 3\n\
         lua = \"mine.lua\"\n[phases]\nwarmup = \"0s\"\nmeasure = \"2s\"\ninterval = \"100ms\"\n",
    );
    let ended = desk.embedded(&home, "mine.toml --local-agents 3").expect(0);
    ended.shows("errors none");
    let run = &run_folders(&desk.archive())[0];
    assert_eq!(clients(run), [[2], [2], [1]]);
    let record = run.record();
    let mut statements: Vec<_> = record["summary"]["workloads"][0]["statement_latencies"]
        .as_array()
        .unwrap()
        .iter()
        .map(|statement| (statement["sql"].as_str().unwrap(), statement["count"].as_u64().unwrap()))
        .collect();
    statements.sort_unstable();
    let texts: Vec<_> = statements.iter().map(|(text, _)| *text).collect();
    assert_eq!(texts, ["INSERT INTO seen VALUES (?)", "SELECT ?", "SELECT ? AS one"]);
    // Each text was counted as often as all clients executed it: an event executes one. At each edge of the measuring
    // time a client may have one whose statement is over and the event is not.
    let counted: u64 = statements.iter().map(|(_, count)| count).sum();
    assert!(
        counted.abs_diff(run.measured()) <= 2 * 5,
        "{counted} {}",
        run.measured()
    );
    home.assert_no_server();
}

#[test]
fn oracle_is_driven_from_several_hosts() {
    let (desk, database) = (Desk::new(), database("e2e_oracle_hosts"));
    let behind = Postgres::prepare(database.config(), "bench").unwrap();
    let mut options = Options::new(Arc::new(behind));
    "s3cret".clone_into(&mut options.password);
    let standin = Standin::start(options).unwrap();
    let target = format!("oracle://bench:s3cret@{}/shop", standin.address());
    desk.experiment("o.toml", "clients = 4", "select 1 from dual;", "1s");
    for driver in ["dyno", "oracledb"] {
        let driver = format!("driver={driver}");
        desk.alone_on(&target, ["o.toml", "--local-agents", "2", "--set", &driver])
            .expect(0);
    }
    for run in &run_folders(&desk.archive()) {
        assert_eq!(clients(run), [[2], [2]]);
        assert!(run.measured() > 0 && run.measured() == run.summed_up());
    }
}
