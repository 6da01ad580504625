//! `--archive`: the run is kept in the archive as `dyno run` keeps one, so that everything that reads archives
//! reads it too.

use crate::message;
use crate::options::Options;
use dyno_archive::plan::{Driver, ErrorLimit, Protocol, Resolved, Scripts, Value, Workload};
use dyno_engine::Stop;
use dyno_lab::run::{Entry, Progress, RunError, RunRecording};
use dyno_target::postgres::PostgresDatabase;
use dyno_target::postgres::address::ConnectionInfo;
use dyno_target::postgres::scope::Scope;
use dyno_target::target::{Passwords, word_without_secrets};
use std::path::Path;
use std::time::Duration;

/// Tells what the recording has to say.
pub struct Notes;

impl Progress for Notes {
    fn note(&mut self, text: &str) {
        message::warning(text);
    }
}

/// Opens the recording of this run in `archive`. Its workload has this name, these statements, and this interval.
///
/// # Errors
/// The archive cannot be written, or the server does not answer.
pub fn open<'a>(
    archive: &Path,
    options: &Options,
    target: &ConnectionInfo,
    statements: Vec<Vec<String>>,
    notes: &'a mut Notes,
    stop: &Stop,
) -> Result<RunRecording<'a>, RunError> {
    let experiment = experiment(options);
    let database = PostgresDatabase::new(target.clone(), Scope::Pgbench);
    let entry = Entry {
        experiment: &experiment,
        statements,
        settings: &[],
        database: &database,
        beside: Vec::new(),
        command: &options.command,
        max_errors: ErrorLimit::default(),
        sampling: true,
        examples: None,
        threads: &options.threading,
        preparation: None,
        passwords: Passwords::default(),
        notes: Vec::new(),
        stop,
    };
    RunRecording::open_alone(archive, entry, options.seed, notes)
}

/// The options as an experiment.
fn experiment(options: &Options) -> Resolved {
    let scripts = options.scripts.list.iter();
    let title = match &options.scripts.list[..] {
        [only] => format!("pgbench {}", only.description),
        several => format!("pgbench with {} scripts", several.len()),
    };
    let workload = Workload {
        name: super::load::WORKLOAD.to_owned(),
        clients: options.clients,
        threads: options.threads,
        protocol: match options.protocol {
            dyno_wire::Protocol::Simple => Protocol::Simple,
            dyno_wire::Protocol::Extended => Protocol::Extended,
            dyno_wire::Protocol::Prepared => Protocol::Prepared,
        },
        driver: Driver::default(),
        rate_per_s: options.rate_per_s,
        transactions_per_client: options.transactions.map(|number| number.unsigned_abs().into()),
        start_delay: Duration::ZERO,
        server: None,
        instances: None,
        load_hosts: Vec::new(),
        scripts: Scripts::new(
            scripts.map(|chosen| (chosen.description.clone(), chosen.text.clone(), chosen.weight.into())),
        ),
    };
    let mut experiment = Resolved::of_load("pgbench".to_owned(), title, vec![workload]);
    for (name, value) in &options.definitions {
        let shown = shown(name, value);
        experiment.parameters.insert(name.clone(), Value::from(shown));
    }
    let seconds = |seconds: i32| Duration::from_secs(seconds.unsigned_abs().into());
    experiment.warmup = options.warmup_s.map(seconds).unwrap_or_default();
    experiment.measure = options.duration_s.map(seconds);
    experiment.interval = super::load::interval(options);
    experiment
}

/// The value of a definition as the command line shows it: hidden if it would be hidden there.
fn shown<'a>(name: &str, value: &'a str) -> &'a str {
    let word = format!("{name}={value}");
    match word_without_secrets(&word) == word {
        true => value,
        false => "***",
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::{Request, parse};

    #[test]
    fn a_definition_is_archived_as_the_command_line_shows_it() {
        let words = [
            "-D",
            "password=s3cret",
            "-D",
            "copy=postgres://a:s3cret@h/d",
            "-Drows=7",
        ];
        let parsed = parse(words.map(str::to_owned).to_vec(), &|_| None);
        let Ok(Request::Run(options)) = parsed else {
            panic!("a load was asked for")
        };
        assert!(!options.command.contains("s3cret"), "{}", options.command);
        let parameters = experiment(&options).parameters;
        let shown: Vec<_> = parameters
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect();
        assert_eq!(shown, ["password=***", "copy=***", "rows=7"]);
    }
}
