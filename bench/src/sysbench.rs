//! sysbench, and what takes its place, timed from outside like the others.

use crate::client::{number_after, peak_resident_kb, timed};
use crate::{Client, Cost, PointStatement, Result, Server};
use dyno_wire::Protocol;
use std::process::{Command, Stdio};

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
    // Otherwise it writes the ids into the texts itself.
    command.arg(match protocol {
        Protocol::Simple => "--db-ps-mode=disable",
        _ => "--db-ps-mode=auto",
    });
    run_sysbench_line(command, client)
}

/// Runs a command line of sysbench's, short of how many clients there are and how long they work.
///
/// # Errors
/// It cannot be run, or its report cannot be read.
pub fn run_sysbench_line(mut command: Command, client: Client) -> Result<Cost> {
    let (output, cpu_us) = timed(with_load(&mut command, client))?;
    let report = String::from_utf8_lossy(&output.stdout);
    // Without a database a report has events only.
    let transactions =
        number_after(&report, "transactions:").or_else(|_| number_after(&report, "total number of events:"))?;
    Ok(Cost {
        transactions,
        tps: transactions / number_after(&report, "total time:")?,
        user_us: cpu_us.0 / transactions,
        system_us: cpu_us.1 / transactions,
    })
}

/// Runs the same and tells how much memory it had resident at most, in kilobytes.
///
/// # Errors
/// It cannot be run, or fails.
pub fn sysbench_line_memory_kb(mut command: Command, client: Client) -> Result<u64> {
    with_load(&mut command, client)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::inherit());
    let mut child = command.spawn()?;
    let peak_kb = peak_resident_kb(&mut child)?;
    match child.wait()? {
        status if status.success() => Ok(peak_kb),
        status => Err(format!("{command:?} failed: {status}").into()),
    }
}

fn with_load(command: &mut Command, client: Client) -> &mut Command {
    command
        .arg(format!("--threads={}", client.clients))
        .arg(format!("--time={}", client.seconds))
        .arg("run")
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

/// Has sysbench make its table with so many rows.
///
/// # Errors
/// It cannot be run, or fails.
pub fn prepare_sysbench_table(server: &dyn Server, rows: u64) -> Result<()> {
    let mut command = sysbench_command(server, false, PointStatement::Select, rows);
    let prepared = command.arg("prepare").output()?;
    match prepared.status.success() {
        true => Ok(()),
        false => Err(format!("sysbench prepare: {}", String::from_utf8_lossy(&prepared.stdout)).into()),
    }
}
