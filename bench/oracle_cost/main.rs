//! Client CPU per select by key from Oracle, parses per select, and memory per session: dyno beside Oracle's drivers
//! for Rust, Java, JavaScript and Python, against the stand-in for an Oracle server, which answers at once.
//!
//!     cargo bench --bench oracle_cost -- [--rounds 8] [--slice-ms 1000] [--connections 1,8] [--profile 23]
//!         [--parts cost,memory] [--sessions 1000] [--programs dyno,crate,ojdbc11,node,python]
//!
//! All programs connect and warm up, and are then stopped. In each round each works for a slice of time, so neither
//! start-up nor log-in counts. The stand-in is a process on a core of its own.

mod cost;
mod memory;
mod programs;
mod running;
mod standin;

use dyno_bench::{BenchServer, Result, archive, option};
use dyno_engine::raise_descriptor_limit;
use programs::Programs;
use running::{STANDIN_CORE, on_core};
use serde_json::json;
use standin::StandIn;
use std::time::Duration;

/// What the drivers execute; dyno's script is the same with its own placeholder.
const STATEMENT: &str = "select info from tbl where id = :1";
/// Ids are drawn from as many.
const ROWS: usize = 1000;
/// The value that each select brings.
const ANSWER: &str = "2016-05-01 10:11:12.345678+00";

fn main() -> Result<()> {
    // Both processes inherit the limit.
    raise_descriptor_limit();
    if standin::is_asked_for() {
        return standin::serve();
    }
    let rounds: usize = option("--rounds", 8)?;
    let slice = Duration::from_millis(option("--slice-ms", 1000)?);
    let connections: String = option("--connections", "1,8".to_owned())?;
    let sessions: usize = option("--sessions", 1000)?;
    let parts: String = option("--parts", "cost,memory".to_owned())?;
    let profile: String = option("--profile", "23".to_owned())?;
    standin::profile(&profile)?;
    let programs = Programs::prepare(&option("--programs", String::new())?)?;
    for reason in &programs.left_out {
        println!("Left out: {reason}");
    }
    let server = BenchServer::start()?;
    let mut standin = on_core(STANDIN_CORE, || StandIn::start(&server, &profile))??;
    let mut text = String::new();
    let mut results = json!({});
    if parts.split(',').any(|part| part == "cost") {
        let connections = connections
            .split(',')
            .map(str::parse)
            .collect::<std::result::Result<Vec<usize>, _>>()?;
        results["cost"] = cost::measure(&programs, &mut standin, &connections, rounds, slice, &mut text)?;
    }
    if parts.split(',').any(|part| part == "memory") {
        results["memory"] = memory::measure(&programs, &mut standin, sessions, &mut text)?;
    }
    standin.finish()?;
    let versions = programs
        .there
        .iter()
        .map(|(program, version)| format!("{} {version}", program.name()));
    let versions: Vec<String> = versions.collect();
    let facts = json!({
        "summary": format!(
            "`{STATEMENT}`, one NUMBER bound, one row of {} bytes of text; TCP on 127.0.0.1. The stand-in is a \
             {profile} and answers from memory, on a core of its own; so it says nothing about an Oracle server. The \
             programs have the other core, one after the other: all have connected and warmed up and are \
             stopped when it is not \
             their turn; {rounds} rounds of slices of {} ms, the first program changing. CPU is that of the whole \
             process, user and system. dyno has one thread for all connections, node-oracledb one event loop, the \
             others a thread for each connection. Each cell is the median (minimum–maximum); ratios are round by \
             round. {}.",
            ANSWER.len(), slice.as_millis(), versions.join("; ")
        ),
        "left_out": programs.left_out,
    });
    let path = archive("oracle-cost", facts, results, &text)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
