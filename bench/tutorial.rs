//! How long the tutorial takes somebody who follows it word for word: every command of `docs/tutorial.md` after dyno is
//! built, in a new folder, as it stands there.
//!
//!     cargo bench -p dyno-bench --bench tutorial
//!
//! The servers that dyno keeps in its home folder are used, so the fetching of PostgreSQL is only in it the first time;
//! `DYNO_HOME` says otherwise. The time of reading and of looking at reports is the reader's.

use dyno_bench::{Result, archive, dyno_binary};
use serde_json::json;
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

const TUTORIAL: &str = include_str!("../docs/tutorial.md");

/// How commands of the tutorial begin, but for those that build dyno.
const COMMANDS: [&str; 4] = ["dyno ", "mkdir ", "cd ", "tar "];

/// A command, and how long it took.
struct Step {
    command: String,
    seconds: f64,
}

/// Executes the commands in one shell whose home is `home`, and times each.
fn follow(dyno: &Path, home: &Path) -> Result<Vec<Step>> {
    let lines = TUTORIAL.lines().filter_map(|line| line.strip_prefix("    "));
    let commands: Vec<&str> = lines
        .filter(|line| COMMANDS.iter().any(|begin| line.starts_with(begin)))
        .collect();
    let mut script = "echo \"$EPOCHREALTIME\" > ~/times\n".to_owned();
    for command in &commands {
        writeln!(script, "{command}\necho \"$EPOCHREALTIME\" >> ~/times")?;
    }
    let programs = dyno.parent().ok_or("dyno is in no folder")?;
    let path = std::env::var("PATH").unwrap_or_default();
    let status = Command::new("bash")
        .args(["-e", "-c", &script])
        .current_dir(home)
        .env("HOME", home)
        .env("PATH", format!("{}:{path}", programs.display()))
        .env_remove("DYNO_ARCHIVE")
        .stdin(Stdio::null())
        .status()?;
    let times = std::fs::read_to_string(home.join("times"))?;
    let times: Vec<f64> = times.lines().map(str::parse).collect::<std::result::Result<_, _>>()?;
    if !status.success() {
        let failed = commands.get(times.len() - 1).unwrap_or(&"the last one");
        return Err(format!("this command failed: {failed}").into());
    }
    let took = times.windows(2).map(|pair| pair[1] - pair[0]);
    let steps = commands.iter().zip(took).map(|(command, seconds)| Step {
        command: (*command).to_owned(),
        seconds,
    });
    Ok(steps.collect())
}

/// The pages and papers that were written.
fn reports(home: &Path) -> Result<Vec<PathBuf>> {
    let campaigns = std::fs::read_dir(home.join("first-benchmark/archive"))?;
    let files = campaigns
        .flatten()
        .flat_map(|campaign| ["report.html", "report.md"].map(|name| campaign.path().join(name)));
    Ok(files.filter(|file| file.is_file()).collect())
}

fn main() -> Result<()> {
    let home = tempfile::tempdir()?;
    let steps = follow(&dyno_binary()?, home.path())?;
    let reports = reports(home.path())?;
    if reports.len() < 3 {
        return Err(format!("two pages and a paper were to be written, not {reports:?}").into());
    }
    let mut text = "| command | s |\n|---|---|\n".to_owned();
    for Step { command, seconds } in &steps {
        writeln!(text, "| `{command}` | {seconds:.1} |")?;
    }
    let total: f64 = steps.iter().map(|step| step.seconds).sum();
    writeln!(text, "| all | {total:.1} |")?;
    print!("{text}");
    let results: Vec<_> = steps
        .iter()
        .map(|step| json!({ "command": step.command, "seconds": step.seconds }))
        .collect();
    let facts = json!({ "summary": "The commands of docs/tutorial.md in a new folder, one after the other." });
    let path = archive("tutorial", facts, json!({ "steps": results, "total_s": total }), &text)?;
    println!("\nKept in {}", path.display());
    Ok(())
}
