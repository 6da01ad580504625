//! Who executes which script.

use dyno_bench::{Client, Cost, Result, Server, run_sysbench_line, sysbench_line_memory_kb};
use std::path::{Path, PathBuf};
use std::process::Command;
use tempfile::TempDir;

/// Workloads as those that come with dyno, on the same module, to whose events [`UNEXECUTED`] is done.
const MADE: [(&str, &str); 2] = [
    (
        "oltp_point_select",
        "require(\"oltp_common\")
function prepare_statements()
   sysbench.opt.point_selects = 1
   prepare_point_selects()
end
function event()
   execute_point_selects()
   check_reconnect()
end
",
    ),
    (
        "oltp_read_only",
        "require(\"oltp_common\")
function prepare_statements()
   prepare_begin()
   prepare_commit()
   prepare_point_selects()
   prepare_simple_ranges()
   prepare_sum_ranges()
   prepare_order_ranges()
   prepare_distinct_ranges()
end
function event()
   begin()
   execute_point_selects()
   execute_simple_ranges()
   execute_sum_ranges()
   execute_order_ranges()
   execute_distinct_ranges()
   commit()
   check_reconnect()
end
",
    ),
];

/// What is appended to a workload so that its events make statements but execute none.
const UNEXECUTED: &str = "
local init = thread_init
function thread_init()
   init()
   local function nothing() end
   for key, each in pairs(stmt) do
      for _, statement in pairs(type(key) == 'number' and each or {each}) do
         statement.execute = nothing
      end
   end
end
";

/// A program with a script.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Program {
    /// sysbench with the script that came with it.
    Sysbench,
    /// `dyno sysbench` with the same file.
    Theirs,
    /// `dyno sysbench` with dyno's script of that name.
    Own,
    /// `dyno sysbench` with dyno's script of that name, which executes nothing.
    Unexecuted,
    /// `dyno sysbench` with events that do nothing, without a connection.
    Empty,
}

/// Those that do the same work.
pub const ALIKE: [Program; 3] = [Program::Sysbench, Program::Theirs, Program::Own];

impl Program {
    /// Its name in results.
    pub fn name(self) -> &'static str {
        match self {
            Self::Sysbench => "sysbench",
            Self::Theirs => "dyno, its script",
            Self::Own => "dyno, own",
            Self::Unexecuted => "dyno, nothing executed",
            Self::Empty => "dyno, empty event",
        }
    }
}

/// Where the programs and scripts are.
pub struct Programs<'a> {
    pub dyno: &'a Path,
    scripts: &'a Path,
    made: TempDir,
    rows: u64,
}

impl<'a> Programs<'a> {
    /// For a table of so many rows.
    ///
    /// # Errors
    /// There is no room for the scripts that are made.
    pub fn new(dyno: &'a Path, scripts: &'a Path, rows: u64) -> Result<Self> {
        let made = tempfile::tempdir()?;
        std::fs::write(made.path().join("empty.lua"), "function event() end\n")?;
        for (name, text) in MADE {
            std::fs::write(
                made.path().join(format!("unexecuted_{name}.lua")),
                format!("{text}{UNEXECUTED}"),
            )?;
        }
        Ok(Self {
            dyno,
            scripts,
            made,
            rows,
        })
    }

    fn command(&self, program: Program, workload: &str, server: &dyn Server, tcp: bool) -> Command {
        let script: PathBuf = match program {
            Program::Sysbench | Program::Theirs => self.scripts.join(format!("{workload}.lua")),
            Program::Own => workload.into(),
            Program::Unexecuted => self.made.path().join(format!("unexecuted_{workload}.lua")),
            Program::Empty => self.made.path().join("empty.lua"),
        };
        let mut command = match program {
            Program::Sysbench => Command::new("sysbench"),
            _ => {
                let mut command = Command::new(self.dyno);
                command.arg("sysbench");
                command
            }
        };
        // A file of a workload's name here would be taken for it.
        command.current_dir(self.made.path());
        command.arg(script).arg("--rand-type=uniform");
        if program != Program::Empty {
            command.arg(format!("--table-size={}", self.rows));
        }
        command.args(server.sysbench_options(tcp));
        command
    }

    /// Runs it and tells what it cost.
    ///
    /// # Errors
    /// It cannot be run, or its report cannot be read.
    pub fn run(&self, program: Program, workload: &str, server: &dyn Server, client: Client) -> Result<Cost> {
        run_sysbench_line(self.command(program, workload, server, client.tcp), client)
    }

    /// Runs a single event, and tells what CPU time start and end take, user and system, in microseconds.
    ///
    /// # Errors
    /// As [`Self::run`].
    pub fn start(&self, program: Program, workload: &str, server: &dyn Server, client: Client) -> Result<(f64, f64)> {
        let mut command = self.command(program, workload, server, client.tcp);
        command.arg("--events=1");
        let cost = run_sysbench_line(command, client)?;
        Ok((cost.user_us * cost.transactions, cost.system_us * cost.transactions))
    }

    /// Runs it and tells how much memory it had resident at most, in kilobytes.
    ///
    /// # Errors
    /// It cannot be run, or fails.
    pub fn memory_kb(&self, program: Program, workload: &str, server: &dyn Server, client: Client) -> Result<u64> {
        sysbench_line_memory_kb(self.command(program, workload, server, client.tcp), client)
    }
}
