//! The exact work of a run.

use super::{
    Address, Cache, Check, Driver, Expect, FurtherServer, Instances, LoadHosts, LuaScript, Path, Place, Protocol,
    Question, Scripts, Size, Span, State, Value, padded, secret,
};
use indexmap::IndexMap;
use jiff::fmt::serde::unsigned_duration::friendly::compact::{optional, required};
use serde::{Deserialize, Serialize};
use std::path::PathBuf;
use std::time::Duration;

/// The name of the phase whose results count.
pub const MEASURE: &str = "measure";

/// The name of the phase before it, whose results are kept but not summed up.
pub const WARMUP: &str = "warmup";

/// [`Resolved::grace`] where nobody says it.
pub const GRACE: Duration = Duration::from_secs(10);

fn default_grace() -> Duration {
    GRACE
}

fn is_default_grace(grace: &Duration) -> bool {
    *grace == GRACE
}

/// An experiment at one size, with nothing left open. This is what the archive keeps of it.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Resolved {
    /// The experiment's name.
    pub name: String,
    /// What it is, in a few words.
    pub title: String,
    /// What it finds out.
    pub question: String,
    /// Where it was published.
    pub source: String,
    /// Under which heading a series has it; empty: none.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// How much of it is done; `None` for a load that knows no sizes.
    pub size: Option<Size>,
    /// The database, as `--target` would name it; `None`: for the command line to say. It may hold a password,
    /// which is never serialized.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub target: Option<Address>,
    /// What the main server is called; `None`: [`MAIN`](super::MAIN).
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server_name: Option<String>,
    /// The servers beside it, by name, in the order of the file. What else is said here of a server is the main one's.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub servers: IndexMap<String, FurtherServer>,
    /// How the clients connect to the embedded server; `None`: over its unix socket.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<Path>,
    /// The locale of the embedded server's databases; `None`: `C.UTF-8`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub locale: Option<String>,
    /// Variables of all scripts, in the file's order. A text that is a secret by its name is never serialised.
    #[serde(serialize_with = "secret::parameters")]
    pub parameters: IndexMap<String, Value>,
    /// Server settings by name. A value may still be relative to the server's machine ("25% of memory").
    pub settings: IndexMap<String, String>,
    /// What is in the database before the run.
    pub data: Data,
    /// What runs, all at the same time.
    pub workloads: Vec<Workload>,
    /// How long the workloads run before results count; may be zero.
    #[serde(with = "required")]
    pub warmup: Duration,
    /// How long results count: the sum of the stages if there are any; `None`: until the clients of all workloads that
    /// have [`Workload::transactions_per_client`] have had them.
    #[serde(with = "optional")]
    pub measure: Option<Duration>,
    /// Without stages and without [`Resolved::measure`]: how long that may take; `None`: as long as it takes.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Duration>,
    /// How long transactions that are under way at the end may take to finish.
    #[serde(
        default = "default_grace",
        with = "required",
        skip_serializing_if = "is_default_grace"
    )]
    pub grace: Duration,
    /// What the measured time consists of, one after the other; empty: of one stretch in which everything runs.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub stages: Vec<Stage>,
    /// Figures to be calculated from the results, by name: expressions as `dyno_analysis` evaluates them.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub metrics: IndexMap<String, String>,
    /// Within what bounds metrics have to be for a run to count, by their names.
    #[serde(default, skip_serializing_if = "IndexMap::is_empty")]
    pub limits: IndexMap<String, Expect>,
    /// What the server is asked to make sure that the run is what it is taken for.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub checks: Vec<Check>,
    /// Whose rows are kept with the run.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub outputs: Vec<Question>,
    /// How often results are recorded, at least 10 ms.
    #[serde(with = "required")]
    pub interval: Duration,
    /// The hosts that drive the load.
    #[serde(default, skip_serializing_if = "LoadHosts::is_empty")]
    pub load_hosts: LoadHosts,
}

/// How the data is made: first `setup`, then the tables of `fill`, then what a script prepares, then `finish`.
#[derive(Clone, Debug, Default, PartialEq, Serialize, Deserialize)]
pub struct Data {
    /// SQL statements that make the schema; may be empty.
    pub setup: String,
    /// Where it stands; `None` in the archives of earlier dynos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub setup_place: Option<Place>,
    /// Tables filled with rows.
    pub fill: Vec<Fill>,
    /// A script in Lua whose command `prepare` makes data.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub prepare: Option<Prepare>,
    /// SQL statements that complete it, such as indexes; may be empty.
    pub finish: String,
    /// Where that stands; `None` in the archives of earlier dynos.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub finish_place: Option<Place>,
    /// Whether the workloads leave the data as they found it, so that another run may use it as it is.
    pub read_only: bool,
    /// What a run finds of what the run before it did to the data.
    #[serde(default)]
    pub state: State,
    /// What of the data is in memory when the load begins.
    #[serde(default)]
    pub cache: Cache,
    /// Tablespaces that `setup` uses: made on the embedded server, expected to exist elsewhere.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub tablespaces: Vec<String>,
}

/// A table filled with rows.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Fill {
    /// The table.
    pub table: String,
    /// Number of rows.
    pub rows: u64,
    /// For each column an expression, in which `row` is the number of the row from 1; of a file the number of a value
    /// in its rows, from 1.
    pub columns: IndexMap<String, String>,
    /// The expressions are in dyno's own language, and from this the rows are made; `None`: they are SQL.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub seed: Option<u64>,
    /// The file that the rows stand in.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub file: Option<RowFile>,
}

/// A file that has the rows of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RowFile {
    /// Where it was when the campaign was planned.
    pub path: PathBuf,
    /// How values stand in it.
    pub layout: RowLayout,
    /// Whether its first row has the names of its columns.
    pub header: bool,
    /// What stands for NULL.
    pub null: String,
    /// The SHA-256 of all its bytes, in hexadecimal: rows of another file are other data.
    pub sha256: String,
}

/// How values stand in a file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RowLayout {
    /// Separated by a character, in double quotes where they hold it, a quote or a line break (RFC 4180).
    Separated {
        /// That character, of ASCII.
        delimiter: char,
    },
    /// Separated by tabs, with backslashes before what is special, as COPY and `mysqldump --tab` write them.
    Escaped,
    /// In Apache Parquet.
    Parquet,
}

/// A script in Lua whose command `prepare` makes data.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Prepare {
    /// The script.
    #[serde(flatten)]
    pub script: LuaScript,
    /// How many clients it is told that there are; if its command is a parallel one, so many make the data.
    pub threads: usize,
}

/// One or several scripts run by a number of clients.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Workload {
    /// Unique name of letters, digits, `-` and `_`.
    pub name: String,
    /// Number of connections, at least 1.
    pub clients: usize,
    /// Number of threads that share them, 1 to `clients`.
    pub threads: usize,
    /// How statements are sent.
    pub protocol: Protocol,
    /// What speaks to the server.
    #[serde(default, skip_serializing_if = "Driver::is_default")]
    pub driver: Driver,
    /// Transactions asked for per second over all clients (open loop); `None`: as many as complete (closed loop).
    pub rate_per_s: Option<f64>,
    /// How many transactions each client is to have; `None`: as many as fit into the phases.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub transactions_per_client: Option<u64>,
    /// How long after the begin of the load its clients begin.
    #[serde(default, with = "required", skip_serializing_if = "Duration::is_zero")]
    pub start_delay: Duration,
    /// What the clients execute.
    #[serde(flatten)]
    pub scripts: Scripts,
    /// The server that they connect to; `None`: the main one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub server: Option<String>,
    /// The workload of the file that this is an instance of, if that runs on several servers of one name.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub instances: Option<Instances>,
    /// Which load hosts drive it, as places among [`LoadHosts::hosts`]; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub load_hosts: Vec<usize>,
}

/// A part of the measured time in which some workloads, clients or rates differ from the other parts.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Stage {
    /// Unique name of letters, digits, `-` and `_`; never that of the warm-up.
    pub name: String,
    /// How long it lasts, above zero; `None`: until those of its workloads that have
    /// [`Workload::transactions_per_client`] have had them.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub lasts: Option<Duration>,
    /// How long that may take; `None`: as long as it takes.
    #[serde(default, with = "optional", skip_serializing_if = "Option::is_none")]
    pub limit: Option<Duration>,
    /// How many clients of each workload are active, at most all that it has; `None`: all.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub clients: Option<Span>,
    /// Transactions asked for per second of each workload (open loop); `None`: as the workload says.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub rate: Option<Span>,
    /// The names of the workloads that are active; empty: all.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub workloads: Vec<String>,
}

/// A stretch of the run with its own results.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Phase {
    /// [`WARMUP`], then [`MEASURE`] or the name of each stage.
    pub name: String,
    /// How long it lasts; `None`: until all clients have had their transactions.
    pub duration: Option<Duration>,
    /// Whether its results count.
    pub measured: bool,
}

impl Data {
    /// [`Data::setup`] as it is to be run, and what messages call it. Its lines are those of the file, where that
    /// is known.
    #[must_use]
    pub fn placed_setup(&self) -> (String, &str) {
        placed(&self.setup, self.setup_place.as_ref(), "data.setup")
    }

    /// The same of [`Data::finish`].
    #[must_use]
    pub fn placed_finish(&self) -> (String, &str) {
        placed(&self.finish, self.finish_place.as_ref(), "data.finish")
    }
}

impl Stage {
    /// Whether a workload is active in it.
    #[must_use]
    pub fn has(&self, workload: &str) -> bool {
        self.workloads.is_empty() || self.workloads.iter().any(|name| name == workload)
    }
}

fn placed<'a>(text: &str, place: Option<&'a Place>, key: &'a str) -> (String, &'a str) {
    let (name, offset) = place.map_or((key, (0, 0)), |place| (place.name.as_str(), place.offset));
    (padded(text, offset), name)
}

impl Resolved {
    /// The names of the options of scripts, and of parameters, whose values were hidden when this was archived, so that
    /// they are not known any more.
    #[must_use]
    pub fn hidden(&self) -> Vec<&str> {
        let of_workloads = self.workloads.iter().filter_map(|workload| workload.scripts.lua());
        let further = self.servers.values().map(|server| &server.data);
        let of_data = std::iter::once(&self.data)
            .chain(further)
            .flat_map(|data| &data.prepare);
        let of_data = of_data.map(|prepare| &prepare.script);
        let options = of_workloads.chain(of_data).flat_map(|script| &script.lua.options);
        let all = self.parameters.iter().chain(options).filter(secret::is_hidden);
        let mut names: Vec<_> = all.map(|(name, _)| name.as_str()).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    /// The phases in order; a warm-up of no length is left out.
    #[must_use]
    pub fn phases(&self) -> Vec<Phase> {
        let warmup = [(WARMUP, Some(self.warmup))];
        let stages = self.stages.iter().map(|stage| (stage.name.as_str(), stage.lasts));
        let measure = self.stages.is_empty().then_some((MEASURE, self.measure));
        warmup
            .into_iter()
            .chain(measure)
            .chain(stages)
            .filter(|(_, duration)| *duration != Some(Duration::ZERO))
            .map(|(name, duration)| Phase {
                name: name.to_owned(),
                duration,
                measured: name != WARMUP,
            })
            .collect()
    }

    /// What ends the phase `name` when it is done: the workloads that have a number of transactions and take part in
    /// it. None if it lasts for a time.
    pub fn work_of<'a>(&'a self, name: &'a str) -> impl Iterator<Item = &'a Workload> {
        let stage = self.stages.iter().find(|stage| stage.name == name);
        let is_open = match stage {
            Some(stage) => stage.lasts.is_none(),
            None => name == MEASURE && self.measure.is_none(),
        };
        let takes_part = move |workload: &&Workload| stage.is_none_or(|stage| stage.has(&workload.name));
        let counted = self
            .workloads
            .iter()
            .filter(|workload| workload.transactions_per_client.is_some());
        counted.filter(move |_| is_open).filter(takes_part)
    }

    /// How long the phase `name` may take if it lasts until work is done.
    #[must_use]
    pub fn limit_of(&self, name: &str) -> Option<Duration> {
        match self.stages.iter().find(|stage| stage.name == name) {
            Some(stage) => stage.limit,
            None => self.limit,
        }
    }

    /// How long the phases take together; `None` if that is for the transactions to say. Preparing the server and
    /// loading the data come on top.
    #[must_use]
    pub fn duration(&self) -> Option<Duration> {
        Some(self.warmup.saturating_add(self.measure?))
    }

    /// The load of a program that plans for itself, such as `dyno pgbench`, as the archive keeps it: on data that
    /// is there, on a server that stays as it is. `name` becomes part of the campaign's folder, `title` says what
    /// it is; what else there is to know is for the caller to fill in.
    #[must_use]
    pub fn of_load(name: String, title: String, workloads: Vec<Workload>) -> Self {
        Self {
            name,
            title,
            question: String::new(),
            source: String::new(),
            group: String::new(),
            size: None,
            target: None,
            server_name: None,
            servers: IndexMap::new(),
            path: None,
            locale: None,
            parameters: IndexMap::new(),
            settings: IndexMap::new(),
            data: Data::default(),
            workloads,
            warmup: Duration::ZERO,
            measure: None,
            limit: None,
            grace: GRACE,
            stages: Vec::new(),
            metrics: IndexMap::new(),
            limits: IndexMap::new(),
            checks: Vec::new(),
            outputs: Vec::new(),
            interval: Duration::from_secs(1),
            load_hosts: LoadHosts::default(),
        }
    }
}
