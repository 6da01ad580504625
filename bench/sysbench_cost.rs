//! Client CPU per transaction and throughput of dyno beside sysbench 1.0, mariadb-slap and the bare loop: selects and
//! updates by key, prepared and as text, from 1 to 1,000 connections, on PostgreSQL and MariaDB. In each round all run
//! one after the other on the same server.
//!
//!     cargo bench --bench sysbench_cost -- [--pairs 10] [--seconds 5] [--only mariadb-unix-256-select-prepared]
//!         [--connections 1,16,256,1000] [--programs dyno,sysbench,mariadb-slap,loop]
//!
//! `--only` takes the begin of a case's name. With `epoll` among the programs a bare loop over readiness runs, too.

use dyno_bench::{
    BUSY_MARIADB, BUSY_POSTGRES, BenchMariadb, BenchServer, Case, Client, Cost, Peer, PointStatement, Result, Server,
    Slap, Spread, archive, dyno_binary, in_rotation, option, prepare_sysbench_table,
};
use dyno_engine::raise_descriptor_limit;
use dyno_wire::Protocol;
use serde_json::json;
use std::fmt::Write;
use std::process::Command;

/// Rows of sysbench's table.
const ROWS: u64 = 100_000;

/// Table of what was measured, a case a row.
const HEAD: &str = "| server | path | connections | statement | protocol | dyno CPU µs/tx | sysbench CPU µs/tx | \
                    mariadb-slap CPU µs/tx | bare loop CPU µs/tx | dyno / sysbench | dyno / mariadb-slap | \
                    loop / sysbench | user dyno / sysbench | TPS dyno / sysbench |\n\
                    |---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n";

/// What all programs cost in a case, round by round.
struct Measured<'a> {
    case: Case<'a>,
    programs: Vec<(Peer, Vec<Cost>)>,
}

impl Measured<'_> {
    fn of(&self, peer: Peer) -> Option<&[Cost]> {
        let found = self.programs.iter().find(|(program, _)| *program == peer);
        found.map(|(_, costs)| costs.as_slice())
    }

    fn cpu_us(&self, peer: Peer) -> Option<Spread> {
        Some(Spread::of(self.of(peer)?.iter().map(Cost::cpu_us)))
    }

    /// How a figure of one is to that of the other, round by round.
    fn ratio(&self, one: Peer, other: Peer, figure: fn(&Cost) -> f64) -> Option<Spread> {
        let pairs = self.of(one)?.iter().zip(self.of(other)?);
        Some(Spread::of(pairs.map(|(one, other)| figure(one) / figure(other))))
    }

    fn row(&self) -> String {
        let Case { name, client, .. } = self.case;
        let figures = [
            self.cpu_us(Peer::Dyno),
            self.cpu_us(Peer::Sysbench),
            self.cpu_us(Peer::Slap),
            self.cpu_us(Peer::Loop),
            self.ratio(Peer::Dyno, Peer::Sysbench, Cost::cpu_us),
            self.ratio(Peer::Dyno, Peer::Slap, Cost::cpu_us),
            self.ratio(Peer::Loop, Peer::Sysbench, Cost::cpu_us),
            self.ratio(Peer::Dyno, Peer::Sysbench, |cost| cost.user_us),
            self.ratio(Peer::Dyno, Peer::Sysbench, |cost| cost.tps),
        ];
        let figures = figures.map(|figure| figure.map_or("–".to_owned(), |figure| figure.to_string()));
        format!(
            "| {name} | {} | {} | {} | {} | {} |\n",
            client.path(),
            client.clients,
            self.case.statement,
            self.case.protocol_name(),
            figures.join(" | ")
        )
    }

    fn json(&self) -> serde_json::Value {
        let Case { name, client, .. } = self.case;
        let programs = self.programs.iter().map(|(peer, runs)| {
            let ratio = |figure| self.ratio(*peer, Peer::Sysbench, figure);
            json!({
                "program": peer.name(), "cpu_us": self.cpu_us(*peer), "cpu_of_sysbench": ratio(Cost::cpu_us),
                "tps_of_sysbench": ratio(|cost| cost.tps), "runs": runs,
            })
        });
        json!({
            "server": name, "path": client.path(), "connections": client.clients,
            "statement": self.case.statement.to_string(), "protocol": self.case.protocol_name(),
            "programs": programs.collect::<Vec<_>>(),
        })
    }
}

/// All cases on a server.
fn cases<'a>(name: &'a str, server: &'a dyn Server, connections: &[usize], seconds: u64) -> Vec<Case<'a>> {
    let mut cases = Vec::new();
    for tcp in [false, true] {
        for &clients in connections {
            let client = Client {
                clients,
                threads: 1,
                tcp,
                seconds,
            };
            for statement in PointStatement::ALL {
                for protocol in [Protocol::Prepared, Protocol::Simple] {
                    cases.push(Case {
                        name,
                        server,
                        client,
                        statement,
                        protocol,
                    });
                }
            }
        }
    }
    cases
}

fn main() -> Result<()> {
    let rounds: usize = option("--pairs", 10)?;
    let seconds: u64 = option("--seconds", 5)?;
    let only: String = option("--only", String::new())?;
    let connections: String = option("--connections", "1,16,256,1000".to_owned())?;
    let connections = connections
        .split(',')
        .map(str::parse)
        .collect::<std::result::Result<Vec<usize>, _>>()?;
    let programs = Peer::of_list(&option("--programs", "dyno,sysbench,mariadb-slap,loop".to_owned())?)?;
    let Ok(version) = Command::new("sysbench").arg("--version").output() else {
        println!("Skipped: there is no sysbench on the PATH. Debian's package is called sysbench.");
        return Ok(());
    };
    let sysbench = String::from_utf8_lossy(&version.stdout).trim().to_owned();
    let slap = Slap::find()?;
    let slap_version = slap.as_ref().map_or("no mariadb-slap", Slap::version);
    // Servers and programs inherit the limit.
    raise_descriptor_limit();
    let dyno = dyno_binary()?;
    let postgres = BenchServer::start_with(&BUSY_POSTGRES)?;
    let mariadb = BenchMariadb::start_with(&BUSY_MARIADB)?;
    let servers: [(&str, &dyn Server); 2] = [("postgres", &postgres), ("mariadb", &mariadb)];
    let mut table = HEAD.to_owned();
    print!("{table}");
    let mut results = Vec::new();
    for (name, server) in servers {
        let cases = cases(name, server, &connections, seconds);
        let cases: Vec<_> = cases
            .into_iter()
            .filter(|case| case.to_string().starts_with(&only))
            .collect();
        if cases.is_empty() {
            continue;
        }
        prepare_sysbench_table(server, ROWS)?;
        for case in cases {
            let there = |peer: &Peer| case.is_for(*peer) && (*peer != Peer::Slap || slap.is_some());
            let programs: Vec<Peer> = programs.iter().copied().filter(there).collect();
            // As many as the run before had in a second.
            let mut expected_tps = 5000.0;
            let measured = in_rotation(rounds, programs.len(), |side| {
                let cost = case.run(programs[side], &dyno, slap.as_ref(), ROWS, expected_tps)?;
                expected_tps = cost.tps;
                Ok(cost)
            });
            let measured = measured.map_err(|error| format!("{case}: {error}"))?;
            let measured = Measured {
                case,
                programs: programs.into_iter().zip(measured).collect(),
            };
            let row = measured.row();
            print!("{row}");
            write!(table, "{row}")?;
            results.push(measured.json());
        }
    }
    let facts = json!({
        "summary": format!(
            "Servers PostgreSQL {} and MariaDB {}, {sysbench}, {slap_version}; sysbench's oltp_point_select and \
             oltp_update_index with evenly drawn ids on {ROWS} rows, prepared once per connection or with the id in \
             the text; updates are not waited for to be durable. {rounds} rounds in which each program runs once for \
             {seconds} s, one after the other, the first one changing; start and end of the process are included, but \
             not for the bare loop. dyno and the loop have one thread, the others one for each connection. \
             mariadb-slap executes a list of 1000 statements, in updates with the id shifted by the connection's \
             number. Each cell is the median (minimum–maximum); ratios are round by round.",
            postgres.version()?,
            mariadb.version()?
        ),
    });
    let path = archive("sysbench-cost", facts, json!(results), &table)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
