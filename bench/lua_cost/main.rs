//! What Lua costs: `dyno sysbench` beside sysbench 1.0 with the same scripts on the same servers, in rounds in which
//! all run one after the other.
//!
//!     cargo bench --bench lua_cost -- [--pairs 3] [--seconds 2] [--parts cost,responder,memory,split]
//!         [--database mariadb,postgres] [--workloads oltp_point_select,oltp_read_only,oltp_read_write]
//!         [--connections 1,16,64,256,1000] [--paths unix] [--scripts /usr/share/sysbench] [--many 5000]
//!         [--split-connections 256]
//!
//! Parts: `cost`, CPU of the client per event; `responder`, events per second from a server that answers at once;
//! `memory`; and `split`, what of dyno's CPU is Lua's, what the protocol's and what the kernel's. The scripts are those
//! that came with sysbench, which both execute, and dyno's own of the same names. With defaults it takes about a
//! quarter of an hour.

mod beside;
mod memory;
mod programs;
mod responder;
mod split;

use dyno_bench::{
    BUSY_MARIADB, BUSY_POSTGRES, BenchMariadb, BenchServer, Result, Server, archive, dyno_binary, option,
    prepare_sysbench_table,
};
use dyno_engine::raise_descriptor_limit;
use programs::Programs;
use serde_json::{Value, json};
use std::path::PathBuf;
use std::process::Command;

/// Rows of the only table.
const ROWS: u64 = 100_000;

/// What the command line asks for, for all parts.
struct Choice {
    rounds: usize,
    seconds: u64,
    connections: Vec<usize>,
    workloads: Vec<String>,
    paths: Vec<String>,
    many: usize,
    split_connections: Vec<usize>,
}

/// What was measured, and what could not be.
#[derive(Default)]
struct Found {
    text: String,
    results: Vec<Value>,
    failures: Vec<String>,
}

impl Found {
    /// Adds to the text, and shows it.
    fn say(&mut self, text: &str) {
        print!("{text}");
        self.text.push_str(text);
    }

    /// Takes in a row with its figures. What fails is told at the end: the other cases are no worse for it.
    fn add(&mut self, case: &str, measured: Result<(String, Value)>) {
        match measured {
            Ok((row, result)) => {
                self.say(&row);
                self.results.push(result);
            }
            Err(error) => {
                eprintln!("{case}: {error}");
                self.failures.push(format!("{case}: {error}"));
            }
        }
    }
}

fn list<T: std::str::FromStr>(name: &str, default: &str) -> Result<Vec<T>> {
    let words: String = option(name, default.to_owned())?;
    let values = words.split(',').map(str::parse);
    values
        .collect::<std::result::Result<_, _>>()
        .map_err(|_| format!("{name} {words} is not valid").into())
}

fn main() -> Result<()> {
    let choice = Choice {
        rounds: option("--pairs", 3)?,
        seconds: option("--seconds", 2)?,
        connections: list("--connections", "1,16,64,256,1000")?,
        workloads: list("--workloads", "oltp_point_select,oltp_read_only,oltp_read_write")?,
        paths: list("--paths", "unix")?,
        many: option("--many", 5000)?,
        split_connections: list("--split-connections", "256")?,
    };
    let parts: Vec<String> = list("--parts", "cost,responder,memory,split")?;
    let databases: Vec<String> = list("--database", "mariadb,postgres")?;
    let scripts: PathBuf = option("--scripts", PathBuf::from("/usr/share/sysbench"))?;
    let Ok(version) = Command::new("sysbench").arg("--version").output() else {
        println!("Skipped: there is no sysbench on the PATH. Debian's package is called sysbench.");
        return Ok(());
    };
    let sysbench = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    // Servers and programs inherit the limit.
    raise_descriptor_limit();
    let dyno = dyno_binary()?;
    let programs = Programs::new(&dyno, &scripts, ROWS)?;
    let wants = |part: &str| parts.iter().any(|each| each == part);
    let mut found = Found::default();
    let mut versions = Vec::new();
    for name in &databases {
        let server: Box<dyn Server> = match name.as_str() {
            "mariadb" => {
                let server = BenchMariadb::start_with(&BUSY_MARIADB)?;
                versions.push(format!("MariaDB {}", server.version()?));
                Box::new(server)
            }
            "postgres" => {
                let server = BenchServer::start_with(&BUSY_POSTGRES)?;
                versions.push(format!("PostgreSQL {}", server.version()?));
                Box::new(server)
            }
            other => return Err(format!("there is no database \"{other}\", only mariadb and postgres").into()),
        };
        prepare_sysbench_table(&*server, ROWS)?;
        if wants("cost") {
            beside::measure(&mut found, &programs, name, &*server, &choice);
        }
        if wants("split") {
            split::measure(&mut found, &programs, name, &*server, &choice);
        }
        if wants("memory") {
            memory::measure(&mut found, &programs, name, &*server, &choice);
        }
    }
    if wants("responder") {
        responder::measure(&mut found, &programs, &choice)?;
    }
    if !found.failures.is_empty() {
        let failures = found.failures.join("\n* ");
        found.say(&format!("\nNot measured:\n\n* {failures}\n"));
    }
    let Choice { rounds, seconds, .. } = choice;
    let facts = json!({
        "summary": format!(
            "Servers: {}; {sysbench}; evenly drawn ids on {ROWS} rows in one table, prepared statements; writes are \
             not waited for to be durable. {rounds} rounds in which each program runs once for {seconds} s, one after \
             the other, the first one changing. CPU is that of the client process, user and system, its start and end \
             and the making of connections included. Each cell is the median (minimum–maximum); ratios are round by \
             round. \"its script\" is the one that came with sysbench, executed by dyno; \"own\" is dyno's of that \
             name; both beside sysbench with its script.",
            versions.join(" and "),
        ),
        "failures": found.failures,
    });
    let path = archive("lua-cost", facts, json!(found.results), &found.text)?;
    println!("\nKept in {}", path.display());
    match found.failures.as_slice() {
        [] => Ok(()),
        failures => Err(format!("{} cases could not be measured", failures.len()).into()),
    }
}
