//! `dyno ceiling`: what this machine's load generator can do at most.

use crate::cli::{CeilingArguments, CeilingFormat, ResponderArguments};
use crate::failure::Failure;
use crate::{interrupt, say};
use dyno_ceiling::{MeasureError, Responder, Store, measure, this_machine};
use dyno_engine::{Ending, Stop, ThreadOptions};
use dyno_lab::run::Emergency;
use dyno_record::{Ceiling, Route, Shape};
use dyno_report as report;
use dyno_target::embedded::home_folder;
use std::time::Duration;

/// `dyno ceiling`.
pub fn ceiling(arguments: &CeilingArguments) -> Result<(), Failure> {
    let store = Store::in_home(&home_folder(&|name| std::env::var(name).ok())?);
    let stop = Stop::new();
    interrupt::handle(&stop, &Emergency::default())?;
    let program = std::env::current_exe()?;
    let threads = ThreadOptions {
        transport: arguments.transport,
        ..ThreadOptions::default()
    };
    let lasts = Duration::from_secs(arguments.seconds);
    let mut ceiling = Ceiling {
        machine: this_machine(),
        points: Vec::new(),
    };
    let shapes = shapes(arguments, ceiling.machine.cores as usize);
    if shapes.is_empty() {
        return Err(
            "there is nothing to measure: each thread needs at least one client; ask for fewer threads or more clients"
                .into(),
        );
    }
    for shape in shapes {
        // As many threads as the clients have, so that the responder is not what limits them.
        let words = ["responder".to_owned(), format!("--threads={}", shape.threads)];
        let mut responder = Responder::start(&program, &words)?;
        match measure(shape, threads.clone(), lasts, &mut responder, &stop) {
            Ok(point) => {
                say::aside(&report::ceiling_line(&point));
                ceiling.take(point);
            }
            Err(MeasureError::Ended(Ending::Stopped)) => break,
            Err(error) => return Err(error.into()),
        }
    }
    store.keep(&ceiling.machine, &ceiling.points)?;
    say::result(&match arguments.format {
        CeilingFormat::Text => format!("{}\nSaved in {}", report::ceiling(&ceiling), store.path().display()),
        CeilingFormat::Json => serde_json::to_string_pretty(&ceiling)?,
    })?;
    match stop.requested() {
        true => Err(Failure::PartWay(None)),
        false => Ok(()),
    }
}

/// Every combination of what was asked for, but none with more threads than clients.
fn shapes(arguments: &CeilingArguments, cores: usize) -> Vec<Shape> {
    let threads = match arguments.threads.as_slice() {
        [] => std::iter::successors(Some(1), |threads| Some(threads * 2))
            .take_while(|threads| *threads <= cores)
            .collect(),
        given => given.to_vec(),
    };
    let mut shapes = Vec::new();
    for route in arguments.path.iter().copied().map(Route::from) {
        for &threads in &threads {
            let enough = arguments.clients.iter().filter(|clients| **clients >= threads);
            shapes.extend(enough.map(|&clients| Shape {
                route,
                clients,
                threads,
            }));
        }
    }
    shapes
}

/// `dyno responder`.
pub fn responder(arguments: &ResponderArguments) -> Result<(), Failure> {
    let (input, output) = (std::io::stdin().lock(), std::io::stdout().lock());
    Ok(dyno_ceiling::responder::run(
        &arguments.folder,
        arguments.threads,
        input,
        output,
    )?)
}
