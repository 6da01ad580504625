//! Finds Chromium and Node, and runs the scripts of `web/test/browser`.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use std::{env, fs, io};

/// What the scripts need of `web/`.
const SOURCES: [&str; 8] = [
    "package.json",
    "package-lock.json",
    ".npmrc",
    "tsconfig.json",
    "build.mjs",
    "test.mjs",
    "src",
    "test",
];
const NAMES: [&str; 4] = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable"];

/// A browser, and a copy of `web/` with its packages installed.
pub struct Browser {
    chromium: PathBuf,
    web: PathBuf,
}

/// The browser; `None` if there is none.
///
/// Fails if there must be one.
pub fn browser() -> Option<&'static Browser> {
    static FOUND: OnceLock<Result<Browser, String>> = OnceLock::new();
    match FOUND.get_or_init(prepare) {
        Ok(browser) => Some(browser),
        Err(missing) => {
            let required = env::var_os("DYNO_REQUIRE_BROWSER").is_some_and(|value| value == "1");
            assert!(!required, "{missing}, and DYNO_REQUIRE_BROWSER=1");
            eprintln!("skipped, nothing is looked at in a browser: {missing}");
            None
        }
    }
}

impl Browser {
    /// Runs a script with these arguments, and fails with what it says unless all is well. Gives back what it says.
    pub fn run<S: AsRef<OsStr>>(&self, script: &str, arguments: impl IntoIterator<Item = S>) -> String {
        let mut command = Command::new("node");
        command
            .arg("--enable-source-maps")
            .arg(format!("out/browser/{script}.mjs"))
            .args(arguments);
        finished(command.current_dir(&self.web).env("CHROMIUM", &self.chromium))
    }

    /// Runs a script of `package.json`, likewise.
    pub fn npm(&self, script: &str) {
        finished(npm(&self.web).args(["run", "--silent", script]));
    }
}

fn prepare() -> Result<Browser, String> {
    let install = "install Chromium, and Node 18 or newer with npm (on Debian: chromium nodejs npm)";
    let chromium = chromium().ok_or_else(|| format!("there is no Chromium on PATH or in CHROMIUM: {install}"))?;
    for program in ["node", "npm"] {
        let known = Command::new(program).arg("--version").output();
        known.map_err(|error| format!("{program} cannot be run ({error}): {install}"))?;
    }
    let web = Path::new(env!("CARGO_TARGET_TMPDIR")).join("web");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    for folder in ["src", "test"] {
        // What was taken away since does not live on.
        let _ = fs::remove_dir_all(web.join(folder));
    }
    fs::create_dir_all(&web).unwrap();
    for name in SOURCES {
        copy(&source.join(name), &web.join(name)).unwrap();
    }
    let lock = fs::read(web.join("package-lock.json")).unwrap();
    let installed = web.join("installed-lock.json");
    if fs::read(&installed).ok().as_ref() != Some(&lock) {
        finished(npm(&web).args(["ci", "--ignore-scripts"]));
        fs::write(&installed, lock).unwrap();
    }
    bundle(&web);
    Ok(Browser { chromium, web })
}

fn chromium() -> Option<PathBuf> {
    if let Some(given) = env::var_os("CHROMIUM") {
        return Some(given.into());
    }
    let path = env::var_os("PATH").unwrap_or_default();
    let mut programs = env::split_paths(&path).flat_map(|folder| NAMES.map(|name| folder.join(name)));
    programs.find(|program| program.is_file())
}

/// Makes one file of each script, as Node understands it.
fn bundle(web: &Path) {
    let scripts = fs::read_dir(web.join("test/browser")).unwrap();
    let mut command = Command::new("node_modules/.bin/esbuild");
    command.args(scripts.map(|script| script.unwrap().path()));
    command.args([
        "--bundle",
        "--platform=node",
        "--format=esm",
        "--target=node18",
        "--packages=external",
    ]);
    command.args([
        "--sourcemap=inline",
        "--out-extension:.js=.mjs",
        "--outdir=out/browser",
        "--log-level=warning",
    ]);
    finished(command.current_dir(web));
}

fn npm(folder: &Path) -> Command {
    let mut command = Command::new("npm");
    command.current_dir(folder);
    command
}

/// Runs a program to its end, and fails with what it says unless that is a good one.
#[track_caller]
fn finished(command: &mut Command) -> String {
    let output = command.output().unwrap_or_else(|error| panic!("{command:?}: {error}"));
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let complained = String::from_utf8_lossy(&output.stderr);
    assert!(
        output.status.success(),
        "{command:?}: {}\n{said}\n{complained}",
        output.status
    );
    // Times, which nothing depends on, and whatever else is worth knowing.
    eprintln!(
        "{}",
        said.lines()
            .filter(|line| line.starts_with("note: "))
            .collect::<Vec<_>>()
            .join("\n")
    );
    said
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    if !from.is_dir() {
        return fs::copy(from, to).map(|_| ());
    }
    fs::create_dir_all(to)?;
    for entry in fs::read_dir(from)? {
        let entry = entry?;
        copy(&entry.path(), &to.join(entry.file_name()))?;
    }
    Ok(())
}
