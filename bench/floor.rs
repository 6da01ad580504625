//! The least that a client can cost on this machine: loops that do nothing but send a look-up and wait for its end,
//! beside pgbench on the same server.
//!
//!     cargo bench --bench floor -- [--rounds 10] [--seconds 5] [--only unix-16-io_uring]
//!
//! They record nothing, cannot fail in order, and know the shape of the one reply they wait for: what they cost is
//! the kernel's work and hardly more. What dyno is above them is what dyno itself costs; what they are below
//! pgbench is all that any client could save.

use dyno_bench::{
    BareLoop, BenchServer, Client, Cost, Result, Spread, archive, dyno_binary, in_rotation, option, run_dyno,
    run_pgbench,
};
use dyno_wire::Protocol;
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

/// Clients on one thread, the loop, and dyno's transport that is like it.
const LOADS: [(usize, BareLoop, &str); 5] = [
    (16, BareLoop::IoUring, "io_uring"),
    (16, BareLoop::Epoll, "epoll"),
    (1, BareLoop::Blocking, "auto"),
    (1, BareLoop::IoUring, "io_uring"),
    (500, BareLoop::IoUring, "io_uring"),
];
const STATEMENT: &str = "SELECT abalance FROM pgbench_accounts WHERE aid = $1";

/// Who is measured.
const SIDES: [&str; 3] = ["loop", "dyno", "pgbench"];

fn main() -> Result<()> {
    let rounds: usize = option("--rounds", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let only: String = option("--only", String::new())?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let mut table =
        "| path | clients | loop | by | CPU µs/tx | user µs | system µs | CPU / pgbench's | TPS / pgbench's |\n\
                     |---|---|---|---|---|---|---|---|---|\n"
            .to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for tcp in [false, true] {
        for (clients, work, transport) in LOADS {
            let path = if tcp { "tcp" } else { "unix" };
            if !format!("{path}-{clients}-{work}").starts_with(&only) {
                continue;
            }
            let client = Client {
                clients,
                threads: 1,
                tcp,
                seconds,
            };
            let side = |side: usize| match SIDES[side] {
                "loop" => work.run(&server, client, STATEMENT, Protocol::Prepared),
                "dyno" => run_dyno(&dyno, &server, client, &["--no-sampling", "--transport", transport]),
                _ => run_pgbench(Command::new("pgbench"), &server, client, &["-S", "-M", "prepared"]),
            };
            let measured = in_rotation(rounds, SIDES.len(), side)?;
            let pgbench = measured.last().ok_or("nothing was measured")?;
            for (name, costs) in SIDES.iter().zip(&measured) {
                let spread = |figure: fn(&Cost) -> f64| Spread::of(costs.iter().map(figure));
                let ratio = |figure: fn(&Cost) -> f64| {
                    let pairs = costs.iter().zip(pgbench);
                    Spread::of(pairs.map(|(cost, pgbench)| figure(cost) / figure(pgbench)))
                };
                let row = format!(
                    "| {path} | {clients} | {work} | {name} | {} | {} | {} | {} | {} |\n",
                    spread(Cost::cpu_us),
                    spread(|cost| cost.user_us),
                    spread(|cost| cost.system_us),
                    ratio(Cost::cpu_us),
                    ratio(|cost| cost.tps),
                );
                print!("{row}");
                write!(table, "{row}")?;
                results.push(json!({
                    "path": path, "clients": clients, "loop": work.to_string(), "by": name,
                    "cpu_ratio": ratio(Cost::cpu_us), "runs": costs,
                }));
            }
        }
    }
    let facts = json!({
        "summary": format!(
            "Server PostgreSQL {}; select-only, prepared, one thread; {rounds} rounds of a run of {seconds} s each \
             of the loop, dyno and pgbench in turn. \
             Each cell is the median (minimum–maximum); ratios are round by round.",
            server.version()?
        ),
    });
    println!(
        "\nKept in {}",
        archive("floor", facts, json!(results), &table)?.display()
    );
    Ok(())
}
