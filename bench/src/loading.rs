//! Loading sysbench's table: by dyno in this process, and by `sysbench prepare`.

use crate::client::{own_us, timed};
use crate::{BenchMariadb, Result, Server};
use dyno_script::Rows;
use dyno_target::mysql::load::fill_rows;
use dyno_target::target::{Fill, RowSource};
use serde::Serialize;
use std::process::Command;
use std::sync::atomic::AtomicBool;
use std::time::Instant;

/// What loading cost the client.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Loaded {
    /// CPU time.
    pub cpu_s: f64,
    /// From the first statement to the last, the index included.
    pub wall_s: f64,
}

/// sysbench's table, as `oltp_common.lua` has it.
const TABLE: &str = "create or replace table sbtest1 (id integer not null auto_increment, \
                     k integer default 0 not null, c char(120) default '' not null, \
                     pad char(60) default '' not null, primary key (id))";

/// Fills the table over so many connections.
///
/// # Errors
/// The server refuses it.
pub fn load_sbtest(server: &BenchMariadb, rows: u64, connections: usize) -> Result<Loaded> {
    let group = "#".repeat(11);
    let digits = |groups: usize| format!("pattern('{}')", vec![group.as_str(); groups].join("-"));
    let columns = [
        ("id", "row".to_owned()),
        ("k", format!("random(1, {rows})")),
        ("c", digits(10)),
        ("pad", digits(5)),
    ];
    let seed = 1;
    let fill = Fill {
        table: "sbtest1".to_owned(),
        rows,
        columns: columns.map(|(name, expression)| (name.to_owned(), expression)).to_vec(),
        source: RowSource::Seed(seed),
    };
    let expressions = fill.columns.iter();
    let expressions = expressions.map(|(name, expression)| (name.as_str(), expression.as_str()));
    let (before, started) = (own_us()?, Instant::now());
    let rows = Rows::compile(&fill.table, seed, expressions)?;
    let mut client = server.connect()?;
    client.work(TABLE)?;
    fill_rows(
        &mut client,
        &fill,
        &rows,
        connections,
        &AtomicBool::new(false),
        &mut |_| (),
    )?;
    client.work("create index k_1 on sbtest1 (k)")?;
    drop(client);
    let (wall_s, after) = (started.elapsed().as_secs_f64(), own_us()?);
    Ok(Loaded {
        cpu_s: (after.0 - before.0 + after.1 - before.1) / 1e6,
        wall_s,
    })
}

/// Has sysbench make and fill the table.
///
/// # Errors
/// It cannot be run, or fails.
pub fn prepare_sbtest(server: &BenchMariadb, rows: u64) -> Result<Loaded> {
    server.connect()?.work("drop table if exists sbtest1")?;
    let mut command = Command::new("sysbench");
    command
        .args(["oltp_read_write", &format!("--table-size={rows}"), "--tables=1"])
        .args(server.sysbench_options(false))
        .arg("prepare");
    let started = Instant::now();
    let (_, (user_us, system_us)) = timed(&mut command)?;
    Ok(Loaded {
        cpu_s: (user_us + system_us) / 1e6,
        wall_s: started.elapsed().as_secs_f64(),
    })
}
