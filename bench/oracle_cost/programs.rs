//! The programs that are measured, and what it takes to start them.

use crate::{ROWS, STATEMENT};
use dyno_bench::{Result, cargo, dyno_binary};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;
use tempfile::TempDir;

/// What fetches the drivers into [`Programs::tools`].
const FETCH: &str = "cargo run -p dyno-oracle-standin --example drivers";

/// A program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// `dyno run`.
    Dyno,
    /// Oracle's crate for Rust.
    Crate,
    /// Oracle's driver for Java.
    Jdbc,
    /// Oracle's driver for JavaScript.
    Node,
    /// Oracle's driver for Python.
    Python,
}

impl Program {
    /// All of them, dyno first.
    pub const ALL: [Self; 5] = [Self::Dyno, Self::Crate, Self::Jdbc, Self::Node, Self::Python];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Dyno => "dyno",
            Self::Crate => "crate oracledb",
            Self::Jdbc => "ojdbc11",
            Self::Node => "node-oracledb",
            Self::Python => "python-oracledb",
        }
    }

    /// How long it works before it is measured: what compiles while it runs has done so by then.
    pub fn warm_up(self) -> Duration {
        Duration::from_secs(match self {
            Self::Jdbc => 12,
            Self::Node => 5,
            _ => 2,
        })
    }
}

/// Those that are there, ready to be started.
pub struct Programs {
    dyno: PathBuf,
    /// A folder for what is built and written.
    folder: TempDir,
    /// Where the drivers are.
    tools: PathBuf,
    jar: PathBuf,
    selects: PathBuf,
    python: PathBuf,
    /// Programs with their versions.
    pub there: Vec<(Program, String)>,
    /// Why others are left out.
    pub left_out: Vec<String>,
}

impl Programs {
    /// Builds those whose names begin so, all if none are named. Who lacks something is left out.
    pub fn prepare(names: &str) -> Result<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("..").canonicalize()?;
        let mut programs = Self {
            dyno: dyno_binary()?,
            folder: tempfile::tempdir()?,
            tools: root.join("target/ci-tools"),
            jar: PathBuf::new(),
            selects: PathBuf::new(),
            python: PathBuf::new(),
            there: Vec::new(),
            left_out: Vec::new(),
        };
        let wanted =
            |program: &Program| names.is_empty() || names.split(',').any(|name| program.name().starts_with(name));
        for program in Program::ALL.into_iter().filter(wanted) {
            let version = match program {
                Program::Dyno => Ok(output(Command::new(&programs.dyno).arg("--version"))?),
                Program::Crate => programs.prepare_crate(&root),
                Program::Jdbc => programs.prepare_jdbc(),
                Program::Node => programs.prepare_node(),
                Program::Python => programs.prepare_python(),
            };
            match version {
                Ok(version) => programs.there.push((program, version)),
                Err(error) => programs.left_out.push(format!("{}: {error}", program.name())),
            }
        }
        Ok(programs)
    }

    /// A package of its own, because the workspace optimizes this crate little, which would be unfair here.
    fn prepare_crate(&mut self, root: &Path) -> Result<String> {
        let manifest = fs::read_to_string(root.join("Cargo.toml"))?;
        let dependency = manifest
            .lines()
            .find(|line| line.starts_with("oracledb = "))
            .ok_or("Cargo.toml has no oracledb")?;
        // Kept, so that the next time there is little to build.
        let package = root.join("target/oracle-cost");
        fs::create_dir_all(&package)?;
        let main = root.join("bench/oracle_cost/clients/selects.rs");
        let text = format!(
            "[package]\nname = \"selects\"\nedition = \"2024\"\n\n[workspace]\n\n[[bin]]\nname = \"selects\"\npath = \
             {main:?}\n\n[dependencies]\n{dependency}\n"
        );
        fs::write(package.join("Cargo.toml"), text)?;
        fs::copy(root.join("Cargo.lock"), package.join("Cargo.lock"))?;
        let mut build = cargo();
        build.args(["build", "--quiet", "--release"]).current_dir(&package);
        build.env("CARGO_TARGET_DIR", package.join("target"));
        output(&mut build)?;
        self.selects = package.join("target/release/selects");
        Ok(dependency
            .trim_start_matches("oracledb = ")
            .trim_matches(['"', '='])
            .to_owned())
    }

    fn prepare_jdbc(&mut self) -> Result<String> {
        let jars = fs::read_dir(&self.tools).map_err(|_| format!("not fetched: {FETCH}"))?;
        let names: Vec<PathBuf> = jars.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let is_jar = |path: &&PathBuf| {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            name.starts_with("ojdbc11-") && name.ends_with(".jar")
        };
        let jar = names
            .iter()
            .find(is_jar)
            .ok_or_else(|| format!("not fetched: {FETCH}"))?;
        self.jar.clone_from(jar);
        let source = clients().join("Selects.java");
        output(Command::new("javac").arg("-d").arg(self.folder.path()).arg(source))?;
        let java = output(Command::new("java").arg("--version"))?;
        let java = java.lines().next().unwrap_or_default();
        let name = jar.file_stem().unwrap_or_default().to_string_lossy();
        Ok(format!("{}, {java}", name.trim_start_matches("ojdbc11-")))
    }

    fn prepare_node(&mut self) -> Result<String> {
        let package = self.tools.join("node_modules/oracledb/package.json");
        let package = fs::read_to_string(package).map_err(|_| format!("not fetched: {FETCH}"))?;
        let package: serde_json::Value = serde_json::from_str(&package)?;
        let node = output(Command::new("node").arg("--version"))?;
        Ok(format!("{}, Node {node}", package["version"].as_str().unwrap_or("?")))
    }

    fn prepare_python(&mut self) -> Result<String> {
        let ask = "import oracledb, platform, sys; print(sys.executable); \
                   print(oracledb.__version__ + ', Python ' + platform.python_version())";
        let mut python = Command::new("python3");
        let said = output(python.args(["-c", ask]).env("PYTHONPATH", &self.tools));
        let said = said.map_err(|error| format!("{error} (to be fetched by {FETCH})"))?;
        let (program, version) = said.split_once('\n').ok_or("python3 does not say what it is")?;
        // Itself, not what chooses among several.
        self.python = PathBuf::from(program);
        Ok(version.to_owned())
    }

    /// What starts a program with so many connections to a port of 127.0.0.1. It works until it is killed.
    pub fn command(&self, program: Program, connections: usize, port: u16) -> Command {
        let mut command = match program {
            Program::Dyno => {
                let mut command = Command::new(&self.dyno);
                command.arg("run");
                command.arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle-select.toml"));
                command.arg("--archive").arg(self.folder.path().join("archive"));
                command.args(["--target", &format!("oracle://bench:secret@127.0.0.1:{port}/standin")]);
                for set in [
                    &format!("clients={connections}"),
                    "threads=1",
                    "measure=1h",
                    "protocol=prepared",
                ] {
                    command.args(["--set", set]);
                }
                command.arg("--no-sampling");
                return command;
            }
            Program::Crate => Command::new(&self.selects),
            Program::Jdbc => {
                let mut command = Command::new("java");
                let path = format!("{}:{}", self.jar.display(), self.folder.path().display());
                command.args(["-cp", &path, "Selects"]);
                command
            }
            Program::Node => {
                let mut command = Command::new("node");
                command.arg(clients().join("selects.mjs"));
                command.env("NODE_PATH", self.tools.join("node_modules"));
                command
            }
            Program::Python => {
                let mut command = Command::new(&self.python);
                command.arg(clients().join("selects.py")).env("PYTHONPATH", &self.tools);
                command.env("PYTHONDONTWRITEBYTECODE", "1");
                command
            }
        };
        command.args([port.to_string(), connections.to_string(), ROWS.to_string()]);
        command.arg(STATEMENT);
        command
    }
}

/// The programs' sources.
fn clients() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("oracle_cost/clients")
}

/// What a command says.
fn output(command: &mut Command) -> Result<String> {
    let output = command
        .output()
        .map_err(|error| format!("{:?}: {error}", command.get_program()))?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned()),
        false => Err(format!(
            "{:?}: {}",
            command.get_program(),
            String::from_utf8_lossy(&output.stderr)
        )
        .into()),
    }
}
