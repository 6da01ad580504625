//! What disturbs the work: checkpoints, vacuums, and somebody who locks the table.

use dyno_archive::{EventKind, EventRecord};
use dyno_record::{Autovacuum, Blocked, Checkpoint};

/// A checkpoint writes gently over this share of the time between two of them.
const WRITING_SHARE: f64 = 0.6;
/// How long its syncing holds everybody up.
const SYNC_S: f64 = 2.0;
/// How long a vacuum takes.
const VACUUM_S: f64 = 20.0;
/// How long the lock is held.
const LOCK_S: f64 = 4.0;

/// What happens in a run, and when.
pub(crate) struct Disturbances {
    every_s: f64,
    lock_s: f64,
    table: String,
    holder: String,
}

impl Disturbances {
    /// In a run of `total_s`, to the table `table`, which is locked by `holder`. A short run has none of them.
    pub fn new(total_s: f64, table: &str, holder: &str) -> Self {
        Self {
            every_s: (total_s / 5.0).clamp(40.0, 300.0),
            lock_s: if total_s < 60.0 {
                f64::INFINITY
            } else {
                (total_s * 0.7).floor()
            },
            table: table.to_owned(),
            holder: holder.to_owned(),
        }
    }

    /// The share of the throughput that is left at an instant.
    pub fn share_left(&self, at_s: f64) -> f64 {
        if self.is_locked(at_s) {
            return 0.05;
        }
        let vacuum = if self.vacuum_begun(at_s).is_some_and(|since_s| since_s < VACUUM_S) {
            0.93
        } else {
            1.0
        };
        let syncing = match self.checkpoint_begun(at_s) {
            Some(since_s) if (self.writing_s()..self.writing_s() + SYNC_S).contains(&since_s) => 0.4,
            _ => 1.0,
        };
        vacuum * syncing * (1.0 - 0.15 * self.page_images(at_s))
    }

    /// The share of changes that write their whole page to the WAL: nearly all at the begin of a checkpoint, and
    /// fewer and fewer from then on.
    pub fn page_images(&self, at_s: f64) -> f64 {
        self.checkpoint_begun(at_s)
            .map_or(0.02, |since_s| (-since_s / (0.2 * self.every_s)).exp())
    }

    /// Whether a checkpoint is writing.
    pub fn is_writing(&self, at_s: f64) -> bool {
        self.checkpoint_begun(at_s)
            .is_some_and(|since_s| since_s < self.writing_s())
    }

    /// Whether everybody waits for the lock.
    pub fn is_locked(&self, at_s: f64) -> bool {
        (self.lock_s..self.lock_s + LOCK_S).contains(&at_s)
    }

    /// What ended after `from_s` and not after `to_s`.
    pub fn ended(&self, from_s: f64, to_s: f64) -> Vec<EventRecord> {
        let is_end = |end_s: f64| end_s > from_s && end_s <= to_s;
        let mut events = Vec::new();
        let checkpoint_s = to_s - self.checkpoint_begun(to_s).unwrap_or(f64::INFINITY);
        let end_s = checkpoint_s + self.writing_s() + SYNC_S;
        if is_end(end_s) {
            let checkpoint = Checkpoint {
                reason: "time".to_owned(),
                start_s: checkpoint_s,
                end_s: Some(end_s),
                write_s: Some(self.writing_s()),
                sync_s: Some(SYNC_S),
                buffers: Some(21_345),
                wal_files: Some(17),
            };
            events.push((end_s, EventKind::Checkpoint(checkpoint)));
        }
        let vacuum_s = to_s - self.vacuum_begun(to_s).unwrap_or(f64::INFINITY);
        if is_end(vacuum_s + VACUUM_S) {
            let vacuum = Autovacuum {
                table: self.table.clone(),
                start_s: vacuum_s,
                end_s: vacuum_s + VACUUM_S,
                analyze: false,
            };
            events.push((vacuum.end_s, EventKind::Autovacuum(vacuum)));
        }
        if is_end(self.lock_s + LOCK_S) {
            let blocked = Blocked {
                start_s: self.lock_s,
                end_s: self.lock_s + LOCK_S,
                waiting: 8,
                holder: Some(self.holder.clone()),
                lock: None,
                relation: Some(self.table.clone()),
            };
            events.push((blocked.end_s, EventKind::Blocked(blocked)));
        }
        events
            .into_iter()
            .map(|(at_s, kind)| EventRecord { at_s, kind })
            .collect()
    }

    fn writing_s(&self) -> f64 {
        (WRITING_SHARE * self.every_s).floor()
    }

    /// How long ago the last checkpoint began.
    fn checkpoint_begun(&self, at_s: f64) -> Option<f64> {
        since(at_s, (0.4 * self.every_s).floor(), self.every_s)
    }

    /// How long ago the last vacuum began.
    fn vacuum_begun(&self, at_s: f64) -> Option<f64> {
        since(at_s, (0.9 * self.every_s).floor(), (1.7 * self.every_s).floor())
    }
}

/// How long ago the last of what begins at `first_s` and then every `every_s` began.
fn since(at_s: f64, first_s: f64, every_s: f64) -> Option<f64> {
    (at_s >= first_s).then(|| (at_s - first_s) % every_s)
}
