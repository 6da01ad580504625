//! Tables filled with rows: made by the server itself, where no data crosses the network and the server is the only
//! limit, or made here.

use super::{LoadError, copy};
use crate::batches::{BATCH_ROWS, Batch, Batches, Sharing, share_out, usual_connections};
use crate::postgres::address::ConnectionInfo;
use crate::postgres::server_message;
use crate::target::RowSource;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;
use std::time::{Duration, Instant};

/// What to fill a table with.
#[derive(Clone, Debug)]
pub struct Fill {
    /// Table, as in SQL (quoted and qualified where needed).
    pub table: String,
    /// Rows to insert, numbered from 1.
    pub rows: u64,
    /// Columns and their expressions, in which `row` is the row's number (in SQL integer, or bigint above 2³¹−1 rows).
    pub columns: Vec<(String, String)>,
    /// Who makes the rows.
    pub source: RowSource,
    /// Rows per transaction, at least 1; fewer if the rows are made here and long.
    pub batch_rows: u64,
    /// Connections that insert at the same time, at least 1. With more than one, batches reach the table in no
    /// fixed order.
    pub connections: usize,
}

impl Fill {
    /// By SQL, with the usual batches and as many connections as cores, four at most.
    #[must_use]
    pub fn new(table: &str, rows: u64, columns: Vec<(String, String)>) -> Self {
        Self {
            table: table.to_owned(),
            rows,
            columns,
            source: RowSource::Server,
            batch_rows: BATCH_ROWS,
            connections: usual_connections(),
        }
    }

    /// The names of the columns, as SQL lists them.
    pub(super) fn names(&self) -> String {
        let names: Vec<&str> = self.columns.iter().map(|(name, _)| name.as_str()).collect();
        names.join(", ")
    }

    /// The type of `row`.
    pub(crate) fn row_type(&self) -> &'static str {
        if self.rows > i32::MAX as u64 {
            "bigint"
        } else {
            "integer"
        }
    }

    fn sql(&self, first: u64, last: u64) -> String {
        let expressions: Vec<&str> = self.columns.iter().map(|(_, sql)| sql.as_str()).collect();
        let kind = self.row_type();
        format!(
            "insert into {} ({}) select {} from generate_series({first}::{kind}, {last}::{kind}) as row",
            self.table,
            self.names(),
            expressions.join(", ")
        )
    }
}

/// What was inserted.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filled {
    /// Rows.
    pub rows: u64,
    /// Time from the first connection to the last commit.
    pub elapsed_s: f64,
    /// Rows per second over that time.
    pub rows_per_s: f64,
}

/// How far a fill has come.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Filling {
    /// Rows that are in.
    pub rows: u64,
    /// Rows there will be.
    pub of_rows: u64,
    /// Time since the first connection.
    pub elapsed: Duration,
}

impl Filling {
    /// Rows per second so far.
    #[must_use]
    pub fn rows_per_s(&self) -> f64 {
        self.rows as f64 / self.elapsed.as_secs_f64().max(f64::MIN_POSITIVE)
    }

    /// Time left if it goes on like this; none before the first row.
    #[must_use]
    pub fn left(&self) -> Option<Duration> {
        let left_s = self.of_rows.saturating_sub(self.rows) as f64 / self.rows_per_s();
        Duration::try_from_secs_f64(left_s).ok()
    }
}

/// Inserts the rows. `progress` is told how far it has come, after every batch, on the calling thread; `stop` set
/// by another thread ends the work after the batches under way.
///
/// # Errors
/// The first failure of any connection, or [`LoadError::Stopped`].
pub fn fill_table(
    info: &ConnectionInfo,
    fill: &Fill,
    stop: &Arc<AtomicBool>,
    progress: &mut dyn FnMut(Filling),
) -> Result<Filled, LoadError> {
    if fill.columns.is_empty() {
        return Err(LoadError::NoColumns {
            table: fill.table.clone(),
        });
    }
    let started = Instant::now();
    let mut progress = |rows| {
        progress(Filling {
            rows,
            of_rows: fill.rows,
            elapsed: started.elapsed(),
        });
    };
    let sharing = Sharing {
        rows: fill.rows,
        batch_rows: fill.batch_rows,
        connections: fill.connections,
    };
    let rows = match fill.source.rows::<LoadError>(&fill.table, &fill.columns)? {
        Some(rows) => copy::fill_rows(info, fill, &rows, stop, &mut progress)?,
        None => share_out(sharing, stop, &mut progress, LoadError::Thread, &|batches| {
            insert_batches(info, fill, stop, batches)
        })?,
    };
    if rows < fill.rows {
        return Err(LoadError::Stopped {
            table: fill.table.clone(),
            rows,
        });
    }
    fill.source.check_unchanged()?;
    let elapsed_s = started.elapsed().as_secs_f64();
    Ok(Filled {
        rows,
        elapsed_s,
        rows_per_s: rows as f64 / elapsed_s.max(f64::MIN_POSITIVE),
    })
}

/// One connection's work: batch after batch until none is left.
fn insert_batches(
    info: &ConnectionInfo,
    fill: &Fill,
    stop: &Arc<AtomicBool>,
    batches: &Batches<'_, LoadError>,
) -> Result<(), LoadError> {
    let mut client = info.connect_until(stop)?;
    while let Some(batch) = batches.next() {
        let Batch { first, last } = batch;
        match client.batch_execute(&fill.sql(first, last)) {
            Ok(()) => batches.done(batch),
            // It was cancelled.
            Err(_) if batches.is_stopped() => return Ok(()),
            Err(error) => {
                return Err(LoadError::Fill {
                    table: fill.table.clone(),
                    first,
                    last,
                    place: String::new(),
                    state: error.code().map_or_else(String::new, |state| state.code().to_owned()),
                    message: server_message(&error),
                });
            }
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn builds_the_insert() {
        let columns = vec![
            ("id".to_owned(), "row".to_owned()),
            ("info".to_owned(), "now()::text".to_owned()),
        ];
        let mut fill = Fill::new("t", 10, columns);
        assert_eq!(
            fill.sql(1, 5),
            "insert into t (id, info) select row, now()::text from generate_series(1::integer, 5::integer) as row"
        );
        fill.rows = 1 << 32;
        assert!(fill.sql(1, 5).contains("5::bigint"));
    }
}
