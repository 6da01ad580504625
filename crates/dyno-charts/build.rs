//! Bundles what is in `web/` with esbuild, in the folder of the build: nothing is written into the source tree, and
//! no bundle is kept in it.

use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::{env, fs, io};

/// What the bundle is made of, in `web/`.
const INPUTS: [&str; 6] = [
    "package.json",
    "package-lock.json",
    ".npmrc",
    "tsconfig.json",
    "build.mjs",
    "src",
];
/// The oldest Node that esbuild runs on.
const OLDEST_NODE: u32 = 18;
const WITHOUT_NODE: &str = "Node 18 or newer with npm is needed to build the charts; install it, or build without \
                            them: \
                            cargo build --no-default-features";

fn main() -> ExitCode {
    if env::var_os("CARGO_FEATURE_CHARTS").is_none() {
        return ExitCode::SUCCESS;
    }
    match bundle() {
        Ok(()) => ExitCode::SUCCESS,
        Err(reason) => {
            for line in reason.lines() {
                println!("cargo::error={line}");
            }
            ExitCode::FAILURE
        }
    }
}

fn bundle() -> Result<(), String> {
    let web = PathBuf::from(variable("CARGO_MANIFEST_DIR")?).join("../../web");
    let out = PathBuf::from(variable("OUT_DIR")?);
    let copy = out.join("web");
    for input in INPUTS {
        println!("cargo::rerun-if-changed={}", web.join(input).display());
    }
    check_node()?;

    // Sources are copied anew, so that one that was taken away does not live on; installed packages stay.
    let sources = copy.join("src");
    if sources.exists() {
        fs::remove_dir_all(&sources).map_err(|error| failed("empty", &sources, &error))?;
    }
    for input in INPUTS {
        copy_all(&web.join(input), &copy.join(input))?;
    }
    install(&copy)?;
    let folder = out
        .to_str()
        .ok_or_else(|| format!("the build folder {} must be UTF-8", out.display()))?;
    run(&copy, "node", &["build.mjs", folder])
}

/// Installs the packages of the lock file, unless exactly they are installed.
fn install(copy: &Path) -> Result<(), String> {
    let lock = copy.join("package-lock.json");
    let wanted = fs::read(&lock).map_err(|error| failed("read", &lock, &error))?;
    let installed = copy.join("installed-lock.json");
    if fs::read(&installed).is_ok_and(|found| found == wanted) {
        return Ok(());
    }
    run(
        copy,
        "npm",
        &[
            "ci",
            "--omit=dev",
            "--ignore-scripts",
            "--prefer-offline",
            "--no-audit",
            "--no-fund",
        ],
    )?;
    fs::write(&installed, wanted).map_err(|error| failed("write", &installed, &error))
}

fn check_node() -> Result<(), String> {
    let output = Command::new("node")
        .arg("--version")
        .output()
        .map_err(|_| WITHOUT_NODE.to_owned())?;
    let version = String::from_utf8_lossy(&output.stdout).trim().to_owned();
    let major = version
        .trim_start_matches('v')
        .split('.')
        .next()
        .and_then(|major| major.parse::<u32>().ok());
    match major {
        Some(major) if major >= OLDEST_NODE => Ok(()),
        _ => Err(format!("{WITHOUT_NODE} (found node {version})")),
    }
}

fn run(folder: &Path, program: &str, arguments: &[&str]) -> Result<(), String> {
    let command = format!("{program} {}", arguments.join(" "));
    let output = Command::new(program)
        .args(arguments)
        .current_dir(folder)
        .output()
        .map_err(|error| {
            if error.kind() == io::ErrorKind::NotFound {
                WITHOUT_NODE.to_owned()
            } else {
                format!("cannot run `{command}`: {error}")
            }
        })?;
    if output.status.success() {
        return Ok(());
    }
    let said = [output.stdout, output.stderr]
        .map(|bytes| String::from_utf8_lossy(&bytes).trim().to_owned())
        .join("\n");
    Err(format!(
        "`{command}` in {} failed, {}:\n{}",
        folder.display(),
        output.status,
        said.trim()
    ))
}

fn copy_all(from: &Path, to: &Path) -> Result<(), String> {
    if from.is_dir() {
        fs::create_dir_all(to).map_err(|error| failed("make", to, &error))?;
        for entry in fs::read_dir(from).map_err(|error| failed("list", from, &error))? {
            let entry = entry.map_err(|error| failed("list", from, &error))?;
            copy_all(&entry.path(), &to.join(entry.file_name()))?;
        }
        return Ok(());
    }
    if let Some(parent) = to.parent() {
        fs::create_dir_all(parent).map_err(|error| failed("make", parent, &error))?;
    }
    fs::copy(from, to)
        .map(|_| ())
        .map_err(|error| failed("copy", from, &error))
}

fn failed(what: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot {what} {}: {error}", path.display())
}

fn variable(name: &str) -> Result<String, String> {
    env::var(name).map_err(|_| format!("cargo did not set {name}"))
}
