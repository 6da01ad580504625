//! What may be typed to measure.

use super::value::{assignment, label, lasting, percent};
use super::{ArchiveArgument, PipelineArguments};
use clap::builder::{StringValueParser, TypedValueParser};
use clap::{Args, ValueEnum};
use dyno_archive::plan::{ErrorLimit, OnFailure, Size};
use dyno_archive::{LoadDimension, LoadLimit};
use dyno_engine::{Cpus, TransportChoice};
use std::net::SocketAddr;
use std::time::Duration;

/// What `dyno run` is told.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// Name of an experiment or of a series (see `dyno list experiments`), or path of an experiment file or of a folder
    /// of them; several are measured one after the other, and published on one page (docs/series.md)
    #[arg(value_name = "NAME|FILE|FOLDER", required_unless_present_any = ["resume", "script"])]
    pub experiments: Vec<String>,

    /// Measure this script, in pgbench's language, instead of an experiment from a file: --script 'select 1'
    #[arg(long, value_name = "SQL", conflicts_with = "experiments")]
    pub script: Option<String>,

    /// How many clients execute it, each on a connection of its own [default: 1]
    #[arg(
        long,
        value_name = "N",
        requires = "script",
        conflicts_with = "experiments",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub clients: Option<u32>,

    /// Continue a campaign or a series, given by name or path of its folder: measure the runs that are missing
    /// [default: the newest that lacks any]
    #[arg(
        long,
        value_name = "CAMPAIGN",
        num_args = 0..=1,
        conflicts_with_all = [
            "experiments", "script", "name", "size", "set", "repeat", "seed", "dry_run", "max_errors", "leave_settings",
            "share_server", "no_sampling", "transport", "cpus", "hosts", "local_agents", "ray", "listen"
        ]
    )]
    #[allow(clippy::option_option, reason = "given or not, with or without a value")]
    pub resume: Option<Option<String>>,

    /// What to call the campaign or the series: part of its folder's name, and a name by which other commands know it
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub name: Option<String>,

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
        value_parser = StringValueParser::new().map(|host| host.trim().to_owned()),
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
    #[arg(
        long,
        value_name = "N",
        requires = "ray",
        conflicts_with_all = ["hosts", "local_agents"],
        value_parser = clap::value_parser!(u16).range(1..=1024)
    )]
    pub agents: Option<u16>,

    /// Where they connect to: an address of this machine that they can reach, and a port [default: the address from
    /// which the cluster is reached, any port]
    // What is required is not missed where it conflicts with what is there.
    #[arg(
        long,
        value_name = "ADDRESS:PORT",
        requires = "ray",
        conflicts_with_all = ["hosts", "local_agents"]
    )]
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

    /// Print what the campaign found as one JSON document on standard output, and all else on standard error; see
    /// docs/formats.md
    #[arg(long, conflicts_with = "dry_run")]
    pub json: bool,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// What `dyno versus` is told.
#[derive(Args, Debug)]
pub struct VersusArguments {
    /// Name of an experiment (see `dyno list experiments`) or path of an experiment file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,

    /// What differs: one of these with two values or more, the first of which is the baseline, for example
    /// --set target=embedded:17,embedded:18; others with one value hold for all
    #[arg(long = "set", value_name = "NAME=VALUE[,VALUE]", value_parser = assignment, required = true)]
    pub set: Vec<(String, String)>,

    /// How large a difference matters: if it is known to be smaller in either direction, variants are the same
    #[arg(long, value_name = "PERCENT", value_parser = difference, default_value = "3%")]
    pub detect: f64,

    /// End after this time even if nothing is decided
    #[arg(long, value_name = "TIME", value_parser = lasting, default_value = "10m")]
    pub at_most: Duration,

    /// How long one variant works before it may be another's turn [default: 500ms, or up to 5s if the first ones
    /// show that it takes that]
    #[arg(long, value_name = "TIME", value_parser = slice)]
    pub slice: Option<Duration>,

    /// Give all variants their load at the same time instead of in turn: for machines with cores enough for all
    #[arg(long)]
    pub simultaneous: bool,

    /// Exit with code 3 if any variant is worse than the first, and by at least this much in the middle of what is
    /// known
    #[arg(long, value_name = "PERCENT", value_parser = percent)]
    pub fail_if_worse: Option<f64>,

    /// Exit with code 4 if any variant is not decided
    #[arg(long)]
    pub fail_if_unsure: bool,

    #[command(flatten)]
    pub pipeline: PipelineArguments,

    #[command(flatten)]
    pub load: OneLoadArguments,
}

/// What `dyno screen` is told.
#[derive(Args, Debug)]
pub struct ScreenArguments {
    /// Name of an experiment (see `dyno list experiments`) or path of an experiment file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,

    /// A factor with two values, such as --set shared_buffers=64MB,256MB: two to eleven of them; others with one value
    /// hold for all
    #[arg(long = "set", value_name = "NAME=VALUE[,VALUE]", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// How long each pair is measured: there are 8 for up to 3 factors, 16 for up to 7 and 24 for up to 11
    /// [default: 10s]
    #[arg(long, value_name = "TIME", value_parser = lasting, conflicts_with = "at_most")]
    pub each: Option<Duration>,

    /// How long all pairs are measured together, instead of --each; bringing servers up and warming up come on top
    #[arg(long, value_name = "TIME", value_parser = lasting)]
    pub at_most: Option<Duration>,

    /// How long one of a pair works before it may be the other's turn
    #[arg(long, value_name = "TIME", value_parser = slice, default_value = "500ms")]
    pub slice: Duration,

    #[command(flatten)]
    pub load: OneLoadArguments,
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

    /// Do not sample server and host while the load runs: then it is not known what gave way
    #[arg(long)]
    pub no_sampling: bool,

    #[command(flatten)]
    pub load: OneLoadArguments,
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

/// What commands are told that make one load of an experiment and watch it until they know.
#[derive(Args, Debug)]
pub struct OneLoadArguments {
    /// What to call the campaign: part of its folder's name, and a name by which other commands know it
    #[arg(long, value_name = "LABEL", value_parser = label)]
    pub name: Option<String>,

    /// Size of the experiment; full is the published one
    #[arg(long, value_enum, default_value_t = SizeName::Small)]
    pub size: SizeName,

    /// Database to measure; see `dyno run --help`
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,

    /// Seed of all random numbers [default: a new one each time, recorded in the archive]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Shell command that restarts a server other than dyno's own; see `dyno run --help`
    #[arg(long, value_name = "COMMAND")]
    pub restart_command: Option<String>,

    /// How the load's threads move bytes: auto uses io_uring if the system allows it
    #[arg(long, value_name = "auto|epoll|io_uring", default_value_t)]
    pub transport: TransportChoice,

    /// Bind the load's threads to these CPUs in turn, one CPU per thread, for example 0-3,6 [default: none]
    #[arg(long, value_name = "LIST")]
    pub cpus: Option<Cpus>,

    #[command(flatten)]
    pub archive: ArchiveArgument,
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

/// A difference that matters. Nothing is lower by all that there is.
fn difference(text: &str) -> Result<f64, String> {
    percent(text)
        .ok()
        .filter(|share| *share < 1.0)
        .ok_or_else(|| "write a percentage below 100%, such as 3%".to_owned())
}

/// How long a slice may be.
fn slice(text: &str) -> Result<Duration, String> {
    let limits = Duration::from_millis(100)..=Duration::from_secs(60);
    lasting(text)
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
    lasting(text)
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
