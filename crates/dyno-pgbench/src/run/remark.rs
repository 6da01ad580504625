//! What clients have to say, in pgbench's words.

use super::server_text::of_connecting;
use crate::excerpt::server_text;
use crate::message;
use crate::report::fixed;
use dyno_engine::{AbortReason, CaptureFault, Fate, Remark};

/// What remarks need to know of the run.
#[derive(Clone, Copy, Debug)]
pub struct Manner {
    /// `--max-tries`; 0: no limit.
    pub max_tries: u32,
    /// `--latency-limit`.
    pub latency_limit_us: Option<u64>,
}

/// Tells a remark on stderr.
pub fn tell(remark: &Remark, manner: Manner) {
    match remark {
        Remark::Aborted {
            client,
            script,
            command,
            why,
            ..
        } => aborted(*client, *script, *command, why),
        Remark::Notice { notice, .. } => message::raw(&format!("{}\n", notice)),
        Remark::Failed {
            client,
            script,
            command,
            error,
            query,
            tries,
            elapsed,
            fate,
            ..
        } => {
            let text = server_text(error, query.as_deref());
            message::info(&format!(
                "client {client} got an error in command {command} (SQL) of script {script}; {text}"
            ));
            let what = match fate {
                Fate::Retried => "repeats the transaction after the error",
                Fate::GivenUp => "ends the failed transaction",
                Fate::Abandoned => return,
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
        Remark::Unprepared { error, query, .. } => message::error(&server_text(error, Some(query))),
        Remark::Debug { script, values, .. } => {
            for shown in values {
                let command = shown.command + 1;
                message::raw(&format!("debug(script={script},command={command}): {shown}\n"));
            }
        }
        Remark::Reconnected { client, after, .. } => message::info(&format!(
            "client {client} has a new connection after {} s",
            fixed(after.as_secs_f64(), 3)
        )),
    }
}

fn aborted(client: usize, script: usize, command: usize, why: &AbortReason) {
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
        AbortReason::ConnectionLost {
            error: Some(error),
            executing: true,
            ..
        } => query(0, &server_text(error, None)),
        AbortReason::ConnectionLost {
            executing: true, cause, ..
        } => {
            message::error(cause);
            meta("SQL", "perhaps the backend died while processing")
        }
        AbortReason::ConnectionLost { cause, .. } => {
            message::error(cause);
            format!("client {client} aborted while receiving the transaction status")
        }
        AbortReason::Capture(CaptureFault::RowCount { query_number, rows }) => {
            format!(
                "client {client} script {script} command {command} query {query_number}: expected one row, got {rows}"
            )
        }
        AbortReason::Capture(CaptureFault::Name {
            command: keyword,
            query_number,
            name,
        }) => {
            message::error(&format!("{keyword}: invalid variable name: \"{name}\""));
            format!(
                "client {client} script {script} command {command} query {query_number}: error storing into variable {name}"
            )
        }
        AbortReason::Program(error) => {
            let error = error.evaluation();
            if !error.plain().is_empty() {
                message::error(error.plain());
            }
            error.aborted(client, script)
        }
        AbortReason::OpenTransaction => {
            format!("client {client} aborted: end of script reached without completing the last transaction")
        }
        AbortReason::Rollback(error) => format!(
            "client {client} aborted while rolling back the transaction after an error; {}",
            server_text(error, None)
        ),
        AbortReason::Connect(error) => {
            message::error(&of_connecting(error));
            format!("client {client} aborted while establishing connection")
        }
    };
    message::error(&text);
}
