//! Tells the program what it was built of and how, for `dyno --version --verbose`.

use std::env;
use std::path::Path;
use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let profile = variable("PROFILE");
    // Whoever changes dyno builds it again and again; then a commit says little, and asking for it costs time.
    let commit = match profile == "release" {
        true => {
            println!("cargo::rerun-if-changed=..");
            let log = said("git", &["rev-parse", "--git-path", "logs/HEAD"]);
            if let Some(log) = log.filter(|log| Path::new(log).exists()) {
                println!("cargo::rerun-if-changed={log}");
            }
            said(
                "git",
                &[
                    "describe",
                    "--always",
                    "--exclude=*",
                    "--abbrev=12",
                    "--dirty= with changes",
                ],
            )
        }
        false => Some("not told by debug builds".to_owned()),
    };
    let compiler = said(&variable("RUSTC"), &["--version"]);
    let tell = |name, value: &str| println!("cargo::rustc-env=DYNO_{name}={value}");
    tell("COMMIT", &commit.unwrap_or_else(unknown));
    tell("TARGET", &variable("TARGET"));
    tell("RUSTC", &compiler.unwrap_or_else(unknown));
    tell("PROFILE", &profile);
}

fn variable(name: &str) -> String {
    env::var(name).unwrap_or_else(|_| unknown())
}

fn unknown() -> String {
    "unknown".to_owned()
}

/// The line that a program says.
fn said(program: &str, arguments: &[&str]) -> Option<String> {
    let output = Command::new(program).args(arguments).output().ok()?;
    let line = String::from_utf8(output.stdout).ok()?.trim().to_owned();
    (output.status.success() && !line.is_empty()).then_some(line)
}
