//! The run's clock: nanoseconds since one common instant, cheap to read and to compare.

use std::time::{Duration, Instant, SystemTime};

/// A monotonic clock shared by all threads of a run.
#[derive(Clone, Copy, Debug)]
pub struct Clock {
    origin: Instant,
    epoch: SystemTime,
}

impl Clock {
    /// A clock that begins now.
    #[must_use]
    pub fn start() -> Self {
        Self {
            origin: Instant::now(),
            epoch: SystemTime::now(),
        }
    }

    /// The wall-clock time at which it began.
    #[must_use]
    pub fn epoch(&self) -> SystemTime {
        self.epoch
    }

    /// Nanoseconds since the clock began; enough for 584 years.
    #[inline]
    #[must_use]
    pub fn now_ns(&self) -> u64 {
        duration_ns(self.origin.elapsed())
    }
}

/// A duration in whole nanoseconds, at most `u64::MAX`.
#[inline]
#[must_use]
pub fn duration_ns(duration: Duration) -> u64 {
    duration
        .as_secs()
        .saturating_mul(1_000_000_000)
        .saturating_add(u64::from(duration.subsec_nanos()))
}
