//! The measured initializations: `pgbench -i` by either program, timed from outside.

use crate::client::{server_environment, timed};
use crate::{BenchServer, Result};
use serde::Serialize;
use std::process::Command;
use std::time::Instant;

/// What is to be made.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct Initialization {
    /// Scale.
    pub scale: u32,
    /// Tables that skip the write-ahead log.
    pub unlogged: bool,
}

/// What it cost the process as a whole, start and end included.
#[derive(Clone, Copy, Debug, Serialize)]
pub struct InitializationCost {
    /// CPU time in user space.
    pub user_s: f64,
    /// CPU time in the kernel.
    pub system_s: f64,
    /// From start to end, vacuum and primary keys included.
    pub wall_s: f64,
    /// What the program says that generating the rows took.
    pub generate_s: f64,
}

impl InitializationCost {
    /// CPU time.
    #[must_use]
    pub fn cpu_s(&self) -> f64 {
        self.user_s + self.system_s
    }
}

/// Runs `program` with pgbench's options for an initialization.
///
/// # Errors
/// It cannot be run, or does not end with pgbench's closing sentence.
pub fn run_initialization(
    program: &mut Command,
    server: &BenchServer,
    what: Initialization,
) -> Result<InitializationCost> {
    server_environment(program, server, false);
    program.args(["-i", "-q", "-s", &what.scale.to_string()]);
    if what.unlogged {
        program.arg("--unlogged-tables");
    }
    let started = Instant::now();
    let (output, cpu_us) = timed(program)?;
    let wall_s = started.elapsed().as_secs_f64();
    let said = String::from_utf8_lossy(&output.stderr);
    let generate_s = said
        .rsplit_once("client-side generate ")
        .and_then(|(_, rest)| rest.split(' ').next()?.parse().ok())
        .ok_or_else(|| format!("{program:?} does not say how long generating took: {said}"))?;
    Ok(InitializationCost {
        user_s: cpu_us.0 / 1e6,
        system_s: cpu_us.1 / 1e6,
        wall_s,
        generate_s,
    })
}
