//! How far a server that follows another one is behind it, and up to where either has come in the log that is followed.

use crate::mysql::{Client, ClientError};
use std::collections::HashMap;

/// The columns: of several sources, the greatest.
pub(super) const LAG: &str = "replication.lag_s";
pub(super) const LAG_BYTES: &str = "replication.lag_bytes";

/// The columns of positions in the log: of one that is followed, and of one that follows a single source.
pub(super) const POSITION: &str = "binlog.position";
pub(super) const RECEIVED_POSITION: &str = "replication.received_position";
pub(super) const EXECUTED_POSITION: &str = "replication.executed_position";

/// Where the last transaction ends in the log of a server that is followed: the file, and the place in it. This costs
/// it no more than other counters; what else tells it waits for whoever writes the log.
pub(super) const SNAPSHOT: [&str; 2] = ["Binlog_snapshot_file", "Binlog_snapshot_position"];

/// How far the positions of a file are from those of the next: no file is larger, and their numbers, of six digits, are
/// still exact.
const FILE: f64 = 8_589_934_592.0;

/// What each server and version calls the question. MariaDB's has a row for each of its sources.
const QUESTIONS: [&str; 3] = ["show all slaves status", "show replica status", "show slave status"];

/// The columns of the answer that say it, in seconds.
const BEHIND: [&str; 2] = ["Seconds_Behind_Master", "Seconds_Behind_Source"];

/// Those that say which file of the source's log has been received and executed, and how far.
const RECEIVED: [[&str; 2]; 2] = [
    ["Master_Log_File", "Read_Master_Log_Pos"],
    ["Source_Log_File", "Read_Source_Log_Pos"],
];
const EXECUTED: [[&str; 2]; 2] = [
    ["Relay_Master_Log_File", "Exec_Master_Log_Pos"],
    ["Relay_Source_Log_File", "Exec_Source_Log_Pos"],
];

/// Those that say how much of what was received is kept, and how far the first file of it has been executed.
const KEPT: [&str; 2] = ["Relay_Log_Space", "Relay_Log_Pos"];

/// How far a server is behind; `None` while it does not follow.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Lag {
    pub seconds: Option<f64>,
    /// Of log that was received and not executed.
    pub bytes: Option<f64>,
    /// Positions in the log of its source, if it has only one.
    pub received: Option<f64>,
    pub executed: Option<f64>,
}

type Status = HashMap<String, String>;

/// The question that this server understands, if it follows another.
pub(in crate::mysql) fn source(client: &mut Client) -> Result<Option<&'static str>, ClientError> {
    for question in QUESTIONS {
        match client.named(question) {
            Ok(rows) => return Ok((!rows.is_empty()).then_some(question)),
            // It is not understood, or this role may not ask.
            Err(ClientError::Server(_)) => {}
            Err(lost) => return Err(lost),
        }
    }
    Ok(None)
}

/// How far it is behind.
pub(super) fn lag(client: &mut Client, question: &str) -> Result<Lag, ClientError> {
    let sources = client.named(question)?;
    let greatest = |of: fn(&Status) -> Option<f64>| sources.iter().filter_map(of).max_by(f64::total_cmp);
    let only = Some(&sources).filter(|sources| sources.len() == 1);
    let position = |names| {
        let (file, at) = place(only?.first()?, names)?;
        position(file, at)
    };
    Ok(Lag {
        received: position(&RECEIVED),
        executed: position(&EXECUTED),
        seconds: greatest(|status| BEHIND.iter().find_map(|name| number(status, name))),
        bytes: greatest(bytes),
    })
}

fn number(status: &Status, name: &str) -> Option<f64> {
    status.get(name)?.parse().ok()
}

/// The position of a place in a file of the log: it grows along the log, within a file as its bytes do.
pub(super) fn position(file: &str, at: f64) -> Option<f64> {
    let (_, number) = file.rsplit_once('.')?;
    let number: u32 = number.parse().ok()?;
    (at < FILE).then_some(f64::from(number) * FILE + at)
}

/// A file of the source's log and the place in it.
fn place<'a>(status: &'a Status, names: &[[&str; 2]]) -> Option<(&'a str, f64)> {
    let found = names
        .iter()
        .find_map(|[file, at]| Some((status.get(*file)?.as_str(), number(status, at)?)));
    found.filter(|(file, _)| !file.is_empty())
}

/// Within a file of the source's log it is the distance; beyond, what is kept of what was received.
fn bytes(status: &Status) -> Option<f64> {
    let (received, executed) = (place(status, &RECEIVED)?, place(status, &EXECUTED)?);
    let behind = match received.0 == executed.0 {
        true => received.1 - executed.1,
        false => number(status, KEPT[0])? - number(status, KEPT[1])?,
    };
    Some(behind.max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_received_and_not_executed_is_the_lag() {
        let status = |executed: &str| {
            let values = [
                ("Master_Log_File", "b.000002"),
                ("Read_Master_Log_Pos", "1000"),
                ("Relay_Master_Log_File", executed),
                ("Exec_Master_Log_Pos", "400"),
                ("Relay_Log_Space", "5000"),
                ("Relay_Log_Pos", "500"),
            ];
            let named = values.map(|(name, value)| (name.to_owned(), value.to_owned()));
            bytes(&named.into_iter().collect())
        };
        assert_eq!(status("b.000002"), Some(600.0));
        assert_eq!(status("b.000001"), Some(4500.0));
        assert_eq!(bytes(&Status::new()), None);
    }

    #[test]
    fn positions_grow_along_the_log() {
        let first = position("b.000001", 1_073_741_900.0).unwrap();
        assert_eq!(position("b.000001", 1_073_741_950.0), Some(first + 50.0));
        assert!(position("b.000002", 4.0).unwrap() > first);
        let last = position("b.999999", 1.0).unwrap();
        assert_eq!(position("b.999999", 2.0), Some(last + 1.0));
        assert_eq!([position("", 0.0), position("b", 0.0)], [None; 2]);
    }
}
