//! What may be typed.

use clap::builder::{PathBufValueParser, TypedValueParser};
use clap::{Args, Parser, Subcommand, ValueEnum};
use dyno_archive::plan::{ErrorLimit, OnFailure, Size};
use dyno_archive::{LoadDimension, LoadLimit};
use dyno_engine::{Cpus, TransportChoice};
use dyno_record::Route;
use dyno_target::target::holds_address;
use jiff::{Span, SpanRelativeTo};
use std::ffi::OsString;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// Benchmark a database: drive it with scripted transactions, and report throughput, steadiness and the causes of dips
#[derive(Parser, Debug)]
#[command(name = "dyno", version, max_term_width = 100)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// The commands.
#[derive(Subcommand, Debug)]
pub enum Command {
    /// Run an experiment and archive what was measured
    Run(RunArguments),
    /// Measure two variants in turn, as one load, until it is known which is better, or that they are the same
    Versus(VersusArguments),
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
    /// List the servers and loaded data kept for later runs, or remove them with --yes; results stay
    Clean(CleanArguments),
    /// Be that server
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

/// What `dyno run` is told.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// Name of an experiment (see `dyno list experiments`) or path of an experiment file
    #[arg(value_name = "NAME|FILE", required_unless_present = "resume")]
    pub experiment: Option<String>,

    /// Continue a campaign, given by name or path of its folder: measure the runs that are missing
    /// [default: the newest that lacks any]
    #[arg(
        long,
        value_name = "CAMPAIGN",
        num_args = 0..=1,
        conflicts_with_all = [
            "experiment", "size", "set", "repeat", "seed", "dry_run", "max_errors", "leave_settings", "share_server",
            "no_sampling", "transport", "cpus", "hosts", "local_agents", "ray", "listen"
        ]
    )]
    #[allow(clippy::option_option, reason = "given or not, with or without a value")]
    pub resume: Option<Option<String>>,

    /// Size of the experiment; full is the published one
    #[arg(long, value_enum, default_value_t = SizeName::Small)]
    pub size: SizeName,

    /// Database to measure: a URI or a conninfo string of a PostgreSQL server, mysql://USER@HOST/DATABASE for a MariaDB
    /// server, oracle://USER@HOST/SERVICE for an Oracle server, or a private one: embedded, embedded:VERSION,
    /// embedded:mariadb, embedded:mariadb:VERSION [default: what the experiment says, else embedded]
    ///
    /// For PostgreSQL, whatever a URI or conninfo string leaves out comes from the PG* variables, the service file and
    /// ~/.pgpass, as with psql: --target postgres:// takes everything from there. For MariaDB, it comes from the option
    /// files (~/.my.cnf) and the MYSQL_* variables, as with mysql. For Oracle, the user and the password come from
    /// DYNO_ORACLE_USER and DYNO_ORACLE_PASSWORD, and oracle:NAME is a name of $TNS_ADMIN/tnsnames.ora.
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,

    /// Set a parameter, setting, or number of clients, or vary it over several values; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE[,VALUE]", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// Measure each cell this many times [default: what the experiment says, else once]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: Option<u32>,

    /// Seed of all random numbers [default: a new one each time, recorded in the archive]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// What to do after a run that failed [default: what the experiment says, else continue]
    #[arg(long, value_enum, value_name = "WHAT")]
    pub on_failure: Option<OnFailureName>,

    /// Share of errors, and of lost clients, up to which a run counts; a run above it is kept, but marked as faulty and
    /// excluded from all figures [default: what the experiment says, else 1%]
    #[arg(long, value_name = "PERCENT")]
    pub max_errors: Option<ErrorLimit>,

    /// Shell command that restarts a server other than dyno's own, for settings that require a restart (PostgreSQL,
    /// MySQL and Oracle)
    #[arg(long, value_name = "COMMAND")]
    pub restart_command: Option<String>,

    /// Leave the settings of a server other than dyno's own as they are, and say how they differ
    #[arg(long)]
    pub leave_settings: bool,

    /// Measure even while other dynos with this option measure on the same server; its settings stay as they are
    /// (PostgreSQL only)
    #[arg(long)]
    pub share_server: bool,

    /// Do not sample the server and the host while the load runs, nor ask how the server executes the statements
    #[arg(long)]
    pub no_sampling: bool,

    /// How the load's threads move bytes: auto uses io_uring if the system allows it
    #[arg(long, value_name = "auto|epoll|io_uring", default_value_t)]
    pub transport: TransportChoice,

    /// Drive the load from these hosts instead of from here: each is what ssh is given, or local for a process of this
    /// machine; see docs/fleet.md
    #[arg(
        long,
        value_name = "HOST[,HOST]",
        value_delimiter = ',',
        conflicts_with = "local_agents"
    )]
    pub hosts: Vec<String>,

    /// Drive the load from so many processes of this machine
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=256))]
    pub local_agents: Option<u16>,

    /// Drive the load from nodes of the Ray cluster whose dashboard is there, for example http://head:8265
    #[arg(long, value_name = "URL", conflicts_with_all = ["hosts", "local_agents"])]
    pub ray: Option<String>,

    /// From so many of them [default: all]
    #[arg(long, value_name = "N", requires = "ray", value_parser = clap::value_parser!(u16).range(1..=1024))]
    pub agents: Option<u16>,

    /// Where they connect to: an address of this machine that they can reach, and a port [default: the address from
    /// which the cluster is reached, any port]
    #[arg(long, value_name = "ADDRESS:PORT", requires = "ray")]
    pub listen: Option<SocketAddr>,

    /// Bind the load's threads to these CPUs in turn, one CPU per thread, for example 0-3,6 [default: none]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,

    /// Show the campaign in a browser while it is running
    #[arg(long)]
    pub live: bool,

    /// Only print what would be done and how long it would take
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What `dyno versus` is told.
#[derive(Args, Debug)]
pub struct VersusArguments {
    /// Name of an experiment (see `dyno list experiments`) or path of an experiment file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,

    /// What differs: one of these with two values, the first of which is the baseline, for example
    /// --set target=embedded:17,embedded:18; others with one value hold for both
    #[arg(long = "set", value_name = "NAME=VALUE[,VALUE]", value_parser = assignment, required = true)]
    pub set: Vec<(String, String)>,

    /// How large a difference matters: if it is known to be smaller in either direction, the two are the same
    #[arg(long, value_name = "PERCENT", value_parser = percent, default_value = "3%")]
    pub detect: f64,

    /// End after this time even if nothing is decided
    #[arg(long, value_name = "TIME", value_parser = age, default_value = "10m")]
    pub at_most: Duration,

    /// How long one of the two works before it may be the other's turn
    #[arg(long, value_name = "TIME", value_parser = slice, default_value = "500ms")]
    pub slice: Duration,

    /// Exit with code 3 if the second is worse, and by at least this much in the middle of what is known
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_if_worse: Option<f64>,

    /// Exit with code 4 if nothing is decided
    #[arg(long)]
    pub fail_if_unsure: bool,

    #[command(flatten)]
    pub pipeline: PipelineArguments,

    /// Size of the experiment; full is the published one
    #[arg(long, value_enum, default_value_t = SizeName::Small)]
    pub size: SizeName,

    /// Database to measure both on, if they do not differ in it; see `dyno run --help`
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,

    /// Seed of all random numbers [default: a new one each time, recorded in the archive]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// How the load's threads move bytes: auto uses io_uring if the system allows it
    #[arg(long, value_name = "auto|epoll|io_uring", default_value_t)]
    pub transport: TransportChoice,

    /// Bind the load's threads to these CPUs in turn, one CPU per thread, for example 0-3,6 [default: none]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub archive: ArchiveArgument,
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

/// What `dyno capacity` is told.
#[derive(Args, Debug)]
pub struct CapacityArguments {
    /// Name of an experiment (see `dyno list experiments`) or path of an experiment file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,

    /// What has to hold, for example --limit "p99 < 5ms" --limit "errors < 0.1%": of p50, p95, p99, p99.9, mean and
    /// errors
    #[arg(long = "limit", value_name = "LIMIT", required = true)]
    pub limits: Vec<LoadLimit>,

    /// What is varied: the rate of an open loop, or the number of clients of a closed loop, up to all that there are
    #[arg(long, value_enum, default_value_t = DimensionName::Rate)]
    pub over: DimensionName,

    /// Go on until the highest load that holds and the lowest that does not are this near
    #[arg(long, value_name = "PERCENT", value_parser = nearness, default_value = "5%")]
    pub within: f64,

    /// End after this time even if the capacity is not found
    #[arg(long, value_name = "TIME", value_parser = search_time, default_value = "10m")]
    pub at_most: Duration,

    /// Exit with code 3 if the limits are known not to hold at this rate, or with so many clients
    #[arg(long, value_name = "LOAD", value_parser = load)]
    pub fail_if_below: Option<f64>,

    /// Exit with code 4 if the capacity is not found
    #[arg(long)]
    pub fail_if_unsure: bool,

    /// Change something in the experiment, for example --set clients=64; one value each
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// Size of the experiment; full is the published one
    #[arg(long, value_enum, default_value_t = SizeName::Small)]
    pub size: SizeName,

    /// Database to measure; see `dyno run --help`
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,

    /// Seed of all random numbers [default: a new one each time, recorded in the archive]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Do not sample server and host while the load runs: then it is not known what gave way
    #[arg(long)]
    pub no_sampling: bool,

    /// How the load's threads move bytes: auto uses io_uring if the system allows it
    #[arg(long, value_name = "auto|epoll|io_uring", default_value_t)]
    pub transport: TransportChoice,

    /// Bind the load's threads to these CPUs in turn, one CPU per thread, for example 0-3,6 [default: none]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What can be varied, as typed.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum DimensionName {
    /// Transactions per second of an open loop
    Rate,
    /// Active clients of a closed loop
    Clients,
}

impl From<DimensionName> for LoadDimension {
    fn from(name: DimensionName) -> Self {
        match name {
            DimensionName::Rate => Self::Rate,
            DimensionName::Clients => Self::Clients,
        }
    }
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
    #[arg(value_enum, default_value_t = Listing::Runs)]
    pub what: Listing,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What can be listed.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum Listing {
    /// The runs in the archive
    Runs,
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
    /// Campaign to compare with, by name or path of its folder
    #[arg(value_name = "BASELINE")]
    pub baseline: String,

    /// Campaign to judge, by name or path of its folder
    #[arg(value_name = "CAMPAIGN")]
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
    /// All figures, as described in docs/compare.md
    Json,
    /// A page with charts that needs no network
    Html,
}

/// What `dyno report` is told.
#[derive(Args, Debug)]
pub struct ReportArguments {
    /// Folders of campaigns, by name or path; several are shown side by side [default: the newest]
    #[arg(value_name = "CAMPAIGN")]
    pub campaigns: Vec<String>,

    /// One run of the campaign, by number or folder, in full [default: all runs together]
    #[arg(long, value_name = "RUN", conflicts_with = "baseline")]
    pub run: Option<String>,

    /// Campaign that the others are compared with
    #[arg(long, value_name = "CAMPAIGN")]
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

/// The sizes as typed.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum SizeName {
    /// The shape of the results in minutes, loading included
    Small,
    /// More data and longer runs
    Medium,
    /// As published
    Full,
}

impl From<SizeName> for Size {
    fn from(name: SizeName) -> Self {
        match name {
            SizeName::Small => Self::Small,
            SizeName::Medium => Self::Medium,
            SizeName::Full => Self::Full,
        }
    }
}

/// What may be done after a run that failed.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum OnFailureName {
    /// Continue with the next run
    Continue,
    /// End the campaign; dyno run --resume continues it
    Stop,
}

impl From<OnFailureName> for OnFailure {
    fn from(name: OnFailureName) -> Self {
        match name {
            OnFailureName::Continue => Self::Continue,
            OnFailureName::Stop => Self::Stop,
        }
    }
}

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write NAME=VALUE, for example --set clients=16".to_owned()),
    }
}

/// How long something was not used. A day has 24 hours.
fn age(text: &str) -> Result<Duration, String> {
    let expected = || "write a number with its unit, such as 7d, 12h or 2 weeks".to_owned();
    let span: Span = text.parse().map_err(|_| expected())?;
    let age = span.to_duration(SpanRelativeTo::days_are_24_hours());
    age.ok()
        .and_then(|age| Duration::try_from(age).ok())
        .ok_or_else(expected)
}

/// How long a slice may be.
fn slice(text: &str) -> Result<Duration, String> {
    let limits = Duration::from_millis(100)..=Duration::from_secs(60);
    age(text)
        .ok()
        .filter(|slice| limits.contains(slice))
        .ok_or_else(|| "write a time from 100ms to 60s, such as 500ms".to_owned())
}

/// How near the ends of a search are to come to each other.
fn nearness(text: &str) -> Result<f64, String> {
    percent(text)
        .ok()
        .filter(|share| (0.005..=0.5).contains(share))
        .ok_or_else(|| "write a percentage from 0.5% to 50%, such as 5%".to_owned())
}

/// How long a capacity may be sought.
fn search_time(text: &str) -> Result<Duration, String> {
    let limits = Duration::from_secs(10)..=Duration::from_secs(7 * 86_400);
    age(text)
        .ok()
        .filter(|time| limits.contains(time))
        .ok_or_else(|| "write a time from 10s to 7d, such as 10m".to_owned())
}

/// A rate or a number of clients.
fn load(text: &str) -> Result<f64, String> {
    let number = text.trim().replace([',', '_'], "").parse::<f64>();
    number
        .ok()
        .filter(|load| load.is_finite() && *load > 0.0)
        .ok_or_else(|| "write a number above 0, such as 5000".to_owned())
}

/// A number of things that there must be.
fn at_least_one(text: &str) -> Result<usize, String> {
    match text.trim().parse() {
        Ok(number @ 1..) => Ok(number),
        _ => Err("write a number of at least 1, or several separated by commas".to_owned()),
    }
}

/// A percentage as a share; the sign may be left out.
fn percent(text: &str) -> Result<f64, String> {
    let number = text.strip_suffix('%').unwrap_or(text).trim();
    match number.parse::<f64>() {
        Ok(percent) if (0.0..=100.0).contains(&percent) => Ok(percent / 100.0),
        _ => Err("write a percentage from 0 to 100, for example --fail-if-worse 5%".to_owned()),
    }
}
