//! The most memory that `dyno sysbench` has resident, beside sysbench with as many connections, and with more than
//! sysbench is asked for.

use crate::programs::{ALIKE, Program, Programs};
use crate::{Choice, Found};
use dyno_bench::{Client, Server, Spread, in_rotation};
use serde_json::{Value, json};

/// The workload with the most statements.
const WORKLOAD: &str = "oltp_read_write";
const CONNECTIONS: usize = 1000;

/// Of sysbench's memory, and kilobytes per client, by issue 16.
const GOAL: f64 = 0.5;
const GOAL_KB: f64 = 250.0;

const HEAD: &str = "| server | program | connections | peak memory MB | of sysbench's | KB per client | goal | reached \
                    |\n|---|---|---|---|---|---|---|---|\n";

/// Measures it on a server. So many clients as are asked for with `--many` only MariaDB lets in.
pub fn measure(found: &mut Found, programs: &Programs<'_>, name: &str, server: &dyn Server, choice: &Choice) {
    found.say(&format!("\n## Memory, {WORKLOAD}, {name}\n\n{HEAD}"));
    let with = |clients| Client {
        clients,
        threads: 1,
        tcp: false,
        seconds: 1,
    };
    let measured = in_rotation(choice.rounds.min(2), ALIKE.len(), |side| {
        programs.memory_kb(ALIKE[side], WORKLOAD, server, with(CONNECTIONS))
    });
    let measured = measured.map(|measured| beside(name, &measured));
    found.add(&format!("{name} memory {CONNECTIONS}"), measured);
    if name != "mariadb" {
        return;
    }
    for program in [Program::Theirs, Program::Own] {
        let measured = programs.memory_kb(program, WORKLOAD, server, with(choice.many));
        let measured = measured.map(|peak_kb| many(name, program, choice.many, peak_kb));
        found.add(&format!("{name} memory {}", choice.many), measured);
    }
}

fn beside(name: &str, measured: &[Vec<u64>]) -> (String, Value) {
    let mut rows = String::new();
    let mut results = Vec::new();
    for (program, peaks_kb) in ALIKE.iter().zip(measured) {
        let spread = |divisor: f64| Spread::of(peaks_kb.iter().map(|&peak_kb| peak_kb as f64 / divisor));
        let pairs = peaks_kb.iter().zip(measured.iter().take(1).flatten());
        let ratio = Spread::of(pairs.map(|(&dyno, &peer)| dyno as f64 / peer as f64));
        let (goal, reached) = match *program == Program::Sysbench {
            true => ("–".to_owned(), "–"),
            false => (format!("{GOAL}"), if ratio.median <= GOAL { "yes" } else { "no" }),
        };
        rows += &format!(
            "| {name} | {} | {CONNECTIONS} | {:.1} | {ratio} | {:.0} | {goal} | {reached} |\n",
            program.name(),
            spread(1024.0),
            spread(CONNECTIONS as f64),
        );
        results.push(json!({ "program": program.name(), "of_sysbench": ratio, "peaks_kb": peaks_kb }));
    }
    let result = json!({
        "part": "memory", "server": name, "connections": CONNECTIONS, "goal": GOAL, "programs": results,
    });
    (rows, result)
}

fn many(name: &str, program: Program, clients: usize, peak_kb: u64) -> (String, Value) {
    let each_kb = peak_kb as f64 / clients as f64;
    let row = format!(
        "| {name} | {} | {clients} | {:.1} | – | {each_kb:.0} | {GOAL_KB:.0} KB per client | {} |\n",
        program.name(),
        peak_kb as f64 / 1024.0,
        if each_kb <= GOAL_KB { "yes" } else { "no" },
    );
    let result = json!({
        "part": "memory", "server": name, "connections": clients, "goal_kb": GOAL_KB, "program": program.name(),
        "peak_kb": peak_kb, "kb_per_client": each_kb,
    });
    (row, result)
}
