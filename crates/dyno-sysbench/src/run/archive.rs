//! `--archive`: the run is kept in the archive as `dyno run` keeps one, so that everything that reads archives reads it
//! too.

use crate::connection::{Driver, mysql_target, pgsql_target};
use crate::message::Log;
use crate::options::Options;
use crate::run::load;
use crate::script::Script;
use dyno_archive::plan::{
    ErrorLimit, LuaScript, LuaSettings, Protocol, Resolved, Script as Text, Scripts, Value, Workload,
};
use dyno_engine::{Stop, ThreadOptions};
use dyno_lab::run::{Entry, Progress, RunRecording};
use dyno_target::target::{Database, Passwords};
use dyno_target::{mysql, postgres};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

/// Tells what the recording has to say.
pub struct Notes(pub Arc<Log>);

impl Progress for Notes {
    fn note(&mut self, text: &str) {
        self.0.warning(text);
    }
}

/// Opens the recording of this run in `archive`.
///
/// # Errors
/// The archive cannot be written, or the server does not answer; what is to be said of it.
pub fn open<'a>(
    archive: &Path,
    options: &Options,
    script: &Script,
    notes: &'a mut Notes,
    stop: &Stop,
) -> Result<RunRecording<'a>, String> {
    let experiment = experiment(options, script);
    let database = database(options)?;
    let command = std::iter::once("sysbench").chain(options.words.iter().map(String::as_str));
    let entry = Entry {
        experiment: &experiment,
        // They come to light while it runs.
        statements: vec![Vec::new()],
        settings: &[],
        database: &*database,
        beside: Vec::new(),
        command: &dyno_lab::command::redacted(command),
        max_errors: ErrorLimit::default(),
        sampling: true,
        examples: None,
        threads: &ThreadOptions::default(),
        preparation: None,
        passwords: Passwords::default(),
        notes: Vec::new(),
        stop,
    };
    let seed = options.telling.seed.unwrap_or(0);
    RunRecording::open_alone(archive, entry, seed, notes).map_err(|error| error.to_string())
}

/// The database that is measured. The test's tables are not known, so all of it is looked at.
fn database(options: &Options) -> Result<Box<dyn Database>, String> {
    let settings = &options.settings;
    Ok(match Driver::of(settings.text("db-driver")) {
        Some(Driver::Pgsql) => {
            let target = pgsql_target(settings, &crate::environment).map_err(|error| error.to_string())?;
            Box::new(postgres::PostgresDatabase::new(
                target,
                postgres::scope::Scope::Database,
            ))
        }
        _ => {
            let target = mysql_target(settings).map_err(|error| error.to_string())?;
            Box::new(mysql::MysqlDatabase::new(target, mysql::Scope::Database))
        }
    })
}

/// The options as an experiment.
fn experiment(options: &Options, script: &Script) -> Resolved {
    let settings = &options.settings;
    let limits = &options.limits;
    let given = options.others.iter().map(|other| {
        let value = other.value.as_deref().unwrap_or("on");
        (other.name.replace('-', "_"), Value::from(value))
    });
    let lossless = |bytes: &[u8]| dyno_text::decode(bytes).into_owned();
    let texts = |parts: &[(String, Vec<u8>)]| {
        let parts = parts.iter().map(|(name, text)| (name.clone(), lossless(text)));
        parts.collect()
    };
    let workload = Workload {
        name: load::WORKLOAD.to_owned(),
        clients: limits.threads,
        threads: load::worker_threads(limits.threads),
        protocol: match settings.text("db-ps-mode") {
            "disable" => Protocol::Simple,
            _ => Protocol::Prepared,
        },
        driver: Default::default(),
        rate_per_s: limits.rate_per_s,
        transactions_per_client: None,
        start_delay: Duration::ZERO,
        server: None,
        instances: None,
        load_hosts: Vec::new(),
        scripts: Scripts::Lua(Box::new(LuaScript {
            script: Text {
                script_name: script.name.clone(),
                script_offset: (0, 0),
                script: lossless(script.source.bytes()),
            },
            lua: LuaSettings {
                options: given.collect(),
                safe: options.safe_lua,
                modules: texts(&script.parts.modules),
                files: texts(&script.parts.files),
            },
        })),
    };
    let title = format!("sysbench {}", script.name);
    let mut experiment = Resolved::of_load("sysbench".to_owned(), title, vec![workload]);
    experiment.warmup = Duration::from_secs(limits.warmup_s);
    experiment.measure = limits.time_s.map(Duration::from_secs);
    experiment.interval = load::INTERVAL;
    experiment
}
