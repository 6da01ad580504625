//! Loads against the instant responder, as `dyno ceiling` measures them.

use crate::client::peak_resident_kb;
use crate::{Client, Result};
use dyno_record::{Ceiling, Point};
use serde::Serialize;
use std::io::Read;
use std::path::Path;
use std::process::{Command, Stdio};

/// What a load against the responder took.
#[derive(Debug, Serialize)]
pub struct Taken {
    /// What was measured.
    pub point: Point,
    /// The most memory that the process had, in kilobytes.
    pub resident_kb: u64,
}

impl Taken {
    /// CPU time of the clients per transaction.
    #[must_use]
    pub fn cpu_us(&self) -> f64 {
        self.point.client_user_us + self.point.client_system_us
    }
}

/// Runs `dyno ceiling` for one shape and watches its memory from outside.
///
/// # Errors
/// It cannot be run, or its output cannot be read.
pub fn run_ceiling(dyno: &Path, client: Client, home: &Path) -> Result<Taken> {
    let mut child = Command::new(dyno)
        .args([
            "ceiling",
            "--format",
            "json",
            "--path",
            if client.tcp { "tcp" } else { "unix" },
        ])
        .args([
            format!("--clients={}", client.clients),
            format!("--threads={}", client.threads),
        ])
        .arg(format!("--seconds={}", client.seconds))
        .env("DYNO_HOME", home)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::inherit())
        .spawn()?;
    let resident_kb = peak_resident_kb(&mut child)?;
    let mut text = String::new();
    child
        .stdout
        .take()
        .ok_or("dyno ceiling has no output")?
        .read_to_string(&mut text)?;
    let ceiling: Ceiling = serde_json::from_str(&text)?;
    let point = ceiling
        .points
        .into_iter()
        .next()
        .ok_or("dyno ceiling measured nothing")?;
    Ok(Taken { point, resident_kb })
}
