//! What sessions wait for, by the names that Oracle gives to waits (Oracle Database Reference, "Oracle Wait Events").

use crate::sampler::waits::RUNNING;
use dyno_record::WaitKind;

/// What a wait of this class, for this event, is for.
pub(super) fn kind_of(class: &str, event: &str) -> WaitKind {
    match class {
        RUNNING => WaitKind::None,
        "Commit" => WaitKind::Log,
        "User I/O" => WaitKind::Data,
        // Of this class are also locks, which have names of their own.
        "Concurrency" if !event.starts_with("enq:") && !event.starts_with("library cache lock") => WaitKind::Memory,
        "Network" if event.contains("dblink") => WaitKind::Remote,
        _ => kind_of_event(event),
    }
}

/// A log that cannot be written to: the next group is not yet in the data files, or not yet in the archive.
const ROOM: [&str; 2] = [
    "log file switch (checkpoint incomplete)",
    "log file switch (archiving needed)",
];

fn kind_of_event(event: &str) -> WaitKind {
    let has = |part: &str| event.contains(part);
    if has("LNS") || has("SYNC Remote") || has("Redo Transport") {
        WaitKind::Standby
    } else if ROOM.contains(&event) {
        WaitKind::LogRoom
    // A switch that only takes its time, and a log buffer that is not written fast enough.
    } else if event.starts_with("log ") || has("redo log") || event.starts_with("switch logfile") {
        WaitKind::Log
    } else if event == "enq: TX - row lock contention" {
        WaitKind::Row
    } else if event.starts_with("enq:") || event.starts_with("library cache lock") {
        WaitKind::Lock
    } else if ["free buffer waits", "write complete waits", "checkpoint completed"].contains(&event)
        || event.starts_with("db file")
        || event.starts_with("direct path")
    {
        WaitKind::Data
    } else {
        WaitKind::Other
    }
}

/// Whether sessions that wait for this wait for a lock of a transaction.
pub(super) fn is_lock(class: &str, event: &str) -> bool {
    matches!(kind_of(class, event), WaitKind::Row | WaitKind::Lock)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_apart_by_what_they_are_for() {
        for (class, event, kind) in [
            (RUNNING, "", WaitKind::None),
            ("Commit", "log file sync", WaitKind::Log),
            (
                "Configuration",
                "log file switch (checkpoint incomplete)",
                WaitKind::LogRoom,
            ),
            ("Configuration", "log file switch completion", WaitKind::Log),
            ("Configuration", "log buffer space", WaitKind::Log),
            ("Configuration", "free buffer waits", WaitKind::Data),
            ("Configuration", "enq: SQ - contention", WaitKind::Lock),
            ("Application", "enq: TX - row lock contention", WaitKind::Row),
            ("Application", "enq: TM - contention", WaitKind::Lock),
            ("Concurrency", "enq: TX - index contention", WaitKind::Lock),
            ("Concurrency", "buffer busy waits", WaitKind::Memory),
            ("Concurrency", "latch: cache buffers chains", WaitKind::Memory),
            ("Concurrency", "library cache lock", WaitKind::Lock),
            ("Configuration", "log file switch (archiving needed)", WaitKind::LogRoom),
            ("User I/O", "db file sequential read", WaitKind::Data),
            ("System I/O", "log file parallel write", WaitKind::Log),
            ("System I/O", "db file parallel write", WaitKind::Data),
            ("Network", "SQL*Net message from dblink", WaitKind::Remote),
            ("Network", "SQL*Net more data to client", WaitKind::Other),
            ("Other", "LNS wait on SENDREQ", WaitKind::Standby),
        ] {
            assert_eq!(kind_of(class, event), kind, "{class}: {event}");
        }
        assert!(is_lock("Application", "enq: TM - contention") && !is_lock("Commit", "log file sync"));
    }
}
