//! Every general option of sysbench 0.5, 1.0 and 1.1, and dyno's own.

use super::value::Kind;
use crate::version::Version;

/// An option as it may be given and as `--help` tells of it.
#[derive(Clone, Copy, Debug)]
pub struct Definition {
    /// Its name, words joined by `-`.
    pub name: &'static str,
    /// What its value is.
    pub kind: Kind,
    /// Its value unless it is given; `None`: it has none.
    pub default: Option<&'static str>,
    /// What it is for.
    pub about: &'static str,
    /// Where `--help` lists it.
    pub group: Group,
    /// The versions that have it; `None`: dyno's own.
    pub versions: Option<(Version, Version)>,
    /// The option whose older name this is.
    pub alias_of: Option<&'static str>,
}

/// The sections of `--help`, in its order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Group {
    General,
    Random,
    Log,
    Statistics,
    Database,
    Mysql,
    Pgsql,
    Own,
}

use Group::{Database, General, Log, Mysql, Own, Pgsql, Random, Statistics};
use Kind::{Bool, Double, File, Int, List, Size, Text};
use Version::{V0_5, V1_0, V1_1};

const fn option(
    group: Group,
    name: &'static str,
    kind: Kind,
    default: &'static str,
    about: &'static str,
) -> Definition {
    Definition {
        name,
        kind,
        default: Some(default),
        about,
        group,
        versions: Some((V0_5, V1_1)),
        alias_of: None,
    }
}

impl Definition {
    /// The same without a value of its own.
    const fn unset(self) -> Self {
        Self { default: None, ..self }
    }

    /// The same, but only in these versions.
    const fn of(self, first: Version, last: Version) -> Self {
        Self {
            versions: Some((first, last)),
            ..self
        }
    }

    /// The same, but an older name of another option.
    const fn alias(self, name: &'static str) -> Self {
        Self {
            alias_of: Some(name),
            ..self
        }
    }

    /// The same, but known to dyno alone.
    const fn own(self) -> Self {
        Self { versions: None, ..self }
    }

    /// Whether `--help` of this version tells of it.
    pub fn is_of(&self, version: Version) -> bool {
        self.versions
            .is_none_or(|(first, last)| (first..=last).contains(&version))
    }
}

/// All of them, in the order of `--help`.
pub const OPTIONS: &[Definition] = &[
    option(General, "threads", Int, "1", "how many clients work at the same time").of(V1_0, V1_1),
    option(
        General,
        "events",
        Int,
        "0",
        "end after so many events of all clients together; 0: no limit",
    )
    .of(V1_0, V1_1),
    option(General, "time", Int, "10", "end after so many seconds; 0: no limit").of(V1_0, V1_1),
    option(
        General,
        "warmup-time",
        Int,
        "0",
        "work for so many seconds before anything is counted",
    )
    .of(V1_1, V1_1),
    option(
        General,
        "forced-shutdown",
        Text,
        "off",
        "seconds after the time limit at which events under way are given up, or off",
    ),
    option(
        General,
        "thread-stack-size",
        Size,
        "64K",
        "accepted; dyno's clients have no stacks of their own",
    ),
    option(
        General,
        "thread-init-timeout",
        Int,
        "30",
        "seconds that all clients together have to get ready",
    )
    .of(V1_1, V1_1),
    option(
        General,
        "rate",
        Int,
        "0",
        "mean number of events per second; 0: as many as there can be",
    )
    .of(V1_0, V1_1),
    option(
        General,
        "report-interval",
        Int,
        "0",
        "seconds between intermediate reports; 0: none",
    ),
    option(
        General,
        "report-checkpoints",
        List,
        "",
        "seconds after the start at which a full report is made and counting begins anew",
    ),
    option(General, "debug", Bool, "off", "say more"),
    option(General, "validate", Bool, "off", "have scripts check what they get"),
    option(General, "help", Bool, "off", "print this and exit"),
    option(General, "version", Bool, "off", "print the version and exit"),
    option(
        General,
        "config-file",
        File,
        "",
        "file with options, one a line: name=value",
    )
    .unset(),
    option(
        General,
        "luajit-cmd",
        Text,
        "",
        "on, off or flush: LuaJIT's compiler for the scripts",
    )
    .unset()
    .of(V1_1, V1_1),
    option(General, "tx-rate", Int, "0", "older name of --rate")
        .of(V0_5, V1_0)
        .alias("rate"),
    option(General, "max-requests", Int, "0", "older name of --events")
        .of(V0_5, V1_0)
        .alias("events"),
    option(General, "max-time", Int, "0", "older name of --time")
        .of(V0_5, V1_0)
        .alias("time"),
    option(General, "num-threads", Int, "1", "older name of --threads")
        .of(V0_5, V1_0)
        .alias("threads"),
    option(
        Random,
        "rand-init",
        Bool,
        "off",
        "accepted; numbers always differ unless there is a seed",
    )
    .of(V0_5, V0_5),
    option(
        Random,
        "rand-type",
        Text,
        "special",
        "distribution of the numbers that scripts ask for: uniform, gaussian, special, pareto or zipfian",
    ),
    option(
        Random,
        "rand-spec-iter",
        Int,
        "12",
        "how many numbers are averaged, for special and gaussian",
    ),
    option(
        Random,
        "rand-spec-pct",
        Int,
        "1",
        "percentage of the values that are special",
    ),
    option(
        Random,
        "rand-spec-res",
        Int,
        "75",
        "percentage of the numbers that are special values",
    ),
    option(
        Random,
        "rand-seed",
        Int,
        "0",
        "seed of all random numbers; 0: another one each time",
    ),
    option(
        Random,
        "rand-pareto-h",
        Double,
        "0.2",
        "the parameter h of the pareto distribution",
    ),
    option(
        Random,
        "rand-zipfian-exp",
        Double,
        "0.8",
        "the exponent of the zipfian distribution",
    )
    .of(V1_1, V1_1),
    option(
        Log,
        "verbosity",
        Int,
        "3",
        "what is said, from 0, only why a run ends, to 5, everything",
    ),
    option(
        Statistics,
        "percentile",
        Int,
        "95",
        "percentile of latencies that is reported, 1 to 100; 0: none",
    ),
    option(Statistics, "histogram", Bool, "off", "print the histogram of latencies").of(V1_0, V1_1),
    option(
        Database,
        "db-driver",
        Text,
        "mysql",
        "the kind of database: mysql or pgsql",
    ),
    option(
        Database,
        "db-ps-mode",
        Text,
        "auto",
        "auto: statements that scripts prepare are prepared; disable: they are sent as text",
    ),
    option(Database, "db-debug", Bool, "off", "say more about the database"),
    option(
        Mysql,
        "mysql-host",
        List,
        "localhost",
        "hosts, which connections are dealt to in turn",
    ),
    option(
        Mysql,
        "mysql-port",
        List,
        "3306",
        "ports, which connections are dealt to in turn",
    ),
    option(
        Mysql,
        "mysql-socket",
        List,
        "",
        "sockets, which connections to localhost are dealt to in turn",
    )
    .unset(),
    option(Mysql, "mysql-user", Text, "sbtest", "who connects"),
    option(Mysql, "mysql-password", Text, "", "their password"),
    option(Mysql, "mysql-db", Text, "sbtest", "the database"),
    option(
        Mysql,
        "mysql-table-engine",
        Text,
        "innodb",
        "storage engine of the test's tables",
    )
    .of(V0_5, V0_5),
    option(
        Mysql,
        "mysql-engine-trx",
        Text,
        "auto",
        "whether that engine has transactions: yes, no or auto",
    )
    .of(V0_5, V0_5),
    option(
        Mysql,
        "mysql-ssl",
        Text,
        "off",
        "on for TLS, or a mode: disabled, preferred, required, verify_ca, verify_identity",
    ),
    option(Mysql, "mysql-ssl-key", File, "", "the client's key (PEM)")
        .unset()
        .of(V1_1, V1_1),
    option(Mysql, "mysql-ssl-ca", File, "", "certificates of whom to trust (PEM)")
        .unset()
        .of(V1_1, V1_1),
    option(Mysql, "mysql-ssl-cert", File, "", "the client's certificate (PEM)")
        .unset()
        .of(V1_1, V1_1),
    option(
        Mysql,
        "mysql-ssl-cipher",
        Text,
        "",
        "refused unless empty: dyno's TLS chooses by itself",
    )
    .of(V1_0, V1_1),
    option(Mysql, "mysql-compression", Bool, "off", "refused if on: dyno has none"),
    option(Mysql, "myisam-max-rows", Int, "1000000", "max_rows of MyISAM tables").of(V0_5, V0_5),
    option(Mysql, "mysql-debug", Bool, "off", "accepted without effect"),
    option(
        Mysql,
        "mysql-ignore-errors",
        List,
        "1213,1020,1205",
        "errors after which the event begins anew, or all",
    ),
    option(
        Mysql,
        "mysql-dry-run",
        Bool,
        "off",
        "refused if on: dyno does not pretend",
    ),
    option(
        Pgsql,
        "pgsql-host",
        Text,
        "localhost",
        "host, or the folder of the socket",
    ),
    option(Pgsql, "pgsql-port", Int, "5432", "port"),
    option(Pgsql, "pgsql-user", Text, "sbtest", "who connects"),
    option(Pgsql, "pgsql-password", Text, "", "their password"),
    option(Pgsql, "pgsql-db", Text, "sbtest", "the database"),
    option(
        Pgsql,
        "pgsql-sslmode",
        Text,
        "prefer",
        "disable, allow, prefer, require, verify-ca or verify-full, as in libpq",
    )
    .of(V1_1, V1_1),
    option(
        Own,
        "report-format",
        Text,
        "1.0",
        "the version whose texts and defaults hold: 0.5, 1.0 or 1.1",
    )
    .own(),
    option(
        Own,
        "archive",
        Text,
        "",
        "keep the run in this folder, without a value in ./archive, as dyno run does",
    )
    .unset()
    .own(),
    option(
        Own,
        "safe-lua",
        Bool,
        "off",
        "deny scripts the FFI, files and commands: for those from elsewhere",
    )
    .own(),
];

/// The option of this name, however its words are joined.
pub fn find(name: &str) -> Option<&'static Definition> {
    OPTIONS.iter().find(|option| is_same(option.name, name))
}

/// Whether two names differ at most in how their words are joined.
pub fn is_same(one: &str, other: &str) -> bool {
    let spelt = |byte: u8| if byte == b'_' { b'-' } else { byte };
    one.len() == other.len() && one.bytes().map(spelt).eq(other.bytes().map(spelt))
}
