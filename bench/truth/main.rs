//! Whether what dyno prints is true: every figure beside one that was found independently of dyno. `docs/truth.md`
//! says what is checked against what.
//!
//!     cargo bench -p dyno-bench --bench truth -- [--seconds 3] [--rounds 3] [--filter "open loop"]
//!
//! It needs pgbench on the PATH and a machine at rest. A case lasts so many seconds, one at the scripted server
//! twice that in each round. With `--filter` only cases whose names contain the text are run.

#[path = "../../crates/dyno-engine/tests/support/mod.rs"]
mod support;

mod check;
mod design;
mod pgbench;
mod process;
mod run;
mod scripted;

use check::Check;
use design::Path;
use dyno_bench::{BenchServer, Result, archive, dyno_binary, option};
use process::Bed;
use serde_json::json;
use std::process::ExitCode;

fn main() -> Result<ExitCode> {
    let seconds: u64 = option("--seconds", 3)?;
    let rounds: usize = option("--rounds", 3)?;
    let filter: String = option("--filter", String::new())?;
    let wanted = |name: &str| name.contains(&filter);
    dyno_engine::raise_descriptor_limit();
    let bed = Bed {
        dyno: dyno_binary()?,
        server: BenchServer::start_with(&[("shared_preload_libraries", "pg_stat_statements")])?,
        seconds,
    };
    bed.server
        .connect()?
        .batch_execute("create extension if not exists pg_stat_statements")?;

    let mut checks: Vec<Check> = Vec::new();
    let mut broken = Vec::new();
    let mut count = 0;
    let mut look = |name: &str, run: &dyn Fn() -> Result<Vec<Check>>| {
        if !wanted(name) {
            return;
        }
        count += 1;
        match run() {
            Ok(list) => {
                let misses = list.iter().filter(|check| !check.holds()).count();
                println!("{name}: {} checks, {misses} misses", list.len());
                checks.extend(list);
            }
            Err(error) => {
                println!("{name}: {error}");
                broken.push((name.to_owned(), error.to_string()));
            }
        }
    };
    for case in design::cases() {
        look(&case.to_string(), &|| match case.path {
            Path::Engine => scripted::check(&case, seconds, rounds),
            Path::Run { tcp } => run::by_address(&bed, &case, tcp),
            Path::Embedded => run::embedded(&bed, &case),
            Path::Pgbench { tcp } => pgbench::check(&bed, &case, tcp),
        });
    }
    for transport in ["auto", "epoll", "io_uring"] {
        let name = format!("errors, {transport}");
        look(&name, &|| scripted::errors(&name, transport, seconds));
    }
    look("stall", &|| scripted::stall("stall"));
    look("skipping", &|| pgbench::skipping(&bed, "skipping"));
    look("reconnecting", &|| pgbench::reconnecting(&bed, "reconnecting"));
    look("server's log", &|| pgbench::logged(&bed, "server's log"));

    let table = check::table(&checks, &broken)?;
    println!("\n{table}");
    let version = bed.server.version()?;
    let summary = format!(
        "PostgreSQL {version}. {count} cases of {seconds} s; at the scripted server medians of {rounds} rounds in \
         turn with a stopwatch."
    );
    let facts = json!({ "summary": summary, "server": version, "broken": broken });
    println!("Kept in {}", archive("truth", facts, json!(checks), &table)?.display());
    let true_throughout = broken.is_empty() && checks.iter().all(Check::holds);
    Ok(if true_throughout {
        ExitCode::SUCCESS
    } else {
        ExitCode::FAILURE
    })
}
