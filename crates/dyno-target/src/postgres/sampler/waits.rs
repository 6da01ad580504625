//! What PostgreSQL's sessions wait for, by the names of its wait events.

use crate::sampler::waits::RUNNING;
use dyno_record::WaitKind;

/// What the events of waiting for another server begin with.
const REMOTE: [&str; 3] = ["PostgresFdw", "Dblink", "Extension"];

/// What a wait is for; names of PostgreSQL's documentation, "Wait Event Tables", of versions 9.6 to 18.
pub(super) fn kind_of(class: &str, event: &str) -> WaitKind {
    match (class, event) {
        (RUNNING, _) => WaitKind::None,
        ("Lock", "transactionid" | "tuple") => WaitKind::Row,
        ("Lock", _) => WaitKind::Lock,
        ("IPC", "SyncRep") => WaitKind::Standby,
        // Foreign tables and dblink, which name their waits from version 17 on; before, whatever an extension waits for
        // is one event.
        ("Extension", event) if REMOTE.iter().any(|of| event.starts_with(of)) => WaitKind::Remote,
        ("IO", event) if event.starts_with("WAL") || event == "WalSync" || event == "WalWrite" => WaitKind::Log,
        ("LWLock" | "LWLockNamed" | "LWLockTranche", event) if event.to_ascii_lowercase().starts_with("wal") => {
            WaitKind::Log
        }
        ("IO", event) if event.starts_with("DataFile") => WaitKind::Data,
        _ => WaitKind::Other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn waits_are_told_apart_by_their_names() {
        assert_eq!(kind_of("Lock", "transactionid"), WaitKind::Row);
        assert_eq!(kind_of("Lock", "relation"), WaitKind::Lock);
        assert_eq!(kind_of("IO", "WalSync"), WaitKind::Log);
        assert_eq!(kind_of("LWLockNamed", "WALWriteLock"), WaitKind::Log);
        assert_eq!(kind_of("LWLock", "BufferMapping"), WaitKind::Other);
        assert_eq!(kind_of("Extension", "PostgresFdwGetResult"), WaitKind::Remote);
        assert_eq!(kind_of("Extension", "Extension"), WaitKind::Remote);
        assert_eq!(kind_of("Extension", "PgSleep"), WaitKind::Other);
        assert_eq!(kind_of("CPU", ""), WaitKind::None);
    }
}
