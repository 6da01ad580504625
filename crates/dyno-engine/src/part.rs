//! Which part of a load is driven here.
//!
//! A thread is what a load is divided into: which clients it has, what is random in it, and its part of the rate and of
//! the stages follow from the load and from its number. So whoever drives some of the threads does with them what
//! whoever drives all would do.

use serde::{Deserialize, Serialize};
use std::ops::Range;

/// Some of the threads of a load.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Part {
    /// For each workload the numbers of the threads; what is missing is all of them.
    threads: Vec<Range<usize>>,
}

impl Part {
    /// All threads of all workloads.
    #[must_use]
    pub fn whole() -> Self {
        Self { threads: Vec::new() }
    }

    /// Nothing of so many workloads.
    #[must_use]
    pub fn none(workloads: usize) -> Self {
        Self {
            threads: vec![0..0; workloads],
        }
    }

    /// The threads with these numbers, a range for each workload of the load.
    #[must_use]
    pub fn of(threads: Vec<Range<usize>>) -> Self {
        Self { threads }
    }

    /// Whether the thread of this number of a workload is among them.
    #[must_use]
    pub fn has(&self, workload: usize, thread: usize) -> bool {
        self.threads
            .get(workload)
            .is_none_or(|threads| threads.contains(&thread))
    }

    /// The numbers of the clients that these threads have of a workload of so many clients and threads.
    #[must_use]
    pub fn clients(&self, workload: usize, clients: usize, threads: usize) -> Range<usize> {
        let some = self.threads.get(workload).cloned().unwrap_or(0..threads);
        let mut each = clients_of_threads(clients, threads).skip(some.start).take(some.len());
        match each.next() {
            None => 0..0,
            Some(first) => first.start..each.last().map_or(first.end, |last| last.end),
        }
    }

    /// The numbers of the threads, workload by workload; empty: all.
    #[must_use]
    pub fn threads(&self) -> &[Range<usize>] {
        &self.threads
    }
}

/// The numbers of the clients of each thread: they are divided as evenly as can be; as in pgbench, the first threads
/// have more if there is a rest.
pub(crate) fn clients_of_threads(clients: usize, threads: usize) -> impl Iterator<Item = Range<usize>> {
    let mut next = 0;
    (0..threads).map(move |thread| {
        let begin = next;
        next += (clients - begin).div_ceil(threads - thread);
        begin..next
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::iter;

    proptest! {
        #[test]
        fn clients_are_dealt_evenly(clients in 1_usize..5_000, threads in 1_usize..300) {
            prop_assume!(threads <= clients);
            let each: Vec<_> = clients_of_threads(clients, threads).collect();
            prop_assert_eq!((each.len(), each[0].start, each[threads - 1].end), (threads, 0, clients));
            prop_assert!(each.windows(2).all(|pair| pair[0].end == pair[1].start));
            let even = clients / threads..=clients.div_ceil(threads);
            let is_even = |range: &Range<usize>| even.contains(&range.len());
            prop_assert!(each.iter().all(is_even));
            let part = Part { threads: iter::once(threads / 2..threads).collect() };
            prop_assert_eq!(part.clients(0, clients, threads), each[threads / 2].start..clients);
            prop_assert_eq!(part.clients(1, clients, threads), 0..clients);
            let nothing = Part { threads: iter::once(threads..threads).collect() };
            prop_assert!(nothing.clients(0, clients, threads).is_empty());
        }
    }
}
