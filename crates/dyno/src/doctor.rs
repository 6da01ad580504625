//! `dyno doctor`: whether a load can run, on one page.

use crate::cli::{DoctorArguments, DoctorFormat};
use crate::failure::Failure;
use crate::{say, trial};
use dyno_engine::Stop;
use dyno_lab::doctor::{Request, examine};
use dyno_report as report;

/// How wide the page is unless a terminal is narrower: nothing that dyno prints is wider.
pub const PAGE: usize = 100;

/// `dyno doctor`.
pub fn doctor(arguments: &DoctorArguments) -> Result<(), Failure> {
    let request = Request {
        target: arguments.target.as_deref(),
        clients: arguments.clients,
        archive: &arguments.archive.archive,
        environment: &|name| std::env::var(name).ok(),
    };
    if arguments.trial {
        return trial::trial(arguments, &request);
    }
    // Nothing is changed that would have to be put back, so a signal may end it at once.
    let examination = examine(&request, &Stop::new())?;
    say::result(&match arguments.format {
        DoctorFormat::Text => report::examination(&examination, columns()),
        DoctorFormat::Json => serde_json::to_string_pretty(&examination)?,
    })?;
    match examination.can_run {
        true => Ok(()),
        false => Err(Failure::Said),
    }
}

/// The columns of standard output, where that is a terminal.
fn columns() -> usize {
    let size = console::Term::stdout().size_checked();
    size.map_or(PAGE, |(_, columns)| usize::from(columns))
}
