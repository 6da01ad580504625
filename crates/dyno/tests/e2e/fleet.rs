//! Loads that agents drive: processes of this machine.

use crate::support::{Desk, Ended, Home, Running, database, is_alive, run_folders, wait_for};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use std::fs;

/// How often dyno is killed.
const KILLS: u64 = 50;

/// The agents of a dyno: its children that were told to be one.
fn agents_of(pid: u32) -> Vec<u32> {
    let is_agent = |child: &u32| {
        let command = fs::read(format!("/proc/{child}/cmdline")).unwrap_or_default();
        command.split(|byte| *byte == 0).nth(1) == Some(b"agent")
    };
    let parent = |child: &u32| {
        let stat = fs::read_to_string(format!("/proc/{child}/stat")).ok()?;
        stat.rsplit_once(") ")?.1.split(' ').nth(1)?.parse::<u32>().ok()
    };
    let all = fs::read_dir("/proc").unwrap();
    let all = all.filter_map(|item| item.ok()?.file_name().to_str()?.parse::<u32>().ok());
    all.filter(|child| parent(child) == Some(pid) && is_agent(child))
        .collect()
}

fn signal(pid: u32, signal: Signal) {
    kill_process(Pid::from_raw(pid.cast_signed()).unwrap(), signal).unwrap();
}

const SELECT: &str = "pk-select --set rows=1000 --set warmup=0s --set interval=100ms --set clients=6 --local-agents 3";

#[test]
fn three_processes_are_one_run() {
    let (desk, home) = (Desk::new(), Home::new());
    let ended = desk
        .embedded(&home, &format!("{SELECT} --set measure=2s --seed 5"))
        .expect(0);
    ended.shows("Load by host").shows("local-3");
    let run = &run_folders(&desk.archive())[0];
    assert_eq!(run.state(), "complete");
    let record = run.record();
    let hosts = record["load_hosts"].as_array().unwrap();
    let names: Vec<_> = hosts.iter().map(|host| host["name"].as_str().unwrap()).collect();
    assert_eq!(names, ["local-1", "local-2", "local-3"]);
    let clients = hosts.iter().map(|host| host["shares"][0]["clients"].as_u64().unwrap());
    assert_eq!(clients.sum::<u64>(), 6);
    // The parts are the whole, interval by interval.
    let all = run.rows("intervals.csv");
    let parts: Vec<_> = names
        .iter()
        .map(|name| run.rows(&format!("hosts/{name}/intervals.csv")))
        .collect();
    let count = |row: &std::collections::HashMap<String, String>| row["transactions"].parse::<u64>().unwrap();
    assert_eq!(all.len(), 20);
    for (place, whole) in all.iter().enumerate() {
        assert_eq!(count(whole), parts.iter().map(|part| count(&part[place])).sum::<u64>());
        assert!(
            parts
                .iter()
                .all(|part| part[place]["interval_start_s"] == whole["interval_start_s"])
        );
    }
    assert_eq!(run.measured(), run.summed_up());
    assert_eq!(run.latency("select").len(), run.measured());
    for name in names {
        assert!(run.read(&format!("hosts/{name}/host.csv")).lines().count() >= 2);
    }
    assert!(
        hosts
            .iter()
            .all(|host| host["clock"]["uncertainty_us"].as_f64().unwrap() > 0.0)
    );
    // Who drove it used the CPU, not dyno.
    assert_eq!(record["summary"]["client_cpu"], Value::Null);
    let report = desk.dyno("report --format json --output -").expect(0);
    assert!(report.stdout.contains("Load by host") && report.stdout.contains("load-hosts-throughput"));
    home.assert_no_server();
}

#[test]
fn an_agent_that_is_killed_is_missing_and_the_rest_goes_on() {
    let (desk, home) = (Desk::new(), Home::new());
    let mut running = Running::start(desk.command_embedded(&home, &format!("{SELECT} --set measure=5s")));
    running.until(" tps ");
    signal(agents_of(running.pid())[1], Signal::KILL);
    // At once.
    running.until("note: load host local-");
    let ended = running.end().expect(2).says("incomplete: load host local-");
    ended.shows("(incomplete)").shows("Its mean is over the whole time");
    let run = &run_folders(&desk.archive())[0];
    assert_eq!(run.state(), "incomplete");
    let record = run.record();
    let gaps: Vec<_> = record["load_hosts"]
        .as_array()
        .unwrap()
        .iter()
        .map(|host| host["gap"].clone())
        .collect();
    assert_eq!(gaps.iter().filter(|gap| gap.is_null()).count(), 2, "{gaps:?}");
    // The whole time was measured.
    assert_eq!(run.rows("intervals.csv").len(), 50);
    home.assert_no_server();
}

#[test]
fn the_hosts_of_a_run_that_was_killed_are_known() {
    let (desk, database) = (Desk::new(), database("fleet_killed"));
    desk.experiment("k.toml", "clients = 3", "select 1;", "1h");
    let command = desk.command_on(&database.target(), ["k.toml", "--local-agents", "2", "--no-sampling"]);
    let mut running = Running::start(command);
    running.until(" tps ");
    let agents = agents_of(running.pid());
    running.signal(Signal::KILL);
    drop(running);
    wait_for("the end of its agents", || !agents.iter().any(|agent| is_alive(*agent)));
    let record = run_folders(&desk.archive())[0].record();
    let hosts = record["load_hosts"].as_array().unwrap();
    assert_eq!(
        (&hosts[1]["name"], &hosts[1]["transactions"]),
        (&json!("local-2"), &Value::Null)
    );
    let shown = desk.dyno("show").expect(0).shows("Load by host").shows("local-2");
    assert!(!shown.stdout.contains("Clocks of the load hosts"), "{}", shown.stdout);
}

#[test]
fn an_agent_that_stands_still_is_given_up() {
    let (desk, home) = (Desk::new(), Home::new());
    desk.experiment("still.toml", "clients = 4", "select 1;", "3s");
    let text = fs::read_to_string(desk.path().join("still.toml")).unwrap();
    let load = "\n[load]\nhosts = [\"local\", \"local\"]\non_lost_host = \"end\"\n";
    desk.file("still.toml", &format!("{text}{load}").replace("\"3s\"", "\"1h\""));
    let mut running = Running::start(desk.command_embedded(&home, "still.toml"));
    running.until(" tps ");
    let agents = agents_of(running.pid());
    assert_eq!(agents.len(), 2);
    signal(agents[0], Signal::STOP);
    running.end().expect(2).says("was lost after").says("not heard of");
    assert!(agents.iter().all(|agent| !is_alive(*agent)));
    home.assert_no_server();
}

#[test]
fn a_dyno_that_stands_still_loses_no_agent() {
    let (desk, home) = (Desk::new(), Home::new());
    let mut running = Running::start(desk.command_embedded(&home, &format!("{SELECT} --set measure=5s")));
    running.until(" tps ");
    running.signal(Signal::STOP);
    // Longer than it waits for agents, and not as long as they wait for it.
    std::thread::sleep(std::time::Duration::from_secs(12));
    running.signal(Signal::CONT);
    running.end().expect(0);
    let run = &run_folders(&desk.archive())[0];
    assert_eq!(run.state(), "complete");
    for name in ["local-1", "local-2", "local-3"] {
        assert_eq!(run.rows(&format!("hosts/{name}/intervals.csv")).len(), 50);
    }
    home.assert_no_server();
}

#[test]
fn nothing_is_left_of_agents_whose_dyno_is_killed() {
    // `fleet_net` has this of agents on other hosts, and of what dyno does before it has any.
    let (desk, database) = (Desk::new(), database("fleet_kills"));
    desk.experiment("k.toml", "clients = 3", "select 1;", "1h");
    for kill in 0..KILLS {
        let command = desk.command_on(&database.target(), ["k.toml", "--local-agents", "3", "--no-sampling"]);
        let running = Running::start(command);
        let mut agents = Vec::new();
        wait_for("its agents", || {
            agents = agents_of(running.pid());
            agents.len() == 3
        });
        // While they say who they are, connect, wait for the begin, or drive.
        std::thread::sleep(std::time::Duration::from_millis(kill * 37 % 1_000));
        running.signal(Signal::KILL);
        wait_for("the end of its agents", || !agents.iter().any(|agent| is_alive(*agent)));
    }
    let mut client = database.connect();
    wait_for("the end of their sessions", || {
        let rows = client.query(
            "select 1 from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()",
            &[],
        );
        rows.unwrap().is_empty()
    });
}

#[test]
fn what_agents_cannot_do_is_refused_in_words() {
    let (desk, home) = (Desk::new(), Home::new());
    let refused = |words: &str, said: &str| desk.embedded(&home, words).expect(1).says(said);
    refused(
        "pk-select --local-agents 9 --set clients=8",
        "load host 1 of 9 would have nothing to do: the workload select has 8 clients for 9 hosts",
    );
    refused(
        "pk-select --local-agents 2 --cpus 0",
        "--cpus names CPUs of one machine",
    );
    refused("pk-select --hosts=-oProxyCommand=x", "names no load host");
    for hosts in ["--hosts local", "--local-agents 2"] {
        refused(
            &format!("pk-select {hosts} --listen 127.0.0.1:7000"),
            "cannot be used with",
        );
        refused(&format!("pk-select {hosts} --agents 2"), "cannot be used with");
    }
    let hosts = |hosts: &str| Ended::of(&mut desk.command(["run", "pk-select", "--dry-run", "--hosts", hosts]));
    hosts(" local , me@b").expect(0).shows("me@b");
    hosts("local,a b").expect(1).says("\"a b\" names no load host");
    desk.file(
        "l.toml",
        "title = \"t\"\n[load]\nhosts = [\"local\"]\nshares = [1, 2]\n[[workload]]\nscript = \"select 1;\"\n",
    );
    refused("l.toml", "there are 2 shares for 1 load hosts");
    assert_eq!(run_folders(&desk.archive()).len(), 0);
}
