//! What may be typed.

use clap::{Args, Parser, Subcommand, ValueEnum};
use dyno_lab::experiment::Size;
use std::ffi::OsString;
use std::path::PathBuf;

/// Put a database on the dyno: drive it with scripted transactions, record everything, judge honestly.
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
    /// List the archived runs, or the experiments that can be run by name
    List(ListArguments),
    /// Show everything about an archived campaign
    Show(ShowArguments),
    /// Do what PostgreSQL's pgbench does with the same words; see `dyno pgbench --help`
    #[command(disable_help_flag = true)]
    Pgbench(PgbenchArguments),
}

/// What `dyno pgbench` is told: for pgbench alone to understand.
#[derive(Args, Debug)]
pub struct PgbenchArguments {
    /// pgbench's options and database
    #[arg(trailing_var_arg = true, allow_hyphen_values = true, value_name = "OPTION|DBNAME")]
    pub words: Vec<OsString>,
}

/// What `dyno run` is told.
#[derive(Args, Debug)]
pub struct RunArguments {
    /// Name of an experiment (see `dyno list experiments`) or path of an experiment file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,

    /// How much of it to do; full is the published size
    #[arg(long, value_enum, default_value_t = SizeName::Small)]
    pub size: SizeName,

    /// Database to measure: a URI, a conninfo string, or "embedded" or "embedded:VERSION" for a private PostgreSQL
    ///
    /// What a URI or conninfo string leaves open comes from the PG* variables, the service file and ~/.pgpass, as with psql:
    /// --target postgres:// takes everything from there.
    #[arg(long, value_name = "URL", default_value = "embedded")]
    pub target: String,

    /// Set a parameter, setting, or number of clients; may be given several times
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// Measure this many times
    #[arg(long, value_name = "N", default_value_t = 1, value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub repeat: u32,

    /// Fix all random numbers [default: a new seed each time, kept in the archive]
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,

    /// Print what would be done and how long it would take, and do nothing
    #[arg(long)]
    pub dry_run: bool,

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// Where campaigns are kept.
#[derive(Args, Debug)]
pub struct ArchiveArgument {
    /// Folder that holds the campaigns
    #[arg(long, value_name = "FOLDER", env = "DYNO_ARCHIVE", default_value = "archive")]
    pub archive: PathBuf,
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

    #[command(flatten)]
    pub archive: ArchiveArgument,
}

/// The sizes as typed.
#[derive(ValueEnum, Clone, Copy, Debug)]
pub enum SizeName {
    /// About a minute, loading included
    Small,
    /// Some minutes
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

fn assignment(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.trim().is_empty() => Ok((name.trim().to_owned(), value.trim().to_owned())),
        _ => Err("write NAME=VALUE, for example --set clients=16".to_owned()),
    }
}
