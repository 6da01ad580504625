//! What there is to be read on a server, and what its role may not read: said before the run in sentences that tell
//! what to do.

use crate::mysql::rights::{executed, grant};
use crate::mysql::{Client, ClientError};

/// Where a server lists its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mysql) enum SessionList {
    /// Where all have it, with whole seconds. A MySQL stops its sessions while it is read.
    Old,
    /// There too, with milliseconds, as a MariaDB has them.
    OldInMs,
    /// In the performance schema, which stops nobody: a MySQL from 8.0.22 on, if that is switched on.
    PerformanceSchema,
}

/// What is known of a server before it is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mysql) struct Survey {
    /// Whether it is a MariaDB; else it is a MySQL.
    pub is_mariadb: bool,
    /// Where it lists its sessions.
    pub sessions: SessionList,
    /// Whether this role sees the sessions of others, and InnoDB's transactions.
    pub sees_all: bool,
    /// Whether the server counts what statements and tables cost, and this role may read that.
    pub counts: bool,
    /// Whether it also counts how long sessions wait for files.
    pub counts_waits: bool,
}

/// What will be missing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::mysql) struct Lack {
    /// Of what.
    pub of: Seen,
    /// What is missing, as a clause.
    pub missing: String,
    /// What an administrator executes for it to be there.
    pub statement: String,
}

/// What a survey looks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::mysql) enum Seen {
    /// The sessions of others, and transactions.
    Sessions,
    /// What the performance schema counts.
    Counts,
}

impl Lack {
    /// What is said before the run.
    pub(super) fn warning(&self) -> String {
        let missing = match (self.of, self.missing.split_at_checked(1)) {
            (Seen::Counts, Some((first, rest))) => first.to_ascii_uppercase() + rest,
            _ => format!("Less is sampled, because {}", self.missing),
        };
        format!("{missing}. To see it, {}.", executed(&self.statement))
    }
}

/// What needs the right PROCESS.
const TRANSACTIONS: &str = "select count(*) from information_schema.innodb_trx";

/// The newer list of sessions.
const NEW_LIST: &str = "select count(*) from performance_schema.processlist";

/// What of the performance schema has to be switched on for statements, and what for waits (MariaDB, "Performance
/// Schema setup_consumers Table"; MySQL Reference Manual, "Pre-Filtering by Consumer").
const OF_STATEMENTS: [&str; 3] = ["global_instrumentation", "thread_instrumentation", "statements_digest"];
const OF_WAITS: [&str; 2] = ["global_instrumentation", "thread_instrumentation"];

/// The files whose waits matter most, as far as a version counts them: MariaDB 11.4 does not count its redo log.
const FILES: [&str; 3] = [
    "wait/io/file/innodb/innodb_data_file",
    "wait/io/file/innodb/innodb_log_file",
    "wait/io/file/sql/binlog",
];

/// What needs to be switched on, and a right to read it.
const COUNTS: &str = "select count(*) from performance_schema.events_statements_summary_by_digest";

impl Survey {
    /// What is taken for granted of a server that does not answer yet.
    pub(super) const UNKNOWN: Self = Self {
        is_mariadb: true,
        sessions: SessionList::Old,
        sees_all: false,
        counts: false,
        counts_waits: false,
    };

    /// Looks at a server, and at what will be missing.
    pub(in crate::mysql) fn take(client: &mut Client) -> Result<(Self, Vec<Lack>), ClientError> {
        let version: String = client.query_first("select version()")?.unwrap_or_default();
        let mut lacks = Vec::new();
        let sees_all = allowed(client, TRANSACTIONS, "process on *.*", &mut |statement| {
            lacks.push(Lack {
                of: Seen::Sessions,
                missing: "what other roles' sessions do and which transactions are open is hidden: no waits for rows, \
                          and no names of those who block"
                    .to_owned(),
                statement,
            });
        })?;
        let is_on: Option<u8> = client.query_first("select @@performance_schema").or_else(refused)?;
        let counts = is_on == Some(1)
            && allowed(client, COUNTS, "select on performance_schema.*", &mut |statement| {
                lacks.push(Lack {
                    of: Seen::Counts,
                    missing: "what statements and tables cost, and how long sessions wait for files, is not sampled, \
                              although the server's performance schema counts it"
                        .to_owned(),
                    statement,
                });
            })?;
        let counts_waits = counts && switched_on(client, &mut lacks)?;
        let is_mariadb = version.to_ascii_lowercase().contains("mariadb");
        let has_new_list = !is_mariadb && is_on == Some(1) && allowed(client, NEW_LIST, "", &mut |_| ())?;
        let survey = Self {
            is_mariadb,
            sessions: match (is_mariadb, has_new_list) {
                (true, _) => SessionList::OldInMs,
                (false, true) => SessionList::PerformanceSchema,
                (false, false) => SessionList::Old,
            },
            sees_all,
            counts,
            counts_waits,
        };
        Ok((survey, lacks))
    }
}

/// Whether the performance schema, which is on, counts waits. What it does not count of them and of statements is said.
fn switched_on(client: &mut Client, lacks: &mut Vec<Lack>) -> Result<bool, ClientError> {
    let consumers = "select name from performance_schema.setup_consumers where enabled = 'YES'";
    let consumers: Vec<String> = client.query(consumers).or_else(unread)?;
    let off = |wanted: &[&str]| {
        let off = wanted.iter().filter(|name| !consumers.iter().any(|on| on == *name));
        off.map(|name| format!("'{name}'")).collect::<Vec<_>>().join(", ")
    };
    let mut lacking = |what: &str, table: &str, change: &str, names: &str| {
        lacks.push(Lack {
            of: Seen::Counts,
            missing: format!("{what} is not sampled, because the server's performance schema does not count it"),
            statement: format!("update performance_schema.{table} set {change} where name in ({names})"),
        });
    };
    let (of_statements, of_waits) = (off(&OF_STATEMENTS), off(&OF_WAITS));
    if !of_statements.is_empty() {
        let what = match of_waits.is_empty() {
            true => "what statements cost",
            false => "what statements cost, and how long sessions wait for files,",
        };
        lacking(what, "setup_consumers", "enabled = 'YES'", &of_statements);
    }
    let files = FILES.map(|name| format!("'{name}'")).join(", ");
    let instruments = format!(
        "select name, enabled = 'YES' and timed = 'YES' from performance_schema.setup_instruments where name in \
         ({files}) order by name"
    );
    let instruments: Vec<(String, u8)> = client.query(&instruments).or_else(unread)?;
    let off = instruments.iter().filter(|(_, is_on)| *is_on == 0);
    let off: Vec<String> = off.map(|(name, _)| format!("'{name}'")).collect();
    if !off.is_empty() && of_waits.is_empty() {
        let change = "enabled = 'YES', timed = 'YES'";
        lacking(
            "how long sessions wait for files",
            "setup_instruments",
            change,
            &off.join(", "),
        );
    }
    Ok(of_waits.is_empty() && off.len() < instruments.len())
}

fn unread<R>(error: ClientError) -> Result<Vec<R>, ClientError> {
    match error {
        ClientError::Server(_) => Ok(Vec::new()),
        lost => Err(lost),
    }
}

fn refused<R>(error: ClientError) -> Result<Option<R>, ClientError> {
    match error {
        ClientError::Server(_) => Ok(None),
        lost => Err(lost),
    }
}

/// Whether a query is executed. If a right is missing for it, `lacking` is told what gives it.
fn allowed(
    client: &mut Client,
    query: &str,
    right: &str,
    lacking: &mut dyn FnMut(String),
) -> Result<bool, ClientError> {
    match client.execute(query) {
        Ok(()) => Ok(true),
        Err(error @ ClientError::Server(_)) => {
            if let Some(statement) = grant(client, &error, right) {
                lacking(statement);
            }
            Ok(false)
        }
        Err(lost) => Err(lost),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_missing_is_said_in_a_sentence() {
        let said = |of, missing: &str| {
            Lack {
                of,
                missing: missing.to_owned(),
                statement: "grant process on *.* to 'ann'@'%'".to_owned(),
            }
            .warning()
        };
        let remedy = "To see it, as an administrator, execute: grant process on *.* to 'ann'@'%'.";
        assert_eq!(
            said(Seen::Counts, "how long it takes is hidden"),
            format!("How long it takes is hidden. {remedy}")
        );
        assert_eq!(
            said(Seen::Sessions, "who blocks is hidden"),
            format!("Less is sampled, because who blocks is hidden. {remedy}")
        );
    }
}
