//! Memory per session: what a process has resident with many sessions, less what it has with few.

use crate::programs::Programs;
use crate::running::Running;
use crate::standin::StandIn;
use dyno_bench::Result;
use serde_json::{Value, json};
use std::thread::sleep;
use std::time::Duration;

/// The few sessions that the many are compared with.
const FEW: usize = 10;

const HEAD: &str = "\n| program | sessions | memory MB | memory MB with 10 | bytes per session | dyno's part of it |\n\
                    |---|---|---|---|---|---|\n";

/// Measures each program once.
pub fn measure(programs: &Programs, standin: &mut StandIn, sessions: usize, text: &mut String) -> Result<Value> {
    print!("{HEAD}");
    text.push_str(HEAD);
    let mut results = Vec::new();
    let mut dynos = None;
    for (program, _) in &programs.there {
        let logs = tempfile::tempdir()?;
        let log = logs.path().join("log");
        let mut resident = |sessions| {
            let running = Running::start(programs, *program, sessions, standin, &log)?;
            // Whatever comes with being at work is there by then.
            sleep(Duration::from_secs(2));
            running.resident()
        };
        let (few, many) = (resident(FEW)?, resident(sessions)?);
        let each = (many as f64 - few as f64) / sessions.saturating_sub(FEW).max(1) as f64;
        let dyno = *dynos.get_or_insert(each);
        let mb = |bytes: u64| bytes as f64 / f64::from(1 << 20);
        let row = format!(
            "| {} | {sessions} | {:.1} | {:.1} | {each:.0} | {:.2} |\n",
            program.name(),
            mb(many),
            mb(few),
            dyno / each
        );
        print!("{row}");
        text.push_str(&row);
        results.push(json!({
            "program": program.name(), "sessions": sessions, "resident_bytes": many, "few": FEW,
            "resident_bytes_of_few": few, "bytes_per_session": each,
        }));
    }
    Ok(json!(results))
}
