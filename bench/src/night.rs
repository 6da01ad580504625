//! A long run for reports to be made of: an interval each second, three workloads of several statements, and all
//! samples. It is made up and written through the archive's own writer; nobody has to wait eight hours for it.

use crate::Result;
use dyno_fixtures::{Fixture, Pace};
use std::path::Path;
use std::process::Command;
use std::time::Instant;

/// Begins a campaign of a single run of so many hours.
///
/// # Errors
/// It cannot be written.
pub fn begin_night(folder: &Path, hours: u32) -> std::result::Result<Fixture, dyno_fixtures::Error> {
    let workload = |name: &str, sql: &str| {
        format!("[[workload]]\nname = \"{name}\"\nclients = 8\nscript = '''\nbegin;\n{sql}\nend;\n'''\n")
    };
    let experiment = [
        "title = \"A long night\"\n".to_owned(),
        workload("update", "update accounts set balance = balance + 1 where id = 1;"),
        workload("ingest", "insert into history (id) values (1);"),
        workload("look-up", "select balance from accounts where id = 1;"),
        format!("[phases]\nwarmup = \"60s\"\nmeasure = \"{hours}h\"\ninterval = \"1s\"\n"),
    ];
    Fixture::begin(folder, "night", &experiment.concat(), "2026-11-21T22:00:00[UTC]")
}

/// How fast its workloads go.
#[must_use]
pub fn night_pace(workload: &str) -> Pace {
    let (tps, error) = match workload {
        "look-up" => (12_000.0, ""),
        "ingest" => (4_000.0, "ERROR: deadlock detected"),
        _ => (4_000.0, ""),
    };
    Pace {
        tps,
        spread: 0.03,
        error: error.to_owned(),
    }
}

/// Has `dyno report` write `file` in the form `form` ("html", "json", "csv"), and gives how long it took, in seconds.
///
/// # Errors
/// It cannot be run, or fails.
pub fn report_wall_s(dyno: &Path, form: &str, file: &Path, campaign: &Path) -> Result<f64> {
    let began = Instant::now();
    let words = ["report", "--format", form, "--output"];
    let done = Command::new(dyno).args(words).arg(file).arg(campaign).output()?;
    if !done.status.success() {
        return Err(String::from_utf8_lossy(&done.stderr).into());
    }
    Ok(began.elapsed().as_secs_f64())
}
