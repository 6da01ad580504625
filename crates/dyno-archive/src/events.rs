//! `events.jsonl`: what happened at an instant, one JSON object per line.

use dyno_record::{Autovacuum, Blocked, Checkpoint, Event, Stalled, Vacuum};
use serde::{Deserialize, Serialize};

/// Something that happened at an instant of a run.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct EventRecord {
    /// Seconds since the first phase began.
    pub at_s: f64,
    /// What happened.
    #[serde(flatten)]
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "event", rename_all = "snake_case")]
pub enum EventKind {
    /// A phase began.
    Phase {
        /// Its name.
        phase: String,
    },
    /// Transactions ended with an error during the interval that ends at this instant.
    Errors {
        /// The phase of the interval.
        phase: String,
        /// The workload.
        workload: String,
        /// The five characters of the error's SQLSTATE.
        sqlstate: String,
        /// Number of transactions.
        count: u64,
        /// The message of the first.
        example: String,
    },
    /// A client ended before its time.
    Aborted {
        /// The workload.
        workload: String,
        /// The client, from 0.
        client: usize,
        /// Why.
        reason: String,
    },
    /// A client whose connection was lost has a new one.
    Reconnected {
        /// The workload.
        workload: String,
        /// The client, from 0.
        client: usize,
        /// How long it had none, in seconds.
        after_s: f64,
    },
    /// The server made a checkpoint.
    Checkpoint(Checkpoint),
    /// An autovacuum worker was busy with a table.
    Autovacuum(Autovacuum),
    /// Somebody vacuumed a table.
    Vacuum(Vacuum),
    /// Measured sessions waited for a lock.
    Blocked(Blocked),
    /// dyno or the server did not run.
    Stalled(Stalled),
    /// Anything else, said in words.
    Note {
        /// What happened.
        text: String,
    },
}

impl From<Event> for EventRecord {
    /// The instant of what lasts is its end.
    fn from(event: Event) -> Self {
        Self {
            at_s: event.end_s(),
            kind: match event {
                Event::Checkpoint(checkpoint) => EventKind::Checkpoint(checkpoint),
                Event::Autovacuum(autovacuum) => EventKind::Autovacuum(autovacuum),
                Event::Vacuum(vacuum) => EventKind::Vacuum(vacuum),
                Event::Blocked(blocked) => EventKind::Blocked(blocked),
                Event::Stalled(stalled) => EventKind::Stalled(stalled),
                Event::Said(said) => EventKind::Note { text: said.text },
            },
        }
    }
}
