//! The server's cumulative statistics.
//!
//! Their columns differ from version to version, so they are taken from the server's catalogue: every number in these views is sampled
//! under the name `view.column`, which is where its meaning is documented.

use super::{SampleError, Sampler};
use crate::address::{ConnectError, ConnectionInfo};
use crate::facts::server_version;
use crate::server_message;
use postgres::{Client, Statement};

/// Views with one row, the first version that has them, and the condition that leaves one row.
const VIEWS: [(&str, u32, &str); 4] = [
    ("pg_stat_database", 90_300, "where datname = current_database()"),
    ("pg_stat_bgwriter", 90_300, ""),
    ("pg_stat_wal", 140_000, ""),
    ("pg_stat_checkpointer", 170_000, ""),
];

/// Samples `pg_stat_database` (of the connected database), `pg_stat_bgwriter`, `pg_stat_wal` and `pg_stat_checkpointer`, and the position
/// in the write-ahead log, over a connection of its own.
pub struct PgSampler {
    client: Client,
    statement: Statement,
    columns: Vec<String>,
    warnings: Vec<String>,
}

impl std::fmt::Debug for PgSampler {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PgSampler")
            .field("columns", &self.columns)
            .finish_non_exhaustive()
    }
}

/// The server could not be made ready for sampling.
#[derive(Debug, thiserror::Error)]
pub enum PgSamplerError {
    /// No connection.
    #[error(transparent)]
    Connect(#[from] ConnectError),
    /// A query failed.
    #[error("the server's statistics cannot be read: {0}")]
    Query(String),
}

impl From<postgres::Error> for PgSamplerError {
    fn from(error: postgres::Error) -> Self {
        Self::Query(server_message(&error))
    }
}

impl PgSampler {
    /// Connects and finds out what this server counts. A view that may not be read is left out with a warning.
    ///
    /// # Errors
    /// No connection, or the catalogue cannot be read.
    pub fn connect(info: &ConnectionInfo) -> Result<Self, PgSamplerError> {
        let mut client = info.connect()?;
        let version = server_version(&mut client)?;
        let mut columns = vec!["wal_position_bytes".to_owned()];
        let mut selected = vec![wal_position(version).to_owned()];
        let mut sources = Vec::new();
        let mut warnings = Vec::new();
        for (view, since, condition) in VIEWS {
            if version < since {
                continue;
            }
            let source = format!("(select * from {view} {condition}) as {view}");
            if let Err(error) = client.batch_execute(&format!("select 1 from {source}")) {
                warnings.push(format!("{view} is not sampled: {}", server_message(&error)));
                continue;
            }
            for name in number_columns(&mut client, view)? {
                selected.push(format!("{view}.\"{name}\"::float8"));
                columns.push(format!("{view}.{name}"));
            }
            sources.push(source);
        }
        let from = if sources.is_empty() {
            String::new()
        } else {
            format!(" from {}", sources.join(", "))
        };
        let statement = client.prepare(&format!("select {}{from}", selected.join(", ")))?;
        Ok(Self {
            client,
            statement,
            columns,
            warnings,
        })
    }
}

/// The end of the write-ahead log in bytes since its beginning; on a standby, what has been replayed. Functions were renamed in version 10.
fn wal_position(version: u32) -> &'static str {
    if version >= 100_000 {
        "pg_wal_lsn_diff(case when pg_is_in_recovery() then pg_last_wal_replay_lsn() else pg_current_wal_lsn() end, '0/0')::float8"
    } else {
        "pg_xlog_location_diff(case when pg_is_in_recovery() then pg_last_xlog_replay_location() else pg_current_xlog_location() end, '0/0')::float8"
    }
}

/// The columns of a view that hold numbers.
fn number_columns(client: &mut Client, view: &str) -> Result<Vec<String>, postgres::Error> {
    let rows = client.query(
        "select a.attname::text
           from pg_attribute a
          where a.attrelid = ('pg_catalog.' || $1::text)::regclass and a.attnum > 0 and not a.attisdropped
            and a.atttypid in ('int4'::regtype, 'int8'::regtype, 'float8'::regtype, 'numeric'::regtype)
          order by a.attnum",
        &[&view],
    )?;
    Ok(rows.iter().map(|row| row.get(0)).collect())
}

impl Sampler for PgSampler {
    fn columns(&self) -> &[String] {
        &self.columns
    }

    fn warnings(&self) -> &[String] {
        &self.warnings
    }

    fn sample(&mut self) -> Result<Vec<Option<f64>>, SampleError> {
        let failed = |error: postgres::Error| SampleError {
            source_name: "the server",
            message: server_message(&error),
        };
        let row = self.client.query_one(&self.statement, &[]).map_err(failed)?;
        (0..row.len()).map(|index| row.try_get(index).map_err(failed)).collect()
    }
}
