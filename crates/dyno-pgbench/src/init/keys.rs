//! Primary keys, built one after the other as pgbench does, or by several connections at once.
//!
//! A partitioned table's key is the sum of its partitions' keys: these are built first, and the key of the whole
//! then only takes them in.

use super::error::StepFailure;
use super::tables::{KEYS, primary_key};
use super::work::Work;
use dyno_target::postgres::load::LoaderError;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, Ordering};

pub(super) fn create(work: &mut Work<'_, '_>) -> Result<(), StepFailure> {
    let partitions = work.options.partitions;
    let whole = KEYS.map(|(table, column)| primary_key(table, column, work.options));
    if work.options.load_jobs <= 1 {
        return whole.iter().try_for_each(|statement| work.execute(statement));
    }
    let [branches, tellers, accounts] = whole;
    // The longest work first, so that it does not end alone.
    let mut statements: Vec<String> = (1..=partitions)
        .map(|number| primary_key(&format!("pgbench_accounts_{number}"), "aid", work.options))
        .collect();
    let last = if partitions > 0 {
        Some(accounts)
    } else {
        statements.push(accounts);
        None
    };
    statements.extend([branches, tellers]);
    at_once(work, statements)?;
    last.map_or(Ok(()), |statement| work.execute(&statement))
}

/// Executes the statements, each in a transaction of its own, with as many connections as there are load jobs.
fn at_once(work: &mut Work<'_, '_>, mut statements: Vec<String>) -> Result<(), StepFailure> {
    let failed = AtomicBool::new(false);
    let stop = work.stop;
    let stop_or_failed = || stop() || failed.load(Ordering::Relaxed);
    let mut loaders = Vec::new();
    for _ in 0..work.options.load_jobs.min(statements.len()) {
        let loader = work.loader.another(&stop_or_failed);
        loaders.push(work.judge(loader, &statements[0])?);
    }
    statements.reverse();
    let queue = Mutex::new(statements);
    let failure = Mutex::new(None);
    let fail = |error: LoaderError, statement: String| {
        failed.store(true, Ordering::Relaxed);
        if let Ok(mut first) = failure.lock() {
            // Whoever was stopped because another one failed has nothing to tell.
            if matches!(*first, None | Some((LoaderError::Stopped, _))) {
                *first = Some((error, statement));
            }
        }
    };
    std::thread::scope(|scope| {
        for loader in &mut loaders {
            let (queue, fail) = (&queue, &fail);
            let spawned = std::thread::Builder::new()
                .name("keys".to_owned())
                .spawn_scoped(scope, move || {
                    while let Some(statement) = queue.lock().ok().and_then(|mut queue| queue.pop()) {
                        if let Err(error) = loader.execute(&statement) {
                            return fail(error, statement);
                        }
                    }
                });
            if let Err(error) = spawned {
                fail(LoaderError::Lost(error), "alter table".to_owned());
            }
        }
    });
    match failure.into_inner() {
        Ok(Some((error, statement))) => work.judge(Err(error), &statement),
        _ => Ok(()),
    }
}
