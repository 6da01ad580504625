//! What may be typed.

#[cfg(test)]
mod documented;
mod measure;
mod own;
mod value;

pub use measure::{CapacityArguments, OneLoadArguments, RunArguments, ScreenArguments, VersusArguments};
pub use own::{
    CaptureArguments, CheckArguments, NamedServer, NewArguments, ServerAction, ServerArguments, StartArguments,
};

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use dyno_engine::TransportChoice;
use dyno_record::Route;
use dyno_target::target::holds_address;
use jiff::Timestamp;
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;
use value::{age, assignment, at_least_one, percent, since};

/// What no option says.
const AFTER_HELP: &str = "\
Exit codes:
  0  done
  1  a usage or set-up error
  2  a campaign ended part-way, or some runs failed or do not count; results are kept
  3  the loss that was to be looked for was found, or the capacity is too low
  4  it could not be decided, and that was asked for

Environment:
  DYNO_HOME      where private servers, their data and programs are kept [default: dyno in the
                 user's cache folder; for root /var/cache/dyno]
  DYNO_ARCHIVE   the folder of campaigns, as --archive
  PG*, ~/.pgpass; MYSQL_*, ~/.my.cnf; DYNO_ORACLE_USER, DYNO_ORACLE_PASSWORD, TNS_ADMIN
                 what the address of a database leaves out
  DYNO_TOKEN     what dyno serve asks for, as --token
  RAY_AUTH_TOKEN, RAY_AUTH_TOKEN_PATH, ~/.ray/auth_token
                 the token of a Ray cluster";

/// Benchmark a database: drive it with scripted transactions, and report throughput, steadiness and the causes of dips
#[derive(Parser, Debug)]
#[command(
    name = "dyno",
    version,
    disable_version_flag = true,
    max_term_width = 100,
    after_help = AFTER_HELP,
    arg_required_else_help = true,
    args_conflicts_with_subcommands = true,
    override_usage = "dyno <COMMAND>"
)]
pub struct Cli {
    /// Print version; with --verbose, what a report of a bug should say of this program and machine
    #[arg(short = 'V', long)]
    pub version: bool,

    #[arg(long, requires = "version", hide = true)]
    pub verbose: bool,

    /// What to do; none if only the version is asked for.
    #[command(subcommand)]
    pub command: Option<Command>,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Write an experiment file to begin with, which runs as it stands
    New(NewArguments),
    /// Say what a run would do, and have servers prepare every statement without executing any
    Check(CheckArguments),
    /// Make an experiment file of what a server executes, as a beginning
    Capture(CaptureArguments),
    /// Run an experiment and archive what was measured
    Run(RunArguments),
    /// Measure variants in turn, as one load, until it is known which is better, or that they are the same
    Versus(VersusArguments),
    /// Find out which of several factors matter, by measuring combinations in pairs
    Screen(ScreenArguments),
    /// Find the highest rate, or number of clients, that holds limits such as "p99 < 5ms"
    Capacity(CapacityArguments),
    /// List the archived runs, or the experiments that can be run by name
    List(ListArguments),
    /// Show everything about an archived campaign
    Show(ShowArguments),
    /// Compare a campaign with another: better, worse, or cannot tell yet
    Compare(CompareArguments),
    /// Make a report with charts: HTML for a browser, Markdown for publication, or data
    Report(ReportArguments),
    /// Write results as CSV or JSON, or into a PostgreSQL table
    Export(ExportArguments),
    /// Show the archive in a browser, and follow running campaigns
    Serve(ServeArguments),
    /// Say whether a load can run on a database and on this machine, what its results will lack, and what to do
    Doctor(DoctorArguments),
    /// Measure the most that dyno can do on this machine, against a server that answers at once
    Ceiling(CeilingArguments),
    /// Start and stop private servers for other tools, with the data of an experiment if asked
    Server(ServerArguments),
    /// List the servers and loaded data kept for later runs, or remove them with --yes; results stay
    Clean(CleanArguments),
    /// Print completions of commands and options for a shell
    Completions(CompletionsArguments),
    /// Print the manual page of dyno or of a command, or write all pages
    Man(ManArguments),
    /// Answer `dyno ceiling` at once
    #[command(hide = true)]
    Responder(ResponderArguments),
    /// Drive a part of a load for the dyno at the other end of the standard input and output
    #[command(hide = true)]
    Agent(AgentArguments),
    /// Take the place of PostgreSQL's pgbench, with the same options; see `dyno pgbench --help`
    #[command(disable_help_flag = true)]
    Pgbench(PgbenchArguments),
    /// Take the place of sysbench for databases, with the same options and scripts; see `dyno sysbench --help`
    #[command(disable_help_flag = true)]
    Sysbench(SysbenchArguments),
}

/// What `dyno pgbench` is told: for pgbench alone to understand.
#[derive(Args, Debug)]
pub struct PgbenchArguments {
    /// pgbench's options and database
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION|DBNAME")]
    pub words: Vec<OsString>,
}

/// What `dyno sysbench` is told: for sysbench alone to understand.
#[derive(Args, Debug)]
pub struct SysbenchArguments {
    /// sysbench's options, a script or the name of a workload, and a command
    #[arg(
        trailing_var_arg = true,
        allow_hyphen_values = true,
        value_name = "OPTION|TEST|COMMAND"
    )]
    pub words: Vec<OsString>,
}

/// What a pipeline is told beside the exit code.
#[derive(Args, Debug)]
pub struct PipelineArguments {
    /// File to write the verdicts to as a JUnit report, in which each measure is a test
    #[arg(long, value_name = "FILE")]
    pub junit: Option<PathBuf>,

    /// File to write the answer and the verdicts to in Markdown, for the summary of a pipeline
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<PathBuf>,
}

/// Where campaigns are kept.
#[derive(Args, Debug)]
pub struct ArchiveArgument {
    /// Folder that holds the campaigns
    #[arg(
        long,
        value_name = "FOLDER",
        env = ARCHIVE,
        default_value = "archive",
        value_parser = PathBufValueParser::new().try_map(folder)
    )]
    pub archive: PathBuf,
}

/// The variable that stands for `--archive`.
pub const ARCHIVE: &str = "DYNO_ARCHIVE";

/// A folder. Most of what is said of an archive names it.
fn folder(path: PathBuf) -> Result<PathBuf, &'static str> {
    match holds_address(&path.to_string_lossy()) {
        true => Err("this is the address of a database (--target); give a folder"),
        false => Ok(path),
    }
}

/// What `dyno list` is told.
#[derive(Args, Debug)]
pub struct ListArguments {
    /// What to list
    #[arg(value_enum, default_value_t = Listing::Campaigns)]
    pub what: Listing,

    /// Of this experiment only
    #[arg(long, value_name = "NAME")]
    pub experiment: Option<String>,

    /// On databases only of which the address, as it was asked for, has this in it
    #[arg(long, value_name = "TEXT")]
    pub target: Option<String>,

    /// Begun since then only: a date such as 2026-11-20, or how long ago, such as 7d
    #[arg(long, value_name = "WHEN", value_parser = since)]
    pub since: Option<Timestamp>,

    /// Print JSON: an object for each campaign
    #[arg(long)]
    pub json: bool,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What can be listed.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Listing {
    /// The campaigns in the archive
    Campaigns,
    /// Their runs
    Runs,
    /// Several experiments that were measured and published as one
    Series,
    /// The experiments that can be run by name
    Experiments,
}

/// What `dyno show` is told.
#[derive(Args, Debug)]
pub struct ShowArguments {
    /// Folder of a campaign, by name or path [default: the newest]
    pub campaign: Option<String>,

    /// One of its runs, by number or folder, in full [default: all runs together]
    pub run: Option<String>,

    /// Show everything about several runs together that a terminal has room for, not only a screenful
    #[arg(long, conflicts_with_all = ["plot", "plans"])]
    pub all: bool,

    /// Draw the throughput of a run over time, or of a campaign over a factor whose levels are numbers
    #[arg(long)]
    pub plot: bool,

    /// Show how the server executed each statement of a run, or of the first run of each cell
    #[arg(long, conflicts_with = "plot")]
    pub plans: bool,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What `dyno compare` is told.
#[derive(Args, Debug)]
pub struct CompareArguments {
    /// Campaign to compare with, by name, label, @N (the N-th newest) or path of its folder; several with commas
    /// between them are taken together
    #[arg(value_name = "BASELINE[,BASELINE]")]
    pub baseline: String,

    /// Campaign to judge, or several, named the same way
    #[arg(value_name = "CAMPAIGN[,CAMPAIGN]")]
    pub campaign: String,

    /// Exit with code 3 if anything is worse by at least this much, for example 5%
    ///
    /// This is the case if, for any workload in a cell that both campaigns have, the verdict on TPS is "worse" and mean
    /// TPS is lower than the baseline's by at least this share, or the verdict on p99 is "worse" and p99 is higher by
    /// at least this share. A measure that cannot be judged yet does not fail; with 3 runs or fewer on each side none
    /// can be judged.
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_if_worse: Option<f64>,

    /// Form of the comparison
    #[arg(long, value_enum, default_value_t = ComparisonFormat::Text)]
    pub format: ComparisonFormat,

    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub pipeline: PipelineArguments,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// How a comparison is written.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum ComparisonFormat {
    /// Tables for the terminal
    Text,
    /// The same as Markdown, for a merge request or a blog
    Md,
    /// All figures, as described in docs/compare.md
    Json,
    /// A page with charts that needs no network
    Html,
}

/// What `dyno report` is told.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// Folders of campaigns, or series, by name or path; several are shown side by side, and those with commas between
    /// them are taken together [default: the newest campaign]
    #[arg(value_name = "CAMPAIGN[,CAMPAIGN]|SERIES")]
    pub campaigns: Vec<String>,

    /// One run of the campaign, by number or folder, in full [default: all runs together]
    #[arg(long, value_name = "RUN", conflicts_with = "baseline")]
    pub run: Option<String>,

    /// Campaign that the others are compared with, or several that are taken together
    #[arg(long, value_name = "CAMPAIGN[,CAMPAIGN]")]
    pub baseline: Option<String>,

    /// Form of the report
    #[arg(long, value_enum, default_value_t = ReportFormat::Html)]
    pub format: ReportFormat,

    /// File to write, or folder for svg; - is standard output [default: report.html, .md, .csv or .json in the
    /// campaign's folder; for several campaigns, in the current folder]
    #[arg(long, value_name = "PATH")]
    pub output: Option<PathBuf>,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// How a report is written.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum ReportFormat {
    /// One page that needs nothing else
    Html,
    /// A paper with its charts as SVG files beside it
    Md,
    /// A row for each cell and workload
    Csv,
    /// Everything in the report, as described in docs/report-format.md
    Json,
    /// The charts alone
    Svg,
}

/// What `dyno export` is told.
#[derive(Args, Debug)]
pub struct ExportArguments {
    /// Folder of a campaign, by name or path [default: the newest]
    #[arg(conflicts_with = "all")]
    pub campaign: Option<String>,

    /// All campaigns of the archive
    #[arg(long)]
    pub all: bool,

    /// Form of the rows
    #[arg(long, value_enum, default_value_t = Format::Csv)]
    pub format: Format,

    /// One row per interval instead of one per run, workload and stage
    #[arg(long)]
    pub intervals: bool,

    /// File to write [default: standard output]
    #[arg(long, value_name = "FILE", conflicts_with = "to")]
    pub output: Option<PathBuf>,

    /// Database to write into: a URI or conninfo string
    #[arg(long, value_name = "URL", requires = "table", conflicts_with = "format")]
    pub to: Option<String>,

    /// Table to write, created if it does not exist; rows of the same runs are replaced
    #[arg(long, value_name = "NAME", requires = "to")]
    pub table: Option<String>,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What `dyno serve` is told.
#[derive(Args, Debug)]
pub struct ServeArguments {
    /// Address and port to listen on; port 0 means any free port. An address that other machines can reach needs a
    /// token
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        default_value_t = SocketAddr::from(([127, 0, 0, 1], dyno_serve::USUAL_PORT))
    )]
    pub listen: SocketAddr,

    /// Token that visitors must present, at least 16 characters. Prefer the environment variable: others on this
    /// machine can read command lines
    #[arg(long, value_name = "TOKEN", env = "DYNO_TOKEN", hide_env_values = true)]
    pub token: Option<String>,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What `dyno ceiling` is told.
#[derive(Args, Debug)]
pub struct CeilingArguments {
    /// Numbers of connections
    #[arg(
        long,
        value_name = "N[,N]",
        value_delimiter = ',',
        default_value = "1,16,64,256",
        value_parser = at_least_one
    )]
    pub clients: Vec<usize>,

    /// Numbers of threads that share them [default: 1, 2, 4 and so on up to the number of cores]
    #[arg(long, value_name = "N[,N]", value_delimiter = ',', value_parser = at_least_one)]
    pub threads: Vec<usize>,

    /// How clients connect
    #[arg(
        long,
        value_enum,
        value_name = "PATH[,PATH]",
        value_delimiter = ',',
        default_value = "unix,tcp"
    )]
    pub path: Vec<PathName>,

    /// How dyno's threads move bytes: auto uses io_uring if the system allows it
    #[arg(long, value_name = "auto|epoll|io_uring", default_value_t)]
    pub transport: TransportChoice,

    /// How many seconds to measure each combination
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u64).range(1..=3_600))]
    pub seconds: u64,

    /// Form of the result
    #[arg(long, value_enum, default_value_t = CeilingFormat::Text)]
    pub format: CeilingFormat,
}

/// What `dyno doctor` is told.
#[derive(Args, Debug)]
pub struct DoctorArguments {
    /// Database to look at, as for dyno run --target [default: only this machine and the private servers]
    #[arg(value_name = "TARGET")]
    pub target: Option<String>,

    /// How many clients the load is to have: whether the server and this machine take so many
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    pub clients: Option<usize>,

    /// Form of the page
    #[arg(long, value_enum, default_value_t = DoctorFormat::Text)]
    pub format: DoctorFormat,

    /// Then try on an Oracle server all that dyno does there, for some minutes, and write an account of it
    #[arg(long, requires = "target", conflicts_with = "format")]
    pub trial: bool,

    /// File for the account [default: dyno-trial-TIME.txt in the current folder]
    #[arg(long, value_name = "FILE", requires = "trial")]
    pub output: Option<PathBuf>,

    /// Set something in the trial's experiments, as for dyno run, such as rows=10000; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment, requires = "trial")]
    pub set: Vec<(String, String)>,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// How the page of `dyno doctor` is written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum DoctorFormat {
    /// A page for the terminal
    Text,
    /// All findings, as described in docs/doctor.md
    Json,
}

/// How a ceiling is written.
#[derive(ValueEnum, Clone, Copy, Debug, PartialEq, Eq)]
pub enum CeilingFormat {
    /// A table for the terminal
    Text,
    /// The machine and all figures, as described in docs/ceiling.md
    Json,
}

/// The ways to a server on the same machine, as typed.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum PathName {
    /// Over a unix socket
    Unix,
    /// Over TCP
    Tcp,
}

impl From<PathName> for Route {
    fn from(name: PathName) -> Self {
        match name {
            PathName::Unix => Self::Unix,
            PathName::Tcp => Self::Tcp,
        }
    }
}

/// What `dyno clean` is told.
#[derive(Args, Debug)]
pub struct CleanArguments {
    /// What to list or remove: names as listed, or parts of them, such as 17.6.0, main or pk-update [default:
    /// everything]
    #[arg(value_name = "NAME")]
    pub names: Vec<String>,

    /// Only what no run has used for this long, for example 7d or 12h
    #[arg(long, value_name = "DURATION", value_parser = age)]
    pub older_than: Option<Duration>,

    /// Database, as a URI or a conninfo string, in which to look for data of dyno's, instead of in dyno's home folder
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,

    /// Only show what would be removed; this is the default
    #[arg(long, conflicts_with = "yes")]
    pub dry_run: bool,

    /// Remove what is listed, except for what another dyno is using
    #[arg(long, short)]
    pub yes: bool,
}

/// What `dyno completions` is told.
#[derive(Args, Debug)]
pub struct CompletionsArguments {
    /// Shell that is to complete
    #[arg(value_enum)]
    pub shell: Shell,
}

/// What `dyno man` is told.
#[derive(Args, Debug)]
pub struct ManArguments {
    /// Command that the page is about, such as run or server start [default: dyno as a whole]
    #[arg(value_name = "COMMAND", conflicts_with = "out")]
    pub of: Vec<String>,

    /// Folder to write the pages of dyno and of all its commands to, instead of printing one
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
}

/// What `dyno agent` is told.
#[derive(Args, Debug)]
pub struct AgentArguments {
    /// Connect to the dyno that invited it, instead of being heard on the standard output
    #[arg(long)]
    pub dial_in: bool,
}

/// What `dyno responder` is told.
#[derive(Args, Debug)]
pub struct ResponderArguments {
    /// Threads that answer
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = at_least_one)]
    pub threads: usize,

    /// Folder to put the unix socket in
    pub folder: PathBuf,
}

/// How rows are written.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Format {
    /// Comma-separated values with a header line
    Csv,
    /// An array of objects
    Json,
}
