//! Whether memory stays small and flat: the resident memory of a dyno that records every 10 ms, read from outside
//! every second.
//!
//!     cargo bench --bench memory -- [--minutes 10]

use dyno_bench::{BenchServer, Client, Result, archive, dyno_binary, dyno_command, option};
use serde_json::json;
use std::process::Stdio;
use std::time::Duration;

fn main() -> Result<()> {
    let minutes: u64 = option("--minutes", 10)?;
    let dyno = dyno_binary()?;
    let server = BenchServer::start()?;
    let folder = tempfile::tempdir()?;
    let client = Client {
        clients: 16,
        threads: 1,
        tcp: false,
        seconds: minutes * 60,
    };
    let mut command = dyno_command(&dyno, &server, client, folder.path());
    command
        .args(["--set", "interval=10ms"])
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    let mut child = command.spawn()?;
    let process = procfs::process::Process::new(child.id().cast_signed())?;
    let mut resident_kb = Vec::new();
    while child.try_wait()?.is_none() {
        if let Some(resident) = process.status().ok().and_then(|status| status.vmrss) {
            resident_kb.push(resident);
        }
        std::thread::sleep(Duration::from_secs(1));
    }
    // The first seconds are connecting, the last ones writing the summary.
    let last = resident_kb.len().saturating_sub(3);
    let at = |second: usize| resident_kb.get(second.min(last)).copied().unwrap_or(0) as f64 / 1024.0;
    let largest = resident_kb.iter().max().copied().unwrap_or(0) as f64 / 1024.0;
    let text = format!(
        "| resident memory, MB | |\n|---|---|\n| after 60 s | {:.2} |\n| after {minutes} min | {:.2} |\n| growth \
         after the first minute | {:.2} |\n| largest | {largest:.2} |\n",
        at(60),
        at(last),
        at(last) - at(60)
    );
    print!("{text}");
    let facts = json!({ "summary": format!("16 clients, 1 thread, select-only, intervals of 10 ms, {minutes} min.") });
    let results = json!({ "resident_kb_each_second": resident_kb });
    println!("\nKept in {}", archive("memory", facts, results, &text)?.display());
    Ok(())
}
