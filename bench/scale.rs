//! What many connections cost: CPU per transaction and memory of 10,000 clients beside 16 against the instant
//! responder, and of 500 clients beside pgbench on a real server.
//!
//!     cargo bench --bench scale -- [--pairs 10] [--seconds 5] [--clients 10000] [--only responder|server]

use dyno_bench::{
    BenchServer, Client, Cost, Result, Spread, Taken, archive, dyno_binary, in_turn, option, run_ceiling, run_dyno,
    run_pgbench,
};
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

/// The load that the many are compared with.
const FEW: usize = 16;

/// Clients on a real server: each is a process there.
const ON_SERVER: usize = 500;

fn main() -> Result<()> {
    let pairs: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let many: usize = option("--clients", 10_000)?;
    let only: String = option("--only", String::new())?;
    let dyno = dyno_binary()?;
    let mut table = String::new();
    let mut results = Vec::new();
    if only != "server" {
        let home = tempfile::tempdir()?;
        write!(
            table,
            "Against the responder, 1 thread:\n\n\
             | path | clients | CPU µs/tx | CPU µs/tx of {FEW} clients | CPU ratio | user ratio | responder's CPU \
             ratio | memory MB | memory MB of {FEW} clients | KB per client |\n\
             |---|---|---|---|---|---|---|---|---|---|\n"
        )?;
        for tcp in [false, true] {
            let path = if tcp { "tcp" } else { "unix" };
            let run = |clients| {
                let client = Client {
                    clients,
                    threads: 1,
                    tcp,
                    seconds,
                };
                run_ceiling(&dyno, client, home.path())
            };
            let measured: Vec<(Taken, Taken)> = in_turn(pairs, || run(many), || run(FEW))?;
            let spread = |figure: &dyn Fn(&(Taken, Taken)) -> f64| Spread::of(measured.iter().map(figure));
            let cpu_many = spread(&|(many, _)| many.cpu_us());
            let cpu_few = spread(&|(_, few)| few.cpu_us());
            let cpu = spread(&|(many, few)| many.cpu_us() / few.cpu_us());
            let user = spread(&|(many, few)| many.point.client_user_us / few.point.client_user_us);
            let responder = spread(&|(many, few)| many.point.responder_us / few.point.responder_us);
            let memory_many = spread(&|(many, _)| many.resident_kb as f64 / 1024.0);
            let memory_few = spread(&|(_, few)| few.resident_kb as f64 / 1024.0);
            let each = spread(&|(taken, few)| {
                (taken.resident_kb as f64 - few.resident_kb as f64) / many.saturating_sub(FEW).max(1) as f64
            });
            writeln!(
                table,
                "| {path} | {many} | {cpu_many} | {cpu_few} | {cpu} | {user} | {responder} | {memory_many:.1} | \
                 {memory_few:.1} | {each} |"
            )?;
            results.push(json!({
                "against": "responder", "path": path, "clients": many, "few": FEW,
                "cpu_us": cpu_many, "few_cpu_us": cpu_few, "cpu_ratio": cpu, "user_ratio": user,
                "responder_cpu_ratio": responder, "resident_mb": memory_many, "few_resident_mb": memory_few,
                    "kb_per_client": each,
                "pairs": measured.iter().map(|(many, few)| json!({ "many": many, "few": few })).collect::<Vec<_>>(),
            }));
        }
    }
    let mut server_text = String::new();
    if only != "responder" {
        let server = BenchServer::start()?;
        server_text = format!(" Server PostgreSQL {}.", server.version()?);
        write!(
            table,
            "\nOn a real server, beside pgbench -S -M prepared, 1 thread:\n\n\
             | path | clients | dyno CPU µs/tx | pgbench CPU µs/tx | CPU ratio | TPS ratio |\n\
             |---|---|---|---|---|---|\n"
        )?;
        for tcp in [false, true] {
            let path = if tcp { "tcp" } else { "unix" };
            let client = Client {
                clients: ON_SERVER,
                threads: 1,
                tcp,
                seconds,
            };
            let ours = || run_dyno(&dyno, &server, client, &["--no-sampling"]);
            let theirs = || run_pgbench(Command::new("pgbench"), &server, client, &["-S", "-M", "prepared"]);
            let measured: Vec<(Cost, Cost)> = in_turn(pairs, ours, theirs)?;
            let spread = |figure: &dyn Fn(&(Cost, Cost)) -> f64| Spread::of(measured.iter().map(figure));
            let our_cpu = spread(&|(dyno, _)| dyno.cpu_us());
            let their_cpu = spread(&|(_, pgbench)| pgbench.cpu_us());
            let cpu = spread(&|(dyno, pgbench)| dyno.cpu_us() / pgbench.cpu_us());
            let tps = spread(&|(dyno, pgbench)| dyno.tps / pgbench.tps);
            writeln!(
                table,
                "| {path} | {ON_SERVER} | {our_cpu} | {their_cpu} | {cpu} | {tps} |"
            )?;
            results.push(json!({
                "against": "server", "path": path, "clients": ON_SERVER,
                "dyno_cpu_us": our_cpu, "pgbench_cpu_us": their_cpu, "cpu_ratio": cpu, "tps_ratio": tps,
                "pairs": measured.iter().map(|(dyno, pgbench)| json!({ "dyno": dyno, "pgbench": pgbench }))
                    .collect::<Vec<_>>(),
            }));
        }
    }
    print!("{table}");
    let facts = json!({
        "summary": format!(
            "{pairs} pairs of {seconds} s runs in turn.{server_text} Each cell is the median (minimum–maximum); \
             ratios are pair by pair. Against the responder \
             CPU is that of the measured phase, connecting left out; the responder does nothing but receive and \
             send, so its ratio is the kernel's; KB per client is the highest resident memory above that with \
             {FEW} clients."
        ),
    });
    let path = archive("scale", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
