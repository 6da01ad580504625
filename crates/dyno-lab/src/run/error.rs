//! Why a campaign could not be made, or a run not begin.

use super::turns::TurnsError;
use dyno_analysis::summary::metrics::MetricError;
use dyno_archive::ArchiveError;
use dyno_archive::plan::Path as Route;
use dyno_engine::{DriveError, TooFewDescriptors, UringUnavailable};
use dyno_fleet::FleetError;
use dyno_load::LoadError;
use dyno_script::ScriptError;
use dyno_target::host::SizeError;
use dyno_target::target::{SqlError, TargetError};
use std::path::PathBuf;

/// Why a campaign could not be made, or a run not begin.
#[derive(Debug, thiserror::Error)]
#[allow(missing_docs, reason = "the messages say it")]
pub enum RunError {
    #[error(transparent)]
    Script(#[from] ScriptError),
    #[error(transparent)]
    Load(#[from] LoadError),
    #[error(transparent)]
    Target(#[from] TargetError),
    #[error(transparent)]
    Size(#[from] SizeError),
    #[error(transparent)]
    Archive(#[from] ArchiveError),
    #[error(transparent)]
    Sql(#[from] SqlError),
    #[error("{0}; choose --transport epoll, or auto to use what is available")]
    Transport(#[from] UringUnavailable),
    #[error(transparent)]
    Descriptors(#[from] TooFewDescriptors),
    #[error(transparent)]
    Drive(#[from] DriveError),
    #[error(transparent)]
    Fleet(#[from] FleetError),
    #[error("cannot find the program of this dyno, which load hosts need: {0}")]
    Program(std::io::Error),
    #[error(
        "load host {host} is another machine and cannot reach a private server, which listens on this one alone: name \
         the address of a server with --target, or use load hosts on this machine (--local-agents)"
    )]
    Unreachable { host: String },
    #[error(
        "the connection with which dyno reserves the server was lost, so another dyno may have changed the server; \
         find out why the connection ended, and rerun"
    )]
    Unreserved,
    /// A cell of a campaign cannot be measured, which is known before any is.
    #[error("the cell {cell} cannot be measured: {cause}")]
    Cell { cell: String, cause: Box<RunError> },
    #[error(
        "replicas are made of dyno's own servers, but the server {server} is {address}, which is there already: leave \
         out replica_of, and name its replica by its address"
    )]
    ReplicaElsewhere { server: String, address: String },
    #[error(
        "the server {replica} is to be a replica of {primary}, but is {own}, not {other}: leave out its target, so \
         that it is of the same kind and version"
    )]
    ReplicaUnlike {
        replica: String,
        own: String,
        primary: String,
        other: String,
    },
    #[error(
        "the proxy {proxy} reaches {remote}, which is a private server of another kind of database, over TCP only: add \
         path = \"tcp\" to {section}"
    )]
    ProxyOverTcp {
        proxy: String,
        remote: String,
        section: String,
    },
    #[error("{{{server}.{field}}} is nothing that this server has; say how to reach it with what it has")]
    NotThere { server: String, field: String },
    /// Another error, of which only the text without passwords is left.
    #[error("{0}")]
    Hidden(String),
    /// Of several servers, which one it is about.
    #[error("the server {server}: {cause}")]
    OfServer { server: String, cause: Box<RunError> },
    #[error(
        "the servers {one} and {other} are the same one, {address}: data and settings of one would be the other's; \
         give one of them another address"
    )]
    OneServerTwice {
        one: String,
        other: String,
        address: String,
    },
    #[error("there is no campaign \"{name}\" in {}; see dyno list", archive.display())]
    NoCampaign { name: String, archive: PathBuf },
    #[error("there is no unfinished campaign in {}; see dyno list", archive.display())]
    NothingToResume { archive: PathBuf },
    #[error("{} cannot be resumed: {reason}", campaign.display())]
    NotResumable { campaign: PathBuf, reason: &'static str },
    #[error(
        "the campaign measures {measured}, but this would measure {now}: give the address of the same database with \
         --target"
    )]
    OtherTarget { measured: String, now: String },
    #[error("the experiment varies the target: choose its levels with --set target=… instead of --target")]
    TargetVaries,
    #[error(transparent)]
    Turns(#[from] TurnsError),
    #[error("the plan has no cell to measure")]
    NothingPlanned,
    #[error(
        "cache = \"cold\" requires a restart and the server's files, but {target} is not dyno's own; choose \"as-is\" \
         or \"warm\" with --set cache=…"
    )]
    ColdCache { target: String },
    #[error(
        "path = \"{wanted}\" is not possible: the address of {target} selects {taken}; give the server's other \
         address with --target, or choose --set path={taken}"
    )]
    OtherRoute {
        target: String,
        wanted: Route,
        taken: Route,
    },
    #[error(
        "locale = \"{wanted}\" is not possible: the database of {target} has {found}, which dyno cannot \
         change; create a database with that locale (create database … template template0 …), or leave locale out"
    )]
    OtherLocale {
        target: String,
        wanted: String,
        found: String,
    },
    #[error("the campaign varies a setting that it cannot set: {what}")]
    Unsettable { what: String },
    #[error("the campaign varies {}, but --leave-settings leaves the server as it is; give one of the two",
        names.join(", "))]
    LeftAndVaried { names: Vec<String> },
    #[error("the metric \"{name}\" has no value: {cause}; change it under [metrics]")]
    Metric { name: String, cause: MetricError },
    #[error(
        "the command that restarts the server was stored without the secret that it seems to contain: {shown}\nGive \
         it again with --restart-command."
    )]
    RestartCommandHidden { shown: String },
    #[error(
        "the campaign was archived without the secrets in {}, so its runs cannot go on: begin a new campaign",
        names.join(", ")
    )]
    SecretsHidden { names: Vec<String> },
    #[error(
        "{target} is not dyno's own server, and only those can be started: embedded, embedded:VERSION, \
         embedded:mariadb, embedded:mariadb:VERSION, embedded:mysql:system"
    )]
    NotPrivate { target: String },
    /// A server that stands without a load has ended: why.
    #[error("{0}")]
    Ended(String),
    /// Nobody could be told that a server stands: why.
    #[error("{0}")]
    Untold(String),
    #[error("stopped before anything was measured")]
    Stopped,
}
