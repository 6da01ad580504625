//! Rows that are made here, brought in as rows of values for one INSERT where the server takes these (MariaDB), else by
//! LOAD DATA LOCAL, or by INSERTs where a server has that turned off or has one connection wait for the other.
//!
//! Rows of values cost the server least: 3.5 µs of CPU a row of sysbench's table, a LOAD DATA 4.5 and the text of an
//! INSERT 7.7 (MariaDB 11.4, over one connection each).
//!
//! InnoDB has LOAD DATA lock the numbers of an AUTO_INCREMENT column until the statement ends, even if it is given all
//! of them (`innodb_autoinc_lock_mode` 1). Then several connections are no
//! faster than one: of four, three were found waiting. An INSERT, which says how many rows it has, does not lock them.

use super::LoadError;
use crate::batches::{Batch, Batches, Sharing, rows_in_batch, share_out};
use crate::mysql::client::Way;
use crate::mysql::{Client, ClientError};
use crate::target::Fill;
use dyno_script::{RowError, RowFormat, RowWriter, Rows};
use dyno_wire::{LocalData, MyStatement, Protocol, Reply};
use std::ops::RangeInclusive;
use std::sync::atomic::{AtomicBool, Ordering};

/// What the statements here rely on, whatever the server's own modes are: backslashes escape; what does not fit is not
/// made to fit; 0 in an AUTO_INCREMENT column is 0; and moments are those of UTC, as on every other database. Each
/// statement's rows are committed with it. Notes say nothing about what was lost.
const SET_UP: &str = "set session sql_mode = concat(replace(@@sql_mode, 'NO_BACKSLASH_ESCAPES', ''), \
                      ',STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO'), session time_zone = '+00:00', \
                      session sql_notes = 0, session autocommit = 1";

/// About how long an INSERT is, in bytes, unless the server takes less: what is still in a CPU's cache when it is sent.
const INSERT_BYTES: u64 = 512 << 10;

/// The most that is sent at a time as the content of a file, in bytes, give or take a row: it is kept in memory.
const MOST_BYTES: usize = 16 << 20;

/// How rows get to the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum By {
    /// As the content of a file.
    LocalFile,
    /// In statements of about so many bytes.
    Insert { bytes: usize },
    /// As rows of values for one statement, about so many bytes of them at a time.
    Values { bytes: usize },
}

/// Fills a table with rows that are ready to be sent, over so many connections. They are in the database that `client`
/// is in; of what the table is to be filled with, its expressions do not count. `progress` is told of the rows that are
/// in after every batch.
///
/// # Errors
/// A row cannot be made, the server refuses it, or [`LoadError::Stopped`].
pub fn fill_rows(
    client: &mut Client,
    fill: &Fill,
    rows: &Rows,
    connections: usize,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<(), LoadError> {
    let failed = |error| LoadError::Fill {
        table: fill.table.clone(),
        error,
    };
    let database: Option<Option<String>> = client.query_first("select database()").map_err(failed)?;
    let loading = Loading {
        way: client.way(),
        database: database.flatten().unwrap_or_default(),
        by: By::on(client, &fill.table, connections).map_err(failed)?,
        fill,
        rows,
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
    fn on(client: &mut Client, table: &str, connections: usize) -> Result<Self, ClientError> {
        let found = client.query_first("select @@local_infile, @@max_allowed_packet")?;
        let (local_files, packet_bytes): (u64, u64) = found.unwrap_or_default();
        let bytes = INSERT_BYTES.min(packet_bytes / 2) as usize;
        if client.takes_rows() {
            return Ok(Self::Values { bytes });
        }
        let insert = local_files == 0 || connections > 1 && locks_numbers(client, table)?;
        Ok(match insert {
            true => Self::Insert { bytes },
            false => Self::LocalFile,
        })
    }
}

/// Whether a LOAD DATA into this table makes others wait until it ends.
fn locks_numbers(client: &mut Client, table: &str) -> Result<bool, ClientError> {
    let mode = client.query_first("show global variables like 'innodb_autoinc_lock_mode'")?;
    // Where it is 0, an INSERT does so, too.
    if mode.is_none_or(|(_, mode): (String, String)| mode != "1") {
        return Ok(false);
    }
    type Column = (String, String, String, String, Option<String>, String);
    match client.query(&format!("show columns from {table}")) {
        Ok(columns) => Ok(columns
            .iter()
            .any(|(.., extra): &Column| extra.contains("auto_increment"))),
        // What is wrong with the table is said when it is filled.
        Err(ClientError::Server(_)) => Ok(false),
        Err(error) => Err(error),
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
                let mut writer = self.rows.writer(RowFormat::Literals);
                self.insert(&mut client, batches, |client, first, last| {
                    let mut made = Ok(first);
                    let inserted = client.insert(|text| {
                        let end = text.len() + bytes;
                        text.extend_from_slice(statement.as_bytes());
                        made = append_rows(&mut writer, first..=last, b",", end, text);
                    });
                    Ok((made?, inserted))
                })
            }
            By::Values { bytes } => {
                let places = vec!["?"; self.fill.columns.len()].join(", ");
                let statement = format!("insert into {table} ({names}) values ({places})");
                let statement =
                    MyStatement::new(0, &statement, self.fill.columns.len(), Protocol::Prepared).map_err(|error| {
                        LoadError::Unsendable {
                            table: table.clone(),
                            error,
                        }
                    })?;
                client.prepare(&statement).map_err(failed)?;
                let mut writer = self.rows.writer(RowFormat::Values);
                self.insert(&mut client, batches, |client, first, last| {
                    let mut made = Ok(first);
                    let inserted = client.load_rows(&statement, |values| {
                        let end = values.len() + bytes;
                        made = append_rows(&mut writer, first..=last, b"", end, values);
                    });
                    Ok((made?, inserted))
                })
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

    /// Has `insert` bring in rows from the first to at most the last that it is given, and say up to which it did.
    fn insert(
        &self,
        client: &mut Client,
        batches: &Batches<'_, LoadError>,
        mut insert: impl FnMut(&mut Client, u64, u64) -> Result<(u64, Result<Reply, ClientError>), LoadError>,
    ) -> Result<(), LoadError> {
        let failed = |error| LoadError::Fill {
            table: self.fill.table.clone(),
            error,
        };
        // The disk is waited for once a batch, not once a statement.
        client.execute("set session autocommit = 0").map_err(failed)?;
        while let Some(batch) = batches.next() {
            let mut first = batch.first;
            while first <= batch.last {
                let (last, inserted) = insert(client, first, batch.last)?;
                self.check(client, inserted, Batch { first, last })?;
                first = last + 1;
            }
            client.work("commit").map_err(failed)?;
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
        let refused = |message, state| LoadError::Rows {
            table: self.fill.table.clone(),
            first,
            last,
            place: self.fill.source.lines(first, last),
            message,
            state,
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
                Err(refused(message, String::new()))
            }
            Err(ClientError::Server(said)) => Err(refused(said.to_string(), said.state)),
            Err(error) => Err(failed(error)),
        }
    }
}

/// Appends rows, at least one, until `out` is `end` bytes long. Gives the number of the last.
fn append_rows(
    writer: &mut RowWriter<'_>,
    rows: RangeInclusive<u64>,
    separator: &[u8],
    end: usize,
    out: &mut Vec<u8>,
) -> Result<u64, RowError> {
    let (mut last, most) = rows.into_inner();
    writer.append(last, out)?;
    while last < most && out.len() < end {
        out.extend_from_slice(separator);
        writer.append(last + 1, out)?;
        last += 1;
    }
    Ok(last)
}
