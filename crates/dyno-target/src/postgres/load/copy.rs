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
    let failed = |error, batch: Batch| match error {
        LoaderError::Stopped => Ok(()),
        LoaderError::Connect(error) => Err(error.into()),
        error => {
            let said = match &error {
                LoaderError::Refused(said) | LoaderError::Ended(said) => Some(said),
                _ => None,
            };
            let copied = said.and_then(|said| copied(said.context.as_deref()?));
            let Batch { first, last } = batch;
            let (first, last, detail) = match copied {
                Some((line, detail)) if line <= batch.rows() => (first + line - 1, first + line - 1, detail),
                _ => (first, last, ""),
            };
            Err(LoadError::Fill {
                table: fill.table.clone(),
                first,
                last,
                place: format!("{}{detail}", fill.source.lines(first, last)),
                state: said.map_or_else(String::new, |said| said.sqlstate().to_owned()),
                message: error.to_string(),
            })
        }
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

/// Which row of a COPY an error is about, from 1, and what else the server says of its place, such as the column and
/// the value: `COPY author, line 7, column born: "x"`.
fn copied(context: &str) -> Option<(u64, &str)> {
    // Another language has another word for the line.
    let copy = context.lines().find_map(|line| line.strip_prefix("COPY "))?;
    let (_, place) = copy.split_once(", ")?;
    let begin = place.find(|one: char| one.is_ascii_digit())?;
    let number = &place[begin..];
    let end = number.find(|one: char| !one.is_ascii_digit()).unwrap_or(number.len());
    Some((number[..end].parse().ok().filter(|line| *line > 0)?, &number[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_place_in_a_copy_is_read() {
        let read = copied("COPY author, line 15000, column born: \"x\"\nmore");
        assert_eq!(read, Some((15_000, ", column born: \"x\"")));
        assert_eq!(copied("COPY t, Zeile 3"), Some((3, "")));
        assert_eq!(
            copied("PL/pgSQL function f() line 3 at RAISE\nCOPY t, line 8"),
            Some((8, ""))
        );
        for other in ["", "COPY", "COPY t", "COPY t, line x", "COPY t, line 0"] {
            assert_eq!(copied(other), None);
        }
    }
}
