//! When phases end that last until work is done.
//!
//! That is decided once for all threads, by the client that is the last to have had its transactions. It is all that
//! threads have in common while a load runs, and only loads with such phases have any of it. Every thread is to cut its
//! intervals at the same instants, so that they can be added; therefore a phase never ends before an interval to which
//! a thread has gone on already.

use crate::load::Phase;
use std::sync::Mutex;
use std::sync::PoisonError;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};

/// The ends of the phases of a load, shared by its threads.
#[derive(Debug, Default)]
pub(crate) struct PhaseEnds {
    /// By the number of the phase; `None`: it lasts as long as it says.
    phases: Vec<Option<PhaseEnd>>,
}

#[derive(Debug)]
struct PhaseEnd {
    /// The workloads whose clients end it.
    workloads: Vec<usize>,
    /// How many of these have transactions left.
    left: AtomicUsize,
    /// When it ends, in nanoseconds of the run's clock; `u64::MAX`: not known yet.
    at_ns: AtomicU64,
    /// The begin of the latest interval that a thread has gone on to. Whoever settles the end or goes on holds it.
    turned_ns: Mutex<u64>,
}

impl PhaseEnds {
    /// Those of `phases`, where this many clients of each workload are driven.
    pub fn new(phases: &[Phase], clients: &[usize]) -> Self {
        let all = phases.iter().map(|phase| {
            let left = phase.until.iter().filter_map(|workload| clients.get(*workload)).sum();
            (left > 0).then(|| PhaseEnd {
                workloads: phase.until.clone(),
                left: AtomicUsize::new(left),
                at_ns: AtomicU64::new(u64::MAX),
                turned_ns: Mutex::new(0),
            })
        });
        Self { phases: all.collect() }
    }

    fn phase(&self, phase: usize) -> Option<&PhaseEnd> {
        self.phases.get(phase)?.as_ref()
    }

    /// When this phase ends, or has ended, if its work is done.
    #[inline]
    pub fn at_ns(&self, phase: usize) -> Option<u64> {
        let at_ns = self.phase(phase)?.at_ns.load(Ordering::Acquire);
        (at_ns != u64::MAX).then_some(at_ns)
    }

    /// Whether clients of other workloads than this one end the phase, so that its threads have to look.
    pub fn depends_on_others(&self, phase: usize, workload: usize) -> bool {
        self.phase(phase).is_some_and(|end| !end.workloads.contains(&workload))
    }

    /// A client of a workload has nothing more to do.
    pub fn client_done(&self, workload: usize, now_ns: u64) {
        for end in self
            .phases
            .iter()
            .flatten()
            .filter(|end| end.workloads.contains(&workload))
        {
            if end.left.fetch_sub(1, Ordering::AcqRel) == 1 {
                let turned_ns = end.turned_ns.lock().unwrap_or_else(PoisonError::into_inner);
                end.at_ns.store(now_ns.max(*turned_ns), Ordering::Release);
            }
        }
    }

    /// A thread goes on to the interval of this phase that begins at this instant.
    ///
    /// # Errors
    /// There is none: the phase ends before it, at the instant that is given back.
    pub fn turn(&self, phase: usize, begin_ns: u64) -> Result<(), u64> {
        let Some(end) = self.phase(phase) else {
            return Ok(());
        };
        let mut turned_ns = end.turned_ns.lock().unwrap_or_else(PoisonError::into_inner);
        match end.at_ns.load(Ordering::Acquire) {
            at_ns if at_ns < begin_ns => Err(at_ns),
            _ => {
                *turned_ns = begin_ns.max(*turned_ns);
                Ok(())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn phases() -> [Phase; 2] {
        [
            Phase::new("warmup", Duration::from_secs(1)),
            Phase::new("measure", Duration::MAX).until(vec![0, 2]),
        ]
    }

    #[test]
    fn the_last_client_ends_the_phase() {
        let ends = PhaseEnds::new(&phases(), &[1, 5, 2]);
        assert!(ends.depends_on_others(1, 1) && !ends.depends_on_others(1, 2) && !ends.depends_on_others(0, 1));
        for (workload, now_ns) in [(0, 10), (1, 11), (2, 12)] {
            ends.client_done(workload, now_ns);
            assert_eq!((ends.at_ns(0), ends.at_ns(1)), (None, None));
        }
        ends.client_done(2, 13);
        assert_eq!((ends.at_ns(0), ends.at_ns(1), ends.at_ns(2)), (None, Some(13), None));
    }

    #[test]
    fn it_ends_before_no_interval_that_somebody_has_gone_on_to() {
        let ends = PhaseEnds::new(&phases(), &[1, 0, 0]);
        assert_eq!(ends.turn(0, 1_000), Ok(()));
        assert_eq!((ends.turn(1, 50), ends.turn(1, 40)), (Ok(()), Ok(())));
        ends.client_done(0, 45);
        assert_eq!(ends.at_ns(1), Some(50));
        assert_eq!((ends.turn(1, 50), ends.turn(1, 51)), (Ok(()), Err(50)));
    }
}
