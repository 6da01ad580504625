//! A benchmark from its options to its report.

mod archive;
mod client_event;
mod load;
mod log;
mod progress;
mod server_text;
mod session_settings;
mod setup;
mod watch;

pub use setup::resolve;

use crate::message;
use crate::options::Options;
use crate::report::{self, Conditions, Report, ScriptReport};
use dyno_archive::RunState;
use dyno_engine::{DriveError, Ending, Outcome, Signals, allow_descriptors};
use dyno_lab::run::{Both, RunRecording};
use dyno_load::{LoadError, LogError, Ready};
use dyno_target::postgres::address::{ConnectionInfo, Host};
use setup::{Tables, TablesError};
use std::fs::File;
use std::path::Path;
use watch::Watch;

/// Exit codes, as pgbench's.
const STATIC_ERROR: u8 = 1;
const ABORTED: u8 = 2;

/// Runs the benchmark, and gives the exit code, unless a signal ended it: then the process dies of that.
pub fn run(options: &Options, target: &ConnectionInfo, signals: &Signals) -> u8 {
    let code = benchmark(options, target, signals);
    signals.die_of_it();
    code
}

fn benchmark(options: &Options, target: &ConnectionInfo, signals: &Signals) -> u8 {
    if let Some(path) = options.json.as_deref().filter(|path| *path != Path::new("-"))
        // Better now than after a night's run. What is in it stays until there is something to take its place.
        && let Err(error) = File::options().append(true).create(true).open(path)
    {
        let cause = crate::system_text(&error);
        return fail(&format!("could not create file \"{}\": {cause}", path.display()));
    }
    // With an archive there are its files and samplers, else the connection for the set-up.
    let others = if options.archive.is_some() { 64 } else { 6 };
    if let Err(error) = allow_descriptors(options.clients, options.threads, others) {
        return fail(&error.to_string());
    }
    let (server_version, tables) = match prepare(options, target, signals) {
        Ok(prepared) => prepared,
        Err(code) => return code,
    };
    let load = match Ready::of(load::plan(options, tables.scale, target), &log::open) {
        Ok(load) => load,
        Err(LoadError::Postgres(error)) => return fail_to_connect(&error.libpq(), "for setup"),
        Err(LoadError::Log(LogError { name, cause })) => {
            let cause = crate::system_text(&cause);
            return fail(&format!("could not open logfile \"{name}\": {cause}"));
        }
        Err(error) => return fail(&error.to_string()),
    };
    let mut watch = Watch::new(options, target);
    let mut notes = archive::Notes;
    let mut recording = None;
    if let Some(folder) = &options.archive {
        match archive::open(folder, options, target, load.statements(), &mut notes, signals.stop()) {
            Ok(opened) => recording = Some(opened),
            Err(_) if signals.stop().requested() => return STATIC_ERROR,
            Err(error) => return fail(&error.to_string()),
        }
    }
    let mut observer = Both {
        watch: &mut watch,
        recorder: recording.as_mut().map(RunRecording::observer),
    };
    let outcome = match load.drive(&mut observer, signals.stop()) {
        Ok(outcome) => outcome,
        Err(error) => {
            if let Some(recording) = recording {
                recording.abandon(&error.to_string());
            }
            return match error {
                DriveError::Connect { client, cause, .. } => fail_to_connect(
                    &server_text::of_connecting(&cause, target),
                    &format!("for client {client}"),
                ),
                DriveError::Thread { cause, .. } => {
                    fail(&format!("could not create thread: {}", crate::system_text(&cause)))
                }
                other => fail(&other.to_string()),
            };
        }
    };
    let mut archive_error = None;
    if let Some(recording) = recording {
        let kept = recording.close(&outcome, None);
        let state = match kept.state {
            RunState::Complete => String::new(),
            other => format!(" as {other}"),
        };
        message::info(&format!("archived{state} in {}", kept.folder.display()));
        archive_error = kept.archive_error().map(str::to_owned);
    }
    let code = finish(options, server_version, tables, &watch, &outcome);
    match archive_error {
        Some(error) => {
            message::error(&format!("the archived run is incomplete: {error}"));
            if code == 0 { ABORTED } else { code }
        }
        // How many errors the archive allows is no matter of pgbench's.
        None => code,
    }
}

/// Everything before the load: the first line, the tables, vacuum.
fn prepare(options: &Options, target: &ConnectionInfo, signals: &Signals) -> Result<(String, Tables), u8> {
    let mut client = match target.connect_until(&signals.stop().flag()) {
        Ok(client) => client,
        Err(_) if signals.stop().requested() => return Err(STATIC_ERROR),
        Err(error) => return Err(fail_to_connect(&error.libpq(), "for setup")),
    };
    let server_version = setup::server_version(&mut client);
    if let Some(banner) = Report::banner(options.report_format, &server_version) {
        crate::print(&banner);
    }
    if options.debug {
        let host = target.host_at(&client.address());
        message::info(&debug_line(options, host, target.database()));
    }
    let mut tables = Tables {
        scale: options.scale.unwrap_or(1).into(),
        partitions: None,
    };
    if options.scripts.any_builtin {
        tables = setup::tables(&mut client, options).map_err(|error| {
            if signals.stop().requested() {
                return STATIC_ERROR;
            }
            let code = fail(&error.to_string());
            if matches!(
                error,
                TablesError::NoAccounts { .. } | TablesError::Count { missing: true, .. }
            ) {
                let database = target.database();
                message::hint(&format!(
                    "Perhaps you need to do initialization (\"pgbench -i\") in database \"{database}\"."
                ));
            }
            code
        })?;
    }
    if !options.no_vacuum {
        setup::vacuum(&mut client, options.vacuum_all);
    }
    if signals.stop().requested() {
        return Err(STATIC_ERROR);
    }
    Ok((server_version, tables))
}

/// What `--debug` says of the connection.
fn debug_line(options: &Options, host: Option<&Host>, database: &str) -> String {
    let (host, port) = match host {
        Some(Host::Unix { directory, port }) => (directory.display().to_string(), *port),
        Some(Host::Tcp { name, port, .. }) => (name.clone(), *port),
        None => (String::new(), 0),
    };
    let (limit, number) = match (options.duration_s, options.transactions) {
        (Some(duration), _) => ("duration", duration),
        (None, transactions) => ("nxacts", transactions.unwrap_or(0)),
    };
    format!(
        "pghost: {host} pgport: {port} nclients: {} {limit}: {number} dbName: {database}",
        options.clients
    )
}

/// Everything after the load: the report, and what is wrong with it.
fn finish(options: &Options, server_version: String, tables: Tables, watch: &Watch, outcome: &Outcome) -> u8 {
    let aborted = outcome.aborted.iter().any(|clients| *clients > 0);
    let stopped = matches!(outcome.ended_early, Some(Ending::Stopped));
    let unexpected = match &outcome.ended_early {
        None | Some(Ending::Stopped | Ending::Aborted) => None,
        Some(other) => Some(other.to_string()),
    };
    if let Some(text) = &unexpected {
        message::error(text);
    }
    let incomplete = aborted || stopped || unexpected.is_some();
    if options.exit_on_abort
        && let Some(client) = watch.first_aborted
    {
        let thread = thread_of(client, options.clients, options.threads);
        message::error(&format!("Run was aborted due to an error in thread {thread}"));
        return ABORTED;
    }
    let report = make_report(options, server_version, tables, watch, outcome, incomplete);
    crate::print(&report.text(options.report_format));
    let json = options.json.as_deref().map(|path| write_json(path, &report));
    if incomplete {
        message::error("Run was aborted; the above results are incomplete.");
        return ABORTED;
    }
    json.unwrap_or(0)
}

/// `--json`; `-` is stdout.
fn write_json(path: &Path, report: &Report) -> u8 {
    let text = format!("{:#}\n", report.json());
    if path == Path::new("-") {
        crate::print(&text);
        return 0;
    }
    match std::fs::write(path, text) {
        Ok(()) => 0,
        Err(error) => {
            let cause = crate::system_text(&error);
            message::error(&format!("could not write file \"{}\": {cause}", path.display()));
            ABORTED
        }
    }
}

fn make_report(
    options: &Options,
    server_version: String,
    tables: Tables,
    watch: &Watch,
    outcome: &Outcome,
    incomplete: bool,
) -> Report {
    let recording = &watch.recording;
    let several = options.scripts.list.len() > 1;
    let scripts = options.scripts.list.iter().enumerate().map(|(index, chosen)| {
        let commands = recording.commands.get(index).map(Vec::as_slice).unwrap_or_default();
        let lines = chosen
            .script
            .commands()
            .iter()
            .map(|command| command.source().to_owned());
        ScriptReport {
            description: chosen.description.clone(),
            weight: chosen.weight,
            counts: if several {
                recording.scripts.get(index).cloned().unwrap_or_default()
            } else {
                report::total(recording)
            },
            commands: lines
                .enumerate()
                .map(|(number, line)| (line, commands.get(number).cloned().unwrap_or_default()))
                .collect(),
        }
    });
    let percentile = |percentile: f64| {
        let latency_us = recording.latency.percentile_ns(percentile) as f64 / 1000.0;
        (percentile, latency_us)
    };
    Report {
        server_version,
        conditions: Conditions {
            scale: tables.scale,
            partitions: tables.partitions,
            protocol: options.protocol,
            clients: options.clients,
            threads: options.threads,
            max_tries: options.max_tries,
            transactions: options.transactions,
            duration_s: options.duration_s,
            failures_detailed: options.failures_detailed,
            rate_per_s: options.rate_per_s,
            latency_limit_us: options.latency_limit_us,
            progress: options.progress_s.is_some(),
            connect_each: options.connect_each,
            per_command: options.per_command,
            seed: options.seed,
        },
        total: report::total(recording),
        late: recording.late,
        lag: recording.lag_sums,
        scripts: scripts.collect(),
        // With a warm-up it is from its end on, otherwise from when the clients were ready; to the last transaction.
        measured: match options.warmup_s {
            Some(_) => watch.recorded,
            None => outcome.measured,
        },
        connecting: watch.connecting,
        reconnecting: outcome.connection_time.first().copied().unwrap_or_default(),
        connections: outcome.connections.first().copied().unwrap_or_default(),
        percentiles: options.percentiles.iter().copied().map(percentile).collect(),
        errors: recording
            .errors_by_code
            .iter()
            .map(|error| (error.code.to_string(), error.count, error.example.clone()))
            .collect(),
        incomplete,
    }
}

/// The thread that a client belongs to: the first threads have one client more if they cannot be shared out evenly.
fn thread_of(client: usize, clients: usize, threads: usize) -> usize {
    let mut dealt = 0;
    for thread in 0..threads {
        dealt += (clients - dealt).div_ceil(threads - thread);
        if client < dealt {
            return thread;
        }
    }
    threads.saturating_sub(1)
}

fn fail(text: &str) -> u8 {
    message::error(text);
    STATIC_ERROR
}

fn fail_to_connect(text: &str, purpose: &str) -> u8 {
    message::error(text);
    fail(&format!("could not create connection {purpose}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn clients_are_shared_out_as_pgbench_does() {
        let threads: Vec<usize> = (0..7).map(|client| thread_of(client, 7, 3)).collect();
        assert_eq!(threads, [0, 0, 0, 1, 1, 2, 2]);
    }
}
