//! Rows that are made here, brought in by COPY.

use super::{Fill, LoadError, Loader, LoaderError};
use crate::batches::{Batch, Batches, Sharing, rows_in_batch, share_out};
use crate::postgres::address::ConnectionInfo;
use dyno_script::{RowFormat, Rows};
use std::sync::atomic::AtomicBool;

/// Moments are those of UTC, as on every other database.
const SET_UP: &str = "set timezone = 'UTC'";

/// Brings rows that are ready to be made into a table, and gives their number, which is less than was asked for only if
/// `stop` was raised. Of what the table is to be filled with, its expressions do not count. `progress` is told of the
/// rows that are in after every batch.
///
/// # Errors
/// The first failure of any connection.
pub fn fill_rows(
    info: &ConnectionInfo,
    fill: &Fill,
    rows: &Rows,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
) -> Result<u64, LoadError> {
    let sharing = Sharing {
        rows: fill.rows,
        batch_rows: fill.batch_rows.min(rows_in_batch(rows.mean_bytes(fill.rows)?)),
        connections: fill.connections,
    };
    let work = |batches: &Batches<'_, LoadError>| copy_batches(info, fill, rows, batches);
    share_out(sharing, stop, progress, LoadError::Thread, &work)
}

/// One connection's work: batch after batch until none is left.
fn copy_batches(
    info: &ConnectionInfo,
    fill: &Fill,
    rows: &Rows,
    batches: &Batches<'_, LoadError>,
) -> Result<(), LoadError> {
    let failed = |error, Batch { first, last }| match error {
        LoaderError::Stopped => Ok(()),
        LoaderError::Connect(error) => Err(error.into()),
        error => Err(LoadError::Fill {
            table: fill.table.clone(),
            first,
            last,
            state: match &error {
                LoaderError::Refused(said) | LoaderError::Ended(said) => said.sqlstate().to_owned(),
                _ => String::new(),
            },
            message: error.to_string(),
        }),
    };
    let none = Batch {
        first: 1,
        last: fill.rows,
    };
    let over = || batches.are_over();
    let opened = Loader::connect(info, &over).and_then(|mut loader| loader.execute(SET_UP).map(|_| loader));
    let mut loader = match opened {
        Ok(loader) => loader,
        Err(error) => return failed(error, none),
    };
    let statement = format!(
        "copy {} ({}) from stdin with (encoding 'UTF8')",
        fill.table,
        fill.names()
    );
    let mut writer = rows.writer(RowFormat::Lines);
    while let Some(batch) = batches.next() {
        let mut left = batch.first..=batch.last;
        let mut without_value = None;
        let copied = loader.copy_in(&statement, &mut |buffer| {
            while buffer.len() < Loader::message_bytes() {
                let Some(row) = left.next() else { return false };
                if let Err(error) = writer.append(row, buffer) {
                    without_value = Some(error);
                    return false;
                }
            }
            true
        });
        if let Some(error) = without_value {
            return Err(error.into());
        }
        if let Err(error) = copied {
            return failed(error, batch);
        }
        batches.done(batch);
    }
    Ok(())
}
