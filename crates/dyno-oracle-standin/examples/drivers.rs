//! Has Oracle's drivers accept the stand-in, and says what came of it, as Markdown for bench/results:
//!
//!     cargo run -p dyno-oracle-standin --example drivers > bench/results/$(date +%FT%H-%M-%S)-oracle-drivers.md
//!
//! The drivers are fetched by pip, npm and Maven, which have to be there, as Python 3, Node and a JDK. What is executed
//! is in `tests/drivers`: each program ends with an error if anything is not as on a real server.

#[path = "../tests/behind/mod.rs"]
mod behind;

use dyno_oracle_standin::{Options, Pieces, Profile, Standin, Verifier};
use std::error::Error;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

/// Where the packages are put.
const TOOLS: &str = "target/ci-tools";
/// What is fetched, each by a command.
const PACKAGES: [&str; 3] = [
    "pip install --quiet --no-deps --require-hashes --upgrade --target target/ci-tools -r .ci/python-oracledb.txt",
    "npm install --silent --no-save --prefix target/ci-tools oracledb@26.0.0",
    "mvn --quiet --batch-mode org.apache.maven.plugins:maven-dependency-plugin:3.8.1:copy \
     -Dartifact=com.oracle.database.jdbc:ojdbc11:23.26.0.0.0 -DoutputDirectory=target/ci-tools",
];
/// How each driver's program is started, and what is set for it.
const DRIVERS: [(&str, &str, &[&str]); 3] = [
    ("python-oracledb 26.1.0", "python3", &["driver.py"]),
    ("node-oracledb 26.0.0", "node", &["driver.mjs"]),
    (
        "ojdbc11 23.26.0.0.0",
        "java",
        &["-cp", "target/ci-tools/ojdbc11-23.26.0.0.0.jar", "Driver.java"],
    ),
];

fn main() -> Result<(), Box<dyn Error>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize()?;
    std::env::set_current_dir(&root)?;
    for package in PACKAGES {
        let mut words = package.split_whitespace();
        let mut command = Command::new(words.next().unwrap_or_default());
        // Ours is the table.
        let status = command.args(words).stdout(Stdio::null()).status()?;
        if !status.success() {
            return Err(format!("{package}: {status}").into());
        }
    }
    println!("# Oracle's drivers on the stand-in, {}\n", jiff::Zoned::now().date());
    println!("Programs: `crates/dyno-oracle-standin/tests/drivers`, which know what a real server answers; behind the");
    println!("stand-in is an embedded PostgreSQL. Made by `cargo run -p dyno-oracle-standin --example drivers`.\n");
    println!("| driver | server | verifier | replies | result | parses | executions | fetches | round trips |");
    println!("|---|---|---|---|---|---|---|---|---|");
    let home = root.join("target/tmp/dyno-home");
    let mut failed = Vec::new();
    for (name, program, arguments) in DRIVERS {
        for options in [
            (Profile::V23, Verifier::V12c, false),
            (Profile::V23, Verifier::V11g, true),
            (Profile::V19, Verifier::V12c, true),
            (Profile::V19, Verifier::V11g, false),
        ] {
            let told = row(&home, options, program, arguments)?;
            println!("| {name} | {}", told.0);
            failed.extend(told.1.map(|output| format!("{name}, {options:?}: {output}")));
        }
    }
    for output in &failed {
        println!("\n    {}", output.replace('\n', "\n    "));
    }
    if failed.is_empty() {
        Ok(())
    } else {
        Err("not all drivers accept the stand-in".into())
    }
}

/// Runs a driver's program against a stand-in; the rest of a row of the table, and what it said if it failed.
fn row(
    home: &Path,
    (profile, verifier, cut): (Profile, Verifier, bool),
    program: &str,
    arguments: &[&str],
) -> Result<(String, Option<String>), Box<dyn Error>> {
    let database = behind::database(home, "drivers")?;
    let mut options = Options::new(Arc::new(database.executors.clone()));
    options.profile = profile;
    options.verifier = verifier;
    if cut {
        options.compress = true;
        options.pieces = Pieces {
            sdu: 2048,
            packet: Some(600),
            write: Some(3),
        };
    }
    let standin = Standin::start(options)?;
    let scripts = Path::new("crates/dyno-oracle-standin/tests/drivers");
    let arguments = arguments.iter().map(|argument| match argument.starts_with(['d', 'D']) {
        true => scripts.join(argument),
        false => PathBuf::from(argument),
    });
    let output = Command::new(program)
        .args(arguments)
        .arg(standin.address().port().to_string())
        .env("PYTHONPATH", TOOLS)
        .env("PYTHONDONTWRITEBYTECODE", "1")
        .env("NODE_PATH", Path::new(TOOLS).canonicalize()?.join("node_modules"))
        .output()?;
    let complaints = standin.complaints();
    let accepted = output.status.success() && complaints.is_empty();
    let counts = standin.counts();
    let row = format!(
        "{} | {} | {} | {} | {} | {} | {} | {} |",
        if profile == Profile::V19 { "19c" } else { "23ai" },
        if verifier == Verifier::V12c { "12c" } else { "11g" },
        if cut { "cut, compressed" } else { "whole" },
        if accepted { "as it should be" } else { "**failed**" },
        counts.parses,
        counts.executions,
        counts.fetches,
        counts.round_trips,
    );
    let said = || {
        let (out, err) = (
            String::from_utf8_lossy(&output.stdout),
            String::from_utf8_lossy(&output.stderr),
        );
        format!("{out}{err}{}", complaints.join("\n"))
    };
    Ok((row, (!accepted).then(said)))
}
