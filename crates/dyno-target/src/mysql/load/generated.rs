//! Rows that are made here, brought in by LOAD DATA LOCAL, or by INSERT where a server has that turned off.

use super::LoadError;
use crate::batches::{Batch, Batches, Sharing, rows_in_batch, share_out};
use crate::mysql::client::Way;
use crate::mysql::{Client, ClientError};
use crate::target::Fill;
use dyno_script::{RowFormat, Rows};
use dyno_wire::{LocalData, Reply};
use std::sync::atomic::{AtomicBool, Ordering};

/// What the statements here rely on, whatever the server's own modes are: backslashes escape; what does not fit is not
/// made to fit; 0 in an AUTO_INCREMENT column is 0; and moments are those of UTC, as on every other database. Each
/// statement's rows are committed with it. Notes say nothing about what was lost.
const SET_UP: &str = "set session sql_mode = concat(replace(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), \
                      ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'), session time_zone = '+00:00', session sql_notes = 0, session autocommit = 1";

/// About how long an INSERT is, in bytes, unless the server takes less.
const INSERT_BYTES: u64 = 1 << 20;

/// The most that is sent at a time as the content of a file, in bytes, give or take a row: it is kept in memory.
const MOST_BYTES: usize = 16 << 20;

/// How rows get to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// As the content of a file.
    LocalFile,
    /// In statements of about so many bytes.
    Insert { bytes: usize },
}

/// Fills a table, whose expressions are dyno's own, over so many connections. They are in the database that `client` is
/// in. `progress` is told of the rows that are in after every batch.
///
/// # Errors
/// A row cannot be made, the server refuses it, or [`LoadError::Stopped`].
pub fn fill_generated(
    client: &mut Client,
    fill: &Fill,
    seed: u64,
    connections: usize,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let columns = fill.columns.iter();
    let columns = columns.map(|(name, expression)| (name.as_str(), expression.as_str()));
    let rows = Rows::compile(&fill.table, seed, columns)?;
    let failed = |error| LoadError::Fill {
        table: fill.table.clone(),
        error,
    };
    let database: Option<Option<String>> = client.query_first("select database()").map_err(failed)?;
    let loading = Loading {
        way: client.way(),
        database: database.flatten().unwrap_or_default(),
        by: By::on(client).map_err(failed)?,
        fill,
        rows: &rows,
    };
    let sharing = Sharing {
        rows: fill.rows,
        batch_rows: rows_in_batch(rows.mean_bytes(fill.rows)?),
        connections,
    };
    let loaded = share_out(sharing, stop, progress, LoadError::Thread, &|batches| {
        loading.load_batches(batches)
    });
    match loaded {
        // What the server was told to give up has no other reason.
        Err(_) if stop.load(Ordering::Relaxed) => Err(LoadError::Stopped),
        Err(error) => Err(error),
        Ok(rows) if rows < fill.rows => Err(LoadError::Stopped),
        Ok(_) => Ok(()),
    }
}

impl By {
    fn on(client: &mut Client) -> Result<Self, ClientError> {
        let found = client.query_first("select @@local_infile, @@max_allowed_packet")?;
        let (local_files, packet_bytes): (u64, u64) = found.unwrap_or_default();
        Ok(match local_files {
            0 => Self::Insert {
                bytes: INSERT_BYTES.min(packet_bytes / 2) as usize,
            },
            _ => Self::LocalFile,
        })
    }
}

/// What all connections that fill a table know.
struct Loading<'a> {
    way: Way,
    database: String,
    by: By,
    fill: &'a Fill,
    rows: &'a Rows,
}

impl Loading<'_> {
    /// One connection's work: batch after batch until none is left.
    fn load_batches(&self, batches: &Batches<'_, LoadError>) -> Result<(), LoadError> {
        let failed = |error| LoadError::Fill {
            table: self.fill.table.clone(),
            error,
        };
        let mut client = self.way.connect_to_load(&self.database).map_err(failed)?;
        client.execute(SET_UP).map_err(failed)?;
        let names: Vec<&str> = self.fill.columns.iter().map(|(name, _)| name.as_str()).collect();
        let (table, names) = (&self.fill.table, names.join(", "));
        match self.by {
            By::LocalFile => {
                // The name of the file is of no meaning.
                let statement = format!(
                    "load data local infile 'rows' into table {table} character set utf8mb4 fields terminated by \
                     '\\t' escaped by '\\\\' lines terminated by '\\n' ({names})"
                );
                self.load_files(&mut client, &statement, batches)
            }
            By::Insert { bytes } => {
                let statement = format!("insert into {table} ({names}) values ");
                self.insert(&mut client, &statement, bytes, batches)
            }
        }
    }

    fn load_files(
        &self,
        client: &mut Client,
        statement: &str,
        batches: &Batches<'_, LoadError>,
    ) -> Result<(), LoadError> {
        let mut writer = self.rows.writer(RowFormat::Lines);
        let mut content = LocalData::default();
        while let Some(batch) = batches.next() {
            let mut first = batch.first;
            for row in batch.first..=batch.last {
                content.append(|out| writer.append(row, out))?;
                // Its size was reckoned from the first rows; these may be longer.
                if content.bytes() >= MOST_BYTES || row == batch.last {
                    let loaded = client.load(statement, &mut content);
                    self.check(client, loaded, Batch { first, last: row })?;
                    content.clear();
                    first = row + 1;
                }
            }
            batches.done(batch);
        }
        Ok(())
    }

    fn insert(
        &self,
        client: &mut Client,
        statement: &str,
        bytes: usize,
        batches: &Batches<'_, LoadError>,
    ) -> Result<(), LoadError> {
        let mut writer = self.rows.writer(RowFormat::Literals);
        let mut text = Vec::new();
        while let Some(batch) = batches.next() {
            let mut first = batch.first;
            for row in batch.first..=batch.last {
                match text.is_empty() {
                    true => text.extend_from_slice(statement.as_bytes()),
                    false => text.push(b','),
                }
                writer.append(row, &mut text)?;
                if text.len() >= bytes || row == batch.last {
                    let inserted = client.insert(&text);
                    self.check(client, inserted, Batch { first, last: row })?;
                    text.clear();
                    first = row + 1;
                }
            }
            batches.done(batch);
        }
        Ok(())
    }

    /// Makes sure that all rows are in as they were made. A row that the server does not take from a file is no error
    /// to it, but a warning: what it is sent cannot be taken back.
    fn check(
        &self,
        client: &mut Client,
        loaded: Result<Reply, ClientError>,
        Batch { first, last }: Batch,
    ) -> Result<(), LoadError> {
        let refused = |message| LoadError::Rows {
            table: self.fill.table.clone(),
            first,
            last,
            message,
        };
        let failed = |error| LoadError::Fill {
            table: self.fill.table.clone(),
            error,
        };
        match loaded {
            Ok(reply) if reply.affected == last - first + 1 && !reply.noticed => Ok(()),
            Ok(reply) => {
                let warning = client.query_first("show warnings limit 1").map_err(failed)?;
                let message = warning.map_or_else(
                    || format!("the server took {} of {} rows", reply.affected, last - first + 1),
                    |(_, code, text): (String, u64, String)| format!("ERROR {code}: {text}"),
                );
                Err(refused(message))
            }
            Err(error @ ClientError::Server(_)) => Err(refused(error.to_string())),
            Err(error) => Err(failed(error)),
        }
    }
}
