//! What there is to be read on a server, and what its role may not read: said before the run in sentences that tell
//! what to do.

use crate::mysql::rights::remedy;
use crate::mysql::{Client, ClientError};

/// Where a server lists its sessions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SessionList {
    /// Where all have it, with whole seconds. A MySQL stops its sessions while it is read.
    Old,
    /// There too, with milliseconds, as a MariaDB has them.
    OldInMs,
    /// In the performance schema, which stops nobody: a MySQL from 8.0.22 on, if that is switched on.
    PerformanceSchema,
}

/// What is known of a server before it is sampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Survey {
    /// Whether it is a MariaDB; else it is a MySQL.
    pub is_mariadb: bool,
    /// Where it lists its sessions.
    pub sessions: SessionList,
    /// Whether this role sees the sessions of others, and InnoDB's transactions.
    pub sees_all: bool,
    /// Whether the server counts what statements and tables cost, and this role may read that.
    pub counts: bool,
}

/// What needs the right PROCESS.
const TRANSACTIONS: &str = "select count(*) from information_schema.innodb_trx";

/// The newer list of sessions.
const NEW_LIST: &str = "select count(*) from performance_schema.processlist";

/// What needs to be switched on, and a right to read it.
const COUNTS: &str = "select count(*) from performance_schema.events_statements_summary_by_digest";

impl Survey {
    /// What is taken for granted of a server that does not answer yet.
    pub(super) const UNKNOWN: Self = Self {
        is_mariadb: true,
        sessions: SessionList::Old,
        sees_all: false,
        counts: false,
    };

    /// Looks at a server. The sentences say what will be missing.
    pub(super) fn take(client: &mut Client) -> Result<(Self, Vec<String>), ClientError> {
        let version: String = client.query_first("select version()")?.unwrap_or_default();
        let mut warnings = Vec::new();
        let sees_all = allowed(client, TRANSACTIONS, "process on *.*", &mut |remedy| {
            warnings.push(format!(
                "Less is sampled, because what other roles' sessions do and which transactions are open is hidden: no \
                 waits for rows, and no names of those who block. To see it, {remedy}."
            ));
        })?;
        let is_on: Option<u8> = client.query_first("select @@performance_schema").or_else(refused)?;
        let counts = is_on == Some(1)
            && allowed(client, COUNTS, "select on performance_schema.*", &mut |remedy| {
                warnings.push(format!(
                    "What statements and tables cost is not sampled, although the server's performance schema counts \
                     it. To see it, {remedy}."
                ));
            })?;
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
        };
        Ok((survey, warnings))
    }
}

fn refused<R>(error: ClientError) -> Result<Option<R>, ClientError> {
    match error {
        ClientError::Server(_) => Ok(None),
        lost => Err(lost),
    }
}

/// Whether a query is executed. If a right is missing for it, `lacking` is told what to do.
fn allowed(
    client: &mut Client,
    query: &str,
    right: &str,
    lacking: &mut dyn FnMut(String),
) -> Result<bool, ClientError> {
    match client.execute(query) {
        Ok(()) => Ok(true),
        Err(error @ ClientError::Server(_)) => {
            if let Some(remedy) = remedy(client, &error, right) {
                lacking(remedy);
            }
            Ok(false)
        }
        Err(lost) => Err(lost),
    }
}
