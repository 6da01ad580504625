//! sysbench executing statements by key, timed from outside like the others.

use crate::client::{number_after, timed};
use crate::{Client, Cost, PointStatement, Result, Server};
use dyno_wire::Protocol;
use std::process::Command;

/// Runs a statement of sysbench on its table `sbtest1`, which has this many rows.
///
/// # Errors
/// It cannot be run, or its report cannot be read.
pub fn run_sysbench(
    server: &dyn Server,
    client: Client,
    statement: PointStatement,
    protocol: Protocol,
    rows: u64,
) -> Result<Cost> {
    let mut command = sysbench_command(server, client.tcp, statement, rows);
    command.args([
        format!("--threads={}", client.clients),
        format!("--time={}", client.seconds),
        // Otherwise it writes the ids into the texts itself.
        match protocol {
            Protocol::Simple => "--db-ps-mode=disable".to_owned(),
            _ => "--db-ps-mode=auto".to_owned(),
        },
    ]);
    let (output, cpu_us) = timed(command.arg("run"))?;
    let report = String::from_utf8_lossy(&output.stdout);
    let transactions = number_after(&report, "transactions:")?;
    Ok(Cost {
        transactions,
        tps: transactions / number_after(&report, "total time:")?,
        user_us: cpu_us.0 / transactions,
        system_us: cpu_us.1 / transactions,
    })
}

/// sysbench with its table and a statement, short of what is to be done with them. The ids are drawn evenly:
/// sysbench's usual distribution is its own.
#[must_use]
pub fn sysbench_command(server: &dyn Server, tcp: bool, statement: PointStatement, rows: u64) -> Command {
    let mut command = Command::new("sysbench");
    command
        .args([
            statement.sysbench(),
            "--rand-type=uniform",
            &format!("--table-size={rows}"),
        ])
        .args(server.sysbench_options(tcp));
    command
}
