//! sysbench doing its point selects, timed from outside like the others.

use crate::client::{number_after, timed};
use crate::{Client, Cost, Result, Server};
use std::process::Command;

/// Runs sysbench's point selects on its table `sbtest1`, which has this many rows.
///
/// # Errors
/// It cannot be run, or its report cannot be read.
pub fn run_sysbench(server: &dyn Server, client: Client, rows: u64) -> Result<Cost> {
    let mut command = sysbench_command(server, client.tcp, rows);
    command.args([
        format!("--threads={}", client.clients),
        format!("--time={}", client.seconds),
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

/// sysbench with its point selects, short of what is to be done with them. The ids are drawn evenly: sysbench's
/// usual distribution is its own.
#[must_use]
pub fn sysbench_command(server: &dyn Server, tcp: bool, rows: u64) -> Command {
    let mut command = Command::new("sysbench");
    command
        .args([
            "oltp_point_select",
            "--rand-type=uniform",
            &format!("--table-size={rows}"),
        ])
        .args(server.sysbench_options(tcp));
    command
}
