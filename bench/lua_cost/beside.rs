//! Client CPU per event of `dyno sysbench` beside sysbench.

use crate::programs::{ALIKE, Programs};
use crate::{Choice, Found};
use dyno_bench::{Client, Cost, Result, Server, Spread, in_rotation};
use serde_json::{Value, json};

const HEAD: &str = "| server | path | workload | connections | sysbench CPU µs/event | dyno CPU µs/event, its script | \
                    own | dyno / sysbench, its script | own | goal | reached | events/s dyno / sysbench, its script \
                    | own |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// What dyno's CPU per event is to be of sysbench's at most, by issue 16.
fn goal(workload: &str, connections: usize) -> Option<f64> {
    match (workload, connections) {
        ("oltp_point_select", 16..=63) => Some(0.60),
        ("oltp_point_select", 64..=255) => Some(0.35),
        ("oltp_point_select", 256..) => Some(0.30),
        ("oltp_read_write", _) => Some(0.60),
        _ => None,
    }
}

/// Measures all cases on a server.
pub fn measure(found: &mut Found, programs: &Programs<'_>, name: &str, server: &dyn Server, choice: &Choice) {
    found.say(&format!("\n## Client CPU per event, {name}\n\n{HEAD}"));
    for path in &choice.paths {
        for workload in &choice.workloads {
            for &clients in &choice.connections {
                let client = Client {
                    clients,
                    threads: 1,
                    tcp: path == "tcp",
                    seconds: choice.seconds,
                };
                let measured = in_rotation(choice.rounds, ALIKE.len(), |side| {
                    programs.run(ALIKE[side], workload, server, client)
                });
                let case = format!("{name} {path} {workload} {clients}");
                let measured = measured.and_then(|measured| told(name, workload, client, &measured));
                found.add(&case, measured);
            }
        }
    }
}

/// A row, and the same for programs.
fn told(name: &str, workload: &str, client: Client, measured: &[Vec<Cost>]) -> Result<(String, Value)> {
    let [sysbench, theirs, own] = measured else {
        return Err("not everything was measured".into());
    };
    let cpu = |costs: &[Cost]| Spread::of(costs.iter().map(Cost::cpu_us));
    let ratio = |costs: &[Cost], figure: fn(&Cost) -> f64| {
        Spread::of(
            costs
                .iter()
                .zip(sysbench)
                .map(|(dyno, peer)| figure(dyno) / figure(peer)),
        )
    };
    let ratios = [ratio(theirs, Cost::cpu_us), ratio(own, Cost::cpu_us)];
    let goal = goal(workload, client.clients);
    let reached = goal.map(|goal| ratios.iter().all(|ratio| ratio.median <= goal));
    let row = format!(
        "| {name} | {} | {workload} | {} | {} | {} | {} | {} | {} | {} | {} | {} | {} |\n",
        client.path(),
        client.clients,
        cpu(sysbench),
        cpu(theirs),
        cpu(own),
        ratios[0],
        ratios[1],
        goal.map_or("–".to_owned(), |goal| format!("{goal:.2}")),
        match reached {
            Some(true) => "yes",
            Some(false) => "no",
            None => "–",
        },
        ratio(theirs, |cost| cost.tps),
        ratio(own, |cost| cost.tps),
    );
    let programs = ALIKE.iter().zip(measured).map(|(program, runs)| {
        json!({
            "program": program.name(), "cpu_us": cpu(runs), "cpu_of_sysbench": ratio(runs, Cost::cpu_us), "runs": runs,
        })
    });
    let result = json!({
        "part": "cost", "server": name, "path": client.path(), "workload": workload, "connections": client.clients,
        "goal": goal, "reached": reached, "programs": programs.collect::<Vec<_>>(),
    });
    Ok((row, result))
}
