//! Rows shared out among connections: batch after batch, each to whoever is free.

use std::io;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc;

/// Most connections used for one table unless asked otherwise. On two busy cores two connections loaded a table
/// with a primary key about 30 % faster than one (1 million rows, six rounds); more than four gained nothing in
/// loading accounts.
const MOST_CONNECTIONS: usize = 4;

/// Rows that the server makes in a batch unless asked otherwise: a fraction of a second's work, so that progress moves
/// and a stop is prompt.
pub(crate) const BATCH_ROWS: u64 = 50_000;

/// About how many bytes are sent in a batch of rows that are made here, for the same reason; and so that each
/// connection can have one in memory.
const BATCH_BYTES: u64 = 4 << 20;

/// As many connections as there are cores, but not too many.
pub(crate) fn usual_connections() -> usize {
    let cores = std::thread::available_parallelism().map_or(1, usize::from);
    cores.min(MOST_CONNECTIONS)
}

/// How many rows of this mean size are a batch.
pub(crate) fn rows_in_batch(mean_bytes: u64) -> u64 {
    (BATCH_BYTES / mean_bytes.max(1)).clamp(1, BATCH_ROWS)
}

/// Rows by their numbers, in words.
pub(crate) fn rows(first: u64, last: u64) -> String {
    match first == last {
        true => format!("row {first}"),
        false => format!("rows {first} to {last}"),
    }
}

/// What is shared out.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sharing {
    /// Rows, numbered from 1.
    pub(crate) rows: u64,
    /// Rows in a batch.
    pub(crate) batch_rows: u64,
    /// Connections that take batches, each on a thread of its own.
    pub(crate) connections: usize,
}

/// One connection's view of it.
pub(crate) struct Batches<'a, E> {
    sharing: Sharing,
    next: &'a AtomicU64,
    stop: &'a AtomicBool,
    failed: &'a AtomicBool,
    news: mpsc::Sender<Result<u64, E>>,
}

/// Rows that one connection inserts: the first and the last.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Batch {
    pub(crate) first: u64,
    pub(crate) last: u64,
}

impl Batch {
    pub(crate) fn rows(self) -> u64 {
        self.last - self.first + 1
    }
}

impl<E> Batches<'_, E> {
    /// Whether no more is to be done: somebody asks to stop, or another connection has failed.
    pub(crate) fn are_over(&self) -> bool {
        self.stop.load(Ordering::Relaxed) || self.failed.load(Ordering::Relaxed)
    }

    /// Whether somebody asks to stop.
    pub(crate) fn is_stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// The next batch; `None` if none is left, or no more is to be done.
    pub(crate) fn next(&self) -> Option<Batch> {
        if self.are_over() {
            return None;
        }
        let number = self.next.fetch_add(1, Ordering::Relaxed);
        let before = number.checked_mul(self.sharing.batch_rows)?;
        (before < self.sharing.rows).then(|| Batch {
            first: before + 1,
            last: before.saturating_add(self.sharing.batch_rows).min(self.sharing.rows),
        })
    }

    /// A batch is in.
    pub(crate) fn done(&self, batch: Batch) {
        // The receiver lives until all senders are gone.
        let _ = self.news.send(Ok(batch.rows()));
    }
}

/// Has connections take batches until none is left. `work` is what each of them does; `progress` is told how many
/// rows are in, on the calling thread; `stop`, raised by another thread, ends the work after the batches under way.
/// Gives how many rows are in.
///
/// # Errors
/// The first failure of any connection; or what `no_thread` says, if there is none to work on.
pub(crate) fn share_out<E: Send>(
    sharing: Sharing,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(u64),
    no_thread: fn(io::Error) -> E,
    work: &(dyn Fn(&Batches<'_, E>) -> Result<(), E> + Sync),
) -> Result<u64, E> {
    let sharing = Sharing {
        batch_rows: sharing.batch_rows.max(1),
        ..sharing
    };
    let batches = sharing.rows.div_ceil(sharing.batch_rows);
    let workers = (sharing.connections.max(1) as u64).min(batches);
    let (next, failed) = (AtomicU64::new(0), AtomicBool::new(false));
    let mut rows = 0;
    let mut first_error = None;
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for worker in 0..workers {
            let batches = Batches {
                sharing,
                next: &next,
                stop,
                failed: &failed,
                news: sender.clone(),
            };
            let spawned = std::thread::Builder::new().spawn_scoped(scope, move || {
                if let Err(error) = work(&batches) {
                    batches.failed.store(true, Ordering::Relaxed);
                    let _ = batches.news.send(Err(error));
                }
            });
            // A few threads do as well as many, but none does nothing.
            if let Err(error) = spawned {
                if worker == 0 {
                    first_error = Some(no_thread(error));
                }
                break;
            }
        }
        drop(sender);
        for message in receiver {
            match message {
                Ok(inserted) => {
                    rows += inserted;
                    progress(rows);
                }
                Err(error) => {
                    first_error.get_or_insert(error);
                }
            }
        }
    });
    first_error.map_or(Ok(rows), Err)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Mutex;

    fn shared(
        sharing: Sharing,
        work: &(dyn Fn(&Batches<'_, String>) -> Result<(), String> + Sync),
    ) -> Result<u64, String> {
        share_out(
            sharing,
            &AtomicBool::new(false),
            &mut |_| (),
            |error| error.to_string(),
            work,
        )
    }

    #[test]
    fn every_row_is_in_one_batch() {
        for (rows, batch_rows, connections) in [(0, 5, 3), (1, 5, 3), (10, 5, 1), (11, 5, 4), (1000, 1, 4), (7, 0, 0)] {
            let seen = Mutex::new(Vec::new());
            let sharing = Sharing {
                rows,
                batch_rows,
                connections,
            };
            let done = shared(sharing, &|batches| {
                while let Some(batch) = batches.next() {
                    seen.lock().unwrap().extend(batch.first..=batch.last);
                    batches.done(batch);
                }
                Ok(())
            });
            assert_eq!(done, Ok(rows));
            let mut seen = seen.into_inner().unwrap();
            seen.sort_unstable();
            assert_eq!(seen, (1..=rows).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_failure_ends_the_work_of_all() {
        let sharing = Sharing {
            rows: u64::MAX,
            batch_rows: 10,
            connections: 3,
        };
        let ended = shared(sharing, &|batches| {
            while let Some(batch) = batches.next() {
                if batch.first == 101 {
                    return Err("it failed".to_owned());
                }
                batches.done(batch);
            }
            Ok(())
        });
        assert_eq!(ended, Err("it failed".to_owned()));
    }

    #[test]
    fn batches_of_long_rows_are_small() {
        assert_eq!(rows_in_batch(0), BATCH_ROWS);
        assert_eq!(rows_in_batch(4096), 1024);
        assert_eq!(rows_in_batch(1 << 40), 1);
    }
}
