//! What clients have to say, in pgbench's words.

use super::server_text::of_connecting;
use crate::excerpt::server_text;
use crate::message;
use crate::report::fixed;
use crate::scripts::Chosen;
use crate::version::Version;
use dyno_engine::{AbortReason, ClientEvent, Doing, ProgramError, Trace};
use dyno_script::{CaptureFault, Command, EvaluationError, ScriptFault};
use dyno_target::postgres::address::{ConnectionInfo, LIBPQ_LOST};

/// What telling an event needs to know of the run.
#[derive(Clone, Debug)]
pub struct Manner {
    /// The version whose words are used.
    pub version: Version,
    /// The scripts.
    pub scripts: Vec<Chosen>,
    /// `--max-tries`; 0: no limit.
    pub max_tries: u32,
    /// `--latency-limit`.
    pub latency_limit_us: Option<u64>,
    /// Where the database is.
    pub target: ConnectionInfo,
}

/// Tells an event on stderr.
pub fn tell(event: &ClientEvent, manner: &Manner) {
    match event {
        ClientEvent::Aborted {
            client,
            script,
            command,
            why,
            ..
        } => aborted(*client, *script, *command, why, &manner.target),
        ClientEvent::Notice { notice, .. } => message::raw(&format!("{}\n", notice)),
        ClientEvent::Failed {
            client,
            script,
            command,
            error,
            query,
            ..
        } => {
            let text = server_text(error, query.as_deref());
            message::info(&format!(
                "client {client} got an error in command {command} (SQL) of script {script}; {text}"
            ));
        }
        ClientEvent::Concluded {
            client,
            tries,
            elapsed,
            again,
            ..
        } => {
            let what = match again {
                true => "repeats the transaction after the error",
                false => "ends the failed transaction",
            };
            let mut tried = format!("try {tries}");
            if manner.max_tries != 0 {
                tried += &format!("/{}", manner.max_tries);
            }
            if let Some(limit_us) = manner.latency_limit_us {
                let share = 100.0 * elapsed.as_micros() as f64 / limit_us as f64;
                tried += &format!(", {}% of the maximum time of tries was used", fixed(share, 3));
            }
            message::info(&format!("client {client} {what} ({tried})"));
        }
        ClientEvent::Unprepared { error, query, .. } => message::error(&server_text(error, Some(query))),
        ClientEvent::Traced { client, trace, .. } => {
            if let Some(text) = traced(*client, trace, manner) {
                message::info(&text);
            }
        }
        ClientEvent::Shown { script, shown, .. } => {
            for shown in shown {
                let command = shown.command + 1;
                let text = &shown.text;
                message::raw(&format!("debug(script={script},command={command}): {text}\n"));
            }
        }
        ClientEvent::Reconnected { client, after, .. } => message::info(&format!(
            "client {client} has a new connection after {} s",
            fixed(after.as_secs_f64(), 3)
        )),
    }
}

/// What `--debug` tells.
fn traced(client: usize, trace: &Trace, manner: &Manner) -> Option<String> {
    let command = |script: usize, command: usize| manner.scripts.get(script)?.script.commands().get(command);
    let what = match trace {
        Trace::Script(script) => format!("executing script \"{}\"", manner.scripts.get(*script)?.description),
        Trace::Meta { script, command: index } => format!("executing \\{}", meta_words(command(*script, *index)?)?),
        Trace::ShellOutput {
            script,
            command: index,
            output,
        } => {
            let words = meta_words(command(*script, *index)?)?;
            let mut words = words.split(' ').skip(2);
            let (program, argument) = (words.next()?, words.next().unwrap_or("(null)"));
            return Some(format!(
                "{program}: shell parameter name: \"{argument}\", value: \"{output}\""
            ));
        }
        Trace::Preparing(statement) => format!("preparing P_{statement}"),
        Trace::SendingPrepared(statement) => format!("sending P_{statement}"),
        Trace::Sending(text) => format!("sending {text}"),
        Trace::Receiving => "receiving".to_owned(),
        // Up to 16 a pipeline had one part.
        Trace::PipelineEnding(_) if manner.version < Version::V17 => "pipeline ending".to_owned(),
        Trace::PipelineEnding(left) => format!("pipeline ending, ongoing syncs: {}", left + 1),
    };
    Some(format!("client {client} {what}"))
}

/// A meta command as pgbench keeps it: in words, and without its expression.
fn meta_words(command: &Command) -> Option<String> {
    let shown = match command {
        Command::Statement(_) => return None,
        Command::Set(_) => 2,
        Command::If(_) | Command::Elif(_) => 1,
        _ => usize::MAX,
    };
    let source = command.source().replace("\\\r\n", " ").replace("\\\n", " ");
    let words = source.trim_start_matches('\\').split_ascii_whitespace();
    Some(words.take(shown).collect::<Vec<_>>().join(" "))
}

/// A script that could not go on.
fn broken(client: usize, script: usize, command: usize, error: &ProgramError) -> String {
    match error.of() {
        Some(ScriptFault::Evaluation(error)) => not_evaluated(client, script, error),
        Some(ScriptFault::Capture { fault, .. }) => {
            let query = |number: &u64| format!("client {client} script {script} command {command} query {number}");
            match fault {
                CaptureFault::RowCount { query_number, rows } => {
                    format!("{}: expected one row, got {rows}", query(query_number))
                }
                CaptureFault::Name {
                    command: keyword,
                    query_number,
                    name,
                } => {
                    message::error(&format!("{keyword}: invalid variable name: \"{name}\""));
                    format!("{}: error storing into variable {name}", query(query_number))
                }
            }
        }
        None => error.to_string(),
    }
}

fn not_evaluated(client: usize, script: usize, error: &EvaluationError) -> String {
    if !error.plain().is_empty() {
        message::error(error.plain());
    }
    error.aborted(client, script)
}

fn aborted(client: usize, script: usize, command: usize, why: &AbortReason, target: &ConnectionInfo) {
    let meta = |name: &str, reason: &str| {
        format!("client {client} aborted in command {command} ({name}) of script {script}; {reason}")
    };
    let query = |number: u64, text: &str| {
        format!("client {client} script {script} aborted in command {command} query {number}: {text}")
    };
    let text = match why {
        AbortReason::Server {
            error,
            query_number,
            query: sent,
        } => query(*query_number, &server_text(error, sent.as_deref())),
        AbortReason::Copy => "COPY is not supported in pgbench, aborting".to_owned(),
        AbortReason::ConnectionLost { error, doing, .. } => {
            let last_words = error.as_ref().map(|error| server_text(error, None));
            match (doing, last_words) {
                (Doing::Executing, Some(text)) => query(0, &text),
                (Doing::Executing, None) => meta("SQL", "perhaps the backend died while processing"),
                (Doing::Preparing, text) => {
                    message::error(&format!(
                        "{}{LIBPQ_LOST}",
                        text.map(|text| text + "\n").unwrap_or_default()
                    ));
                    meta("SQL", "SQL command send failed")
                }
                (Doing::RollingBack, _) => format!(
                    "client {client} aborted while rolling back the transaction after an error; perhaps the \
                     backend died while processing"
                ),
            }
        }
        AbortReason::Elsewhere(said) => said.clone(),
        AbortReason::Program(error) => broken(client, script, command, error),
        AbortReason::OpenTransaction => {
            format!("client {client} aborted: end of script reached without completing the last transaction")
        }
        AbortReason::Rollback(error) => format!(
            "client {client} aborted while rolling back the transaction after an error; {}",
            server_text(error, None)
        ),
        AbortReason::Connect(error) => {
            message::error(&of_connecting(error, target));
            format!("client {client} aborted while establishing connection")
        }
    };
    message::error(&text);
}
