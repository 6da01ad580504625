//! What whoever watches a load has to say of how it goes on.
//!
//! Stages are known before a load begins. Whoever looks for a load that has some property knows the next step only when
//! the one before it is over; clients, connections and prepared statements stay.

use crate::load::Stage;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

/// Changes the pace of a load while it runs. The observer of the load has one and gives it away with
/// [`steering`](crate::Observer::steering).
#[derive(Debug, Default)]
pub struct Steering {
    /// How often the course was changed: what threads look at between transactions.
    changes: AtomicU64,
    course: Mutex<Course>,
}

/// How a load goes on.
#[derive(Clone, Debug, Default)]
struct Course {
    from: Duration,
    stages: Vec<Vec<Stage>>,
}

impl Steering {
    /// From the instant `from` on, counted from the begin of the first phase, each workload goes on as its stages say,
    /// one after the other, the last without end: its own duration has no meaning. A workload without any goes on as
    /// it does. What was due before and has not begun by then is forgotten, so that a step does not have to do the work
    /// of another.
    ///
    /// Threads look for it at the end of each interval at the latest, so `from` has to be more than an interval ahead
    /// for all of them to change at the same instant.
    pub fn go_on(&self, from: Duration, mut stages: Vec<Vec<Stage>>) {
        for last in stages.iter_mut().filter_map(|stages| stages.last_mut()) {
            last.duration = Duration::MAX;
        }
        // Whoever held it cannot have left half of it.
        let mut course = self.course.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        *course = Course { from, stages };
        self.changes.fetch_add(1, Ordering::Release);
    }

    /// How often it was said how to go on.
    #[inline]
    pub(crate) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Acquire)
    }

    /// From when on this workload does what.
    pub(crate) fn of(&self, workload: usize) -> Option<(Duration, Vec<Stage>)> {
        let course = self.course.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let stages = course.stages.get(workload).filter(|stages| !stages.is_empty())?;
        Some((course.from, stages.clone()))
    }
}
