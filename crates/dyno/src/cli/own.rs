//! What may be typed to write experiments of one's own, and to have servers for them.

use super::measure::SizeName;
use super::value::{assignment, label, lasting, server_name};
use clap::{Args, Subcommand};
use std::path::PathBuf;
use std::time::Duration;

/// What `dyno new` is told.
#[derive(Args, Debug)]
pub struct NewArguments {
    /// What to call the experiment: the file is NAME.toml in the current folder
    #[arg(value_name = "NAME", value_parser = label)]
    pub name: String,
}

/// What `dyno check` is told.
#[derive(Args, Debug)]
pub struct CheckArguments {
    /// Name of an experiment (see `dyno list experiments`) or path of an experiment file
    #[arg(value_name = "NAME|FILE")]
    pub experiment: String,

    /// Size of the experiment; full is the published one
    #[arg(long, value_enum, default_value_t = SizeName::Small)]
    pub size: SizeName,

    /// Database to measure; see `dyno run --help`
    #[arg(long, value_name = "URL")]
    pub target: Option<String>,

    /// Set or vary something, as for `dyno run`
    #[arg(long = "set", value_name = "NAME=VALUE[,VALUE]", value_parser = assignment)]
    pub set: Vec<(String, String)>,
}

/// What `dyno server` is told.
#[derive(Args, Debug)]
pub struct ServerArguments {
    /// What to do
    #[command(subcommand)]
    pub action: ServerAction,
}

/// What can be done with servers.
#[derive(Subcommand, Debug)]
pub enum ServerAction {
    /// Start a private server that stays until it is stopped, and print its address
    Start(StartArguments),
    /// Stop it; what is in its database is there again after the next start
    Stop(NamedServer),
    /// Print its address with its password: psql "$(dyno server url)"
    Url(NamedServer),
    /// List those that are running
    List,
}

/// What `dyno server start` is told.
#[derive(Args, Debug)]
pub struct StartArguments {
    /// Which: a version of PostgreSQL such as 18, or mariadb, mariadb:VERSION, mysql:system
    #[arg(long, value_name = "VERSION", default_value = "18")]
    pub version: String,

    /// What to call it, if there are to be several; each has data of its own
    #[arg(long, value_name = "NAME", value_parser = server_name, default_value = "server")]
    pub name: String,

    /// With settings and data of this experiment: its name, or the path of its file
    #[arg(long, value_name = "EXPERIMENT")]
    pub with: Option<String>,

    /// Size of that experiment
    #[arg(long, value_enum, default_value_t = SizeName::Small, requires = "with")]
    pub size: SizeName,

    /// Set something in that experiment, such as rows=10000, or of the server, such as
    /// shared_preload_libraries=pg_stat_statements; can be repeated
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = assignment)]
    pub set: Vec<(String, String)>,

    /// Stay in the foreground until Ctrl-C
    #[arg(long)]
    pub foreground: bool,
}

/// One of the servers.
#[derive(Args, Debug)]
pub struct NamedServer {
    /// Its name [default: the only one]
    #[arg(value_name = "NAME")]
    pub name: Option<String>,
}

/// What `dyno capture` is told.
#[derive(Args, Debug)]
pub struct CaptureArguments {
    /// Database whose statements are taken: a URI or a conninfo string, as for `dyno run --target`
    #[arg(long, value_name = "URL")]
    pub target: String,

    /// For how long
    #[arg(long = "for", value_name = "TIME", value_parser = lasting, default_value = "60s")]
    pub lasts: Duration,

    /// The most statements, those first that took the most time
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u16).range(1..=1000))]
    pub most: u16,

    /// File to write
    #[arg(long, value_name = "FILE", default_value = "captured.toml")]
    pub output: PathBuf,
}
