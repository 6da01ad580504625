//! How far a server that follows another one is behind it.

use crate::mysql::{Client, ClientError};

/// The column: of several sources, the greatest.
pub(super) const LAG: &str = "replication.lag_s";

/// What each server and version calls the question. MariaDB's has a row for each of its sources.
const QUESTIONS: [&str; 3] = ["show all slaves status", "show replica status", "show slave status"];

/// The columns of the answer that say it, in seconds.
const BEHIND: [&str; 2] = ["Seconds_Behind_Master", "Seconds_Behind_Source"];

/// The question that this server understands, if it follows another.
pub(super) fn source(client: &mut Client) -> Result<Option<&'static str>, ClientError> {
    for question in QUESTIONS {
        match client.column(question, &BEHIND) {
            Ok(rows) => return Ok((!rows.is_empty()).then_some(question)),
            // It is not understood, or this role may not ask.
            Err(ClientError::Server(_)) => {}
            Err(lost) => return Err(lost),
        }
    }
    Ok(None)
}

/// How far it is behind, in seconds; `None` while it does not follow.
pub(super) fn lag_s(client: &mut Client, question: &str) -> Result<Option<f64>, ClientError> {
    let rows = client.column(question, &BEHIND)?.into_iter().flatten();
    Ok(rows.filter_map(|text| text.parse().ok()).max_by(f64::total_cmp))
}
