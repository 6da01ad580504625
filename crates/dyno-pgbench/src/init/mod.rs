//! `pgbench -i`: brings the four tables of pgbench's built-in scripts into a database.
//!
//! Tables, content, progress lines and the closing sentence are those of PostgreSQL 15's pgbench, so that data made
//! by either serves the other and wrappers read what they expect. What differs is the cost: rows are made far
//! cheaper, and several connections may load.

mod error;
mod generate;
mod keys;
mod options;
mod progress;
mod rows;
mod step;
mod tables;
mod work;

pub use error::{InitError, StepFailure};
pub use options::{InitOptions, PartitionMethod};
pub use step::Step;

use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::load::{Loader, LoaderError};
use std::fmt::Write;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use work::Work;

/// Carries out the steps of `options` on the first server of `info` that answers.
///
/// `out` gets what pgbench writes to stderr, piece by piece, line ends included. `stop`, set by another thread,
/// ends the work within a second.
///
/// # Errors
/// The first step that fails, and what state it left the tables in.
pub fn initialize(
    info: &ConnectionInfo,
    options: &InitOptions,
    stop: &AtomicBool,
    out: &mut dyn FnMut(&str),
) -> Result<(), InitError> {
    let steps = planned(options)?;
    let stop = || stop.load(Ordering::Relaxed);
    let loader = Loader::connect(info, &stop).map_err(|error| match error {
        LoaderError::Connect(error) => InitError::Connect(error),
        other => InitError::LogIn(other),
    })?;
    check_server(&loader, options, &steps)?;
    let mut work = Work {
        loader,
        options,
        stop: &stop,
        out,
        step: Step::Drop,
    };
    let mut times = String::new();
    let mut total_s = 0.0;
    for (index, step) in steps.iter().enumerate() {
        let started = Instant::now();
        work.step = *step;
        (work.out)(step.announcement());
        take(*step, &mut work).map_err(|failure| {
            let left = if failure.statement == tables::COMMIT {
                "the rows may or may not have been kept"
            } else {
                step.interrupted(options.load_jobs > 1)
            };
            InitError::Step {
                failure,
                state: state(&steps, index, left),
            }
        })?;
        let elapsed_s = started.elapsed().as_secs_f64();
        total_s += elapsed_s;
        let separator = if index > 0 { ", " } else { "" };
        // Writing to a string cannot fail.
        let _ = write!(times, "{separator}{} {elapsed_s:.2} s", step.name());
    }
    (work.out)(&format!("done in {total_s:.2} s ({times}).\n"));
    Ok(())
}

/// The steps that remain after `-n`, with the one that `--foreign-keys` adds.
fn planned(options: &InitOptions) -> Result<Vec<Step>, InitError> {
    let mut steps = Step::parse_all(&options.steps)?;
    if options.no_vacuum {
        steps.retain(|step| *step != Step::Vacuum);
    }
    if options.foreign_keys && !steps.contains(&Step::ForeignKeys) {
        steps.push(Step::ForeignKeys);
    }
    Ok(steps)
}

/// Refuses what the server cannot do before anything is dropped.
fn check_server(loader: &Loader<'_>, options: &InitOptions, steps: &[Step]) -> Result<(), InitError> {
    if options.partitions == 0 || !steps.contains(&Step::Create) {
        return Ok(());
    }
    let (what, needed) = match options.partition_method {
        Some(PartitionMethod::Hash) => ("hash partitions", 11),
        _ if steps.contains(&Step::ForeignKeys) => ("foreign keys that point to partitions", 12),
        _ if steps.contains(&Step::PrimaryKeys) => ("primary keys of partitioned tables", 11),
        _ => ("partitions", 10),
    };
    if (1..needed).contains(&loader.server_major()) {
        return Err(InitError::Unsupported {
            what,
            needed,
            version: loader.server_version().to_owned(),
        });
    }
    Ok(())
}

fn take(step: Step, work: &mut Work<'_, '_>) -> Result<(), StepFailure> {
    match step {
        Step::Drop => work.execute(tables::DROP),
        Step::Create => create(work),
        Step::GenerateClientSide => generate::client_side(work),
        Step::GenerateServerSide => server_side(work),
        Step::Vacuum => tables::VACUUM.iter().try_for_each(|statement| work.execute(statement)),
        Step::PrimaryKeys => keys::create(work),
        Step::ForeignKeys => tables::FOREIGN_KEYS
            .iter()
            .try_for_each(|statement| work.execute(statement)),
    }
}

fn create(work: &mut Work<'_, '_>) -> Result<(), StepFailure> {
    for statement in tables::create(work.options, work.loader.server_major()) {
        work.execute(&statement)?;
    }
    if work.options.partitions > 0 {
        (work.out)(&format!("creating {} partitions...\n", work.options.partitions));
    }
    tables::create_partitions(work.options).try_for_each(|statement| work.execute(&statement))
}

fn server_side(work: &mut Work<'_, '_>) -> Result<(), StepFailure> {
    work.execute(tables::BEGIN)?;
    work.execute(tables::TRUNCATE)?;
    for statement in tables::generate(work.options.scale) {
        work.execute(&statement)?;
    }
    work.execute(tables::COMMIT)
}

/// What is there after the step at `index` ended early and `left` what it left.
fn state(steps: &[Step], index: usize, left: &str) -> String {
    let names = |steps: &[Step]| steps.iter().map(|step| step.name()).collect::<Vec<_>>().join(", ");
    let done = match &steps[..index] {
        [] => "No step was finished".to_owned(),
        done => format!("Steps finished: {}", names(done)),
    };
    let step = steps[index];
    let left_out = match &steps[index + 1..] {
        [] => String::new(),
        rest => format!(" Not begun: {}.", names(rest)),
    };
    format!(
        "{done}. Interrupted: {}, so that {left}.{left_out} Run the initialization (-i) again before the tables \
         are used.",
        step.name()
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_follow_the_other_options() {
        use Step::*;
        let options = InitOptions {
            no_vacuum: true,
            foreign_keys: true,
            ..InitOptions::default()
        };
        assert_eq!(
            planned(&options).unwrap(),
            [Drop, Create, GenerateClientSide, PrimaryKeys, ForeignKeys]
        );
        let named = InitOptions {
            steps: "fv".to_owned(),
            foreign_keys: true,
            ..InitOptions::default()
        };
        assert_eq!(planned(&named).unwrap(), [ForeignKeys, Vacuum]);
    }

    #[test]
    fn an_early_end_says_what_is_there() {
        let steps = planned(&InitOptions::default()).unwrap();
        assert_eq!(
            state(&steps, 2, steps[2].interrupted(false)),
            "Steps finished: drop tables, create tables. Interrupted: client-side generate, so that the tables \
             hold the rows they held before it. \
             Not begun: vacuum, primary keys. Run the initialization (-i) again before the tables are used."
        );
        assert!(
            state(&steps, 0, steps[0].interrupted(false))
                .starts_with("No step was finished. Interrupted: drop tables, so that the old")
        );
        assert!(!state(&steps, 4, "x").contains("Not begun"));
    }
}
