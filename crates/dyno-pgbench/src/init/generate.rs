//! The step that makes the rows here and sends them by COPY.
//!
//! All of it is one transaction that begins by truncating the tables, so that the server may leave its log and the
//! later freezing out. With several connections that is not possible: branches and tellers come first, then all
//! connections take pieces of accounts in turn, which keeps the rows in about their order on disk, and commit
//! together once all have succeeded.

use super::error::{Stage, StepFailure};
use super::progress::Progress;
use super::rows::{Accounts, branches, tellers};
use super::tables::{ACCOUNTS, BEGIN, COMMIT, TELLERS, TRUNCATE};
use super::work::Work;
use dyno_target::postgres::load::{Loader, LoaderError};
use std::sync::atomic::{AtomicBool, AtomicI64, Ordering};
use std::sync::mpsc;

/// Rows that a connection takes at a time when several load.
const PIECE: i64 = 20_000;

const COPY_ACCOUNTS: &str = "copy pgbench_accounts from stdin";

/// From this major version on rows that arrive frozen also spare the vacuum its reading.
const FREEZE_SINCE: u32 = 14;

pub(super) fn client_side(work: &mut Work<'_, '_>) -> Result<(), StepFailure> {
    work.execute(BEGIN)?;
    work.execute(TRUNCATE)?;
    let scale = work.options.scale;
    copy_lines(work, "pgbench_branches", scale, &mut branches(scale))?;
    copy_lines(work, "pgbench_tellers", TELLERS * scale, &mut tellers(scale))?;
    if work.options.load_jobs > 1 {
        work.execute(COMMIT)?;
        return several(work);
    }
    let end = ACCOUNTS * scale;
    let mut progress = Progress::new(work.options, "pgbench_accounts", end);
    let mut accounts = Accounts::new(0..end);
    let copied = copy(work, "pgbench_accounts", &mut |buffer, out| {
        accounts.append(buffer, progress.next_stop(accounts.next()), Loader::message_bytes());
        progress.sent(accounts.next(), out);
        accounts.next() < end
    });
    progress.finish(work.out);
    copied?;
    work.execute(COMMIT)
}

/// COPY into `table`, with rows frozen at once where that is allowed: in a plain table, in the transaction that
/// truncated it.
fn copy_statement(work: &mut Work<'_, '_>, table: &str) -> Result<String, StepFailure> {
    let plain = format!("select 1 from pg_catalog.pg_class where oid = '{table}'::regclass and relkind = 'r'");
    let freeze = work.loader.server_major() >= FREEZE_SINCE && work.rows_of(&plain)? == 1;
    Ok(format!(
        "copy {table} from stdin{}",
        if freeze { " with (freeze on)" } else { "" }
    ))
}

/// Appends rows to a buffer and reports; gives whether more are to come.
type Fill<'a> = &'a mut dyn FnMut(&mut Vec<u8>, &mut dyn FnMut(&str)) -> bool;

/// Brings the rows that `fill` gives into `table`.
fn copy(work: &mut Work<'_, '_>, table: &str, fill: Fill<'_>) -> Result<(), StepFailure> {
    let statement = copy_statement(work, table)?;
    let mut stage = Stage::CopyRefused;
    let (loader, out) = work.parts();
    let copied = loader.copy_in(&statement, &mut |buffer| {
        stage = Stage::Copying;
        fill(buffer, out)
    });
    work.judge_at(stage, copied, &statement).map(drop)
}

/// Brings the `count` rows of a small table in. Only versions that name tables report on them.
fn copy_lines(
    work: &mut Work<'_, '_>,
    table: &'static str,
    count: i64,
    lines: &mut dyn Iterator<Item = String>,
) -> Result<(), StepFailure> {
    let mut progress = match work.options.progress_names_table {
        true => Some(Progress::new(work.options, table, count)),
        false => None,
    };
    let mut rows = 0;
    let copied = copy(work, table, &mut |buffer, out| {
        while buffer.len() < Loader::message_bytes() {
            let Some(line) = lines.next() else {
                return false;
            };
            buffer.extend_from_slice(line.as_bytes());
            rows += 1;
            if let Some(progress) = &mut progress {
                progress.sent(rows, out);
            }
        }
        true
    });
    if let Some(progress) = progress {
        progress.finish(work.out);
    }
    copied
}

/// What the connections that load together share.
struct Shared {
    next_piece: AtomicI64,
    end: i64,
    failed: AtomicBool,
}

/// Loads accounts with several connections.
fn several(work: &mut Work<'_, '_>) -> Result<(), StepFailure> {
    let end = ACCOUNTS * work.options.scale;
    let shared = Shared {
        next_piece: AtomicI64::new(0),
        end,
        failed: AtomicBool::new(false),
    };
    let stop = work.stop;
    let stop_or_failed = || stop() || shared.failed.load(Ordering::Relaxed);
    let jobs = work
        .options
        .load_jobs
        .min(usize::try_from(end / PIECE).unwrap_or(usize::MAX));
    let mut loaders = Vec::new();
    for _ in 0..jobs {
        let loader = work.loader.another(&stop_or_failed);
        loaders.push(work.judge(loader, COPY_ACCOUNTS)?);
    }
    let mut progress = Progress::new(work.options, "pgbench_accounts", end);
    let mut rows = 0;
    let mut outcome = Ok(());
    std::thread::scope(|scope| {
        let (sender, receiver) = mpsc::channel();
        for loader in &mut loaders {
            let (sender, shared) = (sender.clone(), &shared);
            let spawned = std::thread::Builder::new()
                .name("load".to_owned())
                .spawn_scoped(scope, move || {
                    let copied = copy_pieces(loader, shared, &sender);
                    if copied.is_err() {
                        shared.failed.store(true, Ordering::Relaxed);
                    }
                    // The receiver lives until all senders are gone.
                    let _ = sender.send(copied.map(|()| 0));
                });
            if let Err(error) = spawned {
                shared.failed.store(true, Ordering::Relaxed);
                outcome = Err(LoaderError::Lost(error));
            }
        }
        drop(sender);
        for message in receiver {
            match message {
                Ok(sent) => {
                    rows += sent;
                    progress.sent(rows, work.out);
                }
                // Whoever was stopped because another one failed has nothing to tell.
                Err(error) if outcome.is_ok() || matches!(outcome, Err(LoaderError::Stopped)) => outcome = Err(error),
                Err(_) => {}
            }
        }
    });
    progress.finish(work.out);
    work.judge(outcome, COPY_ACCOUNTS)?;
    for mut loader in loaders {
        let committed = loader.execute(COMMIT);
        work.judge(committed, COMMIT)?;
    }
    Ok(())
}

/// One connection's share: pieces until none is left, in a transaction that stays open.
fn copy_pieces(
    loader: &mut Loader<'_>,
    shared: &Shared,
    sent: &mpsc::Sender<Result<i64, LoaderError>>,
) -> Result<(), LoaderError> {
    loader.execute(BEGIN)?;
    let mut piece = Accounts::new(0..0);
    let mut piece_end = 0;
    loader.copy_in(COPY_ACCOUNTS, &mut |buffer| {
        if piece.next() == piece_end {
            let start = shared.next_piece.fetch_add(PIECE, Ordering::Relaxed);
            if start >= shared.end {
                return false;
            }
            piece_end = (start + PIECE).min(shared.end);
            piece = Accounts::new(start..piece_end);
        }
        piece.append(buffer, piece_end, Loader::message_bytes());
        if piece.next() == piece_end {
            let _ = sent.send(Ok(PIECE));
        }
        true
    })?;
    Ok(())
}
