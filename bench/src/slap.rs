//! mariadb-slap, which was mysqlslap, timed from outside like the others.
//!
//! It prepares nothing and draws nothing: it executes the statements of a list, all connections the same ones from the
//! first on. So it is given a thousand statements with ids that were drawn evenly. All connections updating one row
//! after the other would wait for each other's locks; an update therefore shifts its id by a function of the number of
//! its connection, which the server computes. A run has a number of executions instead of a time.

use crate::client::{number_after, timed};
use crate::{Client, Cost, PointStatement, Result, Server};
use std::fmt::Write;
use std::process::Command;
use tempfile::TempDir;

/// Statements in the list.
const STATEMENTS: usize = 1000;

/// The program and its lists of statements.
pub struct Slap {
    program: &'static str,
    version: String,
    folder: TempDir,
}

impl Slap {
    /// The one that is installed, if any.
    ///
    /// # Errors
    /// There is no room for its lists.
    pub fn find() -> Result<Option<Self>> {
        for program in ["mariadb-slap", "mysqlslap"] {
            if let Ok(version) = Command::new(program).arg("--version").output() {
                let version = String::from_utf8_lossy(&version.stdout);
                return Ok(Some(Self {
                    program,
                    version: version.split_whitespace().collect::<Vec<_>>().join(" "),
                    folder: tempfile::tempdir()?,
                }));
            }
        }
        Ok(None)
    }

    /// What it says about itself.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Executes the statement, on sysbench's table of so many rows, about as often as `expected_tps` transactions a
    /// second make in the time of the run.
    ///
    /// # Errors
    /// It cannot be run, or its report cannot be read.
    pub fn run(
        &self,
        server: &dyn Server,
        client: Client,
        statement: PointStatement,
        rows: u64,
        expected_tps: f64,
    ) -> Result<Cost> {
        let options = server
            .slap_options(client.tcp)
            .ok_or("mariadb-slap does not speak to this server")?;
        let list = self.folder.path().join(format!("{statement}.sql"));
        std::fs::write(&list, statements(statement, rows)?)?;
        let for_each = (expected_tps * client.seconds as f64 / client.clients as f64).max(1.0) as usize;
        let executions = for_each * client.clients;
        let mut command = Command::new(self.program);
        command
            .arg("--no-defaults")
            .args(options)
            .args(["--no-drop", "--iterations=1", &format!("--query={}", list.display())])
            .args([
                format!("--concurrency={}", client.clients),
                format!("--number-of-queries={executions}"),
            ]);
        let (output, cpu_us) = timed(&mut command)?;
        let report = String::from_utf8_lossy(&output.stdout);
        let transactions = executions as f64;
        Ok(Cost {
            transactions,
            tps: transactions / number_after(&report, "Average number of seconds to run all queries:")?,
            user_us: cpu_us.0 / transactions,
            system_us: cpu_us.1 / transactions,
        })
    }
}

/// A list of statements, one a line.
fn statements(statement: PointStatement, rows: u64) -> Result<String> {
    let mut list = String::new();
    for _ in 0..STATEMENTS {
        let id = fastrand::u64(1..=rows);
        match statement {
            PointStatement::Select => writeln!(list, "{}{id}", statement.begin())?,
            PointStatement::Update => writeln!(
                list,
                "{}1 + (connection_id() * 7919 + {id}) % {rows}",
                statement.begin()
            )?,
        }
    }
    Ok(list)
}
