//! Experiment files: a question, and everything that is done to answer it.
//!
//! A file is TOML. Its values as written are the published experiment; `[size.small]` and its siblings say what
//! differs where an answer is wanted sooner. Whatever a person may set, in a size or on the command line, goes
//! through [`Experiment::set`], so that each value has one meaning and one check. [`Experiment::plan`] gives the
//! exact work of a run, with nothing left open.

mod begin;
mod builtin;
mod counted;
mod diagnostic;
mod dialect;
mod document;
mod driver;
mod duration;
mod factor;
mod load_hosts;
pub(crate) mod mention;
mod named;
mod one_off;
mod placeholder;
pub mod plan;
mod resolve;
mod section;
mod servers;
mod set;
pub(crate) mod text_file;

pub use begin::{SCHEMA, SCHEMA_FILE, begin};
pub use builtin::SHARED;
pub(crate) use builtin::series_of;
pub use builtin::{Builtin, builtin, find};
pub use diagnostic::Diagnostic;
pub use dialect::OtherDatabase;
pub(crate) use document::file_form;
pub(crate) use named::NamedLevels;
pub use one_off::one_off;
pub(crate) use placeholder::{substitute, unknown as unknown_placeholder};
pub(crate) use servers::checked;
pub use set::SetError;
pub(crate) use set::{HOSTS, TARGET};

use crate::lua::{LuaPlan, PreparePlan};
use dialect::Dialect;
use dyno_archive::plan::{
    Address, Cache, Check, Driver, Expect, Levels, LoadHosts, Path, Place, Protocol, Publication, Question, RowFile,
    Scripts, SharedDefaults, Size, Span, State, Value,
};
use dyno_fleet::start::HostError;
use dyno_target::target::without_secrets;
use indexmap::IndexMap;
use load_hosts::OnHosts;
use plan::Design;
use servers::ServerPlan;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

/// An experiment as its file says it, with all sizes.
#[derive(Clone, Debug, PartialEq)]
pub struct Experiment {
    name: String,
    title: String,
    question: String,
    source: String,
    published: Publication,
    group: String,
    defaults: SharedDefaults,
    parameters: IndexMap<String, Value>,
    settings: IndexMap<String, String>,
    setup: String,
    setup_place: Option<Place>,
    fill: Vec<FillPlan>,
    prepare: Option<PreparePlan>,
    finish: String,
    finish_place: Option<Place>,
    read_only: bool,
    target: Option<String>,
    server_name: Option<String>,
    servers: IndexMap<String, ServerPlan>,
    path: Option<Path>,
    locale: Option<String>,
    state: State,
    cache: Cache,
    tablespaces: Vec<String>,
    workloads: Vec<WorkloadPlan>,
    /// The names of the workloads that run; empty: all.
    selected: Vec<String>,
    /// `None`: the usual one, or none if nothing could run meanwhile.
    warmup: Option<Duration>,
    measure: Option<Duration>,
    interval: Duration,
    grace: Duration,
    load_hosts: LoadHosts,
    /// Whether these take the place of others that the file has.
    hosts_replaced: bool,
    /// How many of these drive it, from the first; `None`: all.
    hosts: Option<usize>,
    stages: Vec<StagePlan>,
    metrics: IndexMap<String, String>,
    /// Within what bounds metrics have to be for a run to count, by their names.
    limits: IndexMap<String, Expect>,
    checks: Vec<Check>,
    outputs: Vec<Question>,
    pub(crate) design: Design,
    /// The factors whose levels are names.
    named: IndexMap<String, NamedLevels>,
    sizes: Vec<(Size, Vec<Change>)>,
    /// What is said for one kind of database, by its key.
    dialects: IndexMap<&'static str, Dialect>,
}

/// What a size changes.
#[derive(Clone, Debug, PartialEq)]
enum Change {
    /// One value, by a name that [`Experiment::set`] knows.
    Value(String, Value),
    /// The levels of a factor, new or not.
    Factor(String, Vec<String>),
    /// The same for a factor whose levels are names.
    Named(String, NamedLevels),
    /// The cells that others are compared with.
    Baseline(Levels),
    /// The cells that are left out.
    Exclude(Vec<Levels>),
    /// The cells that are added.
    Include(Vec<Levels>),
}

/// A table to be filled with rows; `{name}` stands for parameters.
#[derive(Clone, Debug, PartialEq)]
struct FillPlan {
    table: String,
    rows: String,
    columns: IndexMap<String, String>,
    /// What dyno makes the rows from; `None`: the server makes them from expressions in SQL.
    seed: Option<String>,
    /// The file that the rows stand in.
    file: Option<RowFile>,
}

/// A workload as written.
#[derive(Clone, Debug, PartialEq)]
struct WorkloadPlan {
    name: String,
    clients: usize,
    /// `None`: as many as the machine has cores for.
    threads: Option<usize>,
    protocol: Protocol,
    driver: Driver,
    /// The file and the line that say so.
    driver_place: Option<String>,
    rate_per_s: Option<f64>,
    /// How many transactions each client is to have; `None`: as many as fit into the time.
    transactions: Option<u64>,
    start_delay: Duration,
    scripts: WorkPlan,
    /// The further server that it is for; `None`: the main one.
    server: Option<String>,
    /// Whether the sum over the instances of that server means something.
    sum: bool,
    /// The load hosts that drive it.
    hosts: OnHosts,
}

/// What the clients of a workload execute, as written.
#[derive(Clone, Debug, PartialEq)]
enum WorkPlan {
    /// Scripts in pgbench's language.
    Scripts(Scripts),
    /// A script in Lua.
    Lua(Box<LuaPlan>),
}

/// A stage as written.
#[derive(Clone, Debug, PartialEq)]
struct StagePlan {
    name: String,
    /// With `until_done` it is what it may take at most.
    lasts: Option<Duration>,
    /// Whether it lasts until the work of its workloads is done.
    until_done: bool,
    clients: Option<Span>,
    rate: Option<Span>,
    workloads: Vec<String>,
}

/// Why there is no experiment to run.
#[derive(Debug, thiserror::Error)]
pub enum ExperimentError {
    /// Neither built in nor a file.
    #[error(
        "there is no experiment `{name}`{}\nSee `dyno list experiments`, or give the path of an experiment file.",
        did_you_mean(nearest.as_deref())
    )]
    Unknown {
        /// What was asked for.
        name: String,
        /// The built-in name most like it.
        nearest: Option<String>,
    },
    /// It is a series, where one experiment is to be.
    #[error(
        "`{name}` is a series of {experiments} experiments, and one is wanted: name one of them (dyno list \
         experiments). dyno run {name} --dry-run looks at all"
    )]
    Series {
        /// What was asked for.
        name: String,
        /// How many it has.
        experiments: usize,
    },
    /// It is a folder, where one experiment is to be.
    #[error(
        "{} is a folder of experiments, and one is wanted: name one of its files. dyno run {} --dry-run looks at all",
        path.display(),
        path.display()
    )]
    Folder {
        /// The folder.
        path: PathBuf,
    },
    /// The file cannot be read.
    #[error("cannot read the experiment file {}: {cause}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's reason.
        cause: std::io::Error,
    },
    /// There is nothing to execute.
    #[error("the script is empty: it needs at least one statement, for example --script 'select 1'")]
    EmptyScript,
    /// The file is the one that experiments share.
    #[error(
        "{} holds what the experiments of its folder share, and is none itself: give one of them, or the folder",
        path.display()
    )]
    Shared {
        /// The file.
        path: PathBuf,
    },
    /// The file says something wrong.
    #[error(transparent)]
    Invalid(#[from] Diagnostic),
}

/// Ends the first line of a message about a name that is not known.
pub(crate) fn did_you_mean(nearest: Option<&str>) -> String {
    nearest.map_or_else(String::new, |nearest| format!("; did you mean `{nearest}`?"))
}

/// The address of a database as it was given.
pub(crate) fn address(given: String) -> Address {
    let shown = without_secrets(&given);
    Address::new(given, shown)
}

impl Experiment {
    /// Reads the text of an experiment file. `path` is used in messages, gives the experiment its name, and script
    /// files are found beside it.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its place in the file.
    pub fn parse(path: &std::path::Path, text: &str) -> Result<Self, Diagnostic> {
        document::parse(path, text)
    }

    /// The same with what it shares with the other experiments of its folder: the path and the text of `dyno.toml`.
    ///
    /// # Errors
    ///
    /// The first thing that is wrong, with its place in the one or the other file.
    pub fn parse_beside(
        path: &std::path::Path,
        text: &str,
        shared: Option<(&std::path::Path, &str)>,
    ) -> Result<Self, Diagnostic> {
        document::parse_beside(path, text, shared)
    }

    /// Says which hosts drive the load, whatever the file says: each is `local`, `ray`, or what ssh is given. They
    /// share it by their cores. Gives whether the file has shares, which are of its own hosts.
    ///
    /// # Errors
    ///
    /// One of them names no host.
    pub fn drive_from(&mut self, hosts: Vec<String>) -> Result<bool, HostError> {
        dyno_fleet::start::hosts(hosts.iter().map(String::as_str))?;
        self.hosts_replaced = !self.load_hosts.is_empty();
        self.load_hosts.hosts = hosts;
        let shares = std::mem::take(&mut self.load_hosts.shares);
        Ok(!shares.is_empty())
    }

    /// Says which Ray cluster nodes among these hosts are of, and where their agents dial in.
    pub fn drive_on(&mut self, ray: String, listen: Option<SocketAddr>) {
        self.load_hosts.ray = Some(ray);
        self.load_hosts.listen = listen;
    }

    /// The name it is called by: the file's name without its ending.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// What it is, in a few words.
    #[must_use]
    pub fn title(&self) -> &str {
        &self.title
    }

    /// What it finds out; empty if the file does not say.
    #[must_use]
    pub fn question(&self) -> &str {
        &self.question
    }

    /// The heading under which a series has it; empty if the file does not say.
    #[must_use]
    pub fn group(&self) -> &str {
        &self.group
    }

    /// Where it was published; empty if the file does not say.
    #[must_use]
    pub fn source(&self) -> &str {
        &self.source
    }
}
