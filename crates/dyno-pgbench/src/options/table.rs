//! Every option of pgbench 9.3 to 19, and dyno's own.

use crate::version::Version;

/// What an option is for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Id {
    AggregateInterval,
    Archive,
    Builtin,
    Clients,
    Connect,
    ContinueOnError,
    Cpus,
    Database,
    Debug,
    Define,
    ExitOnAbort,
    FailuresDetailed,
    File,
    Fillfactor,
    ForeignKeys,
    Host,
    IndexTablespace,
    Initialize,
    InitSteps,
    Jobs,
    Json,
    LatencyLimit,
    LoadJobs,
    Log,
    LogPrefix,
    MaxTries,
    NoVacuum,
    PartitionMethod,
    Partitions,
    Percentiles,
    Port,
    Progress,
    ProgressTimestamp,
    Protocol,
    Quiet,
    RandomSeed,
    Rate,
    Reconnect,
    ReportFormat,
    ReportPerCommand,
    SamplingRate,
    Scale,
    SelectOnly,
    ShowScript,
    SimpleUpdate,
    Tablespace,
    Time,
    Transactions,
    Transport,
    UnloggedTables,
    User,
    VacuumAll,
    VerboseErrors,
    Warmup,
}

/// Whether a value follows.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Takes {
    Nothing,
    Value,
    /// Only as `--name=value`.
    ValueIfAttached,
}

/// One way to write an option.
#[derive(Clone, Copy, Debug)]
pub(super) struct Long {
    pub name: &'static str,
    pub id: Id,
    pub takes: Takes,
    /// The versions of pgbench that have it under this name; `None`: dyno's own.
    pub versions: Option<(Version, Version)>,
}

const fn since(first: Version, name: &'static str, id: Id, takes: Takes) -> Long {
    Long {
        name,
        id,
        takes,
        versions: Some((first, Version::NEWEST)),
    }
}

const fn always(name: &'static str, id: Id, takes: Takes) -> Long {
    since(Version::OLDEST, name, id, takes)
}

const fn own(name: &'static str, id: Id, takes: Takes) -> Long {
    Long {
        name,
        id,
        takes,
        versions: None,
    }
}

/// The long options, in the order in which an ambiguous abbreviation lists them.
pub(super) const LONG: &[Long] = {
    use Id::*;
    use Takes::*;
    &[
        since(Version::V9_6, "builtin", Builtin, Value),
        always("client", Clients, Value),
        always("connect", Connect, Nothing),
        since(Version::V17, "dbname", Database, Value),
        always("define", Define, Value),
        always("file", File, Value),
        always("fillfactor", Fillfactor, Value),
        always("host", Host, Value),
        always("initialize", Initialize, Nothing),
        since(Version::V11, "init-steps", InitSteps, Value),
        always("jobs", Jobs, Value),
        always("log", Log, Nothing),
        since(Version::V9_5, "latency-limit", LatencyLimit, Value),
        always("no-vacuum", NoVacuum, Nothing),
        always("port", Port, Value),
        since(Version::V9_4, "progress", Progress, Value),
        always("protocol", Protocol, Value),
        always("quiet", Quiet, Nothing),
        Long {
            name: "report-latencies",
            id: ReportPerCommand,
            takes: Nothing,
            versions: Some((Version::OLDEST, Version::V14)),
        },
        since(Version::V15, "report-per-command", ReportPerCommand, Nothing),
        since(Version::V9_4, "rate", Rate, Value),
        always("scale", Scale, Value),
        always("select-only", SelectOnly, Nothing),
        always("skip-some-updates", SimpleUpdate, Nothing),
        always("time", Time, Value),
        always("transactions", Transactions, Value),
        always("username", User, Value),
        always("vacuum-all", VacuumAll, Nothing),
        always("unlogged-tables", UnloggedTables, Nothing),
        always("tablespace", Tablespace, Value),
        always("index-tablespace", IndexTablespace, Value),
        always("sampling-rate", SamplingRate, Value),
        always("aggregate-interval", AggregateInterval, Value),
        since(Version::V9_6, "progress-timestamp", ProgressTimestamp, Nothing),
        since(Version::V10, "log-prefix", LogPrefix, Value),
        always("foreign-keys", ForeignKeys, Nothing),
        since(Version::V11, "random-seed", RandomSeed, Value),
        since(Version::V13, "show-script", ShowScript, Value),
        since(Version::V13, "partitions", Partitions, Value),
        since(Version::V13, "partition-method", PartitionMethod, Value),
        since(Version::V15, "failures-detailed", FailuresDetailed, Nothing),
        since(Version::V15, "max-tries", MaxTries, Value),
        since(Version::V15, "verbose-errors", VerboseErrors, Nothing),
        since(Version::V17, "exit-on-abort", ExitOnAbort, Nothing),
        always("debug", Debug, Nothing),
        since(Version::V19, "continue-on-error", ContinueOnError, Nothing),
        own("archive", Archive, ValueIfAttached),
        own("cpus", Cpus, Value),
        own("json", Json, Value),
        own("load-jobs", LoadJobs, Value),
        own("percentiles", Percentiles, Value),
        own("reconnect", Reconnect, Nothing),
        own("report-format", ReportFormat, Value),
        own("transport", Transport, Value),
        own("warmup", Warmup, Value),
    ]
};

/// The one-letter options; `-d` is not among them, see [`super::getopt`].
pub(super) const SHORT: &[(char, Id, Takes)] = {
    use Id::*;
    use Takes::*;
    &[
        ('b', Builtin, Value),
        ('c', Clients, Value),
        ('C', Connect, Nothing),
        ('D', Define, Value),
        ('f', File, Value),
        ('F', Fillfactor, Value),
        ('h', Host, Value),
        ('i', Initialize, Nothing),
        ('I', InitSteps, Value),
        ('j', Jobs, Value),
        ('l', Log, Nothing),
        ('L', LatencyLimit, Value),
        ('M', Protocol, Value),
        ('n', NoVacuum, Nothing),
        ('N', SimpleUpdate, Nothing),
        ('p', Port, Value),
        ('P', Progress, Value),
        ('q', Quiet, Nothing),
        ('r', ReportPerCommand, Nothing),
        ('R', Rate, Value),
        ('s', Scale, Value),
        ('S', SelectOnly, Nothing),
        ('t', Transactions, Value),
        ('T', Time, Value),
        ('U', User, Value),
        ('v', VacuumAll, Nothing),
    ]
};
